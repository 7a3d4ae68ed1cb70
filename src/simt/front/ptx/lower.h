// Lowers a ptx::Function to Code: registers get places, calls are inlined (those of functions that call themselves go to
// a routine, routine.cpp), and each opcode's lowering function (lower_<handler> of opcodes.def) chooses what runs.
//
//   add.f32 %f3, %f1, %f2;     lower_alu (alu.cpp): d = place of %f3, a and b those of %f1 and %f2, one function over lanes
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <triton_runner/exec/register_observer.h>
#include <triton_runner/exec/stopper.h>
#include <triton_runner/ptx/products.h>
#include <triton_runner/simt/simt.h>

#include "code/emitter.h"

namespace triton_runner::simt {

// The program that is lowered.
struct Program {
  std::shared_ptr<const ptx::Module> module;
  const ptx::Function* entry = nullptr;
  bool contract = true;  // as ptxas does, unless it gets -fmad=false
  std::shared_ptr<const std::map<std::string, uint64_t, std::less<>>> variables{};  // as in LoadOptions
};

struct Activation;

class Lowering : public Emitter {
 public:
  // With the probes of a launch in it, where there are any.
  Lowering(Code& code, const Program& program, base::Diagnostics& sink,
           std::span<const exec::RegisterProbe> probes = {}, exec::Stopper* stopper = nullptr);
  ~Lowering();
  bool lower_entry();
  // The program's body alone, of which the registers have these places: what a line of another instruction set does.
  bool lower_body(std::vector<uint32_t> places);

  const ptx::Module& module;
  const ptx::Function& entry;
  const bool contracts;

  // --- for the lowering functions -----------------------------------------------------------------------
  // An operand as a place in the register file: a register's own, or a constant (immediates are converted to
  // `type`; variables give their address, special registers their value). Vectors and addresses are not
  // places. kNoRegister after an error.
  uint32_t place(const ptx::Operand& operand, ptx::Mod type);
  bool place(const ptx::Operand& operand, ptx::Mod type, uint32_t* out) {
    return (*out = place(operand, type)) != kNoRegister;
  }
  uint32_t reg(const ptx::Operand& operand);  // must be a register or _: kNoRegister for _
  // [base + offset]: the register (or constant) that holds the base, and the bytes to add.
  struct Address {
    uint32_t place = kNoRegister;
    int64_t offset = 0;
    uint32_t bytes = 8;                       // of the base register: 4 or 8
    const ptx::Variable* variable = nullptr;  // [variable + offset]: place is kNoRegister
  };
  bool address(const ptx::Operand& operand, Address* out);
  // An operand that has to be a constant of the text; false (with an error) if it is not.
  bool integer(const ptx::Operand& operand, int64_t* out);
  // The engine is told this of an instruction, once for all copies of it.
  Source* source(const ptx::Instruction& in);
  // The instruction accesses memory at what this register says (Source::addresses).
  void addresses_by(uint32_t place);
  using Emitter::emit;
  Instr& emit(Handler run) override;
  Instr& emit_look(Handler run);  // it only looks: checks pass it over
  bool fail(const ptx::Instruction& in, std::string message, std::vector<std::string> notes = {});
  bool unknown_opcode(const ptx::Instruction& in);
  void report(base::Diagnostic d) { sink_.add(std::move(d)); }
  bool fail(uint32_t offset, std::string message, std::vector<std::string> notes = {});
  const ptx::Register& declared(const ptx::Operand& operand) const;  // of a register operand
  const ptx::Function& function() const;     // whose instruction is being lowered: an inlined callee, maybe
  const ptx::EarlyUses& early_uses() const;  // of its products, in that function
  int capability() const { return code.capability; }
  // Bytes from the start of the shared window.
  uint32_t shared_offset(const ptx::Variable& v) const;
  // The offset in the frame of a .local variable, or of a .param variable of a call.
  uint32_t local_offset(const ptx::Variable& v) const;
  // The place of each thread's frame, an offset in its local memory; kNoRegister where all frames are at 0.
  uint32_t frame_place() const;
  bool is_entry_param(const ptx::Variable& v, uint32_t* offset) const;

  // --- control flow -------------------------------------------------------------------------------------
  // Instruction `instr` gets the address of what the label (an index into the function's body) stands before
  // as its `data`; or a table's entry does.
  void jump_to(uint32_t instr, uint32_t label);
  void table_entry(const Instr** entry, uint32_t label);
  void jump_to_end(uint32_t instr);   // of the inlined function
  void jump_to_here(uint32_t instr);  // to the instruction that is lowered next
  bool is_inlined() const;
  // --- calls (call.cpp, routine.cpp) ---------------------------------------------------------------------------------
  // Whether a call may pass `actual` as the parameter `formal`, or take a result of that kind in it: a .param
  // variable or a register of its size, a number as an argument, _ as a result.
  bool fits(const ptx::Variable& formal, const ptx::Operand& actual, bool is_result) const;
  // The functions that a call of `caller` may go to: the one that it names, or those whose address is taken and whose
  // parameters have its sizes.
  std::vector<const ptx::Function*> callees_of(const ptx::Function& caller,
                                               const ptx::Instruction& call) const;
  // The offset in the frame where a callee reads the argument (it is written there, unless it lies in
  // memory already), or writes the result.
  uint32_t argument_memory(const ptx::Variable& formal, const ptx::Operand& actual);
  uint32_t result_memory(const ptx::Variable& formal, const ptx::Operand& actual);
  // After the call: a result in the frame goes to the register that takes it.
  void take_result(const ptx::Variable& formal, const ptx::Operand& actual, uint32_t memory);
  // The callee's instructions in this place, or a call of the routine that it is; `entry` is set to the first of them in
  // the end, if given.
  bool emit_call(const ptx::Instruction& in, const ptx::Function& callee,
                 std::span<const ptx::Operand> returns, std::span<const ptx::Operand> args,
                 const Instr** entry = nullptr);

