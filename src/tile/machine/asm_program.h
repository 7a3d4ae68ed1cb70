// AsmProgram is inline assembly made into functions over the lanes of a register file of our own
// (ptx::find_alu): its text is PTX whose $0, $1, ... are registers, one lane is one execution of it. Which
// elements lie in which register of which execution is for the op to say: tt.elementwise_inline_asm and
// ttg.inline_asm.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <triton_runner/ptx/alu.h>
#include <triton_runner/ptx/contract.h>

#include "lowering.h"

namespace triton_runner::tile {

// The register of one of $0, $1, ...
struct AsmPort {
  uint32_t place = 0;     // of the register file
  uint32_t bytes = 4;     // of the register
  uint32_t value = 0;     // which result or operand of the op
  uint32_t element = 0;   // its first element, of those of an execution
  uint32_t elements = 1;  // in this register
};
struct AsmStep {
  lanes::Handler run = nullptr;  // null: a jump to step `to`
  lanes::Operands operands;
  uint32_t guard = lanes::kNoRegister;
  int8_t flip = 0;
  bool is_target = false;  // of a jump
  uint32_t to = 0;
};
// The instructions read this although it is no operand: a number, nanoseconds, a coordinate of the program
// (`number` is its axis) or an extent of the grid, or which thread executes.
struct AsmFill {
  enum Kind : uint8_t {
    kNumber,
    kClock,
    kProgram,
    kPrograms,
    kLane,
    kLaneMask,  // `number`: which lanes, as LaneMask
    kWarp,
    kThread
  };
  Kind kind;
  uint32_t place, bytes;
  uint64_t number;
};
enum LaneMask : uint8_t { kEqual, kBelow, kUpTo, kAbove, kFrom };  // the executing lane

// The elements of a result or operand: element p of execution i is `where[i * a_thread + p]`, or, where that
// is empty, i * pack + p.
struct AsmValue {
  int64_t elements = 1, a_thread = 1;
  std::vector<int32_t> where;
};
struct AsmProgram {
  std::shared_ptr<const ptx::Module> module;
  std::vector<AsmStep> steps;
  std::vector<AsmFill> fills;
  std::vector<AsmPort> inputs, outputs;
  std::vector<AsmValue> results, operands;
  uint32_t pack = 1;
  int64_t executions = 1;
  int64_t lanes = 0, threads = 0;  // of a warp and of a block, where it is known which thread executes
  std::vector<int32_t> thread;     // by execution; empty: executions are threads, in their order
  size_t file_bytes = 64;
  bool jumps = false;

  uint32_t reserve(uint32_t bytes);
};

// Makes the program of an op; `fail` reports at the op what cannot be run, and is false.
class Assembler {
 public:
  Assembler(Lowering& l, const ir::Op& op);
  // An op that is no assembly, computed by this one from these operands; its products and sums are contracted as ptxas
  // does, where that is asked for (Lowering::hardware).
  Assembler(Lowering& l, const ir::Op& op, std::string constraints, std::string text,
            std::vector<Slot> operands);
  AsmProgram& program() { return *asm_; }
  bool fail(std::string message, std::vector<std::string> notes = {});

  // The next of the op's constraints is that of a register for up to `most` elements, of `bytes` each, of a
  // result or operand from `element` on; `element` is moved past them.
  bool add_port(bool is_result, uint32_t value, int64_t bytes, uint32_t most, uint32_t& element);
  // The text, once every constraint has its port; then the instruction.
  bool finish();
  // Who may say which thread an execution is, asked where the text wants it; false: nobody can.
  std::function<bool()> find_threads;

 private:
  bool fail(const base::Diagnostic& d);
  void read_constraints(std::string text);
  std::string string_attr(std::string_view name) const;
  bool parse();
  bool lower();
  bool lower_instruction(const ptx::Function& f, const ptx::Instruction& in);
  bool lower_sum(const ptx::Function& f, const ptx::Contraction& c);
  AsmStep guarded(const ptx::Instruction& in) const;  // a step under the instruction's guard
  uint32_t flipped(lanes::Handler flip, uint32_t place,
                   uint32_t bytes);  // the place of what `flip` makes of it
  uint32_t constant(uint64_t value, uint32_t bytes, AsmFill::Kind kind = AsmFill::kNumber);
  uint32_t place(const ptx::Operand& o, ptx::Mod type);
  uint32_t special(const ptx::Operand& o, uint32_t bytes);

  Lowering& l_;
  const ir::Op& op_;
  AsmProgram* asm_;
  std::string text_;
  std::vector<Slot> operands_;
  std::vector<std::string> constraints_;
  size_t next_ = 0;
  std::vector<ptx::Register> registers_;
  std::vector<std::string> names_;  // of registers; of a constant operand, its number
  std::vector<uint32_t> ties_;      // by constraint: which port's register it is
  std::vector<uint32_t> places_;    // by register of the parsed function
  uint32_t carry_ = lanes::kNoRegister;
  bool failed_ = false;
  bool is_ours_ = false;  // the text is not the op's: it may jump, and what is wrong with it is not reported
};

// Computes each element of `op`, whose operands and result have one shape, by a text of PTX: $0 is the result, $1 and so
// on are the operands (the op's own, where none are named). False: the text has something that is not executed here.
bool lower_as_ptx(Lowering& l, const ir::Op& op, std::string constraints, std::string text,
                  std::vector<Slot> operands = {});

}  // namespace triton_runner::tile
