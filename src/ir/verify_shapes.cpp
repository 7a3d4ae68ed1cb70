// Checks the shapes and element types that each op relates: shape_x for the rows of ops.def that say
// SHAPE(x), and the rules that follow from effects. The engines index by them without looking again.
#include "verify.h"

#include <algorithm>

#include <triton_runner/ir/op_table.h>

#include "impl.h"

namespace triton_runner::ir {
namespace {

using Shape = std::span<const int64_t>;

bool is_tile(const Type* type) { return type->kind == TypeKind::kTensor; }
// The shape of a scalar is empty.
Shape shape_of(const Type* type) { return is_tile(type) ? type->shape : Shape(); }
bool same(Shape a, Shape b) { return std::ranges::equal(a, b); }
std::string spell(const Type* type) { return text_of(type); }

std::string mismatch(const Op& op, const Type* a, const Type* b) {
  return std::string(op.name) + " of " + spell(a) + " and " + spell(b);
}
std::string cannot_give(const Op& op) {
  return std::string(op.name) + " of " + spell(op.operand(0)->type) + " does not give " +
         spell(op.results[0].type);
}

// All operands and results: one shape, or all scalars.
std::string elementwise(const Op& op, uint32_t first_operand = 0) {
  const Type* first = nullptr;
  auto differs = [&](const Type* type) {
    if (!first) first = type;
    return is_tile(first) != is_tile(type) || !same(shape_of(first), shape_of(type));
  };
  for (uint32_t i = first_operand; i < op.num_operands(); ++i)
    if (differs(op.operand(i)->type)) return mismatch(op, first, op.operand(i)->type);
  for (const Value& v : op.results)
    if (differs(v.type)) return mismatch(op, first, v.type);
  return "";
}

Shape without(Shape shape, size_t axis, std::vector<int64_t>& into) {
  into.assign(shape.begin(), shape.end());
  into.erase(into.begin() + static_cast<ptrdiff_t>(axis));
  return into;
}

// `axis` of the op, or -1 where it is none of a tile of so many dimensions.
int64_t axis_of(const Op& op, size_t rank) {
  int64_t axis = op.int_attr("axis", 0);
  return axis >= 0 && axis < static_cast<int64_t>(rank) ? axis : -1;
}

// The operands of a rearrangement before it and after it.
struct Rearranged {
  const Type *from, *to;
  Shape a, b;
  bool fits;  // a tile of the same elements
  explicit Rearranged(const Op& op) : from(op.operand(0)->type), to(op.results[0].type) {
    a = shape_of(from), b = shape_of(to);
    fits = is_tile(to) && from->scalar() == to->scalar() &&
           std::ranges::none_of(op.operand_uses,
                                [](const Use& use) { return use.value->type->kind == TypeKind::kMemDesc; });
  }
};
std::string unless(bool fits, const Op& op) { return fits ? "" : cannot_give(op); }

std::string folded(const Op& op, bool keeps_axis) {
  if (op.num_operands() == 0) return std::string(op.name) + " needs an operand";
  const Type* first = op.operand(0)->type;
  int64_t axis = is_tile(first) ? axis_of(op, first->shape.size()) : -1;
  if (axis < 0)
    return std::string(op.name) + ": " + spell(first) + " has no axis " +
           std::to_string(op.int_attr("axis", 0));
  for (const Use& use : op.operand_uses)
    if (!is_tile(use.value->type) || !same(use.value->type->shape, first->shape))
      return mismatch(op, first, use.value->type);
  std::vector<int64_t> rest;
  Shape wanted = keeps_axis ? first->shape : without(first->shape, static_cast<size_t>(axis), rest);
  for (const Value& v : op.results)
    if (!same(shape_of(v.type), wanted) || (!wanted.empty() && !is_tile(v.type))) return cannot_give(op);
  if (op.results.size() != op.num_operands())
    return std::string(op.name) + " of " + std::to_string(op.num_operands()) +
           " operands gives as many results";
  return "";
}

// A value that goes through pointers has the type that they point to.
std::string access(const Op& op, const Type* value) {
  const Type* pointer = op.operand(0)->type->scalar();
  if (pointer->kind != TypeKind::kPointer || !pointer->element)
    return std::string(op.name) + " needs a pointer or a tensor of pointers";
  if (pointer->element->kind == TypeKind::kTensor) return "";  // a block pointer: its ops compare
  const bool fits = value->scalar() == pointer->element && is_tile(value) == is_tile(op.operand(0)->type) &&
                    same(shape_of(value), shape_of(op.operand(0)->type));
  return fits ? "" : std::string(op.name) + " of " + spell(value) + " through " + spell(op.operand(0)->type);
}

// A pointer to a whole block (older releases) goes with any value's shape.
bool points_to_block(const Type* pointer) {
  return pointer->element && pointer->element->kind == TypeKind::kTensor;
}

// All tiles of the op have one shape, in registers and in memory. Scalars (base pointers, strides) go with
// any of them, unless the op takes `only_tiles` once one operand is a tile.
std::string one_shape(const Op& op, bool only_tiles) {
  const Type* first = nullptr;
  auto differs = [&](const Type* type) {
    const bool tile = is_tile(type) || type->kind == TypeKind::kMemDesc;
    if (!first && tile) first = type;
    return first && (tile ? !same(first->shape, type->shape) : only_tiles);
  };
  for (const Use& use : op.operand_uses)
    if (differs(use.value->type)) return mismatch(op, first, use.value->type);
  if (only_tiles && first && !is_tile(op.operand(0)->type)) return mismatch(op, op.operand(0)->type, first);
  for (const Value& result : op.results)
    if (is_tile(result.type) && differs(result.type)) return mismatch(op, first, result.type);
  return "";
}

// C and D of one type.
std::string accumulates(const Op& op) {
  const Type *c = op.operand(2)->type, *d = op.results[0].type;
  if (c->scalar() == d->scalar() && is_tile(d) && same(shape_of(c), shape_of(d))) return "";
  return std::string(op.name) + ": an accumulator " + spell(c) + " does not give " + spell(d);
}

// Axes, counts, offsets, sizes (and not the value of a constant): 32 bits in every op, so that 64 are enough
// to count with them.
std::string large_attribute(const Op& op) {
  constexpr int64_t kMost = int64_t{1} << 32;
  for (const NamedAttr& a : op.attrs)
    if (a.name != "value" && a.value->kind == AttrKind::kInteger &&
        (a.value->integer > kMost || a.value->integer < -kMost))
      return "attribute " + std::string(a.name) + " = " + std::to_string(a.value->integer) +
             " has more than 32 bits";
  return "";
}

}  // namespace

std::string shape_select(const Op& op) {
  const Type *condition = op.operand(0)->type, *value = op.operand(1)->type;
  if (is_tile(condition) && !same(shape_of(condition), shape_of(value)))
    return mismatch(op, condition, value);
  if (condition->scalar()->kind != TypeKind::kInteger || condition->scalar()->width != 1)
    return "the condition of arith.select is " + spell(condition) + ", not i1";
  return elementwise(op, 1);
}

std::string shape_make_range(const Op& op) {
  const Type* to = op.results[0].type;
  int64_t n = op.int_attr("end", 0) - op.int_attr("start", 0);
  if (!is_tile(to) || to->shape.size() != 1 || to->shape[0] != n || to->scalar()->kind != TypeKind::kInteger)
    return "a range of " + std::to_string(n) + " is not a " + spell(to);
  return "";
}

std::string shape_addptr(const Op& op) {
  const Type *pointer = op.operand(0)->type->scalar(), *offset = op.operand(1)->type->scalar();
  if (pointer->kind != TypeKind::kPointer || offset->kind != TypeKind::kInteger ||
      op.results[0].type->scalar() != pointer)
    return mismatch(op, op.operand(0)->type, op.operand(1)->type) + " does not give " +
           spell(op.results[0].type);
  return elementwise(op);
}

// ---- the same elements elsewhere

std::string shape_convert_layout(const Op& op) {
  return op.operand(0)->type->scalar() == op.results[0].type->scalar() ? elementwise(op) : cannot_give(op);
}

std::string shape_splat(const Op& op) {
  const Rearranged r(op);
  return unless(r.fits && !is_tile(r.from), op);
}

std::string shape_unsplat(const Op& op) {
  const Type *from = op.operand(0)->type, *to = op.results[0].type;
  return unless(is_tile(from) && from->scalar() == to && from->num_elements() == 1, op);
}

std::string shape_expand_dims(const Op& op) {
  const Rearranged r(op);
  const int64_t axis = axis_of(op, r.b.size());
  std::vector<int64_t> rest;
  return unless(r.fits && is_tile(r.from) && axis >= 0 && r.b[static_cast<size_t>(axis)] == 1 &&
                    same(without(r.b, static_cast<size_t>(axis), rest), r.a),
                op);
}

std::string shape_broadcast(const Op& op) {
  const Rearranged r(op);
  bool fits = r.fits && is_tile(r.from) && r.a.size() == r.b.size();
  for (size_t i = 0; fits && i < r.a.size(); ++i) fits = r.a[i] == r.b[i] || r.a[i] == 1;
  return unless(fits, op);
}

std::string shape_trans(const Op& op) {
  const Rearranged r(op);
  if (r.from->kind == TypeKind::kMemDesc && r.to->kind == TypeKind::kMemDesc)
    return "";  // of 3.0 and 3.1: the op's own affair
  const Attr* order = op.attr("order");
  bool fits =
      r.fits && is_tile(r.from) && r.a.size() == r.b.size() && (!order || order->raw.size() == r.a.size());
  std::vector<bool> seen(r.a.size());
  for (size_t i = 0; fits && i < r.a.size(); ++i) {
    size_t k = order ? static_cast<size_t>(order->raw[i]) : r.a.size() - 1 - i;
    fits = k < r.a.size() && !seen[k] && r.b[i] == r.a[k];
    if (fits) seen[k] = true;
  }
  return unless(fits, op);
}

std::string shape_reshape(const Op& op) {
  const Rearranged r(op);
  return unless(r.fits && is_tile(r.from) && r.from->num_elements() == r.to->num_elements(), op);
}

std::string shape_cat(const Op& op) {
  const Rearranged r(op);
  const Type* second = op.operand(1)->type;
  const Shape a = r.a, b = r.b, c = shape_of(second);
  return unless(r.fits && is_tile(r.from) && is_tile(second) && a.size() == b.size() &&
                    c.size() == a.size() && !a.empty() && second->scalar() == r.to->scalar() &&
                    same(a.subspan(1), b.subspan(1)) && same(a.subspan(1), c.subspan(1)) &&
                    a[0] + c[0] == b[0],
                op);
}

std::string shape_join(const Op& op) {
  const Rearranged r(op);
  const Type* second = op.operand(1)->type;
  return unless(r.fits && r.b.size() == r.a.size() + 1 && r.b.back() == 2 &&
                    same(r.b.first(r.a.size()), r.a) && same(shape_of(second), r.a) &&
                    second->scalar() == r.to->scalar(),
                op);
}

std::string shape_split(const Op& op) {
  const Rearranged r(op);
  bool fits = is_tile(r.from) && r.a.back() == 2;
  for (const Value& v : op.results)
    fits = fits && v.type->scalar() == r.from->scalar() && same(shape_of(v.type), r.a.first(r.a.size() - 1));
  return unless(fits, op);
}

// ---- along an axis

std::string shape_gather(const Op& op) {
  const Type *from = op.operand(0)->type, *indices = op.operand(1)->type, *to = op.results[0].type;
  const Shape a = shape_of(from), i = shape_of(indices);
  int64_t axis = axis_of(op, a.size());
  bool fits = axis >= 0 && from->scalar() == to->scalar() && indices->scalar()->kind == TypeKind::kInteger &&
              same(i, shape_of(to)) && i.size() == a.size();
  for (size_t k = 0; fits && k < a.size(); ++k) fits = static_cast<int64_t>(k) == axis || i[k] <= a[k];
  return fits ? "" : mismatch(op, from, indices) + " does not give " + spell(to);
}

std::string shape_histogram(const Op& op) {
  const Type *from = op.operand(0)->type, *to = op.results[0].type;
  bool fits = is_tile(from) && is_tile(to) && to->shape.size() == 1 &&
              from->scalar()->kind == TypeKind::kInteger && to->scalar()->kind == TypeKind::kInteger;
  for (uint32_t i = 1; fits && i < op.num_operands(); ++i)
    fits = same(shape_of(op.operand(i)->type), from->shape);
  return unless(fits, op);
}

std::string shape_reduce(const Op& op) { return folded(op, false); }
std::string shape_scan(const Op& op) { return folded(op, true); }

// ---- memory

std::string shape_load(const Op& op) {
  const std::string fault = access(op, op.results[0].type);
  return fault.empty() ? one_shape(op, !points_to_block(op.operand(0)->type->scalar())) : fault;
}

std::string shape_store(const Op& op) {
  const Type *pointer = op.operand(0)->type->scalar(), *value = op.operand(1)->type;
  if (pointer->kind != TypeKind::kPointer) return "tt.store needs a pointer or a tensor of pointers";
  if (!points_to_block(pointer) && value->scalar() != pointer->element)
    return "tt.store of " + spell(value) + " to " + spell(op.operand(0)->type);
  return one_shape(op, !points_to_block(pointer));
}

std::string shape_atomic(const Op& op) {
  for (const Type* value : {op.operand(1)->type, op.results[0].type})
    if (std::string fault = access(op, value); !fault.empty()) return fault;
  return one_shape(op, false);
}

// A part of a buffer: of the same elements, no larger, and of the same allocation.
std::string shape_memdesc_part(const Op& op) {
  const Type *from = op.operand(0)->type, *to = op.results[0].type;
  if (from->kind != TypeKind::kMemDesc || to->kind != TypeKind::kMemDesc) return "";  // the op's own affair
  const Shape whole = from->alloc_shape.empty() ? from->shape : from->alloc_shape, part = to->alloc_shape;
  const size_t rank = to->shape.size();
  bool fits = from->element == to->element && rank <= from->shape.size();
  if (!part.empty())  // releases leave it out where it is the shape
    fits = fits && rank <= whole.size() && rank <= part.size() && same(whole.last(rank), part.last(rank));
  for (size_t i = 0; fits && i < rank; ++i) fits = to->shape[i] <= from->shape.last(rank)[i];
  return unless(fits, op);
}

// ---- products: D = A B + C

// Integers of integers and floats of floats, and matrices (or batches of them) that can be multiplied.
std::string shape_dot(const Op& op) {
  if (std::string fault = accumulates(op); !fault.empty()) return fault;
  const Type *a = op.operand(0)->type, *b = op.operand(1)->type, *d = op.results[0].type;
  const size_t rank = d->shape.size();
  bool fits = a->scalar()->kind == d->scalar()->kind && b->scalar()->kind == d->scalar()->kind && rank >= 2 &&
              a->shape.size() == rank && b->shape.size() == rank;
  for (size_t i = 0; fits && i + 2 < rank; ++i)
    fits = a->shape[i] == d->shape[i] && b->shape[i] == d->shape[i];
  if (!fits || a->shape[rank - 2] != d->shape[rank - 2] || b->shape[rank - 1] != d->shape[rank - 1] ||
      a->shape[rank - 1] != b->shape[rank - 2])
    return mismatch(op, a, b) + " into " + spell(op.operand(2)->type);
  return "";
}

// Its operands are packed: the engine computes what they are.
std::string shape_dot_scaled(const Op& op) { return accumulates(op); }

std::string shape_warp_group_dot(const Op& op) {
  if (std::string fault = shape_dot(op); !fault.empty()) return fault;
  const Type* sum = op.results[0].type->scalar();
  const bool known = sum->kind == TypeKind::kFloat
                         ? sum->float_kind == FloatKind::kF16 || sum->float_kind == FloatKind::kF32
                         : sum->width == 32;
  return known ? "" : std::string(op.name) + " adds up f16, f32 and i32, not " + spell(op.operand(2)->type);
}

std::string shape_fault(const Op& op) {
  if (op.kind == OpKind::kUnknown) return "";
  if (std::string fault = large_attribute(op); !fault.empty()) return fault;
  if (const ShapeFn shape = op_info(op.kind).shape) return shape(op);
  using enum Effect;
  const Effects does = op.effects();
  if (does.any(kElementwise | kApplies)) return elementwise(op);
  return does.any(kLoads | kStores | kAtomics) && !does.any(kBlock | kMover) ? one_shape(op, false) : "";
}

}  // namespace triton_runner::ir
