// Reads the setting `timing`, and runs a launch of check="race" at both ends of it (timing.h).
#include <triton_runner/exec/timing.h>

#include <charconv>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/faults.h>
#include <triton_runner/exec/two_runs.h>

namespace triton_runner::exec {

std::optional<Timing> parse_timing(std::string_view text) {
  if (text.empty()) return Timing{};
  if (text == "eager") return Timing{Timing::kEager};
  if (text == "late") return Timing{Timing::kLate};
  Timing timing{Timing::kRandom};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), timing.seed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return timing;
}

LaunchResult launch_both_ends(Kernel& kernel, const LaunchOptions& options,
                              std::span<const Argument> arguments, std::span<const Allocation> allocations) {
  // A debugger sets marks of its own while the second launch runs.
  TwoRuns runs(allocations, !options.stopper);
  LaunchOptions eager = options;
  eager.checks = kCheckOutOfBounds;
  eager.timing = {Timing::kEager};
  eager.threads = 1;
  eager.shuffle.reset();
  eager.look_away();
  Faults faults;
  if (options.faults) eager.faults = &faults;
  if (options.resolve)
    eager.resolve = [&](uint64_t address) {
      std::optional<Allocation> found = options.resolve(address);
      if (found) runs.include(*found);
      return found;
    };
  LaunchResult first = kernel.launch(eager, arguments, allocations);
  if (first && (!first->trap || first->trap->kind == TrapKind::kInterrupted)) return first;
  runs.keep();
  LaunchOptions usual = options;
  usual.timing = {Timing::kLate};
  LaunchResult late = kernel.launch(usual, arguments, allocations);
  const bool warned = late && late->trap && !late->trap->warning.empty();
  if (late && !warned) return late;
  const std::string how = "with asynchronous operations that take effect as soon as they are issued (" +
                          base::option("timing", "eager") + ")";
  if (first) {
    first->trap->notes.push_back("this is " + how + "; it does not happen where they come late");
    return first;
  }
  const auto difference = runs.difference();
  if (!difference) return late;
  Trap trap;
  trap.kind = TrapKind::kRace;
  trap.race = Race::kInFlight;
  trap.kernel = kernel.name();
  trap.op = "the whole kernel";
  trap.message = "byte " + std::to_string(difference->second) + " of " + difference->first->label +
                 " comes out otherwise " + how +
                 " than where they come late: something does not wait for them";
  return LaunchError{{}, std::move(trap)};
}

}  // namespace triton_runner::exec
