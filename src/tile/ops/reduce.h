// Tells what fusion needs to know of a reduction.
#pragma once
#include <triton_runner/num/reduce.h>

#include "code.h"

namespace triton_runner::tile {

// For an instruction that is Fusion::kReduce: the loop over rows of `length` elements; null where it does not
// reduce the last axis.
struct RowReduce {
  num::ReduceFn reduce;
  num::ReducePartFn part;  // the same for one row in parts; may be null
  int64_t length;
};
RowReduce row_reduce(const Instr& in);

}  // namespace triton_runner::tile
