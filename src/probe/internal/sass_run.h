// Finds values of PTX registers in machine code by running both: a register of the machine code holds a value
// where it has the same numbers in the same threads, one after the other. Nothing of what ptxas did is
// guessed.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <triton_runner/exec/register_observer.h>
#include <triton_runner/probe/sass.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::probe {

inline constexpr size_t kMostTraced = size_t{1} << 26;    // numbers of one launch
inline constexpr size_t kMostCompared = size_t{1} << 22;  // the same where both sides are looked at whole

// The values that each thread of the programs asked for had in the registers of probes.
class RegisterTrace final : public exec::RegisterObserver {
 public:
  RegisterTrace(std::vector<exec::RegisterProbe> probes, std::vector<uint32_t> widths,
                std::vector<std::array<int64_t, 3>> programs, size_t most = kMostTraced);
  std::span<const exec::RegisterProbe> register_probes() const override { return probes_; }
  void on_registers(const exec::RegisterEvent& event) override;

  struct Number {
    uint32_t thread;  // of all, over the programs in the order in which they came
    uint64_t order;   // over the launch
    uint64_t value;
  };
  // The numbers of a probe and one of its registers.
  const std::vector<Number>& numbers(size_t probe, size_t k) const { return numbers_[first_[probe] + k]; }
  const std::vector<exec::RegisterProbe>& probes() const { return probes_; }
  const std::vector<std::array<int64_t, 3>>& programs() const { return ids_; }
  bool is_full() const { return traced_ >= most_; }

 private:
  std::vector<exec::RegisterProbe> probes_;
  std::vector<uint32_t> widths_;  // bytes of each register of each probe, in their order
  std::vector<size_t> first_;     // of each probe, among these
  std::vector<std::array<int64_t, 3>> asked_, ids_;
  std::map<std::array<int64_t, 3>, uint32_t> numbers_of_;  // of the programs
  std::vector<std::vector<Number>> numbers_;
  uint64_t order_ = 0;
  size_t traced_ = 0, most_;
  std::mutex mutex_;
};

// A trace of the registers that a plan for PTX reads.
std::unique_ptr<RegisterTrace> trace_of(const RegisterPlan& plan, const ptx::Module& ptx,
                                        std::span<const std::array<int64_t, 3>> programs,
                                        size_t most = kMostTraced);
// A trace of all registers that the instructions of a kernel's PTX write, each where its results are there.
base::Result<std::unique_ptr<RegisterTrace>> trace_of(const ptx::Module& ptx, std::string_view kernel,
                                                      std::span<const std::array<int64_t, 3>> programs);
// A trace of all registers and predicates that a kernel's machine code writes; sums of HGMMA after the wait for them.
// reads: and, before each instruction that writes none, of those that it reads. heads: and of all of them where a loop
// begins, which has what the loop carries.
base::Result<std::unique_ptr<RegisterTrace>> trace_of(const sass::Module& module, std::string_view kernel,
                                                      std::span<const std::array<int64_t, 3>> programs,
                                                      bool reads = false, bool heads = false);

// An experiment: what instructions leave in registers (or, of those before which it looks, what they hold) becomes what the
// threads of one program are given, one value after the other; after the last nothing is changed.
class RegisterSubstitution final : public exec::RegisterObserver {
 public:
  using Values = std::map<uint32_t, std::vector<uint64_t>>;  // by thread
  // values[k]: of register k of each of the probes, whose executions are counted together.
  RegisterSubstitution(std::vector<exec::RegisterProbe> probes, std::array<int64_t, 3> program,
                       std::vector<Values> values)
      : probes_(std::move(probes)), program_(program), values_(std::move(values)) {}
  std::span<const exec::RegisterProbe> register_probes() const override { return probes_; }
  void on_registers(const exec::RegisterEvent& event) override;

 private:
  std::vector<exec::RegisterProbe> probes_;
  std::array<int64_t, 3> program_;
  std::vector<Values> values_;
  std::map<uint32_t, size_t> done_;  // by thread
  std::mutex mutex_;
};

// Finds where machine code has the values of a plan, from a launch of each with the same arguments and programs. Errors:
// nothing of what was asked for is there.
base::Result<SassPlan> place_by_running(const RegisterPlan& plan, const ptx::Module& ptx,
                                        std::string_view kernel, const RegisterTrace& of_ptx,
                                        const sass::Module& module, const RegisterTrace& of_machine);
// Returns what the machine's launch had in the registers of a plan made by place_by_running().
Recording recorded(const SassPlan& plan, const RegisterTrace& of_machine, const sass::Module& module,
                   std::string_view kernel, bool every_iteration);

// A plan for machine code: "R10", "UR4", "P0" (wherever it is written), "0x1a0", "0x1a0:R10", an opcode or its beginning, a line
// of the Python source, "*". Errors: what names nothing.
base::Result<RegisterPlan> plan_sass_registers(const sass::Module& module, std::string_view kernel,
                                               std::span<const std::string> names, uint32_t threads);

}  // namespace triton_runner::probe
