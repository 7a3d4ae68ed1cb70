// Finds reductions and scans in the current instruction set's table.
#include <triton_runner/num/reduce.h>

#include <triton_runner/num/of_isa.h>

#include "simd/streams.h"
#include "simd/tables.h"

namespace triton_runner::num {

ReduceFn reduce_fn(ReduceOp op, Type type) {
  return NUM_OF_ISA(current_isa(), reduce_table).reduce(op, type);
}
ScanFn scan_fn(ReduceOp op, Type type) { return NUM_OF_ISA(current_isa(), reduce_table).scan(op, type); }
ReducePartFn reduce_part_fn(ReduceOp op, Type type) {
  return NUM_OF_ISA(current_isa(), find_reduce_part)(op, type);
}
ReducePaddedFn reduce_padded_fn(ReduceFn reduce) {
  return NUM_OF_ISA(current_isa(), find_reduce_padded)(reduce);
}
ArgReduceFn arg_reduce_fn(ArgOp op, Type type) {
  return NUM_OF_ISA(current_isa(), reduce_table).arg_reduce(op, type);
}

}  // namespace triton_runner::num
