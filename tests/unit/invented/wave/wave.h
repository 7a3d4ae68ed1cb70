// An instruction set that nobody has: wavefronts of 64 lanes under an EXEC mask, a file of scalar registers that each wavefront
// has once, and a counter of loads under way. It is a front end of the SIMT engine as PTX and machine code are.
//
//   s_add s1, s0, 5            one sum a wavefront
//   v_add v1, v0, s1           v0 is the thread's number; a scalar goes to all lanes
//   v_cmpx_gt 40, v0           EXEC keeps the lanes where 40 > v0
//   s_count s2                 how many lanes EXEC has, of 64
//   load v2, v0                v2 = x[v0], when somebody waits for it: x is the kernel's parameter
//   s_wait 0                   until at most 0 loads of the wavefront are under way
//   store v0, v1               x[v0] = v1
#pragma once
#include <memory>
#include <string>

#include <triton_runner/base/result.h>
#include <triton_runner/exec/kernel.h>

namespace triton_runner::simt {

base::Result<std::unique_ptr<exec::Kernel>> load_wave(const std::string& text, uint32_t threads);

}  // namespace triton_runner::simt
