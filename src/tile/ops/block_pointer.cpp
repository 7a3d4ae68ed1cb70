// Lowers block pointers of releases up to 3.8 (tt.make_tensor_ptr, tt.advance): a block of a strided tensor.
// Loads and stores turn them into an affine pointer tile and a box, and go on as tt.load does.
#include "ops/lazy.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

struct BlockPointer {  // what a slot of type !tt.ptr<tensor<...>> holds (Form::kObject)
  uint64_t base;
  int64_t shape[kLazyRank], strides[kLazyRank], offsets[kLazyRank];  // elements
};

void run_make(Task& t, const Instr& in) {
  int rank = static_cast<int>(in.as<int64_t>());
  BlockPointer p{};
  p.base = static_cast<uint64_t>(t.bits(in.operand(0)));
  for (int d = 0; d < rank; ++d) {
    p.shape[d] = t.bits(in.operand(1 + d));
    p.strides[d] = t.bits(in.operand(1 + rank + d));
    p.offsets[d] = t.bits(in.operand(1 + 2 * rank + d));
  }
  t.new_object<BlockPointer>(in.result()) = p;
}

void run_advance(Task& t, const Instr& in) {
  BlockPointer p = t.object<BlockPointer>(in.operand(0));
  for (uint32_t d = 0; d + 1 < in.num_operands; ++d)
    p.offsets[d] += static_cast<int32_t>(t.bits(in.operand(1 + d)));
  t.new_object<BlockPointer>(in.result()) = p;
}

struct BlockData {
  const TileType* tile;  // of the elements
  uint32_t checked;      // bit d: dimension d is clipped at the tensor's edges
};

// results: pointers, mask; operand: the block pointer
void run_expand(Task& t, const Instr& in, const BlockData& d) {
  BlockPointer p = t.object<BlockPointer>(in.operand(0));
  Affine a{};
  MaskBox box;
  uint64_t base = p.base;
  for (int k = 0; k < d.tile->rank; ++k) {
    int64_t n = d.tile->shape[k];
    uint64_t stride = static_cast<uint64_t>(p.strides[k]) * d.tile->size;  // wraps as addresses do
    base += static_cast<uint64_t>(p.offsets[k]) * stride;
    a.stride[k] = static_cast<int64_t>(stride);
    bool check = d.checked >> k & 1;
    box.lo[k] = check ? std::min(n, std::max<int64_t>(0, -p.offsets[k])) : 0;
    box.hi[k] = check ? std::max<int64_t>(0, std::min(n, p.shape[k] - p.offsets[k])) : n;
  }
  a.base = static_cast<int64_t>(base);
  store_affine(t, in.result(0), a);
  store_box(t, in.result(1), box);
}

struct Expanded {
  Slot pointers, mask;
};

Expanded expand(Lowering& l, const ir::Op& op, Slot block, const TileType* tile) {
  Expanded e{l.new_slot(l.tile_type(num::Type::kPointer, tile->shape)),
             l.new_slot(l.tile_type(num::Type::kI1, tile->shape))};
  uint32_t checked = 0;
  if (const ir::Attr* check = op.attr("boundaryCheck"))
    for (uint64_t d : check->raw) checked |= 1u << d;
  l.emit<run_expand>(op, {e.pointers, e.mask}, {block}, l.make<BlockData>(tile, checked));
  return e;
}

}  // namespace

void lower_make_tensor_ptr(Lowering& l, const ir::Op& op) {
  auto rank = static_cast<int64_t>(op.group("shape").size());
  if (rank > kLazyRank) return l.fail(op, "block pointers have at most 5 dimensions");
  l.emit<run_make>(op, l.make<int64_t>(rank));
}

void lower_advance(Lowering& l, const ir::Op& op) { l.emit<run_advance>(op); }

void lower_block_load(Lowering& l, const ir::Op& op) {
  Slot result = l.slot(op.result());
  const TileType* tile = l.type_of(result);
  Expanded e = expand(l, op, l.slot(op.operand(0)), tile);
  std::optional<Slot> other;
  if (op.int_attr("padding", 0) == 2) {  // PAD_NAN
    if (!num::is_float(tile->element)) return l.fail(op, "integers cannot be padded with NaN");
    other = l.constant(static_cast<int64_t>(num::from_double(__builtin_nan(""), tile->element)), tile);
  }
  emit_load(l, op, result, e.pointers, e.mask, other);
}

void lower_block_store(Lowering& l, const ir::Op& op) {
  Slot value = l.slot(op.operand(1));
  Expanded e = expand(l, op, l.slot(op.operand(0)), l.type_of(value));
  emit_store(l, op, e.pointers, value, e.mask);
}

}  // namespace triton_runner::tile
