// Finds values in the registers of AMD's machine code: registers by name, and those that taps in the TTGIR
// name.
//
// A tap is a comment in inline assembly, whose operand is the register of an element (probe/registers.h). LLVM keeps no virtual
// registers in its text, so that the program with taps is what runs, unless it is the kernel's own text but for the taps.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <triton_runner/amdgcn/text.h>
#include <triton_runner/probe/registers.h>

namespace triton_runner::probe {

// "v5", "v[2:3]", "s4", "vcc", "exec" (wherever it is written), an opcode or its beginning, "kernel.amdgcn:120" or "kernel.py:42",
// "*": recorded after each execution of the instructions that write them. Errors: what names nothing, with the nearest names.
base::Result<RegisterPlan> plan_amd_registers(const amdgcn::Module& module, std::string_view kernel,
                                              std::span<const std::string> names, uint32_t threads);

// The plan for the text of a module with taps. Errors: a tap that the text has lost, without `partial`, which leaves it out with a
// note.
base::Result<RegisterPlan> plan_amd_taps(std::span<const Tap> taps, const amdgcn::Module& twin,
                                         std::string_view kernel, bool partial, bool keeps_copies);

// The plan of a twin for the text without its taps, where the two have the same instructions, one for one, with the same registers
// at taps.
base::Result<RegisterPlan> move_amd_plan(const RegisterPlan& plan, const amdgcn::Module& twin,
                                         const amdgcn::Module& own, std::string_view kernel);

}  // namespace triton_runner::probe
