// Lowers tcgen05 products of block-scaled operands: operands are widened to f32 times their scales, then
// summed as any product.
#include <cstring>
#include <utility>

#include "lowering.h"
#include "machine/nvidia.h"
#include "machine/shared_state.h"
#include "ops/dot.h"

namespace triton_runner::tile {
namespace {

struct MmaSide {
  ScaledSide scaled;
  int operand, scale;
  const MemPlan *plan, *scale_plan;
  bool apart;  // fp4 padded in tensor memory: each in a byte of its own, in bits 2 to 5
};

struct ScaledMma : Gen5 {
  MmaSide a, b;
};

// The elements of a side in the memory of `block`, times the scales that `scaler` has of them, from row `first_row` on.
void widen(Task& t, const Instr& in, const MmaSide& s, Program& block, Program& scaler, int64_t first_row,
           float* out) {
  BufferPool& pool = *t.worker->pool;
  Buffer *data = SharedState::of(block).read_planned(*s.plan, mem_desc(t, in.operand(s.operand))),
         *scales = SharedState::of(scaler).read_planned(*s.scale_plan, mem_desc(t, in.operand(s.scale)));
  if (s.apart) {
    Buffer* pairs = pool.allocate(s.plan->bytes() / 2);
    for (int64_t i = 0; i < s.plan->bytes() / 2; i++) {
      const auto low = static_cast<uint8_t>(data->data()[2 * i]),
                 high = static_cast<uint8_t>(data->data()[2 * i + 1]);
      pairs->data()[i] = static_cast<std::byte>((low >> 2 & 0xf) | (high << 2 & 0xf0));
    }
    pool.release(std::exchange(data, pairs));
  }
  widen_scaled(s.scaled, data->data(), scales->data() + first_row * (s.scaled.k / s.scaled.group), out);
  pool.release(data);
  pool.release(scales);
}

// As for other products of pairs; each block has all scales of b.
void accumulate(Task& t, const Instr& in, const ScaledMma& g, Program& block,
                std::span<Program* const> blocks) {
  BufferPool& pool = *t.worker->pool;
  SharedState& state = SharedState::of(block);
  const int64_t columns = g.n / static_cast<int64_t>(blocks.size());
  Buffer *a = pool.allocate(g.m * g.k * 4), *b = pool.allocate(g.k * columns * 4);
  widen(t, in, g.a, block, block, 0, reinterpret_cast<float*>(a->data()));
  const MemDesc d = mem_desc(t, in.operand(g.d_operand));
  const bool keep = t.bits(in.operand(g.use_d)) != 0;
  Buffer* c = keep ? state.take(*g.d, d) : pool.allocate(g.d->bytes());
  if (!keep) std::memset(c->data(), 0, g.d->bytes());
  for (size_t part = 0; part < blocks.size(); part++) {
    const auto first = static_cast<int64_t>(part) * columns;
    widen(t, in, g.b, *blocks[part], block, first, reinterpret_cast<float*>(b->data()));
    multiply_accumulate(t, c->data() + first * static_cast<int64_t>(num::size_of(g.result)), g.n, g.result,
                        {a->data(), num::Type::kF32, g.k, 1}, {b->data(), num::Type::kF32, columns, 1}, g.m,
                        columns, g.k);
  }
  state.write(*g.d, d, c);
  for (Buffer* buffer : {a, b}) pool.release(buffer);
}

const Instr* run_tc_gen5_mma_scaled(Task& t, const Instr& in, const ScaledMma& g) {
  if (t.bits(in.operand(g.pred)) == 0) return next(in);
  const TensorBlocks blocks(t);
  for (Program* block : blocks.all()) accumulate(t, in, g, *block, blocks.all());
  return arrive_all(t, in, g.barriers, blocks.all()) ? next(in) : nullptr;
}

// `rows` of scales: the hardware takes them where the layout of such a tile has them, whatever shape the buffer has.
const MemView* scale_view(Lowering& l, const ir::Op& op, const MemView& scales, int64_t rows) {
  if (scales.shape.size() != 2 || !scales.leading.empty() || scales.n() % rows != 0) return nullptr;
  if (scales.shape[0] == rows) return &scales;
  return reshaped(l, op, scales, {rows, scales.n() / rows});
}

bool side(Lowering& l, const ir::Op& op, ir::GroupName group, ir::GroupName scale_group, const char* type,
          bool is_b, int64_t outer, int64_t blocks, MmaSide& s) {
  const auto element = scaled_element(op.attr(type));
  const MemView *data = mem_view(l, *op.operand_of(group), op),
                *scales = mem_view(l, *op.operand_of(scale_group), op);
  if (!data || !scales) return false;
  const bool fp4 = element == num::Type::kF4E2M1FN;
  const auto fail = [&] { return l.fail(op, "these block-scaled operands are not supported"), false; };
  if (!element || num::size_of(*element) != 1 || data->shape.size() != 2 || data->size != 1 ||
      scales->size != 1)
    return fail();
  const int64_t stored_outer = data->shape[is_b ? 1 : 0], stored_k = data->shape[is_b ? 0 : 1];
  const bool packed_k = !fp4 || stored_outer == outer;
  if (stored_outer * (packed_k ? 1 : 2) != outer) return fail();
  s.scaled = {*element, packed_k, is_b, outer, stored_k * (fp4 && packed_k ? 2 : 1), 0, scales->element, 0};
  scales = scale_view(l, op, *scales, outer * blocks);
  if (!scales || s.scaled.k % scales->shape[1] != 0) return fail();
  s.scaled.group = s.scaled.k / scales->shape[1];
  s.operand = Lowering::operand_index(op, group);
  s.scale = Lowering::operand_index(op, scale_group);
  s.apart = fp4 && data->tensor_memory && data->encoding.fp4_padded;
  if (s.apart && !packed_k) return fail();
  if (s.apart) {
    MemView bytes = *data;
    bytes.shape[1] *= 2;
    bytes.place[1].insert(bytes.place[1].begin(), 1);
    s.plan = l.make<MemPlan>(bytes);
  } else {
    s.plan = l.make<MemPlan>(*data);
  }
  s.scale_plan = l.make<MemPlan>(*scales);
  return true;
}

}  // namespace

void lower_tc_gen5_mma_scaled(Lowering& l, const ir::Op& op) {
  auto* g = l.make<ScaledMma>();
  const MemView* d = mem_view(l, *op.operand_of("d"), op);
  if (!d) return;
  if (!d->leading.empty() || d->shape.size() != 2) return l.fail(op, "an accumulator of rank 2 is expected");
  g->m = d->shape[0];
  g->n = d->shape[1];
  const int64_t blocks = are_paired(l.code()) ? 2 : 1;
  if (!side(l, op, "a", "a_scale", "a_type", false, g->m, 1, g->a) ||
      !side(l, op, "b", "b_scale", "b_type", true, g->n / blocks, blocks, g->b))
    return;
  g->k = g->a.scaled.k;
  if (g->b.scaled.k != g->k) return l.fail(op, "operands whose shapes do not match");
  g->d = l.make<MemPlan>(*d);
  g->result = d->element;
  if (!dot_types_ok(num::Type::kF32, num::Type::kF32, g->result))
    return l.fail(op, "an accumulator of " + std::string(num::type_name(g->result)) + " is not supported");
  find_operands(l, op, *g);
  l.emit<run_tc_gen5_mma_scaled>(op, {}, slots_of(l, op.operand_uses), g);
}

}  // namespace triton_runner::tile
