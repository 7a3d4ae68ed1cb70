// Groups of asynchronous copies: of what was issued, commits make groups, and who waits says how many of the newest
// groups may still be under way.
#pragma once
#include <cstdint>
#include <deque>
#include <utility>

namespace triton_runner::machine {

// Whether who waits for all but `keep` groups, after `commits` of them, waits for what was issued after `group` commits.
constexpr bool is_waited_for(uint64_t group, uint64_t keep, uint64_t commits) {
  return group + keep < commits;
}

// The operations of one agent, oldest first.
template <class Op>
class CopyGroups {
 public:
  void issue(Op op) { ops_.emplace_back(std::move(op), commits_); }
  void commit() { ++commits_; }
  // Takes out what is waited for, and calls f(operation).
  template <class F>
  void wait(int64_t keep, F f) {
    while (!ops_.empty() && is_waited_for(ops_.front().second, static_cast<uint64_t>(keep), commits_))
      take(f);
  }
  // All of them, in groups or not.
  template <class F>
  void take_all(F f) {
    while (!ops_.empty()) take(f);
  }

 private:
  template <class F>
  void take(F f) {
    Op op = std::move(ops_.front().first);
    ops_.pop_front();
    f(op);
  }

  std::deque<std::pair<Op, uint64_t>> ops_;  // with the commits before them
  uint64_t commits_ = 0;
};

}  // namespace triton_runner::machine
