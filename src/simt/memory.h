// What other families lower through ld, st and mov.
#pragma once
#include "ptx/lower.h"

namespace triton_runner::simt {

// d = a, of registers of so many bytes.
Handler copy_register(uint32_t bytes);
// st.async: a store to the cluster's shared memory that completes bytes of an mbarrier. PTX ISA 9.7.9.12.
bool lower_store_async(Lowering& l, const ptx::Instruction& in);

}  // namespace triton_runner::simt
