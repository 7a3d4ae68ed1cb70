// Tests reductions and scans against the order that reduce.h states, written out as plain loops; argmax by
// its definition.
#include <triton_runner/num/reduce.h>

#include <algorithm>
#include <map>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

// One step of an op through the elementwise kernels, which have tests of their own.
const std::map<ReduceOp, const Elementwise*> kSteps = {
    {ReduceOp::kAddI, &elementwise_addi},       {ReduceOp::kMulI, &elementwise_muli},
    {ReduceOp::kAnd, &elementwise_andi},        {ReduceOp::kOr, &elementwise_ori},
    {ReduceOp::kXor, &elementwise_xori},        {ReduceOp::kMaxS, &elementwise_maxsi},
    {ReduceOp::kMaxU, &elementwise_maxui},      {ReduceOp::kMinS, &elementwise_minsi},
    {ReduceOp::kMinU, &elementwise_minui},      {ReduceOp::kAddF, &elementwise_addf},
    {ReduceOp::kMulF, &elementwise_mulf},       {ReduceOp::kMaxNum, &elementwise_maxnumf},
    {ReduceOp::kMinNum, &elementwise_minnumf},  {ReduceOp::kMaximum, &elementwise_maximumf},
    {ReduceOp::kMinimum, &elementwise_minimumf}};

uint64_t step(ReduceOp op, Type type, uint64_t x, uint64_t y) {
  uint64_t result = 0;
  const void* in[] = {&x, &y};
  kSteps.at(op)->kernel(type, type, Isa::kPortable).run(&result, in, 0, 1);
  return result;
}

bool is_float_op(ReduceOp op) { return op >= ReduceOp::kAddF; }
bool is_half(Type type) { return type == Type::kF16 || type == Type::kBF16; }

uint64_t sequential(ReduceOp op, Type type, const std::vector<uint64_t>& x) {
  uint64_t sum = x[0];
  for (size_t i = 1; i < x.size(); ++i) sum = step(op, type, sum, x[i]);
  return sum;
}

// reduce.h: element i to accumulator i mod 64; then halves.
uint64_t in_fixed_order(ReduceOp op, Type type, const std::vector<uint64_t>& x) {
  std::vector<std::vector<uint64_t>> lanes(64);
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 64].push_back(x[i]);
  std::vector<std::pair<bool, uint64_t>> sums;
  for (auto& lane : lanes)
    sums.push_back(lane.empty() ? std::pair{false, uint64_t{0}}
                                : std::pair{true, sequential(op, type, lane)});
  for (size_t half = 32; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) {
      if (!sums[i + half].first) continue;
      sums[i] = {true, sums[i].first ? step(op, type, sums[i].second, sums[i + half].second)
                                     : sums[i + half].second};
    }
  return sums[0].second;
}

// reduce.h: groups of eight in log-steps, then what the groups before give.
std::vector<uint64_t> scanned_in_groups(ReduceOp op, Type type, const std::vector<uint64_t>& x) {
  std::vector<uint64_t> out;
  for (size_t first = 0; first < x.size(); first += 8) {
    std::vector<uint64_t> group(x.begin() + static_cast<ptrdiff_t>(first),
                                x.begin() + static_cast<ptrdiff_t>(std::min(first + 8, x.size())));
    for (size_t distance : {1, 2, 4})
      for (size_t i = group.size(); i-- > distance;) group[i] = step(op, type, group[i - distance], group[i]);
    for (uint64_t& v : group) v = first ? step(op, type, out[first - 1], v) : v;
    out.insert(out.end(), group.begin(), group.end());
  }
  return out;
}

