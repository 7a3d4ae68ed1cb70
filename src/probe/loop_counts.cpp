// Implements Arithmetic: folds the integer ops that a value depends on (tile::fold), and counts how often the
// loops of a nest run.
#include "loop_counts.h"

#include <algorithm>

namespace triton_runner::probe {
namespace {

using ir::OpKind;
constexpr int kDeepest = 200;           // ops in a chain
constexpr int64_t kBudget = 4'000'000;  // values that counting one nest of loops may compute

}  // namespace

Arithmetic::Arithmetic(const ir::Op& kernel, std::array<int64_t, 3> grid,
                       std::span<const std::optional<int64_t>> arguments) {
  this->grid = grid;
  const ir::Block* body = kernel.region()->first;
  if (!body) return;
  for (size_t i = 0; i < body->args.size() && i < arguments.size(); ++i)
    if (arguments[i]) known_[&body->args[i]] = tile::held(*arguments[i], *body->args[i].type);
}

std::optional<int64_t> Arithmetic::value(const ir::Value* value, int64_t program) {
  this->program = program;
  budget_ = kBudget;
  return known(value);
}

std::optional<int64_t> Arithmetic::known(const ir::Value* value) {
  if (auto it = known_.find(value); it != known_.end()) return it->second;
  if (depth_ > kDeepest || --budget_ < 0) return std::nullopt;
  ++depth_;
  const std::optional<int64_t> found = compute(*value);
  --depth_;
  return found;
}

std::optional<int64_t> Arithmetic::compute(const ir::Value& value) {
  if (value.defining_op) return tile::fold(*this, *value.defining_op);
  // A value that a partition captures is the operand of its op.
  const ir::Op* holder = value.block->region->parent;
  if (!holder || holder->kind != OpKind::kWarpSpecializePartitions) return std::nullopt;
  const ir::Op* outer = holder->block->region->parent;
  return value.index < outer->num_operands() ? known(outer->operand(value.index)) : std::nullopt;
}

// Returns whether all of loops[at...] could be counted for the program and the outer iterations that are set.
bool Arithmetic::count(std::span<const ir::Op* const> loops, size_t at, std::vector<int64_t>& most) {
  if (at == loops.size()) return true;
  const ir::Op* loop = loops[at];
  if (loop->kind != OpKind::kFor) return false;
  auto lower = known(loop->operand_of("lower")), upper = known(loop->operand_of("upper")),
       step = known(loop->operand_of("step"));
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
    program = kAnyProgram;
    budget_ = kBudget;
    bool all = count(nest, 0, most);
    if (!all) {
      most.assign(n, 0);
      budget_ = kBudget;
      all = true;
      for (program = 0; program < grid[0] * grid[1] * grid[2] && all; ++program) all = count(nest, 0, most);
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
