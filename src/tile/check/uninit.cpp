// Has the rules by which shadows follow values (uninit.h), and reports where branches, masks, addresses, or
// stores to global memory depend on an undefined value. Shared memory is in uninit_shared.cpp.
#include "check/uninit.h"

#include <algorithm>
#include <ranges>

#include <triton_runner/ir/enums.h>

#include "check/substitute.h"
#include "lowering.h"
#include "machine/cluster.h"
#include "ops/lazy.h"

namespace triton_runner::tile {

using enum ir::Effect;

UninitCheck::UninitCheck(const CheckedCode& code, const exec::Memory& memory, bool follows)
    : code_(code), follows_(follows), memory_(memory) {
  for (const Instr& in : code.code.instrs) {
    const Family family = family_of(in);
    const bool known = family == Family::kAccess || family == Family::kAsyncCopy || family == Family::kCopies;
    families_.push_back({family,
                         in.op && in.run != run_release && !known ? row_of(in.op->kind).shadow : nullptr,
                         sinks_of(in, family, code.code)});
    if (const Access a = any_access_of(in); follows && a.kind != AccessKind::kNone)
      std::erase_if(families_.back().sinks, [](const Sink& s) { return s.is_value; });
  }
}

UninitCheck::~UninitCheck() = default;

void UninitCheck::begin(Program& program) {
  auto& own = static_cast<ProgramChecks&>(*program.checks);
  if (!own.shadows) own.shadows = std::make_unique<Shadows>(code_.code, *program.worker->pool);
  own.shadows->begin(program,
                     std::byte{0xff});  // new shared memory has the pattern of its poison: all undefined
}

Shadows& UninitCheck::of(const Program& program) const {
  return *static_cast<ProgramChecks&>(*program.checks).shadows;
}

// ---- reports

bool UninitCheck::report(Task& t, const Instr& in, Slot s, std::vector<int64_t> element, const char* what) {
  const Shadows& p = of(t);
  std::vector<std::string> notes;
  if (const uint32_t origin = p.origin[s]) {
    const Origin& o = p.origins[origin - 1];
    notes.push_back("it comes from " + o.text(*t.code) + ": " + o.what);
  }
  return trap_with_notes(t, in, exec::TrapKind::kUninitialized,
                         std::string(what) + " depends on a value that was never written", std::move(element),
                         std::move(notes));
}

bool UninitCheck::sink(Task& t, const Instr& in, Slot s, int64_t mask, const char* what) {
  const int64_t first = of(t).first_on(t, s, mask);
  return first < 0 || report(t, in, s, t.type(s).index_of(first), what);
}

bool UninitCheck::before(Task& t, const Instr& in) {
  const Known& known = families_[&in - t.code->instrs.data()];
  for (const Sink& s : known.sinks)
    if (!sink(t, in, s.slot, s.mask, s.what)) return false;
  const Access a = known.family == Family::kAccess ? any_access_of(in) : Access{};
  if (a.kind == AccessKind::kAtomic) return atomic_memory(t, in, a);
  if (in.op->effects().all(kAsync | kBlock | kStores) && known.family != Family::kAsyncCopy) {
    const auto& buffers = code_.buffers[&in - t.code->instrs.data()];
    if (buffers.empty()) return true;
    const ir::Type& type = *in.op->operand(buffers[0].operand)->type;
    stored_ = of(t).read(t, in, buffers[0], type.num_elements());
  }
  return true;
}

namespace {

bool is_exchange(const Instr& in) {
  return in.op->attr("atomic_rmw_op") && in.op->enum_attr<ir::RMWOp>("atomic_rmw_op") == ir::RMWOp::kExch;
}

}  // namespace

// The memory that an atomic combines with must have been written; an exchange does not look.
bool UninitCheck::atomic_memory(Task& t, const Instr& in, const Access& a) {
  if (!memory_.any()) return true;
  const TileType& type = t.type(in.result());
  if (follows_) {
    found_.assign(static_cast<size_t>(type.n), 0);
    return each_address(t, a, type, [&](int64_t i, uint64_t address) {
      found_[static_cast<size_t>(i)] = memory_.first(address, type.size).has_value();
      return true;
    });
  }
  if (is_exchange(in)) return true;
  return each_address(t, a, type, [&](int64_t i, uint64_t address) {
    if (!memory_.first(address, type.size)) return true;
    of(t).origin[static_cast<Slot>(a.ptr)] = of(t).new_origin(t, in, type.index_of(i), kNeverWritten);
    return report(t, in, static_cast<Slot>(a.ptr), type.index_of(i), "the atomic");
  });
}

// Follows an atomic: an undefined operand, or memory that was undefined, makes its memory and its result undefined.
void UninitCheck::combined(Task& t, const Instr& in, const Access& a) {
  Shadows& p = of(t);
  p.set_clean(in.results());
  if (!memory_.any()) return;
  std::vector<Lanes> operands;
  for (const int64_t s : {a.value, a.expected})
    if (s != kNoSlot && !p.clean(static_cast<Slot>(s))) operands.push_back(p.lanes(t, static_cast<Slot>(s)));
  const TileType& type = t.type(in.result());
  const bool exchanges = is_exchange(in);
  each_address(t, a, type, [&](int64_t i, uint64_t address) {
    uint8_t& found = found_[static_cast<size_t>(i)];
    const bool given = std::ranges::any_of(operands, [&](const Lanes& l) { return l.marked(i); });
    if (given || (found && !exchanges))
      memory_.forget(address, type.size);
    else
      memory_.write(address, type.size);
    found |= given;
    return true;
  });
  if (!any_set(found_)) return;
  p.mark_where(t, in, [&](int64_t e) { return found_[static_cast<size_t>(e)] != 0; });
  p.origin[in.result()] = p.new_origin(t, in, {}, kNeverWritten);
}

// ---- shadows of results

// Results and memory of what goes through pointers, buffers and barriers. False: it is none of these.
bool UninitCheck::through_memory(Task& t, const Instr& in, Family family) {
  Shadows& p = of(t);
  switch (family) {
    case Family::kAccess: {
      const Access a = any_access_of(in);
      if (a.kind == AccessKind::kLoad) return loaded(t, in, a, in.result()), true;
      if (a.kind == AccessKind::kAtomic && follows_) return combined(t, in, a), true;
      if (a.kind != AccessKind::kPoll) stored(t, a);
      return p.set_clean(in.results()), true;
    }
    case Family::kAsyncCopy:
      loaded(t, in, async_access_of(in), in.result());
      if (!p.clean(in.result())) p.stored = p.origin[in.result()];
      return p.issue_copy(t, in, code_.buffers[&in - t.code->instrs.data()][0]), true;
    case Family::kDescriptor:
      p.set_clean(in.results());
      return block_loaded_into(t, in), true;
    case Family::kSharedMoves:
      return shared_moves(t, in), true;
    case Family::kCopyWait:
      return p.run(t, in, {}), true;
    case Family::kBarrierCopy:
      block_.clear();
      if (is_on(t, in, "pred")) lands(t, in, "result", "barrier", {});
      return true;
    case Family::kHandOver:
      return p.hand_over(t, in.operand(0)), true;
    case Family::kSend:
      return send(t, in), true;
    case Family::kMatrix:
      return matrix(t, in), true;
    case Family::kBarrier:
      p.set_clean(in.results());
      return p.complete_copies(t, in.operand(0)), true;
    default:
      return false;
  }
}

void UninitCheck::elementwise(Task& t, const Instr& in) {
  Shadows& p = of(t);
  std::vector<Lanes> from;
  for (const Slot o : in.operands())
    if (!p.clean(o)) from.push_back(p.lanes(t, o));
  p.mark_where(t, in, [&](int64_t e) {
    return std::any_of(from.begin(), from.end(), [&](const Lanes& l) { return l.marked(e); });
  });
}

// Returns which elements of the results are undefined, where an operand is. False: their origins are known
// already.
bool UninitCheck::follow(Task& t, const Instr& in, Family family, uint32_t origin) {
  Shadows& p = of(t);
  if (p.move(t, in, family)) return family == Family::kMoves;
  if (family == Family::kElementwise) return elementwise(t, in), true;
  for (const Slot s : in.results()) p.set_all(s, origin);
  return false;
}

// The origin of each result: of the operand that its first undefined element comes from, else `origin`.
void UninitCheck::settle(Task& t, const Instr& in, uint32_t origin) {
  Shadows& p = of(t);
  for (const Slot s : in.results()) {
    p.origin[s] = origin;
    p.recognise_clean(t, s);
    if (p.clean(s)) continue;
    const int64_t n = t.type(s).n, e = p.first(t, s);
    for (const Slot o : std::views::reverse(in.operands()))
      if (t.type(o).n == n && !p.clean(o) && p.origin[o] && p.lanes(t, o).marked(e))
        p.origin[s] = p.origin[o];
  }
}

void UninitCheck::define_results(Task& t, const Instr& in) {
  Shadows& p = of(t);
  for (const Slot s : in.results()) {
    const TileType& type = t.type(s);
    if (p.clean(s) || type.size == 0) continue;
    const Lanes lanes = p.lanes(t, s);
    std::vector<int64_t> elements;
    for (int64_t e = 0; e < type.n; ++e)
      if (lanes.marked(e)) elements.push_back(e);
    if (elements.empty()) continue;
    const std::string what = p.origin[s] ? p.origins[p.origin[s] - 1].what : "it was never written";
    substituted(t, in, s, elements, [&] {
      return t.made_trap(in, exec::TrapKind::kUninitialized, what, type.index_of(elements[0]));
    });
    p.set_clean(s);
  }
}

// ---- what an op's own rule asks and says

Lanes ShadowRule::lanes(uint32_t operand) const { return check.of(t).lanes(t, in.operand(operand)); }
void ShadowRule::results(const std::function<bool(int64_t)>& f) {
  check.of(t).mark_where(t, in, f);
  check.settle(t, in, origin);
}
void ShadowRule::moved(uint32_t index) {
  Shadows& p = check.of(t);
  p.run(t, in, {in.operand(index)});
  if (!p.clean(in.operand(index))) p.unite(t, in.result(), in.operand(index));
  check.settle(t, in, origin);
}
void ShadowRule::undefined(const char* why) {
  Shadows& p = check.of(t);
  for (const Slot s : in.results()) p.set_all(s, p.new_origin(t, in, {}, why));
}
void ShadowRule::lands(ir::GroupName buffer, ir::GroupName barrier, const std::vector<uint8_t>& elements) {
  check.lands(t, in, buffer, barrier, elements);
}

void UninitCheck::lands(Task& t, const Instr& in, ir::GroupName buffer, ir::GroupName barrier,
                        const std::vector<uint8_t>& undefined) {
  const MemoryOperand *to = code_.buffer_of(in, buffer), *counts = code_.buffer_of(in, barrier);
  if (to && counts) reach(t, in, *to, counts, undefined);
}

void UninitCheck::reach(Task& t, const Instr& in, const MemoryOperand& to, const MemoryOperand* barrier,
                        const std::vector<uint8_t>& undefined) {
  const bool any = any_set(undefined);
  for (Program* block : blocks_reached(t, in)) {
    Shadows& there = of(*block);
    if (any) there.stored = there.new_origin(t, in, {}, "it was sent so");
    if (barrier &&
        !mem_desc(t, in.operand(barrier->operand)).block)  // that of another block: as if it had landed
      there.issue_block(t, in, *barrier, to, undefined);
    else
      there.write(t, in, to, undefined);
  }
}

void UninitCheck::after(Task& t, const Instr& in) {
  Shadows& p = of(t);
  const auto& [family, rule, sinks] = families_[&in - t.code->instrs.data()];
  if (!rule && through_memory(t, in, family)) return;
  const bool dirty = !p.clean(in.operands());
  if (!rule && family == Family::kOther && in.op)  // it has no rule: what it may have stored is defined
    p.clear_buffers(t, in, code_.buffers[&in - t.code->instrs.data()]);
  const bool asked =
      rule && (dirty || (in.num_operands == 0 && in.num_results > 0) ||
               in.op->effects().any(kAsync | kBufferReads | kBufferWrites | kLoads | kStores | kAtomics));
  if (!dirty || rule) p.set_clean(in.results());
  uint32_t origin = 0;
  for (const Slot o : std::views::reverse(in.operands()))
    if (!p.clean(o) && p.origin[o]) origin = p.origin[o];
  if (asked) {
    ShadowRule own{t, in, *this, origin};
    rule(own);
  } else if (dirty && !rule && follow(t, in, family, origin)) {
    settle(t, in, origin);
  }
}

void UninitCheck::loaded(Task& t, const Instr& in, const Access& a, Slot result) {
  Shadows& p = of(t);
  const TileType& type = t.type(result);
  const uint8_t* on = nullptr;
  bool all_off = false;
  if (a.mask != kNoSlot) {
    const Slot m = static_cast<Slot>(a.mask);
    MaskBox box;
    if (t.is_uniform(m))
      all_off = !t.bits(m);
    else if (type.rank > kLazyRank || !box_of(t.value(m), type, &box) || !box.full(type))
      on = t.dense<uint8_t>(m);
  }
  const bool other = a.other != kNoSlot;
  if (all_off) {
    if (other) return p.copy(result, static_cast<Slot>(a.other));
    return p.set_all(result, p.new_origin(t, in, type.index_of(0), kMaskedOff));
  }
  if (!on && !memory_.any()) return p.set_clean(result);
  const bool look = memory_.any();
  const Lanes others = other ? p.lanes(t, static_cast<Slot>(a.other)) : Lanes{};
  const uint64_t one = type.rank == 0 ? static_cast<uint64_t>(t.bits(static_cast<Slot>(a.ptr))) : 0;
  const auto* addresses = !look            ? nullptr
                          : type.rank == 0 ? &one
                                           : t.dense<uint64_t>(static_cast<Slot>(a.ptr));
  std::byte* out = nullptr;
  for (int64_t i = 0; i < type.n; ++i) {
    const bool off = on && !on[i];
    const bool memory = !off && look && memory_.first(addresses[i], type.size);
    if (!(off ? !other || others.marked(i) : memory)) continue;
    if (!out) {
      uint32_t origin = off && other
                            ? p.origin[static_cast<Slot>(a.other)]
                            : p.new_origin(t, in, type.index_of(i), off ? kMaskedOff : kNeverWritten);
      if (type.rank == 0) return p.set_all(result, origin);
      out = p.new_lanes(t, result, origin);
    }
    out[i * type.size] = kUndefined;
  }
  if (!out) p.set_clean(result);
}

void UninitCheck::stored(Task& t, const Access& a) {
  if (!memory_.any()) return;
  const Slot value = static_cast<Slot>(a.value);
  const TileType& type = t.type(value);
  const bool undefined = follows_ && a.kind == AccessKind::kStore && !of(t).clean(value);
  const Lanes lanes = undefined ? of(t).lanes(t, value) : Lanes{};
  each_address(t, a, type, [&](int64_t i, uint64_t address) {
    if (undefined && lanes.marked(i))
      memory_.forget(address, type.size);
    else
      memory_.write(address, type.size);
    return true;
  });
}

}  // namespace triton_runner::tile
