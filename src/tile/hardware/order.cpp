// Runs reductions and scans as the threads of a layout do them, step by step. In a step some places of the
// axis are combined with others, for all lines along the axis at once. The layout says which ones.
//
// - A reduction combines the registers of a thread (in pairs, or one after the other: before Triton 3.8), then lanes are
//   folded from their highest bit down to their lowest, then warps likewise.
// - A scan goes through the registers that lie side by side, then over lanes in doubling distances; each warp's last
//   value is added to what comes after it.
#include "hardware/order.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/num/elementwise.h>

#include "machine/threads.h"
#include "ops/combine.h"
#include "ops/elementwise.h"

namespace triton_runner::tile {
namespace {

// cells[to[i]] = cells[left[i]] combined with cells[right[i]].
struct Step {
  std::vector<int32_t> left, right, to;
  bool fused = false;    // the product on the left comes in unrounded
  bool in_rows = false;  // all three are cells in a row
  Level level{};
  void add(int64_t a, int64_t b, int64_t into) {
    left.push_back(static_cast<int32_t>(a));
    right.push_back(static_cast<int32_t>(b));
    to.push_back(static_cast<int32_t>(into));
  }
};

// Cells are the places of the axis, and a few more. Each has one element of each line: [cell][outer][inner].
struct Steps {
  Axis axis{};
  uint32_t count = 0;  // operands
  int64_t cells = 0;
  bool keeps_all = false;  // a scan: the results are all places, else the cell `result`
  int64_t result = 0;
  std::vector<int32_t> from;  // which place of the axis a cell is; empty: its own number
  std::vector<Step> steps;
  num::Kernel direct;  // what combines, if that is one op
  num::Type element{};
  num::Kernel fused;
  uint32_t factors = 0;  // operand: the first of two
  int64_t lines() const { return axis.outer * axis.inner; }
};

// ---- what a layout says

// Bits of the axis and what holds them, from the lowest on.
struct AxisBit {
  enum Holder : uint8_t { kRegister, kLane, kWarp, kBlock };
  Holder holder;
  int64_t at;  // its image along the axis
};

std::vector<int64_t> moves(const layout::LinearLayout& layout, std::string_view dim, int64_t axis) {
  std::vector<int64_t> out;
  for (const layout::Basis& basis : bases_of(layout, dim))
    if (const int32_t at = basis[static_cast<size_t>(axis)]) out.push_back(at);
  return out;
}

bool first_register_moves(const layout::LinearLayout& layout, int64_t axis) {
  for (const layout::Basis& basis : bases_of(layout, "register"))
    if (!is_copy(basis)) return basis[static_cast<size_t>(axis)] != 0;
  return false;
}

// Returns whether threads add two elements at a time.
bool in_pairs(const Lowering& l, num::Type element) {
  return num::size_of(element) == 2 || (element == num::Type::kF32 && l.hardware().capability >= 100);
}

bool plan_reduction(const Lowering& l, const layout::LinearLayout& layout, int64_t axis, num::Type element,
                    Steps& s) {
  if (!moves(layout, "block", axis).empty()) return false;
  std::vector<int64_t> registers = moves(layout, "register", axis), folds;
  const bool tree = l.hardware().tree;
  if (!tree)
    std::ranges::reverse(registers);  // the highest bit of a register's number first
  else if (registers.size() > 1 && in_pairs(l, element) && first_register_moves(layout, axis))
    std::ranges::rotate(registers, registers.begin() + 1);  // pairs as pairs, and at last into one another
  folds = registers;
  for (const char* dim : {"lane", "warp"}) {
    const std::vector<int64_t> bits = moves(layout, dim, axis);
    folds.insert(folds.end(), bits.rbegin(), bits.rend());
  }
  if (int64_t{1} << folds.size() != s.axis.length) return false;
  // Place number p in an order in which each fold combines the upper half with the lower one.
  auto place = [&](int64_t p) {
    int64_t at = 0;
    for (size_t i = 0; i < folds.size(); ++i)
      if (p >> (folds.size() - 1 - i) & 1) at ^= folds[i];
    return at;
  };
  for (int64_t p = 0; p < s.axis.length; ++p) s.from.push_back(static_cast<int32_t>(place(p)));
  int64_t length = s.axis.length;
  if (!tree && !registers.empty()) {
    const int64_t parts = int64_t{1} << registers.size(), part = length / parts;
    for (int64_t r = 1; r < parts; ++r) {
      Step& step = s.steps.emplace_back();
      // A product is fused with the sum that is at hand: on the left the first one, then the one that is added.
      const bool sum_first = r == 1 || !s.fused;
      for (int64_t p = 0; p < part; ++p)
        step.add(sum_first ? p : r * part + p, sum_first ? r * part + p : p, p);
      step.fused = bool(s.fused);
    }
    length = part;
  }
  for (; length > 1; length /= 2) {
    Step& step = s.steps.emplace_back();
    for (int64_t p = 0; p < length / 2; ++p) step.add(p, length / 2 + p, p);
    step.fused = s.fused && length == s.axis.length;
  }
  s.cells = s.axis.length;
  return true;
}

// How places of the axis are divided: element + elements * (lane + lanes * (warp + warps * block)).
struct ScanShape {
  int64_t elements = 1, lanes = 1, warps = 1, blocks = 1;
};

std::optional<ScanShape> scan_shape(const layout::LinearLayout& layout, int64_t axis, int64_t length) {
  ScanShape shape;
  std::vector<AxisBit> bits;
  for (const auto& [dim, holder] : {std::pair{"register", AxisBit::kRegister},
                                    std::pair{"lane", AxisBit::kLane}, std::pair{"warp", AxisBit::kWarp}})
    for (const int64_t at : moves(layout, dim, axis)) bits.push_back({holder, at});
  std::ranges::sort(bits, {}, &AxisBit::at);
  int64_t *const sizes[] = {&shape.elements, &shape.lanes, &shape.warps, &shape.blocks}, at = 1;
  size_t stage = 0;
  for (const AxisBit& bit : bits) {
    if (bit.at != at) return std::nullopt;
    const bool again = bit.holder == AxisBit::kRegister && (stage > 0);
    const size_t wanted = again ? 3 : static_cast<size_t>(bit.holder);
    if (wanted < stage) return std::nullopt;
    stage = wanted;
    *sizes[stage] *= 2;
    at *= 2;
  }
  if (at != length) return std::nullopt;
  return shape;
}

void plan_scan(const ScanShape& shape, bool reverse, Steps& s) {
  const auto [elements, lanes, warps, blocks] = shape;
  const int64_t length = s.axis.length, chunks = warps * blocks;
  auto cell = [&](int64_t chunk, int64_t lane, int64_t element) {
    const int64_t at = (chunk * lanes + lane) * elements + element;
    return reverse ? length - 1 - at : at;
  };
  for (int64_t e = 1; e < elements; ++e) {
    Step& step = s.steps.emplace_back();
    for (int64_t c = 0; c < chunks; ++c)
      for (int64_t lane = 0; lane < lanes; ++lane)
        step.add(cell(c, lane, e - 1), cell(c, lane, e), cell(c, lane, e));
  }
  const int64_t last = elements - 1;
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    Step& step = s.steps.emplace_back();
    for (int64_t c = 0; c < chunks; ++c)
      for (int64_t lane = distance; lane < lanes; ++lane)
        step.add(cell(c, lane - distance, last), cell(c, lane, last), cell(c, lane, last));
  }
  // The sum that comes before each chunk: with one warp the last element there, else a sum of its own.
  std::vector<int64_t> before(static_cast<size_t>(chunks), -1);
  s.cells = length;
  for (int64_t c = 1; c < chunks; ++c) {
    const int64_t partial = cell(c - 1, lanes - 1, last);
    if (warps == 1 || c == 1) {
      before[static_cast<size_t>(c)] = partial;
    } else {
      before[static_cast<size_t>(c)] = s.cells;
      s.steps.emplace_back().add(before[static_cast<size_t>(c - 1)], partial, s.cells++);
    }
    if (warps > 1) continue;
    Step& step = s.steps.emplace_back();
    for (int64_t lane = 0; lane < lanes; ++lane) step.add(partial, cell(c, lane, last), cell(c, lane, last));
  }
  if (warps > 1) {
    Step step;
    for (int64_t c = 1; c < chunks; ++c)
      for (int64_t lane = 0; lane < lanes; ++lane)
        step.add(before[static_cast<size_t>(c)], cell(c, lane, last), cell(c, lane, last));
    // The partial sums are read before they change.
    if (!step.to.empty()) s.steps.push_back(std::move(step));
  }
  if (elements == 1) return;
  Step rest;
  for (int64_t c = 0; c < chunks; ++c)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      if (c == 0 && lane == 0) continue;
      // A chunk's first lane goes on from what all chunks before it give.
      const int64_t from = lane > 0             ? cell(c, lane - 1, last)
                           : warps > 1 && c > 1 ? before[static_cast<size_t>(c)]
                                                : cell(c - 1, lanes - 1, last);
      for (int64_t e = 0; e < last; ++e) rest.add(from, cell(c, lane, e), cell(c, lane, e));
    }
  if (!rest.to.empty()) s.steps.push_back(std::move(rest));
}

