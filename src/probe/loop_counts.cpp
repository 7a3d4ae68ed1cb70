#include "loop_counts.h"

#include <algorithm>

#include <triton_runner/ir/enums.h>

namespace triton_runner::probe {
namespace {

using ir::OpKind;
constexpr int kDeepest = 200;           // ops in a chain
constexpr int64_t kBudget = 4'000'000;  // values that counting one nest of loops may compute

// A value as its type holds it: sign-extended.
int64_t wrap(int64_t x, unsigned width) {
  if (width == 0 || width >= 64) return x;
  if (width == 1) return x & 1;
  const int shift = 64 - static_cast<int>(width);
  return static_cast<int64_t>(static_cast<uint64_t>(x) << shift) >> shift;
}
uint64_t unsigned_of(int64_t x, unsigned width) {
  return width >= 64 ? static_cast<uint64_t>(x) : static_cast<uint64_t>(x) & ((uint64_t{1} << width) - 1);
}
int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

std::optional<int64_t> binary(OpKind kind, int64_t a, int64_t b, unsigned width) {
  const uint64_t ua = unsigned_of(a, width), ub = unsigned_of(b, width);
  const auto as = [](uint64_t x) { return static_cast<int64_t>(x); };
  const bool divides = b != 0 && !(b == -1 && a == INT64_MIN);
  switch (kind) {
    case OpKind::kAddI:
      return as(ua + ub);
    case OpKind::kSubI:
      return as(ua - ub);
    case OpKind::kMulI:
      return as(ua * ub);
    case OpKind::kDivSI:
      return divides ? std::optional(a / b) : std::nullopt;
    case OpKind::kRemSI:
      return divides ? std::optional(a % b) : std::nullopt;
    case OpKind::kCeilDivSI:
      return divides ? std::optional(-floor_div(-a, b)) : std::nullopt;
    case OpKind::kFloorDivSI:
      return divides ? std::optional(floor_div(a, b)) : std::nullopt;
    case OpKind::kDivUI:
      return ub ? std::optional(as(ua / ub)) : std::nullopt;
    case OpKind::kRemUI:
      return ub ? std::optional(as(ua % ub)) : std::nullopt;
    case OpKind::kMinSI:
      return std::min(a, b);
    case OpKind::kMaxSI:
      return std::max(a, b);
    case OpKind::kMinUI:
      return as(std::min(ua, ub));
    case OpKind::kMaxUI:
      return as(std::max(ua, ub));
    case OpKind::kAndI:
      return a & b;
    case OpKind::kOrI:
      return a | b;
    case OpKind::kXOrI:
      return a ^ b;
    case OpKind::kShLI:
      return ub < width ? std::optional(as(ua << ub)) : std::nullopt;
    case OpKind::kShRSI:
      return ub < width ? std::optional(a >> ub) : std::nullopt;
    case OpKind::kShRUI:
      return ub < width ? std::optional(as(ua >> ub)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool compare(ir::CmpI predicate, int64_t a, int64_t b, unsigned width) {
  const uint64_t ua = unsigned_of(a, width), ub = unsigned_of(b, width);
  switch (predicate) {
    case ir::CmpI::kEq:
      return a == b;
    case ir::CmpI::kNe:
      return a != b;
    case ir::CmpI::kSlt:
      return a < b;
    case ir::CmpI::kSle:
      return a <= b;
    case ir::CmpI::kSgt:
      return a > b;
    case ir::CmpI::kSge:
      return a >= b;
    case ir::CmpI::kUlt:
      return ua < ub;
    case ir::CmpI::kUle:
      return ua <= ub;
    case ir::CmpI::kUgt:
      return ua > ub;
    default:
      return ua >= ub;
  }
}

}  // namespace

Arithmetic::Arithmetic(const ir::Op& kernel, std::array<int64_t, 3> grid,
                       std::span<const std::optional<int64_t>> arguments)
    : grid_(grid) {
  const ir::Block* body = kernel.region()->first;
  if (!body) return;
  for (size_t i = 0; i < body->args.size() && i < arguments.size(); ++i)
    if (arguments[i])
      known_[&body->args[i]] = wrap(
          *arguments[i], body->args[i].type->kind == ir::TypeKind::kInteger ? body->args[i].type->width : 64);
}

std::optional<int64_t> Arithmetic::value(const ir::Value* value, int64_t program) {
  program_ = program;
  budget_ = kBudget;
  return compute(value, 0);
}

std::optional<int64_t> Arithmetic::compute(const ir::Value* value, int depth) {
  if (depth > kDeepest || --budget_ < 0) return std::nullopt;
  if (auto it = known_.find(value); it != known_.end()) return it->second;
  const ir::Op* op = value->defining_op;
  if (!op) {  // what a partition captures is the operand of its op
    const ir::Op* holder = value->block->region->parent;
    if (!holder || holder->kind != OpKind::kWarpSpecializePartitions) return std::nullopt;
    const ir::Op* outer = holder->block->region->parent;
    return value->index < outer->num_operands() ? compute(outer->operand(value->index), depth + 1)
                                                : std::nullopt;
  }
  const unsigned width = value->type->kind == ir::TypeKind::kInteger ? value->type->width : 64;
  switch (op->kind) {
    case OpKind::kConstant: {
      const ir::Attr* a = op->attr("value");
      if (!a || (a->kind != ir::AttrKind::kInteger && a->kind != ir::AttrKind::kBool)) return std::nullopt;
      return wrap(a->integer, width);
    }
    case OpKind::kGetNumPrograms:
      return grid_[static_cast<size_t>(op->int_attr("axis", 0)) % 3];
    case OpKind::kGetProgramId: {
      const int64_t axis = op->int_attr("axis", 0);
      if (grid_[static_cast<size_t>(axis) % 3] == 1) return 0;
      if (program_ == kAnyProgram) return std::nullopt;
      return axis == 0   ? program_ % grid_[0]
             : axis == 1 ? program_ / grid_[0] % grid_[1]
                         : program_ / (grid_[0] * grid_[1]);
    }
    case OpKind::kExtSI:
    case OpKind::kTruncI:
    case OpKind::kIndexCast: {
      auto x = compute(op->operand(0), depth + 1);
      return x ? std::optional(wrap(*x, width)) : std::nullopt;
    }
    case OpKind::kExtUI:
    case OpKind::kIndexCastUI: {
      auto x = compute(op->operand(0), depth + 1);
      const ir::Type* from = op->operand(0)->type;
      return x ? std::optional(static_cast<int64_t>(
                     unsigned_of(*x, from->kind == ir::TypeKind::kInteger ? from->width : 64)))
               : std::nullopt;
    }
    case OpKind::kSelect: {
      auto condition = compute(op->operand(0), depth + 1);
      return condition ? compute(op->operand(*condition ? 1 : 2), depth + 1) : std::nullopt;
    }
    case OpKind::kCmpI: {
      auto a = compute(op->operand(0), depth + 1), b = compute(op->operand(1), depth + 1);
      if (!a || !b) return std::nullopt;
      const ir::Type* from = op->operand(0)->type;
      return compare(op->enum_attr<ir::CmpI>("predicate"), *a, *b,
                     from->kind == ir::TypeKind::kInteger ? from->width : 64);
    }
    default: {
      if (op->num_operands() != 2 || op->results.size() != 1 ||
          (value->type->kind != ir::TypeKind::kInteger && value->type->kind != ir::TypeKind::kIndex) ||
          !op->name.starts_with("arith."))
        return std::nullopt;
      auto a = compute(op->operand(0), depth + 1), b = compute(op->operand(1), depth + 1);
      if (!a || !b) return std::nullopt;
      auto r = binary(op->kind, *a, *b, width);
      return r ? std::optional(wrap(*r, width)) : std::nullopt;
    }
  }
}

// Whether all of loops[at...] could be counted for the program and the outer iterations that are set.
bool Arithmetic::count(std::span<const ir::Op* const> loops, size_t at, std::vector<int64_t>& most) {
  if (at == loops.size()) return true;
  const ir::Op* loop = loops[at];
  if (loop->kind != OpKind::kFor) return false;
  auto lower = compute(loop->operand_of("lower"), 0), upper = compute(loop->operand_of("upper"), 0),
       step = compute(loop->operand_of("step"), 0);
  if (!lower || !upper || !step || *step <= 0) return false;
  const int64_t trips = *upper > *lower ? (*upper - *lower + *step - 1) / *step : 0;
  most[at] = std::max(most[at], trips);
  if (at + 1 == loops.size() || trips == 0) return true;
  const ir::Value* induction = &loop->region()->first->args[0];
  known_.erase(induction);
  std::vector<int64_t> inner = most;
  if (count(loops, at + 1, inner)) {  // the same whatever the iteration
    most = inner;
    return true;
  }
  bool all = true;
  for (int64_t i = 0; i < trips && all; ++i) {
    known_[induction] = *lower + i * *step;
    all = count(loops, at + 1, most);
  }
  known_.erase(induction);
  return all;
}

std::vector<int64_t> Arithmetic::trip_counts(std::span<const ir::Op* const> loops) {
  std::vector<int64_t> result(loops.size(), 0);
  for (size_t n = loops.size(); n > 0; --n) {  // as many of the outer loops as can be counted
    auto nest = loops.first(n);
    std::vector<int64_t> most(n, 0);
    program_ = kAnyProgram;
    budget_ = kBudget;
    bool all = count(nest, 0, most);
    if (!all) {
      most.assign(n, 0);
      budget_ = kBudget;
      all = true;
      for (program_ = 0; program_ < grid_[0] * grid_[1] * grid_[2] && all; ++program_)
        all = count(nest, 0, most);
    }
    if (all) {
      std::copy(most.begin(), most.end(), result.begin());
      for (size_t i = 0; i < n; ++i) result[i] = std::max<int64_t>(1, result[i]);
      return result;
    }
  }
  // An inner loop may be countable although an outer one is not.
  for (size_t i = 0; i < loops.size(); ++i)
    if (!result[i] && loops.size() > 1) result[i] = trip_counts(loops.subspan(i, 1))[0];
  return result;
}

}  // namespace triton_runner::probe
