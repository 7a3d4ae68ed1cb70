// Finds facts that hold along the ways through a kernel: what a step makes of a state, joined where ways meet, until nothing changes.
#pragma once
#include <set>
#include <vector>

#include <triton_runner/amdgcn/facts.h>

namespace triton_runner::amdgcn {

// `step(at, state, reports)` turns the state before an instruction into the one behind it; `join(there, state)` says whether `there`
// changed. Once the states are known, each instruction that is reached is stepped through again with `reports`.
template <class State, class Join, class Step>
void follow_ways(const Kernel& kernel, Join join, Step step) {
  std::vector<State> before(kernel.body.size());
  std::vector<bool> reached(kernel.body.size());
  std::set<uint32_t> work;
  const auto go_to = [&](uint32_t at, const State& state) {
    if (at >= kernel.body.size()) return;
    if (join(before[at], state) || !reached[at]) work.insert(at);
    reached[at] = true;
  };
  go_to(0, {});
  while (!work.empty()) {
    const uint32_t at = *work.begin();
    work.erase(work.begin());
    State state = before[at];
    step(at, state, false);
    for (const uint32_t next : successors(kernel, at)) go_to(next, state);
  }
  for (uint32_t at = 0; at < kernel.body.size(); ++at)
    if (reached[at]) step(at, before[at], true);
}

}  // namespace triton_runner::amdgcn
