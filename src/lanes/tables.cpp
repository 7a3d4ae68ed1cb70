// simd_tables() gives the copy of the engine's loops (tables.h) that was compiled for the instruction set in
// force.
#include <triton_runner/lanes/tables.h>

namespace triton_runner::lanes {

namespace portable {
extern const Tables kTables;
}
#if defined(__x86_64__) && !defined(NUM_PORTABLE)
namespace avx2 {
extern const Tables kTables;
}
namespace avx512 {
extern const Tables kTables;
}
#endif

const Tables& simd_tables([[maybe_unused]] num::Isa isa) {
#if defined(__x86_64__) && !defined(NUM_PORTABLE)
  if (isa == num::Isa::kAvx512) return avx512::kTables;
  if (isa == num::Isa::kAvx2) return avx2::kTables;
#endif
  return portable::kTables;
}

}  // namespace triton_runner::lanes
