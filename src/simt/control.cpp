// A branch on which the threads of a path agree moves its pc; one on which they do not splits the path.
#include "control.h"

#include <algorithm>

#include "divergence.h"

namespace triton_runner::simt {
namespace {

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
  split(x, target);
}

}  // namespace

void branch(Lanes& l, const Operands& in) { branch_to(exec_of(l), static_cast<const Instr*>(in.data)); }

void branch_table(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  const BranchTable& table = *static_cast<const BranchTable*>(in.data);
  std::vector<uint32_t> index(l.count);
  for (uint32_t i = 0; i < l.count; ++i) {
    uint64_t v = in.small == 4 ? l.reg<uint32_t>(in.a)[i] : l.reg<uint64_t>(in.a)[i];
    v -= table.flags;
    if (l.on(i) && (v >= table.targets.size() || !table.targets[v])) {
      x.trap(in, exec::TrapKind::kInvalid,
             table.flags ? "the address that is called is none of a function that this call may reach"
                         : "index " + std::to_string(v) + " into a table of " +
                               std::to_string(table.targets.size()) + " branch targets",
             i);
      return;
    }
    index[i] = static_cast<uint32_t>(v);
  }
  const uint32_t first = first_on(l);
  const uint32_t mine = index[first];
  bool uniform = true;
  for (uint32_t i = first; i < l.count; ++i) uniform = uniform && (!l.on(i) || index[i] == mine);
  if (uniform) return branch_to(x, table.targets[mine]);
  // One path a target, each split from what is left; the last group stays.
  std::vector<int8_t> mask(l.count);
  std::vector<uint32_t> seen;
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i) || std::find(seen.begin(), seen.end(), index[i]) != seen.end()) continue;
    seen.push_back(index[i]);
    for (uint32_t j = 0; j < l.count; ++j) mask[j] = l.on(j) && index[j] == index[i] ? -1 : 0;
    count_back(x, table.targets[index[i]]);
    add_path(x, mask.data(), table.targets[index[i]]);
  }
  keep_others(x);
}

void trap_here(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  x.trap(in, exec::TrapKind::kAssert, "the kernel executed 'trap'", first_on(l));
}

void end_thread(Lanes& l, const Operands&) { end_lanes(exec_of(l)); }

}  // namespace triton_runner::simt
