// Lowers values that differ between the threads of a program: their numbers, what is computed from these, and
// what only some of them run.
//
//     %tid = gpu.thread_id x            // a tile with an element for each thread of the partition
//     %c = arith.cmpi eq, %tid, %c0     // so is this
//     scf.if %c { tt.store %p, %v }     // by the threads whose element is true
//
// TTGIR has no type for such values: they are scalars. The tile engine gives each of them an element a thread, lowers the ops
// that compute them over these, and runs a branch if any thread takes it. In the branch a store writes the elements that a
// thread there writes: of those that several threads hold, the first of them does. Thread 0 writes a scalar, and arrives at
// mbarriers. Whatever else such a value reaches is an error with its place.
#include <algorithm>
#include <memory>
#include <unordered_set>

#include "machine/threads.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

// ---- instructions over an element a thread

template <class T>
void run_thread_id(Task& t, const Instr& in, const int64_t& first) {
  auto* out = t.new_dense<T>(in.result());
  for (int64_t i = 0; i < t.type(in.result()).n; ++i) out[i] = static_cast<T>(first + i);
}

struct WarpNumbers {
  int32_t first, warp_size;
};
void run_warp_numbers(Task& t, const Instr& in, const WarpNumbers& w) {
  auto* out = t.new_dense<int32_t>(in.result());
  for (int64_t i = 0; i < t.type(in.result()).n; ++i)
    out[i] = w.first + static_cast<int32_t>(i) / w.warp_size;
}

// The threads for which the condition is what the branch asks for, of those that are in the branch around it.
void run_take(Task& t, const Instr& in, const uint8_t& when) {
  const auto* condition = t.dense<uint8_t>(in.operand(0));
  const auto* around = in.num_operands > 1 ? t.dense<uint8_t>(in.operand(1)) : nullptr;
  auto* out = t.new_dense<uint8_t>(in.result());
  for (int64_t i = 0; i < t.type(in.result()).n; ++i)
    out[i] = (condition[i] != 0) == (when != 0) && (!around || around[i]);
}

void run_any(Task& t, const Instr& in) {
  const auto* on = t.dense<uint8_t>(in.operand(0));
  const int64_t n = t.type(in.operand(0)).n;
  t.set_uniform(in.result(), std::any_of(on, on + n, [](uint8_t b) { return b != 0; }));
}

// The result is what thread 0 has.
void run_first(Task& t, const Instr& in) { t.set_uniform_from(in.result(), t.dense(in.operand(0))); }

// The elements that a thread of the branch stores, by the number of the first thread that holds each.
void run_owned(Task& t, const Instr& in, const std::vector<int32_t>& owner) {
  const auto* on = t.dense<uint8_t>(in.operand(0));
  const auto* mask = in.num_operands > 1 ? t.dense<uint8_t>(in.operand(1)) : nullptr;
  auto* out = t.new_dense<uint8_t>(in.result());
  for (size_t i = 0; i < owner.size(); ++i) out[i] = on[owner[i]] && (!mask || mask[i]);
}

// ---- lowering

using enum ir::Effect;

bool is_thread_number(const ir::Op& op) {
  return op.kind == ir::OpKind::kGpuThreadId || op.kind == ir::OpKind::kRocdlWorkitemIdX;
}

class Apart {
 public:
  explicit Apart(Lowering& l) : l_(l) {}

  void find(const ir::Region& region, bool inside) {
    for (const ir::Block* block = region.first; block; block = block->next)
      for (const ir::Op* op = block->first; op; op = op->next) visit(*op, inside);
  }

  std::shared_ptr<Apart> self;  // what replaces ops keeps it

 private:
  bool differs(const ir::Value& v) const { return values_.contains(&v); }
  bool differs(const ir::Op& op) const {
    return std::ranges::any_of(op.operand_uses, [&](const ir::Use& u) { return differs(*u.value); });
  }
  int64_t threads_of(const ir::Op& op) const { return warps_around(l_.code(), op) * l_.code().warp_size; }

