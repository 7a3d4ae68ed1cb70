// Progress notices that the workers of a launch make no progress: a worker whose programs only spin asks here
// whether any other worker does more.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace triton_runner::machine {

double steady_seconds();

// Nothing but spinning, no program ended, no memory written for so long: nobody ever will.
inline constexpr double kLivelockSeconds = 2;

// The workers of a launch know this of each other.
class Progress {
 public:
  // Before the workers start.
  void begin(int workers) { rounds_ = std::vector<std::atomic<uint64_t>>(static_cast<size_t>(workers)); }
  // Some worker only spins: changes of memory are counted.
  bool is_watched() const { return watched_.load(std::memory_order_relaxed); }
  // Memory has changed.
  void changed() {
    if (is_watched()) changes_.fetch_add(1, std::memory_order_relaxed);
  }
  // A program has ended.
  void ended() {
    if (is_watched()) ends_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  friend class Waiter;
  std::vector<std::atomic<uint64_t>> rounds_;  // by worker: how often it asked all of its programs in vain
  std::atomic<bool> watched_{false};
  std::atomic<uint64_t> changes_{0}, ends_{0};
  std::atomic<int> idle_{0};  // workers that only spin, and those that have nothing left
};

// One worker's part.
class Waiter {
 public:
  Waiter(Progress& all, int index) : all_(all), index_(static_cast<size_t>(index)) {}
  // It has nothing left.
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  // It does more than spin.
  void busy() { set_idle(false); }
  // It has asked all of its programs, and each only spins. True: so do the programs of all other workers, and
  // have for kLivelockSeconds in which nothing changed. Time alone says little on a loaded machine: every worker
  // has to have asked its programs again and again. Where `impatient`, changes of memory count for some time
  // only: after five times as long without a program that ended, it is true as well.
  bool nobody_gets_on(bool impatient);

 private:
  // Since when something is as it is, and the rounds of all workers then.
  struct Quiet {
    uint64_t seen = 0;
    double since = 0;
    std::vector<uint64_t> rounds;
  };
  bool is_quiet(Quiet& quiet, uint64_t now_seen, double now, double seconds);
  void set_idle(bool idle);

  Progress& all_;
  size_t index_;
  bool idle_here_ = false;
  Quiet changes_, ends_;
};

}  // namespace triton_runner::machine
