// Divisors of arith's divisions and remainders, and 0 to a negative power.
#include "check/zero_division.h"

#include "check/substitute.h"
#include "check/uninit.h"

namespace triton_runner::tile {

bool divisors_are_not_zero(Task& t, const Instr& in, const UninitCheck& undefined) {
  if (!in.op->does(ir::Effect::kDivides)) return true;
  const bool power = in.op->kind == ir::OpKind::kIPowI;  // the first divides 1, where the second is below 0
  const Slot first = in.operand(0), second = in.operand(1);
  const TileType& type = t.type(in.result());
  const Look left(t, first), right(t, second);
  auto base = [&](int64_t i) { return num::load_bits(left.data() + i * type.size, type.element); };
  auto by = [&](int64_t i) {
    return num::sign_extend(num::load_bits(right.data() + i * type.size, type.element), type.element);
  };
  const Slot divisor = power ? first : second;
  const Lanes unknown = undefined.lanes(t, divisor);
  std::vector<int64_t> zeros;
  for (int64_t i = 0; i < type.n; ++i) {
    const bool zero = power ? base(i) == 0 && by(i) < 0 : by(i) == 0;
    if (zero && !unknown.bad(i)) zeros.push_back(i);
  }
  if (zeros.empty()) return true;
  const int64_t i = zeros[0];
  const std::string what = power ? "0 to the power of " + std::to_string(by(i)) : "the divisor is 0";
  const exec::Trap trap = t.made_trap(
      in, exec::TrapKind::kDivisionByZero,
      what + ": " + operand_text(t, in, 0, i) + ", " + operand_text(t, in, 1, i), type.index_of(i));
  if (substituted(t, in, in.result(), zeros, [&] { return trap; })) return true;
  return t.record(in, trap);
}

}  // namespace triton_runner::tile
