// Finds where operands of machine code are in the frame: registers, constants, predicates, special registers; and
// what an instruction reads of them and writes to them.
#include <algorithm>

#include "front/ptx/special.h"
#include "front/sass/handlers.h"
#include "front/sass/listing.h"
#include "front/sass/lower.h"
#include "ops/warp.h"

namespace triton_runner::simt {
namespace {

// The name of a special register in PTX.
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

uint32_t SassLowering::lasting(int file, uint32_t index, uint32_t bytes) {
  auto [it, is_new] = registers_.try_emplace({file, index}, 0);
  if (is_new) lasting_.insert(it->second = temporary(bytes));
  return it->second;
}

uint32_t SassLowering::place_of(sass::OperandKind kind, uint32_t index, bool written, uint32_t bytes) {
  constexpr int kOfValues = -1;
  const uint32_t code = sass::register_code(kind, index),
                 at = in_ ? static_cast<uint32_t>(in_ - function_.body.data()) : 0;
  const uint32_t value = !in_ ? code : written ? values_.after(at, code) : values_.before(at, code);
  const uint32_t place =
      value == code ? lasting(static_cast<int>(kind), index, bytes) : used(lasting(kOfValues, value, bytes));
  if (written) written_.push_back(place);
  return place;
}

uint32_t SassLowering::used(uint32_t place) {
  used_.push_back(place);
  return place;
}

void SassLowering::end_uses() {
  const auto end = static_cast<uint32_t>(code.instrs.size());
  for (const uint32_t place : used_)
    code.uses.try_emplace(place, Code::Uses{static_cast<uint32_t>(first_), end}).first->second.end = end;
  used_.clear();
}

uint32_t SassLowering::reg(uint32_t index, bool uniform, bool written) {
  if (index == sass::kZero) return constant(0, 4);
  return place_of(uniform ? sass::OperandKind::kUniform : sass::OperandKind::kRegister, index, written, 4);
}

uint32_t SassLowering::known_pair(uint32_t low, uint32_t high) const {
  const auto origin = [&](uint32_t place) {
    const auto copy = copies_.find(place);
    return copy == copies_.end() ? place : copy->second;
  };
  for (const auto& both : {std::pair(low, high), std::pair(origin(low), origin(high))})
    if (const auto known = pairs_.find(both); known != pairs_.end()) return known->second;
  return kNoRegister;
}

uint32_t SassLowering::pair_from(uint32_t index, bool uniform) {
  const uint32_t low = reg(index, uniform), high = reg(index + 1, uniform);
  const uint32_t known = known_pair(low, high);
  if (known != kNoRegister && pairs_.contains({low, high})) return used(known);
  const uint32_t out = temporary(8);
  if (known == kNoRegister) {
    ptx("mov.b64 %d0, {%r1, %r2}", {out, low, high});
  } else {  // in a place of their own: copies last longer than what they are copies of
    copy(out, used(known), 8);
    keep_pair(low, high, out, uniform);
  }
  return out;
}

uint32_t SassLowering::address_pair(uint32_t index, bool uniform) {
  const uint32_t pair = pair_from(index, uniform);
  keep_pair(reg(index, uniform), reg(index + 1, uniform), pair, uniform);
  return pair;
}

// Others of the warp, who have not come here, may read what uniform registers are computed from.
void SassLowering::keep_pair(uint32_t low, uint32_t high, uint32_t whole, bool uniform) {
  if (guard_ == kNoRegister && !uniform) pairs_[{low, high}] = used(whole);
}

// Under a debugger, which may write registers, none is shared. What a uniform register was a half of, others of the warp may have
// computed again.
void SassLowering::drop_pairs() {
  using enum sass::Opcode;
  const std::string_view family = matched_.row->family;
  const bool is_known = has_known_results() || family == "matrices" || family == "warp" || in_->is(kEXIT) ||
                        in_->is(kLDGSTS) || in_->is(kLDGDEPBAR) || in_->is(kDEPBAR_LE);
  if (stopper_ || !is_known) forget_pairs();
  if (may_part(*matched_.row)) copies_.clear();
  for (const uint32_t place : written_) {
    const auto has = [&](const auto& entry) { return entry.first == place || entry.second == place; };
    std::erase_if(pairs_, [&](const auto& pair) { return has(pair.first); });
    std::erase_if(copies_, has);
  }
  if (!stopper_ && has_known_results()) {
    for (const auto& [registers, whole] : new_pairs_) pairs_[registers] = whole;
    if (new_copy_ && new_copy_->first != new_copy_->second) {
      const auto first = copies_.find(new_copy_->second);
      copies_[new_copy_->first] = first == copies_.end() ? new_copy_->second : first->second;
    }
  }
  new_pairs_.clear();
  new_copy_.reset();
  written_.clear();
}

uint32_t SassLowering::pred(uint32_t index, bool uniform, bool written) {
  if (index == sass::kTrue) return constant(0xff, 1);
  return place_of(uniform ? sass::OperandKind::kUniformPredicate : sass::OperandKind::kPredicate, index,
                  written, 1);
}

uint32_t SassLowering::barrier(uint32_t index) {
  auto [it, is_new] = registers_.try_emplace({static_cast<int>(sass::OperandKind::kBarrier), index}, 0);
  if (is_new) lasting_.insert(it->second = temporary(4));
  return it->second;
}

const std::string* SassLowering::constants_of(uint32_t bank) const {
  auto found = banks_.find(static_cast<int>(bank));
  return found == banks_.end() ? nullptr : &found->second;
}

const uint64_t* SassLowering::memory_of(uint32_t bank) const {
  return bank == 3 ? kept_address(kConstantMemory) : nullptr;
}

uint32_t SassLowering::bank(const sass::Operand& o, uint32_t bytes) {
  const bool indexed = std::any_of(o.parts.begin(), o.parts.end(),
                                   [](const sass::Operand& p) { return p.index != sass::kZero; });
  if (indexed || o.descriptor) {
    fail("a constant at an address of a register, " + std::string(o.text) + ", is not executed here");
    return kNoRegister;
  }
  const auto at = static_cast<uint64_t>(o.integer);
  if (o.bank == 0 && at < kernel.param_base && !is_known_in_bank(code.capability, at, bytes)) {
    fail("what lies at " + std::string(o.text) + " of sm_" + std::to_string(code.capability) +
         " is not known");
    return kNoRegister;
  }
  const uint32_t environment = bank_places(code.capability).environment;
  code.uses_workspace |= o.bank == 0 && at >= environment && at < environment + 12;
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
    fail("the cubin has no constant at " + std::string(o.text));
    return kNoRegister;
  }
  if (const uint64_t* memory = memory_of(o.bank)) {
    const uint32_t place = temporary(bytes);
    const std::string to = bytes == 8 ? "64 %d0" : bytes == 4 ? "32 %r0" : bytes == 2 ? "16 %h0" : "8 %b0";
    ptx("ld.const.u" + to + ", [%d1]", {place, constant(*memory + at, 8)});
    return place;
  }
  uint64_t bits = 0;
  std::copy_n(found->data() + at, bytes, reinterpret_cast<char*>(&bits));
  return constant(bits, bytes);
}

uint32_t SassLowering::address(const sass::Operand& o, bool global) {
  return unguarded([&] { return sum_of_parts(o, global); });
}

uint32_t SassLowering::sum_of_parts(const sass::Operand& o, bool global) {
  auto refused = [&] {
    fail("the engine does not execute '" + std::string(in_->spelling) + "' at " + std::string(o.text));
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
      term = zero                               ? constant(0, 8)
             : matched_.row->family == "memory" ? address_pair(part.index, uniform)
                                                : pair_from(part.index, uniform);
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
  fail("the engine does not execute '" + std::string(in_->name) + "' with an operand " + std::string(o.text));
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
    if (o.index == sass::kZero)
      return constant(is_float && o.minus ? kSign : o.inverted ? ~uint64_t{0} : 0, 8);
    place = pair_from(o.index, uniform);
  } else if (o.kind == sass::OperandKind::kConstant) {
    place = bank(o, 8);
  } else {
    fail("a number of 64 bits, " + std::string(o.text) + ", is not executed here");
  }
  if (place == kNoRegister || (!o.minus && !o.absolute && !o.inverted)) return place;
  const uint32_t out = temporary(8);
  if (is_float) {
    if (o.absolute) ptx("abs.f64 %d0, %d1", {out, place});
    if (o.minus) ptx("neg.f64 %d0, %d1", {out, o.absolute ? out : place});
    return out;
  }
  if (o.absolute) fail("|" + std::string(o.text) + "| of 64 bits is not executed here");
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
  if (is_new) code.uses[it->second = temporary(bytes)] = {~uint32_t{0}, 0};  // of no run: nobody reads it
  return it->second;
}

uint32_t SassLowering::result(size_t k) {
  const sass::Operand* o = slot(k);
  if (o && o->index != sass::kZero) return reg(o->index, o->kind == sass::OperandKind::kUniform, true);
  return unread(4);
}

uint32_t SassLowering::predicate_result(size_t k) {
  const sass::Operand* o = slot(k);
  if (o && o->index != sass::kTrue)
    return pred(o->index, o->kind == sass::OperandKind::kUniformPredicate, true);
  return unread(1);
}

std::vector<uint32_t> SassLowering::registers(size_t k, uint32_t count, bool written) {
  const sass::Operand& o = *slot(k);
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < count; ++i)
    out.push_back(o.index != sass::kZero ? reg(o.index + i, o.kind == sass::OperandKind::kUniform, written)
                  : written              ? temporary(4)
                                         : constant(0, 4));
  return out;
}

