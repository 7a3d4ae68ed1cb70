// Finds instructions that read or write a register before the load that is to write it was waited for: s_waitcnt of a counter that
// lets it be under way still. Loads through one counter come back in their order, but for those of the scalar unit.
//
//   global_load_dword v1, v[2:3], off
//   v_add_u32_e32 v4, 1, v1               v1 is still being loaded: s_waitcnt vmcnt(0) is missing
#pragma once
#include <string>
#include <vector>

#include <triton_runner/amdgcn/text.h>

namespace triton_runner::amdgcn {

struct MissingWait {
  const Instruction *at, *load;
  std::string message;
};

// All of them, along every way through the kernel; each instruction once.
std::vector<MissingWait> missing_waits(const Module& module, const Kernel& kernel);

}  // namespace triton_runner::amdgcn
