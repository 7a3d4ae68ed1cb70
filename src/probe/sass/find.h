// SassFinder finds where one instruction of PTX left its results in machine code. place.cpp asks it for a
// whole plan.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <triton_runner/sass/text.h>

#include <triton_runner/probe/sass.h>
#include <triton_runner/sass/flow.h>

#include "ptx/registers_ptx.h"

namespace triton_runner::probe {

// 32 bits of a result: in register `reg` from after code[at] on.
struct SassPlace {
  size_t at = 0;
  uint32_t reg = 0;
};

// The places of each execution's words: places[copy][word], where unrolling made several copies of the
// instruction. Empty: not kept, and `why`.
struct SassFound {
  std::vector<std::vector<SassPlace>> copies;
  std::string why;
};

// In which form an instruction of PTX is kept by ptxas: what an instruction of its line has to be so that it leaves the value
// that the PTX says.
enum class Form : uint8_t {
  kAlu,       // one instruction, which writes the result
  kFunction,  // MUFU, and what scales its result
  kDivide,    // a reciprocal, and the product that ends it
  kWide,      // a pair of registers: one instruction, or one a half with a carry between
  kLoad,      // registers as the bytes lie in memory
  kMatrix,    // tensor cores and ldmatrix: registers in the order of the result
  kShuffle,   // a predicate, then the result
};

// A SASS row of ptx/opcodes.def.
struct FormRow {
  ptx::Opcode opcode;
  std::string_view types;  // one of these is its first type; empty: any
  Form form;
  std::string_view sass;  // opcodes, or their beginnings up to a dot
  bool counted;           // its sources have to be as many as those of what became a part of it
  std::string_view also;  // "wide", "special" (its source is a special register), or second types
};
const FormRow* form_of(const ptx::Instruction& in);  // null: no form of it is known that keeps the value

// A kernel's machine code.
class MachineCode {
 public:
  MachineCode(const sass::Module& module, const sass::Function& f);
  size_t size() const { return f_.body.size(); }
  const sass::Instruction& operator[](size_t i) const { return f_.body[i]; }
  const sass::Function& function() const { return f_; }
  // The R or UR registers that an instruction writes.
  const std::vector<uint32_t>& results(size_t i) const { return results_[i]; }
  bool writes(size_t i, uint32_t reg) const;
  bool is_target(size_t i) const { return flow_.is_target(i); }  // a jump may come here
  bool ends_straight(size_t i) const;                            // nothing but an EXIT is stopped at

 private:
  const sass::Function& f_;
  const sass::Flow flow_;
  std::vector<std::vector<uint32_t>> results_;
};

// The reads of each register of each probe of a plan, by the lines of the PTX alone. `stop` is not chosen.
using SassReads = std::map<std::pair<size_t, size_t>, std::vector<SassRead>>;
SassReads reads_by_line(const RegisterPlan& plan, const ptx::Module& ptx, const ptx::Function& f,
                        const MachineCode& code);

// Which registers of a plan's taps the machine code keeps, and why others are not there.
class SassKept {
 public:
  explicit SassKept(const RegisterPlan& plan);
  void keep(uint32_t tap, uint32_t number) { kept_[tap][number] = true; }
  void miss(uint32_t tap, std::string why) { reasons_[tap].push_back(std::move(why)); }
  // The reads of what is kept, with notes of what is not. Errors: nothing is.
  base::Result<SassPlan> plan(std::vector<SassRead> reads) const;

 private:
  const RegisterPlan& plan_;
  std::vector<std::vector<bool>> kept_;  // of each tap, its registers
  std::vector<std::vector<std::string>> reasons_;
};

class SassFinder {
 public:
  SassFinder(const ptx::Module& module, const ptx::Function& f, const MachineCode& code);

  // The words of the results of instruction i of the function: for a load as they lie in memory, else one
  // after the other.
  SassFound find(uint32_t i) const;
  // The words of the accumulators that the wait for wgmma at instruction i completes, if `reg` is one of
  // them; sets the number of the word.
  SassFound find_accumulators(uint32_t wait, uint32_t reg, uint32_t* word) const;

  uint32_t line_of(uint32_t i) const { return lines_[i]; }
  // Loops around an instruction.
  uint32_t ptx_depth(uint32_t i) const;
  uint32_t depth(size_t at) const;

  // The instructions before which what code[at] gave is in `reg` and the program can be stopped.
  std::vector<size_t> window(size_t at, uint32_t reg) const;
  // Another place to stop at that the same threads pass each time they pass code[at].
  std::optional<size_t> neighbor(size_t at) const;

 private:
  // Sources of an instruction, those of instructions that have no SASS of their own in their place.
  int leaves(uint32_t i, int depth = 0) const;
  SassFound one(const FormRow& row, uint32_t i, const std::vector<size_t>& of_line) const;
  SassFound function(const FormRow& row, const std::vector<size_t>& of_line) const;
  SassFound pair(const FormRow& row, uint32_t i, const std::vector<size_t>& of_line) const;
  bool merges(size_t at, uint32_t i) const;
  std::string said(size_t at) const;

  const ptx::Module& module_;
  const ptx::Function& f_;
  const MachineCode& code_;
  std::vector<uint32_t> lines_;                                // of each PTX instruction
  std::unordered_map<uint32_t, uint32_t> on_line_;             // PTX instructions on a line
  std::unordered_map<uint32_t, std::vector<size_t>> by_line_;  // SASS instructions of a line
  std::vector<std::pair<uint32_t, uint32_t>> ptx_loops_;       // first and last instruction
  std::vector<std::pair<size_t, size_t>> loops_;
};

}  // namespace triton_runner::probe
