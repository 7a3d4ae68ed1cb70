// Lowers tt.dot and tt.dot_scaled: operands are read where they lie, num/dot.h multiplies them. f32 in parts
// is in dot_split.cpp.
#include "ops/dot.h"

#include <bit>
#include <cstring>

#include <triton_runner/base/look_up.h>
#include <triton_runner/layout/encoding.h>
#include <triton_runner/num/convert.h>
#include <triton_runner/num/kernels.h>

#include <triton_runner/tile/encoding.h>

#include "ops/memory.h"
#include "ops/tensor_product.h"

namespace triton_runner::tile {

num::MatrixView matrix_view(Task& t, Slot tile, num::Type as, int64_t batch) {
  const TileType& ty = t.type(tile);
  int rows = ty.rank - 2, cols = ty.rank - 1;
  const Value& v = t.value(tile);
  if (v.form == Form::kView) {
    int64_t offset = v.base + (rows > 0 ? batch * v.stride[0] : 0);
    return {v.buffer->data() + offset * ty.size, as, v.stride[rows], v.stride[cols]};
  }
  const auto* data = t.dense<std::byte>(tile);
  return {data + (rows > 0 ? batch * ty.dense_strides[0] * ty.size : 0), as, ty.dense_strides[rows], 1};
}

num::Type dot_operand_type(num::Type element, ir::InputPrecision precision) {
  return element == num::Type::kF32 && precision == ir::InputPrecision::kTf32 ? num::Type::kTF32 : element;
}

void* dot_accumulator(Task& t, const Instr& in, uint32_t c_operand, bool keep) {
  Slot c = in.operand(c_operand), r = in.result();
  const TileType& ty = t.type(r);
  bool read = c == r;  // it may be a factor of its own
  for (uint32_t i = 0; i < in.num_operands; ++i) read |= i != c_operand && in.operand(i) == c;
  if (std::byte* own = in.kills_operand(c_operand) && !read ? t.take_over(r, c) : nullptr) {
    if (!keep) std::memset(own, 0, ty.bytes);
    return own;
  }
  if (!keep || t.is_uniform(c)) {
    uint64_t bits = keep ? static_cast<uint64_t>(t.bits(c)) : 0;
    void* out = t.new_dense(r);
    num::fill(out, bits, ty.n, ty.size);
    return out;
  }
  const void* from = t.dense(c);
  void* out = t.new_dense(r);
  std::memcpy(out, from, ty.bytes);
  return out;
}

void multiply_accumulate(Task& t, void* c, int64_t ldc, num::Type c_type, num::MatrixView a,
                         num::MatrixView b, int64_t m, int64_t n, int64_t k, num::DotStart start,
                         const num::Ahead* ahead) {
  switch (c_type) {
    case num::Type::kF32: {
      const auto of_copies = std::exchange(t.worker->foreseen, {});
      if (t.worker->launch->options->mma == exec::Mma::kFast &&
          num::dot_bf16_fast(static_cast<float*>(c), ldc, a, b, m, n, k, start))
        return;
      if (!ahead && (of_copies[0].rows || of_copies[1].rows)) ahead = of_copies.data();
      return num::dot_f32(static_cast<float*>(c), ldc, a, b, m, n, k, start, ahead);
    }
    case num::Type::kF16:
      return num::dot_f16(static_cast<uint16_t*>(c), ldc, a, b, m, n, k);
    case num::Type::kF64:
      return num::dot_f64(static_cast<double*>(c), ldc, a, b, m, n, k);
    default:
      return num::dot_i32(static_cast<int32_t*>(c), ldc, a, b, m, n, k);
  }
}

namespace {

struct DotData {
  num::Type a, b, c;
  int64_t batches, m, n, k;
  int rank;                              // of the operands; 3 with a batch dimension, even of one
  int64_t scale = kNoSlot;               // operand: what the accumulator is multiplied by, a repeated column
  std::optional<TensorProduct> exact{};  // as the tensor core adds
};

// The accumulator of a dot, and what its sums start from.
class Accumulator {
 public:
  Accumulator(Task& t, const Instr& in, const DotData& d) {
    const Slot c = in.operand(2), r = in.result();
    const bool anywhere = d.c == num::Type::kF32 && !d.exact;
    if (d.scale != kNoSlot) {
      open_scaled(t, in, in.operand(static_cast<uint32_t>(d.scale)), anywhere);
    } else if (anywhere && t.is_uniform(c)) {
      value_ = std::bit_cast<float>(static_cast<uint32_t>(t.bits(c)));
      start_.value = &value_;
      data_ = t.new_dense<std::byte>(r);
    } else {
      data_ = static_cast<std::byte*>(dot_accumulator(t, in, 2));
    }
  }
  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;

