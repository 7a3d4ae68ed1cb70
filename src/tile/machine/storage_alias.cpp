// Lowers buffers of TLX that share one piece of memory (tlx.storage_alias_spec), and finds where
// tlx.set_buffer_overlap puts each. They are described in doc/guide/tlx.md.
//
// Without an overlap all buffers begin at one place. With an overlap, its tree of groups says where they begin: the members of a
// shared group begin at one place, those of a distinct group lie one after the other, and buffer i of every ring lies in the i-th
// piece of the memory. Meta's Triton with TLX (fbtriton) computes the same in its pass tlx-storage-alias-lowering, which comes after
// the TTGIR that it dumps, and rewrites the indices of rings, as is done here.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <triton_runner/ir/enums.h>

#include "machine/memdesc.h"
#include "machine/nvidia.h"

namespace triton_runner::tile {
namespace {

using ir::OpKind;

constexpr int64_t kAlignment = 128;  // of a buffer in shared memory

// Places the buffers of a spec in its memory. Places and sizes are in bytes; in tensor memory, in bytes of a row.
class Overlap {
 public:
  Overlap(Lowering& l, const ir::Op& op, const ir::Value* tree) : l_(l), op_(op) {
    if (ok_) alignment_ = alignment(tree);
    if (ok_) piece_ = round_up(size(tree), alignment_);
    if (ok_) place(tree, 0, piece_, 1);
  }
  bool ok() const { return ok_; }
  int64_t piece() const { return piece_; }  // bytes from a ring's buffer i to buffer i + 1
  // Returns where the buffers lie of the ring that an op allocates; `first` and `step` count in buffers of it.
  const Spacing* of(const ir::Op* ring) const& {
    const auto found = rings_.find(ring);
    return found == rings_.end() ? nullptr : &found->second;
  }
  const Spacing* of(const ir::Op*) && = delete;  // the answer would outlive what it points into

 private:
  static int64_t round_up(int64_t value, int64_t to) { return to ? (value + to - 1) / to * to : value; }
  void fail(const std::string& message) {
    if (std::exchange(ok_, false)) l_.fail(op_, message);
  }
  const MemView* ring(const ir::Value* v) {
    const MemView* view = mem_view(l_, *v, op_);
    if (!view) ok_ = false;
    return view;
  }
  bool is_group(const ir::Value* v) {
    if (const ir::Op* made = v->defining_op) {
      if (made->kind == OpKind::kTlxReuseGroup) return true;
      if (made->kind == OpKind::kTlxStorageAliasLocalAlloc) return false;
    }
    fail("the overlap has an element that is neither a group nor a buffer of the spec");
    return false;
  }
  static bool is_shared(const ir::Op& group) {
    return group.enum_attr<ir::TlxReuseGroupKind>("group_kind") == ir::TlxReuseGroupKind::kShared;
  }
  // Folds the members of a group: f takes what it returned of the member before, of the first `from`.
  template <class F>
  int64_t fold(const ir::Value* group, int64_t from, const F& f) {
    for (const ir::Use& use : group->defining_op->operand_uses)
      if (ok_) from = f(from, use.value);
    return from;
  }

  int64_t alignment(const ir::Value* v) {
    if (is_group(v))
      return fold(v, 1, [&](int64_t most, const ir::Value* e) { return std::max(most, alignment(e)); });
    const MemView* view = ok_ ? ring(v) : nullptr;
    if (!view) return 1;
    return view->tensor_memory ? view->buffer_bytes : std::max<int64_t>(kAlignment, view->size);
  }
  // Returns where a member of a distinct group begins whose neighbour ends at `at`: in tensor memory at a
  // multiple of its own size.
  int64_t aligned_place(int64_t at, const ir::Value* v) {
    const ir::Value* leaf = v;
    while (is_group(leaf) && ok_ && !leaf->defining_op->operand_uses.empty())
      leaf = leaf->defining_op->operand_uses[0].value;
    const MemView* view = ok_ ? ring(leaf) : nullptr;
    return view ? round_up(at, view->tensor_memory ? alignment(v) : alignment_) : at;
  }
  int64_t size(const ir::Value* v) {
    if (!is_group(v)) {
      const MemView* view = ok_ ? ring(v) : nullptr;
      return view ? view->buffer_bytes : 0;
    }
    if (is_shared(*v->defining_op))
      return v->defining_op->int_attr("group_size", 1) *
             fold(v, 0, [&](int64_t most, const ir::Value* e) { return std::max(most, size(e)); });
    return fold(v, 0, [&](int64_t at, const ir::Value* e) { return aligned_place(at, e) + size(e); });
  }
  void place(const ir::Value* v, int64_t at, int64_t between, int64_t group) {
    if (!is_group(v)) {
      const MemView* view = ok_ ? ring(v) : nullptr;
      if (!view) return;
      if (view->leading.empty() || between % view->buffer_bytes != 0 || at % view->buffer_bytes != 0)
        return fail("a buffer of " + std::to_string(view->buffer_bytes) + " bytes at byte " +
                    std::to_string(at) + " of pieces of " + std::to_string(between) +
                    ": both have to be multiples of its size");
      const int64_t step = between / view->buffer_bytes, first = at / view->buffer_bytes;
      // The compiler leaves indices alone where the rings' buffers lie one after the other.
      rings_[v->defining_op] = {step, step == 1 && first == 0 ? 1 : group, first};
      return;
    }
    const ir::Op& op = *v->defining_op;
    if (is_shared(op)) {
      const int64_t parts = std::max<int64_t>(1, op.int_attr("group_size", 1));
      fold(v, 0,
           [&](int64_t, const ir::Value* e) { return place(e, at, between / parts, group * parts), 0; });
      return;
    }
    const int64_t end = fold(v, at, [&](int64_t from, const ir::Value* e) {
      from = aligned_place(from, e);
      place(e, from, between, group);
      return from + size(e);
    });
    // Buffers whose sizes are powers of two always fit, as pieces are as large as size() says.
    if (end - at > between)
      fail("the buffers of a distinct group take " + std::to_string(end - at) + " bytes, and have " +
           std::to_string(between));
  }

