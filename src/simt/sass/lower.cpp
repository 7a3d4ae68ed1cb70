// Places for registers, constants and predicates; the walk over a kernel's instructions; uniform instructions, guards
// and jumps.
#include "sass/lower.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/simt/simt.h>

#include "control.h"
#include "move.h"
#include "observe.h"
#include "ptx/special.h"
#include "sass/handlers.h"
#include "sass/listing.h"
#include "warp.h"

namespace triton_runner::simt {
namespace {

constexpr uint64_t kMaxSassRegisterBytes = uint64_t{1} << 30;  // of a block
constexpr uint32_t kMaxLocalBytes = 512 << 10;                 // of a thread: CUDA's limit
constexpr uint64_t kMaxCodeBytes = uint64_t{1} << 28;

using LowerSass = bool (*)(SassLowering&);
constexpr LowerSass kLowerSass[] = {
#define OP(name, modifiers, operands, family, ...) lower_##family,
#include <triton_runner/sass/opcodes.def>
};

// What a special register is called in PTX.
struct SpecialName {
  std::string_view sass;
  ptx::Special special;
};
constexpr SpecialName kSpecials[] = {
    {"SR_TID.X", ptx::Special::kTidX},
    {"SR_TID.Y", ptx::Special::kTidY},
    {"SR_TID.Z", ptx::Special::kTidZ},
    {"SR_CTAID.X", ptx::Special::kCtaidX},
    {"SR_CTAID.Y", ptx::Special::kCtaidY},
    {"SR_CTAID.Z", ptx::Special::kCtaidZ},
    {"%warpid", ptx::Special::kWarpid},
    {"%nwarpid", ptx::Special::kNwarpid},
    {"SR_LANEID", ptx::Special::kLaneid},
    {"SR_EQMASK", ptx::Special::kLanemaskEq},
    {"SR_LTMASK", ptx::Special::kLanemaskLt},
    {"SR_LEMASK", ptx::Special::kLanemaskLe},
    {"SR_GTMASK", ptx::Special::kLanemaskGt},
    {"SR_GEMASK", ptx::Special::kLanemaskGe},
    {"SR_CgaCtaId", ptx::Special::kClusterCtarank},
    {"SR_VIRTUALSMID", ptx::Special::kSmid},
    {"SR_CLOCKLO", ptx::Special::kClock},
    {"SR_CLOCKHI", ptx::Special::kClockHi},
    {"SR_GLOBALTIMERLO", ptx::Special::kGlobaltimerLo},
    {"SR_GLOBALTIMERHI", ptx::Special::kGlobaltimerHi},
};

}  // namespace

SassLowering::SassLowering(Code& to, std::shared_ptr<const sass::Module> module,
                           const sass::Function& function, const artifact::CubinKernel& from,
                           base::Diagnostics& sink, std::span<const exec::RegisterProbe> probes)
    : code(to), kernel(from), module_(std::move(module)), function_(function), probes_(probes), sink_(sink) {
  for (uint32_t p = 0; p < probes.size(); ++p) probes_at_.emplace(probes[p].instruction, p);
  code.listing = sass_listing(module_);
}

bool SassLowering::error(std::string message, std::vector<std::string> notes) {
  sink_.add(module_->diagnostic(in_ ? in_->offset : 0, std::move(message), std::move(notes)));
  return false;
}

// --- places ---------------------------------------------------------------------------------------------------------

uint32_t SassLowering::temporary(uint32_t bytes) {
  const uint64_t at = code.register_bytes;
  code.register_bytes = (at + uint64_t{bytes} * code.threads + 63) / 64 * 64;
  return static_cast<uint32_t>(at);
}

uint32_t SassLowering::constant(uint64_t bits, uint32_t bytes) {
  if (bytes < 8) bits &= (uint64_t{1} << bytes * 8) - 1;
  auto [it, is_new] = constants_.try_emplace({bits, bytes}, 0);
  if (is_new) {
    it->second = temporary(bytes);
    code.constants.push_back({it->second, bytes, bits, 0, Constant::kBits});
  }
  return it->second;
}

uint32_t SassLowering::reg(uint32_t index, bool uniform) {
  if (index == sass::kZero) return constant(0, 4);
  const int file = static_cast<int>(uniform ? sass::OperandKind::kUniform : sass::OperandKind::kRegister);
  auto [it, is_new] = registers_.try_emplace({file, index}, 0);
  if (is_new) it->second = temporary(4);
  return it->second;
}

uint32_t SassLowering::pred(uint32_t index, bool uniform) {
  if (index == sass::kTrue) return constant(0xff, 1);
  const int file =
      static_cast<int>(uniform ? sass::OperandKind::kUniformPredicate : sass::OperandKind::kPredicate);
  auto [it, is_new] = registers_.try_emplace({file, index}, 0);
  if (is_new) it->second = temporary(1);
  return it->second;
}

uint32_t SassLowering::barrier(uint32_t index) {
  auto [it, is_new] = registers_.try_emplace({static_cast<int>(sass::OperandKind::kBarrier), index}, 0);
  if (is_new) it->second = temporary(4);
  return it->second;
}

const std::string* SassLowering::constants_of(uint32_t bank) const {
  auto found = banks_.find(static_cast<int>(bank));
  return found == banks_.end() ? nullptr : &found->second;
}

uint32_t SassLowering::bank(const sass::Operand& o, uint32_t bytes) {
  const bool indexed = std::any_of(o.parts.begin(), o.parts.end(),
                                   [](const sass::Operand& p) { return p.index != sass::kZero; });
  if (indexed || o.descriptor) {
    error("a constant at an address of a register, " + std::string(o.text) + ", is not executed here");
    return kNoRegister;
  }
  const auto at = static_cast<uint64_t>(o.integer);
  if (o.bank == 0 && at < kernel.param_base && !is_known_in_bank(code.capability, at, bytes)) {
    error("what lies at " + std::string(o.text) + " of sm_" + std::to_string(code.capability) +
          " is not known");
    return kNoRegister;
  }
  if (o.bank == 0 && at + bytes <= code.param_bytes) {
    auto [it, is_new] = params_.try_emplace({at, bytes}, 0);
    if (is_new) {
      it->second = temporary(bytes);
      code.constants.push_back({it->second, bytes, at, 0, Constant::kParam});
    }
    return it->second;
  }
  const std::string* found = constants_of(o.bank);
  if (!found || at + bytes > found->size()) {
    error("the cubin has no constant at " + std::string(o.text));
    return kNoRegister;
  }
  uint64_t bits = 0;
  std::copy_n(found->data() + at, bytes, reinterpret_cast<char*>(&bits));
  return constant(bits, bytes);
}

uint32_t SassLowering::address(const sass::Operand& o, bool global) {
  auto refused = [&] {
    error("the engine does not execute '" + std::string(in_->spelling) + "' at " + std::string(o.text));
    return kNoRegister;
  };
  if ((o.space != "" && o.space != "desc") || o.selector != "") return refused();
  uint32_t place = kNoRegister;
  for (const sass::Operand& part : o.parts) {
    const bool uniform = part.kind == sass::OperandKind::kUniform, zero = part.index == sass::kZero;
    if ((!uniform && part.kind != sass::OperandKind::kRegister) || part.minus || part.inverted ||
        part.absolute)
      return refused();
    uint32_t term = reg(part.index, uniform);
    if (global && part.selector == "U32") {
      term = temporary(8);
      ptx("mov.b64 %d0, {%r1, %r2}", {term, reg(part.index, uniform), constant(0, 4)});
    } else if (global && (part.selector == "64" || (part.selector == "" && has("E")))) {
      term = zero ? constant(0, 8) : temporary(8);
      if (!zero)
        ptx("mov.b64 %d0, {%r1, %r2}", {term, reg(part.index, uniform), reg(part.index + 1, uniform)});
    } else if (!global && part.selector.starts_with('X')) {
      const uint32_t scaled = temporary(4);
      ptx("mul.lo.u32 %r0, %r1, " + std::string(part.selector.substr(1)), {scaled, term});
      term = scaled;
    } else if (global || part.selector != "") {
      return refused();
    }
    if (place != kNoRegister) {
      const uint32_t sum = temporary(global ? 8 : 4);
      ptx(global ? "add.s64 %d0, %d1, %d2" : "add.s32 %r0, %r1, %r2", {sum, place, term});
      term = sum;
    }
    place = term;
  }
  return place == kNoRegister ? constant(0, global ? 8 : 4) : place;
}

std::string SassLowering::offset_text(const sass::Operand& o) {
  return o.integer ? "+" + std::to_string(o.integer) : std::string();
}

uint32_t SassLowering::raw(size_t k) {
  const sass::Operand& o = *slot(k);
  if (o.kind == sass::OperandKind::kInteger) return constant(static_cast<uint64_t>(o.integer), 4);
  if (o.kind == sass::OperandKind::kFloat) return constant(in_->words[0] >> 32, 4);
  if (o.kind == sass::OperandKind::kConstant) return bank(o, 4);
  if (o.selector.empty()) return reg(o.index, o.kind == sass::OperandKind::kUniform);
  error("the engine does not execute '" + std::string(in_->name) + "' with an operand " +
        std::string(o.text));
  return kNoRegister;
}

uint32_t SassLowering::word(size_t k, As as) {
  const sass::Operand& o = *slot(k);
  // As the encoding has it: the text may be rounded.
  if (as == As::kF32 && o.kind == sass::OperandKind::kInteger) return constant(in_->words[0] >> 32, 4);
  const uint32_t place = raw(k);
  if (place == kNoRegister || (!o.minus && !o.inverted && !o.absolute)) return place;
  const uint32_t out = temporary(4);
  uint32_t from = place;
  auto step = [&](const std::string& line, uint64_t bits = 0) {
    ptx(line, {out, from, bits ? constant(bits, 4) : kNoRegister});
    from = out;
  };
  if (o.absolute) as == As::kF32 ? step("and.b32 %r0, %r1, %r2", 0x7fffffff) : step("abs.s32 %r0, %r1");
  if (o.minus) as == As::kF32 ? step("xor.b32 %r0, %r1, %r2", 0x80000000) : step("neg.s32 %r0, %r1");
  if (o.inverted) step("not.b32 %r0, %r1");
  return out;
}

uint32_t SassLowering::pair(size_t k, As as) {
  const sass::Operand& o = *slot(k);
  uint32_t place = kNoRegister;
  const bool is_float = as == As::kF64;
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if (is_float && (o.kind == sass::OperandKind::kInteger || o.kind == sass::OperandKind::kFloat))
    return constant(in_->words[0] >> 32 << 32, 8);  // the upper half stands in the encoding
  if (o.kind == sass::OperandKind::kRegister || o.kind == sass::OperandKind::kUniform) {
    const bool uniform = o.kind == sass::OperandKind::kUniform;
    if (o.index == sass::kZero) return constant(is_float && o.minus ? kSign : 0, 8);
    place = temporary(8);
    ptx("mov.b64 %d0, {%r1, %r2}", {place, reg(o.index, uniform), reg(o.index + 1, uniform)});
  } else if (o.kind == sass::OperandKind::kConstant) {
    place = bank(o, 8);
  } else {
    error("a number of 64 bits, " + std::string(o.text) + ", is not executed here");
  }
  if (place == kNoRegister || (!o.minus && !o.absolute && !o.inverted)) return place;
  const uint32_t out = temporary(8);
  if (is_float) {
    if (o.absolute) ptx("abs.f64 %d0, %d1", {out, place});
    if (o.minus) ptx("neg.f64 %d0, %d1", {out, o.absolute ? out : place});
    return out;
  }
  if (o.absolute) error("|" + std::string(o.text) + "| of 64 bits is not executed here");
  ptx(o.minus ? "neg.s64 %d0, %d1" : "not.b64 %d0, %d1", {out, place});
  return out;
}

uint32_t SassLowering::wide(size_t k) {
  const sass::Operand& o = *slot(k);
  if (o.kind != sass::OperandKind::kInteger) return pair(k);
  return constant(static_cast<uint64_t>(o.integer), 8);
}

uint32_t SassLowering::predicate(size_t k) {
  const sass::Operand* o = slot(k);
  if (!o) return constant(0xff, 1);
  uint32_t place = kNoRegister;
  if (o->kind == sass::OperandKind::kRegister)  // R2.SIGN
    ptx("setp.lt.s32 %p0, %r1, 0", {place = temporary(1), reg(o->index)});
  else
    place = pred(o->index, o->kind == sass::OperandKind::kUniformPredicate);
  if (!o->inverted) return place;
  if (o->index == sass::kTrue && o->kind != sass::OperandKind::kRegister) return constant(0, 1);
  const uint32_t out = temporary(1);
  ptx("not.pred %p0, %p1", {out, place});
  return out;
}

uint32_t SassLowering::unread(uint32_t bytes) {
  auto [it, is_new] = unread_.try_emplace(bytes, 0);
  if (is_new) it->second = temporary(bytes);
  return it->second;
}

uint32_t SassLowering::result(size_t k) {
  const sass::Operand* o = slot(k);
  if (o && o->index != sass::kZero) return reg(o->index, o->kind == sass::OperandKind::kUniform);
  return unread(4);
}

uint32_t SassLowering::predicate_result(size_t k) {
  const sass::Operand* o = slot(k);
  if (o && o->index != sass::kTrue) return pred(o->index, o->kind == sass::OperandKind::kUniformPredicate);
  return unread(1);
}

std::vector<uint32_t> SassLowering::registers(size_t k, uint32_t count, bool written) {
  const sass::Operand& o = *slot(k);
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < count; ++i)
    out.push_back(o.index != sass::kZero ? reg(o.index + i, o.kind == sass::OperandKind::kUniform)
                  : written              ? temporary(4)
                                         : constant(0, 4));
  return out;
}