// ---- moving registers

// from: by element of the result
void run_moved(Task& t, const Instr& in, const std::vector<int32_t>& from) {
  const auto size = static_cast<size_t>(t.type(in.result()).size);
  const auto* elements = t.dense<std::byte>(in.operand(0));
  auto* out = t.new_dense<std::byte>(in.result());
  for (size_t i = 0; i < from.size(); ++i)
    std::memcpy(out + i * size, elements + static_cast<size_t>(from[i]) * size, size);
}

// ---- running steps

// Cell k of [cell][outer][inner] is place from[k] of [outer, length, inner]; or back.
template <bool kBack>
void turn(const Steps& s, int64_t size, std::byte* lines, std::byte* tile) {
  const Axis& a = s.axis;
  const auto row = static_cast<size_t>(a.inner * size);
  for (int64_t k = 0; k < a.length; ++k) {
    const int64_t place = s.from.empty() ? k : s.from[static_cast<size_t>(k)];
    for (int64_t o = 0; o < a.outer; ++o) {
      std::byte* in_lines = lines + (k * a.outer + o) * a.inner * size;
      std::byte* in_tile = tile + (o * a.length + place) * a.inner * size;
      if (row == 4)
        std::memcpy(kBack ? in_tile : in_lines, kBack ? in_lines : in_tile, 4);
      else
        std::memcpy(kBack ? in_tile : in_lines, kBack ? in_lines : in_tile, row);
    }
  }
}

