// Lowers integer arithmetic, casts, select and addptr in lazy form, each with its num kernel or a loop where elements are
// needed (lazy.h). Comparisons are in compare.cpp.
#include "ops/lazy.h"

#include <algorithm>

#include <triton_runner/num/kernels.h>

#include "ops/elementwise.h"
#include "ops/memory.h"

namespace triton_runner::tile {

bool affine_range(const Affine& a, const TileType& type, int64_t* low, int64_t* high) {
  int64_t lo = a.base, hi = a.base;
  for (int d = 0; d < type.rank; ++d) {
    int64_t reach;
    if (a.stride[d] == 0) continue;
    if (__builtin_mul_overflow(a.stride[d], type.shape[d] - 1, &reach)) return false;
    if (reach > 0 ? __builtin_add_overflow(hi, reach, &hi) : __builtin_add_overflow(lo, reach, &lo))
      return false;
  }
  *low = lo;
  *high = hi;
  return true;
}

// The value that the low bits have as an integer of the type, given those of 8 to 32 bits.
template <class I8, class I16, class I32>
static int64_t cut(int64_t v, num::Type type) {
  switch (type) {
    case num::Type::kI1:
      return v & 1;
    case num::Type::kI8:
      return static_cast<I8>(v);
    case num::Type::kI16:
      return static_cast<I16>(v);
    case num::Type::kI32:
      return static_cast<I32>(v);
    default:
      return v;
  }
}

uint64_t as_unsigned(int64_t v, num::Type type) {
  return static_cast<uint64_t>(cut<uint8_t, uint16_t, uint32_t>(v, type));
}

void complement(MaskBox& box, int axis, int64_t n) {
  if (box.lo[axis] == 0)
    box.lo[axis] = box.hi[axis], box.hi[axis] = n;
  else
    box.hi[axis] = box.lo[axis], box.lo[axis] = 0;
}

namespace {

// The limits of an integer type of `size` bytes; i1 tiles are masks, never affine.
bool integer_limits(const TileType& type, int64_t* low, int64_t* high) {
  *low = INT64_MIN >> (64 - 8 * type.size);
  *high = INT64_MAX >> (64 - 8 * type.size);
  return type.element != num::Type::kI1;
}

int64_t wrap(int64_t v, num::Type type) { return cut<int8_t, int16_t, int32_t>(v, type); }

void copy_result(Task& t, const Instr& in, uint32_t operand) { t.copy(in.result(), in.operand(operand)); }

// False: it does not fit the type everywhere.
inline bool store_affine_line(Task& t, Slot slot, int64_t base, int64_t stride) {
  const TileType& ty = t.type(slot);
  if (ty.element != num::Type::kPointer) {
    int64_t min, max, reach, end;
    if (!integer_limits(ty, &min, &max) || __builtin_mul_overflow(stride, ty.shape[0] - 1, &reach) ||
        __builtin_add_overflow(base, reach, &end) || std::min(base, end) < min || std::max(base, end) > max)
      return false;
  }
  Value& v = t.set_form(slot, Form::kAffine);
  v.base = base;
  v.stride[0] = stride;
  return true;
}

template <int kSign>
bool lazy_add(Task& t, const Instr& in) {
  num::Type type = t.type(in.result()).element;
  const Value &first = t.value(in.operand(0)), &second = t.value(in.operand(1));
  if (int at = affine_line(first, second, t.type(in.result())); at >= 0) {
    int64_t base;
    const bool fits = !(kSign > 0 ? __builtin_add_overflow(first.base, second.base, &base)
                                  : __builtin_sub_overflow(first.base, second.base, &base));
    const int64_t stride = at == 0 ? first.stride[0] : second.stride[0];
    if (fits && (kSign > 0 || (at == 0 || stride != INT64_MIN)) &&
        store_affine_line(t, in.result(), base, kSign > 0 || at == 0 ? stride : -stride))
      return true;
  }
  if (both_uniform(t, in)) {
    uint64_t a = t.bits(in.operand(0)), b = t.bits(in.operand(1));
    t.set_uniform(in.result(), wrap(static_cast<int64_t>(kSign > 0 ? a + b : a - b), type));
    return true;
  }
  Affine a, b;
  if (type != num::Type::kI1 && both_affine(t, in, &a, &b)) {
    bool overflow = kSign > 0 ? __builtin_add_overflow(a.base, b.base, &a.base)
                              : __builtin_sub_overflow(a.base, b.base, &a.base);
    for (int d = 0; d < t.type(in.result()).rank; ++d)
      overflow |= kSign > 0 ? __builtin_add_overflow(a.stride[d], b.stride[d], &a.stride[d])
                            : __builtin_sub_overflow(a.stride[d], b.stride[d], &a.stride[d]);
    return !overflow && store_affine(t, in.result(), a);
  }
  return false;
}

bool scale(Affine* a, int64_t by, int rank) {
  bool overflow = __builtin_mul_overflow(a->base, by, &a->base);
  for (int d = 0; d < rank; ++d) overflow |= __builtin_mul_overflow(a->stride[d], by, &a->stride[d]);
  return !overflow;
}

bool lazy_mul(Task& t, const Instr& in) {
  num::Type type = t.type(in.result()).element;
  if (both_uniform(t, in)) {
    uint64_t a = t.bits(in.operand(0)), b = t.bits(in.operand(1));
    t.set_uniform(in.result(), wrap(static_cast<int64_t>(a * b), type));
    return true;
  }
  Affine a, b;
  if (type != num::Type::kI1 && both_affine(t, in, &a, &b)) {
    int rank = t.type(in.result()).rank;
    bool first = t.is_uniform(in.operand(0));  // the other one is scaled by it
    if (!first && !t.is_uniform(in.operand(1))) return false;
    Affine& scaled = first ? b : a;
    return scale(&scaled, first ? a.base : b.base, rank) && store_affine(t, in.result(), scaled);
  }
  return false;
}

bool lazy_shl(Task& t, const Instr& in) {
  Affine a, b;
  return !t.is_uniform(in.operand(0)) && t.is_uniform(in.operand(1)) && both_affine(t, in, &a, &b) &&
         b.base >= 0 && b.base < 32 && scale(&a, int64_t{1} << b.base, t.type(in.result()).rank) &&
         store_affine(t, in.result(), a);
}

// Division and remainder by one positive number, where the dividend is not negative and stays between two
// multiples of it: the quotient is one number for all, and the remainder keeps the strides. extra: 0
// quotient, 1 remainder.
bool lazy_divide(Task& t, const Instr& in) {
  bool remainder = in.as<ElementwiseData>().extra == 1;
  Affine a, b;
  if (t.is_uniform(in.operand(1)) && both_affine(t, in, &a, &b) && b.base > 0) {
    int64_t low, high;
    const TileType& ty = t.type(in.result());
    if (affine_range(a, ty, &low, &high) && low >= 0 && low / b.base == high / b.base) {
      int64_t q = low / b.base;
      if (!remainder) {
        t.set_uniform(in.result(), q);
        return true;
      }
      a.base -= q * b.base;
      return store_affine(t, in.result(), a);
    }
  }
  return false;
}

bool encloses(const ir::Block* outer, const ir::Block* inner) {
  for (; inner && inner != outer; inner = inner->region->parent ? inner->region->parent->block : nullptr) {
  }
  return inner;
}

// Returns whether the quotient of a remainder's operands is computed, too, before it or after it: LLVM then
// makes the remainder from the quotient, which shows where the divisor is 0.
bool has_quotient(const ir::Op& remainder, ir::OpKind division) {
  const ir::Value *x = remainder.operand(0), *y = remainder.operand(1);
  for (const ir::Use* use = x->first_use; use; use = use->next) {
    const ir::Op& op = *use->user;
    if (op.kind == division && op.operand(0) == x && op.operand(1) == y &&
        (encloses(op.block, remainder.block) || encloses(remainder.block, op.block)))
      return true;
  }
  return false;
}

// Minimum and maximum of affine values whose order is the same everywhere. extra: 1 for the maximum.
bool lazy_min_max(Task& t, const Instr& in) {
  bool maximum = in.as<ElementwiseData>().extra == 1;
  Affine a, b;
  const TileType& ty = t.type(in.result());
  if (ty.element != num::Type::kI1 && both_affine(t, in, &a, &b)) {
    int64_t alo, ahi, blo, bhi;
    if (affine_range(a, ty, &alo, &ahi) && affine_range(b, ty, &blo, &bhi)) {
      if (ahi <= blo) return copy_result(t, in, maximum ? 1 : 0), true;
      if (bhi <= alo) return copy_result(t, in, maximum ? 0 : 1), true;
    }
  }
  return false;
}

// And of masks, or or: an operand that is the same everywhere decides, or the other one is the result.
template <bool kOr>
bool lazy_and_or(Task& t, const Instr& in) {
  const TileType& ty = t.type(in.result());
  if (ty.element != num::Type::kI1) return false;
  for (uint32_t i = 0; i < 2; ++i)
    if (t.is_uniform(in.operand(i))) {
      if ((t.bits(in.operand(i)) != 0) == kOr)
        t.set_uniform(in.result(), kOr);
      else
        copy_result(t, in, 1 - i);
      return true;
    }
  MaskBox a, b;
  if (kOr || !box_of(t.value(in.operand(0)), ty, &a) || !box_of(t.value(in.operand(1)), ty, &b)) return false;
  for (int d = 0; d < ty.rank; ++d)
    a.lo[d] = std::max(a.lo[d], b.lo[d]), a.hi[d] = std::min(a.hi[d], b.hi[d]);
  store_box(t, in.result(), a);
  return true;
}

// not(mask): one side of a cut stays one.
bool lazy_xor(Task& t, const Instr& in) {
  const TileType& ty = t.type(in.result());
  if (ty.element == num::Type::kI1) {
    for (uint32_t i = 0; i < 2; ++i) {
      if (!t.is_uniform(in.operand(i))) continue;
      if (t.bits(in.operand(i)) == 0) return copy_result(t, in, 1 - i), true;
      const Value& v = t.value(in.operand(1 - i));
      if (v.form == Form::kUniform) return t.set_uniform(in.result(), !v.bits), true;
      MaskBox box;
      if (!box_of(v, ty, &box)) break;
      int axis = -1, cuts = 0;
      for (int d = 0; d < ty.rank; ++d)
        if (box.lo[d] > 0 || box.hi[d] < ty.shape[d]) axis = d, ++cuts;
      if (cuts != 1 || (box.lo[axis] > 0 && box.hi[axis] < ty.shape[axis])) break;
      complement(box, axis, ty.shape[axis]);
      return store_box(t, in.result(), box), true;
    }
  }
  return false;
}

// Sign or zero extension, truncation: nothing to do where every value is the same number in both types.
template <bool kZeroExtend>
bool lazy_cast(Task& t, const Instr& in) {
  Slot s = in.operand(0), r = in.result();
  num::Type from = t.type(s).element, to = t.type(r).element;
  const Value& v = t.value(s);
  if (v.form == Form::kUniform) {
    int64_t b = kZeroExtend              ? static_cast<int64_t>(as_unsigned(v.bits, from))
                : from == num::Type::kI1 ? -(v.bits & 1)
                                         : v.bits;
    t.set_uniform(r, wrap(b, to));
    return true;
  }
  const TileType& ty = t.type(r);
  Affine a;
  if (v.form == Form::kAffine && affine_of(v, ty.rank, &a)) {
    int64_t low, high;
    return affine_range(a, ty, &low, &high) && (!kZeroExtend || low >= 0) && store_affine(t, r, a);
  }
  return false;
}

bool lazy_select(Task& t, const Instr& in) {
  if (!t.is_uniform(in.operand(0))) return false;
  t.copy(in.result(), in.operand(t.bits(in.operand(0)) ? 1 : 2));
  return true;
}

struct AddPtrData {
  int64_t size;  // bytes of what the pointers point to
  num::Type offset;
};

// Offsets are signed. A uniform operand begins with its element, as the first one of a repeated row does.
int64_t offset_at(const void* offsets, num::Type type, int64_t i) {
  const auto* p = static_cast<const std::byte*>(offsets) + i * static_cast<int64_t>(num::size_of(type));
  return num::sign_extend(num::load_bits(p, type), type);
}

void add_pointers(const void* context, void* out, const void* const* in, uint32_t splat, int64_t n) {
  const auto& d = *static_cast<const AddPtrData*>(context);
  auto* to = static_cast<uint64_t*>(out);
  auto* ptr = static_cast<const uint64_t*>(in[0]);
  const bool one_pointer = splat & 1, one_offset = splat & 2;
  if (one_offset) {
    const uint64_t by = static_cast<uint64_t>(offset_at(in[1], d.offset, 0)) * static_cast<uint64_t>(d.size);
    for (int64_t i = 0; i < n; ++i) to[i] = (one_pointer ? *ptr : ptr[i]) + by;
  } else if (d.offset == num::Type::kI64) {
    auto* off = static_cast<const int64_t*>(in[1]);
    one_pointer ? num::addresses_i64(to, *ptr, off, n, d.size) : num::addptr_i64(to, ptr, off, n, d.size);
  } else if (d.offset == num::Type::kI32) {
    auto* off = static_cast<const int32_t*>(in[1]);
    one_pointer ? num::addresses_i32(to, *ptr, off, n, d.size) : num::addptr_i32(to, ptr, off, n, d.size);
  } else {
    for (int64_t i = 0; i < n; ++i)
      to[i] = (one_pointer ? *ptr : ptr[i]) +
              static_cast<uint64_t>(offset_at(in[1], d.offset, i)) * static_cast<uint64_t>(d.size);
  }
}

void run_addptr(Task& t, const Instr& in, const AddPtrData& d) {
  if (d.offset == num::Type::kI1) {  // true is -1 as an offset, but 1 as a uniform value
    map_elements(t, in, 0, 2, {add_pointers, &d});
    return;
  }
  if (both_uniform(t, in)) {
    t.set_uniform(in.result(), static_cast<int64_t>(static_cast<uint64_t>(t.bits(in.operand(0))) +
                                                    static_cast<uint64_t>(t.bits(in.operand(1))) *
                                                        static_cast<uint64_t>(d.size)));
    return;
  }
  const Value &pointer = t.value(in.operand(0)), &offset = t.value(in.operand(1));
  if (affine_line(pointer, offset, t.type(in.result())) == 1) {
    int64_t by, stride;
    if (!__builtin_mul_overflow(offset.base, d.size, &by) &&
        !__builtin_mul_overflow(offset.stride[0], d.size, &stride)) {
      const auto base = static_cast<int64_t>(static_cast<uint64_t>(pointer.bits) + static_cast<uint64_t>(by));
      store_affine_line(t, in.result(), base, stride);
      return;
    }
  }
  if (int64_t by; pointer.form == Form::kAffine && offset.form == Form::kUniform &&
                  !__builtin_mul_overflow(offset.bits, d.size, &by)) {  // the next block of a loop
    const auto base = static_cast<int64_t>(static_cast<uint64_t>(pointer.base) + static_cast<uint64_t>(by));
    Value& v = t.set_form(in.result(), Form::kAffine);  // may be the pointer itself
    v.base = base;
    for (int k = 0; k < t.type(in.result()).rank; ++k) v.stride[k] = pointer.stride[k];
    return;
  }
  Affine a, b;
  if (both_affine(t, in, &a, &b) && scale(&b, d.size, t.type(in.result()).rank)) {
    a.base = static_cast<int64_t>(static_cast<uint64_t>(a.base) + static_cast<uint64_t>(b.base));
    bool overflow = false;
    for (int k = 0; k < t.type(in.result()).rank; ++k)
      overflow |= __builtin_add_overflow(a.stride[k], b.stride[k], &a.stride[k]);
    if (!overflow && store_affine(t, in.result(), a)) return;
  }
  map_elements(t, in, 0, 2, {add_pointers, &d});
}

}  // namespace

bool store_affine(Task& t, Slot slot, const Affine& a) {
  const TileType& ty = t.type(slot);
  if (ty.rank > kLazyRank) return false;
  if (ty.element != num::Type::kPointer) {
    int64_t low, high, min, max;
    if (!integer_limits(ty, &min, &max) || !affine_range(a, ty, &low, &high) || low < min || high > max)
      return false;
  }
  bool uniform = true;
  for (int d = 0; d < ty.rank; ++d) uniform &= a.stride[d] == 0 || ty.shape[d] == 1;
  if (uniform) {
    t.set_uniform(slot, a.base);
    return true;
  }
  Value& v = t.set_form(slot, Form::kAffine);
  v.base = a.base;
  for (int d = 0; d < ty.rank; ++d) v.stride[d] = ty.shape[d] == 1 ? 0 : a.stride[d];
  return true;
}

bool box_of(const Value& v, const TileType& type, MaskBox* out) {
  if (type.rank > kLazyRank) return false;
  if (v.form == Form::kUniform) {
    for (int d = 0; d < type.rank; ++d) out->lo[d] = 0, out->hi[d] = v.bits ? type.shape[d] : 0;
    return true;
  }
  if (v.form != Form::kBox) return false;
  for (int d = 0; d < type.rank; ++d) out->lo[d] = v.box.lo[d], out->hi[d] = v.box.hi[d];
  return true;
}

void store_box(Task& t, Slot slot, const MaskBox& box) {
  const TileType& ty = t.type(slot);
  if (box.empty(ty.rank)) return t.set_uniform(slot, 0);
  if (box.full(ty)) return t.set_uniform(slot, 1);
  Value& v = t.set_form(slot, Form::kBox);
  for (int d = 0; d < ty.rank; ++d)
    v.box.lo[d] = static_cast<int32_t>(box.lo[d]), v.box.hi[d] = static_cast<int32_t>(box.hi[d]);
}

#define LAZY(name, ...)                                      \
  void lower_##name(Lowering& l, const ir::Op& op) {         \
    lower_lazy(l, op, num::elementwise_##name, __VA_ARGS__); \
  }
LAZY(addi, lazily<lazy_add<1>>)
LAZY(subi, lazily<lazy_add<-1>>)
LAZY(muli, lazily<lazy_mul>)
LAZY(shli, lazily<lazy_shl>)
LAZY(divsi, lazily<lazy_divide>)
LAZY(divui, lazily<lazy_divide>)
LAZY(minsi, lazily<lazy_min_max>)
LAZY(maxsi, lazily<lazy_min_max>, 1)
LAZY(andi, lazily<lazy_and_or<false>>)
LAZY(ori, lazily<lazy_and_or<true>>)
LAZY(xori, lazily<lazy_xor>)
LAZY(extsi, lazily<lazy_cast<false>>)
LAZY(extui, lazily<lazy_cast<true>>)
LAZY(trunci, lazily<lazy_cast<false>>)
LAZY(index_cast, lazily<lazy_cast<false>>)
LAZY(index_castui, lazily<lazy_cast<true>>)
#undef LAZY
void lower_remsi(Lowering& l, const ir::Op& op) {
  const bool paired = has_quotient(op, ir::OpKind::kDivSI);
  lower_lazy(l, op, paired ? num::elementwise_remsi_paired : num::elementwise_remsi, lazily<lazy_divide>, 1);
}
void lower_remui(Lowering& l, const ir::Op& op) {
  const bool paired = has_quotient(op, ir::OpKind::kDivUI);
  lower_lazy(l, op, paired ? num::elementwise_remui_paired : num::elementwise_remui, lazily<lazy_divide>, 1);
}
// An element that is defined and `decides` is all that counts.
static void shadow_logical(ShadowRule& r, bool decides) {
  const TileType& type = r.t.type(r.in.result());
  const Lanes a = r.lanes(0), b = r.lanes(1);
  if (type.element != num::Type::kI1) return r.results([&](int64_t e) { return a.marked(e) || b.marked(e); });
  const auto* x = r.t.dense<uint8_t>(r.in.operand(0));
  const auto* y = r.t.dense<uint8_t>(r.in.operand(1));
  r.results([&](int64_t e) {
    const bool known_a = !a.marked(e), known_b = !b.marked(e);
    if ((known_a && (x[e] != 0) == decides) || (known_b && (y[e] != 0) == decides)) return false;
    return !known_a || !known_b;
  });
}
void shadow_andi(ShadowRule& r) { shadow_logical(r, false); }
void shadow_ori(ShadowRule& r) { shadow_logical(r, true); }
void lower_select(Lowering& l, const ir::Op& op) {
  if (!op.operand(1)->type || l.type_of(op.operand(1))->size != 0) {
    lower_lazy(l, op, num::elementwise_select, lazily<lazy_select>);
    return;
  }
  if (l.type_of(op.operand(0))->is_tensor) return l.fail(op, "select between objects needs one condition");
  l.emit(lazily<lazy_select>, op);  // tokens, memdescs, descriptors
}
void shadow_select(ShadowRule& r) {
  const Lanes condition = r.lanes(0), yes = r.lanes(1), no = r.lanes(2);
  const bool one = r.t.type(r.in.operand(0)).n == 1;
  const auto* chosen = r.t.dense<uint8_t>(r.in.operand(0));
  r.results([&](int64_t e) {
    if (condition.marked(e)) return true;
    return chosen[one ? 0 : e] ? yes.marked(e) : no.marked(e);
  });
}
std::optional<int64_t> fold_select(Folder& f, const ir::Op& op) {
  const std::optional<int64_t> condition = f.known(op.operand(0));
  return condition ? f.known(op.operand(*condition ? 1 : 2)) : std::nullopt;
}

bool adds_to_pointers(const Instr& in) { return in.run == handler<run_addptr>; }

void emit_addptr(Lowering& l, const ir::Op& op, Slot result, Slot base, Slot offsets, int64_t element_bytes) {
  l.emit<run_addptr>(op, {result}, {base, offsets},
                     l.make<AddPtrData>(element_bytes, l.type_of(offsets)->element));
}

Slot buffer_pointers(Lowering& l, const ir::Op& op) {
  const ir::Value *base = op.operand_of("ptr"), *offsets = op.operand_of("offsets");
  const auto& shape = offsets->type->shape;
  const Slot out = l.new_slot(l.tile_type(num::Type::kPointer, {shape.begin(), shape.end()}));
  emit_addptr(l, op, out, l.slot(base), l.slot(offsets), l.type(base->type)->pointee);
  return out;
}

void lower_addptr(Lowering& l, const ir::Op& op) {
  Slot ptr = l.slot(op.operand(0));
  if (l.type_of(ptr)->pointee == 0) return l.fail(op, "the pointers do not say what they point to");
  emit_addptr(l, op, l.slot(op.result()), ptr, l.slot(op.operand(1)), l.type_of(ptr)->pointee);
}

}  // namespace triton_runner::tile