 private:
  struct Frame;    // a function being lowered: the entry, an inlined call, a routine
  struct Routine;  // a function that is called
  bool fits(const ptx::Function& caller, const ptx::Variable& formal, const ptx::Operand& actual,
            bool is_result) const;
  bool inline_call(const ptx::Function& callee, std::span<const ptx::Operand> returns,
                   std::span<const ptx::Operand> args);
  void call_routine(Routine& routine, std::span<const ptx::Operand> returns,
                    std::span<const ptx::Operand> args);
  void find_routines();
  bool lower_routines();
  bool lower_routine(Routine& routine);
  void save_registers(const Routine& routine, std::span<const Place> places);
  void link_routines();
  bool lower_function(const ptx::Function& f, Frame& frame);
  bool lower_variables();
  bool reserve_local(const ptx::Variable& v, uint32_t* offset);
  void emit_local(bool store, uint32_t place, uint32_t offset, uint32_t bytes);
  void emit_copy(uint32_t to, uint32_t from, uint32_t bytes);
  void emit_probes(const Frame& frame, uint32_t instruction, bool after);
  void emit_stop(Frame& frame, const ptx::Instruction& in);
  void emit_early_uses(const Frame& frame, uint32_t instruction);
  // Code::uses: the instruction that is being lowered names a register; its code is complete.
  uint32_t used(uint32_t place);
  void end_uses();
  std::shared_ptr<const ptx::Module> module_;
  base::Diagnostics& sink_;
  std::set<std::string> unknown_;  // opcodes that were reported
  std::span<const exec::RegisterProbe> probes_;
  exec::Stopper* stopper_;
  const std::shared_ptr<const std::map<std::string, uint64_t, std::less<>>> kept_;  // variables of the caller
  std::unordered_map<uint32_t, std::vector<uint32_t>> probes_at_;                   // by instruction
  std::vector<uint32_t> used_;  // by the instruction that is being lowered
  uint32_t start_ = 0;          // of its code
  Frame* frame_ = nullptr;
  // By function, in the order in which they are lowered, and the frame that local memory is given from.
  std::vector<std::unique_ptr<Routine>> routines_;
  std::unordered_map<const ptx::Function*, Routine*> routine_of_;
  std::unordered_map<const ptx::Function*, std::set<const ptx::Function*>> reached_;  // by calls
  std::set<const ptx::Function*> addressed_;  // whose address is taken
  std::shared_ptr<Activation> activation_;
  uint32_t frame_place_ = kNoRegister;
  const ptx::Instruction* current_ = nullptr;
  std::unordered_map<const ptx::Instruction*, Source*> sources_;
  std::unordered_map<const ptx::Variable*, uint32_t> offsets_;  // shared, local, param
  std::unordered_map<std::string_view, uint64_t> global_addresses_;
  struct Fixup {
    uint32_t instr;
    const Instr** entry;  // of a table; null: the instruction's own data
    uint32_t target;      // a label, then an instruction
    bool resolved;
  };
  std::vector<Fixup> fixups_, ends_, table_ends_;
};

// {%r1, %r2} or a single operand.
inline std::span<const ptx::Operand> parts_of(const ptx::Operand& operand) {
  return operand.kind == ptx::OperandKind::kVector ? operand.parts : std::span(&operand, 1);
}
inline uint32_t bytes_of(ptx::Mod type) { return static_cast<uint32_t>(std::max(1, ptx::bits(type) / 8)); }
// The number of a function: of its address, and of its entry in a table of all.
uint64_t function_index(const ptx::Module& module, const ptx::Function& function);

// [returns,] callee [, args] [, prototype or targets]
struct CallParts {
  explicit CallParts(const ptx::Instruction& call);
  const ptx::Operand* target = nullptr;  // null: it names no function
  std::span<const ptx::Operand> returns, args;
};

// One a family of opcodes; the column `handler` of opcodes.def names them. They emit instructions, or report
// an error and return false.
#define OP(name, text, forms, handler, ...) bool lower_##handler(Lowering& l, const ptx::Instruction& in);
#include <triton_runner/ptx/opcodes.def>

}  // namespace triton_runner::simt