class Running {
 public:
  Running(Task& t, const Instr& in, const Steps& s) : t_(t), in_(in), s_(s), cells_(t), factors_(t) {
    for (uint32_t i = 0; i < s.count; ++i) cells_.buffers.push_back(opened(in.operand(i), s.cells));
    for (uint32_t i = 0; s.fused && i < 2; ++i)
      factors_.buffers.push_back(opened(in.operand(s.factors + i), s.axis.length));
  }

  bool run() {
    for (const Step& step : s_.steps)
      if (!run(step)) return false;
    for (uint32_t i = 0; i < s_.count; ++i) {
      std::byte* from = cells_.buffers[i]->data();
      if (s_.keeps_all)
        turn<true>(s_, size(i), from, t_.new_dense<std::byte>(in_.result(i)));
      else
        give(t_, in_.result(i), from + s_.result * s_.lines() * size(i));
    }
    return true;
  }

 private:
  int64_t size(uint32_t i) const { return t_.type(in_.operand(i)).size; }

  Buffer* opened(Slot s, int64_t cells) {
    const int64_t size = t_.type(s).size;
    auto* from = static_cast<std::byte*>(const_cast<void*>(t_.dense(s)));
    Buffer* out = t_.worker->pool->allocate(cells * s_.lines() * size);
    turn<false>(s_, size, out->data(), from);
    return out;
  }

