// Grid is a launch as its workers share it: which programs have not started, when to stop, and whose trap
// stays. What one worker does with its units is in grid_worker.h.
//
// A worker takes and runs a unit: a program of the tile engine, or a cluster of blocks. When a unit traps, those
// above it leave and those below run on, so that the trap that stays is the one that comes first in the grid's
// order, on any number of workers.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/memory.h>
#include <triton_runner/exec/order.h>
#include <triton_runner/exec/stopper.h>
#include <triton_runner/machine/progress.h>

namespace triton_runner::machine {

// The pseudo-random order of a shuffled launch, which runs on one thread.
struct Shuffle {
  Shuffle(uint64_t seed, int64_t units) : order(seed, static_cast<uint64_t>(units)), random(seed) {}
  exec::Permutation order;  // in which units start
  exec::Random random;      // of turns, and of the elements of an atomic operation
};

struct Grid {
  // Before it runs; `units`: how many there are to take. Units lie in the launch's grid as clusters of `cluster` blocks.
  void begin(const exec::LaunchOptions& launch_options, const exec::Memory& launch_memory, int64_t units,
             const std::array<int64_t, 3>& cluster = {1, 1, 1});

  // Runs f(index) for each worker, on a thread of its own.
  void run(int threads, const std::function<void(int)>& f);

  const exec::LaunchOptions* options = nullptr;
  const exec::Memory* memory = nullptr;
  exec::Stopper* stopper = nullptr;  // of a launch under a debugger
  bool keeps_state = false;          // more than global memory goes from one unit to the next
  int64_t num_units = 0;
  int64_t first_unit = 0;  // its number; 0 unless one program alone is asked for
  int workers = 1;
  std::optional<Shuffle> shuffle;
  std::atomic<int64_t> next_unit{0};
  std::atomic<int64_t> steps{0};  // instructions executed, where they are limited
  Progress progress;
  // Units of this number and above leave, those below run on: one of them trapped, and one below may yet. 0: all leave.
  std::atomic<int64_t> stop_from{INT64_MAX};
  bool stops(int64_t number) const { return stop_from.load(std::memory_order_relaxed) <= number; }
  bool somebody_stopped() const { return stop_from.load(std::memory_order_relaxed) != INT64_MAX; }
  double deadline = 0;  // of steady_seconds(); 0: none
  bool is_late() const { return deadline > 0 && steady_seconds() > deadline; }
  bool is_interrupted() const { return options->stop && options->stop->stop_requested(); }

  std::mutex mutex;  // of what follows
  std::optional<exec::Trap> trap;
  int64_t trap_number = -1;  // of its unit
  bool deadlocked =
      false;  // the units that are left wait for each other, and each worker reports its first one
  // The trap of the unit stays if no unit below has one.
  void record(exec::Trap made, int64_t number);
};

// Takes units for one worker, several at a time: an atomic addition waits until all stores before it are done.
class Taker {
 public:
  explicit Taker(Grid& grid) : grid_(grid) {}
  // The number of the next unit of the grid, which nobody else then starts; -1: there is none.
  int64_t take() {
    if (taken_ == end_ && !take_some()) return -1;
    const int64_t place = taken_++;
    return grid_.first_unit +
           (grid_.shuffle ? static_cast<int64_t>(grid_.shuffle->order(static_cast<uint64_t>(place))) : place);
  }
  // Returns whether there are units that may start. In the grid's order none does after one that may not.
  bool has_more() const;
  // Which it takes next, to go back to; of a launch with one worker.
  struct Place {
    int64_t taken, end, next;
  };
  Place place() const { return {taken_, end_, grid_.next_unit.load(std::memory_order_relaxed)}; }
  void go_back(const Place& to) { taken_ = to.taken, end_ = to.end, grid_.next_unit = to.next; }

 private:
  bool take_some();

  Grid& grid_;
  int64_t taken_ = 0, end_ = 0;  // this worker's, not started yet
};

// The coordinates of place `linear` of a grid, x fastest. Each program asks, and divisions take it time.
inline std::array<int64_t, 3> place_in(const std::array<int64_t, 3>& grid, int64_t linear) {
  if (linear < grid[0]) return {linear, 0, 0};
  const int64_t row = linear / grid[0], plane = row < grid[1] ? 0 : row / grid[1];
  return {linear - row * grid[0], row - plane * grid[1], plane};
}
// The first block of cluster `number`, and block `rank` of it.
std::array<int64_t, 3> block_in(const std::array<int64_t, 3>& blocks, const std::array<int64_t, 3>& cluster,
                                int64_t number, int64_t rank = 0);

}  // namespace triton_runner::machine