  std::byte* data() const { return data_; }
  const num::DotStart& start() const { return start_; }

 private:
  void open_scaled(Task& t, const Instr& in, Slot column, bool anywhere) {
    const Value& v = t.value(column);
    if (anywhere && v.form == Form::kUniform) {
      value_ = std::bit_cast<float>(static_cast<uint32_t>(v.bits));
      start_.scale = &value_;
    } else if (anywhere && v.form == Form::kView && v.stride[1] == 0) {
      start_.scale = reinterpret_cast<const float*>(v.buffer->data()) + v.base;
      start_.scale_step = v.stride[0];
    } else {
      const void* factor = t.dense(column);
      data_ = static_cast<std::byte*>(dot_accumulator(t, in, 2));
      const void* operands[] = {data_, factor};
      num::elementwise_mulf.kernel(num::Type::kF32, num::Type::kF32)
          .run(data_, operands, 0, t.type(column).n);
      return;
    }
    data_ = static_cast<std::byte*>(dot_accumulator(t, in, 2));
  }

  std::byte* data_;
  num::DotStart start_;
  float value_;
};

void run_dot(Task& t, const Instr& in, const DotData& d) {
  num::MatrixView a = matrix_view(t, in.operand(0), d.a), b = matrix_view(t, in.operand(1), d.b);
  const Accumulator c(t, in, d);
  int64_t matrix_bytes = d.m * d.n * t.type(in.result()).size;
  for (int64_t i = 0; i < d.batches; ++i) {
    if (i) a = matrix_view(t, in.operand(0), d.a, i), b = matrix_view(t, in.operand(1), d.b, i);
    if (d.exact)
      multiply(*d.exact, c.data() + i * matrix_bytes, d.n, d.c, a, b, d.m, d.n, d.k);
    else
      multiply_accumulate(t, c.data() + i * matrix_bytes, d.n, d.c, a, b, d.m, d.n, d.k, c.start());
  }
}

// ---- dots that load their operands (fuse.cpp)

// Operands 0, 1 and 2 are those of the dot, with pointers for what is loaded. The loaded tile is a further
// result, which is set only where the load is not one block of memory.
struct LoadedSide {
  uint32_t side = 0;
  Instr load{};
  uint32_t result = 0;
  int64_t mask = kNoSlot, other = kNoSlot;  // operands
};
struct LoadedDot {
  DotData dot;
  int num_loads = 0;
  LoadedSide loads[2];  // in their order
};

// Arrays of so many bytes are in the second-level cache after the first programs.
constexpr uint64_t kNearArrayBytes = 256 << 10;

// The block that comes next in a loop, if it is as far off as this one is from
// the one before: it is on its way to the cache while this one is multiplied.
// `last`, whose value nobody wants, remembers where that was.
num::Ahead next_block(Task& t, Slot last, const Block& b, int64_t size) {
  const exec::Allocation* array = t.worker->memory.known(b.address, static_cast<uint64_t>(size));
  if (!array || array->bytes <= kNearArrayBytes) return {};
  Value& before = t.value(last);
  int64_t step = 0;
  bool steady = false;
  if (before.form == Form::kUniform) {
    step = static_cast<int64_t>(b.address) - before.bits;
    steady = step == before.stride[0] && step != 0;
  }
  t.set_uniform(last, static_cast<int64_t>(b.address));
  before.stride[0] = step;
  const int along = b.stride[1] == size ? 1 : 0;
  if (!steady || b.stride[along] != size) return {};
  return {b.address + static_cast<uint64_t>(step), b.count[1 - along], b.stride[1 - along],
          b.count[along] * size};
}

// The block that a load reads, if it is a whole matrix of memory.
bool whole_block(Task& t, Slot pointers, int64_t mask, const TileType& type, Block* block) {
  if (mask != kNoSlot && t.is_uniform(static_cast<Slot>(mask)) && t.bits(static_cast<Slot>(mask)))
    mask = kNoSlot;
  MaskBox box;
  return find_block(t, pointers, mask, type, false, block, &box) && block->count[0] == type.shape[0] &&
         block->count[1] == type.shape[1];
}

// For products that do not fetch on their way.
void fetch_now(const num::Ahead& a) {
  constexpr int64_t kLine = 64;
  for (int64_t r = 0; r < a.rows; ++r) {
    const uint64_t row = a.address + static_cast<uint64_t>(r * a.stride);
    for (int64_t at = 0; at < a.bytes; at += kLine)
      __builtin_prefetch(reinterpret_cast<const void*>(row + static_cast<uint64_t>(at)));
  }
}

// The matrix as it lies in global memory, or loaded. False: it trapped.
bool load_matrix(Task& t, const Instr& in, const LoadedSide& l, num::Type as, num::MatrixView& view,
                 num::Ahead& next) {
  const Slot tile = in.result(l.result), ptr = in.operand(l.side);
  const TileType& type = t.type(tile);
  const int64_t mask = slot_at(in, l.mask);
  Block block;
  // Others are packed anyway; f32 and f64 are used as they lie, for which rows far apart are slow.
  const bool packed = as != num::Type::kF32 && as != num::Type::kF64;
  if (packed && whole_block(t, ptr, mask, type, &block)) {
    view = {reinterpret_cast<const void*>(block.address), as, block.stride[0] / type.size,
            block.stride[1] / type.size};
    next = next_block(t, tile, block, type.size);
    return true;
  }
  if (!load_tile(t, l.load, tile, ptr, mask, slot_at(in, l.other))) return false;
  view = matrix_view(t, tile, as);
  return true;
}

const Instr* run_loaded_dot(Task& t, const Instr& in, const LoadedDot& d) {
  num::MatrixView view[2];
  num::Ahead next_blocks[2];
  bool loaded[2] = {false, false};
  for (int i = 0; i < d.num_loads; ++i) {
    const LoadedSide& l = d.loads[i];
    if (!load_matrix(t, in, l, l.side ? d.dot.b : d.dot.a, view[l.side], next_blocks[l.side])) return nullptr;
    loaded[l.side] = true;
  }
  for (uint32_t side = 0; side < 2; ++side)
    if (!loaded[side]) view[side] = matrix_view(t, in.operand(side), side ? d.dot.b : d.dot.a);
  const Accumulator c(t, in, d.dot);
  const bool on_the_way = d.dot.c == num::Type::kF32 && t.worker->launch->options->mma == exec::Mma::kExact;
  const bool any = next_blocks[0].rows > 0 || next_blocks[1].rows > 0;
  if (!on_the_way) fetch_now(next_blocks[0]), fetch_now(next_blocks[1]);
  multiply_accumulate(t, c.data(), d.dot.n, d.dot.c, view[0], view[1], d.dot.m, d.dot.n, d.dot.k, c.start(),
                      on_the_way && any ? next_blocks : nullptr);
  for (int i = 0; i < d.num_loads; ++i) {
    const Slot tile = in.result(d.loads[i].result);
    if (t.value(tile).buffer) t.forget(tile);  // else it remembers where the block was
  }
  return next(in);
}

}  // namespace

void foresee_copy(Task& t, Slot tile, Slot pointers, int64_t mask, Slot last) {
  const TileType& type = t.type(tile);
  Block block;
  if (type.rank != 2 || !whole_block(t, pointers, mask, type, &block)) return;
  Worker& w = *t.worker;
  w.foreseen[0] = w.foreseen[1];
  w.foreseen[1] = next_block(t, last, block, type.size);
}

namespace {

// A dot that runs on FMA units (blocked layout: sm_75 and small shapes) does not round f32 operands.
bool on_fma_units(const ir::Op& op) {
  const ir::Attr* e = op.result()->type->encoding;
  return e && e->string.ends_with(".blocked");
}

}  // namespace

ir::InputPrecision input_precision(const ir::Op& op) {
  const bool is_dot = op.kind == ir::OpKind::kDot;
  if (is_dot && on_fma_units(op)) return ir::InputPrecision::kIeee;
  if (op.attr("inputPrecision")) return op.enum_attr<ir::InputPrecision>("inputPrecision");
  // Triton's own default: wgmma and tcgen05 of f32 are of tf32.
  return is_dot && op.int_attr("allowTF32", 0) == 0 ? ir::InputPrecision::kIeee : ir::InputPrecision::kTf32;
}

bool dot_types_ok(num::Type a, num::Type b, num::Type c) {
  using enum num::Type;
  if (c == kI32) return a == kI8 && b == kI8;
  if (!num::is_float(a) || !num::is_float(b)) return false;
  return c == kF64 || ((c == kF32 || c == kF16) && a != kF64 && b != kF64);
}

bool can_load_operands(const Instr& dot) {
  return (dot.run == handler<run_dot> && dot.as<DotData>().rank == 2) || dot.run == handler<run_loaded_dot>;
}

namespace {

// A product of matrices onto f32.
bool is_plain(const Instr& dot) {
  if (dot.run != handler<run_dot>) return false;
  const auto& d = dot.as<DotData>();
  return d.rank == 2 && d.c == num::Type::kF32;
}

}  // namespace

bool can_scale_accumulator(const Instr& dot) { return is_plain(dot) && dot.as<DotData>().scale == kNoSlot; }

void scale_accumulator(Lowering& l, Instr& dot, std::vector<Slot>& slots, Slot whole, Slot column) {
  auto* d = l.make<DotData>(dot.as<DotData>());
  d->scale = dot.num_operands++;
  slots[dot.num_results + 2] = whole;
  slots.push_back(column);
  dot.data = d;
}

namespace {

void run_widen(Task& t, const Instr& in) {
  const Slot from = in.operand(0), to = in.result();
  const TileType& ty = t.type(to);
  const num::MatrixView view = matrix_view(t, from, in.as<num::Type>());
  num::widen_matrix(t.new_dense<float>(to), view, ty.shape[0], ty.shape[1]);
}

}  // namespace

std::optional<num::Type> narrow_factor(const Instr& dot, uint32_t side) {
  if (!is_plain(dot)) return std::nullopt;
  const auto& d = dot.as<DotData>();
  const num::Type as = side ? d.b : d.a;
  if (as == num::Type::kF32 || as == num::Type::kBF16) return std::nullopt;
  return as;
}

Instr widening(Lowering& l, const Instr& dot, num::Type as) {
  Instr in{};
  in.run = handler<run_widen>;
  in.data = l.make<num::Type>(as);
  in.op = dot.op;
  in.num_results = in.num_operands = 1;
  return in;
}

void take_widened(Lowering& l, Instr& dot, std::vector<Slot>& slots, uint32_t side, Slot wide) {
  auto* d = l.make<DotData>(dot.as<DotData>());
  (side ? d->b : d->a) = num::Type::kF32;
  slots[dot.num_results + side] = wide;
  dot.data = d;
}

void load_operand(Lowering& l, Instr& dot, std::vector<Slot>& slots, uint32_t side, const Instr& load,
                  const std::vector<Slot>& load_slots) {
  auto* d = l.make<LoadedDot>();
  if (dot.run == handler<run_dot>)
    d->dot = dot.as<DotData>();
  else
    *d = dot.as<LoadedDot>();
  LoadedSide& into = d->loads[d->num_loads++];
  into.side = side;
  into.load = load;
  into.result = dot.num_results;
  slots.insert(slots.begin() + dot.num_results, load_slots[0]);
  ++dot.num_results;
  slots[dot.num_results + side] = load_slots[load.num_results];
  const auto& operands = load.as<LoadData>();
  auto add = [&](int64_t operand) {
    if (operand < 0) return kNoSlot;
    slots.push_back(load_slots[load.num_results + static_cast<size_t>(operand)]);
    return int64_t{dot.num_operands++};
  };
  into.mask = add(operands.mask);
  into.other = add(operands.other);
  dot.run = handler<run_loaded_dot>;
  dot.data = d;
}

// The product that mma.sync makes of it; none where the layouts say that no tensor core multiplies.
static std::optional<TensorProduct> product_of_layouts(Lowering& l, const ir::Op& op, const DotData& d) {
  const ir::Attr *result = op.result()->type->encoding, *a = op.operand(0)->type->encoding;
  const auto mma = result ? encoding_of(*result) : base::failure("");
  if (!mma || mma->kind != layout::EncodingKind::kNvidiaMma) return std::nullopt;
  const auto operand = a ? encoding_of(*a) : base::failure("");
  const int64_t width = operand && operand->kind == layout::EncodingKind::kDotOperand ? operand->k_width : 0;
  return tensor_product(l.hardware().capability, num::MmaUnit::kMma, d.a, d.b, d.c, d.k, width);
}

void lower_dot(Lowering& l, const ir::Op& op) {
  const TileType &a = *l.type_of(op.operand(0)), &b = *l.type_of(op.operand(1)), &c = *l.type_of(op.result());
  if (a.rank < 2 || a.rank > 3 || b.rank != a.rank || c.rank != a.rank)
    return l.fail(op, "tt.dot takes matrices (rank 2, or 3 with a batch dimension)");
  if (!dot_types_ok(a.element, b.element, c.element))
    return l.fail(op, "tt.dot of " + std::string(num::type_name(a.element)) + " and " +
                          std::string(num::type_name(b.element)) + " into " +
                          std::string(num::type_name(c.element)) + " is not supported");
  const ir::InputPrecision precision = input_precision(op);
  if (is_split(precision) && a.element == num::Type::kF32 && b.element == num::Type::kF32 &&
      c.element == num::Type::kF32)
    return lower_split_dot(l, op, precision);
  auto* d = l.make<DotData>();
  int r = a.rank - 2;
  *d = {dot_operand_type(a.element, precision),
        dot_operand_type(b.element, precision),
        c.element,
        r ? c.shape[0] : 1,
        c.shape[r],
        c.shape[r + 1],
        a.shape[r + 1],
        a.rank};
  if (l.hardware().on) d->exact = product_of_layouts(l, op, *d);
  l.emit<run_dot>(op, d);
}

// A row of a and a column of b.
void shadow_dot(ShadowRule& r) {
  const TileType &a = r.t.type(r.in.operand(0)), &b = r.t.type(r.in.operand(1));
  const int64_t m = a.shape[a.rank - 2], k = a.shape[a.rank - 1], n = b.shape[b.rank - 1],
                batch = a.n / (m * k);
  const Lanes la = r.lanes(0), lb = r.lanes(1), lc = r.lanes(2);
  std::vector<uint8_t> rows(batch * m), columns(batch * n);
  for (int64_t i = 0; i < a.n; ++i)
    if (la.marked(i)) rows[i / k] = 1;
  for (int64_t i = 0; i < b.n; ++i)
    if (lb.marked(i)) columns[i / (k * n) * n + i % n] = 1;
  r.results([&](int64_t e) { return lc.marked(e) || rows[e / n] || columns[e / (m * n) * n + e % n]; });
}

namespace {

struct ScaledData {
  ScaledSide a, b;  // of one batch
  int64_t batches;
};

float scale_value(const std::byte* p, num::Type type) {
  auto bits = static_cast<uint8_t>(*p);
  if (type == num::Type::kF8E4M3FN) return static_cast<float>(num::to_double(bits, type));
  return static_cast<float>(num::to_double(bits, num::Type::kF8E8M0FNU));
}

}  // namespace

void widen_scaled(const ScaledSide& s, const void* data, const std::byte* scales, float* out) {
  int64_t n = s.outer * s.k;
  if (s.element == num::Type::kF4E2M1FN) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    bool along_rows = s.packed_k == s.k_first;  // the packed dimension is the first one of the tile
    if (!along_rows) {
      num::unpack_f4(out, num::Type::kF32, bytes, n / 2);
    } else {
      int64_t rows = (s.k_first ? s.k : s.outer) / 2, cols = s.k_first ? s.outer : s.k;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) {
          float two[2];
          num::unpack_f4(two, num::Type::kF32, bytes + r * cols + c, 1);
          out[2 * r * cols + c] = two[0];
          out[(2 * r + 1) * cols + c] = two[1];
        }
    }
  } else {
    num::convert(out, num::Type::kF32, data, s.element, n);
  }
  if (!scales) return;
  int64_t groups = s.k / s.group, step = s.k_first ? s.outer : 1;
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t g = 0; g < groups; ++g) {
      float f = scale_value(scales + o * groups + g, s.scale_type);
      float* p = s.k_first ? out + g * s.group * s.outer + o : out + o * s.k + g * s.group;
      for (int64_t i = 0; i < s.group; ++i) p[i * step] *= f;
    }
}