bool SassLowering::give_pair(size_t k, uint32_t wide) {
  const sass::Operand& o = *slot(k);
  if (o.index == sass::kZero) return true;
  const bool uniform = o.kind == sass::OperandKind::kUniform;
  const uint32_t low = reg(o.index, uniform, true), high = reg(o.index + 1, uniform, true);
  if (guard_ == kNoRegister) new_pairs_.push_back({{low, high}, wide});
  return ptx("mov.b64 {%r0, %r1}, %d2", {low, high, wide});
}

uint32_t SassLowering::active() {
  if (active_ == kNoRegister) active_ = temporary(4);
  emit(handler<run_activemask>).d = active_;
  if (exclusive_ != kNoRegister) ptx("and.b32 %r0, %r1, %r2", {active_, active_, exclusive_});
  return active_;
}

void SassLowering::only_these(uint32_t members) { copy(exclusive_ = temporary(4), members, 4); }

void SassLowering::name_last() {
  code.instrs.back().source = &code.sources.emplace_back(source_of(*in_, *matched_.row));
}

bool SassLowering::give_threads(uint32_t d, uint32_t at, uint32_t bytes) {
  by_threads_ = true;
  if (exclusive_ != kNoRegister)
    return copy(d, at, bytes);  // several groups of threads at once: each its own
  return emit(give_warp, {.d = d, .a = at, .small = bytes == 1});
}

