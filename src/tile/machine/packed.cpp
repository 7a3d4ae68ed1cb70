// Lowers ttng.packed_arith: arithmetic on pairs or quadruples of narrow floats, of one type or of several;
// four-bit floats come two a byte. The exact result is rounded once.
#include <cmath>

#include <triton_runner/num/elementwise.h>

#include <triton_runner/ir/enums.h>

#include "ops/combine.h"
#include "ops/elements.h"
#include "ops/elementwise.h"

namespace triton_runner::tile {
namespace {

using Kind = ir::PackedArithKind;

// One operand against the result: four-bit floats are packed along the dimension that the result has twice.
struct Side {
  num::Type type;
  bool packed;
  int64_t inner;  // elements of a step along the packed dimension
  int64_t width;  // of the result along it
};

struct Packed {
  Kind kind;
  std::vector<Side> sides;
};

double element(const Side& s, const Elements& from, int64_t i) {
  if (!s.packed) return num::to_double(from[i], s.type);
  const int64_t inner = i % s.inner, along = i / s.inner % s.width, outer = i / s.inner / s.width;
  const uint64_t pair = from[(outer * (s.width / 2) + along / 2) * s.inner + inner];
  return num::to_double(along % 2 ? pair >> 4 : pair & 0xf, num::Type::kF4E2M1FN);
}

void run_packed(Task& t, const Instr& in, const Packed& p) {
  const num::Type to = t.type(in.result()).element;
  std::vector<Elements> operands;
  for (uint32_t i = 0; i < in.num_operands; ++i) operands.emplace_back(t, in.operand(i));
  auto* out = t.new_dense<std::byte>(in.result());
  const TileType& type = t.type(in.result());
  for (int64_t i = 0; i < type.n; ++i) {
    double x[3] = {};
    for (size_t k = 0; k < p.sides.size(); ++k) x[k] = element(p.sides[k], operands[k], i);
    double value = 0;
    switch (p.kind) {
      case Kind::kAdd:
        value = x[0] + x[1];
        break;
      case Kind::kSub:
        value = x[0] - x[1];
        break;
      case Kind::kMul:
        value = x[0] * x[1];
        break;
      case Kind::kFma:
        value = std::fma(x[0], x[1], x[2]);
        break;
      case Kind::kMin:
        value = std::fmin(x[0], x[1]);
        break;
      case Kind::kMax:
        value = std::fmax(x[0], x[1]);
        break;
    }
    num::store_bits(out + i * type.size, to, num::from_double(value, to));
  }
}

}  // namespace

void lower_packed_arith(Lowering& l, const ir::Op& op) {
  const auto kind = op.enum_attr<Kind>("kind");
  const TileType& to = *l.type_of(op.result());
  const size_t arity = kind == Kind::kFma ? 3 : 2;
  if (!is_known(kind) || op.num_operands() != arity || !num::is_float(to.element))
    return l.fail(op, "packed arithmetic of an unknown kind or with other operands than it takes");
  auto* p = l.make<Packed>(kind);
  bool one_type = true;
  for (const ir::Use& u : op.operand_uses) {
    const TileType& from = *l.type_of(u.value);
    Side side{from.element, from.element == num::Type::kI8, 1, 1};
    int axis = -1;
    for (int d = 0; d < to.rank && from.rank == to.rank; ++d) {
      if (from.shape[d] == to.shape[d]) continue;
      if (!side.packed || axis >= 0 || 2 * from.shape[d] != to.shape[d])
        return l.fail(op, "an operand whose shape does not fit the result's");
      axis = d;
    }
    if (from.rank != to.rank || side.packed != (axis >= 0) || (!side.packed && !num::is_float(from.element)))
      return l.fail(op, "an operand whose type or shape does not fit the result's");
    if (side.packed) side.width = to.shape[axis], side.inner = axis_of(to, axis).inner;
    one_type &= from.element == to.element;
    p->sides.push_back(side);
  }
  static const num::Elementwise* const kKernels[] = {&num::elementwise_addf,    &num::elementwise_subf,
                                                     &num::elementwise_mulf,    &num::elementwise_fma,
                                                     &num::elementwise_minnumf, &num::elementwise_maxnumf};
  const num::Elementwise& one = *kKernels[static_cast<size_t>(kind)];
  if (one_type && one.kernel(to.element, to.element)) return lower_elementwise(l, op, one);
  l.emit<run_packed>(op, p);
}

}  // namespace triton_runner::tile
