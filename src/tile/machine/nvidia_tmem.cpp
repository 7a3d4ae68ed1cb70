// Lowers tensor memory: 128 lanes of 32-bit columns beside shared memory, and the copies into, out of and
// within it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lowering.h"
#include "machine/nvidia.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

void run_tmem_load(Task& t, const Instr& in) {
  SharedState::of(t).read_into(t, in.result(), in.as<MemPlan>(), mem_desc(t, in.operand(0)));
}

void run_tmem_store(Task& t, const Instr& in) {
  if (t.bits(in.operand(2)) == 0) return;
  SharedState::of(t).write_value(t, in.as<MemPlan>(), mem_desc(t, in.operand(0)), in.operand(1));
}

struct TmemSlice {
  uint32_t base, flip;
};

void run_tmem_subslice(Task& t, const Instr& in) {
  MemDesc d = mem_desc(t, in.operand(0));
  d.base += in.as<TmemSlice>().base;
  d.flip ^= in.as<TmemSlice>().flip;
  t.new_object<MemDesc>(in.result()) = d;
}

struct MemCopy {
  const MemPlan *from, *to;       // null where bytes are copied as they lie: block scales
  std::vector<uint32_t> columns;  // bytes along a row, of each 512 bytes of those
  int64_t row_bytes;
  bool arrives;
  int pred;  // operand; -1: none
};

void copy_in(Program& block, const MemCopy& c, MemDesc from, MemDesc to) {
  SharedState& state = SharedState::of(block);
  if (c.from) return state.write(*c.to, to, state.read_planned(*c.from, from));
  std::byte* arena = state.arena();
  // 32 rows of 16 bytes, one after the other in shared memory, become 16 bytes of 32 lanes.
  const std::byte* piece = arena + from.base;
  for (uint32_t column : c.columns)
    for (int64_t row = 0; row < kScaleLanes; row++, piece += 16)
      for (int64_t lane = row; lane < kTensorMemoryRows; lane += kScaleLanes)
        std::memcpy(arena + to.base + lane * c.row_bytes + column, piece, 16);
}

// Within each block that the tensor core works for.
const Instr* run_tmem_copy(Task& t, const Instr& in, const MemCopy& c) {
  if (c.pred >= 0 && t.bits(in.operand(c.pred)) == 0) return next(in);
  const TensorBlocks blocks(t);
  for (Program* block : blocks.all()) {
    Mbarrier* barrier = nullptr;
    if (c.arrives) {
      barrier = SharedState::of(*block).barrier(address_of(mem_desc(t, in.operand(2))));
      if (!barrier) return no_barrier(t, in, "the copy's mbarrier");
    }
    copy_in(*block, c, mem_desc(t, in.operand(0)), mem_desc(t, in.operand(1)));
    if (barrier && !arrive(t, in, *barrier)) return nullptr;
  }
  return next(in);
}

// A load that reduces gives this besides: the smallest or largest value of each row, or of their magnitudes.
struct RowReduction {
  bool largest, magnitudes, nan_wins;
};

void run_row_reduction(Task& t, const Instr& in, const RowReduction& r) {
  const TileType &from = t.type(in.operand(0)), &to = t.type(in.result());
  const auto* data = t.dense<std::byte>(in.operand(0));
  auto* out = t.new_dense<std::byte>(in.result());
  const int64_t cols = from.n / to.n;
  for (int64_t row = 0; row < to.n; row++) {
    double best = std::numeric_limits<double>::quiet_NaN();
    for (int64_t c = 0; c < cols; c++) {
      double x =
          num::to_double(num::load_bits(data + (row * cols + c) * from.size, from.element), from.element);
      if (r.magnitudes) x = std::fabs(x);
      if (std::isnan(x)) {
        if (!r.nan_wins) continue;
        best = x;
        break;
      }
      const bool better = r.largest ? x > best : x < best;
      const bool zeros = x == 0 && best == 0 && std::signbit(x) != r.largest;  // -0 < +0
      if (std::isnan(best) || better || zeros) best = x;
    }
    num::store_bits(out + row * to.size, to.element, num::from_double(best, to.element));
  }
}

void lower_reduction(Lowering& l, const ir::Op& op) {
  const TileType &from = *l.type_of(op.result(0)), &to = *l.type_of(op.result(1));
  const ir::Attr* kind = op.attr("redOp");
  const bool largest = kind && kind->text.find("max") != std::string_view::npos;
  if (!kind || (!largest && kind->text.find("min") == std::string_view::npos) || from.rank != 2 ||
      to.rank != 1 || to.shape[0] != from.shape[0] || from.element != to.element ||
      !num::is_float(from.element))
    return l.fail(op, "this reduction of a tmem_load is not supported");
  const auto* r = l.make<RowReduction>(largest, op.int_attr("abs", 0) != 0, op.int_attr("NaN", 0) != 0);
  l.emit<run_row_reduction>(op, {l.slot(op.result(1))}, {l.slot(op.result(0))}, r);
}

}  // namespace

// Buffers lie side by side in the columns and are never reused,
// so that a program may have more than a machine's 512.
int64_t reserve_columns(Lowering& l, const ir::Op& op, int64_t bytes) {
  Code& code = l.code();
  const int64_t row = code.tensor_memory_row();
  if (code.tensor_memory < 0) code.tensor_memory = l.reserve_shared(row * kTensorMemoryRows, 128);
  const int64_t at = code.tensor_memory_used;
  if (at + bytes > row) {
    l.fail(op, "the buffers in tensor memory take more than " + std::to_string(row / 4) + " columns");
    return code.tensor_memory;
  }
  code.tensor_memory_used += bytes;
  return code.tensor_memory + at;
}

