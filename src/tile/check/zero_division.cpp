// Implements zero_division.h for arith: division by 0, division of the lowest integer by -1, and 0 to a
// negative power.
#include "check/zero_division.h"

#include "check/substitute.h"
#include "check/uninit.h"

namespace triton_runner::tile {

namespace {

bool is_signed(ir::OpKind kind) {
  using enum ir::OpKind;
  return kind == kDivSI || kind == kRemSI || kind == kCeilDivSI || kind == kFloorDivSI;
}

}  // namespace

bool quotients_are_defined(Task& t, const Instr& in, const UninitCheck& undefined) {
  if (!in.op->does(ir::Effect::kDivides)) return true;
  const bool power = in.op->kind == ir::OpKind::kIPowI;  // the first divides 1, where the second is below 0
  const Slot first = in.operand(0), second = in.operand(1);
  const TileType& type = t.type(in.result());
  const Look left(t, first), right(t, second);
  auto number = [&](const Look& look, int64_t i) {
    return num::sign_extend(num::load_bits(look.data() + i * type.size, type.element), type.element);
  };
  const bool may_overflow = is_signed(in.op->kind);
  const int64_t lowest = INT64_MIN >> (64 - 8 * type.size);
  const Lanes of_first = undefined.lanes(t, first), of_second = undefined.lanes(t, second);
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < type.n; ++i) {
    const int64_t base = number(left, i), by = number(right, i);
    const bool zero = power ? base == 0 && by < 0 : by == 0;
    const bool overflows =
        may_overflow && by == -1 && base == lowest && !of_first.marked(i) && !of_second.marked(i);
    if (overflows || (zero && !(power ? of_first : of_second).marked(i))) elements.push_back(i);
  }
  if (elements.empty()) return true;
  const int64_t i = elements[0], by = number(right, i);
  const bool overflows = by == -1 && !power;
  const std::string what = power ? "0 to the power of " + std::to_string(by)
                           : overflows
                               ? "the quotient does not fit into " + std::to_string(8 * type.size) + " bits"
                               : "the divisor is 0";
  const exec::Trap trap = t.made_trap(
      in, overflows ? exec::TrapKind::kOverflow : exec::TrapKind::kDivisionByZero,
      what + ": " + operand_text(t, in, 0, i) + ", " + operand_text(t, in, 1, i), type.index_of(i));
  if (substituted(t, in, in.result(), elements, [&] { return trap; })) return true;
  return t.record(in, trap);
}

}  // namespace triton_runner::tile
