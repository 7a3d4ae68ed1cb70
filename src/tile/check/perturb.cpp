// Works out how far each kind of op may be off, and moves its results by a random part of that.
#include "check/perturb.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include <triton_runner/base/look_up.h>
#include <triton_runner/ir/enums.h>

#include "check/substitute.h"
#include "lowering.h"
#include "machine/memdesc.h"
#include "machine/shared_state.h"
#include "ops/dot.h"

namespace triton_runner::tile {
namespace {

using enum ir::Effect;

// Twice the distance of a number to its neighbour, relative to it.
double unit_of(num::Type type) {
  static constexpr std::pair<num::Type, double> kUnits[] = {{num::Type::kF64, 0x1p-51},
                                                            {num::Type::kF32, 0x1p-22},
                                                            {num::Type::kTF32, 0x1p-22},
                                                            {num::Type::kF16, 0x1p-9},
                                                            {num::Type::kBF16, 0x1p-6}};
  return base::look_up(kUnits, type).value_or(0x1p-2);  // fp8
}
constexpr double kFp8Sum = 0x1p-12;         // sums of fp8 products keep 13 bits on Hopper
constexpr double kApproximation = 0x1p-20;  // ex2.approx, rcp.approx, libdevice, in f32

// How far the elements of a result may be off.
struct Errors {
  double unit;                   // relative to the element
  bool of_largest = false;       // relative to the largest element of the result instead
  std::vector<double> absolute;  // in addition, by element; empty: none
};

// An operand as numbers: a tile, or a buffer in shared or tensor memory.
struct Numbers {
  num::Type element;
  std::vector<int64_t> shape;
  std::vector<double> values;

