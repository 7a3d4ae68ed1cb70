// lowering_order() gives the order in which a function's instructions are lowered.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include <triton_runner/sass/text.h>

#include "front/sass/values.h"

namespace triton_runner::simt {

// Indices into Function::body, in stretches that a jump enters at their first instruction only. ptxas puts loads and addresses
// between products of matrices: those that are independent come before or after here, so that the products of a tile stand
// side by side (matrix/mma_group.cpp). What touches memory or other threads keeps its order.
// Where nothing may move, or nothing is multiplied, each is a stretch of its own. fixed (by index; empty: none): nothing
// moves past these.
std::vector<std::vector<uint32_t>> lowering_order(const sass::Module& module, const sass::Function& function,
                                                  bool may_move, const std::vector<bool>& fixed = {},
                                                  const Values& values = {});

// The addresses where a jump may come to: in code that jumps to a computed address, all.
std::set<uint64_t> jump_targets(const sass::Function& function);

}  // namespace triton_runner::simt