  Lowering& l_;
  const ir::Op& op_;
  bool ok_ = true;
  int64_t alignment_ = 1, piece_ = 0;
  std::map<const ir::Op*, Spacing> rings_;
};

// Returns the op that arranges the buffers of a spec; null where they begin at one place.
const ir::Op* overlap_of(const ir::Op& spec) {
  for (const ir::Use* use = spec.result()->first_use; use; use = use->next)
    if (use->user->kind == OpKind::kTlxSetBufferOverlap) return use->user;
  return nullptr;
}

// Returns the op that allocates the ring of a descriptor which nothing has indexed yet; null for others.
const ir::Op* ring_of(const ir::Value* v) {
  for (const ir::Op* op = origin(v); op; op = origin(op->operand(0))) {
    if (op->kind == OpKind::kTlxStorageAliasLocalAlloc) return op;
    if (op->kind != OpKind::kMemDescReinterpret && op->kind != OpKind::kTlxLocalAlias &&
        op->kind != OpKind::kTlxRequireLayout)
      break;
  }
  return nullptr;
}

void run_same_place(Task& t, const Instr& in) {
  const MemDesc d = mem_desc(t, in.operand(0));
  t.new_object<MemDesc>(in.result()) = d;
}

}  // namespace

Spacing spacing_of(Lowering& l, const ir::Value* v) {
  const ir::Op* ring = ring_of(v);
  const ir::Op* spec = ring ? origin(ring->operand(0)) : nullptr;
  const ir::Op* overlap = spec ? overlap_of(*spec) : nullptr;
  if (!overlap) return {};
  Overlap arranged(l, *overlap, overlap->operand(1));
  const Spacing* found = arranged.of(ring);
  return found ? *found : Spacing{};
}

void lower_storage_alias_spec(Lowering& l, const ir::Op& op) {
  int64_t bytes = 1;
  const ir::Op* arranged = overlap_of(op);
  std::optional<Overlap> overlap;
  if (arranged && !overlap.emplace(l, *arranged, arranged->operand(1)).ok()) return;
  bool tensor_memory = false;
  for (const ir::Use* use = op.result()->first_use; use; use = use->next) {
    if (use->user->kind != OpKind::kTlxStorageAliasLocalAlloc) continue;
    const MemView* view = mem_view(l, *use->user->result(), *use->user);
    if (!view) return;
    tensor_memory |= view->tensor_memory;
    bytes = std::max(bytes, view->bytes());
    const Spacing* s = overlap ? overlap->of(use->user) : nullptr;
    if (!s) continue;
    const int64_t last = view->leading[0] - 1;
    bytes = std::max(
        {bytes, overlap->piece() * view->leading[0], (s->at(last) + 1) * view->stride_of_leading(0)});
  }
  const int64_t asked = op.int_attr("buffer_size_bytes", 0);
  bytes = std::max(bytes, tensor_memory ? asked / kTensorMemoryRows : asked);
  emit_alloc(l, op, tensor_memory ? reserve_columns(l, op, bytes) : l.reserve_shared(bytes, kAlignment),
             nullptr);
}

void lower_storage_alias_local_alloc(Lowering& l, const ir::Op& op) {
  if (mem_view(l, *op.result(), op)) l.emit<run_same_place>(op);
}

}  // namespace triton_runner::tile