namespace {

void widen_side(Task& t, const Instr& in, const ScaledSide& s, uint32_t operand, int64_t batch,
                int64_t batches, float* out) {
  auto part = [&](uint32_t i) {
    const Slot slot = in.operand(i);
    return t.dense<std::byte>(slot) + batch * (t.type(slot).bytes / batches);
  };
  widen_scaled(s, part(operand), s.scale < 0 ? nullptr : part(static_cast<uint32_t>(s.scale)), out);
}

void run_dot_scaled(Task& t, const Instr& in, const ScaledData& d) {
  BufferPool& pool = *t.worker->pool;
  int64_t m = d.a.outer, n = d.b.outer, k = d.a.k;
  Buffer *a = pool.allocate(m * k * 4), *b = pool.allocate(k * n * 4);
  void* c = dot_accumulator(t, in, 2);
  const TileType& result = t.type(in.result());
  for (int64_t i = 0; i < d.batches; ++i) {
    widen_side(t, in, d.a, 0, i, d.batches, reinterpret_cast<float*>(a->data()));
    widen_side(t, in, d.b, 1, i, d.batches, reinterpret_cast<float*>(b->data()));
    multiply_accumulate(t, static_cast<std::byte*>(c) + i * m * n * result.size, n, result.element,
                        {a->data(), num::Type::kF32, k, 1}, {b->data(), num::Type::kF32, n, 1}, m, n, k);
  }
  pool.release(a);
  pool.release(b);
}

}  // namespace

