// AsyncQueue holds asynchronous operations under way, in the order in which they were issued. They take
// effect when somebody waits for them, or as the launch's timing says.
//
// Commits make groups of what an agent has issued, and who waits says how many of the newest groups may still be under
// way. What a barrier tells of is in no group.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <triton_runner/exec/timing.h>

namespace triton_runner::machine {

// Returns whether who waits for all but `keep` groups, after `commits` of them, waits for what was issued
// after `group` commits.
constexpr bool is_waited_for(uint64_t group, uint64_t keep, uint64_t commits) {
  return group + keep < commits;
}

inline constexpr uint32_t kNoAgent = ~uint32_t{0};

template <class Op>
class AsyncQueue {
 public:
  struct Issued {
    Op op;
    uint32_t agent;  // kNoAgent: it is in no group
    uint64_t group;  // commits of the agent before it
  };

  void begin(const exec::Timing& timing, uint64_t program) {
    ops_.clear();
    commits_.clear();
    this->timing = {timing, program};
  }
  bool empty() const { return ops_.empty(); }
  const std::deque<Issued>& ops() const { return ops_; }

  void issue(Op op, uint32_t agent = kNoAgent) { ops_.push_back({std::move(op), agent, commits(agent)}); }
  // After an issue: what takes effect by the launch's timing. At random those are some, in their order.
  template <class Wanted, class F>
  void settle(Wanted wanted, F f) {
    if (timing.kind() == exec::Timing::kUsual || !timing.at_once()) return;
    const auto n = static_cast<uint64_t>(std::count_if(ops_.begin(), ops_.end(), wanted));
    if (n > 0) take(wanted, f, timing.kind() == exec::Timing::kEager ? n : 1 + timing.below(n));
  }
  void commit(uint32_t agent) {
    if (agent >= commits_.size()) commits_.resize(agent + size_t{1});
    ++commits_[agent];
  }
  uint64_t commits(uint32_t agent) const { return agent < commits_.size() ? commits_[agent] : 0; }
  // Takes out those that `wanted` says, oldest first, and calls f(operation): `most` of them. How many there were.
  template <class Wanted, class F>
  uint64_t take(Wanted wanted, F f, uint64_t most = ~uint64_t{0}) {
    uint64_t taken = 0;
    for (size_t i = 0; i < ops_.size() && taken < most;) {
      if (!wanted(std::as_const(ops_[i]))) {
        ++i;
        continue;
      }
      Op op = std::move(ops_[i].op);
      if (i == 0)
        ops_.pop_front();  // mostly the oldest: erase() finds out more
      else
        ops_.erase(ops_.begin() + static_cast<ptrdiff_t>(i));
      ++taken;
      f(op);
    }
    return taken;
  }
  template <class F>
  uint64_t take_oldest(F f) {
    return take([](const Issued&) { return true; }, f, 1);
  }
  // All of an agent's, in groups or not.
  template <class F>
  void take_all(uint32_t agent, F f) {
    take([agent](const Issued& i) { return i.agent == agent; }, f);
  }
  // Takes what the agent waits for.
  template <class F>
  void wait(uint32_t agent, int64_t keep, F f) {
    const uint64_t n = commits(agent);
    take(
        [=](const Issued& i) {
          return i.agent == agent && is_waited_for(i.group, static_cast<uint64_t>(keep), n);
        },
        f);
  }

  exec::TimingPlaces timing;

 private:
  std::deque<Issued> ops_;
  std::vector<uint64_t> commits_;  // by agent
};

}  // namespace triton_runner::machine
