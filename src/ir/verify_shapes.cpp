// The shapes and element types that each op relates. The engines index by them without looking again.
#include "verify.h"

#include <algorithm>

#include <triton_runner/ir/op_table.h>

#include "impl.h"

namespace triton_runner::ir {
namespace {

using Shape = std::span<const int64_t>;

bool is_tile(const Type* type) { return type->kind == TypeKind::kTensor; }
// That of a scalar is empty.
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

std::string rearranged(const Op& op) {
  const Type *from = op.operand(0)->type, *to = op.results[0].type;
  if (op.kind == OpKind::kTrans && from->kind == TypeKind::kMemDesc && to->kind == TypeKind::kMemDesc)
    return "";  // of 3.0 and 3.1: the op's own affair
  for (const Use& use : op.operand_uses)
    if (use.value->type->kind == TypeKind::kMemDesc) return cannot_give(op);
  const Shape a = shape_of(from), b = shape_of(to);
  bool fits = is_tile(to) && from->scalar() == to->scalar();
  std::vector<int64_t> rest;
  switch (op.kind) {
    case OpKind::kSplat:
      fits = fits && !is_tile(from);
      break;
    case OpKind::kUnsplat:
      fits = is_tile(from) && !is_tile(to) && from->scalar() == to && from->num_elements() == 1;
      break;
    case OpKind::kExpandDims: {
      int64_t axis = axis_of(op, b.size());
      fits = fits && is_tile(from) && axis >= 0 && b[static_cast<size_t>(axis)] == 1 &&
             same(without(b, static_cast<size_t>(axis), rest), a);
      break;
    }
    case OpKind::kBroadcast:
      fits = fits && is_tile(from) && a.size() == b.size();
      for (size_t i = 0; fits && i < a.size(); ++i) fits = a[i] == b[i] || a[i] == 1;
      break;
    case OpKind::kTrans: {
      const Attr* order = op.attr("order");
      fits = fits && is_tile(from) && a.size() == b.size() && (!order || order->raw.size() == a.size());
      std::vector<bool> seen(a.size());
      for (size_t i = 0; fits && i < a.size(); ++i) {
        size_t k = order ? static_cast<size_t>(order->raw[i]) : a.size() - 1 - i;
        fits = k < a.size() && !seen[k] && b[i] == a[k];
        if (fits) seen[k] = true;
      }
      break;
    }
    case OpKind::kReshape:
      fits = fits && is_tile(from) && from->num_elements() == to->num_elements();
      break;
    case OpKind::kCat: {
      const Shape c = shape_of(op.operand(1)->type);
      fits = fits && is_tile(from) && is_tile(op.operand(1)->type) && a.size() == b.size() &&
             c.size() == a.size() && !a.empty() && op.operand(1)->type->scalar() == to->scalar() &&
             same(a.subspan(1), b.subspan(1)) && same(a.subspan(1), c.subspan(1)) && a[0] + c[0] == b[0];
      break;
    }
    case OpKind::kJoin:
      fits = fits && b.size() == a.size() + 1 && b.back() == 2 && same(b.first(a.size()), a) &&
             same(shape_of(op.operand(1)->type), a) && op.operand(1)->type->scalar() == to->scalar();
      break;
    case OpKind::kSplit:
      fits = is_tile(from) && a.back() == 2;
      for (const Value& v : op.results)
        fits = fits && v.type->scalar() == from->scalar() && same(shape_of(v.type), a.first(a.size() - 1));
      break;
    default:
      break;
  }
  return fits ? "" : cannot_give(op);
}

std::string gather(const Op& op) {
  const Type *from = op.operand(0)->type, *indices = op.operand(1)->type, *to = op.results[0].type;
  const Shape a = shape_of(from), i = shape_of(indices);
  int64_t axis = axis_of(op, a.size());
  bool fits = axis >= 0 && from->scalar() == to->scalar() && indices->scalar()->kind == TypeKind::kInteger &&
              same(i, shape_of(to)) && i.size() == a.size();
  for (size_t k = 0; fits && k < a.size(); ++k) fits = static_cast<int64_t>(k) == axis || i[k] <= a[k];
  return fits ? "" : mismatch(op, from, indices) + " does not give " + spell(to);
}

std::string histogram(const Op& op) {
  const Type *from = op.operand(0)->type, *to = op.results[0].type;
  bool fits = is_tile(from) && is_tile(to) && to->shape.size() == 1 &&
              from->scalar()->kind == TypeKind::kInteger && to->scalar()->kind == TypeKind::kInteger;
  for (uint32_t i = 1; fits && i < op.num_operands(); ++i)
    fits = same(shape_of(op.operand(i)->type), from->shape);
  return fits ? "" : cannot_give(op);
}

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

// What goes through pointers has the type that they point to.
std::string access(const Op& op, const Type* value) {
  const Type* pointer = op.operand(0)->type->scalar();
  if (pointer->kind != TypeKind::kPointer || !pointer->element)
    return std::string(op.name) + " needs a pointer or a tensor of pointers";
  if (pointer->element->kind == TypeKind::kTensor) return "";  // a block pointer: its ops compare
  const bool fits = value->scalar() == pointer->element && is_tile(value) == is_tile(op.operand(0)->type) &&
                    same(shape_of(value), shape_of(op.operand(0)->type));
  return fits ? "" : std::string(op.name) + " of " + spell(value) + " through " + spell(op.operand(0)->type);
}

// A part of a buffer: of the same elements, no larger, and of the same allocation.
std::string part_of_buffer(const Op& op) {
  const Type *from = op.operand(0)->type, *to = op.results[0].type;
  if (from->kind != TypeKind::kMemDesc || to->kind != TypeKind::kMemDesc) return "";  // the op's own affair
  const Shape whole = from->alloc_shape.empty() ? from->shape : from->alloc_shape, part = to->alloc_shape;
  const size_t rank = to->shape.size();
  bool fits = from->element == to->element && rank <= from->shape.size();
  if (!part.empty())  // releases leave it out where it is the shape
    fits = fits && rank <= whole.size() && rank <= part.size() && same(whole.last(rank), part.last(rank));
  for (size_t i = 0; fits && i < rank; ++i) fits = to->shape[i] <= from->shape.last(rank)[i];
  return fits ? "" : cannot_give(op);
}

// D = A B + C: C and D of one type, integers of integers and floats of floats, and matrices (or batches of
// them) that can be multiplied. A scaled product packs its operands: the engine computes what they are.
std::string product(const Op& op) {
  const Type *a = op.operand(0)->type, *b = op.operand(1)->type, *c = op.operand(2)->type,
             *d = op.results[0].type;
  if (c->scalar() != d->scalar() || !is_tile(d) || !same(shape_of(c), shape_of(d)))
    return std::string(op.name) + ": an accumulator " + spell(c) + " does not give " + spell(d);
  if (op.kind == OpKind::kDotScaled) return "";
  const size_t rank = d->shape.size();
  bool fits = a->scalar()->kind == d->scalar()->kind && b->scalar()->kind == d->scalar()->kind && rank >= 2 &&
              a->shape.size() == rank && b->shape.size() == rank;
  for (size_t i = 0; fits && i + 2 < rank; ++i)
    fits = a->shape[i] == d->shape[i] && b->shape[i] == d->shape[i];
  if (!fits || a->shape[rank - 2] != d->shape[rank - 2] || b->shape[rank - 1] != d->shape[rank - 1] ||
      a->shape[rank - 1] != b->shape[rank - 2])
    return mismatch(op, a, b) + " into " + spell(c);
  const Type* sum = d->scalar();
  const bool known = sum->kind == TypeKind::kFloat
                         ? sum->float_kind == FloatKind::kF16 || sum->float_kind == FloatKind::kF32
                         : sum->width == 32;
  if (op.kind == OpKind::kWarpGroupDot && !known)
    return std::string(op.name) + " adds up f16, f32 and i32, not " + spell(c);
  return "";
}

// Axes, counts, offsets, sizes: 32 bits in every op, so that 64 are enough to count with them.
std::string large_attribute(const Op& op) {
  constexpr int64_t kMost = int64_t{1} << 32;
  for (const NamedAttr& a : op.attrs)
    if (a.value->kind == AttrKind::kInteger && (a.value->integer > kMost || a.value->integer < -kMost))
      return "attribute " + std::string(a.name) + " = " + std::to_string(a.value->integer) +
             " has more than 32 bits";
  return "";
}

}  // namespace

std::string shape_fault(const Op& op) {
  if (op.kind == OpKind::kUnknown || op.kind == OpKind::kConstant) return "";
  if (std::string fault = large_attribute(op); !fault.empty()) return fault;
  switch (op.kind) {
    case OpKind::kSelect: {
      const Type *condition = op.operand(0)->type, *value = op.operand(1)->type;
      if (is_tile(condition) && !same(shape_of(condition), shape_of(value)))
        return mismatch(op, condition, value);
      if (condition->scalar()->kind != TypeKind::kInteger || condition->scalar()->width != 1)
        return "the condition of arith.select is " + spell(condition) + ", not i1";
      return elementwise(op, 1);
    }
    case OpKind::kMakeRange: {
      const Type* to = op.results[0].type;
      int64_t n = op.int_attr("end", 0) - op.int_attr("start", 0);
      if (!is_tile(to) || to->shape.size() != 1 || to->shape[0] != n ||
          to->scalar()->kind != TypeKind::kInteger)
        return "a range of " + std::to_string(n) + " is no " + spell(to);
      return "";
    }
    case OpKind::kAddPtr: {
      const Type *pointer = op.operand(0)->type->scalar(), *offset = op.operand(1)->type->scalar();
      if (pointer->kind != TypeKind::kPointer || offset->kind != TypeKind::kInteger ||
          op.results[0].type->scalar() != pointer)
        return mismatch(op, op.operand(0)->type, op.operand(1)->type) + " does not give " +
               spell(op.results[0].type);
      return elementwise(op);
    }
    case OpKind::kMapElementwise:
      return elementwise(op);
    case OpKind::kConvertLayout:
      return op.operand(0)->type->scalar() == op.results[0].type->scalar() ? elementwise(op)
                                                                           : cannot_give(op);
    case OpKind::kSplat:
    case OpKind::kUnsplat:
    case OpKind::kExpandDims:
    case OpKind::kBroadcast:
    case OpKind::kTrans:
    case OpKind::kReshape:
    case OpKind::kCat:
    case OpKind::kJoin:
    case OpKind::kSplit:
      return rearranged(op);
    case OpKind::kMemDescIndex:
    case OpKind::kMemDescSubview:
    case OpKind::kMemDescSubslice:
      return part_of_buffer(op);
    case OpKind::kDot:
    case OpKind::kDotScaled:
    case OpKind::kWarpGroupDot:
      return product(op);
    case OpKind::kGather:
      return gather(op);
    case OpKind::kHistogram:
      return histogram(op);
    case OpKind::kReduce:
      return folded(op, false);
    case OpKind::kScan:
      return folded(op, true);
    case OpKind::kLoad:
      return access(op, op.results[0].type);
    case OpKind::kAtomicRMW:
    case OpKind::kAtomicCAS: {
      std::string fault = access(op, op.operand(1)->type);
      return fault.empty() ? access(op, op.results[0].type) : fault;
    }
    default:
      return op.does(Effect::kElementwise) ? elementwise(op) : "";
  }
}

}  // namespace triton_runner::ir
