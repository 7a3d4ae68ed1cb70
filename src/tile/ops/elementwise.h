// Declares elementwise ops over whatever form their operands have.
#pragma once
#include <triton_runner/num/elementwise.h>

#include "lowering.h"

namespace triton_runner::tile {

// A loop over n contiguous elements, as num::Kernel::run: bit i of splat says that in[i] is one element for
// all: of its type, whatever form the operand has.
struct MapFn {
  void (*run)(const void* context, void* out, const void* const* in, uint32_t splat, int64_t n);
  const void* context;
};

// Result r of `in` from its first `arity` operands: one element where all are uniform, on the compact
// tile where a broadcast dimension is common to all, row by row where operands are broadcast differently,
// else in one go.
void map_elements(Task& t, const Instr& in, uint32_t r, uint32_t arity, MapFn fn);

// Instr::data of instructions that fall back to (or are) a num kernel.
struct ElementwiseData {
  num::Kernel kernel;
  int64_t extra = 0;  // the predicate of cmpi; whatever a lazy handler needs
};
const Instr* run_elementwise(Task& t, const Instr& in);
// Runs an op that `kLazy` does where forms allow it; false: they do not, and its kernel runs.
template <bool (*kLazy)(Task&, const Instr&)>
const Instr* lazily(Task& t, const Instr& in) {
  return kLazy(t, in) ? next(in) : run_elementwise(t, in);
}
// Makes the NaNs among elements that arithmetic gave those that the target gives: all ones but the sign.
void settle_nans(std::byte* elements, num::Type type, int64_t n);
// run_elementwise with such NaNs.
const Instr* run_elementwise_as_target(Task& t, const Instr& in);
// Tells of an instruction with such data whether it computes f on elements of that type.
inline bool is_functor(const Instr& in, const num::Elementwise& f, num::Type element) {
  return static_cast<const ElementwiseData*>(in.data)->kernel.loop == f.kernel(element, element).loop;
}

// As lower_elementwise, with a handler of its own that tries a lazy form first and else calls
// run_elementwise.
void lower_lazy(Lowering& l, const ir::Op& op, const num::Elementwise& f, Handler run, int64_t extra = 0);

// Computes what f gives of integers that are known; a divisor of 0 is left to the launch.
std::optional<int64_t> fold_by(Folder& folder, const ir::Op& op, const num::Elementwise& f);

}  // namespace triton_runner::tile
