// Launching from Python: the options of a launch, and the call that waits for it and can be interrupted.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bindings.h"

namespace triton_runner::exec {
struct Fault;
class CountObserver;
class ReadSet;
class RegisterObserver;
struct Substitution;
}  // namespace triton_runner::exec

namespace triton_runner::python {

struct DebuggerObject;
struct RecorderObject;

struct Options {
  std::string device = "cpu";
  int threads = 0;
  int64_t programs = 0;                           // LaunchOptions::max_programs
  std::optional<std::array<int64_t, 3>> program;  // LaunchOptions::only
  uint32_t checks = exec::kCheckOutOfBounds;
  bool report_faults = false;  // go on after accesses out of bounds
  bool fast_mma = false;
  bool hardware = false;
  double timeout = 0;
  int64_t shared = -1;
  uint64_t stream = 0;
  std::optional<uint64_t> shuffle;
  exec::Timing timing;
  bool exact_tails = false;
  bool follows_undefined = false;
  std::optional<uint64_t> perturb;
  std::shared_ptr<exec::Substitution> substitution;
  std::shared_ptr<exec::ReadSet> reads;
  // Records values on the tile engine, sees registers on the SIMT engine, or counts what machine code executes.
  std::variant<std::monostate, std::shared_ptr<RecorderObject>, std::shared_ptr<exec::RegisterObserver>,
               std::shared_ptr<exec::CountObserver>>
      recorder;
  std::shared_ptr<DebuggerObject> debugger;
};

// A tuple or list of 1 to 3 positive integers. Errors: anything else.
std::array<int64_t, 3> make_grid(nb::handle grid);

// (the fields of the first trap, count) of each.
nb::list made_faults(const std::vector<exec::Fault>& faults);

// Launches ask triton_runner/_memory/uninit.py for memory that was never written.
void set_tracking(bool on);

// Runs the kernel and waits, without the GIL; Ctrl-C stops it. `whole` is LaunchOptions::whole. Errors of the
// launch, faults of the kernel and KeyboardInterrupt are exceptions.
void launch(exec::Kernel& kernel, const std::array<int64_t, 3>& grid, const Options& options,
            std::span<const exec::Argument> arguments, std::span<const exec::Allocation> memory,
            std::function<std::vector<exec::Allocation>()> whole = {});

}  // namespace triton_runner::python
