// Implements SassLowering: the walk over a kernel's instructions, with guards, uniform instructions, probes,
// stops and jumps. Where operands lie is in places.cpp.
#include "front/sass/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include <triton_runner/sass/flow.h>
#include <triton_runner/simt/simt.h>

#include "front/sass/handlers.h"
#include "front/sass/listing.h"
#include "front/sass/order.h"
#include "launch/observe.h"
#include "matrix/mma.h"
#include "ops/control.h"
#include "ops/move.h"
#include "ops/stack.h"
#include "ops/warp.h"

namespace triton_runner::simt {
namespace {

constexpr uint64_t kMaxSassRegisterBytes = uint64_t{1} << 30;  // of a block
constexpr uint32_t kMaxLocalBytes = 512 << 10;                 // of a thread: CUDA's limit
constexpr uint64_t kMaxCodeBytes = uint64_t{1} << 28;
constexpr uint32_t kUnknownStack = ~0u;  // what ptxas writes where it cannot tell
constexpr uint32_t kNoStart = ~0u;       // no jump comes to the instruction

using LowerSass = bool (*)(SassLowering&);
constexpr LowerSass kLowerSass[] = {
#define OP(name, modifiers, operands, family, ...) lower_##family,
#include <triton_runner/sass/opcodes.def>
};

// Returns whether a function of the section may call itself, by way of others too: ptxas leaves it out of the bytes that a
// thread needs. Functions begin where calls lead to, and end where the next one begins.
bool calls_itself(const sass::Function& section) {
  std::map<size_t, std::set<size_t>> calls{{0, {}}};  // by the first instruction of each function
  std::vector<std::pair<size_t, size_t>> sites;
  for (size_t i = 0; i < section.body.size(); ++i)
    if (section.body[i].is(sass::Opcode::kCALL))
      if (const auto to = sass::target_of(section, section.body[i])) sites.emplace_back(i, *to), calls[*to];
  for (const auto& [from, to] : sites) std::prev(calls.upper_bound(from))->second.insert(to);
  return std::ranges::any_of(calls, [&](const auto& function) {
    std::set<size_t> reached = function.second;
    for (std::vector<size_t> next(reached.begin(), reached.end()); !next.empty();) {
      const size_t at = next.back();
      next.pop_back();
      for (const size_t to : calls[at])
        if (reached.insert(to).second) next.push_back(to);
    }
    return reached.contains(function.first);
  });
}

}  // namespace

SassLowering::SassLowering(Code& to, std::shared_ptr<const sass::Module> module,
                           const sass::Function& function, const artifact::CubinKernel& from,
                           base::Diagnostics& sink, std::span<const exec::RegisterProbe> probes,
                           exec::Stopper* stopper)
    : Emitter(to),
      kernel(from),
      module_(std::move(module)),
      function_(function),
      probes_(probes),
      stopper_(stopper),
      sink_(sink) {
  for (uint32_t p = 0; p < probes.size(); ++p) probes_at_.emplace(probes[p].instruction, p);
  code.listing = sass_listing(module_);
}

bool SassLowering::fail(std::string message, std::vector<std::string> notes) {
  sink_.add(module_->diagnostic(in_ ? in_->offset : 0, std::move(message), std::move(notes)));
  return false;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string rounding(const SassLowering& l) {
  return l.has("RZ") ? ".rz" : l.has("RM") ? ".rm" : l.has("RP") ? ".rp" : l.has("RS") ? ".rs" : ".rn";
}

std::string compared_by(const SassLowering& l) {
  std::string out;
  for (std::string_view mod : l.in().mods)
    if (mod != "FTZ" && mod != "BF16_V2" && mod != "BF") (out += '.') += lower_case(mod);
  return out + (l.has("FTZ") ? ".ftz" : "");
}

bool lower_by(SassLowering& l, std::span<const SassRow> rows) {
  for (const SassRow& row : rows)
    if (std::ranges::find(row.opcodes, l.opcode()) != row.opcodes.end()) return row.lower(l);
  return false;
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

void SassLowering::guard_by_any() {
  if (guard_ == kNoRegister) return;
  const uint32_t own = guard_, negated = guard_negated_ ? 1 : 0;
  guard_ = kNoRegister, guard_negated_ = false;
  const uint32_t members = active(), any = temporary(1);
  emit<run_vote>(
      {.d = any, .a = own, .b = members, .c = negated, .small = static_cast<uint32_t>(Vote::kAny)});
  guard_ = any;
}

bool SassLowering::copy(uint32_t to, uint32_t from, uint32_t bytes) {
  return emit(copy_register(bytes), {.d = to, .a = from});
}

bool SassLowering::move(uint32_t to, uint32_t from) {
  if (guard_ == kNoRegister) new_copy_ = {to, from};
  return copy(to, from, 4);
}

bool SassLowering::counts_groups(sass::Opcode opcode, uint8_t barrier) const {
  return std::any_of(function_.body.begin(), function_.body.end(), [&](const sass::Instruction& in) {
    const uint8_t write = in.control.write_barrier, read = in.control.read_barrier;
    // Code of ptxas 13 at -O0 sets no scoreboard at all: each wait is for all groups.
    return in.is(opcode) && (write == barrier || read == barrier || (write == 7 && read == 7));
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

bool SassLowering::once_a_warp() {
  for (size_t i = first_; i < code.instrs.size(); ++i) {
    Instr inner = code.instrs[i];
    if (!inner.source) continue;  // it gives the others their operands
    inner.guard = kNoRegister;
    Instr& outer = code.instrs[i];
    outer.run = run_once_a_warp;
    outer.data = code.keep(inner);
  }
  return true;
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
  if (matched_.row->family == "flow" && !matched_.row->does(ptx::Effect::kHints) && !in.has("EXCLUSIVE"))
    exclusive_ = kNoRegister;
  numbers_ = nullptr;
  if (heads_.contains(in.address)) forget_pairs();
  const size_t first = first_ = code.instrs.size(), faults = sink_.list().size();
  std::vector<Place> places;
  given = &places;
  begin_guard(in);
  const bool done = kLowerSass[static_cast<size_t>(matched_.row->opcode)](*this);
  given = nullptr;
  if (!done && sink_.list().size() == faults)
    fail("the engine does not execute '" + std::string(in.spelling) + "' as it is written",
         {"level 'ptx' executes the PTX that this was assembled from"});
  if (sink_.list().size() != faults) return false;
  give_sources(first);
  if (writes_uniform() && !by_threads_) run_uniformly(first);
  drop_pairs();
  if (has_known_results() && matched_.row->family != "memory") give_up(places, static_cast<uint32_t>(first));
  end_uses();
  plain_.resize(first);
  plain_.resize(code.instrs.size(), is_plain());
  const bool computes = is_plain() && !in.guard && !in.is(sass::Opcode::kLDC) &&
                        !in.does(ptx::Effect::kReads) && !in.does(ptx::Effect::kWrites);
  for (size_t i = first; i < code.instrs.size(); ++i) code.instrs[i].computes = computes;
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
    Instr& i = emit(handler<show_registers>);
    if (!after) i.guard = kNoRegister;
    i.data = code.keep(std::move(place));
  }
}

std::vector<bool> SassLowering::find_stops() {
  std::vector<bool> out;
  if (!stopper_) return out;
  const std::string_view text = module_->text();
  int line = 1;  // counted on from one to the next, which are in the order of the text
  size_t counted = 0;
  for (const sass::Instruction& in : function_.body) {
    line += static_cast<int>(std::count(text.begin() + counted, text.begin() + in.offset, '\n'));
    counted = in.offset;
    exec::InstructionSite site{&in, in.name, {}, line, kernel.name, {}};
    site.text = text.substr(in.offset, in.length);
    for (const sass::Place& p : in.places)
      site.lines.push_back({std::string(p.file), static_cast<int>(p.line), 0});
    stops_.push_back(stopper_->add_place(site));
    out.push_back(stops_.back() != exec::Stopper::kNowhere);
  }
  return out;
}

void SassLowering::emit_stop(uint32_t instruction) {
  const uint32_t place = stops_[instruction];
  if (place == exec::Stopper::kNowhere) return;
  if (!shown_) {
    StopRegisters all;
    for (uint32_t r = 0; r < 255; ++r) all.add("R" + std::to_string(r), reg(r), num::Type::kI32);
    for (uint32_t r = 0; r < 63; ++r) all.add("UR" + std::to_string(r), reg(r, true), num::Type::kI32);
    for (uint32_t r = 0; r < 7; ++r) {
      all.add("P" + std::to_string(r), pred(r), num::Type::kI1);
      all.add("UP" + std::to_string(r), pred(r, true), num::Type::kI1);
    }
    shown_ = code.keep(std::move(all));
  }
  Instr& i = emit(handler<stop_lanes>);
  i.guard = kNoRegister;
  i.data = code.keep(StopPlace{place, shown_});
}

bool SassLowering::has_known_results() const {
  constexpr std::string_view kFamilies[] = {"floats", "halves", "integer", "convert", "moves", "memory"};
  return std::ranges::find(kFamilies, matched_.row->family) != std::end(kFamilies);
}

bool SassLowering::is_plain() const {
  using enum ptx::Effect;
  const sass::Row& row = *matched_.row;
  return has_known_results() && (row.does(kComputes) || row.does(kReads) || row.does(kWrites)) &&
         !row.does(kUpdates) && !writes_uniform();
}

void SassLowering::give_up(std::span<const Place> places, uint32_t first) {
  for (; constants_seen_ < code.constants.size(); ++constants_seen_)
    lasting_.insert(code.constants[constants_seen_].offset);
  for (const uint32_t at : {active_, exclusive_, aside_[0], aside_[1], unread(4), unread(8)})
    lasting_.insert(at);
  for (const Place& place : places)
    if ((place.bytes == 4 || place.bytes == 8) && !lasting_.contains(place.at))
      code.uses[place.at] = {first, static_cast<uint32_t>(code.instrs.size())};
}

uint32_t SassLowering::after_plain(uint32_t at) const {
  do ++at;
  while (at < plain_.size() && plain_[at]);
  return at;
}

void SassLowering::resolve_jumps() {
  for (const auto& [at, address] : jumps_) {
    const uint32_t to = starts_[sass::index_of(function_, address)];
    Instr& jump = code.instrs[at];
    jump.data = &code.instrs[to];
    code.targets.insert(to);
    if (jump.run == branch && jump.guard != kNoRegister && code.instrs[to].run == meet_region &&
        after_plain(at) == to)
      jump.run = branch_over;
  }
  for (uint32_t at = 0; at < code.instrs.size(); ++at) {
    Instr& in = code.instrs[at];
    if (in.run != end_thread || in.guard == kNoRegister) continue;
    const Instr& others = code.instrs[after_plain(at)];
    if (others.run == end_thread && others.guard == kNoRegister) in.run = end_over, in.data = &others;
  }
  if (anywhere_.empty()) return;
  BranchTable all;
  for (size_t i = 0; i < function_.body.size(); ++i) {
    all.targets.resize(std::max<size_t>(all.targets.size(), function_.body[i].address / 16 + 1));
    if (starts_[i] != kNoStart) all.targets[function_.body[i].address / 16] = &code.instrs[starts_[i]];
  }
  const BranchTable* table = code.keep(std::move(all));
  for (uint32_t at : anywhere_) code.instrs[at].data = table;
}

// Variables of global memory at addresses of their own, and these where the cubin wants them. Of functions that the driver
// has, vprintf and __assertfail are known.
bool SassLowering::fits() {
  if (kernel.shared_bytes > max_shared_bytes(code.target))
    return fail("the kernel has " + std::to_string(kernel.shared_bytes) +
                " bytes of shared memory; a block of sm_" + std::to_string(code.capability) +
                " has at most " + std::to_string(max_shared_bytes(code.target)));
  if (kernel.local_bytes > kMaxLocalBytes && kernel.local_bytes != kUnknownStack)
    return fail("a thread has " + std::to_string(kernel.local_bytes) + " bytes of local memory; at most " +
                std::to_string(kMaxLocalBytes) + " may be");
  for (const sass::Instruction& in : function_.body)
    if (in_ = &in; in.address >= kMaxCodeBytes) return fail("an address that no code has");
  in_ = nullptr;
  return true;
}

bool SassLowering::lower_kernel() {
  if (!fits()) return false;
  place_variables();
  code.param_bytes = std::max(kernel.param_base, kLeastBankBytes);
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const auto& p = kernel.params[i];
    if (p.bytes == 0) return fail("parameter " + std::to_string(i) + " has no bytes");
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
  code.whole_words = std::any_of(
      function_.body.begin(), function_.body.end(),
      [](const sass::Instruction& in) { return in.does(ptx::Effect::kUpdates) && in.has("CAS"); });
  code.local_bytes = kernel.local_bytes == kUnknownStack ? 0 : (kernel.local_bytes + 15) / 16 * 16;
  if (kernel.local_bytes == kUnknownStack || calls_itself(function_)) code.local_bytes += kStackBytes;
  heads_ = jump_targets(function_);
  starts_.assign(function_.body.size(), kNoStart);
  const std::vector<bool> stands = find_stops();
  const bool may_move = probes_.empty() && (!stopper_ || stopper_->is_sparse());
  // Who looks at registers finds each in one place.
  if (probes_.empty() && !stopper_ && !counting_) values_ = Values(*module_, function_);
  for (const std::vector<uint32_t>& stretch :
       lowering_order(*module_, function_, may_move, stands, values_)) {
    starts_[*std::min_element(stretch.begin(), stretch.end())] = static_cast<uint32_t>(code.instrs.size());
    if (counting_) begin_counts(stretch);
    for (const uint32_t index : stretch) {
      emit_probes(index, false);
      if (stopper_) emit_stop(index);
      if (counting_) emit_counts(index);
      lower(function_.body[index]);
      emit_probes(index, true);
      if (sink_.list().size() > 8) return false;
    }
  }
  starts_.push_back(static_cast<uint32_t>(code.instrs.size()));
  guard_ = kNoRegister;
  emit(end_thread);
  if (sink_.has_errors()) return false;
  in_ = nullptr;
  if (code.register_bytes > kMaxSassRegisterBytes)
    return fail("the registers of a block take " + std::to_string(code.register_bytes >> 20) +
                " MiB: more than the engine holds");
  plain_.resize(code.instrs.size());
  resolve_jumps();
  join_products(code);
  return true;
}

}  // namespace triton_runner::simt
