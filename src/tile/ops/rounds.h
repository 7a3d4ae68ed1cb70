// Declares reductions and scans whose combine function a probe looks into.
#pragma once
#include "ops/combine.h"

namespace triton_runner::tile {

// Which elements an op combines, round by round: those of
// num/reduce.h, and those of reduce.cpp for functions of any kind.
enum class Order {
  kChain,     // sequential: the result so far with the next element
  kHalves,    // of what is left the first half with the second; an odd last element waits
  kStreams,   // element i with the sum so far at i mod 64, then halves of these
  kDoubling,  // scans: each element with the one 1, 2, 4, ... before it
  kGroups,    // scans: in groups of eight as kDoubling, then the last of the group before with each element
};

// Lowers tt.reduce, or tt.scan from either end, to rounds in that order, with what a probe wants of them. The
// iteration of a record is the round; the record has the shape of the operand, for reductions with as many
// steps along the axis as a round has at most, and a mask of the elements that the round made: element k of a
// reduction is the k-th of the round, that of a scan stands at its place.
void lower_rounds(Lowering& l, const ir::Op& op, Order order, bool scan, bool reverse);

}  // namespace triton_runner::tile
