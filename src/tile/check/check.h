// Declares the checks of a launch (doc/reference/checks.md): a layer that runs the plain instructions one by
// one and looks at what goes in and what comes out. Each check has its own header: race.h, uninit.h, nan.h,
// overflow.h, hints.h.
//
// A checked launch has code of its own, in which no instruction is fused and no operand dies: `kills` tells
// when to release them, after the checks have seen them. A launch without checks runs nothing of this folder.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <triton_runner/exec/order.h>
#include <triton_runner/ir/graph.h>

#include "ops/access.h"
#include "task.h"

namespace triton_runner::tile {

class HintCheck;
class Lowering;
class MemPlan;
class NanCheck;
class OverflowCheck;
class Perturbation;
class RaceCheck;
class UninitCheck;

// An operand that is a buffer in shared or tensor memory, and where its elements lie.
struct MemoryOperand {
  uint32_t operand;
  const MemPlan* plan;  // row-major
  num::Type element;
};

struct CheckedCode {
  Code code;
  std::vector<uint64_t> kills;                      // of each instruction, taken out of it
  std::vector<std::vector<MemoryOperand>> buffers;  // of each instruction
  std::vector<const MemPlan*> filled;  // by each instruction: what an allocation stores to; null: none
  bool commits =
      false;  // there are commits of tcgen05: a product without barriers is not waited for where it is
  // The operand of that group; null: it is not a buffer.
  const MemoryOperand* buffer_of(const Instr& in, ir::GroupName group) const;
  // Once the code that `lowering` made is complete.
  void prepare(Lowering& lowering);
};

class Checks {
 public:
  Checks(const CheckedCode& code, const exec::LaunchOptions& options, const exec::Memory& memory,
         machine::Shuffle* shuffle);
  ~Checks();

  // Looks for something that only holds while all programs run on one thread.
  bool one_thread() const { return (uninit_ && !quiet_) || race_ || shuffled(); }
  // A program is about to start.
  void begin(Program& program);
  // Before an instruction runs and after it did. False: it trapped.
  bool before(Task& t, const Instr& in);
  bool after(Task& t, const Instr& in);
  // `bytes` of the elements from `element` on of a tensor descriptor's block are about to be read, or
  // overwritten with `data`.
  bool block(Task& t, const Instr& in, AccessKind kind, uint64_t address, uint64_t bytes, int64_t element,
             int64_t size, const std::byte* data);
  uint64_t kills(const Task& t, const Instr& in) const { return code_.kills[&in - t.code->instrs.data()]; }

  // ---- shuffled launches
  bool shuffled() const { return shuffle_ != nullptr; }
  exec::Random& random() { return shuffle_->random; }
  // Returns which of n tasks has the first turn.
  size_t first_turn(size_t n) { return shuffled() ? random().below(n) : 0; }
  // Returns whether others should have a turn after this instruction.
  bool preempt(const Instr& in);
  // Returns whether the last run of a program ended so.
  bool preempted() { return std::exchange(preempted_, false); }

 private:
  bool looks_at(const Instr& in) const;

  const CheckedCode& code_;
  std::unique_ptr<NanCheck> nan_;
  std::unique_ptr<UninitCheck> uninit_;
  bool quiet_ = false;          // uninit_ only tells others which values are undefined
  bool zero_division_ = false;  // integer divisions without a quotient
  std::unique_ptr<RaceCheck> race_;
  std::unique_ptr<HintCheck> hints_;
  std::unique_ptr<OverflowCheck> overflow_;
  std::unique_ptr<Perturbation> perturbation_;
  bool substitutes_ = false;      // LaunchOptions::substitution
  std::vector<uint32_t> owners_;  // of each instruction, by kCheckView: whose memory it may access; 0: any
  machine::Shuffle* shuffle_;     // of a shuffled launch
  bool preempted_ = false;
};

// Returns whether an operand says that it does something; so do instructions that have none of that group.
bool is_on(Task& t, const Instr& in, ir::GroupName group);
// The accesses of the instruction through pointers, whatever emitted it.
Access any_access_of(const Instr& in);

// ---- for messages
// "%7 = 0.5": an operand at an element of the result (its own element where it has the same shape).
std::string operand_text(Task& t, const Instr& in, uint32_t operand, int64_t element);
std::string element_text(const void* element, num::Type type);
// "iteration 3 of the loop around it"; empty outside of loops.
std::string iteration_text(Task& t, const Instr& in);
// "tt.load at kernel.py:12:5"
std::string place_text(const ir::Op& op, const Code& code);
const Instr* trap_with_notes(Task& t, const Instr& in, exec::Cause cause, std::string message,
                             std::vector<int64_t> element, std::vector<std::string> notes);

}  // namespace triton_runner::tile