uint32_t SassLowering::special(std::string_view name, uint32_t bytes) {
  if (name == "SRZ") return constant(0, bytes);
  if (name == "SR_SWINHI")
    return constant(kSharedWindow >> 32, bytes);          // of generic addresses of shared memory
  if (name == "SR_CgaSize") return constant(0, bytes);    // addresses of bank 0 are counted from it
  if (name == "SR_LMEMHIOFF") return constant(0, bytes);  // the least that R1 may be, asked for at -O0
  if (name == "SR_VIRTID" || name == "SR_VIRTCFG") {      // %warpid and %nwarpid, from bit 8 on
    const uint32_t number = special(name == "SR_VIRTID" ? "%warpid" : "%nwarpid", 4), place = temporary(4);
    ptx("shl.b32 %r0, %r1, 8", {place, number});
    return place;
  }
  for (const SpecialName& s : kSpecials) {
    if (s.sass != name) continue;
    if (const uint32_t filled = filled_special(*this, s.special, bytes); filled != kNoRegister) return filled;
    const uint32_t place = temporary(bytes);
    emit(read_block_special, {.d = place, .small = static_cast<uint32_t>(s.special), .imm = bytes});
    return place;
  }
  fail("the engine does not have the special register '" + std::string(name) + "'",
       {"level 'ptx' executes the PTX that this was assembled from"});
  return kNoRegister;
}

void SassLowering::emit_fills() {
  const Values::Fills* fills = values_.fills_of(static_cast<uint32_t>(in_ - function_.body.data()));
  if (!fills) return;
  unguarded([&] {
    for (const auto& [code, number] : *fills) copy(reg(code & 255, false, true), constant(number, 4), 4);
    return true;
  });
}

bool SassLowering::compare(const std::string& how, const std::string& type, char width, uint32_t a,
                           uint32_t b, size_t k) {
  const std::string place = std::string(", %") + width;
  const auto line = [&](const std::string& compared, const std::string& results, int first) {
    return "setp" + compared + type + " " + results + place + std::to_string(first) + place +
           std::to_string(first + 1);
  };
  const uint32_t p = predicate_result(0);
  if (slot(1)->index != sass::kTrue)
    return ptx(line(how, "%p0|%p1", 2) + ", %p4", {p, predicate_result(1), a, b, predicate(k)});
  const sass::Operand& with = *slot(k);
  const size_t combined = how.rfind(".and");
  if (with.index == sass::kTrue && !with.inverted && combined != std::string::npos)
    return ptx(line(std::string(how).erase(combined, 4), "%p0", 1), {p, a, b});
  return ptx(line(how, "%p0", 1) + ", %p3", {p, a, b, predicate(k)});
}

bool SassLowering::select(uint32_t d, size_t k, uint32_t a, uint32_t b) {
  const sass::Operand& p = *slot(k);
  if (!p.inverted || p.index == sass::kTrue || p.kind == sass::OperandKind::kRegister)
    return ptx("selp.b32 %r0, %r1, %r2, %p3", {d, a, b, predicate(k)});
  return ptx("selp.b32 %r0, %r1, %r2, %p3",
             {d, b, a, pred(p.index, p.kind == sass::OperandKind::kUniformPredicate)});
}

bool SassLowering::choose(size_t k, const std::string& first, const std::string& second, uint32_t a,
                          uint32_t b) {
  const sass::Operand& p = *slot(k);
  if (p.index == sass::kTrue) return ptx(p.inverted ? second : first, {result(0), a, b});
  const uint32_t one = temporary(4), other = temporary(4);
  ptx(first, {one, a, b});
  ptx(second, {other, a, b});
  return select(result(0), k, one, other);
}

}  // namespace triton_runner::simt
