// steps() gives the copy of simd/*.cpp that was compiled for the instruction set in force.
#include "front/amdgcn/simd/tables.h"

#include <triton_runner/num/types.h>

#include "front/amdgcn/lower.h"

namespace triton_runner::simt {

namespace amd {

namespace portable {
extern const Steps steps_table;
}
#if defined(__x86_64__) && !defined(NUM_PORTABLE)
namespace avx2 {
extern const Steps steps_table;
}
namespace avx512 {
extern const Steps steps_table;
}
#endif

const Steps& steps() {
#if defined(__x86_64__) && !defined(NUM_PORTABLE)
  if (num::current_isa() == num::Isa::kAvx512) return avx512::steps_table;
  if (num::current_isa() == num::Isa::kAvx2) return avx2::steps_table;
#endif
  return portable::steps_table;
}

}  // namespace amd

Handler each_handler(amdgcn::Opcode opcode) { return amd::steps().each[static_cast<size_t>(opcode)]; }

Handler saturated_sum(bool subtracts, bool is_signed, uint32_t bits) {
  return amd::steps().sum(subtracts, is_signed, bits == 16 ? 0 : bits == 32 ? 1 : 2);
}

}  // namespace triton_runner::simt
