// Tests dots against a scalar chain of std::fma, bit for bit, for every shape of edge, operand type and
// stride order.
#include <triton_runner/num/dot.h>

#include <bit>
#include <cstring>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

struct Matrix {
  Type type;
  std::vector<uint64_t> bits;  // row-major
  std::vector<char> bytes;     // as laid out
  int64_t rows, cols, row_stride, col_stride;
  MatrixView view() const { return {bytes.data(), type, row_stride, col_stride}; }
  uint64_t at(int64_t i, int64_t j) const { return bits[static_cast<size_t>(i * cols + j)]; }
};

// Finite random elements, laid out by rows or by columns with some space between.
Matrix matrix(Type type, int64_t rows, int64_t cols, bool by_columns, int64_t space,
              std::mt19937_64& random) {
  Matrix m{type, {}, {}, rows, cols, by_columns ? 1 : cols + space, by_columns ? rows + space : 1};
  for (int64_t i = 0; i < rows * cols; ++i) {
    double x = (static_cast<double>(random() % 8192) - 4096) / 1024;
    m.bits.push_back(is_float(type) ? from_double(x * (1 + 0x1p-20), type == Type::kTF32 ? Type::kF32 : type)
                                    : truncate_bits(random(), type));
  }
  m.bytes.resize(static_cast<size_t>((rows + space) * (cols + space)) * size_of(type), 0x7f);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      store_bits(m.bytes.data() + (i * m.row_stride + j * m.col_stride) * static_cast<int64_t>(size_of(type)),
                 type, m.at(i, j));
  return m;
}

float wide(const Matrix& m, int64_t i, int64_t j) {
  uint64_t bits = m.at(i, j);
  if (m.type == Type::kTF32) bits = convert_float(bits, Type::kF32, Type::kTF32);
  return static_cast<float>(to_double(bits, m.type));
}

void check_dot(Type a_type, Type b_type, int64_t m, int64_t n, int64_t k, bool a_columns, bool b_columns,
               std::mt19937_64& random) {
  Matrix a = matrix(a_type, m, k, a_columns, 3, random), b = matrix(b_type, k, n, b_columns, 0, random);
  int64_t ldc = n + 5;
  std::vector<float> start(static_cast<size_t>(m * ldc));
  for (float& x : start) x = static_cast<float>(random() % 1000) / 7;
  std::vector<float> expected = start;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t x = 0; x < k; ++x)
        expected[static_cast<size_t>(i * ldc + j)] =
            std::fma(wide(a, i, x), wide(b, x, j), expected[static_cast<size_t>(i * ldc + j)]);
  // The same sums from what c holds, times 1 / scale; and others from one value, which only rows of c get.
  std::vector<float> scaled = start, column(static_cast<size_t>(2 * m));
  for (int64_t i = 0; i < m; ++i) {
    column[static_cast<size_t>(2 * i)] = i % 3 ? 0.25f : -2.0f;
    for (int64_t j = 0; j < n; ++j)
      scaled[static_cast<size_t>(i * ldc + j)] /= column[static_cast<size_t>(2 * i)];
  }
  const float value = 0.375f;
  std::vector<float> from_value = start;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float& sum = from_value[static_cast<size_t>(i * ldc + j)];
      sum = value;
      for (int64_t x = 0; x < k; ++x) sum = std::fma(wide(a, i, x), wide(b, x, j), sum);
    }
  for (Isa isa : available_isas()) {
    CHECK(force_isa(isa_name(isa)));
    std::vector<float> c = start;
    dot_f32(c.data(), ldc, a.view(), b.view(), m, n, k, {.value = &value});
    CHECK(std::memcmp(c.data(), from_value.data(), c.size() * 4) == 0);
    c = scaled;
    dot_f32(c.data(), ldc, a.view(), b.view(), m, n, k, {.scale = column.data(), .scale_step = 2});
    CHECK(std::memcmp(c.data(), expected.data(), c.size() * 4) == 0);
    c = start;  // what is fetched on the way may be anything, nothing too
    const Ahead ahead[] = {{reinterpret_cast<uint64_t>(a.bytes.data()), m, 3 * n, 64 + k}, {4096, 7, -64, 1}};
    dot_f32(c.data(), ldc, a.view(), b.view(), m, n, k, {}, ahead);
    if (std::memcmp(c.data(), expected.data(), c.size() * 4) != 0)
      triton_runner::unit::record_failure(
          __FILE__, __LINE__,
          std::string("dot ") + std::string(type_name(a_type)) + " " + std::to_string(m) + "x" +
              std::to_string(n) + "x" + std::to_string(k) + " differs on " + std::string(isa_name(isa)));
  }
  force_isa("");
}

}  // namespace

TEST(dot_shapes) {
  std::mt19937_64 random(30);
  for (int64_t m : {1, 2, 5, 6, 7, 13, 16, 32, 65})
    for (int64_t n : {1, 3, 8, 15, 16, 17, 32, 48, 64, 65, 100})
      for (int64_t k : {1, 2, 16, 33}) check_dot(Type::kF16, Type::kF16, m, n, k, false, false, random);
  check_dot(Type::kF16, Type::kF16, 16, 32, 700, false, true, random);  // k in blocks
  check_dot(Type::kF32, Type::kF32, 70, 64, 513, true, false, random);
}

