// Executes branches: one on which the threads of a path agree moves its pc; one on which they do not splits
// the path (state/divergence.h).
#include "ops/control.h"

#include <algorithm>
#include <array>

#include "state/divergence.h"
#include "state/turns.h"

namespace triton_runner::simt {
namespace {

constexpr size_t kMostThreads = 1024;  // of a block

// Loops are counted where they jump back: limits are looked at there. False: it is no jump back.
bool count_back(Exec& x, const Instr* target) {
  if (target >= x.pc) return false;
  x.worker->steps += x.pc - target;
  --x.fuel;
  return true;
}

void jump(Exec& x, const Instr* target) {
  if (count_back(x, target) && (x.fuel <= 0 || x.cta->paths.size() > 1)) x.leave();
  x.pc = target;
}

bool all_on(const Exec& x) { return x.mask == x.path_mask(); }

// The threads that are on go to `target`, the others of the path go on.
void branch_to(Exec& x, const Instr* target) {
  if (all_on(x)) return jump(x, target);
  count_back(x, target);
  if (x.code().warp_turns)
    part_warps(x, target);
  else
    split(x, target);
}

// Threads of the path that are not on run what comes before `target`; all go on there, or (`ends`) end there. False, and
// nothing was done: there are none, others are on their way, or somebody looks at each instruction.
bool run_others(Exec& x, const Instr* target, bool ends) {
  if (all_on(x) || !x.whole_runs || x.worker->checks || target > x.limit || is_parted(*x.cta, *x.path))
    return false;
  alignas(64) std::array<int8_t, kMostThreads> others, guarded;
  const int8_t* own = x.path_mask();
  for (uint32_t i = 0; i < x.count; ++i) others[i] = static_cast<int8_t>((own ? own[i] : -1) & ~x.mask[i]);
  const Tables& tables = simd_tables(num::current_isa());
  // Those that are off have ended, where the path has no gaps: what only computes may do so for them, too.
  const int8_t* computing = ends && !own ? nullptr : others.data();
  while (x.pc < target && x.limit) {  // no limit: a trap
    const Instr& one = *x.pc++;
    x.mask = one.computes ? computing : others.data();
    if (one.guard != kNoRegister) {
      const Guard found =
          tables.guard(x.reg<int8_t>(one.guard), one.guard_flip, others.data(), guarded.data(), x.count);
      if (found == Guard::kNone) continue;
      if (found == Guard::kSome) x.mask = guarded.data();
    }
    one.run(x, one);
  }
  x.mask = own;
  return true;
}

}  // namespace

void branch(Lanes& l, const Operands& in) { branch_to(exec_of(l), static_cast<const Instr*>(in.data)); }

void branch_over(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  const auto* target = static_cast<const Instr*>(in.data);
  if (!run_others(x, target, false)) branch_to(x, target);
}

void end_over(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  if (!run_others(x, static_cast<const Instr*>(in.data), true)) end_lanes(x);
}

void branch_table(Exec& x, const Operands& in, const BranchTable& table) {
  std::vector<uint32_t> index(x.count);
  for (uint32_t i = 0; i < x.count; ++i) {
    uint64_t v = in.small == 4 ? x.reg<uint32_t>(in.a)[i] : x.reg<uint64_t>(in.a)[i];
    v -= table.flags;
    if (x.on(i) && (v >= table.targets.size() || !table.targets[v]))
      return x.trap(in, exec::TrapKind::kInvalid,
                    table.flags ? "the address that is called is none of a function that this call may reach"
                                : "index " + std::to_string(v) + " into a table of " +
                                      std::to_string(table.targets.size()) + " branch targets",
                    i);
    index[i] = static_cast<uint32_t>(v);
  }
  const uint32_t first = first_on(x);
  const uint32_t mine = index[first];
  bool uniform = true;
  for (uint32_t i = first; i < x.count; ++i) uniform = uniform && (!x.on(i) || index[i] == mine);
  if (uniform) return branch_to(x, table.targets[mine]);
  // One path a target, each split from what is left; the last group stays.
  std::vector<int8_t> mask(x.count);
  std::vector<uint32_t> seen;
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i) || std::find(seen.begin(), seen.end(), index[i]) != seen.end()) continue;
    seen.push_back(index[i]);
    for (uint32_t j = 0; j < x.count; ++j) mask[j] = x.on(j) && index[j] == index[i] ? -1 : 0;
    count_back(x, table.targets[index[i]]);
    add_path(x, mask.data(), table.targets[index[i]]);
  }
  keep_others(x);
}

void trap_here(Exec& x, const Operands& in) {
  x.trap(in, exec::TrapKind::kAssert, "the kernel ends itself here", first_on(x));
}

void end_thread(Lanes& l, const Operands&) { end_lanes(exec_of(l)); }

}  // namespace triton_runner::simt
