// Declares the lowering from AMD's machine code to Code. A vector register is a place of 32 bits a thread; a
// scalar register is one too, in which all threads of a wavefront have the same bits, so that vector
// instructions read it as it is. EXEC, VCC and other masks are such scalars with a bit a lane; a predicate is
// made of them where threads are chosen by them.
//
//   v_add_f32 v2, v5, s10       d = a + b of the places of v2, v5 and s10, guarded by EXEC
//   s_and_saveexec_b64 s[0:1], vcc      on all threads of the wavefront, whatever EXEC holds
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <triton_runner/amdgcn/opcode.h>
#include <triton_runner/amdgcn/waits.h>

#include "check/count.h"
#include "code/emitter.h"
#include "launch/kernel.h"
#include "launch/stop.h"

namespace triton_runner::simt {

class AmdLowering final : public Emitter {
 public:
  AmdLowering(Code& code, std::shared_ptr<const amdgcn::Module> module, const amdgcn::Kernel& kernel,
              base::Diagnostics& sink, std::span<const exec::RegisterProbe> probes = {},
              exec::Stopper* stopper = nullptr);
  bool lower_kernel();
  void count();  // before lower_kernel(): the code counts what it executes (check/count.h)
  // Before lower_kernel(), for the race check: these read again, into nothing, where they are waited for.
  void read_late(const amdgcn::LateReads& reads);

  const amdgcn::Kernel& kernel;
  const bool is_rdna;         // gfx10 and later
  const uint32_t generation;  // 9, 11, 12

  // --- the instruction being lowered, as its row has its operands ---------------------------------------------
  const amdgcn::Instruction& in() const { return *in_; }
  std::string_view name() const { return in_->row->name; }
  const amdgcn::Operand* slot(size_t k) const { return matched_[k]; }
  const amdgcn::Operand& operand(size_t k) const { return in_->operands[k]; }  // of a row that takes any
  bool fail(std::string message, std::vector<std::string> notes = {});

  // --- operands as places in the register file -----------------------------------------------------------------
  // The k-th operand with its -, | |, selections and as wide as its slot says: 2, 4 or 8 bytes.
  uint32_t source(size_t k);
  // The same of an operand that the slot describes.
  uint32_t source(const amdgcn::Operand& o, const amdgcn::Slot& s, size_t number);
  uint32_t mask(size_t k);  // a lane mask, as a predicate
  uint32_t mask_of(const amdgcn::Operand& o);
  uint32_t register_at(const amdgcn::Operand& o, uint32_t k);  // the k-th of an operand's registers
  uint32_t scalar(uint32_t index);
  uint32_t vector(uint32_t index, bool accumulates = false);
  uint32_t pair_at(const amdgcn::Operand& o, uint32_t k = 0);  // 64 bits of two registers, or of a number
  uint32_t scc() { return scc_ == kNoRegister ? scc_ = temporary(1) : scc_; }
  uint32_t exec() const { return exec_; }  // EXEC as a predicate
  // A place of this instruction alone.
  uint32_t scratch(uint32_t bytes);

  // The place where operand k goes, and what is done when it is there: pairs, halves and masks go to their registers.
  uint32_t result(size_t k = 0);
  bool give();                                                   // all results of result()
  bool give_mask(const amdgcn::Operand& o, uint32_t predicate);  // under EXEC
  bool give_selected(const amdgcn::Operand& o, uint32_t place);  // SDWA
  bool give_pair(const amdgcn::Operand& o, uint32_t wide, uint32_t k = 0);
  void exec_changed();  // EXEC was written as a scalar

  // --- what is done ----------------------------------------------------------------------------------------------
  using Emitter::emit;
  Instr& emit(Handler run) override;
  bool lanes(lanes::Operation operation, lanes::Type type, const Operands& operands, uint32_t variant = 0);
  // d, a predicate: a is so to b.
  bool compare(num::Comparison comparison, lanes::Type type, uint32_t d, uint32_t a, uint32_t b);
  void unguarded() { guard_ = kNoRegister; }
  void guard_by(uint32_t predicate);  // and by EXEC
  // None where EXEC has all lanes throughout.
  uint32_t exec_guard() const { return is_exec_full_ ? kNoRegister : exec_; }
  void guarded() { guard_ = exec_guard(); }
  void jump_to(std::string_view label);
  uint32_t both(uint32_t a, uint32_t b);  // a predicate: a and b
  Source& facts() { return *source_; }
  const amdgcn::Module& module() const { return *module_; }
  uint32_t instruction() const { return number_; }
  // FP16_OVFL: d, halves, is finite where a, b and c are: the largest instead of an infinity. bytes: of an operand.
  void keep_finite(uint32_t d, uint32_t a, uint32_t b, uint32_t c, uint32_t bytes);
  bool saturates = false;      // FP16_OVFL is set
  bool copies_to_lds = false;  // some instruction loads past the registers; of gfx9, which alone has such
  void jump_anywhere(uint32_t at) { anywhere_.push_back(at); }

