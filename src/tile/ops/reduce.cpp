// Lowers tt.reduce and tt.scan. A combine function that is one known op runs as num's loop. Any other is
// lowered with its scalars as whole tiles: a reduction folds halves in log2(n) rounds, a scan doubles its
// distance each round. A function with control flow of its own, which elements may take differently, runs
// element by element.
#include <algorithm>
#include <cstring>

#include <triton_runner/base/look_up.h>
#include <triton_runner/ir/enums.h>
#include <triton_runner/num/kernels.h>

#include "lowering.h"
#include "ops/combine.h"
#include "ops/reduce.h"
#include "ops/rounds.h"

namespace triton_runner::tile {
namespace {

struct ReduceData {
  Axis axis;
  uint32_t count;  // operands
  bool reverse = false;
  num::ReduceFn reduce = nullptr;  // known combiners
  num::ReducePartFn part = nullptr;
  num::ScanFn scan = nullptr;
  num::ArgReduceFn arg = nullptr;
  bool tie_break_left = false;
  Slot column = 0, step = 0;  // run_sequential's counters
  std::vector<Level> levels;  // in the order in which they are used
};

// The one op of a region that combines its two arguments, or null.
const ir::Op* only_op(const ir::Region& region) {
  const ir::Block& b = *region.first;
  if (b.next || b.args.size() != 2 || !b.first || b.first == b.last || b.first->next != b.last)
    return nullptr;
  const ir::Op& op = *b.first;
  if (op.num_operands() != 2 || op.results.size() != 1 || b.last->num_operands() != 1 ||
      b.last->operand(0) != op.result())
    return nullptr;
  bool straight = op.operand(0) == &b.args[0] && op.operand(1) == &b.args[1];
  bool crossed = op.operand(0) == &b.args[1] && op.operand(1) == &b.args[0];
  return straight || crossed ? &op : nullptr;
}

std::optional<num::ReduceOp> known_combiner(const ir::Region& region) {
  const ir::Op* op = only_op(region);
  if (!op) return std::nullopt;
  using enum ir::OpKind;
  using R = num::ReduceOp;
  static constexpr std::pair<ir::OpKind, R> kKnown[] = {
      {kAddI, R::kAddI},      {kMulI, R::kMulI},        {kAndI, R::kAnd},         {kOrI, R::kOr},
      {kXOrI, R::kXor},       {kMaxSI, R::kMaxS},       {kMaxUI, R::kMaxU},       {kMinSI, R::kMinS},
      {kMinUI, R::kMinU},     {kAddF, R::kAddF},        {kMulF, R::kMulF},        {kMaxNumF, R::kMaxNum},
      {kMinNumF, R::kMinNum}, {kMaximumF, R::kMaximum}, {kMinimumF, R::kMinimum},
  };
  return base::look_up(kKnown, op->kind);
}

// tl.argmax and tl.argmin: "left if its value is better, or equal with a smaller index" on (value, index)
// pairs.
std::optional<num::ArgOp> known_arg(const ir::Region& region, bool* tie_break_left) {
  const ir::Block& b = *region.first;
  if (b.next || b.args.size() != 4 || !b.last || b.last->num_operands() != 2) return std::nullopt;
  const ir::Value *v1 = &b.args[0], *i1 = &b.args[1], *v2 = &b.args[2], *i2 = &b.args[3];
  auto made_by = [](const ir::Value* v, ir::OpKind kind) {
    return v->defining_op && v->defining_op->kind == kind ? v->defining_op : nullptr;
  };
  const ir::Op* sv = made_by(b.last->operand(0), ir::OpKind::kSelect);
  const ir::Op* si = made_by(b.last->operand(1), ir::OpKind::kSelect);
  if (!sv || !si || sv->operand(0) != si->operand(0)) return std::nullopt;
  if (sv->operand(1) != v1 || sv->operand(2) != v2 || si->operand(1) != i1 || si->operand(2) != i2)
    return std::nullopt;
  size_t ops = 0;
  for (const ir::Op* op = b.first; op; op = op->next) ++ops;
  auto compares = [](const ir::Op* op, const ir::Value* a, const ir::Value* c) {
    return op && op->operand(0) == a && op->operand(1) == c;
  };
  using ir::CmpF, ir::CmpI;
  auto integers = [](const ir::Op& op) { return op.enum_attr<CmpI>("predicate"); };
  auto floats = [](const ir::Op& op) { return op.enum_attr<CmpF>("predicate"); };
  const ir::Value* better = sv->operand(0);
  *tie_break_left = false;
  if (const ir::Op* either = made_by(better, ir::OpKind::kOrI)) {
    const ir::Value* tie = either->operand(1);
    better = either->operand(0);
    if (!made_by(tie, ir::OpKind::kAndI)) std::swap(tie, better);
    const ir::Op* both = made_by(tie, ir::OpKind::kAndI);
    if (!both || ops != 8) return std::nullopt;
    const ir::Op* equal = both->operand(0)->defining_op;
    const ir::Op* first = made_by(both->operand(1), ir::OpKind::kCmpI);
    if (!compares(equal, v1, v2) || !compares(first, i1, i2) || integers(*first) != CmpI::kSlt)
      return std::nullopt;
    bool is_equal = (equal->kind == ir::OpKind::kCmpF && floats(*equal) == CmpF::kOeq) ||
                    (equal->kind == ir::OpKind::kCmpI && integers(*equal) == CmpI::kEq);
    if (!is_equal) return std::nullopt;
    *tie_break_left = true;
  } else if (ops != 4) {
    return std::nullopt;
  }
  const ir::Op* cmp = better->defining_op;
  if (!compares(cmp, v1, v2)) return std::nullopt;
  if (cmp->kind == ir::OpKind::kCmpF) {
    if (floats(*cmp) == CmpF::kOgt) return num::ArgOp::kMaxF;
    if (floats(*cmp) == CmpF::kOlt) return num::ArgOp::kMinF;
  } else if (cmp->kind == ir::OpKind::kCmpI) {
    if (integers(*cmp) == CmpI::kSgt) return num::ArgOp::kMaxS;
    if (integers(*cmp) == CmpI::kSlt) return num::ArgOp::kMinS;
    if (integers(*cmp) == CmpI::kUgt) return num::ArgOp::kMaxU;
    if (integers(*cmp) == CmpI::kUlt) return num::ArgOp::kMinU;
  }
  return std::nullopt;
}

// Copies `count` steps of the axis, from `start`, of each outer row: [outer, length, inner] -> [outer,
// count, inner].
void take(void* out, const void* in, const Axis& a, int64_t start, int64_t count, int64_t size) {
  int64_t step = a.inner * size;
  num::copy_rows(out, count * step, static_cast<const std::byte*>(in) + start * step, a.length * step,
                 a.outer, count * step);
}

void put(void* out, const Axis& a, int64_t start, int64_t count, const void* in, int64_t size) {
  int64_t step = a.inner * size;
  num::copy_rows(static_cast<std::byte*>(out) + start * step, a.length * step, in, count * step, a.outer,
                 count * step);
}

void run_known_reduce(Task& t, const Instr& in, const ReduceData& d) {
  const void* from = t.dense(in.operand(0));
  const Slot r = in.result();
  const bool scalar = t.type(r).rank == 0;
  alignas(8) std::byte element[8];
  d.reduce(scalar ? element : t.new_dense(r), from, d.axis.outer, d.axis.length, d.axis.inner);
  if (scalar) t.set_uniform_from(r, element);
}

void run_known_arg(Task& t, const Instr& in, const ReduceData& d) {
  const void* values = t.dense(in.operand(0));
  const auto* indices = t.dense<int32_t>(in.operand(1));
  const bool scalar = t.type(in.result()).rank == 0;
  alignas(8) std::byte value[8];
  int32_t index;
  d.arg(scalar ? value : t.new_dense(in.result(0)), scalar ? &index : t.new_dense<int32_t>(in.result(1)),
        values, indices, d.axis.outer, d.axis.length, d.axis.inner, d.tie_break_left);
  if (scalar) t.set_uniform_from(in.result(0), value), t.set_uniform(in.result(1), index);
}

void run_known_scan(Task& t, const Instr& in, const ReduceData& d) {
  const void* from = t.dense(in.operand(0));
  d.scan(t.new_dense(in.result()), from, d.axis.outer, d.axis.length, d.axis.inner, d.reverse);
}

const Instr* run_reduce(Task& t, const Instr& in, const ReduceData& d) {
  BufferPool& pool = *t.worker->pool;
  Tiles now(t);
  now.copy_operands(in, d.count);
  Axis a = d.axis;
  for (const Level& level : d.levels) {
    int64_t half = a.length / 2, rest = a.length - 2 * half;
    Combination c(t, in, d.count, level.n);
    for (uint32_t i = 0; i < d.count; ++i) {
      int64_t size = t.type(in.operand(i)).size;
      take(c.left.data(i), now.data(i), a, 0, half, size);
      take(c.right.data(i), now.data(i), a, half, half, size);
    }
    if (!c.run(level)) return nullptr;
    Axis shorter{a.outer, half + rest, a.inner};
    for (uint32_t i = 0; i < d.count; ++i) {
      int64_t size = t.type(in.operand(i)).size;
      if (rest) {
        Buffer* joined = pool.allocate(a.outer * shorter.length * a.inner * size);
        put(joined->data(), shorter, 0, half, c.combined.data(i), size);
        Buffer* last = pool.allocate(a.outer * a.inner * size);
        take(last->data(), now.data(i), a, a.length - 1, 1, size);
        put(joined->data(), shorter, half, 1, last->data(), size);
        pool.release(last);
        std::swap(now.buffers[i], joined);
        pool.release(joined);
      } else {
        std::swap(now.buffers[i], c.combined.buffers[i]);
      }
    }
    a = shorter;
  }
  for (uint32_t i = 0; i < d.count; ++i) give(t, in.result(i), now.data(i));
  return next(in);
}

void flip(void* out, const void* in, const Axis& a, int64_t size) {
  int64_t step = a.inner * size;
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t k = 0; k < a.length; ++k)
      std::memcpy(static_cast<std::byte*>(out) + (o * a.length + k) * step,
                  static_cast<const std::byte*>(in) + (o * a.length + a.length - 1 - k) * step, step);
}

const Instr* run_scan(Task& t, const Instr& in, const ReduceData& d) {
  const Axis& a = d.axis;
  Tiles now(t);
  now.copy_operands(in, d.count, [&](void* to, const void* from, const TileType& ty) {
    d.reverse ? flip(to, from, a, ty.size) : void(std::memcpy(to, from, ty.bytes));
  });
  int64_t distance = 1;
  for (const Level& level : d.levels) {
    int64_t count = a.length - distance;
    Combination c(t, in, d.count, level.n);
    for (uint32_t i = 0; i < d.count; ++i) {
      int64_t size = t.type(in.operand(i)).size;
      take(c.left.data(i), now.data(i), a, 0, count, size);
      take(c.right.data(i), now.data(i), a, distance, count, size);
    }
    if (!c.run(level)) return nullptr;
    for (uint32_t i = 0; i < d.count; ++i)
      put(now.data(i), a, distance, count, c.combined.data(i), t.type(in.operand(i)).size);
    distance *= 2;
  }
  for (uint32_t i = 0; i < d.count; ++i) {
    const TileType& ty = t.type(in.operand(i));
    void* out = t.new_dense(in.result(i));
    if (d.reverse)
      flip(out, now.data(i), a, ty.size);
    else
      std::memcpy(out, now.data(i), ty.bytes);
  }
  return next(in);
}

// Element by element: `scan` keeps every intermediate result. levels[0] takes scalars.
template <bool kScan>
const Instr* run_sequential(Task& t, const Instr& in, const ReduceData& d) {
  const Level& level = d.levels[0];
  const Axis& a = d.axis;
  std::vector<const std::byte*> from(d.count);
  Tiles hold(t);
  for (uint32_t i = 0; i < d.count; ++i) {
    from[i] = t.dense<std::byte>(in.operand(i));
    const TileType& ty = t.type(in.operand(i));
    hold.buffers.push_back(t.worker->pool->allocate(kScan ? ty.bytes : ty.bytes / a.length));
  }
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t c = 0; c < a.inner; ++c) {
      std::vector<int64_t> state(d.count);
      for (int64_t step = 0; step < a.length; ++step) {
        int64_t k = d.reverse ? a.length - 1 - step : step;
        int64_t at = (o * a.length + k) * a.inner + c;
        for (uint32_t i = 0; i < d.count; ++i) {
          Slot arg = level.args[step ? d.count + i : i];
          t.set_uniform_from(arg, from[i] + at * t.type(arg).size);
          if (step) t.set_uniform(level.args[i], state[i]);
        }
        t.set_uniform(d.column, o * a.inner + c);
        t.set_uniform(d.step, step - 1);
        if (step && !t.call(*level.entry)) return nullptr;
        for (uint32_t i = 0; i < d.count; ++i) {
          state[i] = t.bits(step ? level.results[i] : level.args[i]);
          const TileType& ty = t.type(level.args[i]);
          if (kScan || step == a.length - 1)
            num::store_bits(hold.data(i) + (kScan ? at : o * a.inner + c) * ty.size, ty.element,
                            static_cast<uint64_t>(state[i]));
        }
      }
    }
  for (uint32_t i = 0; i < d.count; ++i) give(t, in.result(i), hold.data(i));
  return next(in);
}

