// Implements Bindings by one forward pass over the code: at each instruction a variable has the last
// assignment on all ways that lead there, and is unknown where they differ.
#include "debug/bindings.h"

namespace triton_runner::probe {

Bindings::Bindings(const RegisterFlow& flow, const std::string& function,
                   const std::vector<std::string>& variables, const Marks& marks)
    : flow_(flow) {
  std::vector<bool> lost;
  for (size_t a = 0; a < variables.size(); ++a) {
    const auto [it, fresh] = numbers_.try_emplace(variables[a], static_cast<uint32_t>(numbers_.size()));
    const uint32_t variable = it->second;
    lost.resize(numbers_.size());
    lost[variable] = lost[variable] || marks.unplaced[a];
    for (const Mark& mark : marks.places[a]) {
      if (mark.to.function != function) continue;
      auto event = [&](const exec::RegisterProbe& at, int assignment) {
        events_[{at.instruction, at.after}].push_back({variable, assignment});
      };
      if (mark.from.instruction != mark.to.instruction || mark.from.after != mark.to.after)
        event(mark.from, kUnknown);
      event(mark.to, static_cast<int>(a));
    }
  }
  for (auto& [place, events] : events_)
    for (Event& e : events)
      if (lost[e.variable]) e.assignment = kUnknown;
  const auto n = static_cast<uint32_t>(flow.steps.size());
  states_.assign(n, State(numbers_.size(), kUnreached));
  if (n == 0) return;
  states_[0].assign(numbers_.size(), kUnknown);
  std::vector<uint32_t> work{0};
  while (!work.empty()) {
    const uint32_t i = work.back();
    work.pop_back();
    State state = states_[i];
    apply(i, false, state);
    apply(i, true, state);
    for (const uint32_t to : flow.steps[i].next) {
      if (to >= n) continue;
      bool changed = false;
      for (size_t v = 0; v < state.size(); ++v) {
        int& there = states_[to][v];
        const int joined = there == kUnreached || there == state[v] ? state[v] : kUnknown;
        changed |= joined != there;
        there = joined;
      }
      if (changed) work.push_back(to);
    }
  }
}

void Bindings::apply(uint32_t instruction, bool after, State& state) const {
  const auto at = events_.find({instruction, after});
  if (at == events_.end()) return;
  for (const Event& e : at->second) state[e.variable] = e.assignment;
}

int Bindings::at(uint32_t instruction, const std::string& variable) const {
  State state = states_.at(instruction);
  apply(instruction, false, state);
  return std::max(state[numbers_.at(variable)], kUnknown);
}

}  // namespace triton_runner::probe
