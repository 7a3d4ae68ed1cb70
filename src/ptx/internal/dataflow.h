// flow_forward() finds facts that hold before each instruction on every way that leads there: one forward
// pass over a function's control flow, repeated until nothing changes.
#pragma once
#include <map>

#include <triton_runner/ptx/flow.h>

namespace triton_runner::ptx {

// Calls `before(instruction, state)`, then `step(state, instruction)`, from the entry (an empty State) on.
// Where ways meet `join(into, from)` combines the two and says whether `into` changed; instructions may come
// up several times, and at the last time with the state of all ways. A call comes back.
template <class State, class Join, class Before, class Step>
void flow_forward(const Function& f, Join join, Before before, Step step) {
  const std::vector<bool> targets = jump_targets(f);
  std::map<uint32_t, State> starts{{0, {}}};  // of the entry, and of each jump's target
  std::vector<uint32_t> waiting{0};
  auto go = [&](uint32_t to, const State& state) {
    auto [at, fresh] = starts.try_emplace(to, state);
    if (fresh || join(at->second, state)) waiting.push_back(to);
  };
  while (!waiting.empty()) {
    uint32_t i = waiting.back();
    waiting.pop_back();
    State state = starts[i];
    for (bool first = true; i < f.body.size(); ++i, first = false) {
      const Instruction& in = f.body[i];
      if (!first && targets[i]) {
        go(i, state);
        break;
      }
      before(i, state);
      step(state, i);
      if (!is_control(in) || comes_back(in)) continue;
      for (uint32_t to : targets_of(in)) go(to, state);
      if (in.guard < 0) break;
    }
  }
}

}  // namespace triton_runner::ptx