bool prepare(Lowering& l, const ir::Op& op, ReduceData* d) {
  int64_t axis = op.int_attr("axis", 0);
  const TileType& first = *l.type_of(op.operand(0));
  if (axis < 0 || axis >= first.rank)
    return l.fail(op, "axis " + std::to_string(axis) + " is not a dimension of the operand"), false;
  d->axis = axis_of(first, axis);
  d->count = op.num_operands();
  d->reverse = op.int_attr("reverse", 0) != 0;
  return true;
}

// In which order a probe sees a known function at work; none where num does not compute what the function
// says: sums and products of 16 bits are f32 until the end.
std::optional<Order> order_of(num::ReduceOp op, num::Type element, const Axis& axis, bool scan) {
  if (op != num::ReduceOp::kAddF && op != num::ReduceOp::kMulF) return scan ? Order::kChain : Order::kHalves;
  if (element != num::Type::kF32 && element != num::Type::kF64) return std::nullopt;
  if (axis.inner > 1) return Order::kChain;
  return scan ? Order::kGroups : Order::kStreams;
}

// A function with control flow or tiles of its own, for one element at a time:
// which one, and its step along the axis, count as loops.
void make_scalar_level(Lowering& l, const ir::Region& region, ReduceData* d, std::vector<Slot>* operands) {
  d->column = l.begin_loop();
  d->step = l.begin_loop();
  d->levels.push_back(make_level(l, region, 0, operands));
  l.end_loop();
  l.end_loop();
}

}  // namespace

