// What machine code does that PTX has no line for.
#pragma once
#include "exec.h"

namespace triton_runner::simt {

// The Instr `data` for all threads of each warp that has one on: the uniform datapath.
void run_for_warp(Lanes& l, const Operands& in);
// The same by the lowest thread that is on of each warp: instructions that take uniform registers only.
void run_once_a_warp(Lanes& l, const Operands& in);
// d = a of the lowest thread that is on, for all threads of its warp: R2UR, of 32 bits or (small: 1) of a predicate.
void give_warp(Lanes& l, const Operands& in);

// Launch::params as constant bank 0 (Code::begin_parameters): block, grid, the window of local memory, the stack.
inline constexpr uint32_t kBankHeaderBytes = 44;
// sm_90 has the cluster there too: whether the launch names one, blocks of it, what ctaid is multiplied by to be divided by
// these, clusters of the grid; and how many blocks a cluster has. Seen in what ptxas makes of PTX's special registers.
inline constexpr uint32_t kClusterWords = 0x140, kClusterWordsEnd = 0x168, kClusterBlocks = 0x188;
// Where the bank has the generic address of its byte bank_address_origin(), which code counts parameters' addresses from;
// 0: not known.
constexpr uint32_t bank_address_offset(int capability) {
  return capability == 90 ? 0x198 : capability >= 80 && capability < 90 ? 0x40 : 0;
}
constexpr uint32_t bank_address_origin(int capability) { return capability == 90 ? 0x210 : 0; }
void begin_constant_bank(const Code& code, const std::array<uint32_t, 3>& grid, std::byte* out);

// d = a + b + c, each inverted where `small` has its bit (1, 2, 4), plus 1 for each bit of small >> 3, plus the carries
// of Add3. Carries out: Add3::out[0] where the sum reaches 2^32, out[1] where it reaches 2^33.
struct Add3 {
  uint32_t in[2] = {kNoRegister, kNoRegister}, out[2] = {kNoRegister, kNoRegister};
};
void add3(Lanes& l, const Operands& in);

// d, a predicate: a / b of f32 is not to be had by Newton's steps from 1 / b; FCHK.
void check_division(Lanes& l, const Operands& in);

// d = `small` bytes of a constant bank at a + ConstantBank::offset: of ConstantBank::bytes, or of the parameters.
struct ConstantBank {
  std::string bytes;
  uint32_t offset = 0;
  bool is_params = false, is_signed = false;
};
void load_constant(Lanes& l, const Operands& in);

// d = a[table] of three predicates a, b, c; small: the table of 8 bits.
void predicate_table(Lanes& l, const Operands& in);
// Predicates as bits: d = the places of `data` (PredicateBits) under imm's mask, the other bits those of a.
struct PredicateBits {
  std::array<uint32_t, 7> places;  // of P0 to P6
  uint32_t mask = 0;
};
void pack_predicates(Lanes& l, const Operands& in);
void unpack_predicates(Lanes& l, const Operands& in);  // a: the bits

// What only threads of a warp that are apart come to, which BRA.DIV brings together.
void apart_here(Lanes& l, const Operands& in);

// --- reconvergence ----------------------------------------------------------------------------------------------------
// A barrier register holds, for each thread of a region, the threads of its warp that entered it together.
void enter_region(Lanes& l, const Operands& in);  // d: BSSY
void meet_region(Lanes& l, const Operands& in);   // a: BSYNC
void leave_region(Lanes& l, const Operands& in);  // a: BREAK

}  // namespace triton_runner::simt