void lower_tmem_alloc(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.result(), op);
  if (!view) return;
  emit_alloc(l, op, reserve_columns(l, op, view->bytes()), view);
}

void lower_tmem_load(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("src"), op);
  if (!view) return;
  l.emit<run_tmem_load>(op, {l.slot(op.result())}, {l.slot(op.operand_of("src"))}, l.make<MemPlan>(*view));
  if (op.results.size() > 1 && op.result(1)->type->kind == ir::TypeKind::kTensor) lower_reduction(l, op);
}

void lower_tmem_store(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("dst"), op);
  if (!view) return;
  l.emit<run_tmem_store>(
      op, {}, {l.slot(op.operand_of("dst")), l.slot(op.operand_of("src")), l.slot(op.operand_of("pred"))},
      l.make<MemPlan>(*view));
}

// Triton 3.9 says `offset` and `dim`, releases before it `N`, the first column.
void lower_tmem_subslice(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand(0), op);
  if (!view) return;
  const auto& shape = op.result()->type->shape;
  const size_t leading = view->leading.size(), rank = leading + 2;
  const int64_t dim = op.int_attr("dim", static_cast<int64_t>(rank) - 1);
  const int64_t offset = op.attr("offset") ? op.int_attr("offset", 0) : op.int_attr("N", 0);
  if (view->shape.size() != 2 || shape.size() != rank || dim < 0 || dim >= static_cast<int64_t>(rank))
    return l.fail(op, "a slice along dimension " + std::to_string(dim) + " of " + std::to_string(rank));
  const size_t d = static_cast<size_t>(dim);
  const int64_t whole = d < leading ? view->leading[d] : view->shape[d - leading], width = shape[d];
  if (offset < 0 || width <= 0 || offset + width > whole)
    return l.fail(op, "elements " + std::to_string(offset) + " to " + std::to_string(offset + width - 1) +
                          " of " + std::to_string(whole));
  auto* slice = l.make<TmemSlice>(0u, 0u);
  if (d == 0 && leading > 0) {
    slice->base = static_cast<uint32_t>(offset * view->stride_of_leading(0));
  } else {
    int64_t at[2] = {};
    if (d >= leading) at[d - leading] = offset;
    const uint32_t place = view->place_of(at);
    const auto* bits = d >= leading ? &view->place[d - leading] : nullptr;
    bool even = bits != nullptr;  // elements at even distances
    for (size_t bit = 0; even && bit < bits->size(); bit++) even = (*bits)[bit] == (*bits)[0] << bit;
    const bool alone =
        std::all_of(view->leading.begin(), view->leading.end(), [](int64_t n) { return n == 1; });
    if (!alone || (offset % width != 0 && !even))
      return l.fail(op, "a slice of " + std::to_string(width) + " from " + std::to_string(offset) +
                            " along dimension " + std::to_string(dim) + " is not supported");
    if (offset % width == 0)
      slice->flip = place;
    else
      slice->base = place * static_cast<uint32_t>(view->size);
  }
  l.emit<run_tmem_subslice>(op, slice);
}

void lower_tmem_copy(Lowering& l, const ir::Op& op) {
  const MemView *from = mem_view(l, *op.operand_of("src"), op), *to = mem_view(l, *op.operand_of("dst"), op);
  if (!from || !to) return;
  auto* copy = l.make<MemCopy>();
  copy->arrives = op.operand_of("barrier") != nullptr;
  copy->pred = Lowering::operand_index(op, "pred");
  copy->row_bytes = to->row_bytes;
  const int64_t bytes = from->total() * from->size;
  if (bytes != to->total() * to->size) return l.fail(op, "source and destination differ in size");
  // Block scales come in the shape of the destination with a layout that says how they lie, or as pieces of
  // 128 rows and 4 columns.
  const bool same_shape = from->encoding.kind == layout::EncodingKind::kSharedLinear &&
                          from->leading == to->leading && from->shape == to->shape;
  if (to->encoding.kind == layout::EncodingKind::kTensorMemoryScales && !same_shape) {
    if (bytes % 512 != 0 || !from->encoding.padding.empty() || from->encoding.swizzle_bytes != 0 ||
        to->shape.size() != 2 || !to->leading.empty())
      return l.fail(op, "block scales are copied from unswizzled pieces of 512 bytes only");
    const int64_t down = std::max<int64_t>(1, to->shape[0] / 128), across = bytes / 512 / down;
    for (int64_t i = 0; i < down; i++)
      for (int64_t j = 0; j < across; j++) {
        const int64_t at[] = {i * 128, j * 4};
        copy->columns.push_back(to->place_of(at) * static_cast<uint32_t>(to->size));
      }
  } else {
    copy->from = l.make<MemPlan>(*from);
    copy->to = l.make<MemPlan>(*to);
  }
  l.emit<run_tmem_copy>(op, copy);
}

bool race_tmem_copy(RaceRule& r) {
  if (r.blocks().empty() || !r.on()) return true;
  RaceThread& core = r.tensor_core();
  r.order(r.task(), core);
  if (!r.reads(core, "src") || !r.writes(core, "dst")) return false;
  r.arrive(core, "barrier");
  return true;
}

}  // namespace triton_runner::tile