  void visit(const ir::Op& op, bool inside) {
    const bool is_source =
        is_thread_number(op) || (op.kind == ir::OpKind::kWarpId && warps_around(l_.code(), op) != 1);
    const bool from_threads = differs(op);
    if (is_source || (from_threads && is_of_each_thread(op))) return lower_apart(op);
    if (op.kind == ir::OpKind::kIf && from_threads) return visit_branch(op);
    if (from_threads && op.effects().any(kHint)) return;  // amdg.cond_barrier
    if (op.kind == ir::OpKind::kStore && (from_threads || inside)) return visit_store(op, inside);
    if (from_threads)
      return l_.fail(op, std::string(op.name) +
                             " of a value that differs between the threads of a program is not supported");
    if (inside && is_by_thread_zero(op))
      return replace(op, [](Apart& a, const ir::Op& o) {
        const Label end = a.l_.new_label();
        a.l_.jump_if(a.first(a.active_, o), false, end, o);
        a.l_.lower_row(o);
        a.l_.bind(end);
      });
    if (inside && !may_be_inside(op))
      return l_.fail(op, std::string(op.name) + " in a branch that only some threads take is not supported");
    for (const ir::Region* region : op.regions) find(*region, inside);
  }

  // Computed by each thread from what it has.
  static bool is_of_each_thread(const ir::Op& op) {
    const bool scalars = std::ranges::all_of(
        op.results, [](const ir::Value& v) { return v.type->kind != ir::TypeKind::kTensor; });
    const ir::Effects does = op.effects();
    return scalars && !op.results.empty() &&
           (op.kind == ir::OpKind::kVoteBallotSync ||
            (does.any(kElementwise) && !does.any(kLoads | kAtomics)));
  }
  // One thread does it for all, and nobody looks at what it gives.
  static bool is_by_thread_zero(const ir::Op& op) {
    const ir::Effects does = op.effects();
    if (does.all(kBarrier | kSignals) && !does.any(kAsync | kGroup | kTensorCore))
      return !op.attr("perThread");
    return does.any(kAtomics) && op.operand(0)->type->kind != ir::TypeKind::kTensor &&
           std::ranges::all_of(op.results, [](const ir::Value& v) { return !v.first_use; });
  }
  // Tells whether it does not matter which threads run it.
  static bool may_be_inside(const ir::Op& op) {
    const ir::Effects does = op.effects();
    if (op.kind == ir::OpKind::kClock64 || does.any(kEnds | kReports | kHint)) return true;
    if (does.any(kPasses)) return !does.any(kWaits);
    return does.any(kElementwise | kMoves | kGenerates | kLazy) && !does.any(kLoads | kStores | kAtomics);
  }

  void replace(const ir::Op& op, void (*lower)(Apart&, const ir::Op&)) {
    l_.replace(op, [a = self, lower](const ir::Op& o) { lower(*a, o); });
  }

  void lower_apart(const ir::Op& op) {
    for (const ir::Value& v : op.results) values_.insert(&v);
    replace(op, [](Apart& a, const ir::Op& o) { a.l_.lower_row(o, a.threads_of(o)); });
  }

  void visit_branch(const ir::Op& op) {
    if (!op.results.empty())
      return l_.fail(op, "values of a branch that only some threads take are not supported");
    replace(op, [](Apart& a, const ir::Op& o) { a.branch(o); });
    for (const ir::Region* region : op.regions) find(*region, true);
  }

  void visit_store(const ir::Op& op, bool inside) {
    const bool tensor = op.operand(0)->type->kind == ir::TypeKind::kTensor;
    if (tensor && (differs(op) || !inside)) return;  // a tensor is never one of these values
    replace(op, [](Apart& a, const ir::Op& o) { a.store(o); });
  }

  Slot first(Slot lanes, const ir::Op& op) {
    const TileType& type = *l_.type_of(lanes);
    const Slot out = l_.new_slot(type.ir ? l_.type(type.ir) : l_.tile_type(type.element, {}));
    l_.emit<run_first>(op, {out}, {lanes});
    return out;
  }
  Slot scalar(const ir::Value& v, const ir::Op& op) {
    return differs(v) ? first(l_.slot(&v), op) : l_.slot(&v);
  }

  void branch(const ir::Op& op) {
    const Slot condition = l_.slot(op.operand(0)), around = active_;
    for (uint32_t side = 0; side < op.regions.size(); ++side) {
      if (!op.region(side)->first) continue;
      std::vector<Slot> operands{condition};
      if (around != kNone) operands.push_back(around);
      active_ = l_.new_slot(l_.tile_type(num::Type::kI1, {l_.type_of(condition)->n}));
      l_.emit<run_take>(op, {active_}, operands, l_.make<uint8_t>(side == 0));
      const Slot any = l_.new_slot(l_.tile_type(num::Type::kI1, {}));
      l_.emit<run_any>(op, {any}, {active_});
      const Label after = l_.new_label();
      l_.jump_if(any, false, after, op);
      l_.lower_region(*op.region(side), std::vector<Slot>{}, after);
      l_.bind(after);
    }
    active_ = around;
  }