TEST(dot_types_and_strides) {
  std::mt19937_64 random(31);
  for (Type type :
       {Type::kF16, Type::kBF16, Type::kF32, Type::kTF32, Type::kF8E4M3FN, Type::kF8E5M2, Type::kF8E4M3FNUZ,
        Type::kF8E5M2FNUZ, Type::kF8E4M3B11FNUZ, Type::kF6E2M3FN, Type::kF6E3M2FN, Type::kF4E2M1FN})
    for (bool a_columns : {false, true})
      for (bool b_columns : {false, true}) {
        check_dot(type, type, 32, 64, 32, a_columns, b_columns, random);
        check_dot(type, type, 17, 33, 19, a_columns, b_columns, random);
        check_dot(type, type, 1, 7, 5, a_columns, b_columns, random);
        check_dot(type, type, 3, 129, 2, a_columns, b_columns, random);
      }
  check_dot(Type::kF8E4M3FN, Type::kF8E5M2, 16, 16, 32, false, true, random);
}

TEST(dot_integers) {
  std::mt19937_64 random(32);
  for (bool columns : {false, true}) {
    Matrix a = matrix(Type::kI8, 19, 37, columns, 1, random),
           b = matrix(Type::kI8, 37, 21, !columns, 0, random);
    std::vector<int32_t> expected(19 * 21, 5);
    for (int64_t i = 0; i < 19; ++i)
      for (int64_t j = 0; j < 21; ++j)
        for (int64_t x = 0; x < 37; ++x)
          expected[static_cast<size_t>(i * 21 + j)] +=
              static_cast<int32_t>(sign_extend(a.at(i, x), Type::kI8) * sign_extend(b.at(x, j), Type::kI8));
    for (Isa isa : available_isas()) {
      force_isa(isa_name(isa));
      std::vector<int32_t> c(19 * 21, 5);
      dot_i32(c.data(), 21, a.view(), b.view(), 19, 21, 37);
      CHECK(c == expected);
    }
    force_isa("");
  }
}

TEST(dot_f64_and_f16) {
  std::mt19937_64 random(33);
  Matrix a = matrix(Type::kF64, 9, 40, false, 0, random), b = matrix(Type::kF64, 40, 18, true, 2, random);
  Matrix ah = matrix(Type::kF16, 9, 40, false, 0, random), bh = matrix(Type::kF16, 40, 18, true, 2, random);
  std::vector<double> expected(9 * 18, 0.25);
  std::vector<uint16_t> expected_half;
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 18; ++j) {
      double& e = expected[static_cast<size_t>(i * 18 + j)];
      float h = 1.5f;
      for (int64_t x = 0; x < 40; ++x) {
        e = std::fma(to_double(a.at(i, x), Type::kF64), to_double(b.at(x, j), Type::kF64), e);
        h = std::fma(wide(ah, i, x), wide(bh, x, j), h);
      }
      expected_half.push_back(static_cast<uint16_t>(from_double(h, Type::kF16)));
    }
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    std::vector<double> c(9 * 18, 0.25);
    dot_f64(c.data(), 18, a.view(), b.view(), 9, 18, 40);
    CHECK(c == expected);
    std::vector<uint16_t> half(9 * 18, 0x3e00);
    dot_f16(half.data(), 18, ah.view(), bh.view(), 9, 18, 40);
    CHECK(half == expected_half);
  }
  force_isa("");
}

namespace {

// Intel's SDM, VDPBF16PS and TDPBF16PS: denormals are zeros, before and after each step.
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float fused(float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), flushed(c))); }

// One element: pairs of products, the second one first; or, of every 32 products, two chains of every other
// one, whose sum is added.
float fast_sum(Bf16Unit unit, float sum, const Matrix& a, const Matrix& b, int64_t i, int64_t j) {
  const int64_t k = a.cols;
  if (unit == Bf16Unit::kPairs) {
    for (int64_t x = 0; x < k; ++x) sum = fused(wide(a, i, x ^ 1), wide(b, x ^ 1, j), sum);
    return sum;
  }
  for (int64_t x = 0; x < k;) {
    float chain[2] = {};
    for (int64_t end = std::min(k, x + 32); x < end; ++x)
      chain[x % 2] = fused(wide(a, i, x), wide(b, x, j), chain[x % 2]);
    sum = fused(1, flushed(chain[0] + chain[1]), sum);
  }
  return sum;
}

void add_corners(Matrix& m, std::mt19937_64& random) {
  const std::vector<uint64_t> bits = operands(Type::kBF16, m.bits.size(), random);
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = 0; j < m.cols; ++j) {
      if (random() % 16) continue;
      uint64_t& to = m.bits[static_cast<size_t>(i * m.cols + j)];
      to = bits[static_cast<size_t>(i * m.cols + j)];
      store_bits(m.bytes.data() + (i * m.row_stride + j * m.col_stride) * 2, Type::kBF16, to);
    }
}

