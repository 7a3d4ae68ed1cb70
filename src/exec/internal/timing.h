// Decides when asynchronous operations take effect (early, late, or in a random order), and launches at both
// ends of that for check="race".
#pragma once
#include <span>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/order.h>

namespace triton_runner::exec {

// The places that Timing picks: one a program or block, so that each has the same ones in every launch.
class TimingPlaces {
 public:
  TimingPlaces() = default;
  TimingPlaces(const Timing& timing, uint64_t program)
      : timing_(timing), random_(timing.seed ^ program << 20) {}
  Timing::Kind kind() const { return timing_.kind; }
  // Returns whether what was just issued takes effect at once.
  bool at_once() {
    return timing_.kind == Timing::kEager || (timing_.kind == Timing::kRandom && below(2) == 0);
  }
  // A number below n, which is not 0.
  uint64_t below(uint64_t n) { return random_.below(n); }

 private:
  Timing timing_;
  Random random_;
};

// A launch with check="race" of a kernel with asynchronous operations: without the check and with operations
// that take effect at once, and then with the check and late ones, from the same memory. Results that differ are a
// race.
LaunchResult launch_both_ends(Kernel& kernel, const LaunchOptions& options,
                              std::span<const Argument> arguments, std::span<const Allocation> allocations);
// Returns whether it is one, if the kernel has such operations.
inline bool wants_both_ends(const LaunchOptions& options) {
  return (options.checks & kCheckRace) && options.timing.kind == Timing::kUsual;
}

}  // namespace triton_runner::exec
