// TwoRuns makes two launches begin with the same memory, and compares what the second leaves with what the
// first has left.
//
//   TwoRuns runs(memory);  launch();  runs.keep();  other_launch();  if (runs.difference()) ...;  runs.restore();
//
// Memory is kept by the pages that the launches change. What a log holds already, as that of Relaunch does,
// is not saved twice.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <triton_runner/exec/undo.h>

namespace triton_runner::exec {

class TwoRuns {
 public:
  // shares: no log that is on is given another mark while this lives. told: the launches tell log() of their writes.
  explicit TwoRuns(std::span<const Allocation> memory, bool shares = true, bool told = false);
  ~TwoRuns();
  TwoRuns(const TwoRuns&) = delete;
  TwoRuns& operator=(const TwoRuns&) = delete;

  UndoLog* log() { return own_.get(); }
  // Memory that a launch meets later.
  void include(const Allocation& memory);
  // Keeps what the first launch has left, and makes the memory what it was before it.
  void keep();
  // The memory is as it was before the first launch.
  void put_back();
  // The memory is as the first launch has left it.
  void restore();
  // The first byte that another launch has left otherwise, in which memory; null: none.
  std::optional<std::pair<const Allocation*, uint64_t>> difference();

 private:
  struct Part {  // of the memory
    UndoLog* log;
    size_t start;  // the mark of both launches
  };
  std::unique_ptr<UndoLog> own_;
  std::vector<Part> parts_;
  std::deque<Allocation> memory_;                       // which stays where it is
  std::map<std::byte*, std::vector<std::byte>> pages_;  // as the first launch has left them
};

}  // namespace triton_runner::exec