void check_fast(Bf16Unit unit, int64_t m, int64_t n, int64_t k, int layout, bool corners,
                std::mt19937_64& random) {
  // Rows of a that lie at odd distances, rows of b, columns of them, and of b at odd distances.
  Matrix a = matrix(Type::kBF16, m, k, layout == 1, layout == 2 ? 0 : 1, random),
         b = matrix(Type::kBF16, k, n, layout != 0, layout == 2 ? 1 : 0, random);
  if (corners) add_corners(a, random), add_corners(b, random);
  const int64_t ldc = n + 3;
  std::vector<float> c(static_cast<size_t>(m * ldc));
  for (float& x : c)
    x = static_cast<float>(random() % 1000) / 7 * (corners && random() % 8 == 0 ? 1e-40f : 1);
  // From what c holds, times a column or not, from zero and from another value.
  const float value = layout == 0 ? 0.0f : 0.375f;
  std::vector<float> column(static_cast<size_t>(2 * m), -0.5f);
  DotStart start;
  if (random() % 2) start.value = &value;
  if (!start.value && random() % 2) start = {.scale = column.data(), .scale_step = 2};
  std::vector<float> expected = c;
  const bool refused = unit == Bf16Unit::kPairs && n % 16 != 0;
  for (int64_t i = 0; i < m && !refused; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float& sum = expected[static_cast<size_t>(i * ldc + j)];
      sum = fast_sum(unit, start.value ? value : start.scale ? sum * -0.5f : sum, a, b, i, j);
    }
  CHECK_EQ(dot_bf16_fast(c.data(), ldc, a.view(), b.view(), m, n, k, start, unit), !refused);
  for (size_t i = 0; i < c.size(); ++i) {
    if (same(std::bit_cast<uint32_t>(c[i]), std::bit_cast<uint32_t>(expected[i]), Type::kF32)) continue;
    triton_runner::unit::record_failure(__FILE__, __LINE__,
                                        "fast dot " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                                            std::to_string(k) + " layout " + std::to_string(layout) +
                                            ": element " + std::to_string(i) + " is " + std::to_string(c[i]) +
                                            ", not " + std::to_string(expected[i]));
    return;
  }
}

}  // namespace

TEST(dot_bf16_fast_as_the_instructions_add) {
  for (Bf16Unit unit : {Bf16Unit::kPairs, Bf16Unit::kTiles}) {
    std::mt19937_64 random(34);
    if (!bf16_unit_available(unit)) {
      std::printf("  (this machine has no %s: only its refusal was tested)\n",
                  unit == Bf16Unit::kPairs ? "AVX512_BF16" : "AMX");
      Matrix a = matrix(Type::kBF16, 16, 16, false, 0, random);
      float c[256] = {};
      CHECK(!dot_bf16_fast(c, 16, a.view(), a.view(), 16, 16, 16, {}, unit));
      continue;
    }
    for (int64_t m : {1, 13, 16, 32, 50})
      for (int64_t n : {1, 16, 17, 31, 48, 64, 80, 100})
        for (int64_t k : {2, 16, 30, 32, 64, 98})
          check_fast(unit, m, n, k, static_cast<int>(random() % 3), random() % 2, random);
    for (int layout : {0, 1, 2})
      for (int64_t k : {32, 1100}) check_fast(unit, 37, 96, k, layout, k == 32, random);  // k in blocks
  }
  release_bf16_unit();
}

TEST(dot_bf16_fast_refusals) {
  std::mt19937_64 random(35);
  Matrix a = matrix(Type::kBF16, 16, 17, false, 0, random), b = matrix(Type::kBF16, 17, 16, false, 0, random),
         half = matrix(Type::kF16, 16, 16, false, 0, random);
  std::vector<float> c(256, 1.0f), untouched = c;
  for (Bf16Unit unit : {Bf16Unit::kNone, Bf16Unit::kPairs, Bf16Unit::kTiles}) {
    CHECK(!dot_bf16_fast(c.data(), 16, a.view(), b.view(), 16, 16, 17, {}, unit));
    CHECK(!dot_bf16_fast(c.data(), 16, half.view(), half.view(), 16, 16, 16, {}, unit));
    force_isa("portable");
    CHECK(!bf16_unit_available(unit));
    CHECK(!dot_bf16_fast(c.data(), 16, a.view(), b.view(), 16, 16, 16, {}, unit));
    force_isa("");
  }
  CHECK(c == untouched);
}

#if defined(__x86_64__)
TEST(dot_bf16_fast_gives_its_registers_back) {
  if (!bf16_unit_available(Bf16Unit::kTiles)) return;
  auto tiles_in_use = [] {
    constexpr unsigned kTileState = 3u << 17;
    unsigned low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & kTileState) != 0;
  };
  std::mt19937_64 random(36);
  check_fast(Bf16Unit::kTiles, 16, 16, 32, 0, false, random);
  CHECK(tiles_in_use());
  release_bf16_unit();
  CHECK(!tiles_in_use());
}
#endif
