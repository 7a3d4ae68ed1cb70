// Declares tt.reduce and tt.scan in the order in which a layout's threads combine elements. ops/reduce.cpp
// has them in num's order.
#pragma once

#include "lowering.h"

namespace triton_runner::tile {

// The rules of their rows.
bool hardware_reduce(Lowering& l, const ir::Op& op);
bool hardware_scan(Lowering& l, const ir::Op& op);
bool hardware_reshape(Lowering& l, const ir::Op& op);

// Returns whether a thread of a tt.reduce holds several of the elements that are combined.
bool combines_registers(const ir::Op& op);

// Two tiles whose product is the operand of a sum, which takes it unrounded where it comes in first.
struct Factors {
  Slot a, b;
};
bool reduce_products(Lowering& l, const ir::Op& op, const Factors& factors);

}  // namespace triton_runner::tile
