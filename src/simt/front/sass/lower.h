// Lowers machine code to Code: registers get places, and each row's lowering function (lower_<family>)
// chooses what an instruction does, mostly as lines of PTX (ptx_line.cpp).
//
//   FADD R2, R3, -R4     lower_floats (floats.cpp): add.f32 of the places of R2, R3 and R4, the last one negated
#pragma once
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <triton_runner/artifact/cubin_kernel.h>
#include <triton_runner/exec/register_observer.h>
#include <triton_runner/exec/stopper.h>
#include <triton_runner/ptx/opcode.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

#include "check/count.h"
#include "code/emitter.h"
#include "front/sass/values.h"
#include "launch/stop.h"

namespace triton_runner::simt {

// How the -, ~ and | | of an operand are meant, and its numbers.
enum class As : uint8_t { kInteger, kF32, kF64 };

// A number in the text of an instruction.
inline bool is_literal(const sass::Operand* o) {
  return o && (o->kind == sass::OperandKind::kInteger || o->kind == sass::OperandKind::kFloat);
}

class SassLowering : public Emitter {
 public:
  SassLowering(Code& code, std::shared_ptr<const sass::Module> module, const sass::Function& function,
               const artifact::CubinKernel& kernel, base::Diagnostics& sink,
               std::span<const exec::RegisterProbe> probes = {}, exec::Stopper* stopper = nullptr);
  bool lower_kernel();
  // Before lower_kernel(): addresses of variables that the caller keeps (LoadOptions::variables).
  void keep(std::shared_ptr<const std::map<std::string, uint64_t, std::less<>>> variables) {
    kept_ = std::move(variables);
  }
  void count();  // before lower_kernel(): the code counts what it executes (count.h)

  const artifact::CubinKernel& kernel;

  // --- the instruction being lowered, as its row has its operands -------------------------------------------
  const sass::Instruction& in() const { return *in_; }
  const sass::Instruction* next() const {  // null: it is the last
    return in_ + 1 < function_.body.data() + function_.body.size() ? in_ + 1 : nullptr;
  }
  sass::Opcode opcode() const { return matched_.row->opcode; }
  size_t shape() const { return matched_.shape; }
  const sass::Operand* slot(size_t k) const { return matched_.slots[k]; }
  bool has(std::string_view mod) const { return in_->has(mod); }

  // --- operands as places in the register file ---------------------------------------------------------------
  // 32 bits, or a pair of registers as 64, with -, ~ and | |.
  uint32_t word(size_t k, As as = As::kInteger);
  uint32_t pair(size_t k, As as = As::kInteger);
  uint32_t wide(size_t k);  // as pair(), of a number too: its sign is that of the text
  uint32_t raw(size_t k);   // 32 bits without -, ~ and | |
  // A predicate with its !; PT where the operand is left out.
  uint32_t predicate(size_t k);
  // The place where a result goes: for RZ, PT and what is left out, a place that nobody reads.
  uint32_t result(size_t k);
  uint32_t predicate_result(size_t k);
  bool give_pair(size_t k, uint32_t wide);  // a place of 64 bits into two registers; true

  // Neighbouring registers from operand k on, as many as are asked for; `written`: those of RZ are places that nobody reads.
  std::vector<uint32_t> registers(size_t k, uint32_t count, bool written = false);
  // R or UR, before the instruction or as it leaves it; RZ: a constant.
  uint32_t reg(uint32_t index, bool uniform = false, bool written = false);
  // 64 bits of two registers: those that were taken apart into them, as long as the registers stay.
  uint32_t pair_from(uint32_t index, bool uniform = false);
  // The same of the address of a load or store, which those that follow share.
  uint32_t address_pair(uint32_t index, bool uniform);
  uint32_t pred(uint32_t index, bool uniform = false, bool written = false);
  uint32_t barrier(uint32_t index);
  uint32_t aside(uint32_t index) {  // Rpc.LO, Rpc.HI
    return aside_[index] == kNoRegister ? aside_[index] = temporary(4) : aside_[index];
  }
  uint32_t active();  // a bit for each thread of the warp that is on
  bool is_exclusive() const { return exclusive_ != kNoRegister; }  // see only_these()
  // Until threads meet again, these alone are with each other: other members that are on compute for themselves.
  void only_these(uint32_t members);
  // Uniform d = what lies at `at` for the threads that are on: a result that is not computed for whole warps.
  bool give_threads(uint32_t d, uint32_t at, uint32_t bytes);
  uint32_t special(std::string_view name, uint32_t bytes);  // SR_TID.X; kNoRegister after an error
  // [R4.64+UR6+0x10] without its offset, of all threads: a place of 64 bits for global memory, else of 32; kNoRegister after an error.
  uint32_t address(const sass::Operand& operand, bool global);
  // The same as a line of PTX has it: "[%d0+16]" of the first place.
  static std::string offset_text(const sass::Operand& operand);
  // Bytes of a bank of constants that is not bank 0, with the addresses of this process; null: there is none.
  const std::string* constants_of(uint32_t bank) const;
  const uint64_t* memory_of(
      uint32_t bank) const;  // where a caller keeps it, who may write it; null: nobody does
  // Bytes of a constant bank, as they are at the launch.
  uint32_t bank(const sass::Operand& operand, uint32_t bytes);

