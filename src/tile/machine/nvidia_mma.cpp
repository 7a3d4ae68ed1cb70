// Lowers matrix products with operands in shared or tensor memory: wgmma (ttng.warp_group_dot) and tcgen05
// (ttng.tc_gen5_mma). Those with block scales are in nvidia_scaled.cpp.
//
// They are computed where they are issued; what is asynchronous about them is when barriers and waits say
// that they are done. Sums are one chain of fused multiply-adds in ascending K, as for tt.dot.
#include <cstring>

#include <triton_runner/num/dot.h>
#include <triton_runner/num/kernels.h>

#include "lowering.h"
#include "machine/nvidia.h"
#include "machine/shared_state.h"
#include "ops/dot.h"
#include "ops/tensor_product.h"

namespace triton_runner::tile {
namespace {

// A matrix that an instruction reads: a register tile, or a buffer in the arena.
struct MmaOperand {
  int index;            // operand
  const MemPlan* plan;  // null: a register tile
  num::Type type;
};

class MatrixReader {
 public:
  explicit MatrixReader(Task& t) : t_(t) {}
  ~MatrixReader() {
    for (int i = 0; i < count_; i++) t_.worker->pool->release(held_[i]);
  }
  num::MatrixView view(const Instr& in, const MmaOperand& o) { return view(in, o, *t_.program); }
  // The same in the memory of a block of the cluster.
  num::MatrixView view(const Instr& in, const MmaOperand& o, Program& block) {
    if (!o.plan) return matrix_view(t_, in.operand(o.index), o.type);
    const SharedElements e = SharedState::of(block).read(*o.plan, mem_desc(t_, in.operand(o.index)));
    held_[count_++] = e.buffer;
    return {e.data(), o.type, e.stride[0], e.stride[1]};
  }