  Buffer* gathered(Buffer* cells, const std::vector<int32_t>& which, int64_t size) const {
    const int64_t bytes = s_.lines() * size;
    Buffer* out = t_.worker->pool->allocate(static_cast<int64_t>(which.size()) * bytes);
    std::byte* to = out->data();
    for (const int32_t cell : which) {
      std::memcpy(to, cells->data() + cell * bytes, static_cast<size_t>(bytes));
      to += bytes;
    }
    return out;
  }

  // One op on cells in a row, where they are.
  void run_in_rows(const Step& step) {
    const int64_t bytes = s_.lines() * size(0);
    auto at = [&](Buffer* cells, int32_t cell) { return cells->data() + cell * bytes; };
    std::byte* out = at(cells_.buffers[0], step.to[0]);
    const std::byte* right = at(cells_.buffers[0], step.right[0]);
    const auto n = static_cast<int64_t>(step.to.size()) * s_.lines();
    if (step.fused) {
      const void* operands[] = {at(factors_.buffers[0], step.left[0]), at(factors_.buffers[1], step.left[0]),
                                right};
      s_.fused.run(out, operands, 0, n);
    } else {
      const void* operands[] = {at(cells_.buffers[0], step.left[0]), right};
      s_.direct.run(out, operands, 0, n);
    }
    settle_nans(out, s_.element, n);
  }

  bool run(const Step& step) {
    if (step.in_rows && s_.direct) {
      run_in_rows(step);
      return true;
    }
    BufferPool& pool = *t_.worker->pool;
    const auto n = static_cast<int64_t>(step.to.size()) * s_.lines();
    Tiles left(t_), right(t_), combined(t_);
    std::vector<void*> out;
    for (uint32_t i = 0; i < s_.count; ++i) {
      right.buffers.push_back(gathered(cells_.buffers[i], step.right, size(i)));
      if (!step.fused) left.buffers.push_back(gathered(cells_.buffers[i], step.left, size(i)));
      combined.buffers.push_back(pool.allocate(n * size(i)));
      out.push_back(combined.buffers[i]->data());
    }
    if (step.fused) {
      Tiles factor(t_);
      for (Buffer* f : factors_.buffers) factor.buffers.push_back(gathered(f, step.left, size(0)));
      const void* operands[] = {factor.buffers[0]->data(), factor.buffers[1]->data(),
                                right.buffers[0]->data()};
      s_.fused.run(out[0], operands, 0, n);
    } else if (!combine(t_, step.level, left.buffers, right.buffers, out)) {
      return false;
    }
    for (uint32_t i = 0; i < s_.count; ++i) {
      const int64_t bytes = s_.lines() * size(i);
      for (size_t j = 0; j < step.to.size(); ++j)
        std::memcpy(cells_.buffers[i]->data() + step.to[j] * bytes,
                    combined.buffers[i]->data() + static_cast<int64_t>(j) * bytes,
                    static_cast<size_t>(bytes));
    }
    return true;
  }

  Task& t_;
  const Instr& in_;
  const Steps& s_;
  Tiles cells_, factors_;
};

const Instr* run_steps(Task& t, const Instr& in) {
  return Running(t, in, in.as<Steps>()).run() ? next(in) : nullptr;
}

// ---- lowering

// Ops of which any order gives the same bits, or that run element by element.
bool is_ordered(const ir::Region& region) {
  if (needs_scalars(region)) return false;
  for (const ir::Op* op = region.first->first; op; op = op->next)
    if (op->does(ir::Effect::kRounds)) return true;
  return false;
}

bool is_row(const std::vector<int32_t>& cells) {
  for (size_t i = 1; i < cells.size(); ++i)
    if (cells[i] != cells[0] + static_cast<int32_t>(i)) return false;
  return true;
}

// The loop of a function that is one op of its two arguments, in either order.
num::Kernel direct_kernel(const ir::Region& region, num::Type element) {
  const ir::Block& b = *region.first;
  if (b.args.size() != 2 || !b.first || b.first->next != b.last) return {};
  const ir::Op& op = *b.first;
  const num::Elementwise* f = row_of(op.kind).elementwise;
  const bool sums = f == &num::elementwise_addf || f == &num::elementwise_mulf;
  if (!sums || op.num_operands() != 2 || op.operand(0) == op.operand(1) || op.operand(0)->block != &b ||
      op.operand(1)->block != &b)
    return {};
  return f->kernel(element, element);
}

