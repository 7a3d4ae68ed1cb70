// GridWorker decides which of the units of one worker runs when.
//
// A worker takes units of the grid and runs one at a time to its end. A unit that only spins (it waits for another one)
// is set aside: the worker first goes round those it has, the newest first, as what the others wait for is most often
// there, and starts a new one only when none of them gets on. So kernels that wait for each other finish on one thread,
// and memory stays at one unit a worker otherwise. In a shuffled launch several are under way, and each turn goes to
// any of them.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include <triton_runner/machine/grid.h>

namespace triton_runner::machine {

// The result of a unit's run.
enum class Step {
  kFinished,
  kSpinning,
  kStopped,  // it trapped, or the launch is to stop
  kGoesOn,   // its turn is over
  kWorks,    // so it is, and has been often enough that it does more than spin
};

// Engine, which derives from it, has
//   static constexpr int kPatience          rounds of spinning before another unit is started
//   static constexpr bool kSpinsForSure     what spins does nothing else: where all do, that is a deadlock
//   std::unique_ptr<U> make()               null: it trapped
//   bool begin(U&, int64_t number)          false: it may not run
//   Step step(U&)                           until it ends, stops or spins
//   Step turn(U&)                           the same for a turn of a shuffled launch
//   void end(U&)                            it has finished, and is begun again
//   void discard(U&)                        it stopped on its way: nothing of it is used again
template <class Engine, class U>
class GridWorker {
 public:
  void run() {
    if (grid_.shuffle)
      run_shuffled();
    else
      run_in_order();
  }

 protected:
  GridWorker(Grid& grid, int index) : taker_(grid), grid_(grid), waiter_(grid.progress, index) {}

  Taker taker_;
  std::vector<std::unique_ptr<U>> active_, idle_;

 private:
  static constexpr size_t kShuffledUnits = 8;  // under way at once in a shuffled launch, more while they spin

  Engine& engine() { return static_cast<Engine&>(*this); }

  void run_in_order() {
    int rounds = 0;
    while (!grid_.stops(0)) {
      if (active_.empty() || (rounds >= Engine::kPatience && taker_.has_more())) {
        rounds = 0;
        if (start())
          run_straight();
        else if (active_.empty())
          return;
        continue;
      }
      for (size_t i = active_.size(); i-- > 0;)
        if (leaves(i, step(*active_[i]))) rounds = 0;
      if (++rounds <= Engine::kPatience || taker_.has_more())
        waiter_.busy();
      else if (nobody_gets_on())
        return;
    }
  }

  void run_shuffled() {
    size_t spins = 0, most = kShuffledUnits;
    while (!grid_.stops(0)) {
      const auto is_stuck = [&] { return spins > Engine::kPatience * (active_.size() + 1); };
      if (is_stuck() && taker_.has_more()) ++most, spins = 0;
      while (active_.size() < most && taker_.has_more()) start();
      if (active_.empty()) return;
      const size_t k = grid_.shuffle->random.below(active_.size());
      const Step step = engine().turn(*active_[k]);
      if (leaves(k, step) || step == Step::kWorks) {
        spins = 0;
        waiter_.busy();
        if (step == Step::kWorks) grid_.progress.changed();
      } else if (step == Step::kSpinning) {
        ++spins;
        if (is_stuck() && !taker_.has_more() && nobody_gets_on()) return;
      }
    }
  }

  // The next unit of the grid, ready to run as the last of active_; false: there is none, or it may not run.
  bool start() {
    if (!taker_.has_more()) return false;
    std::unique_ptr<U> unit;
    if (idle_.empty()) {
      if (!(unit = engine().make())) return false;
    } else {
      unit = std::move(idle_.back());
      idle_.pop_back();
    }
    const bool ready = begin(*unit, active_.size());
    (ready ? active_ : idle_).push_back(std::move(unit));
    return ready;
  }

  // others: units that are under way.
  bool begin(U& unit, size_t others) {
    const int64_t number = taker_.take();
    if (grid_.stopper && number >= 0) [[unlikely]]
      grid_.stopper->on_unit(number - grid_.first_unit, others == 0 && !grid_.keeps_state && !grid_.shuffle);
    return number >= 0 && engine().begin(unit, number);
  }

  Step step(U& unit) {
    const Step done = engine().step(unit);
    if (grid_.stopper) [[unlikely]]
      grid_.stopper->on_turn_end();
    return done;
  }

  // Runs the last of active_, and the next units of the grid in its place, until one stops or spins or none is left.
  void run_straight() {
    U& unit = *active_.back();
    Step done;
    while ((done = step(unit)) == Step::kFinished) {
      end(unit);
      if (begin(unit, active_.size() - 1)) continue;
      retire(active_.size() - 1);
      return;
    }
    leaves(active_.size() - 1, done);
  }

  void end(U& unit) {
    engine().end(unit);
    grid_.progress.ended();
  }

  void retire(size_t i) {
    idle_.push_back(std::move(active_[i]));
    active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
  }

  // Takes active_[i] away if it has finished or stopped.
  bool leaves(size_t i, Step step) {
    if (step == Step::kFinished) {
      end(*active_[i]);
      retire(i);
    } else if (step == Step::kStopped) {
      if (grid_.stops(0)) return false;  // it may still be reported
      engine().discard(*active_[i]);
      active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      return false;
    }
    return true;
  }

  // Everything here only spins and there is nothing to start: whether this is so everywhere, and stays so. Where a
  // unit has trapped, those below it may wait for what it, or one above it, was to do: its trap stays.
  bool nobody_gets_on() {
    const bool trapped = grid_.somebody_stopped();
    if (!(trapped || Engine::kSpinsForSure) || !waiter_.nobody_gets_on(trapped)) return false;
    std::lock_guard lock(grid_.mutex);
    grid_.deadlocked |= !grid_.trap;
    grid_.stop_from.store(0, std::memory_order_relaxed);
    return true;
  }

  Grid& grid_;
  Waiter waiter_;
};

}  // namespace triton_runner::machine