 private:
  Task& t_;
  Buffer* held_[3];  // a, and b in as many parts as there are blocks
  int count_ = 0;
};

bool types_fit(Lowering& l, const ir::Op& op, num::Type a, num::Type b, num::Type c) {
  if (dot_types_ok(a, b, c)) return true;
  l.fail(op, "a product of " + std::string(num::type_name(a)) + " and " + std::string(num::type_name(b)) +
                 " into " + std::string(num::type_name(c)) + " is not supported");
  return false;
}

bool operand(Lowering& l, const ir::Op& op, ir::GroupName group, ir::InputPrecision precision,
             MmaOperand& out) {
  const ir::Value& v = *op.operand_of(group);
  out.index = Lowering::operand_index(op, group);
  out.plan = nullptr;
  if (v.type->kind == ir::TypeKind::kTensor) {
    out.type = dot_operand_type(l.type(v.type)->element, precision);
    return true;
  }
  const MemView* view = mem_view(l, v, op);
  if (!view) return false;
  if (!view->leading.empty() || view->shape.size() != 2)
    return l.fail(op, "matrix operands in memory have rank 2"), false;
  auto* plan = l.make<MemPlan>(*view, memory_order(*view));
  out.plan = plan;
  out.type = dot_operand_type(view->element, precision);
  return true;
}

// ---- wgmma

struct WarpGroupDot {
  MmaOperand a, b;
  int c, use_c;
  int64_t m, n, k;
  num::Type result;
  std::optional<TensorProduct> exact;  // as the tensor core adds
};

void run_warp_group_dot(Task& t, const Instr& in, const WarpGroupDot& d) {
  MatrixReader reader(t);
  const num::MatrixView a = reader.view(in, d.a), b = reader.view(in, d.b);
  const bool keep = d.use_c < 0 || t.bits(in.operand(d.use_c)) != 0;
  void* c = dot_accumulator(t, in, static_cast<uint32_t>(d.c), keep);
  if (d.exact)
    multiply(*d.exact, c, d.n, d.result, a, b, d.m, d.n, d.k);
  else
    multiply_accumulate(t, c, d.n, d.result, a, b, d.m, d.n, d.k);
}

void run_dot_wait(Task& t, const Instr& in) {
  for (uint32_t i = 0; i < in.num_results; i++) t.hand_on(in, i);
}

// ---- tcgen05

struct Gen5Mma : Gen5 {
  MmaOperand a, b;
  bool is_unsigned;
  std::optional<TensorProduct> exact;  // as the tensor core adds
};

// Bytes without a sign as i32, row by row.
num::MatrixView widened(BufferPool& pool, const num::MatrixView& m, int64_t rows, int64_t cols,
                        Buffer*& held) {
  held = pool.allocate(rows * cols * 4);
  auto* out = reinterpret_cast<int32_t*>(held->data());
  const auto* bytes = static_cast<const uint8_t*>(m.data);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++) *out++ = bytes[r * m.row_stride + c * m.col_stride];
  return {held->data(), num::Type::kI32, cols, 1};
}

// The accumulator of one block; b is in the memory of all, each of which has as many of its columns.
void accumulate(Task& t, const Instr& in, const Gen5Mma& g, Program& block,
                std::span<Program* const> blocks) {
  SharedState& state = SharedState::of(block);
  const MemDesc d = mem_desc(t, in.operand(g.d_operand));
  MatrixReader reader(t);
  const num::MatrixView a = reader.view(in, g.a, block);
  const bool keep = t.bits(in.operand(g.use_d)) != 0;
  BufferPool& pool = *t.worker->pool;
  Buffer* c = keep ? state.take(*g.d, d) : pool.allocate(g.d->bytes());
  if (!keep) std::memset(c->data(), 0, g.d->bytes());
  const int64_t columns = g.n / static_cast<int64_t>(blocks.size());
  std::byte* part = c->data();
  for (Program* of : blocks) {
    num::MatrixView left = a, right = reader.view(in, g.b, *of);
    Buffer* wide[2] = {};
    if (g.is_unsigned) {
      left = widened(pool, left, g.m, g.k, wide[0]);
      right = widened(pool, right, g.k, columns, wide[1]);
    }
    if (g.exact)
      multiply(*g.exact, part, g.n, g.result, left, right, g.m, columns, g.k);
    else
      multiply_accumulate(t, part, g.n, g.result, left, right, g.m, columns, g.k);
    for (Buffer* buffer : wide)
      if (buffer) pool.release(buffer);
    part += columns * static_cast<int64_t>(num::size_of(g.result));
  }
  state.write(*g.d, d, c);
}

const Instr* run_tc_gen5_mma(Task& t, const Instr& in, const Gen5Mma& g) {
  if (t.bits(in.operand(g.pred)) == 0) return next(in);
  const TensorBlocks blocks(t);
  for (Program* block : blocks.all()) accumulate(t, in, g, *block, blocks.all());
  return arrive_all(t, in, g.barriers, blocks.all()) ? next(in) : nullptr;
}

const Instr* run_store_token_wait(Task& t, const Instr& in) {
  SharedState::of(t).wait(t, 0, SharedState::kStores);
  Program* const own[] = {t.program};
  return arrive_all(t, in, in.as<Barriers>(), own) ? next(in) : nullptr;
}

const Instr* run_tc_gen5_commit(Task& t, const Instr& in, const Barriers& b) {
  return arrive_all(t, in, b, TensorBlocks(t).all()) ? next(in) : nullptr;
}

}  // namespace

void lower_warp_group_dot(Lowering& l, const ir::Op& op) {
  auto* d = l.make<WarpGroupDot>();
  const ir::InputPrecision precision = input_precision(op);
  if (!operand(l, op, "a", precision, d->a) || !operand(l, op, "b", precision, d->b)) return;
  const TileType* c = l.type(op.result()->type);
  const auto &a_shape = op.operand_of("a")->type->shape, &b_shape = op.operand_of("b")->type->shape;
  if (c->rank != 2 || a_shape.size() != 2 || b_shape.size() != 2)
    return l.fail(op, "a warp group dot of rank 2 is expected");
  d->c = Lowering::operand_index(op, "c");
  d->use_c = Lowering::operand_index(op, "use_c");
  d->m = c->shape[0];
  d->n = c->shape[1];
  d->k = a_shape[1];
  d->result = c->element;
  if (a_shape[0] != d->m || b_shape[0] != d->k || b_shape[1] != d->n)
    return l.fail(op, "operands whose shapes do not match");
  if (!types_fit(l, op, d->a.type, d->b.type, d->result)) return;
  if (l.hardware().on)
    d->exact = tensor_product(l.hardware().capability, num::MmaUnit::kWgmma, d->a.type, d->b.type, d->result,
                              d->k, 0, op.int_attr("maxNumImpreciseAcc", 0));
  l.emit<run_warp_group_dot>(op, d);
}

