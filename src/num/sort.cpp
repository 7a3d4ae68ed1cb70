// Finds the sorting stages of the current instruction set.
#include <triton_runner/num/sort.h>

#include <triton_runner/num/of_isa.h>

#include <triton_runner/num/types.h>

#include "simd/sort.h"
#include "simd/tables.h"

namespace triton_runner::num {

SortFn sort_fn(Type type, bool is_signed) { return NUM_OF_ISA(current_isa(), find_sort)(type, is_signed); }

}  // namespace triton_runner::num