void SassLowering::give_pair(size_t k, uint32_t wide) {
  const sass::Operand& o = *slot(k);
  if (o.index == sass::kZero) return;
  const bool uniform = o.kind == sass::OperandKind::kUniform;
  ptx("mov.b64 {%r0, %r1}, %d2", {reg(o.index, uniform), reg(o.index + 1, uniform), wide});
}

uint32_t SassLowering::active() {
  if (active_ == kNoRegister) active_ = temporary(4);
  emit(run_activemask).d = active_;
  if (exclusive_ != kNoRegister) ptx("and.b32 %r0, %r1, %r2", {active_, active_, exclusive_});
  return active_;
}

void SassLowering::only_these(uint32_t members) { copy(exclusive_ = temporary(4), members, 4); }

void SassLowering::name_last() {
  code.instrs.back().source = &code.sources.emplace_back(source_of(*in_, *matched_.row));
}

void SassLowering::give_threads(uint32_t d, uint32_t at, uint32_t bytes) {
  by_threads_ = true;
  if (exclusive_ != kNoRegister)
    return copy(d, at, bytes);  // several groups of threads at once: each its own
  Instr& i = emit(give_warp);
  i.d = d, i.a = at, i.small = bytes == 1;
}

uint32_t SassLowering::special(std::string_view name, uint32_t bytes) {
  if (name == "SRZ") return constant(0, bytes);
  if (name == "SR_SWINHI")
    return constant(kSharedWindow >> 32, bytes);        // of generic addresses of shared memory
  if (name == "SR_CgaSize") return constant(0, bytes);  // addresses of bank 0 are counted from it
  if (name == "SR_VIRTID" || name == "SR_VIRTCFG") {    // %warpid and %nwarpid, from bit 8 on
    const uint32_t number = special(name == "SR_VIRTID" ? "%warpid" : "%nwarpid", 4), place = temporary(4);
    ptx("shl.b32 %r0, %r1, 8", {place, number});
    return place;
  }
  for (const SpecialName& s : kSpecials) {
    if (s.sass != name) continue;
    if (!differs_by_thread(s.special)) {
      const uint32_t place = temporary(bytes);
      Instr& i = emit(read_block_special);
      i.d = place, i.small = static_cast<uint32_t>(s.special), i.imm = bytes;
      return place;
    }
    auto [it, is_new] = specials_.try_emplace(std::string(name), 0);
    if (!is_new) return it->second;
    it->second = temporary(bytes);
    code.constants.push_back({it->second, bytes, code.thread_values.size(), 0, Constant::kThread});
    std::vector<uint64_t>& values = code.thread_values.emplace_back();
    for (uint32_t t = 0; t < code.threads; ++t) values.push_back(thread_special(code, s.special, t));
    return it->second;
  }
  error("the engine does not have the special register '" + std::string(name) + "'",
        {"level 'ptx' executes the PTX that this was assembled from"});
  return kNoRegister;
}

