// A kernel lowered for one block size: every operand an offset into the register file, every opcode a
// function.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/ptx/lanes.h>
#include <triton_runner/ptx/module.h>

namespace triton_runner::simt {

using ptx::Handler;
using ptx::kNoRegister;
using ptx::Lanes;
using ptx::Operands;

// One lowered instruction. The fields of Operands are byte offsets for a register file of Code::threads
// lanes.
struct Instr : Operands {
  Handler run = nullptr;
  uint32_t guard = kNoRegister;  // a .pred register
  uint8_t guard_flip = 0;        // 0xff for @!%p
  const ptx::Instruction* source = nullptr;
};

// What the register file holds before an instruction runs.
struct Constant {
  uint32_t offset;
  uint32_t bytes;  // of an element
  uint64_t low, high;
  // What the value depends on: nothing, the launch (parameters) or the block.
  enum Kind : uint8_t { kBits, kThread, kShared } kind = kBits;
  // kThread: a special register that differs by thread (low is the ptx::Special); kShared: address `low` in
  // the block's own shared window.
};

struct Code {
  std::shared_ptr<const ptx::Module> module;
  const ptx::Function* entry = nullptr;
  std::string kernel;
  std::string target;    // "cuda:90"
  int capability = 0;    // 90
  bool contract = true;  // as ptxas does, unless it gets -fmad=false
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint32_t threads = 0;       // of a block, rounded up to whole warps: lanes of the register file
  uint32_t real_threads = 0;  // block[0] * block[1] * block[2]

  std::vector<Instr> instrs;  // the last one ends the thread
  uint64_t register_bytes = 0;
  std::vector<Constant> constants;
  uint32_t param_bytes = 0;  // of the entry's parameters, each at its aligned offset
  std::vector<uint32_t> param_offsets;
  uint32_t static_shared = 0;  // bytes of .shared variables; dynamic shared memory follows
  uint32_t local_bytes = 0;    // a thread, of .local variables and of .param variables of calls
  bool dynamic_shared = false;
  uint32_t dynamic_align = 1;

  // What Operands::data points to.
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
