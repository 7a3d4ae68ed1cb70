// st.async and red.async.
#pragma once
#include "ptx/lower.h"

namespace triton_runner::simt {

bool lower_store_async(Lowering& l, const ptx::Instruction& in);  // PTX ISA 9.7.9.12
bool lower_red_async(Lowering& l, const ptx::Instruction& in);

}  // namespace triton_runner::simt