void SassLowering::choose(size_t k, const std::string& first, const std::string& second, uint32_t a,
                          uint32_t b) {
  const sass::Operand& p = *slot(k);
  if (p.index == sass::kTrue) return ptx(p.inverted ? second : first, {result(0), a, b});
  const uint32_t one = temporary(4), other = temporary(4);
  ptx(first, {one, a, b});
  ptx(second, {other, a, b});
  ptx("selp.b32 %r0, %r1, %r2, %p3", {result(0), one, other, predicate(k)});
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// --- instructions ---------------------------------------------------------------------------------------------------

Instr& SassLowering::emit(Handler run) {
  Instr& i = code.instrs.emplace_back();
  i.run = run;
  i.guard = guard_;
  i.guard_flip = guard_negated_ ? 0xff : 0;
  return i;
}

void SassLowering::guard_by(uint32_t predicate) {
  if (guard_ != kNoRegister) {
    const uint32_t own = guard_, both = temporary(1);
    const std::string line = guard_negated_ ? "and.pred %p0, %p1, %p2" : "and.pred %p0, %p3, %p2";
    const uint32_t flipped = temporary(1);
    const bool negated = guard_negated_;
    guard_ = kNoRegister, guard_negated_ = false;
    if (negated) ptx("not.pred %p0, %p1", {flipped, own});
    ptx(line, {both, flipped, predicate, own});
    predicate = both;
  }
  guard_ = predicate;
  guard_negated_ = false;
}

void SassLowering::copy(uint32_t to, uint32_t from, uint32_t bytes) {
  Instr& i = emit(copy_register(bytes));
  i.d = to, i.a = from;
}

bool SassLowering::counts_groups(std::string_view name, uint8_t barrier) const {
  return std::any_of(function_.body.begin(), function_.body.end(), [&](const sass::Instruction& in) {
    const uint8_t write = in.control.write_barrier, read = in.control.read_barrier;
    // Code of ptxas 13 at -O0 sets no scoreboard at all: each wait is for all groups.
    return in.name == name && (write == barrier || read == barrier || (write == 7 && read == 7));
  });
}

void SassLowering::jump_to(uint32_t at, uint64_t address) { jumps_.emplace_back(at, address); }

// An instruction that writes its own guard reads it first.
void SassLowering::begin_guard(const sass::Instruction& in) {
  guard_ = kNoRegister;
  guard_negated_ = false;
  if (!in.guard) return;
  const sass::Operand& g = *in.guard;
  const uint32_t place = pred(g.index, g.kind == sass::OperandKind::kUniformPredicate);
  bool written = false;
  for (size_t k = 0; k < sass::kMaxSlots; ++k)
    written |= matched_.written[k] && slot(k) && slot(k)->kind == g.kind && slot(k)->index == g.index;
  uint32_t from = place;
  if (written) copy(from = temporary(1), place, 1);
  guard_ = from;
  guard_negated_ = g.inverted;
}

bool SassLowering::writes_uniform() const {
  for (size_t k = 0; k < sass::kMaxSlots; ++k)
    if (matched_.written[k] && slot(k) &&
        (slot(k)->kind == sass::OperandKind::kUniform ||
         slot(k)->kind == sass::OperandKind::kUniformPredicate))
      return true;
  return false;
}

// The uniform datapath computes once a warp: here for all its threads, those that are off too.
void SassLowering::run_uniformly(size_t first) {
  for (size_t i = first; i < code.instrs.size(); ++i) {
    Instr inner = code.instrs[i];
    if (inner.run == give_warp || inner.run == run_once_a_warp) continue;
    Instr& outer = code.instrs[i];
    outer = {};
    outer.guard = inner.guard, outer.guard_flip = inner.guard_flip, outer.source = inner.source;
    outer.run = run_for_warp;
    outer.data = code.keep(inner);
  }
}

void SassLowering::once_a_warp() {
  for (size_t i = first_; i < code.instrs.size(); ++i) {
    Instr inner = code.instrs[i];
    if (!inner.source) continue;  // it gives the others their operands
    inner.guard = kNoRegister;
    Instr& outer = code.instrs[i];
    outer.run = run_once_a_warp;
    outer.data = code.keep(inner);
  }
}

bool SassLowering::lower(const sass::Instruction& in) {
  in_ = &in;
  auto matched = sass::match(*module_, in);
  if (!matched) {
    sink_.add(matched.error());
    return false;
  }
  matched_ = *matched;
  by_threads_ = false;
  if (matched_.row->family == "flow" && !in.has("EXCLUSIVE")) exclusive_ = kNoRegister;
  numbers_ = nullptr;
  const size_t first = first_ = code.instrs.size(), faults = sink_.list().size();
  begin_guard(in);
  const bool done = kLowerSass[static_cast<size_t>(matched_.row->opcode)](*this);
  if (!done && sink_.list().size() == faults)
    error("the engine does not execute '" + std::string(in.spelling) + "' as it is written",
          {"level 'ptx' executes the PTX that this was assembled from"});
  if (sink_.list().size() != faults) return false;
  give_sources(first);
  if (writes_uniform() && !by_threads_) run_uniformly(first);
  return true;
}

void SassLowering::emit_probes(uint32_t instruction, bool after) {
  const auto [first, last] = probes_at_.equal_range(instruction);
  for (auto it = first; it != last; ++it) {
    const exec::RegisterProbe& probe = probes_[it->second];
    if (probe.after != after || probe.function != kernel.name) continue;
    ProbePlace place{it->second, {}};
    for (const uint32_t code : probe.registers) {
      const auto kind = static_cast<sass::OperandKind>(code >> 8);
      const bool uniform =
          kind == sass::OperandKind::kUniform || kind == sass::OperandKind::kUniformPredicate;
      if (sass::is_predicate(code))
        place.registers.emplace_back(pred(code & 255, uniform), 1);
      else
        place.registers.emplace_back(reg(code & 255, uniform), 4);
    }
    Instr& i = emit(show_registers);
    if (!after) i.guard = kNoRegister;
    i.data = code.keep(std::move(place));
  }
}

void SassLowering::resolve_jumps() {
  for (const auto& [at, address] : jumps_) {
    auto found = std::lower_bound(function_.body.begin(), function_.body.end(), address,
                                  [](const sass::Instruction& in, uint64_t a) { return in.address < a; });
    code.instrs[at].data = &code.instrs[starts_[static_cast<size_t>(found - function_.body.begin())]];
  }
  if (anywhere_.empty()) return;
  BranchTable all;
  for (size_t i = 0; i < function_.body.size(); ++i) {
    all.targets.resize(std::max<size_t>(all.targets.size(), function_.body[i].address / 16 + 1));
    all.targets[function_.body[i].address / 16] = &code.instrs[starts_[i]];
  }
  const BranchTable* table = code.keep(std::move(all));
  for (uint32_t at : anywhere_) code.instrs[at].data = table;
}

// Variables of global memory at addresses of their own, and these where the cubin wants them. Of functions that the driver
// has, vprintf and __assertfail are known.
bool SassLowering::fits() {
  if (kernel.shared_bytes > max_shared_bytes(code.capability))
    return error("the kernel has " + std::to_string(kernel.shared_bytes) +
                 " bytes of shared memory; a block of sm_" + std::to_string(code.capability) +
                 " has at most " + std::to_string(max_shared_bytes(code.capability)));
  if (kernel.local_bytes > kMaxLocalBytes)
    return error("a thread has " + std::to_string(kernel.local_bytes) + " bytes of local memory; at most " +
                 std::to_string(kMaxLocalBytes) + " may be");
  for (const sass::Instruction& in : function_.body)
    if (in_ = &in; in.address >= kMaxCodeBytes) return error("an address that no code has");
  in_ = nullptr;
  return true;
}

bool SassLowering::lower_kernel() {
  if (!fits()) return false;
  place_variables();
  code.param_bytes = std::max(kernel.param_base, kLeastBankBytes);
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const auto& p = kernel.params[i];
    exec::Param param{"param " + std::to_string(i), exec::ParamKind::kInteger,
                      ".b" + std::to_string(8 * p.bytes), static_cast<int>(std::min(p.bytes, 8u) * 8), false};
    if (p.bytes == 8) param.kind = exec::ParamKind::kPointer;  // it may be a number: both are taken
    if (p.bytes == 128) param.kind = exec::ParamKind::kTensorDesc;
    code.params.push_back({kernel.param_base + p.offset, p.bytes, std::move(param)});
    code.param_bytes = std::max(code.param_bytes, kernel.param_base + p.offset + p.bytes);
  }
  code.begin_parameters = begin_constant_bank;
  code.reserved_shared = code.capability >= 90 ? 1024 : 0;
  code.static_shared = kernel.shared_bytes;
  code.dynamic_shared = true;
  code.whole_words =
      std::any_of(function_.body.begin(), function_.body.end(),
                  [](const sass::Instruction& in) { return in.name.starts_with("ATOM") && in.has("CAS"); });
  code.local_bytes = (kernel.local_bytes + 15) / 16 * 16;
  for (const sass::Instruction& in : function_.body) {
    const auto index = static_cast<uint32_t>(&in - function_.body.data());
    starts_.push_back(static_cast<uint32_t>(code.instrs.size()));
    emit_probes(index, false);
    lower(in);
    emit_probes(index, true);
    if (sink_.list().size() > 8) return false;
  }
  starts_.push_back(static_cast<uint32_t>(code.instrs.size()));
  guard_ = kNoRegister;
  emit(end_thread);
  if (sink_.has_errors()) return false;
  in_ = nullptr;
  if (code.register_bytes > kMaxSassRegisterBytes)
    return error("the registers of a block take " + std::to_string(code.register_bytes >> 20) +
                 " MiB: more than the engine holds");
  resolve_jumps();
  return true;
}

}  // namespace triton_runner::simt
