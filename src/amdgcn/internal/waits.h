// Finds instructions that read or write a register before the load that is to write it was waited for: s_waitcnt of a counter that
// lets it be under way still. Loads through one counter come back in their order, but for those of the scalar unit.
//
//   global_load_dword v1, v[2:3], off
//   v_add_u32_e32 v4, 1, v1               v1 is still being loaded: s_waitcnt vmcnt(0) is missing
//
// On gfx12 vector instructions keep copies of the scalar registers that they have read, which a later write reaches only when it was
// waited for (s_wait_alu, a load by the scalar unit, an access through a buffer):
//
//   v_add_nc_u32_e32 v1, s2, v1
//   s_add_co_i32 s2, s2, 4
//   v_add_nc_u32_e32 v1, s2, v1           the old s2: s_wait_alu depctr_sa_sdst(0) is missing
#pragma once
#include <map>
#include <string>
#include <vector>

#include <triton_runner/amdgcn/text.h>

namespace triton_runner::amdgcn {

struct MissingWait {
  const Instruction *at, *pending;
  std::string message;
  std::string_view what = "load";  // of `pending`: or "store", "write"
};

// All of them, along every way through the kernel; each instruction once.
std::vector<MissingWait> missing_waits(const Module& module, const Kernel& kernel);
std::vector<MissingWait> missing_scalar_waits(const Kernel& kernel);  // those of gfx12, which are among them

// Reads of LDS that no wait ends before a barrier, so that they may come after what other wavefronts write once they have passed
// it, and the waits after the barrier that end each; both by their numbers in the body.
//
//   ds_read_b32 v1, v2
//   s_barrier                             another wavefront goes on, and writes what is still to be read
//   s_waitcnt lgkmcnt(0)
using LateReads = std::map<uint32_t, std::vector<uint32_t>>;
LateReads late_reads(const Module& module, const Kernel& kernel);

}  // namespace triton_runner::amdgcn