RowReduce row_reduce(const Instr& in) {
  const auto& d = in.as<ReduceData>();
  return {d.axis.inner == 1 ? d.reduce : nullptr, d.part, d.axis.length};
}

namespace {

// The undefined elements along the axis.
struct Undefined {
  Axis axis;
  std::vector<Lanes> from;
  explicit Undefined(ShadowRule& r) : axis(axis_of(r.t.type(r.in.operand(0)), r.in.op->int_attr("axis", 0))) {
    for (uint32_t i = 0; i < r.in.num_operands; ++i) from.push_back(r.lanes(i));
  }
  bool at(int64_t outer, int64_t k, int64_t inner) const {
    const int64_t e = (outer * axis.length + k) * axis.inner + inner;
    return std::ranges::any_of(from, [&](const Lanes& l) { return l.marked(e); });
  }
};

}  // namespace

// By num's loop where the function is one that it knows, else by the function for many elements at once, or,
// where it has control flow, for one after the other.
static void lower_along(Lowering& l, const ir::Op& op, bool scan) {
  auto* d = l.make<ReduceData>();
  if (!prepare(l, op, d)) return;
  const ir::Region& region = *op.region(0);
  const num::Type element = l.type_of(op.operand(0))->element;
  const bool observed = l.observes(region);
  if (auto known = known_combiner(region); known && d->count == 1) {
    d->reduce = scan ? nullptr : num::reduce_fn(*known, element);
    d->scan = scan ? num::scan_fn(*known, element) : nullptr;
    if (d->reduce || d->scan) {
      if (observed)
        if (auto order = order_of(*known, element, d->axis, scan))
          return lower_rounds(l, op, *order, scan, d->reverse);
      if (scan) return void(l.emit<run_known_scan>(op, d));
      d->part = num::reduce_part_fn(*known, element);
      return l.fusible(l.emit<run_known_reduce>(op, d), Fusion::kReduce);
    }
  }
  if (!scan && d->count == 2 && l.type_of(op.operand(1))->element == num::Type::kI32)
    if (auto known = known_arg(region, &d->tie_break_left))
      if ((d->arg = num::arg_reduce_fn(*known, element))) return void(l.emit<run_known_arg>(op, d));
  std::vector<Slot> operands = slots_of(l, op.operand_uses);
  if (needs_scalars(region)) {
    make_scalar_level(l, region, d, &operands);
    l.emit(scan ? handler<run_sequential<true>> : handler<run_sequential<false>>, op, slots_of(l, op.results),
           operands, d);
    return;
  }
  if (observed) return lower_rounds(l, op, scan ? Order::kDoubling : Order::kHalves, scan, d->reverse);
  auto add_level = [&](int64_t steps) {
    d->levels.push_back(make_level(l, region, d->axis.outer * steps * d->axis.inner, &operands));
  };
  if (scan)
    for (int64_t distance = 1; distance < d->axis.length; distance *= 2) add_level(d->axis.length - distance);
  else
    for (int64_t length = d->axis.length; length > 1; length -= length / 2) add_level(length / 2);
  l.emit(scan ? handler<run_scan> : handler<run_reduce>, op, slots_of(l, op.results), operands, d);
}