  // --- what is done ---------------------------------------------------------------------------------------------
  // A line of PTX on places: "add.s32 %r0, %r1, %r2" is places[0] = places[1] + places[2]. The letter is the width:
  // %p predicate, %b 8 bits, %h 16, %r 32, %d 64, %q 128.
  // What is not arithmetic is lowered as the PTX front end lowers it, and has its facts (Source).
  bool ptx(const std::string& line, std::span<const uint32_t> places);
  // The instruction adds the lower half of 64 bits, to which another one adds the upper half (Values::lower_half).
  bool is_lower_half() const {
    return values_.is_lower_half(static_cast<uint32_t>(in_ - function_.body.data()));
  }
  bool lower_lower_half(bool is_shifted);
  bool lower_upper_half();  // that other one; false: the instruction is none
  // It only fills registers of a load, whose lowering does that.
  bool is_fill() const { return values_.is_fill(static_cast<uint32_t>(in_ - function_.body.data())); }
  void emit_fills();  // of this load
  // Nobody reads what the instruction writes, and nobody looks at it.
  bool is_unread() const { return values_.is_unread(static_cast<uint32_t>(in_ - function_.body.data())); }
  bool ptx(const std::string& line, std::initializer_list<uint32_t> places) {
    return ptx(line, std::span(places.begin(), places.size()));
  }
  // Makes what this instruction emitted run once a warp, by the lowest thread that is on.
  bool once_a_warp();
  // Operand 0 is, where the predicate k holds, the first line of a (%r1) and b (%r2), else the second: min and max.
  bool choose(size_t k, const std::string& first, const std::string& second, uint32_t a, uint32_t b);
  // Operand 0 is whether a and b compare so (`how`: ".lt.and"), operand 1 the opposite, both combined with the predicate of operand k.
  // `width` is the letter of places of `type`. An operand 1 that is PT, and PT as what they are combined with, take nothing.
  bool compare(const std::string& how, const std::string& type, char width, uint32_t a, uint32_t b, size_t k);
  // d is a where the predicate of operand k holds, else b.
  bool select(uint32_t d, size_t k, uint32_t a, uint32_t b);
  using Emitter::emit;
  Instr& emit(Handler run) override;
  void name_last();                   // the last one traps at the instruction's line
  void guard_by(uint32_t predicate);  // the guard of what is emitted next holds where this does, too
  void guard_by_any();                // it holds for all threads of a warp that are on where it does for one
  bool copy(uint32_t to, uint32_t from, uint32_t bytes);
  bool move(uint32_t to, uint32_t from);  // a register, which may be a half of 64 bits that are kept
  // Returns f(), which emits for all threads, whatever the guard is: what only this instruction reads, and cannot trap.
  template <class F>
  auto unguarded(F f) {
    const auto guard = std::pair(std::exchange(guard_, kNoRegister), std::exchange(guard_negated_, false));
    const auto result = f();
    std::tie(guard_, guard_negated_) = guard;
    return result;
  }
  bool fail(std::string message, std::vector<std::string> notes = {});
  // Returns whether such instructions have their groups counted by scoreboard `barrier`.
  bool counts_groups(sass::Opcode opcode, uint8_t barrier) const;
  // Instr `at` gets the Instr at that address as its data.
  void jump_to(uint32_t at, uint64_t address);
  // The same of a jump to an address in a register: `at` gets a BranchTable of all addresses / 16.
  void jump_anywhere(uint32_t at) { anywhere_.push_back(at); }

 private:
  struct PtxLine;
  const PtxLine* ptx_line(const std::string& line);
  bool ptx_instruction(const PtxLine& line, std::span<const uint32_t> places);
  bool lower(const sass::Instruction& in);
  uint32_t unread(uint32_t bytes);  // a place for results that nobody wants
  void begin_guard(const sass::Instruction& in);
  void run_uniformly(size_t first);
  bool writes_uniform() const;
  bool has_known_results() const;  // all that it writes stands in its text, or the table says it
  bool is_plain() const;           // the instruction only computes, loads or stores, each thread for itself
  void emit_probes(uint32_t instruction, bool after);
  std::vector<bool> find_stops();  // by index: where the debugger stops; empty: there is none
  void emit_stop(uint32_t instruction);
  void begin_counts(const std::vector<uint32_t>& together);
  void emit_counts(uint32_t instruction);
  void give_sources(size_t first);
  Part part();
  bool takes_divisor() const;
  void resolve_jumps();
  void place_variables();
  const uint64_t* kept_address(std::string_view name) const;  // null: the caller keeps no such variable
  bool fits();  // what the cubin and the listing say is within limits

