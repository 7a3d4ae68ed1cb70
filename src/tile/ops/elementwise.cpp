// Maps a loop over tiles in whatever form they come, with as few elements computed and copied as their forms
// allow.
#include "ops/elementwise.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace triton_runner::tile {
namespace {

struct StridedOperand {
  const std::byte* data;       // of the element at index 0
  int64_t strides[kLazyRank];  // elements; all 0 for a uniform operand
  uint8_t size;
  bool uniform;
};

bool row_major(const int64_t* strides, const std::vector<int64_t>& shape) {
  int64_t expect = 1;
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
    if (shape[d] != 1 && strides[d] != expect) return false;
    expect *= shape[d];
  }
  return true;
}

// No dimension that all operands repeat: row by row, rows being runs in which each operand is contiguous
// or one element.
void map_rows(Task& t, const Instr& in, uint32_t r, uint32_t arity, const StridedOperand* ops, MapFn fn) {
  const TileType& ty = t.type(in.result(r));
  int last = ty.rank - 1;
  int64_t inner = ty.shape[last];
  const void* ptr[3];
  bool rows_help = inner >= 16;
  for (uint32_t i = 0; i < arity; ++i) rows_help &= ops[i].strides[last] <= 1 && ops[i].strides[last] >= 0;
  if (!rows_help) {
    uint32_t splat = 0;
    for (uint32_t i = 0; i < arity; ++i) {
      ptr[i] = ops[i].uniform ? ops[i].data : t.dense(in.operand(i));
      splat |= uint32_t{ops[i].uniform} << i;
    }
    void* out = t.output(in, r);
    return fn.run(fn.context, out, ptr, splat, ty.n);
  }
  uint32_t splat = 0;
  for (uint32_t i = 0; i < arity; ++i) splat |= uint32_t{ops[i].strides[last] == 0} << i;
  StridedOperand at[3];
  for (uint32_t i = 0; i < arity; ++i) at[i] = ops[i];
  auto* out = t.output<std::byte>(in, r);
  int64_t rows = ty.n / inner;
  int64_t index[kLazyRank] = {};
  for (int64_t row = 0; row < rows; ++row) {
    for (uint32_t i = 0; i < arity; ++i) ptr[i] = at[i].data;
    fn.run(fn.context, out + row * inner * ty.size, ptr, splat, inner);
    for (int d = last - 1; d >= 0; --d) {
      for (uint32_t i = 0; i < arity; ++i) at[i].data += at[i].strides[d] * at[i].size;
      if (++index[d] < ty.shape[d]) break;
      for (uint32_t i = 0; i < arity; ++i) at[i].data -= at[i].strides[d] * at[i].size * ty.shape[d];
      index[d] = 0;
    }
  }
}

void map_views(Task& t, const Instr& in, uint32_t r, uint32_t arity, MapFn fn) {
  const TileType& ty = t.type(in.result(r));
  StridedOperand ops[3];
  alignas(8) int64_t uniform[3];
  for (uint32_t i = 0; i < arity; ++i) {
    Slot s = in.operand(i);
    StridedOperand& o = ops[i];
    o.size = t.type(s).size;
    o.uniform = t.is_uniform(s);
    if (o.uniform) {
      uniform[i] = t.bits(s);
      o.data = reinterpret_cast<const std::byte*>(&uniform[i]);
      std::memset(o.strides, 0, sizeof o.strides);
      continue;
    }
    const Value* v = &t.value(s);
    if (v->form == Form::kView) {
      o.data = v->buffer->data() + v->base * o.size;
      std::memcpy(o.strides, v->stride, sizeof o.strides);
    } else {
      o.data = t.dense<std::byte>(s);
      for (int d = 0; d < ty.rank; ++d) o.strides[d] = ty.shape[d] == 1 ? 0 : ty.dense_strides[d];
    }
  }
  // Dimensions that every operand repeats are computed once.
  std::vector<int64_t>& compact = t.worker->compact_shape;
  compact = ty.shape;
  int64_t n = ty.n;
  for (int d = 0; d < ty.rank; ++d) {
    bool repeated = ty.shape[d] > 1;
    for (uint32_t i = 0; i < arity; ++i) repeated &= ops[i].strides[d] == 0;
    if (repeated) n /= ty.shape[d], compact[d] = 1;
  }
  if (n == ty.n) return map_rows(t, in, r, arity, ops, fn);
  const void* ptr[3];
  uint32_t splat = 0;
  for (uint32_t i = 0; i < arity; ++i) {
    splat |= uint32_t{ops[i].uniform} << i;
    if (!ops[i].uniform && !row_major(ops[i].strides, compact)) return map_rows(t, in, r, arity, ops, fn);
    ptr[i] = ops[i].data;
  }
  Slot result = in.result(r);
  Buffer* b = t.worker->pool->allocate(n * ty.size);
  fn.run(fn.context, b->data(), ptr, splat, n);
  Value& v = t.set_form(result, Form::kView);
  v.buffer = b;
  v.base = 0;
  int64_t stride = 1;
  for (int d = ty.rank - 1; d >= 0; --d) {
    v.stride[d] = compact[d] == 1 ? 0 : stride;
    stride *= compact[d];
  }
}

void run_kernel(const void* context, void* out, const void* const* in, uint32_t splat, int64_t n) {
  const num::Kernel& k = *static_cast<const num::Kernel*>(context);
  if (splat == 0)
    k.loop(out, in[0], in[1], in[2], n);
  else
    k.run(out, in, splat, n);
}

}  // namespace