void check_reduce(ReduceOp op, Type type, int64_t outer, int64_t axis, int64_t inner) {
  const std::initializer_list<int64_t> seed = {
      40, static_cast<int64_t>(op), static_cast<int64_t>(type), outer, axis, inner};
  std::mt19937_64 random = seeded(seed);
  auto x = operands(type, static_cast<size_t>(outer * axis * inner), random, op != ReduceOp::kMulF);
  auto bytes = stored(x, type);
  Type wide = is_half(type) ? Type::kF32 : type;
  auto widened = [&](uint64_t bits) { return convert_float(bits, type, wide); };
  std::vector<uint64_t> expected, scanned(x.size()), reversed(x.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      std::vector<uint64_t> column;
      for (int64_t a = 0; a < axis; ++a) {
        uint64_t bits = x[static_cast<size_t>((o * axis + a) * inner + j)];
        column.push_back(is_half(type) ? widened(bits) : bits);
      }
      uint64_t sum = inner == 1 ? in_fixed_order(op, wide, column) : sequential(op, wide, column);
      expected.push_back(is_half(type) ? convert_float(sum, wide, type) : sum);
      std::vector<uint64_t> rising, falling;
      if (inner == 1 && (op == ReduceOp::kAddF || op == ReduceOp::kMulF) && !is_half(type)) {
        rising = scanned_in_groups(op, type, column);
        falling = scanned_in_groups(op, type, {column.rbegin(), column.rend()});
      }
      uint64_t up = 0, down = 0;
      for (int64_t a = 0; a < axis; ++a) {
        int64_t b = axis - 1 - a;
        up = a == 0 ? column[0] : step(op, wide, up, column[static_cast<size_t>(a)]);
        down = a == 0 ? column.back() : step(op, wide, down, column[static_cast<size_t>(b)]);
        if (!rising.empty()) {
          up = rising[static_cast<size_t>(a)];
          down = falling[static_cast<size_t>(a)];
        }
        scanned[static_cast<size_t>((o * axis + a) * inner + j)] =
            is_half(type) ? convert_float(up, wide, type) : up;
        reversed[static_cast<size_t>((o * axis + b) * inner + j)] =
            is_half(type) ? convert_float(down, wide, type) : down;
      }
    }
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    random = seeded(seed);
    ReduceFn reduce = reduce_fn(op, type);
    ScanFn scan = scan_fn(op, type);
    CHECK(reduce && scan);
    std::string where = "op " + std::to_string(static_cast<int>(op)) + " " + std::string(type_name(type)) +
                        " [" + std::to_string(outer) + "," + std::to_string(axis) + "," +
                        std::to_string(inner) + "] " + std::string(isa_name(isa));
    auto compare = [&](const std::vector<char>& got, const std::vector<uint64_t>& want, const char* what) {
      for (size_t i = 0; i < want.size(); ++i) {
        uint64_t bits = load_bits(got.data() + i * size_of(type), type);
        if (same(bits, want[i], type)) continue;
        triton_runner::unit::record_failure(__FILE__, __LINE__,
                                            std::string(what) + " " + where + " element " +
                                                std::to_string(i) + " is " + hex(bits) + ", not " +
                                                hex(want[i]));
        return;
      }
    };
    std::vector<char> out(expected.size() * size_of(type)), all(x.size() * size_of(type));
    reduce(out.data(), bytes.data(), outer, axis, inner);
    compare(out, expected, "reduce");
    if (ReducePartFn part = inner == 1 ? reduce_part_fn(op, type) : nullptr) {
      std::fill(out.begin(), out.end(), char{0});
      for (int64_t r = 0; r < outer; ++r) {
        alignas(64) char state[kReduceStateBytes];
        for (int64_t at = 0, n; at < axis; at += n) {
          n = std::min<int64_t>(axis - at, static_cast<int64_t>(64 * (1 + random() % 3)));
          part(out.data() + r * size_of(type), state, bytes.data() + (r * axis + at) * size_of(type), n,
               at == 0, at + n == axis);
        }
      }
      compare(out, expected, "reduce in parts");
    }
    if (ReducePaddedFn padded = inner == 1 ? reduce_padded_fn(reduce) : nullptr)
      for (int64_t n :
           {int64_t{0}, static_cast<int64_t>(random() % static_cast<uint64_t>(axis + 1)), axis - 1, axis}) {
        std::vector<char> row(bytes.begin(), bytes.begin() + axis * size_of(type));
        const char* pad = bytes.data() + random() % x.size() * size_of(type);
        for (int64_t i = n; i < axis; ++i) std::copy_n(pad, size_of(type), row.data() + i * size_of(type));
        char want[8] = {}, got[8] = {};
        reduce(want, row.data(), 1, axis, 1);
        padded(got, bytes.data(), n, axis, pad);
        if (!same(load_bits(got, type), load_bits(want, type), type))
          triton_runner::unit::record_failure(__FILE__, __LINE__,
                                              "padded " + where + " n " + std::to_string(n) + " is " +
                                                  hex(load_bits(got, type)) + ", not " +
                                                  hex(load_bits(want, type)));
      }
    scan(all.data(), bytes.data(), outer, axis, inner, false);
    compare(all, scanned, "scan");
    scan(all.data(), bytes.data(), outer, axis, inner, true);
    compare(all, reversed, "reverse scan");
  }
  force_isa("");
}

struct Pair {
  uint64_t value;
  int32_t index;
};

}  // namespace

