// Declares matrix products as tensor cores take their sums: which products one instruction adds, in which
// order (num/mma.h).
#pragma once
#include <optional>
#include <vector>

#include <triton_runner/num/dot.h>
#include <triton_runner/num/mma.h>

#include "lowering.h"

namespace triton_runner::tile {

struct TensorProduct {
  num::MmaPlan plan;  // of one call
  int64_t step =
      0;  // elements of k that a call takes: those of one instruction, or of several that add alike
  std::vector<int32_t> places;  // of a row, in the instructions' order; empty: as they are
  int64_t partial = 0;          // sums start from 0 and are added after so many elements of k; 0: never
};

// None: the product is of other units, or exact in any order. unit, k: of the whole product; k_width: elements that a
// thread holds side by side along k (mma.sync), 0: they are where the instruction has them.
std::optional<TensorProduct> tensor_product(int capability, num::MmaUnit unit, num::Type a, num::Type b,
                                            num::Type c, int64_t k, int64_t k_width = 0, int64_t partial = 0);

// c [m, n], row-major, += a [m, k] * b [k, n].
void multiply(const TensorProduct& product, void* c, int64_t ldc, num::Type c_type, const num::MatrixView& a,
              const num::MatrixView& b, int64_t m, int64_t n, int64_t k);

}  // namespace triton_runner::tile
