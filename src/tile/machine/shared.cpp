// Lowers shared memory: allocation, views of it, loads and stores, and gathers (ttg.local_*, ttg.memdesc_*).
#include <algorithm>
#include <cstring>

#include "machine/memdesc.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

// ---- allocation

struct Alloc {
  uint32_t base;
  const MemPlan* plan;  // of the initial value; null without one
};

void run_alloc(Task& t, const Instr& in, const Alloc& alloc) {
  SharedState& state = SharedState::of(t);
  MemDesc desc{alloc.base, 0};
  if (alloc.plan) state.write_value(t, *alloc.plan, desc, in.operand(0));
  t.new_object<MemDesc>(in.result()) = desc;
}

// ---- loads and stores

struct LocalAccess {
  const MemPlan* plan;
  int memory;  // which operand is the descriptor
};

void run_local_load(Task& t, const Instr& in, const LocalAccess& a) {
  SharedState::of(t).read_into(t, in.result(), *a.plan, mem_desc(t, in.operand(a.memory)));
}

void run_local_store(Task& t, const Instr& in, const LocalAccess& a) {
  SharedState::of(t).write_value(t, *a.plan, mem_desc(t, in.operand(a.memory)), in.operand(1 - a.memory));
}

// ---- views

struct Index {
  int64_t count, stride;  // bytes
  bool may_be_nowhere;    // whatever takes the buffer has a predicate, and says where a barrier is none
  Spacing spacing;
};
constexpr uint32_t kNowhere = 1;  // no mbarrier lies there

const Instr* run_memdesc_index(Task& t, const Instr& in, const Index& x) {
  const int64_t i = t.bits(in.operand(1));
  MemDesc d = mem_desc(t, in.operand(0));
  if (i < 0 || i >= x.count) {
    if (!x.may_be_nowhere)
      return t.trap(
          in, exec::TrapKind::kOutOfBounds,
          "buffer " + std::to_string(i) + " of a ring of " + std::to_string(x.count) + " in shared memory");
    d.base = kNowhere;
  } else {
    d.base += static_cast<uint32_t>(x.spacing.at(i) * x.stride);
  }
  t.new_object<MemDesc>(in.result()) = d;
  return next(in);
}

// An index into a dimension that the encoding covers: a slice of one.
const Instr* run_memdesc_row(Task& t, const Instr& in, const MemView& view) {
  const int64_t i = t.bits(in.operand(1));
  if (i < 0 || i >= view.shape[0]) return no_element(t, in, view, 0, i);
  std::vector<int64_t> at(view.shape.size(), 0);
  at[0] = i;
  MemDesc d = mem_desc(t, in.operand(0));
  d.flip ^= view.place_of(at);
  t.new_object<MemDesc>(in.result()) = d;
  return next(in);
}

struct Slice {
  const MemView* from;
  std::vector<int64_t> offsets;  // static ones; operands follow the descriptor where it is empty
  std::vector<int64_t> shape;    // of the result, as many dimensions as `from` has (1 where one is dropped)
};

const Instr* run_memdesc_slice(Task& t, const Instr& in, const Slice& s) {
  MemDesc d = mem_desc(t, in.operand(0));
  const size_t lead = s.from->leading.size(), rank = lead + s.from->shape.size();
  int64_t at[kMaxMemRank];
  for (size_t i = 0; i < rank; i++)
    at[i] = s.offsets.empty() ? t.bits(in.operand(static_cast<uint32_t>(i + 1))) : s.offsets[i];
  for (size_t i = 0; i < rank; i++) {
    if (at[i] == 0) continue;
    const int64_t whole = i < lead ? s.from->leading[i] : s.from->shape[i - lead];
    if (at[i] < 0 || at[i] + s.shape[i] > whole) {
      return t.trap(in, exec::TrapKind::kOutOfBounds,
                    "a slice from " + std::to_string(at[i]) + " of " + std::to_string(s.shape[i]) +
                        " elements leaves dimension " + std::to_string(i) + " of " + std::to_string(whole));
    }
    // Within a buffer places are XORs, so that a slice must begin at a multiple of its own size.
    if (i >= lead && at[i] % s.shape[i] != 0) {
      return t.trap(in, exec::TrapKind::kUnsupported,
                    "a slice of " + std::to_string(s.shape[i]) + " elements that begins at " +
                        std::to_string(at[i]) + ", which is not a multiple of its size");
    }
    if (i < lead) d.base += static_cast<uint32_t>(at[i] * s.from->stride_of_leading(i));
  }
  d.flip ^= s.from->place_of(std::span(at + lead, rank - lead));
  t.new_object<MemDesc>(in.result()) = d;
  return next(in);
}

