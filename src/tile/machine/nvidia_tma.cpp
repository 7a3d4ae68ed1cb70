// Lowers TMA: blocks of tensor descriptors to and from shared memory, and descriptors that kernels write
// themselves.
#include <algorithm>

#include <triton_runner/exec/tensor_map.h>

#include "lowering.h"
#include "machine/cluster.h"
#include "machine/shared_state.h"
#include "machine/tensor_desc.h"

namespace triton_runner::tile {
namespace {

struct TmaAccess {
  BlockType block;
  const MemPlan* plan;
  int coords, barrier, memory, pred;  // operands; -1: none
  int64_t barrier_bytes;              // that the copy brings, a block of the cluster
  int rows = -1;                      // gather and scatter: operand of the row numbers
  int offsets = -1;                   // im2col: operand of the first
  bool multicast = false;             // to the blocks of a mask, at the same place in each
  bool is_padded_fp4 = false;
  bool maybe_halves = false;  // padded fp4: its last coordinate counts halves of bytes up to Triton 3.6
  machine::Update update = nullptr;  // a reduction
};

// A column of pixels: as many dimensions as the copy has coordinates, which it does not say by its block.
bool column_of(Task& t, const Instr& in, const TmaAccess& a, const TensorDescriptor& desc, Box& box) {
  const auto fail = [&](std::string message) {
    return t.trap(in, exec::TrapKind::kInvalid, std::move(message));
  };
  box.rank = a.offsets - a.coords;
  if (!desc.im2col) return fail("a copy in im2col mode through a tiled descriptor");
  if (desc.rank != box.rank)
    return fail("a descriptor of rank " + std::to_string(desc.rank) + ", and " + std::to_string(box.rank) +
                " coordinates");
  const int axes = box.rank - 2, bits = 16 / axes;
  for (int d = 0; d < box.rank; d++) box.at[d] = t.bits(in.operand(a.coords + d)), box.shape[d] = 1;
  // The hardware takes as many low bits of an offset as it has for a corner, without a sign.
  for (int d = 0; d < axes; d++) box.offsets[d] = t.bits(in.operand(a.offsets + d)) & ((1 << bits) - 1);
  box.pixels = a.block.shape[0];
  box.shape[box.rank - 1] = a.block.shape[1];
  const std::string fault = column_fault(desc, box, a.block.type);
  return fault.empty() || fail(fault);
}

bool box_of(Task& t, const Instr& in, const TmaAccess& a, const TensorDescriptor& desc, bool is_store,
            Box& box) {
  if (a.offsets >= 0) return column_of(t, in, a, desc, box);
  if (desc.im2col)
    return t.trap(in, exec::TrapKind::kInvalid, "a tiled copy through a descriptor in im2col mode");
  if (!open_box(t, in, desc, a.block, box)) return false;
  for (int d = 0; d < box.rank; d++) box.at[d] = a.rows < 0 ? t.bits(in.operand(a.coords + d)) : 0;
  if (a.maybe_halves && t.bits(in.operand(a.coords + (a.rows < 0 ? box.rank - 1 : 0))) != 0)
    return t.trap(
        in, exec::TrapKind::kUnsupported,
        "the column of padded fp4 counts halves of bytes up to Triton 3.6, and bytes since, and this "
        "text does not say which: run it at level 'ptx'");
  if (a.rows >= 0 || a.is_padded_fp4) return true;
  const std::string fault = exec::box_fault(box.at[box.rank - 1] * a.plan->element_size(),
                                            *std::min_element(box.at, box.at + box.rank), is_store);
  return fault.empty() || t.trap(in, exec::TrapKind::kInvalid, fault);
}

// The block, or the rows of a gather, into `out`.
bool load(Task& t, const Instr& in, const TmaAccess& a, void* out) {
  TensorDescriptor desc;
  Box box;
  if (!tensor_desc(t, in, in.operand(0), desc) || !box_of(t, in, a, desc, false, box)) return false;
  if (a.rows < 0) return load_block(t, in, desc, box, a.block.type, out);
  const auto* rows = t.dense<int32_t>(in.operand(a.rows));
  const int64_t n = t.type(in.operand(a.rows)).n, bytes = a.plan->bytes() / n;
  for (int64_t r = 0; r < n; r++) {
    box.at[0] = rows[r];
    box.at[1] = t.bits(in.operand(a.coords));
    if (!load_block(t, in, desc, box, a.block.type, static_cast<std::byte*>(out) + r * bytes)) return false;
  }
  return true;
}

// The place where a store goes: the block, or the rows of a scatter.
struct StorePlace {
  TensorDescriptor desc;
  Box box;
  std::vector<int32_t> rows;
  MemDesc memory;
};

bool store_place(Task& t, const Instr& in, const TmaAccess& a, StorePlace& p) {
  if (!tensor_desc(t, in, in.operand(0), p.desc) || !box_of(t, in, a, p.desc, true, p.box)) return false;
  p.memory = mem_desc(t, in.operand(a.memory));
  if (a.rows < 0) return true;
  const auto* rows = t.dense<int32_t>(in.operand(a.rows));
  p.rows.assign(rows, rows + t.type(in.operand(a.rows)).n);
  p.box.at[1] = t.bits(in.operand(a.coords));
  return true;
}

bool store(Task& t, const Instr& in, const TmaAccess& a, StorePlace& p, const void* from) {
  if (a.update) return reduce_block(t, in, p.desc, p.box, a.block.type, a.update, from);
  if (a.rows < 0) return store_block(t, in, p.desc, p.box, a.block.type, from);
  const auto* row = static_cast<const std::byte*>(from);
  const int64_t bytes = a.plan->bytes() / static_cast<int64_t>(p.rows.size());
  for (int32_t r : p.rows) {
    p.box.at[0] = r;
    if (!store_block(t, in, p.desc, p.box, a.block.type, row)) return false;
    row += bytes;
  }
  return true;
}

bool store_now(Task& t, const Instr& in, StorePlace& p) {
  const auto& a = in.as<TmaAccess>();
  Buffer* data = SharedState::of(t).read_planned(*a.plan, p.memory);
  const bool ok = store(t, in, a, p, data->data());
  t.worker->pool->release(data);
  return ok;
}

const Instr* run_tma_load(Task& t, const Instr& in, const TmaAccess& a) {
  if (t.bits(in.operand(a.pred)) == 0) return next(in);
  const MemDesc counted = mem_desc(t, in.operand(a.barrier));
  const uint32_t address = address_of(counted);
  // The barrier may be another block's.
  const auto counter = [&](Program& block) -> SharedState& {
    return SharedState::of(counted.block ? block_of(t, counted) : block);
  };
  Program* const own[] = {t.program};
  std::vector<Program*> several;
  if (a.multicast && t.program->cluster) {
    several = blocks_reached(t, in);
    if (several.empty())
      return t.trap(in, exec::TrapKind::kInvalid, "a multicast to no block of the cluster");
  }
  std::span<Program* const> blocks = own;
  if (!several.empty()) blocks = several;
  for (Program* block : blocks)
    if (!counter(*block).barrier(address)) return no_barrier(t, in, "the copy's mbarrier");
  Buffer* data = t.worker->pool->allocate(a.plan->bytes());
  if (!load(t, in, a, data->data())) {
    t.worker->pool->release(data);
    return nullptr;
  }
  data->refs += static_cast<uint32_t>(blocks.size()) - 1;
  for (Program* block : blocks)
    counter(*block).copy_through_barrier(
        address, {data, a.plan, mem_desc(t, in.operand(a.memory)), &SharedState::of(*block)},
        a.barrier_bytes);
  return next(in);
}

const Instr* run_tma_store(Task& t, const Instr& in, const TmaAccess& a) {
  StorePlace place;
  if (!store_place(t, in, a, place)) return nullptr;
  SharedState& state = SharedState::of(t);
  if (!state.stores_late()) return store_now(t, in, place) ? next(in) : nullptr;
  state.issue_store(t, [&t, &in, place]() mutable { store_now(t, in, place); });
  return next(in);
}

void run_tma_store_wait(Task& t, const Instr& in) {
  SharedState::of(t).wait(t, in.as<int64_t>(), SharedState::kStores);
}

// nvws: the copy has no barrier of its own; what it brings is there when it was issued.
const Instr* run_tma_load_now(Task& t, const Instr& in, const TmaAccess& a) {
  Buffer* data = t.worker->pool->allocate(a.plan->bytes());
  SharedState::of(t);
  const bool ok = load(t, in, a, data->data());
  if (ok) a.plan->write(SharedState::of(t).arena(), mem_desc(t, in.operand(a.memory)), data->data());
  t.worker->pool->release(data);
  return ok ? next(in) : nullptr;
}

// TMA moves boxes of at most 256 elements a dimension and a swizzled row of bytes, and as many of them as the
// buffer holds. The descriptor has the box of its block: where the buffer's is the same, it may be smaller.
bool has_boxes_of(const MemView& buffer, const std::vector<int64_t>& block) {
  const layout::Encoding& e = buffer.encoding;
  if (buffer.shape.size() != block.size() || buffer.splits() != 1 || e.is_transposed || e.fp4_padded)
    return false;
  for (size_t d = 0; d < block.size(); ++d) {
    const bool is_row = d + 1 == block.size() && e.swizzle_bytes != 0;
    const int64_t most = is_row ? e.swizzle_bytes / buffer.size : 256;
    if (std::min(buffer.shape[d], most) != std::min(block[d], most)) return false;
  }
  return true;
}

bool fits(Lowering& l, const ir::Op& op, const TmaAccess& a, size_t coords) {
  int64_t bytes = static_cast<int64_t>(num::size_of(a.block.type));
  for (int64_t d : a.block.shape) bytes *= d;
  if (a.block.im2col && a.offsets < 0) return l.fail(op, kOnlyLoaded), false;
  if (!a.block.im2col && coords != a.block.shape.size())
    return l.fail(op, std::to_string(coords) + " coordinates for a descriptor of rank " +
                          std::to_string(a.block.shape.size())),
           false;
  if (bytes != a.plan->bytes())
    return l.fail(op, "the descriptor's block has " + std::to_string(bytes) +
                          " bytes, the buffer in shared memory " + std::to_string(a.plan->bytes())),
           false;
  return true;
}

bool in_im2col_mode(Lowering& l, const ir::Op& op, TmaAccess& a) {
  const size_t coords = op.group("coord").size(), offsets = op.group("offsets").size();
  if (!a.block.im2col) return l.fail(op, "offsets, and a descriptor that is not in im2col mode"), false;
  if (a.block.shape.size() != 2)
    return l.fail(op, "the block of a descriptor in im2col mode is pixels and channels, of rank 2"), false;
  if (coords < 3 || coords > 5 || offsets + 2 != coords)
    return l.fail(op, std::to_string(coords) + " coordinates and " + std::to_string(offsets) +
                          " offsets: a copy in im2col mode has 3 to 5 coordinates and two offsets less"),
           false;
  for (const layout::Basis& basis : mem_view(l, *op.operand_of("result"), op)->encoding.cga)
    if (basis[0] != 0)
      return l.fail(op,
                    "pixels in parts for the blocks of a cluster: Triton has a block begin as many elements "
                    "further along W, which is not where its pixels are; split the channels"),
             false;
  a.offsets = Lowering::operand_index(op, "offsets");
  return true;
}

// Rows of a 2-d descriptor: its block is one row.
bool rows(Lowering& l, const ir::Op& op, TmaAccess& a, const ir::Value& memory) {
  if (a.block.im2col) return l.fail(op, kOnlyLoaded), false;
  if (a.block.shape.size() != 2 || memory.type->shape.size() != 2)
    return l.fail(op, "rows are gathered and scattered with descriptors of rank 2 only"), false;
  a.block.shape = {1, memory.type->shape[1]};
  return true;
}

// The access of a block that begins at the operands `coords`, or of the rows x_offsets; `columns`: it may be
// in im2col mode. Null after an error.
TmaAccess* access(Lowering& l, const ir::Op& op, ir::GroupName memory_group, ir::GroupName coords,
                  bool columns = false) {
  const ir::Value& memory = *op.operand_of(memory_group);
  const MemView* view = mem_view(l, memory, op);
  if (!view) return nullptr;
  auto* a = l.make<TmaAccess>();
  a->block = block_type(l, *op.operand_of("desc"), memory.type);
  if (!a->block.known)
    return l.fail(op, "descriptors of this element type or rank are not supported"), nullptr;
  if (static_cast<int64_t>(num::size_of(a->block.type)) != view->size)
    return l.fail(op, "the descriptor's elements and those in shared memory differ in size"), nullptr;
  if (!a->block.im2col && has_boxes_of(*view, a->block.shape)) a->block.shape = view->shape;
  a->plan = l.make<MemPlan>(*view);
  a->memory = Lowering::operand_index(op, memory_group);
  a->barrier = Lowering::operand_index(op, "barrier");
  a->pred = Lowering::operand_index(op, "pred");
  a->multicast = op.operand_of("multicast") != nullptr;
  a->coords = Lowering::operand_index(op, coords);
  a->rows = Lowering::operand_index(op, "x_offsets");
  a->barrier_bytes = a->plan->bytes() / view->splits();
  a->is_padded_fp4 = view->encoding.fp4_padded;
  a->maybe_halves = a->is_padded_fp4 && op.name.starts_with("ttng.") &&
                    op.operand_of("desc")->type->text.starts_with("!tt.tensordesc<tensor<");
  if (a->rows >= 0) return rows(l, op, *a, memory) ? a : nullptr;
  if (columns && (a->block.im2col || !op.group("offsets").empty()) && !in_im2col_mode(l, op, *a))
    return nullptr;
  return fits(l, op, *a, op.group(coords).size()) ? a : nullptr;
}

}  // namespace

void lower_async_tma_copy_global_to_local(Lowering& l, const ir::Op& op) {
  if (const TmaAccess* a = access(l, op, "result", "coord", true)) l.emit<run_tma_load>(op, a);
}
void lower_async_tma_gather(Lowering& l, const ir::Op& op) {
  if (const TmaAccess* a = access(l, op, "result", "y_offset")) l.emit<run_tma_load>(op, a);
}

void lower_nvws_descriptor_load(Lowering& l, const ir::Op& op) {
  if (const TmaAccess* a = access(l, op, "result", "indices"))
    l.emit<run_tma_load_now>(op, {}, slots_of(l, op.operand_uses), a);
}
void lower_nvws_descriptor_gather(Lowering& l, const ir::Op& op) {
  if (const TmaAccess* a = access(l, op, "result", "y_offset"))
    l.emit<run_tma_load_now>(op, {}, slots_of(l, op.operand_uses), a);
}

void lower_async_tma_copy_local_to_global(Lowering& l, const ir::Op& op) {
  if (const TmaAccess* a = access(l, op, "src", "coord")) l.emit<run_tma_store>(op, a);
}
void lower_async_tma_scatter(Lowering& l, const ir::Op& op) {
  if (const TmaAccess* a = access(l, op, "src", "y_offset")) l.emit<run_tma_store>(op, a);
}
void lower_async_tma_reduce(Lowering& l, const ir::Op& op) {
  TmaAccess* a = access(l, op, "src", "coord");
  if (a && (a->update = reduction_of(l, op, a->block))) l.emit<run_tma_store>(op, a);
}

void lower_async_tma_store_wait(Lowering& l, const ir::Op& op) {
  l.emit<run_tma_store_wait>(op, {}, {}, l.number(op, "pendings"));
}

// ---- descriptors in global memory

namespace {

struct Scratch {
  int64_t bytes, alignment;
};

void run_global_scratch(Task& t, const Instr& in, const Scratch& s) {
  t.set_uniform(in.result(), reinterpret_cast<int64_t>(SharedState::of(t).scratch(s.bytes, s.alignment)));
}

struct Create {
  int rank;
  int global_dim, global_stride;  // operands
  int64_t element_bytes;
  bool nan_padding;
  bool pairs;  // elements are four-bit floats: the hardware counts them, the kernel's type their bytes
};

const Instr* run_tensormap_create(Task& t, const Instr& in, const Create& c) {
  TensorDescriptor desc{static_cast<uint64_t>(t.bits(in.operand(1))), c.rank, c.nan_padding, {}, {}};
  // The hardware counts dimensions from the innermost, whose stride is one element, and strides in bytes.
  for (int d = 0; d < c.rank; d++) {
    desc.shape[c.rank - 1 - d] = static_cast<uint32_t>(t.bits(in.operand(c.global_dim + d)));
    desc.strides[c.rank - 1 - d] = d == 0 ? 1 : t.bits(in.operand(c.global_stride + d - 1)) / c.element_bytes;
  }
  if (c.pairs) desc.shape[c.rank - 1] /= 2;
  return write_tensor_map(t, in, in.operand(0), desc) ? next(in) : nullptr;
}

const Instr* run_reinterpret_descriptor(Task& t, const Instr& in) {
  TensorDescriptor desc;
  if (!tensor_desc(t, in, in.operand(0), desc)) return nullptr;
  t.new_object<TensorDescriptor>(in.result()) = desc;
  return next(in);
}

}  // namespace

void lower_global_scratch_alloc(Lowering& l, const ir::Op& op) {
  const int64_t bytes = op.int_attr("nbytes", 0), alignment = op.int_attr("alignment", 1);
  if (bytes <= 0 || alignment <= 0) return l.fail(op, "a scratch allocation without a size");
  l.emit<run_global_scratch>(op, l.make<Scratch>(bytes, alignment));
}

void lower_tensormap_create(Lowering& l, const ir::Op& op) {
  const int rank = static_cast<int>(op.group("global_dim").size());
  const TileType* pointer = l.type(op.operand_of("global_address")->type);
  if (rank < 1 || rank > 5 || op.group("global_stride").size() + 1 != op.group("global_dim").size() ||
      pointer->pointee == 0)
    return l.fail(op, "a tensor map of rank " + std::to_string(rank) + " with " +
                          std::to_string(op.group("global_stride").size()) + " strides");
  const int64_t kind = op.int_attr("elem_type", 0);  // as CUtensorMapDataType numbers them
  l.emit<run_tensormap_create>(
      op, l.make<Create>(rank, Lowering::operand_index(op, "global_dim"),
                         Lowering::operand_index(op, "global_stride"), int64_t{pointer->pointee},
                         op.int_attr("fill_mode", 0) != 0, kind == 13 || kind == 14));
}

void lower_reinterpret_tensor_descriptor(Lowering& l, const ir::Op& op) {
  l.emit(run_reinterpret_descriptor, op);
}

}  // namespace triton_runner::tile
