// Lowers four-bit floats in pairs, and narrow floats times a scale.

#include <triton_runner/num/convert.h>
#include <triton_runner/num/kernels.h>
#include <triton_runner/num/types.h>

#include "lowering.h"
#include "ops/combine.h"
#include "ops/dot.h"

namespace triton_runner::tile {
namespace {

struct Unpack {
  num::Type to;
  Axis packed;  // the dimension doubles: [outer, length, inner] -> [outer, 2 length, inner]
};

void unpack(const Unpack& u, const uint8_t* bytes, void* out) {
  const auto [outer, length, inner] = u.packed;
  if (inner == 1) return num::unpack_f4(out, u.to, bytes, outer * length);
  const auto size = static_cast<int64_t>(num::size_of(u.to));
  auto* to = static_cast<std::byte*>(out);
  std::vector<std::byte> row(2 * inner * size);
  for (int64_t r = 0; r < outer * length; r++) {
    // A row of bytes becomes two rows: the low halves, then the high halves.
    num::unpack_f4(row.data(), u.to, bytes + r * inner, inner);
    std::byte* two = to + 2 * r * inner * size;
    num::copy_strided(two, 1, row.data(), 2, inner, size);
    num::copy_strided(two + inner * size, 1, row.data() + size, 2, inner, size);
  }
}

void run_fp4_to_fp(Task& t, const Instr& in) {
  const auto* bytes = t.dense<uint8_t>(in.operand(0));
  unpack(in.as<Unpack>(), bytes, t.new_dense(in.result()));
}

bool unpacking(Lowering& l, const ir::Op& op, num::Type to, Unpack& u) {
  const TileType &from = *l.type(op.operand(0)->type), &result = *l.type(op.result()->type);
  const int64_t axis = op.int_attr("axis", from.rank - 1);
  if (from.size != 1 || axis < 0 || axis >= from.rank || result.n != 2 * from.n)
    return l.fail(op, "pairs of four-bit floats that do not fill the result"), false;
  u = {to, axis_of(from, axis)};
  return true;
}

struct Upcast {
  bool packed;
  Unpack pairs;
  num::Type from, scale, to;
  // The number of elements along a dimension for which one scale stands; group 1: one an element.
  int64_t group = 1, inner = 1;  // inner: elements of a step along the dimension
};

// value * scale in f32 (exact: scales are powers of two), rounded once to the result's type.
void run_scaled_upcast(Task& t, const Instr& in, const Upcast& u) {
  const void *data = t.dense(in.operand(0)), *scale = t.dense(in.operand(1));
  const int64_t n = t.type(in.result()).n;
  std::vector<float> values(n), scales(n / u.group);
  if (u.packed) {
    unpack(u.pairs, static_cast<const uint8_t*>(data), values.data());
  } else {
    num::convert(values.data(), num::Type::kF32, data, u.from, n);
  }
  num::convert(scales.data(), num::Type::kF32, scale, u.scale, n / u.group);
  const int64_t block = u.group * u.inner;  // elements that share `inner` scales
  for (int64_t i = 0; i < n; i++) values[i] *= scales[i / block * u.inner + i % u.inner];
  num::convert(t.new_dense(in.result()), u.to, values.data(), num::Type::kF32, n);
}

void lower_upcast(Lowering& l, const ir::Op& op, bool packed) {
  auto* u = l.make<Upcast>();
  const TileType &from = *l.type(op.operand(0)->type), &scale = *l.type(op.operand(1)->type),
                 &to = *l.type(op.result()->type);
  u->packed = packed;
  u->from = from.element;
  u->scale = scale.element == num::Type::kI8 ? num::Type::kF8E8M0FNU : scale.element;
  u->to = to.element;
  if (packed && !unpacking(l, op, num::Type::kF32, u->pairs)) return;
  if (scale.n != to.n || (!packed && (from.n != to.n || !num::is_float(from.element))) ||
      !num::is_float(u->scale) || !num::is_float(u->to))
    return l.fail(op, "a scaled upcast of these types is not supported");
  l.emit<run_scaled_upcast>(op, u);
}

struct Downcast {
  bool packed;
  num::Type from, to;
  int64_t group, inner;  // as in Upcast; of the input
  int64_t axis_size;     // of the input, along the dimension
};

// value / scale, rounded once; a scale of NaN gives NaN, or the largest four-bit value. Pairs of four-bit
// values take the low half first.
const Instr* run_scaled_downcast(Task& t, const Instr& in, const Downcast& d) {
  const auto* data = t.dense<std::byte>(in.operand(0));
  const auto* scale = t.dense<uint8_t>(in.operand(1));
  const TileType& from = t.type(in.operand(0));
  auto* out = t.new_dense<uint8_t>(in.result());
  const int64_t block = d.group * d.inner;
  auto value = [&](int64_t i) {
    const double x = num::to_double(num::load_bits(data + i * from.size, d.from), d.from);
    const double s = num::to_double(scale[i / block * d.inner + i % d.inner], num::Type::kF8E8M0FNU);
    return static_cast<uint8_t>(num::from_double(x / s, d.to));
  };
  if (!d.packed) {
    for (int64_t i = 0; i < from.n; i++) out[i] = value(i);
    return next(in);
  }
  for (int64_t i = 0; i < from.n / 2; i++) {
    const int64_t inner = i % d.inner, pair = i / d.inner % (d.axis_size / 2),
                  outer = i / d.inner / (d.axis_size / 2);
    const int64_t low = (outer * d.axis_size + 2 * pair) * d.inner + inner;
    out[i] = static_cast<uint8_t>(value(low) | value(low + d.inner) << 4);
  }
  return next(in);
}

void lower_downcast(Lowering& l, const ir::Op& op, bool packed) {
  const TileType &from = *l.type(op.operand_of("src")->type), &scale = *l.type(op.operand_of("scale")->type),
                 &to = *l.type(op.result()->type);
  const auto axis = static_cast<int>(op.int_attr("axis", from.rank - 1));
  bool fits = from.rank > 0 && scale.rank == from.rank && to.rank == from.rank && axis >= 0 &&
              axis < from.rank && num::is_float(from.element) && scale.size == 1 && to.size == 1 &&
              (packed ? to.element == num::Type::kI8 : num::is_float(to.element));
  for (int d = 0; fits && d < from.rank; d++) {
    fits = to.shape[d] * (packed && d == axis ? 2 : 1) == from.shape[d] &&
           (d == axis ? from.shape[d] % scale.shape[d] == 0 : from.shape[d] == scale.shape[d]);
  }
  if (!fits) return l.fail(op, "a scaled downcast of these types and shapes is not supported");
  const Axis a = axis_of(from, axis);
  auto* d = l.make<Downcast>(packed, from.element, packed ? num::Type::kF4E2M1FN : to.element,
                             a.length / scale.shape[axis], a.inner, a.length);
  l.emit<run_scaled_downcast>(op, {l.slot(op.result())},
                              {l.slot(op.operand_of("src")), l.slot(op.operand_of("scale"))}, d);
}

}  // namespace

void lower_fp4_to_fp(Lowering& l, const ir::Op& op) {
  auto* u = l.make<Unpack>();
  const num::Type to = l.type(op.result()->type)->element;
  if (to != num::Type::kF16 && to != num::Type::kBF16 && to != num::Type::kF32)
    return l.fail(op, "four-bit floats become f16, bf16 or f32");
  if (unpacking(l, op, to, *u)) l.emit<run_fp4_to_fp>(op, u);
}

// i8 holds e2m1 pairs, e4m3 or e5m2 values; scales are e8m0,
// one for 32 elements along the dimension that they shorten.
void lower_upcast_mxfp(Lowering& l, const ir::Op& op) {
  auto* u = l.make<Upcast>();
  const TileType &from = *l.type(op.operand_of("src")->type), &scale = *l.type(op.operand_of("scale")->type),
                 &to = *l.type(op.result()->type);
  const auto element = scaled_element(op.attr("fp_type"));
  u->packed = element == num::Type::kF4E2M1FN;
  u->from = from.element == num::Type::kI8 ? element.value_or(num::Type::kI8) : from.element;
  u->scale = num::Type::kF8E8M0FNU;
  u->to = to.element;
  int axis = -1, packed_axis = -1;
  bool fits = element && from.rank == to.rank && scale.rank == to.rank && scale.size == 1 &&
              num::is_float(to.element);
  for (int d = 0; fits && d < to.rank; d++) {
    if (scale.shape[d] != to.shape[d]) fits = axis < 0 && scale.shape[d] * 32 == to.shape[d], axis = d;
    if (from.shape[d] != to.shape[d])
      fits &= packed_axis < 0 && from.shape[d] * 2 == to.shape[d], packed_axis = d;
  }
  fits = fits && axis >= 0 && u->packed == (packed_axis >= 0) &&
         (u->packed ? from.size == 1 : num::is_float(u->from));
  if (!fits) return l.fail(op, "an upcast of these types and shapes is not supported");
  u->group = 32;
  u->inner = axis_of(to, axis).inner;
  if (u->packed) u->pairs = {num::Type::kF32, axis_of(from, packed_axis)};
  l.emit<run_scaled_upcast>(op, {l.slot(op.result())},
                            {l.slot(op.operand_of("src")), l.slot(op.operand_of("scale"))}, u);
}

void lower_amd_scaled_upcast_fp4(Lowering& l, const ir::Op& op) { lower_upcast(l, op, true); }
void lower_amd_scaled_upcast_fp8(Lowering& l, const ir::Op& op) { lower_upcast(l, op, false); }
void lower_amd_scaled_downcast_fp4(Lowering& l, const ir::Op& op) { lower_downcast(l, op, true); }
void lower_amd_scaled_downcast_fp8(Lowering& l, const ir::Op& op) { lower_downcast(l, op, false); }

}  // namespace triton_runner::tile