Steps* begin(Lowering& l, const ir::Op& op, int64_t axis) {
  auto* s = l.make<Steps>();
  s->axis = axis_of(*l.type_of(op.operand(0)), axis);
  s->count = static_cast<uint32_t>(op.num_operands());
  return s;
}

void emit(Lowering& l, const ir::Op& op, Steps& s, const Factors* factors) {
  std::vector<Slot> operands = slots_of(l, op.operand_uses);
  std::map<size_t, Level> levels;
  s.element = l.type_of(operands[0])->element;
  if (s.count == 1) s.direct = direct_kernel(*op.region(0), s.element);
  for (Step& step : s.steps) {
    step.in_rows = is_row(step.left) && is_row(step.right) && is_row(step.to);
    if (step.in_rows && s.direct) continue;
    Level& level = levels[step.to.size()];
    if (!level.entry)
      level = make_level(l, *op.region(0), static_cast<int64_t>(step.to.size()) * s.lines(), &operands);
    step.level = level;
  }
  if (factors) {
    s.factors = static_cast<uint32_t>(operands.size());
    operands.push_back(factors->a);
    operands.push_back(factors->b);
  }
  l.emit(run_steps, op, slots_of(l, op.results), operands, &s);
}

bool reduce(Lowering& l, const ir::Op& op, const Factors* factors) {
  const int64_t axis = op.int_attr("axis", 0);
  const TileType& first = *l.type_of(op.operand(0));
  if (axis < 0 || axis >= first.rank || !is_ordered(*op.region(0))) return false;
  const auto layout = layout_of(*op.operand(0)->type);
  Steps* s = begin(l, op, axis);
  if (factors) s->fused = num::elementwise_fma.kernel(first.element, first.element);
  if (!layout || !plan_reduction(l, *layout, axis, first.element, *s)) return false;
  emit(l, op, *s, factors);
  return true;
}

}  // namespace

bool hardware_reduce(Lowering& l, const ir::Op& op) { return reduce(l, op, nullptr); }
bool reduce_products(Lowering& l, const ir::Op& op, const Factors& factors) {
  return reduce(l, op, &factors);
}

bool combines_registers(const ir::Op& op) {
  const auto layout = layout_of(*op.operand(0)->type);
  return layout && !moves(*layout, "register", op.int_attr("axis", 0)).empty();
}

// Under allow_reorder a thread keeps its registers, whatever elements they then are.
bool hardware_reshape(Lowering& l, const ir::Op& op) {
  const ir::Type &from = *op.operand(0)->type, &to = *op.result()->type;
  if (!op.attr("allow_reorder") || !from.encoding || !to.encoding) return false;
  const auto before = thread_elements(l, op, from), after = thread_elements(l, op, to);
  if (!before || !after || before->element.size() != after->element.size()) return false;
  auto* from_element = l.make<std::vector<int32_t>>();
  from_element->resize(static_cast<size_t>(to.num_elements()));
  for (size_t i = before->element.size(); i-- > 0;)
    (*from_element)[static_cast<size_t>(after->element[i])] = before->element[i];
  l.emit<run_moved>(op, from_element);
  return true;
}

bool hardware_scan(Lowering& l, const ir::Op& op) {
  const int64_t axis = op.int_attr("axis", 0);
  const TileType& first = *l.type_of(op.operand(0));
  if (axis < 0 || axis >= first.rank || !is_ordered(*op.region(0))) return false;
  const auto layout = layout_of(*op.operand(0)->type);
  if (!layout) return false;
  const auto shape = scan_shape(*layout, axis, first.shape[static_cast<size_t>(axis)]);
  if (!shape) return false;
  Steps* s = begin(l, op, axis);
  s->keeps_all = true;
  plan_scan(*shape, op.int_attr("reverse", 0) != 0, *s);
  emit(l, op, *s, nullptr);
  return true;
}

}  // namespace triton_runner::tile
