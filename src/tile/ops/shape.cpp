// Lowers program ids, constants, ranges, and the ops that only rearrange a tensor: most of them touch no
// element.
#include <cstring>

#include <triton_runner/num/kernels.h>

#include "lowering.h"
#include "ops/lazy.h"

namespace triton_runner::tile {
namespace {

void run_program_id(Task& t, const Instr& in) { t.set_uniform(in.result(), t.program->id[in.as<int64_t>()]); }

void run_num_programs(Task& t, const Instr& in) {
  t.set_uniform(in.result(), t.worker->launch->options->grid[in.as<int64_t>()]);
}

void run_make_range(Task& t, const Instr& in) {
  Affine a{in.as<int64_t>(), {1}};
  store_affine(t, in.result(), a);
}

void run_dense_constant(Task& t, const Instr& in) {
  std::memcpy(t.new_dense(in.result()), in.as<std::vector<std::byte>>().data(), t.type(in.result()).bytes);
}

const Instr* run_copy(Task& t, const Instr& in) {
  t.hand_on(in);
  return next(in);
}

// A scalar's buffer, if it has one, holds one element: only the bits are the tensor's.
void run_splat(Task& t, const Instr& in) { t.set_uniform(in.result(), t.bits(in.operand(0))); }

void run_unsplat(Task& t, const Instr& in) {
  const void* p = t.dense(in.operand(0));
  t.set_uniform_from(in.result(), p);
}

// Forms of a value as seen with other dimensions: a lazy value of the result
// from one of the operand, given for every result dimension the operand's
// dimension it comes from (-1: a new one) and whether that one is repeated.
struct Rearrange {
  std::vector<int> from;
  bool keeps_order;  // row-major elements stay where they are: only dimensions of size 1 come or go
};

const Instr* run_rearrange(Task& t, const Instr& in, const Rearrange& r) {
  Slot s = in.operand(0), d = in.result();
  const TileType &from = t.type(s), &to = t.type(d);
  if (t.is_uniform(s)) {
    t.set_uniform(d, t.bits(s));
    return next(in);
  }
  Value& v = t.value(s);
  if (v.form == Form::kDense && r.keeps_order) return run_copy(t, in);
  if (from.rank > kLazyRank || to.rank > kLazyRank) {
    std::vector<int64_t> strides(to.rank);
    for (int k = 0; k < to.rank; ++k)
      strides[k] = r.from[k] < 0 || from.shape[r.from[k]] != to.shape[k] ? 0 : from.dense_strides[r.from[k]];
    // Merge what can be merged, so that copy_view's limit of 8 dimensions holds for anything real.
    std::vector<int64_t> shape, merged;
    for (int k = 0; k < to.rank; ++k) {
      if (to.shape[k] == 1) continue;
      if (!shape.empty() && merged.back() == strides[k] * to.shape[k] && strides[k] != 0)
        shape.back() *= to.shape[k], merged.back() = strides[k];
      else
        shape.push_back(to.shape[k]), merged.push_back(strides[k]);
    }
    const auto* src = t.dense<std::byte>(s);
    auto* out = t.new_dense<std::byte>(d);
    size_t head = shape.size() > 8 ? shape.size() - 8 : 0;  // outer dimensions by hand
    int64_t outer = 1, inner = 1;
    for (size_t k = 0; k < shape.size(); ++k) (k < head ? outer : inner) *= shape[k];
    for (int64_t o = 0; o < outer; ++o) {
      int64_t rest = o, offset = 0;
      for (size_t k = head; k-- > 0;) offset += rest % shape[k] * merged[k], rest /= shape[k];
      num::copy_view(out + o * inner * to.size, src + offset * to.size, shape.data() + head,
                     merged.data() + head, static_cast<int>(shape.size() - head), to.size);
    }
    return next(in);
  }
  Value made;
  made.form = v.form == Form::kDense ? Form::kView : v.form;
  made.base = v.form == Form::kDense ? 0 : v.base;
  if (v.form == Form::kBox) {
    bool empty = false;
    for (int k = 0; k < to.rank; ++k) {
      int f = r.from[k];
      bool repeated = f < 0 || from.shape[f] != to.shape[k];
      if (f >= 0 && repeated) empty |= v.box.lo[f] > 0 || v.box.hi[f] < 1;
      made.box.lo[k] = repeated ? 0 : v.box.lo[f];
      made.box.hi[k] = repeated ? static_cast<int32_t>(to.shape[k]) : v.box.hi[f];
    }
    // A dimension of size 1 that went away may have been the empty one.
    for (int f = 0; f < from.rank; ++f) empty |= v.box.lo[f] >= v.box.hi[f];
    if (empty) {
      t.set_uniform(d, 0);
      return next(in);
    }
  } else {
    const int64_t* strides = v.form == Form::kDense ? from.dense_strides.data() : v.stride;
    for (int k = 0; k < to.rank; ++k) {
      int f = r.from[k];
      made.stride[k] = f < 0 || from.shape[f] != to.shape[k] || to.shape[k] == 1 ? 0 : strides[f];
    }
  }
  if (made.form == Form::kView) {
    made.buffer = v.buffer;
    ++made.buffer->refs;
  }
  Value& out = t.set_form(d, made.form);
  out = made;
  return next(in);
}

// A reshape that moves elements between dimensions: row-major order stays, so a dense tile stays as it is.
void run_reshape(Task& t, const Instr& in) {
  Slot s = in.operand(0);
  if (t.is_uniform(s))
    t.set_uniform(in.result(), t.bits(s));
  else
    t.adopt(in.result(), t.elements(s));
}

void run_join(Task& t, const Instr& in) {
  const TileType& to = t.type(in.result());
  const void *a = t.dense(in.operand(0)), *b = t.dense(in.operand(1));
  auto* out = t.new_dense<std::byte>(in.result());
  num::copy_strided(out, 2, a, 1, to.n / 2, to.size);
  num::copy_strided(out + to.size, 2, b, 1, to.n / 2, to.size);
}

void run_split(Task& t, const Instr& in) {
  const TileType& from = t.type(in.operand(0));
  if (t.is_uniform(in.operand(0))) {
    int64_t bits = t.bits(in.operand(0));
    t.set_uniform(in.result(0), bits);
    t.set_uniform(in.result(1), bits);
    return;
  }
  const auto* src = t.dense<std::byte>(in.operand(0));
  for (uint32_t i = 0; i < 2; ++i) {
    Slot d = in.result(i);
    if (!t.type(d).is_tensor)
      t.set_uniform_from(d, src + i * from.size);
    else
      num::copy_strided(t.new_dense(d), 1, src + i * from.size, 2, from.n / 2, from.size);
  }
}

void run_cat(Task& t, const Instr& in) {
  const TileType &a = t.type(in.operand(0)), &b = t.type(in.operand(1));
  const void *pa = t.dense(in.operand(0)), *pb = t.dense(in.operand(1));
  auto* out = t.new_dense<std::byte>(in.result());
  std::memcpy(out, pa, a.bytes);
  std::memcpy(out + a.bytes, pb, b.bytes);
}

// tt.gather: out[.., i, ..] = src[.., index[.., i, ..], ..] along one axis.
const Instr* run_gather(Task& t, const Instr& in) {
  int64_t axis = in.as<int64_t>();
  Slot s = in.operand(0), x = in.operand(1);
  const TileType &from = t.type(s), &index = t.type(x), &to = t.type(in.result());
  const auto* src = t.dense<std::byte>(s);
  const auto* idx = t.dense<std::byte>(x);
  auto* out = t.new_dense<std::byte>(in.result());
  std::vector<int64_t> at(to.rank);
  for (int64_t i = 0; i < to.n; ++i) {
    int64_t k = num::sign_extend(num::load_bits(idx + i * index.size, index.element), index.element);
    if (k < 0 || k >= from.shape[axis])
      return t.trap(in, exec::TrapKind::kOutOfBounds,
                    "index " + std::to_string(k) + " is not in 0 .. " + std::to_string(from.shape[axis] - 1),
                    at);
    int64_t offset = k * from.dense_strides[axis];
    for (int d = 0; d < to.rank; ++d)
      if (d != axis) offset += at[d] * from.dense_strides[d];
    std::memcpy(out + i * to.size, src + offset * to.size, to.size);
    next_index(at, to.shape);
  }
  return next(in);
}

void run_histogram(Task& t, const Instr& in) {
  Slot s = in.operand(0);
  const TileType &from = t.type(s), &to = t.type(in.result());
  const auto* src = t.dense<std::byte>(s);
  const auto* mask = in.num_operands > 1 ? t.dense<uint8_t>(in.operand(1)) : nullptr;
  auto* out = t.new_dense<std::byte>(in.result());
  std::memset(out, 0, to.bytes);
  for (int64_t i = 0; i < from.n; ++i) {
    if (mask && !mask[i]) continue;
    int64_t bin = num::sign_extend(num::load_bits(src + i * from.size, from.element), from.element);
    if (bin < 0 || bin >= to.n) continue;  // Triton leaves it undefined; no bin counts it
    std::byte* p = out + bin * to.size;
    num::store_bits(p, to.element, num::load_bits(p, to.element) + 1);
  }
}

}  // namespace

void lower_program_id(Lowering& l, const ir::Op& op) { l.emit<run_program_id>(op, l.number(op, "axis")); }
std::optional<int64_t> fold_program_id(Folder& f, const ir::Op& op) {
  const auto axis = static_cast<size_t>(op.int_attr("axis", 0)) % 3;
  if (f.grid[axis] == 1) return 0;
  if (f.program == Folder::kAnyProgram) return std::nullopt;
  const int64_t before = (axis > 0 ? f.grid[0] : 1) * (axis > 1 ? f.grid[1] : 1);
  return f.program / before % f.grid[axis];
}
void lower_num_programs(Lowering& l, const ir::Op& op) { l.emit<run_num_programs>(op, l.number(op, "axis")); }
std::optional<int64_t> fold_num_programs(Folder& f, const ir::Op& op) {
  return f.grid[static_cast<size_t>(op.int_attr("axis", 0)) % 3];
}
void lower_make_range(Lowering& l, const ir::Op& op) { l.emit<run_make_range>(op, l.number(op, "start")); }

void lower_constant(Lowering& l, const ir::Op& op) {
  const ir::Attr* value = op.attr("value");
  Slot s = l.slot(op.result());
  const TileType& ty = *l.type_of(s);
  if (!value || ty.size == 0)
    return l.fail(op, "a constant of type " + std::string(op.result()->type->text) + " is not supported");
  auto bits_of = [&](uint64_t raw) {
    if (num::is_integer(ty.element))
      return ty.element == num::Type::kI1 ? static_cast<int64_t>(raw & 1) : num::sign_extend(raw, ty.element);
    return static_cast<int64_t>(raw);
  };
  switch (value->kind) {
    case ir::AttrKind::kBool:
    case ir::AttrKind::kInteger:
      return l.set_constant(s, bits_of(static_cast<uint64_t>(value->integer)));
    case ir::AttrKind::kFloat:
      return l.set_constant(s, bits_of(value->bits));
    case ir::AttrKind::kDenseElements: {
      if (value->splat || value->raw.size() == 1) return l.set_constant(s, bits_of(value->raw[0]));
      if (static_cast<int64_t>(value->raw.size()) != ty.n) break;
      auto* data = l.make<std::vector<std::byte>>();
      data->resize(ty.bytes);
      for (int64_t i = 0; i < ty.n; ++i)
        num::store_bits(data->data() + i * ty.size, ty.element, value->raw[i]);
      l.emit<run_dense_constant>(op, data);
      return;
    }
    default:
      break;
  }
  l.fail(op, "the constant's value is not understood");
}

// An instruction and no constant: checks see where an undefined value comes from.
std::optional<int64_t> fold_constant(Folder&, const ir::Op& op) {
  const ir::Attr* value = op.attr("value");
  if (!value || (value->kind != ir::AttrKind::kInteger && value->kind != ir::AttrKind::kBool)) return {};
  return held(value->integer, *op.result()->type);
}

void lower_poison(Lowering& l, const ir::Op& op) {
  if (op.result()->type->kind == ir::TypeKind::kToken) return;  // tokens order copies, and have no value
  if (l.type_of(op.result())->size == 0) return l.fail(op, "poison of this type is not supported");
  l.emit(run_zero, op);
}
void shadow_poison(ShadowRule& r) { r.undefined("its value is undefined"); }

// The same elements under another type or layout.
void lower_same(Lowering& l, const ir::Op& op) { l.emit(run_copy, op); }
// The compiler brings that of a buffer to where the buffer was made.
void lower_require_layout(Lowering& l, const ir::Op& op) {
  if (op.operand(0)->type->kind == ir::TypeKind::kMemDesc)
    return l.fail(op, "the layout of this buffer is not settled yet", {"the kernel runs from TTGIR on"});
  lower_same(l, op);
}

void lower_splat(Lowering& l, const ir::Op& op) { l.fusible(l.emit<run_splat>(op), Fusion::kSplat); }
void lower_unsplat(Lowering& l, const ir::Op& op) { l.emit<run_unsplat>(op); }

void lower_expand_dims(Lowering& l, const ir::Op& op) {
  int axis = static_cast<int>(op.int_attr("axis", 0));
  auto* r = l.make<Rearrange>();
  r->keeps_order = true;
  int rank = l.type_of(op.result())->rank;
  for (int k = 0, f = 0; k < rank; ++k) r->from.push_back(k == axis ? -1 : f++);
  l.emit<run_rearrange>(op, r);
}

void lower_broadcast(Lowering& l, const ir::Op& op) {
  const TileType &from = *l.type_of(op.operand(0)), &to = *l.type_of(op.result());
  auto* r = l.make<Rearrange>();
  r->keeps_order = from.shape == to.shape;
  for (int k = 0; k < to.rank; ++k) r->from.push_back(k);
  l.emit<run_rearrange>(op, r);
}

void lower_memdesc_trans(Lowering& l, const ir::Op& op);
void lower_memdesc_reshape(Lowering& l, const ir::Op& op);

void lower_trans(Lowering& l, const ir::Op& op) {
  if (op.operand(0)->type->kind == ir::TypeKind::kMemDesc) return lower_memdesc_trans(l, op);  // 3.0, 3.1
  const ir::Attr* order = op.attr("order");
  const TileType& to = *l.type_of(op.result());
  auto* r = l.make<Rearrange>();
  r->keeps_order = true;
  for (int k = 0; k < to.rank; ++k) {
    // Before `order` existed (3.0), trans swapped the two dimensions.
    int from = order && static_cast<int>(order->raw.size()) == to.rank ? static_cast<int>(order->raw[k])
                                                                       : to.rank - 1 - k;
    r->keeps_order &= from == k;
    r->from.push_back(from);
  }
  l.emit<run_rearrange>(op, r);
}

void lower_reshape(Lowering& l, const ir::Op& op) {
  if (op.operand(0)->type->kind == ir::TypeKind::kMemDesc) return lower_memdesc_reshape(l, op);
  const TileType &from = *l.type_of(op.operand(0)), &to = *l.type_of(op.result());
  // Dimensions of size 1 come and go: the forms survive.
  auto* r = l.make<Rearrange>();
  r->keeps_order = true;
  int f = 0;
  bool only_ones = true;
  for (int k = 0; k < to.rank; ++k) {
    while (f < from.rank && from.shape[f] == 1 && to.shape[k] != 1) ++f;
    if (f < from.rank && from.shape[f] == to.shape[k]) {
      r->from.push_back(f++);
    } else {
      only_ones &= to.shape[k] == 1;
      r->from.push_back(-1);
    }
  }
  for (; f < from.rank; ++f) only_ones &= from.shape[f] == 1;
  if (only_ones)
    l.emit<run_rearrange>(op, r);
  else
    l.emit<run_reshape>(op);
}

void lower_join(Lowering& l, const ir::Op& op) { l.emit<run_join>(op); }
void lower_split(Lowering& l, const ir::Op& op) { l.emit<run_split>(op); }
void lower_cat(Lowering& l, const ir::Op& op) { l.emit<run_cat>(op); }
void lower_gather(Lowering& l, const ir::Op& op) { l.emit(run_gather, op, l.number(op, "axis")); }
void shadow_gather(ShadowRule& r) { r.moved(1); }
void lower_histogram(Lowering& l, const ir::Op& op) { l.emit<run_histogram>(op); }

}  // namespace triton_runner::tile