struct Resize {
  int from, to;  // bytes an element
  // Set for a view past its source's end (up to Triton 3.8), in the allocation that operand 1 is; else 0.
  int64_t view_bytes, allocation_bytes;
};

const Instr* run_memdesc_reinterpret(Task& t, const Instr& in, const Resize& r) {
  MemDesc d = mem_desc(t, in.operand(0));
  if (static_cast<int64_t>(d.flip) * r.from % r.to != 0)
    return t.trap(in, exec::TrapKind::kUnsupported,
                  "a slice that begins inside of an element of the new type");
  if (r.view_bytes) {
    const int64_t at = int64_t{d.base} - mem_desc(t, in.operand(1)).base;
    if (at + r.view_bytes > r.allocation_bytes)
      return t.trap(in, exec::TrapKind::kOutOfBounds,
                    "a view of " + std::to_string(r.view_bytes) + " bytes from byte " + std::to_string(at) +
                        " of an allocation of " + std::to_string(r.allocation_bytes));
    if (d.flip) return t.trap(in, exec::TrapKind::kUnsupported, "a slice of a buffer as a larger buffer");
  }
  d.flip = d.flip * r.from / r.to;
  t.new_object<MemDesc>(in.result()) = d;
  return next(in);
}

// ---- gather and scatter along one dimension

struct Gather {
  const MemView* view;
  int axis;
  bool scatter;
};

bool run_local_gather(Task& t, const Instr& in, const Gather& g) {
  const int64_t n = t.type(in.operand(1)).n, size = g.view->size;
  auto* values = static_cast<std::byte*>(g.scatter ? const_cast<void*>(t.dense(in.operand(2)))
                                                   : t.new_dense(in.result()));
  Picked picked(t, in, *g.view, g.axis, mem_desc(t, in.operand(0)), in.operand(1));
  for (int64_t i = 0; i < n; i++, values += size) {
    std::byte* p = picked.at(i);
    if (!p) return false;
    std::memcpy(g.scatter ? p : values, g.scatter ? values : p, static_cast<size_t>(size));
  }
  return true;
}

bool static_slice(Lowering& l, const ir::Op& op, const MemView& from, Slice& slice) {
  const size_t rank = from.leading.size() + from.shape.size();
  slice.from = &from;
  if (rank > kMaxMemRank)
    return l.fail(op, "a descriptor of more than " + std::to_string(kMaxMemRank) + " dimensions"), false;
  const auto& to = op.result()->type->shape;
  if (to.size() > rank) return l.fail(op, "a slice of higher rank than what it is a slice of"), false;
  slice.shape.assign(rank - to.size(), 1);
  slice.shape.insert(slice.shape.end(), to.begin(), to.end());
  if (const ir::Attr* offsets = op.attr("offsets")) {
    for (uint64_t bits : offsets->raw) slice.offsets.push_back(static_cast<int32_t>(bits));
    for (const ir::Attr* e : offsets->elements) slice.offsets.push_back(e->integer);
  }
  for (size_t i = 0; i < rank && i < slice.shape.size(); i++) {
    const int64_t whole = i < from.leading.size() ? from.leading[i] : from.shape[i - from.leading.size()];
    if (slice.shape[i] > whole) return l.fail(op, "a slice that is larger than what it is a slice of"), false;
  }
  const size_t given = slice.offsets.empty() ? op.num_operands() - 1 : slice.offsets.size();
  if (given != rank)
    return l.fail(op, "a slice of " + std::to_string(rank) + " dimensions with " + std::to_string(given) +
                          " offsets"),
           false;
  return true;
}

}  // namespace

