// simd_tables() gives the copy of the engine's loops (tables.h) that was compiled for the instruction set in
// force.
#include <triton_runner/lanes/tables.h>

#include <triton_runner/num/of_isa.h>

namespace triton_runner::lanes {

namespace portable {
extern const Tables kTables;
}
namespace avx2 {
extern const Tables kTables;
}
namespace avx512 {
extern const Tables kTables;
}

const Tables& simd_tables(num::Isa isa) { return NUM_OF_ISA(isa, kTables); }

}  // namespace triton_runner::lanes
