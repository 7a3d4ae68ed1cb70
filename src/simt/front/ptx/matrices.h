// Declares what the lowerings of instructions on matrices share: their operands, and the families that one
// opcode leads to.
#pragma once
#include <optional>

#include "front/ptx/lower.h"
#include "matrix/matrix.h"
#include "matrix/mma_fragments.h"
#include "state/tensor_memory.h"

namespace triton_runner::simt {

bool lower_matrix_address(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand,
                          AddressPlace* out);
bool lower_tensor_address(Lowering& l, const ptx::Operand& operand, TensorAddress* out);
// The places of {%r1, %r2, ...} or of a single register; false after an error. `written`: they are results (_
// gets a place of its own); else immediates of `type` may stand among them.
bool lower_registers(Lowering& l, const ptx::Operand& operand, ptx::Mod type, bool written, uint32_t* places,
                     uint32_t* count, uint32_t most);
// The element type of A or B; packed: two e2m1 a byte.
std::optional<num::MmaType> mma_type(ptx::Mod type, bool packed);
std::optional<num::MmaSum> mma_sum(ptx::Mod type);
// Metadata and selector of mma.sp and wgmma.sp, from operand *operand on.
bool lower_sparse(Lowering& l, const ptx::Instruction& in, const num::MmaPlan& plan, size_t* operand,
                  SparseA* out);

bool lower_mma(Lowering& l, const ptx::Instruction& in);
bool lower_tcgen05_mma(Lowering& l, const ptx::Instruction& in);
// Before the instruction that is being lowered, which uses D of these products of wgmma early on some way.
void lower_early_use(Lowering& l, std::span<const ptx::Instruction* const> products);

}  // namespace triton_runner::simt