TEST(reduce_all_ops) {
  for (auto& [op, functor] : kSteps)
    for (Type type : {Type::kI1, Type::kI8, Type::kI16, Type::kI32, Type::kI64, Type::kF16, Type::kBF16,
                      Type::kF32, Type::kF64}) {
      if (is_float_op(op) != is_float(type)) {
        CHECK(reduce_fn(op, type) == nullptr);
        continue;
      }
      for (int64_t axis : {1, 2, 31, 32, 64, 100, 128, 517}) check_reduce(op, type, 2, axis, 1);
      for (int64_t axis : {64, 70}) check_reduce(op, type, 19, axis, 1);  // more rows than a vector has lanes
      check_reduce(op, type, 2, 9, 37);
      CHECK(reduce_part_fn(op, type) || !(type == Type::kF32 && op == ReduceOp::kAddF));
      CHECK(reduce_padded_fn(reduce_fn(op, type)) || !(type == Type::kF32 && is_float_op(op)));
      check_reduce(op, type, 1, 4, 300);
    }
}

TEST(reduce_argmax) {
  std::mt19937_64 random(41);
  struct Case {
    ArgOp op;
    Type type;
    bool greater, is_signed;
  };
  for (Case c : {Case{ArgOp::kMaxF, Type::kF32, true, true}, Case{ArgOp::kMinF, Type::kF32, false, true},
                 Case{ArgOp::kMaxF, Type::kF16, true, true}, Case{ArgOp::kMinF, Type::kF64, false, true},
                 Case{ArgOp::kMaxS, Type::kI32, true, true}, Case{ArgOp::kMinU, Type::kI8, false, false},
                 Case{ArgOp::kMaxU, Type::kI64, true, false}})
    for (int64_t axis : {1, 5, 128, 301})
      for (int64_t inner : {1, 19})
        for (bool tie_break_left : {true, false})
          for (bool with_corners : {true, false}) {
            int64_t outer = 3;
            auto x = operands(c.type, static_cast<size_t>(outer * axis * inner), random, with_corners);
            if (!with_corners)  // few distinct values, hence ties, none of them zero or NaN
              for (uint64_t& bits : x)
                bits = is_float(c.type) ? from_double(1 + static_cast<double>(random() % 4), c.type)
                                        : 1 + random() % 4;
            std::vector<int32_t> index(x.size());
            for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int32_t>(random() % 1000);
            auto bytes = stored(x, c.type);
            auto less = [&](uint64_t a, uint64_t b) {
              if (is_float(c.type)) return to_double(a, c.type) < to_double(b, c.type);
              return c.is_signed ? sign_extend(a, c.type) < sign_extend(b, c.type) : a < b;
            };
            auto equal = [&](uint64_t a, uint64_t b) {
              return is_float(c.type) ? to_double(a, c.type) == to_double(b, c.type) : a == b;
            };
            std::vector<Pair> expected;
            for (int64_t o = 0; o < outer; ++o)
              for (int64_t j = 0; j < inner; ++j) {
                std::vector<Pair> column;
                bool with_nan = false;
                for (int64_t a = 0; a < axis; ++a) {
                  auto at = static_cast<size_t>((o * axis + a) * inner + j);
                  column.push_back({x[at], index[at]});
                  with_nan |= !equal(x[at], x[at]);
                }
                auto best_of = [&](Pair l, Pair r) {
                  bool keep = (c.greater ? less(r.value, l.value) : less(l.value, r.value)) ||
                              (tie_break_left && equal(l.value, r.value) && l.index < r.index);
                  return keep ? l : r;
                };
                while (with_nan && column.size() > 1) {
                  size_t half = column.size() / 2;
                  std::vector<Pair> folded;
                  for (size_t i = 0; i < half; ++i) folded.push_back(best_of(column[i], column[i + half]));
                  if (column.size() % 2) folded.push_back(column.back());
                  column = folded;
                }
                Pair best = column[0];
                for (size_t a = 1; a < column.size(); ++a) best = best_of(best, column[a]);
                expected.push_back(best);
              }
            for (Isa isa : available_isas()) {
              force_isa(isa_name(isa));
              std::vector<char> values(expected.size() * size_of(c.type));
              std::vector<int32_t> indices(expected.size());
              arg_reduce_fn(c.op, c.type)(values.data(), indices.data(), bytes.data(), index.data(), outer,
                                          axis, inner, tie_break_left);
              bool ok = true;
              for (size_t i = 0; i < expected.size(); ++i)
                ok &=
                    same(load_bits(values.data() + i * size_of(c.type), c.type), expected[i].value, c.type) &&
                    indices[i] == expected[i].index;
              CHECK(ok);
            }
            force_isa("");
          }
}