  Numbers(num::Type type, std::vector<int64_t> dims, const std::byte* data, int64_t n)
      : element(type), shape(std::move(dims)), values(static_cast<size_t>(n)) {
    const auto size = static_cast<int64_t>(num::size_of(type));
    for (int64_t i = 0; i < n; ++i) values[i] = num::to_double(num::load_bits(data + i * size, type), type);
  }
};

Numbers numbers_of(Task& t, const Instr& in, uint32_t operand, const MemoryOperand* buffer) {
  const Slot s = in.operand(operand);
  const TileType& type = t.type(s);
  if (!buffer) {
    const Look look(t, s);
    return Numbers(type.element, type.shape, look.data(), type.n);
  }
  Buffer* data = SharedState::of(t).read_planned(*buffer->plan, mem_desc(t, s));
  const auto& shape = in.op->operand(operand)->type->shape;
  Numbers out(buffer->element, {shape.begin(), shape.end()}, data->data(),
              buffer->plan->bytes() / buffer->plan->element_size());
  t.worker->pool->release(data);
  return out;
}

// The elements along an axis: `length` of them that lie `step` apart, from `start(i)` on.
struct RowsAlong {
  int64_t length, step = 1, count = 0;
  RowsAlong(const Numbers& x, int64_t axis) : length(x.shape[axis]) {
    for (size_t d = static_cast<size_t>(axis) + 1; d < x.shape.size(); ++d) step *= x.shape[d];
    if (length) count = static_cast<int64_t>(x.values.size()) / length;
  }
  int64_t start(int64_t i) const { return i / step * step * length + i % step; }
};

// For each row along the axis: the sum of what `f` makes of its elements.
template <class F>
std::vector<double> sums(const Numbers& x, int64_t axis, F f) {
  const RowsAlong rows(x, axis);
  std::vector<double> out(static_cast<size_t>(rows.count));
  for (int64_t i = 0; i < rows.count; ++i)
    for (int64_t k = 0; k < rows.length; ++k) out[i] += f(x.values[rows.start(i) + k * rows.step]);
  return out;
}

bool has_rounding(const ir::Region& region) {
  for (const ir::Block* b = region.first; b; b = b->next)
    for (const ir::Op* op = b->first; op; op = op->next)
      if (op->does(kRounds)) return true;
  return false;
}

// Returns how far a product of two f32 elements may be off because tensor cores round its factors. 0: they do
// not.
double operand_unit(const ir::Op& op, num::Type element) {
  static constexpr std::pair<ir::InputPrecision, double> kUnits[] = {{ir::InputPrecision::kTf32, 0x1p-10},
                                                                     {ir::InputPrecision::kTf32x3, 0x1p-20},
                                                                     {ir::InputPrecision::kBf16x3, 0x1p-15}};
  return element == num::Type::kF32 ? base::look_up(kUnits, input_precision(op)).value_or(0) : 0;
}

// The errors of a product of m x k and k x n. Another order of the sum moves an element by a part of the norms
// of its row and its column; factors that are rounded move each of the k products by a part of its own.
Errors product_errors(Task& t, const Instr& in, const CheckedCode& code, num::Type result) {
  const Errors unknown{kFp8Sum, true, {}};
  if (!in.op->group("a_scale").empty() || !in.op->group("b_scale").empty()) return unknown;
  const auto at = [&](ir::GroupName group) {
    return static_cast<uint32_t>(Lowering::operand_index(*in.op, group));
  };
  const Numbers a = numbers_of(t, in, at("a"), code.buffer_of(in, "a"));
  const Numbers b = numbers_of(t, in, at("b"), code.buffer_of(in, "b"));
  const size_t rank = a.shape.size();
  if (rank < 2 || b.shape.size() != rank || a.shape[rank - 1] != b.shape[rank - 2]) return unknown;
  auto square = [](double x) { return x * x; };
  const auto axis = static_cast<int64_t>(rank);
  const std::vector<double> rows = sums(a, axis - 1, square), columns = sums(b, axis - 2, square);
  const int64_t m = a.shape[rank - 2], k = a.shape[rank - 1], n = b.shape[rank - 1];
  double unit = unit_of(a.element == num::Type::kF64 ? num::Type::kF64 : num::Type::kF32);
  if (num::size_of(a.element) == 1 || num::size_of(b.element) == 1) unit = kFp8Sum;
  const double rounded = operand_unit(*in.op, a.element);
  Errors errors{unit_of(result), false, std::vector<double>(rows.size() * static_cast<size_t>(n))};
  std::vector<double> squares(static_cast<size_t>(n));
  for (int64_t row = 0; row < static_cast<int64_t>(rows.size()); ++row) {
    const int64_t batch = row / m;
    std::ranges::fill(squares, 0.0);
    for (int64_t x = 0; x < k && rounded > 0; ++x) {
      const double* factor = &b.values[(batch * k + x) * n];
      for (int64_t j = 0; j < n; ++j) squares[j] += square(a.values[row * k + x]) * square(factor[j]);
    }
    for (int64_t j = 0; j < n; ++j)
      errors.absolute[row * n + j] =
          unit * std::sqrt(rows[row] * columns[batch * n + j]) + rounded * std::sqrt(squares[j]);
  }
  return errors;
}

// The errors of a reduction or a scan: a part of the sum of the magnitudes along the axis.
Errors sum_errors(Task& t, const Instr& in, uint32_t r) {
  const TileType& type = t.type(in.result(r));
  Errors errors{unit_of(type.element), false, std::vector<double>(static_cast<size_t>(type.n))};
  const int64_t axis = in.op->int_attr("axis", 0);
  const uint32_t operand = r < in.num_operands ? r : 0;
  const TileType& source = t.type(in.operand(operand));
  if (axis < 0 || axis >= static_cast<int64_t>(source.shape.size()) || !num::is_float(source.element))
    return errors;
  const Numbers x = numbers_of(t, in, operand, nullptr);
  const std::vector<double> magnitudes = sums(x, axis, [](double v) { return std::fabs(v); });
  const RowsAlong rows(x, axis);
  const bool reduced = type.n != source.n;
  for (int64_t i = 0; i < rows.count; ++i)
    for (int64_t k = 0; k < (reduced ? 1 : rows.length); ++k)
      errors.absolute[reduced ? i : rows.start(i) + k * rows.step] = errors.unit / 4 * magnitudes[i];
  return errors;
}

// The products of tcgen05, which write to tensor memory; the others have results.
bool writes_memory(const ir::Op& op) { return op.does(kTensorCore) && !op.group("d").empty(); }

Errors errors_of(Task& t, const Instr& in, uint32_t r, const CheckedCode& code) {
  const num::Type type = t.type(in.result(r)).element;
  if (in.op->does(kTensorCore) || in.op->does(kComputes)) return product_errors(t, in, code, type);
  if (in.op->does(kApplies)) return sum_errors(t, in, r);
  return {in.op->does(kApproximates) && type == num::Type::kF32 ? kApproximation : unit_of(type), false, {}};
}

void move(std::byte* values, num::Type type, int64_t n, const Errors& errors, exec::Random& random) {
  const auto size = static_cast<int64_t>(num::size_of(type));
  auto value = [&](int64_t e) { return num::to_double(num::load_bits(values + e * size, type), type); };
  double largest = 0;
  for (int64_t e = 0; e < n && errors.of_largest; ++e)
    if (std::isfinite(value(e))) largest = std::max(largest, std::fabs(value(e)));
  for (int64_t e = 0; e < n; ++e) {
    const double part = static_cast<double>(static_cast<int64_t>(random.next())) * 0x1p-63;  // -1 to 1
    const double x = value(e);
    if (!std::isfinite(x) || (x == 0 && errors.absolute.empty())) continue;
    const double error =
        errors.unit * std::max(std::fabs(x), largest) + (errors.absolute.empty() ? 0 : errors.absolute[e]);
    num::store_bits(values + e * size, type, num::from_double(x + part * error, type));
  }
}

}  // namespace

void Perturbation::after(Task& t, const Instr& in) {
  if (writes_memory(*in.op)) return product_in_memory(t, in);
  if (!in.op->does(kRounds)) return;
  if (in.op->does(kApplies) && (in.op->regions.empty() || !has_rounding(*in.op->regions[0]))) return;
  exec::Random random = random_at(t, in);
  for (uint32_t r = 0; r < in.num_results; ++r) {
    const Slot s = in.result(r);
    const TileType& type = t.type(s);
    if (!t.has_elements(s) || !num::is_float(type.element)) continue;
    const Errors errors = errors_of(t, in, r, code_);
    change(t, s, errors.absolute.empty(),
           [&](std::byte* elements, int64_t n) { move(elements, type.element, n, errors, random); });
  }
}

void Perturbation::product_in_memory(Task& t, const Instr& in) {
  const MemoryOperand* d = code_.buffer_of(in, "d");
  if (!d || !num::is_float(d->element) || !is_on(t, in, "pred")) return;
  exec::Random random = random_at(t, in);
  const Errors errors = product_errors(t, in, code_, d->element);
  SharedState& state = SharedState::of(t);
  const MemDesc at = mem_desc(t, in.operand(d->operand));
  Buffer* values = state.take(*d->plan, at);
  move(values->data(), d->element, d->plan->bytes() / d->plan->element_size(), errors, random);
  state.write(*d->plan, at, values);
}

exec::Random Perturbation::random_at(const Task& t, const Instr& in) const {
  const auto number = static_cast<uint64_t>(&in - t.code->instrs.data());
  uint64_t times = 0;
  const std::vector<int64_t> counts = t.iterations(in);
  for (const int64_t count : std::views::reverse(counts))
    times = exec::Random::mixed(times + static_cast<uint64_t>(count) + 1);
  const uint64_t place = static_cast<uint64_t>(t.program->linear) << 32 | number;
  return exec::Random(exec::Random::mixed(seed_) ^ exec::Random::mixed(place) ^ times);
}

}  // namespace triton_runner::tile
