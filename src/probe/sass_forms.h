// In which form instructions of PTX are kept by ptxas: what an instruction of their line has to be so that it
// leaves the value that PTX says.
#pragma once
#include <string_view>

#include <triton_runner/probe/sass.h>

namespace triton_runner::probe {

enum class Form : uint8_t {
  kAlu,       // one instruction, which writes the result
  kFunction,  // MUFU, and what scales its result
  kDivide,    // a reciprocal, and the product that ends it
  kWide,      // a pair of registers: one instruction, or one a half with a carry between
  kLoad,      // registers as the bytes lie in memory
  kMatrix,    // tensor cores and ldmatrix: registers in the order of the result
  kShuffle,   // a predicate, then the result
};

// A SASS row of opcodes.def.
struct FormRow {
  ptx::Opcode opcode;
  std::string_view types;  // one of these is its first type; empty: any
  Form form;
  std::string_view sass;  // opcodes, or their beginnings up to a dot
  bool counted;           // its sources have to be as many as those of what became a part of it
  std::string_view also;  // "wide", "special" (its source is a special register), or second types
};

// The row for an instruction; null: no form of it is known that keeps the value.
const FormRow* form_of(const ptx::Instruction& in);

// Whether the opcode is one of the row's.
bool is_of(const SassInstruction& in, std::string_view opcodes);

// The register that it writes ("R4", "UR5"), or the first of several; empty: none.
std::string_view result_of(const SassInstruction& in);
// How many from there on; for opcodes that are not known the most that it may be.
uint32_t results_count(const SassInstruction& in);
// Whether it may write the register.
bool may_write(const SassInstruction& in, std::string_view reg);
// Sources that are no zeros, predicates or tables.
int real_sources(const SassInstruction& in);
// Copies, and constants in registers.
bool is_move(const SassInstruction& in);
// Jumps, ends, calls, reconvergence: straight code ends there, and nothing but an EXIT is stopped at.
bool is_control(const SassInstruction& in);

std::string numbered(std::string_view first, uint32_t n);  // "R4", 2 -> "R6"

}  // namespace triton_runner::probe