const Instr* no_element(Task& t, const Instr& in, const MemView& view, int axis, int64_t index,
                        std::vector<int64_t> element) {
  return t.trap(in, exec::TrapKind::kOutOfBounds,
                "index " + std::to_string(index) + " into dimension " + std::to_string(axis) + " of " +
                    std::to_string(view.shape[axis]) + " elements in shared memory",
                std::move(element));
}

Picked::Picked(Task& t, const Instr& in, const MemView& view, int axis, MemDesc d, Slot indices)
    : t_(t),
      in_(in),
      view_(view),
      axis_(axis),
      d_(d),
      type_(t.type(indices)),
      indices_(t, indices),
      base_(SharedState::of(t).bytes(d.base, view.buffer_bytes)),
      index_(view.shape.size()) {}

std::byte* Picked::at(int64_t i) {
  int64_t rest = i;
  for (size_t k = index_.size(); k-- > 0;) index_[k] = rest % type_.shape[k], rest /= type_.shape[k];
  const int64_t index = indices_.integer(i);
  if (index < 0 || index >= view_.shape[axis_]) {
    no_element(t_, in_, view_, axis_, index, index_);
    return nullptr;
  }
  index_[axis_] = index;
  const int64_t place = view_.place_of(index_) ^ d_.flip;
  return base_ + (place + padding_before(view_.encoding, place)) * view_.size;
}

void emit_alloc(Lowering& l, const ir::Op& op, int64_t base, const MemView* view) {
  auto* alloc = l.make<Alloc>(static_cast<uint32_t>(base), nullptr);
  std::vector<Slot> operands;
  if (const ir::Value* init = view ? op.operand_of("src") : nullptr) {
    alloc->plan = l.make<MemPlan>(*view);
    operands.push_back(l.slot(init));
  }
  l.emit<run_alloc>(op, {l.slot(op.result())}, operands, alloc);
}

void lower_local_alloc(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.result(), op);
  if (!view) return;
  emit_alloc(l, op, l.reserve_shared(view->bytes(), 128), view);
}

void lower_local_load(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("src"), op);
  if (!view) return;
  // In the order of memory: most uses want it so.
  auto* plan = l.make<MemPlan>(*view, memory_order(*view));
  l.emit<run_local_load>(op, {l.slot(op.result())}, {l.slot(op.operand_of("src"))},
                         l.make<LocalAccess>(plan, 0));
}

void lower_local_store(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("dst"), op);
  if (!view) return;
  l.emit<run_local_store>(op, {}, {l.slot(op.operand_of("src")), l.slot(op.operand_of("dst"))},
                          l.make<LocalAccess>(l.make<MemPlan>(*view), 1));
}

// Kernels count barriers back from the current one and arrive there only from the second round on.
static bool only_predicated(const ir::Op& op) {
  for (const ir::Use* use = op.result()->first_use; use; use = use->next) {
    const ir::Op& user = *use->user;
    const bool is_arrive = user.name == "ttng.arrive_barrier" && !user.group("pred").empty();
    if (!is_arrive && !(user.name == "ttng.wait_barrier" && !user.group("pred").empty())) return false;
  }
  return true;
}

void lower_memdesc_index(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("src"), op);
  if (!view) return;
  if (view->leading.empty()) {
    if (view->shape.empty()) return l.fail(op, "indexing a descriptor without dimensions");
    l.emit<run_memdesc_row>(op, view);
    return;
  }
  const MemView* one = view->tensor_memory ? mem_view(l, *op.result(), op) : view;
  if (!one) return;
  const int64_t stride = view->tensor_memory ? one->bytes() : view->stride_of_leading(0);
  l.emit<run_memdesc_index>(
      op, l.make<Index>(view->leading[0], stride, only_predicated(op), spacing_of(l, op.operand_of("src"))));
}