  void store(const ir::Op& op) {
    const ir::Value &ptr = *op.operand(0), &value = *op.operand(1);
    const ir::Value* mask = op.operand_of("mask");
    if (ptr.type->kind == ir::TypeKind::kTensor) return store_owned(op, ptr, value, mask);
    const Label end = l_.new_label();
    if (active_ != kNone) l_.jump_if(first(active_, op), false, end, op);
    emit_store(l_, op, scalar(ptr, op), scalar(value, op),
               mask ? std::optional(scalar(*mask, op)) : std::nullopt);
    l_.bind(end);
  }

  void store_owned(const ir::Op& op, const ir::Value& ptr, const ir::Value& value, const ir::Value* mask) {
    auto held = thread_elements(l_, op, *ptr.type);
    if (!held) return;
    const int64_t threads = held->lanes * held->warps;
    if (held->blocks != 1 || threads != l_.type_of(active_)->n)
      return l_.fail(op, "a store by some threads of a cluster that is one program is not supported");
    auto* owner = l_.make<std::vector<int32_t>>();
    owner->assign(static_cast<size_t>(ptr.type->num_elements()), static_cast<int32_t>(threads));
    for (size_t i = 0; i < held->element.size(); ++i) {
      int32_t& first = (*owner)[static_cast<size_t>(held->element[i])];
      first = std::min(first, static_cast<int32_t>(static_cast<int64_t>(i) / held->registers));
    }
    std::vector<Slot> operands{active_};
    if (mask) operands.push_back(l_.slot(mask));
    const Slot owned =
        l_.new_slot(l_.tile_type(num::Type::kI1, {ptr.type->shape.begin(), ptr.type->shape.end()}));
    l_.emit<run_owned>(op, {owned}, operands, owner);
    emit_store(l_, op, l_.slot(&ptr), l_.slot(&value), owned);
  }

  static constexpr Slot kNone = ~Slot{0};
  Lowering& l_;
  std::unordered_set<const ir::Value*> values_;
  Slot active_ = kNone;  // while a branch is lowered: which threads take it
};

bool has_threads(const ir::Region& region) {
  for (const ir::Block* block = region.first; block; block = block->next)
    for (const ir::Op* op = block->first; op; op = op->next) {
      if (is_thread_number(*op) || op->kind == ir::OpKind::kWarpId) return true;
      for (const ir::Region* inner : op->regions)
        if (has_threads(*inner)) return true;
    }
  return false;
}

}  // namespace

void find_threads_apart(Lowering& lowering, const ir::Region& region) {
  if (!has_threads(region)) return;
  auto apart = std::make_shared<Apart>(lowering);
  apart->self = apart;
  apart->find(region, false);
  apart->self = nullptr;
}

namespace {

template <class T>
void lower_number(Lowering& l, const ir::Op& op) {
  if (l.lanes() == 0)
    return l.fail(op, "the numbers of threads in a function that is called are not supported");
  l.emit<run_thread_id<T>>(op, l.make<int64_t>(first_warp(l.code(), op) * l.code().warp_size));
}

}  // namespace

void lower_thread_id(Lowering& l, const ir::Op& op) {
  if (l.lanes() != 0 && op.int_attr("dimension", 0) != 0)
    return void(l.emit(run_zero, op));  // blocks of threads are rows
  lower_number<int64_t>(l, op);
}

void lower_workitem_id(Lowering& l, const ir::Op& op) { lower_number<int32_t>(l, op); }

// The number within the partition.
void lower_warp_id(Lowering& l, const ir::Op& op) {
  if (l.lanes() == 0) {
    if (warps_around(l.code(), op) == 1) return void(l.emit(run_zero, op));
    return l.fail(op, "the numbers of warps in a function that is called are not supported");
  }
  l.emit<run_warp_numbers>(op, l.make<WarpNumbers>(0, static_cast<int32_t>(l.code().warp_size)));
}

}  // namespace triton_runner::tile