void lower_reduce(Lowering& l, const ir::Op& op) { lower_along(l, op, false); }
void lower_scan(Lowering& l, const ir::Op& op) { lower_along(l, op, true); }

// An element along the axis is enough.
void shadow_reduce(ShadowRule& r) {
  const Undefined undefined(r);
  const Axis& a = undefined.axis;
  r.results([&](int64_t e) {
    for (int64_t k = 0; k < a.length; ++k)
      if (undefined.at(e / a.inner, k, e % a.inner)) return true;
    return false;
  });
}

// The same, of those that come before.
void shadow_scan(ShadowRule& r) {
  const Undefined undefined(r);
  const Axis& a = undefined.axis;
  const bool reverse = r.in.op->int_attr("reverse", 0) != 0;
  std::vector<uint8_t> bad(static_cast<size_t>(a.outer * a.length * a.inner));
  for (int64_t o = 0; o < a.outer; ++o)
    for (int64_t i = 0; i < a.inner; ++i) {
      bool seen = false;
      for (int64_t n = 0; n < a.length; ++n) {
        const int64_t k = reverse ? a.length - 1 - n : n;
        seen |= undefined.at(o, k, i);
        bad[static_cast<size_t>((o * a.length + k) * a.inner + i)] = seen;
      }
    }
  r.results([&](int64_t e) { return bad[static_cast<size_t>(e)] != 0; });
}

}  // namespace triton_runner::tile
