// CopyWatch finds copies of one element that differ: threads or registers which, by a value's layout, hold
// the same element of it, and lanes of a warp that store to one place of shared memory with one instruction.
// The compiler computes each copy for itself; where it contracts the product of a sum (a * b + q) each lane
// rounds another product first, and their sums differ in the last bits.
//
// Copies are compared, and made equal if asked, right after the last instruction that writes their register.
#pragma once
#include <array>
#include <map>
#include <mutex>
#include <vector>

#include <triton_runner/probe/registers.h>

namespace triton_runner::probe {

// The first copies of a value (or of a store) that differ, in the order of programs and of execution.
struct DifferingCopies {
  Site site;  // of a store: `op` is the instruction, `value` is empty
  bool is_store = false;
  std::array<int64_t, 3> program{};
  uint32_t block = 0;  // of the cluster
  std::vector<int64_t> iterations;
  int64_t element = 0;  // its number in the row-major value; of a store, the address in shared memory
  std::array<uint32_t, 2> threads{}, registers{};  // registers: their numbers in the value's layout
  std::array<uint64_t, 2> bits{};
  uint64_t order = 0;  // among the program's reads
  int64_t copies = 0;  // that differ from the first holder's, in all programs
};

// Returns whether several registers or threads of a block hold an element of a value.
bool has_copies(const Tap& tap);

// Which copy all others become.
enum class Unify : uint8_t { kNone, kFirst, kLast };

// Watches a launch of the plan's text. What one call of on_registers() shows is compared: warps that run apart
// are not. Two NaNs are equal.
class CopyWatch final : public exec::RegisterObserver {
 public:
  CopyWatch(const RegisterPlan& plan, const ptx::Module& ptx, std::string_view kernel, Unify unify);

  std::span<const exec::RegisterProbe> register_probes() const override { return probes_; }
  void on_registers(const exec::RegisterEvent& event) override;

  // Returns how many values have copies that are compared, and how many stores are.
  size_t values() const { return values_; }
  size_t stores() const { return stores_; }
  // Returns what differed since the last call: one each value and store, by program and execution.
  std::vector<DifferingCopies> take();

 private:
  enum class Kind : uint8_t { kValue, kStore, kLoopEnters, kLoopTurns };
  struct Part {  // of a probe
    Kind kind;
    uint32_t number;  // the tap, the store in sites_, or the loop
    // For a value these are as RegisterPlan::Part has them. For a store: what is stored, after the address
    // (where it is in a register) and the guard.
    std::vector<uint32_t> registers, offsets, widths;
    bool has_address = false, has_guard = false, guard_negated = false;
    int64_t address = 0;  // to add
  };
  struct Program {
    uint64_t reads = 0;
    std::map<uint32_t, std::vector<int64_t>> turns;                       // of a loop, by block and thread
    std::map<std::pair<uint32_t, uint32_t>, std::vector<int64_t>> times;  // of a tap and register, likewise
  };
  struct Holder {
    uint64_t stamp = 0, bits = 0;
    uint32_t thread = 0, reg = 0;
    std::byte* at = nullptr;
  };

  void add_values(const RegisterPlan& plan, const ptx::Function& f);
  void add_stores(const ptx::Function& f, const ptx::Module& ptx);
  void read(const exec::RegisterEvent& event, Program& program, const Part& part);
  void store(const exec::RegisterEvent& event, Program& program, const Part& part);
  DifferingCopies* differing(uint32_t number, const exec::RegisterEvent& event, const Program& program);

  const Unify unify_;
  std::vector<Tap> taps_;
  std::vector<Site> sites_;  // of taps, then of stores
  std::vector<exec::RegisterProbe> probes_;
  std::vector<Part> parts_;
  size_t values_ = 0, stores_ = 0;
  std::mutex mutex_;  // of what follows
  std::map<std::array<int64_t, 3>, Program> programs_;
  std::vector<Holder> holders_;  // by element, of one event
  uint64_t stamp_ = 0;
  std::map<uint32_t, DifferingCopies> found_;  // by place in sites_
};

}  // namespace triton_runner::probe
