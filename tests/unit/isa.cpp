// Unit tests as on a machine with less: TRITON_RUNNER_ISA=avx2 or portable. An instruction set that this
// machine lacks is said, and nothing is tested; one that this build lacks is a failure.
#include <cstdio>
#include <cstdlib>

#include <triton_runner/num/isas.h>

namespace {

using namespace triton_runner;

const bool limited = [] {
  const char* isa = std::getenv("TRITON_RUNNER_ISA");
  if (!isa || !*isa || num::limit_isa(isa)) return true;
  bool lacks_copy = false;
  for (num::Isa one : {num::Isa::kPortable, num::Isa::kAvx2, num::Isa::kAvx512})
    lacks_copy = lacks_copy || (num::isa_name(one) == isa && num::machine_has_isa(one));
  std::printf("TRITON_RUNNER_ISA is %s, and %s\n", isa, num::why_no_isa(isa).c_str());
  std::printf("0 passed, %d failed, %d skipped\n", lacks_copy, !lacks_copy);
  std::exit(lacks_copy);
}();

}  // namespace
