// Probes of the SIMT engine implement this: the engine reads registers at places of a kernel's code and hands
// them over, thread by thread. (Observers of whole tiles are exec/observer.h.)
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace triton_runner::exec {

// Reads registers next to an instruction. Functions, instructions and registers are counted as ptx::Module, or
// sass::Module, has them: the text that is loaded has to be the one that the probe was made for.
struct RegisterProbe {
  std::string function;      // its name; probes of a .func report from each place that calls it
  uint32_t instruction = 0;  // index in Function::body; body.size(): the end
  // After the instruction, by the threads for which its guard holds; else before it, by all that come there,
  // through a jump to it too.
  bool after = false;
  // Indices in Function::registers, or sass::register_code()s; may be empty (to count).
  std::vector<uint32_t> registers;
};

struct RegisterEvent {
  uint32_t probe;                  // index in register_probes()
  std::array<int64_t, 3> program;  // of the grid; with clusters, the cluster's
  uint32_t block;                  // rank in the cluster
  uint32_t first, count;           // threads [first, first + count) of the block, flattened x fastest
  const int8_t* mask;              // null: all of them; else mask[i] of thread first + i: not 0 where on
  // For each register: its value for thread `first`, then the others, in bytes as wide as the register (one
  // for .pred: 0 or -1). An observer that runs an experiment may write them.
  std::span<std::byte* const> values;

  bool on(uint32_t i) const { return !mask || mask[i]; }
};

// Looks on at a launch of the SIMT engine, which runs code of its own, with the probes in it.
class RegisterObserver {
 public:
  virtual ~RegisterObserver() = default;
  // Asked once when a launch starts; stays as it is until the launch returns.
  virtual std::span<const RegisterProbe> register_probes() const = 0;
  // Called from worker threads, several at a time; what one thread of a program does comes in order.
  virtual void on_registers(const RegisterEvent& event) = 0;
};

}  // namespace triton_runner::exec
