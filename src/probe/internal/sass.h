// Finds values of PTX registers in the machine code that ptxas made of the PTX, by reading it: which register
// of which instruction holds them, and where the program is stopped to read it. (sass_run.h finds them by
// running both.)
//
// ptxas writes into a cubin from which line of the PTX each instruction came (-lineinfo). A value is kept
// where the instruction of its line is one that leaves it in this form: add.f32 as FADD, ld.global as LDG,
// mma.sync as HMMA. What became part of another instruction, or of several, is not looked for: it is said
// that the value is not kept, and why.
//
// The opcodes are those of NVIDIA's CUDA Binary Utilities, "Instruction Set Reference", sm_80 to sm_120.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/probe/registers.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::probe {

// A kernel of what `nvdisasm -gp -c` prints. Errors: it is not in it, it has no line numbers (the cubin was made without
// -lineinfo).
base::Result<const sass::Function*> kernel_of(const sass::Module& module, std::string_view kernel);

// A read of a register of all threads that stand before the instruction at `stop`: `bytes` bytes of it, from
// byte `from` on, are those of the element from byte `to` on, that each thread has as number `number` of the
// tap.
struct SassRead {
  uint64_t stop = 0;
  uint64_t definition = 0;  // the instruction that gave it
  uint32_t reg = 0;         // sass::register_code
  uint32_t tap = 0, number = 0;
  uint32_t from = 0, to = 0, bytes = 4;
  bool inverted = false;  // of a predicate
};

struct SassPlan {
  std::vector<Tap> taps;  // of which something is kept
  std::vector<SassRead> reads;
  // The program is stopped here too, so that no thread comes to a stop twice without another in between.
  std::vector<uint64_t> fences;
  std::vector<std::string> notes;  // what is not kept, and why
};

// The plan for the machine code of `ptx`. Errors: nothing of what was asked for is kept.
base::Result<SassPlan> place_in_sass(const RegisterPlan& plan, const ptx::Module& ptx,
                                     std::string_view kernel, const sass::Module& module);

// For each instruction of the kernel that writes registers: its line of PTX, and where they are or why they
// are not kept.
base::Result<std::string> describe_sass(const ptx::Module& ptx, std::string_view kernel,
                                        const sass::Module& module);

// The value that a thread of a program had in the register of plan.reads[read].
struct SassValue {
  uint32_t read = 0;
  std::array<int64_t, 3> program{};
  uint32_t thread = 0;
  uint32_t value = 0;
};

// The records of values in the order in which they came: one a program and execution (of values outside of
// loops, and unless every iteration is asked for, the last one), with a mask where elements are missing. The
// iteration of a record counts executions.
Recording assemble_sass(const SassPlan& plan, std::span<const SassValue> values, bool every_iteration);

}  // namespace triton_runner::probe
