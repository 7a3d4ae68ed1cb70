// Lowers arith.cmpi and arith.cmpf: comparisons of affine values are boxes where they vary along one
// dimension.
#include <algorithm>

#include <triton_runner/ir/enums.h>

#include "ops/elementwise.h"
#include "ops/lazy.h"

namespace triton_runner::tile {
namespace {

using enum ir::CmpI;

bool compare(int64_t a, int64_t b, ir::CmpI predicate, num::Type type) {
  uint64_t ua = as_unsigned(a, type), ub = as_unsigned(b, type);
  if (type == num::Type::kI1) a = -(a & 1), b = -(b & 1);
  switch (predicate) {
    case kEq:
      return ua == ub;
    case kNe:
      return ua != ub;
    case kSlt:
      return a < b;
    case kSle:
      return a <= b;
    case kSgt:
      return a > b;
    case kSge:
      return a >= b;
    case kUlt:
      return ua < ub;
    case kUle:
      return ua <= ub;
    case kUgt:
      return ua > ub;
    default:
      return ua >= ub;
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 1) return a;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// The indices i of 0 .. n-1 where base + stride * i < 0, as an interval; stride is not 0.
void negative_interval(int64_t base, int64_t stride, int64_t n, int64_t* lo, int64_t* hi) {
  if (stride > 0) {
    *lo = 0;
    *hi = std::clamp<int64_t>(-floor_div(base, stride), 0, n);  // i < -base/stride, rounded up
  } else {
    *lo = std::clamp<int64_t>(floor_div(base, -stride) + 1, 0, n);
    *hi = n;
  }
}

// difference < 0 (or its negation) as a box, if it varies along one dimension at most.
bool compare_affine(Task& t, const Instr& in, const Affine& d, bool negate) {
  const TileType& ty = t.type(in.result());
  int64_t low, high;
  if (!affine_range(d, ty, &low, &high)) return false;
  if (high < 0 || low >= 0) {
    t.set_uniform(in.result(), (high < 0) != negate);
    return true;
  }
  int axis = -1;
  for (int k = 0; k < ty.rank; ++k)
    if (d.stride[k] != 0 && ty.shape[k] > 1) {
      if (axis >= 0) return false;
      axis = k;
    }
  if (d.base == INT64_MIN || d.stride[axis] == INT64_MIN) return false;
  MaskBox box;
  for (int k = 0; k < ty.rank; ++k) box.lo[k] = 0, box.hi[k] = ty.shape[k];
  int64_t n = ty.shape[axis];
  negative_interval(d.base, d.stride[axis], n, &box.lo[axis], &box.hi[axis]);
  if (negate) {  // the interval begins at 0 or ends at n: so does the other one
    complement(box, axis, n);
  }
  store_box(t, in.result(), box);
  return true;
}

// Consecutive indices along one dimension below one limit: the usual mask.
bool compare_line(Task& t, const Instr& in) {
  const TileType& from = t.type(in.operand(0));
  const Value &index = t.value(in.operand(0)), &limit = t.value(in.operand(1));
  if (from.element == num::Type::kI1 || from.element == num::Type::kPointer || index.form != Form::kAffine ||
      limit.form != Form::kUniform)
    return false;
  int axis = -1;
  for (int k = 0; k < from.rank; ++k) {
    if (index.stride[k] == 0) continue;
    if (axis >= 0) return false;
    axis = k;
  }
  int64_t room;
  if (axis < 0 || index.stride[axis] != 1 || __builtin_sub_overflow(limit.bits, index.base, &room))
    return false;
  if (room <= 0 || room >= from.shape[axis]) {
    t.set_uniform(in.result(), room > 0);
    return true;
  }
  Value& v = t.set_form(in.result(), Form::kBox);
  for (int k = 0; k < from.rank; ++k) v.box.lo[k] = 0, v.box.hi[k] = static_cast<int32_t>(from.shape[k]);
  v.box.hi[axis] = static_cast<int32_t>(room);
  return true;
}

bool lazy_cmpi(Task& t, const Instr& in) {
  const auto predicate = static_cast<ir::CmpI>(in.as<ElementwiseData>().extra);
  const TileType& from = t.type(in.operand(0));
  if (both_uniform(t, in)) {
    t.set_uniform(in.result(),
                  compare(t.bits(in.operand(0)), t.bits(in.operand(1)), predicate, from.element));
    return true;
  }
  if (predicate == kSlt && compare_line(t, in)) return true;
  Affine a, b;
  if (predicate == kNe || from.element == num::Type::kI1 || !both_affine(t, in, &a, &b)) return false;
  if (predicate >= kUlt || from.element == num::Type::kPointer) {
    int64_t lo, hi;  // as signed, if neither can be negative
    if (!affine_range(a, from, &lo, &hi) || lo < 0 || !affine_range(b, from, &lo, &hi) || lo < 0)
      return false;
  }
  bool swap = predicate == kSgt || predicate == kSle || predicate == kUgt || predicate == kUle;
  bool negate = predicate == kSle || predicate == kSge || predicate == kUle || predicate == kUge;
  Affine d;
  // Element by element: copying a struct that was just written waits until all of it has left for the cache.
  auto subtract = [&](const Affine& x, const Affine& y) {
    bool overflow = __builtin_sub_overflow(x.base, y.base, &d.base);
    for (int k = 0; k < from.rank; ++k)
      overflow |= __builtin_sub_overflow(x.stride[k], y.stride[k], &d.stride[k]);
    return overflow;
  };
  bool overflow = swap ? subtract(b, a) : subtract(a, b);
  if (overflow) return false;
  if (predicate != kEq) return compare_affine(t, in, d, negate);
  int64_t low, high;
  if (!affine_range(d, from, &low, &high)) return false;
  if (low > 0 || high < 0) {
    t.set_uniform(in.result(), 0);
    return true;
  }
  int axis = -1, count = 0;
  for (int k = 0; k < from.rank; ++k)
    if (d.stride[k] != 0 && from.shape[k] > 1) axis = k, ++count;
  if (count != 1) return false;
  MaskBox box;
  for (int k = 0; k < from.rank; ++k) box.lo[k] = 0, box.hi[k] = from.shape[k];
  if (d.base % d.stride[axis] != 0) {
    t.set_uniform(in.result(), 0);
    return true;
  }
  box.lo[axis] = -d.base / d.stride[axis];
  box.hi[axis] = box.lo[axis] + 1;
  store_box(t, in.result(), box);
  return true;
}

}  // namespace

void lower_cmpi(Lowering& l, const ir::Op& op) {
  const auto predicate = op.enum_attr<ir::CmpI>("predicate");
  if (!is_known(predicate)) return l.fail(op, "the predicate of this comparison is unknown");
  const auto number = static_cast<int64_t>(predicate);
  lower_lazy(l, op, *num::elementwise_cmpi[number], lazily<lazy_cmpi>, number);
}

std::optional<int64_t> fold_cmpi(Folder& f, const ir::Op& op) {
  const auto predicate = op.enum_attr<ir::CmpI>("predicate");
  return is_known(predicate) ? fold_by(f, op, *num::elementwise_cmpi[static_cast<size_t>(predicate)])
                             : std::nullopt;
}

void lower_cmpf(Lowering& l, const ir::Op& op) {
  const auto predicate = op.enum_attr<ir::CmpF>("predicate");
  if (!is_known(predicate)) return l.fail(op, "the predicate of this comparison is unknown");
  lower_elementwise(l, op, *num::elementwise_cmpf[static_cast<size_t>(predicate)]);
}

}  // namespace triton_runner::tile
