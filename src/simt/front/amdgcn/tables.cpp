// steps() gives the copy of simd/*.cpp that was compiled for the instruction set in force.
#include "front/amdgcn/simd/tables.h"

#include <triton_runner/num/of_isa.h>

#include "front/amdgcn/lower.h"

namespace triton_runner::simt {

namespace amd {

namespace portable {
extern const Steps steps_table;
}
namespace avx2 {
extern const Steps steps_table;
}
namespace avx512 {
extern const Steps steps_table;
}

const Steps& steps() { return NUM_OF_ISA(num::current_isa(), steps_table); }

}  // namespace amd

Handler each_handler(amdgcn::Opcode opcode) { return amd::steps().each[static_cast<size_t>(opcode)]; }

Handler saturated_sum(bool subtracts, bool is_signed, uint32_t bits) {
  return amd::steps().sum(subtracts, is_signed, bits == 16 ? 0 : bits == 32 ? 1 : 2);
}

}  // namespace triton_runner::simt
