// Declares the handlers of machine code for which PTX has no line: one run for a whole warp, constant banks,
// the check of a division, pairs of registers, regions. It is tested by
// tests/python/ptx/test_sass_pairs.py (pairs of sm_100a and sm_120a), by tests/python/ptx/test_sass.py, and by
// tests/cases/ptx/tcgen05-mma.ptx and tests/cases/ptx/tcgen05-mma-ws.ptx as machine code.
#pragma once
#include <triton_runner/artifact/cubin_kernel.h>
#include <triton_runner/lanes/sums.h>

#include "state/exec.h"

namespace triton_runner::simt {

using lanes::Add3;
using lanes::PredicateBits;
using lanes::SumHandlers;

// The Instr `data` by the lowest thread that is on of each warp (run_for_warp does it for all): instructions that take uniform
// registers only.
void run_once_a_warp(Lanes& l, const Operands& in);
// d = a of the lowest thread that is on, for all threads of its warp: R2UR, of 32 bits or (small: 1) of a predicate.
void give_warp(Lanes& l, const Operands& in);

// Launch::params as constant bank 0 (Code::begin_parameters): what code reads in front of the parameters, and where. Seen
// in what ptxas makes of PTX's special registers and of the addresses of local memory and of parameters: sm_75 to sm_120.
struct BankPlaces {
  uint32_t block, grid;  // three words each
  uint32_t window;       // 64 bits: the window of local memory
  uint32_t stack;        // bytes of local memory of a thread
  uint32_t descriptor;   // 64 bits: of global memory; nothing reads its bits
  // 64 bits: the generic address of the byte `origin`, which code counts parameters' addresses from, and that of the last
  // byte (0: nothing asks for it).
  uint32_t address, origin, last;
  uint32_t constants;  // 64 bits: the generic address of bank 3, the variables of constant memory
  // From sm_90 on, else 0: whether there is a cluster; blocks of it, along each axis; what ctaid is multiplied by to
  // be divided by these; clusters of the grid; blocks of a cluster.
  uint32_t is_cluster, cluster, inverse, clusters, cluster_blocks;
  uint32_t
      environment;  // three words, %envreg0 to %envreg2: the last two are Launch::workspace, its upper half first
  uint32_t processors;      // %nsmid
  uint32_t grid_id;         // 64 bits
  uint32_t dynamic_shared;  // bytes
};
constexpr BankPlaces bank_places(int capability) {
  if (capability >= 100)  // the cluster's are counted from SR_CgaSize, which is 0 here
    return {0x360, 0x370, 0x2f8, 0x37c, 0x358, 0x348, 0x380, 0x350, 0x120,
            0x36c, 0x2a0, 0x2b0, 0x2c0, 0x2cc, 0x250, 0x2d0, 0x140, 0x2ac};
  if (capability == 90)
    return {0,     0xc,   0x20,  0x28,  0x208, 0x198, 0x210, 0x1a0, 0xd0,
            0x140, 0x144, 0x150, 0x15c, 0x188, 0x40,  0x10c, 0x30,  0x2c};
  return {0, 0xc, 0x20, 0x28, 0x118, 0x40, 0, 0, 0x50, 0, 0, 0, 0, 0, 0x88, 0x10c, 0x30, 0x2c};
}
using artifact::kConstantMemory;
inline constexpr uint32_t kLeastBankBytes = 0x380;  // in front of parameters, where a cubin does not say it
// Returns whether the bytes in front of the parameters are among these.
bool is_known_in_bank(int capability, uint64_t at, uint32_t bytes);
void begin_constant_bank(const Code& code, const LaunchShape& launch, std::byte* out);

// d, a predicate: a / b of f32 is not to be had by Newton's steps from 1 / b; FCHK.
void check_division(Lanes& l, const Operands& in);

// d = `small` bytes of a constant bank at a + ConstantBank::offset: of ConstantBank::bytes, or of the parameters.
struct ConstantBank {
  std::string bytes;
  uint32_t offset = 0;
  bool is_params = false, is_signed = false;
};
void load_constant(Exec& x, const Operands& in, const ConstantBank& bank);

// Returns the handlers of the best instruction set.
const SumHandlers& sums();

// --- tensor memory ----------------------------------------------------------------------------------------------------
// The Instr of `data` that the instruction descriptor `a` asks for: by whether A is sparse (1) and whether it is tf32 (2).
struct ByDescriptor {
  Instr variants[4];
};
void run_by_descriptor(Lanes& l, const Operands& in);
// A pair of blocks agrees on the columns that they take by an mbarrier of the system's, at 0x48 of shared memory: one arrival a
// phase, whose parity is the word at 0x50. The even block finds a phase that has ended, the odd one waits for the even one.
void begin_pair(uint32_t rank, std::byte* reserved);

// --- reconvergence ----------------------------------------------------------------------------------------------------
// A barrier register holds, for each thread of a region, the threads of its warp that entered it together.
void enter_region(Lanes& l, const Operands& in);  // d: BSSY
void meet_region(Lanes& l, const Operands& in);   // a: BSYNC
void leave_region(Lanes& l, const Operands& in);  // a: BREAK

}  // namespace triton_runner::simt
