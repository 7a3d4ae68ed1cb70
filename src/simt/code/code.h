// Code is a kernel lowered for one block size: every operand is an offset into the register file, every
// opcode a function.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <triton_runner/exec/heap.h>
#include <triton_runner/exec/kernel.h>
#include <triton_runner/lanes/lanes.h>
#include <triton_runner/lanes/tables.h>

#include "code/source.h"

namespace triton_runner::simt {

using lanes::Guard;
using lanes::Handler;
using lanes::kNoRegister;
using lanes::Lanes;
using lanes::Operands;
using lanes::simd_tables;
using lanes::Tables;

struct Native;
struct Exec;
Exec& exec_of(Lanes& lanes);  // of the SIMT engine's own (state/exec.h)

// handler<f>: the Handler of a function of Exec and Operands, or of one that takes the plan, too, which Operands::data is.
template <class Plan>
void run_function(void (*f)(Exec&, const Operands&, const Plan&), Exec& x, const Operands& in) {
  f(x, in, *static_cast<const Plan*>(in.data));
}
inline void run_function(void (*f)(Exec&, const Operands&), Exec& x, const Operands& in) { f(x, in); }
template <auto kFunction>
void handler(Lanes& lanes, const Operands& in) {
  run_function(kFunction, exec_of(lanes), in);
}

// One lowered instruction. The fields of Operands are byte offsets for a register file of Code::threads
// lanes.
struct Instr : Operands {
  Handler run = nullptr;
  uint32_t guard = kNoRegister;  // a .pred register
  uint8_t guard_flip = 0;        // 0xff for @!%p
  bool computes = false;  // for each thread by itself, with all that its native code runs, and never traps
  bool is_alone = false;  // Source::is_alone, which is to be asked where this is false
  const Source* source = nullptr;  // of Code::sources
  const Native* native = nullptr;  // of the first instruction of a run that was compiled (native/native.h)
};

// The register file holds this before an instruction runs.
struct Constant {
  uint32_t offset;
  uint32_t bytes;  // of an element
  uint64_t low, high;
  // The value depends on one of these: nothing, the launch (parameters) or the block.
  enum Kind : uint8_t { kBits, kThread, kShared, kParam, kBlock } kind = kBits;
  // kThread: differs by thread (Code::thread_values[low]); kShared: address `low` in the block's own shared window;
  // kParam: at offset `low` of Launch::params; kBlock: the block's number along axis `low`.
};

// The target that code is lowered for.
struct Target {
  std::string kernel;
  std::string target;  // "cuda:90"
  int capability = 0;  // 90
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  bool explicit_cluster = false;
  uint32_t width = 32;          // threads of a warp: 32, or 64 (a wavefront)
  bool grid_of_blocks = false;  // LoadOptions
  uint32_t threads = 0;         // of a block, rounded up to whole warps: lanes of the register file
  uint32_t real_threads = 0;    // block[0] * block[1] * block[2]
};

struct CountPlan;

// A .shared variable; without bytes: the dynamic shared memory.
struct SharedVariable {
  std::string name;
  uint32_t at, bytes;
};

// A launch as its constant bank has it.
struct LaunchShape {
  std::array<uint32_t, 3> grid;  // in blocks
  uint64_t workspace = 0;        // Launch::workspace
  uint32_t dynamic_shared = 0;   // bytes
};

struct Code : Target {
  std::string level = "ptx";
  // Names `width` threads that run together, in messages: AMD says "wave".
  const char* warp_word() const { return target.starts_with("hip:") ? "wave" : "warp"; }
  bool warp_turns = false;  // the order in which a warp's paths run is the hardware's (turns.h)
  std::shared_ptr<const Listing> listing;
  std::function<std::optional<exec::Trap>()> hazards;  // the first one of machine code; null: it has none
  std::function<bool()>
      reads_late;  // whether some read is late, so that the race check needs code of its own; null: none
  std::string no_numbers;     // why nan, inf and zerodiv cannot be looked for; empty: they can
  std::vector<Instr> instrs;  // the last one ends the thread
  // Instructions to which jumps go, of front ends that fill `uses` with places that outlast an instruction of theirs.
  std::set<uint32_t> targets;
  // Places that only instructions [begin, end) use; others are not here.
  struct Uses {
    uint32_t begin, end;
  };
  std::unordered_map<uint32_t, Uses> uses;
  std::shared_ptr<const CountPlan> counting;  // of code that counts what it executes; else null
  std::deque<Source> sources;
  uint64_t register_bytes = 0;
  // A new place in the register file, of `bytes` a thread. Registers of a power of two would all begin in the same few lines of
  // the first cache: there is a line between them.
  uint32_t new_place(uint32_t bytes) {
    const uint64_t at = register_bytes, size = (uint64_t{bytes} * threads + 63) / 64 * 64;
    register_bytes = at + size + (size % 256 == 0 ? 64 : 0);
    return static_cast<uint32_t>(at);
  }
  std::vector<Constant> constants;
  std::vector<std::vector<uint64_t>> thread_values;
  struct Parameter {
    uint32_t offset, bytes;
    exec::Param param;  // as a launch may give it, if nothing else says so
  };
  std::vector<Parameter> params;
  uint32_t param_bytes = 0;
  // Writes what a launch's parameters begin with where they are a constant bank: block, grid, windows.
  std::function<void(const Code& code, const LaunchShape& launch, std::byte* out)> begin_parameters;
  uint32_t reserved_shared = 0;  // bytes that the system has in a block's shared memory, before all others
  // Writes what a block finds in them that is not 0; null: nothing is.
  void (*begin_reserved)(uint32_t rank, std::byte* out) = nullptr;
  std::vector<SharedVariable> shared_variables;
  uint32_t static_shared = 0;  // bytes of .shared variables; dynamic shared memory follows
  uint32_t local_bytes = 0;    // a thread, of .local variables and of .param variables of calls
  bool dynamic_shared = false;
  // Atomic operations on 16 bits are written as such on the words around them: memory ends at whole words.
  bool whole_words = false;
  uint32_t dynamic_align = 1;
  bool uses_heap = false;       // it calls malloc
  bool uses_workspace = false;  // it reads the address of Launch::workspace
  exec::Heap* heap = nullptr;   // LoadOptions

  // Keeps what Operands::data points to.
  template <class T>
  const T* keep(T value) {
    auto p = std::make_shared<T>(std::move(value));
    kept.push_back(p);
    return p.get();
  }
  std::vector<std::shared_ptr<void>> kept;
  // Module variables in .global and .const, at addresses of their own.
  struct Global {
    std::string name;
    std::unique_ptr<std::byte[]> bytes;
    uint64_t address;  // in `bytes`, aligned
    uint64_t size;
    bool writable;
  };
  std::vector<Global> globals;
};

}  // namespace triton_runner::simt