std::optional<num::Type> scaled_element(const ir::Attr* a) {
  if (!a) return std::nullopt;
  static constexpr std::pair<std::string_view, num::Type> kNames[] = {
      {"e4m3", num::Type::kF8E4M3FN}, {"e5m2", num::Type::kF8E5M2},   {"e2m3", num::Type::kF6E2M3FN},
      {"e3m2", num::Type::kF6E3M2FN}, {"e2m1", num::Type::kF4E2M1FN}, {"bf16", num::Type::kBF16},
      {"fp16", num::Type::kF16}};
  return base::look_up(kNames, std::string_view(a->string));
}

void lower_dot_scaled(Lowering& l, const ir::Op& op) {
  const TileType &a = *l.type_of(op.operand(0)), &b = *l.type_of(op.operand(1)), &c = *l.type_of(op.result());
  if ((c.rank != 2 && c.rank != 3) || a.rank != c.rank || b.rank != c.rank)
    return l.fail(op, "tt.dot_scaled takes matrices, or batches of them");
  auto* d = l.make<ScaledData>();
  const int row = c.rank - 2;
  d->batches = row ? c.shape[0] : 1;
  auto side = [&](ScaledSide& s, const TileType& ty, const char* element, const char* pack,
                  ir::GroupName scale_group, bool is_b) {
    auto e = scaled_element(op.attr(element));
    if (!e || num::size_of(*e) != ty.size) return false;
    s.element = *e;
    s.k_first = is_b;
    s.packed_k = op.attr(pack) ? op.int_attr(pack, 1) != 0 : true;
    s.outer = c.shape[row + is_b];
    const int64_t elements = ty.n * (*e == num::Type::kF4E2M1FN ? 2 : 1);
    s.k = elements / d->batches / s.outer;
    if (s.k * d->batches * s.outer != elements) return false;
    s.scale = Lowering::operand_index(op, scale_group);
    if (s.scale < 0) return true;
    const TileType& scales = *l.type_of(op.operand(s.scale));
    s.scale_type = scales.element;
    const int64_t groups = scales.n / d->batches / s.outer;
    if (groups == 0 || groups * d->batches * s.outer != scales.n || s.k % groups) return false;
    s.group = s.k / groups;
    return scales.size == 1;
  };
  if (!side(d->a, a, "a_elem_type", "lhs_k_pack", "a_scale", false) ||
      !side(d->b, b, "b_elem_type", "rhs_k_pack", "b_scale", true) || d->a.k != d->b.k ||
      !dot_types_ok(num::Type::kF32, num::Type::kF32, c.element))
    return l.fail(op, "these operands of tt.dot_scaled are not supported");
  l.emit<run_dot_scaled>(op, d);
}

}  // namespace triton_runner::tile