void map_elements(Task& t, const Instr& in, uint32_t r, uint32_t arity, MapFn fn) {
  const TileType& ty = t.type(in.result(r));
  uint32_t splat = 0;
  bool views = false;
  for (uint32_t i = 0; i < arity; ++i) {
    Form f = t.value(in.operand(i)).form;
    splat |= uint32_t{f == Form::kUniform} << i;
    views |= f == Form::kView;
  }
  const void* ptr[3] = {nullptr, nullptr, nullptr};
  alignas(8) int64_t uniform[3];
  if (splat == (1u << arity) - 1) {
    alignas(8) std::byte element[8] = {};
    for (uint32_t i = 0; i < arity; ++i) uniform[i] = t.bits(in.operand(i)), ptr[i] = &uniform[i];
    fn.run(fn.context, element, ptr, 0, 1);
    return t.set_uniform_from(in.result(r), element);
  }
  if (views && ty.rank <= kLazyRank) return map_views(t, in, r, arity, fn);
  for (uint32_t i = 0; i < arity; ++i) {
    if (splat >> i & 1)
      uniform[i] = t.bits(in.operand(i)), ptr[i] = &uniform[i];
    else
      ptr[i] = t.dense(in.operand(i));
  }
  void* out = t.output(in, r);
  fn.run(fn.context, out, ptr, splat, ty.n);
}

const Instr* run_elementwise(Task& t, const Instr& in) {
  const auto& d = in.as<ElementwiseData>();
  map_elements(t, in, 0, d.kernel.arity, {run_kernel, &d.kernel});
  return next(in);
}

namespace {

template <class T>
void settle(std::byte* elements, int64_t n, T infinity, T nan) {
  auto* e = reinterpret_cast<T*>(elements);
  for (int64_t i = 0; i < n; ++i) e[i] = (e[i] & nan) > infinity ? nan : e[i];
}

}  // namespace

void settle_nans(std::byte* elements, num::Type type, int64_t n) {
  if (type == num::Type::kF32) settle<uint32_t>(elements, n, 0x7f800000u, 0x7fffffffu);
  if (type == num::Type::kF16) settle<uint16_t>(elements, n, 0x7c00u, 0x7fffu);
  if (type == num::Type::kBF16) settle<uint16_t>(elements, n, 0x7f80u, 0x7fffu);
}

const Instr* run_elementwise_as_target(Task& t, const Instr& in) {
  run_elementwise(t, in);
  const Slot r = in.result();
  const TileType& ty = t.type(r);
  Value& v = t.value(r);
  if (v.form == Form::kUniform) {
    alignas(8) std::byte element[8] = {};
    std::memcpy(element, &v.bits, ty.size);
    settle_nans(element, ty.element, 1);
    t.set_uniform_from(r, element);
    return next(in);
  }
  int64_t n = ty.n;
  for (int d = 0; v.form == Form::kView && d < ty.rank; ++d)
    if (v.stride[d] == 0) n /= ty.shape[static_cast<size_t>(d)];
  settle_nans(v.buffer->data(), ty.element, n);
  return next(in);
}

void lower_lazy(Lowering& l, const ir::Op& op, const num::Elementwise& f, Handler run, int64_t extra) {
  const TileType* in = l.type_of(op.operand(op.num_operands() - 1));
  const TileType* out = l.type_of(op.result());
  if (in->size == 0 || out->size == 0)
    return l.fail(
        op, "'" + std::string(op.name) + "' does not work on " + std::string(op.operand(0)->type->text));
  num::Kernel kernel = f.kernel(in->element, out->element);
  if (!kernel)
    return l.fail(
        op, "'" + std::string(op.name) + "' does not work on " + std::string(num::type_name(in->element)) +
                (in->element == out->element ? "" : " giving " + std::string(num::type_name(out->element))));
  size_t at = l.emit(run, op, l.make<ElementwiseData>(kernel, extra));
  l.fusible(at, run == run_elementwise ? Fusion::kMap : Fusion::kLazyMap);
}

// Returns whether the target's instruction makes NaNs of its own: what rounds does, choices between numbers,
// and cvt from f16 to f32, through which fp8 goes too. LLVM negates with integers and brings bf16 to f32 with
// them, and f16 to f32 to f64 are one conversion.
static bool settles_nans(Lowering& l, const ir::Op& op, const num::Elementwise& f) {
  if (&f == &num::elementwise_extf || &f == &num::elementwise_fp_to_fp_rtne) {
    const TileType& from = *l.type_of(op.operand(0));
    const ir::Use* use = op.result()->first_use;
    return from.size <= 2 && from.element != num::Type::kBF16 &&
           l.type_of(op.result())->element == num::Type::kF32 &&
           !(use && use->user->kind == ir::OpKind::kExtF && !use->next);
  }
  if (op.does(ir::Effect::kRounds)) return true;
  const num::Elementwise* const choices[] = {&num::elementwise_maxnumf,    &num::elementwise_minnumf,
                                             &num::elementwise_maximumf,   &num::elementwise_minimumf,
                                             &num::elementwise_clampf_all, &num::elementwise_clampf_none};
  return std::find(std::begin(choices), std::end(choices), &f) != std::end(choices);
}

void lower_elementwise(Lowering& l, const ir::Op& op, const num::Elementwise& f) {
  const bool as_target = l.hardware().on && settles_nans(l, op, f);
  lower_lazy(l, op, f, as_target ? run_elementwise_as_target : run_elementwise);
}

}  // namespace triton_runner::tile