  std::shared_ptr<const sass::Module> module_;
  std::map<int, std::string> banks_;  // with addresses
  std::shared_ptr<const std::map<std::string, uint64_t, std::less<>>> kept_;
  const sass::Function& function_;
  std::span<const exec::RegisterProbe> probes_;
  exec::Stopper* stopper_;
  std::vector<uint32_t> stops_;                  // of the debugger, by index: the number of the place
  const StopRegisters* shown_ = nullptr;         // under a debugger
  std::multimap<uint32_t, uint32_t> probes_at_;  // by instruction
  base::Diagnostics& sink_;
  const sass::Instruction* in_ = nullptr;
  sass::Matched matched_;
  uint32_t guard_ = kNoRegister;
  bool guard_negated_ = false;
  size_t first_ = 0;  // of the instructions of in_
  uint32_t active_ = kNoRegister, exclusive_ = kNoRegister;
  uint32_t aside_[2] = {kNoRegister, kNoRegister};
  size_t numbers_at_ = 0;  // the last instruction of in_ that computes floats, and what it says of them
  const Source* numbers_ = nullptr;
  bool by_threads_ = false;                                 // give_threads was used
  std::map<std::pair<int, uint32_t>, uint32_t> registers_;  // by OperandKind and index
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> params_;
  std::map<uint32_t, uint32_t> unread_;  // by bytes
  std::unordered_map<std::string, std::shared_ptr<PtxLine>> lines_;
  std::shared_ptr<CountPlan> counting_;  // null: nothing is counted
  std::vector<uint8_t> begins_;          // of function_.body: where a stretch that is counted at once begins
  std::vector<uint32_t> starts_;         // of function_.body, where jumps may come
  std::vector<std::pair<uint32_t, uint64_t>> jumps_;
  std::vector<uint32_t> anywhere_;
  std::vector<bool> plain_;                 // of code.instrs
  uint32_t after_plain(uint32_t at) const;  // the first one after `at` that is not
  // Says that the places, which this instruction was given for what is between its parts, are used from `first` on and by no other.
  void give_up(std::span<const Place> places, uint32_t first);
  std::set<uint32_t> lasting_;  // places that others use too: registers, constants, ...
  size_t constants_seen_ = 0;
  uint32_t lasting(int file, uint32_t index, uint32_t bytes);  // the place of a register
  uint32_t place_of(sass::OperandKind kind, uint32_t index, bool written, uint32_t bytes);
  uint32_t used(uint32_t place);  // by this instruction, which `uses` is to say
  void end_uses();
  void drop_pairs();
  // The 64 bits that two registers are, by the places of both: kept as long as none of them is written.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairs_;
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, uint32_t>> new_pairs_;  // of this instruction
  // A register is here with the one that it is a copy of, by places, as long as neither is written.
  std::map<uint32_t, uint32_t> copies_;
  std::optional<std::pair<uint32_t, uint32_t>> new_copy_;  // of this instruction
  uint32_t known_pair(uint32_t low, uint32_t high) const;  // kNoRegister: no place has these 64 bits
  void keep_pair(uint32_t low, uint32_t high, uint32_t whole, bool uniform);  // that is there from now on
  void forget_pairs() { pairs_.clear(), copies_.clear(); }
  struct Half {
    sass::Matched of;
    std::vector<size_t> slots;     // of its terms
    std::vector<uint32_t> places;  // of these; at last of its result
  };
  std::map<uint32_t, Half> lower_halves_;  // by instruction
  uint32_t joined(const sass::Operand& low, uint32_t at, size_t k);
  uint32_t sum_of_parts(const sass::Operand& address, bool global);
  std::vector<uint32_t> written_, used_;  // places, by this instruction
  Values values_;
  std::set<uint64_t> heads_;  // where jumps may go
};

std::string lower_case(std::string_view text);
std::string rounding(const SassLowering& l);     // ".rz" of .RZ; without one, to the nearest
std::string compared_by(const SassLowering& l);  // ".lt.and.ftz" of a comparison

// A row names what lowers some opcodes of a family.
struct SassRow {
  bool (*lower)(SassLowering& l);
  std::initializer_list<sass::Opcode> opcodes;
};
bool lower_by(SassLowering& l, std::span<const SassRow> rows);  // false: no row has the opcode

// One a family of opcodes; the column `family` of opcodes.def names them. They emit instructions, or report an error
// and return false.
#define OP(name, modifiers, operands, family, ...) bool lower_##family(SassLowering& l);
#include <triton_runner/sass/opcodes.def>

}  // namespace triton_runner::simt