void lower_memdesc_subview(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand(0), op);
  if (!view) return;
  auto* slice = l.make<Slice>();
  if (!static_slice(l, op, *view, *slice)) return;
  l.emit<run_memdesc_slice>(op, slice);
}

void lower_memdesc_subslice(Lowering& l, const ir::Op& op) { lower_memdesc_subview(l, op); }

// Same place, other shape or encoding: the result's type tells how to read it.
void lower_memdesc_trans(Lowering& l, const ir::Op& op) { l.alias(op.result(), l.slot(op.operand(0))); }
void lower_memdesc_reshape(Lowering& l, const ir::Op& op) { l.alias(op.result(), l.slot(op.operand(0))); }

namespace {
// The ttg.local_alloc that a view is part of; null where the view is an argument of a block.
const ir::Value* allocation_of(const ir::Value* view) {
  while (const ir::Op* op = view->defining_op) {
    if (op->does(ir::Effect::kAllocates)) return view;
    if (!op->does(ir::Effect::kViews)) return nullptr;
    view = op->operand(0);
  }
  return nullptr;
}

// Bytes of the view's buffers. In tensor memory the type of a ring tells its buffers' number alone: how far
// they lie apart, the types of its buffers say (Meta's fork writes packed f16 as a ring of twice the columns).
int64_t bytes_reached(Lowering& l, const ir::Op& op, const ir::Value& value, const MemView& view) {
  if (!view.tensor_memory || view.leading.empty() || !value.first_use) return view.bytes();
  int64_t most = 0;
  for (const ir::Use* use = value.first_use; use; use = use->next) {
    if (use->user->kind != ir::OpKind::kMemDescIndex) return view.bytes();
    const MemView* buffer = mem_view(l, *use->user->result(), op);
    if (!buffer) return view.bytes();
    most = std::max(most, view.leading[0] * buffer->bytes());
  }
  return most;
}
}  // namespace

void lower_memdesc_reinterpret(Lowering& l, const ir::Op& op) {
  const MemView* from = mem_view(l, *op.operand(0), op);
  const MemView* to = mem_view(l, *op.result(), op);
  if (!from || !to) return;
  if (to->splits() < from->splits())
    return l.fail(op, "each of the cluster's blocks has its own part of the buffer, which is to be read as " +
                          std::to_string(from->splits() / to->splits()) +
                          " copies of one: copies that differ are not supported");
  const Slot view = l.slot(op.operand(0)), result = l.slot(op.result());
  const int64_t bytes = bytes_reached(l, op, *op.result(), *to);
  if (bytes <= from->bytes()) {
    l.emit<run_memdesc_reinterpret>(op, {result}, {view}, l.make<Resize>(from->size, to->size, 0, 0));
    return;
  }
  const ir::Value* allocation = to->tensor_memory ? nullptr : allocation_of(op.operand(0));
  const MemView* whole = allocation ? mem_view(l, *allocation, op) : from;
  if (bytes > whole->bytes())
    return l.fail(
        op, "a buffer of " + std::to_string(whole->bytes()) + " bytes as one of " + std::to_string(bytes));
  l.emit<run_memdesc_reinterpret>(op, {result}, {view, l.slot(allocation)},
                                  l.make<Resize>(from->size, to->size, bytes, whole->bytes()));
}

namespace {
void lower_gather(Lowering& l, const ir::Op& op, bool scatter) {
  const MemView* view = mem_view(l, *op.operand(0), op);
  if (!view) return;
  const auto* gather = l.make<Gather>(view, static_cast<int>(op.int_attr("axis", 0)), scatter);
  if (!view->leading.empty() || gather->axis < 0 || gather->axis >= static_cast<int>(view->shape.size()))
    return l.fail(op, "gathering along a dimension that the encoding does not cover");
  l.emit<run_local_gather>(op, gather);
}
}  // namespace

void lower_local_gather(Lowering& l, const ir::Op& op) { lower_gather(l, op, false); }
void lower_local_scatter(Lowering& l, const ir::Op& op) { lower_gather(l, op, true); }

}  // namespace triton_runner::tile