 private:
  struct Given {
    size_t slot;
    uint32_t place;
  };
  bool lower(const amdgcn::Instruction& in);
  void find_stretches();
  void forget_masks(const amdgcn::Instruction& in);
  void begin_registers();
  // Observers, debuggers and counters put these around an instruction (look.cpp).
  void emit_probes(uint32_t instruction, bool after);
  void find_stops();
  void emit_stop(uint32_t instruction);
  void emit_counts(uint32_t instruction);
  uint32_t place_of(uint32_t code);  // of an amdgcn::register_code
  uint64_t symbol(const amdgcn::Operand& o);
  uint64_t addend(std::string_view text) const;
  uint64_t address_of(std::string_view object);  // constants of the module
  uint32_t number(const amdgcn::Operand& o, const amdgcn::Slot& s);
  uint32_t selected(const amdgcn::Operand& o, uint32_t place, size_t number);
  uint32_t packed(uint32_t place, const amdgcn::Slot& s, size_t number);
  uint32_t from_other_lanes(uint32_t place);  // DPP; what follows is guarded by whether there is such a lane
  uint32_t clamped(uint32_t place, const amdgcn::Slot& s);
  void resolve_jumps();
  void keep_late(const amdgcn::Instruction& read);
  void end_late(uint32_t wait);

  std::shared_ptr<const amdgcn::Module> module_;
  base::Diagnostics& sink_;
  const amdgcn::Instruction* in_ = nullptr;
  amdgcn::Matched matched_{};
  uint32_t number_ = 0;
  bool is_ieee_off_ = false;  // .amdhsa_ieee_mode 0
  uint32_t guard_ = kNoRegister, exec_ = kNoRegister, scc_ = kNoRegister;
  Source* source_ = nullptr;
  std::map<std::pair<int, uint32_t>, uint32_t> registers_;  // by OperandKind and index
  std::multimap<uint32_t, uint32_t> free_;                  // scratch places by bytes
  std::vector<std::pair<uint32_t, uint32_t>> used_;         // of this instruction
  std::vector<Given> given_;
  // v_dual_: the register that the first one writes, and what it held; before_: for the second one.
  std::pair<uint32_t, uint32_t> dual_{kNoRegister, kNoRegister}, before_{kNoRegister, kNoRegister};
  std::vector<uint32_t> starts_;
  std::vector<std::pair<uint32_t, std::string_view>> jumps_;
  std::vector<uint32_t> anywhere_;
  std::span<const exec::RegisterProbe> probes_;
  std::multimap<uint32_t, uint32_t> probes_at_;  // by instruction
  exec::Stopper* stopper_;
  std::vector<uint32_t> stops_;           // by instruction: the number of the place
  const StopRegisters* shown_ = nullptr;  // under a debugger
  std::shared_ptr<CountPlan> counting_;   // null: nothing is counted
  std::vector<uint8_t> begins_;           // of the body: where a stretch begins that is executed at once
  bool is_exec_full_ = false;             // no instruction writes EXEC
  // Lane masks by their first register: predicates that hold the same, in all of the code, here, and of this instruction.
  std::map<uint32_t, uint32_t> kept_masks_;
  std::set<uint32_t> known_masks_;
  std::vector<uint32_t> made_masks_;
  // A read of LDS that may be under way over a barrier: its address, and in which lanes it is under way.
  struct Late {
    uint32_t place, lanes;
  };
  std::map<uint32_t, Late> late_;                // by the number of the read
  std::multimap<uint32_t, uint32_t> ends_late_;  // by that of the wait
};

// The handlers of rows that say EACH, EACH_SCC or EACH_MASK; else null.
Handler each_handler(amdgcn::Opcode opcode);
Handler saturated_sum(bool subtracts, bool is_signed,
                      uint32_t bits);  // of 16 bits, 32, or a pair of 16: bits 0

namespace amd {
// The accesses of a read of LDS, at an address that was kept.
void read_again(AmdLowering& l, const amdgcn::Instruction& read, uint32_t place);

#define OP(name, operands, how) how
#define LANES(...)
#define FLOAT(...)
#define REVERSED(...)
#define FLOAT_REVERSED(...)
#define LOGIC(...)
#define COMPARE(...)
#define EACH(...)
#define EACH_SCC(...)
#define EACH_MASK(...)
#define LOWER(f) bool lower_##f(AmdLowering& l);
#include <triton_runner/amdgcn/opcodes.def>
}  // namespace amd

}  // namespace triton_runner::simt
