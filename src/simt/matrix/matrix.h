// What the instructions on matrices share: operands of several registers, and rows of 16 bytes in shared
// memory.
#pragma once
#include <cstdint>

#include "exec.h"
#include "ptx/lower.h"

namespace triton_runner::simt {

// An address operand of shared memory, one value a lane.
struct MatrixAddress {
  uint32_t place = kNoRegister;  // none: `offset` is all
  uint32_t bytes = 4;            // of the register
  int64_t offset = 0;
  bool is_shared = true;  // else generic
};
bool lower_matrix_address(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand,
                          MatrixAddress* out);
// The host addresses of the rows of 16 bytes that lanes [warp, warp + n) point to; false after a trap.
bool matrix_rows(Exec& x, const Operands& in, const MatrixAddress& address, uint32_t warp, uint32_t n,
                 bool write, std::byte** out);

// The places of {%r1, %r2, ...} or of a single register; false after an error. `written`: they are results (_
// gets a place of its own); else immediates of `type` may stand among them.
bool lower_registers(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand, ptx::Mod type,
                     bool written, uint32_t* places, uint32_t* count, uint32_t most);

bool lower_mma(Lowering& l, const ptx::Instruction& in);
// Before the instruction that is being lowered, which uses D of these products of wgmma early on some way: a
// launch that looks for races asks there whether they are pending.
void lower_early_use(Lowering& l, std::vector<const ptx::Instruction*> products);

}  // namespace triton_runner::simt