bool race_warp_group_dot(RaceRule& r) {
  RaceThread& product = r.beside();
  if (!r.reads(product, "a") || !r.reads(product, "b")) return false;
  if (r.in.op->is_async_dot())
    r.begin(RaceRule::Queue::kProducts, product);
  else
    r.order(product, r.task());
  return true;
}

void lower_warp_group_dot_wait(Lowering& l, const ir::Op& op) { l.emit<run_dot_wait>(op); }

void lower_tc_gen5_mma(Lowering& l, const ir::Op& op) {
  auto* g = l.make<Gen5Mma>();
  if (!operand(l, op, "a", ir::InputPrecision::kTf32, g->a) ||
      !operand(l, op, "b", ir::InputPrecision::kTf32, g->b))
    return;
  const MemView* d = mem_view(l, *op.operand_of("d"), op);
  if (!d) return;
  const auto &a = op.operand_of("a")->type->shape, &b = op.operand_of("b")->type->shape;
  if (!d->leading.empty() || d->shape.size() != 2 || a.size() != 2 || b.size() != 2 || a[0] != d->shape[0] ||
      b[1] * (are_paired(l.code()) ? 2 : 1) != d->shape[1] || a[1] != b[0])
    return l.fail(op, "operands whose shapes do not match");
  g->d = l.make<MemPlan>(*d);
  g->m = d->shape[0];
  g->n = d->shape[1];
  g->k = a[1];
  g->result = d->element;
  if (!types_fit(l, op, g->a.type, g->b.type, g->result)) return;
  g->is_unsigned = op.attr("is_unsigned") && g->result == num::Type::kI32;
  if (l.hardware().on)
    g->exact = tensor_product(l.hardware().capability, num::MmaUnit::kTcgen05, g->a.type, g->b.type,
                              g->result, g->k);
  find_operands(l, op, *g);
  l.emit<run_tc_gen5_mma>(op, {}, slots_of(l, op.operand_uses), g);
}

bool race_tc_gen5_mma(RaceRule& r) {
  if (!r.on() || r.blocks().empty()) return true;
  RaceThread& core = r.tensor_core();
  r.order(r.task(), core);
  if (!r.reads(core, "a") || !r.reads(core, "b") || !r.reads(core, "a_scale") || !r.reads(core, "b_scale") ||
      !r.writes(core, "d"))
    return false;
  if (!r.in.op->attr("is_async") && r.in.op->group("barriers").empty() && !r.commits())
    r.order(core, r.task());
  r.arrive(core, "barriers");
  return true;
}

void lower_tc_gen5_commit(Lowering& l, const ir::Op& op) {
  std::vector<const ir::Value*> shared;
  for (const ir::Use& use : op.group("descs")) shared.push_back(use.value);
  const int arrivals = shared.empty() ? 1 : multicast_arrivals(l, op, shared);
  l.emit<run_tc_gen5_commit>(op, l.make<Barriers>(0, Lowering::operand_index(op, "pred"), 1, arrivals));
}

// The task's stores are made, and those who wait for the buffer are told.
void lower_store_token_wait(Lowering& l, const ir::Op& op) {
  for (const ir::Use& use : op.group("barriers"))
    if (use.value->type->kind != ir::TypeKind::kMemDesc)
      return l.fail(op, "barriers are expected, and not the tokens that stand for them");
  l.emit(
      run_store_token_wait, op,
      l.make<Barriers>(Lowering::operand_index(op, "barriers"), Lowering::operand_index(op, "barrier_preds"),
                       static_cast<int>(op.group("barriers").size())));
}

}  // namespace triton_runner::tile
