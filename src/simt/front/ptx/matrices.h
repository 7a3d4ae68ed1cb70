// Declares what the lowerings of instructions on matrices share: how operands are read, and the lowerings
// that another file calls (`mma`, `tcgen05.mma`, early uses of results of wgmma).
#pragma once
#include <optional>
#include <span>

#include "front/ptx/lower.h"
#include "matrix/matrix.h"
#include "matrix/mma_fragments.h"
#include "state/tensor_memory.h"

namespace triton_runner::simt {

// Read the address of a matrix in shared memory, and one in tensor memory; false after an error.
bool lower_matrix_address(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand,
                          AddressPlace* out);
bool lower_tensor_address(Lowering& l, const ptx::Operand& operand, TensorAddress* out);
// Finds the places of {%r1, %r2, ...} or of a single register; false after an error. Where they are `written`,
// _ gets a place of its own; else immediates of `type` may stand among them.
bool lower_registers(Lowering& l, const ptx::Operand& operand, ptx::Mod type, bool written, uint32_t* places,
                     uint32_t* count, uint32_t most);
// Return the element type of A or B (`packed`: a byte holds two e2m1), and the type of the sum; none where
// `type` is not one.
std::optional<num::MmaType> mma_type(ptx::Mod type, bool packed);
std::optional<num::MmaSum> mma_sum(ptx::Mod type);
// Reads the metadata and the selector of mma.sp and wgmma.sp, from operand *operand on, which moves past them.
bool lower_sparse(Lowering& l, const ptx::Instruction& in, const num::MmaPlan& plan, size_t* operand,
                  SparseA* out);

bool lower_mma(Lowering& l, const ptx::Instruction& in);
bool lower_tcgen05_mma(Lowering& l, const ptx::Instruction& in);
// Emits, before the instruction that is being lowered, the report that it uses D of these products of wgmma
// before a wait, on some path to it.
void lower_early_use(Lowering& l, std::span<const ptx::Instruction* const> products);

}  // namespace triton_runner::simt
