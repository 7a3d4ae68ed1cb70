// Declares the families that the lowering of cp, st and red leads to: bulk copies, boxes, asynchronous
// stores.
#pragma once
#include "front/ptx/lower.h"

namespace triton_runner::simt {

bool lower_bulk(Lowering& l, const ptx::Instruction& in);
bool lower_bulk_tensor(Lowering& l, const ptx::Instruction& in);
bool lower_store_async(Lowering& l, const ptx::Instruction& in);
bool lower_wait(Lowering& l, const ptx::Instruction& in, Handler wait);  // for all groups but the last n
bool lower_red_async(Lowering& l, const ptx::Instruction& in);

}  // namespace triton_runner::simt
