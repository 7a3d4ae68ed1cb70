// Tests the models of mma.h against a slow one that computes in 128-bit integers term by term, on every
// instruction set, bit for bit.
#include <triton_runner/num/mma.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <triton_runner/num/types.h>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

using Int = __int128;

struct Value {  // significand * 2^exponent; lead: the exponent that alignment looks at
  bool nan = false, inf = false, negative = false;
  Int significand = 0;
  int exponent = 0, lead = 0;
};

// Fields of an IEEE-like format.
Value decode(uint32_t bits, int exponent_bits, int mantissa_bits, int bias, bool has_inf, bool has_nan_only) {
  Value v;
  uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  uint32_t exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  uint32_t top = (1u << exponent_bits) - 1;
  v.negative = bits >> (mantissa_bits + exponent_bits) & 1;
  if (has_inf && exponent == top) {
    v.nan = mantissa != 0;
    v.inf = mantissa == 0;
    return v;
  }
  if (has_nan_only && exponent == top && mantissa == (1u << mantissa_bits) - 1) {
    v.nan = true;
    return v;
  }
  int e = exponent == 0 ? 1 - bias : static_cast<int>(exponent) - bias;
  v.significand = mantissa | (exponent == 0 ? 0u : 1u << mantissa_bits);
  v.exponent = e - mantissa_bits;
  v.lead = e;
  return v;
}

Value decode(MmaType type, uint32_t bits) {
  switch (type) {
    case MmaType::kF16:
      return decode(bits, 5, 10, 15, true, false);
    case MmaType::kBF16:
      return decode(bits, 8, 7, 127, true, false);
    case MmaType::kTF32:
      return decode(bits >> 13, 8, 10, 127, true, false);
    case MmaType::kE4M3:
      return decode(bits, 4, 3, 7, false, true);
    case MmaType::kE5M2:
      return decode(bits, 5, 2, 15, true, false);
    case MmaType::kE3M2:
      return decode(bits, 3, 2, 3, false, false);
    case MmaType::kE2M3:
      return decode(bits, 2, 3, 1, false, false);
    case MmaType::kE2M1Byte:
      return decode(bits >> 2, 2, 1, 1, false, false);
    case MmaType::kE2M1:
      return decode(bits, 2, 1, 1, false, false);
    default:
      return {};
  }
}

Int shifted(Int x, int by) {  // toward zero; x >= 0
  if (x == 0) return 0;
  if (by >= 0) return x << by;
  return by < -120 ? 0 : x >> -by;
}

// The step of the model on one output.
float slow_step(const MmaModel& m, MmaSum sum, const std::vector<Value>& a, const std::vector<Value>& b,
                float c, int scale_exponent = 0) {
  Value v = decode(std::bit_cast<uint32_t>(c), 8, 23, 127, true, false);
  if (sum == MmaSum::kF16 && v.significand != 0 && v.lead < -14) v.lead = -14;
  bool nan = v.nan, plus = v.inf && !v.negative, minus = v.inf && v.negative;
  int largest = m.min_exponent;
  if (v.significand != 0) largest = std::max(largest, v.lead);
  for (size_t k = 0; k < a.size(); ++k) {
    nan |= a[k].nan || b[k].nan;
    if (a[k].inf || b[k].inf) {
      bool zero = (!a[k].inf && a[k].significand == 0) || (!b[k].inf && b[k].significand == 0);
      nan |= zero;
      (a[k].negative != b[k].negative ? minus : plus) = true;
    } else if (a[k].significand != 0 && b[k].significand != 0) {
      largest = std::max(largest, a[k].lead + b[k].lead + scale_exponent);
    }
  }
  if (nan || (plus && minus)) return std::bit_cast<float>(0x7fffffffu);
  if (plus || minus) return plus ? INFINITY : -INFINITY;
  int unit = largest - m.fraction;
  Int total = shifted(v.significand, v.exponent - unit) * (v.negative ? -1 : 1);
  for (size_t k = 0; k < a.size(); ++k)
    total +=
        shifted(a[k].significand * b[k].significand, a[k].exponent + b[k].exponent + scale_exponent - unit) *
        (a[k].negative != b[k].negative ? -1 : 1);
  bool negative = total < 0;
  Int magnitude = negative ? -total : total;
  if (magnitude == 0) return 0.0f;
  int top = 0;
  for (Int x = magnitude; x > 1; x >>= 1) ++top;
  int exponent = top + unit;  // of the leading one
  if (sum == MmaSum::kF16) {
    int last = std::max(exponent, -14) - 10;  // weight of the last bit
    int drop = last - unit;
    Int kept = drop > 0 ? magnitude >> drop : magnitude << -drop;
    if (drop > 0) {
      Int rest = magnitude - (kept << drop), half = Int{1} << (drop - 1);
      if (rest > half || (rest == half && (kept & 1))) ++kept;
    }
    if (kept == 0) return 0.0f;
    double x = std::ldexp(static_cast<double>(kept), last);
    if (x >= 65536) x = INFINITY;
    return static_cast<float>(negative ? -x : x);
  }
  int last = std::max(exponent, -126) - m.result;
  int drop = last - unit;
  Int kept = drop > 0 ? magnitude >> drop : magnitude << -drop;
  if (kept == 0) return 0.0f;
  double x = std::ldexp(static_cast<double>(kept), last);
  if (x >= 0x1p128) x = INFINITY;
  return static_cast<float>(negative ? -x : x);
}

struct Operand {  // [rows][k] of codes
  std::vector<uint32_t> codes;
  std::vector<uint8_t> tiles;
  std::vector<const void*> pointers;
};

uint32_t random_code(MmaType type, std::mt19937_64& random, int style) {
  uint64_t x = random();
  int bits = mma_bits(type);
  uint32_t code = static_cast<uint32_t>(x) & (bits == 32 ? ~0u : (1u << bits) - 1);
  if (style == 0) return code;  // all bits random: infinities and NaNs among them
  switch (type) {
    case MmaType::kF16:
      code = style == 1 ? (code & 0x83ff) | static_cast<uint32_t>((12 + (x >> 32) % 5) << 10)
                        : (code & 0x87ff) | static_cast<uint32_t>(((x >> 32) % 31) << 10);
      break;
    case MmaType::kBF16:
      code = style == 1 ? (code & 0x807f) | static_cast<uint32_t>((122 + (x >> 32) % 8) << 7)
                        : (code & 0x807f) | static_cast<uint32_t>(((x >> 32) % 255) << 7);
      break;
    case MmaType::kTF32:
      code = style == 1 ? (code & 0x807fffff) | static_cast<uint32_t>((122 + (x >> 32) % 8) << 23)
                        : (code & 0x807fffff) | static_cast<uint32_t>(((x >> 32) % 255) << 23);
      break;
    case MmaType::kE4M3:
      if ((code & 0x7f) == 0x7f) code ^= 1;
      break;
    case MmaType::kE5M2:
      code = (code & 0x83) | static_cast<uint32_t>((style == 1 ? 12 + (x >> 32) % 6 : (x >> 32) % 31) << 2);
      break;
    default:
      break;
  }
  if (style == 2 && (x >> 48) % 8 == 0) code = 0;
  return code;
}

// `rows` rows of k codes as tiles: of 16 rows two tiles high.
Operand make(MmaType type, int rows, int k, std::mt19937_64& random, int style) {
  Operand o;
  int bits = mma_bits(type), per_tile = 128 / bits, high = rows / 8;
  o.tiles.resize(static_cast<size_t>(rows * k * bits / 8));
  for (int i = 0; i < rows; ++i)
    for (int x = 0; x < k; ++x) {
      uint32_t code = random_code(type, random, style);
      o.codes.push_back(code);
      int tile = x / per_tile * high + i / 8, bit = (i % 8) * 128 + (x % per_tile) * bits;
      size_t byte = static_cast<size_t>(tile * 128 + bit / 8);
      for (int n = 0; n < bits; n += 8)
        o.tiles[byte + static_cast<size_t>(n / 8)] |= static_cast<uint8_t>((code >> n) << (bit % 8));
    }
  for (size_t t = 0; t < o.tiles.size(); t += 128) o.pointers.push_back(o.tiles.data() + t);
  return o;
}

float random_sum(MmaSum sum, std::mt19937_64& random, int style) {
  auto x = static_cast<uint32_t>(random());
  if (sum == MmaSum::kF16) {
    uint32_t h = style == 1 ? (x & 0x83ff) | ((10 + x % 9) << 10) : x & 0xffff;
    return static_cast<float>(to_double(h, Type::kF16));
  }
  if (style == 1) x = (x & 0x807fffff) | ((115 + random() % 20) << 23);
  if (style == 2 && random() % 4 == 0) x = 0;
  return std::bit_cast<float>(x);
}

void check(int capability, MmaUnit unit, MmaType a_type, MmaType b_type, MmaSum sum, int k, int style,
           std::mt19937_64& random) {
  MmaPlan plan(capability, unit, a_type, b_type, sum, k, false);
  constexpr int kColumns = 16;
  Operand a = make(a_type, 16, k, random, style);
  std::vector<Operand> b;
  for (int j = 0; j < kColumns; j += 8) b.push_back(make(b_type, 8, k, random, style));
  std::vector<float> start(16 * kColumns), expected;
  for (float& x : start) x = random_sum(sum, random, style);
  expected = start;
  for (int j = 0; j < kColumns; ++j)
    for (int i = 0; i < 16; ++i) {
      float& c = expected[static_cast<size_t>(16 * j + i)];
      const float before = c;
      if (plan.model.converted) c = 0;
      for (int done = 0; done < k; done += plan.block()) {
        std::vector<Value> row, column;
        for (int at = done; at < std::min(k, done + plan.block()); ++at) {
          // In converted operands, elements 0 and 1 of each four come first.
          const int x = plan.model.converted ? at % (k / 2) / 2 * 4 + at / (k / 2) * 2 + at % 2 : at;
          row.push_back(decode(a_type, a.codes[static_cast<size_t>(i * k + x)]));
          column.push_back(
              decode(b_type, b[static_cast<size_t>(j / 8)].codes[static_cast<size_t>(j % 8 * k + x)]));
        }
        for (std::vector<Value>* side : {&row, &column})
          for (Value& v : *side)
            if (plan.model.converted && v.significand != 0) {
              int top = 0;
              for (Int s = v.significand; s > 1; s >>= 1) ++top;
              v.lead = std::max(top + v.exponent, -14);
            }
        c = slow_step(plan.model, sum, row, column, c);
      }
      if (plan.model.converted) {
        double x = static_cast<double>(c) + static_cast<double>(before);
        c = sum == MmaSum::kF16
                ? static_cast<float>(
                      to_double(from_double(x, Type::kF16, Rounding::kNearestEven, Overflow::kNonSaturating),
                                Type::kF16))
                : c + before;
        if (std::isnan(c)) c = std::bit_cast<float>(0x7fffffffu);
      }
    }
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    MmaRows rows;
    MmaColumns columns;
    columns.resize(plan, kColumns);
    mma_pack_rows(plan, rows, a.pointers.data());
    for (int j = 0; j < kColumns; j += 8)
      mma_pack_columns(plan, columns, j, b[static_cast<size_t>(j / 8)].pointers.data());
    std::vector<float> sums = start;
    mma_multiply(plan, rows, columns, 0, kColumns, sums.data());
    for (size_t n = 0; n < sums.size(); ++n)
      if (std::bit_cast<uint32_t>(sums[n]) != std::bit_cast<uint32_t>(expected[n]) &&
          !(std::isnan(sums[n]) && std::isnan(expected[n]) && sum == MmaSum::kF16)) {
        triton_runner::unit::record_failure(
            __FILE__, __LINE__,
            "sm_" + std::to_string(capability) + " types " + std::to_string(static_cast<int>(a_type)) + ", " +
                std::to_string(static_cast<int>(b_type)) + " sum " + std::to_string(static_cast<int>(sum)) +
                " style " + std::to_string(style) + " on " + std::string(isa_name(isa)) + ": output " +
                std::to_string(n) + " is " + std::to_string(std::bit_cast<uint32_t>(sums[n])) + ", not " +
                std::to_string(std::bit_cast<uint32_t>(expected[n])));
        break;
      }
  }
  force_isa("");
}

}  // namespace

TEST(mma_models_bit_for_bit) {
  std::mt19937_64 random(50);
  for (int style : {0, 1, 2})
    for (int repeat = 0; repeat < 12; ++repeat) {
      for (int capability : {75, 80, 86, 89, 90, 100, 120}) {
        for (MmaSum sum : {MmaSum::kF32, MmaSum::kF16}) {
          check(capability, MmaUnit::kMma, MmaType::kF16, MmaType::kF16, sum, 16, style, random);
          check(capability, MmaUnit::kMma, MmaType::kF16, MmaType::kF16, sum, 8, style, random);
          if (capability >= 89) {
            check(capability, MmaUnit::kMma, MmaType::kE4M3, MmaType::kE5M2, sum, 32, style, random);
            check(capability, MmaUnit::kMma, MmaType::kE5M2, MmaType::kE4M3, sum, 16, style, random);
          }
        }
        if (capability < 80) continue;
        check(capability, MmaUnit::kMma, MmaType::kBF16, MmaType::kBF16, MmaSum::kF32, 16, style, random);
        check(capability, MmaUnit::kMma, MmaType::kTF32, MmaType::kTF32, MmaSum::kF32, 8, style, random);
        check(capability, MmaUnit::kMma, MmaType::kTF32, MmaType::kTF32, MmaSum::kF32, 4, style, random);
      }
      for (MmaType a : {MmaType::kE4M3, MmaType::kE3M2, MmaType::kE2M3, MmaType::kE2M1Byte})
        for (MmaType b : {MmaType::kE5M2, MmaType::kE3M2, MmaType::kE2M3, MmaType::kE2M1Byte})
          check(120, MmaUnit::kMma, a, b, MmaSum::kF32, 32, style, random);
      check(90, MmaUnit::kWgmma, MmaType::kF16, MmaType::kF16, MmaSum::kF16, 16, style, random);
      check(90, MmaUnit::kWgmma, MmaType::kTF32, MmaType::kTF32, MmaSum::kF32, 8, style, random);
      check(90, MmaUnit::kWgmma, MmaType::kE4M3, MmaType::kE4M3, MmaSum::kF32, 32, style, random);
      check(100, MmaUnit::kTcgen05, MmaType::kE5M2, MmaType::kE2M3, MmaSum::kF32, 32, style, random);
    }
}

// All products at their largest: sums beyond 32 bits.
TEST(mma_largest_sums) {
  for (int capability : {80, 90, 100})
    for (Isa isa : available_isas()) {
      force_isa(isa_name(isa));
      MmaPlan plan(capability, MmaUnit::kMma, MmaType::kF16, MmaType::kF16, MmaSum::kF32, 16, false);
      std::vector<uint16_t> tile(64, 0x3fff);
      const void* tiles[] = {tile.data(), tile.data(), tile.data(), tile.data()};
      MmaRows rows;
      MmaColumns columns;
      columns.resize(plan, 8);
      mma_pack_rows(plan, rows, tiles);
      mma_pack_columns(plan, columns, 0, tiles);
      std::vector<float> sums(128, 1.9999999f);
      mma_multiply(plan, rows, columns, 0, 8, sums.data());
      std::vector<Value> ones(static_cast<size_t>(std::min<int>(16, plan.block())),
                              decode(MmaType::kF16, 0x3fff));
      float expected = 1.9999999f;
      for (int done = 0; done < 16; done += plan.block())
        expected = slow_step(plan.model, MmaSum::kF32, ones, ones, expected);
      CHECK_EQ(sums[0], expected);
      CHECK_EQ(sums[127], expected);
    }
  force_isa("");
}

// A scale that is NaN (0xff of ue8m0) makes its own row NaN, or its own column, and no other.
TEST(mma_scales_that_are_nan) {
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    MmaPlan plan(120, MmaUnit::kMma, MmaType::kE4M3, MmaType::kE4M3, MmaSum::kF32, 32, false,
                 MmaScale::kPowers);
    std::mt19937_64 random(53);
    Operand a = make(MmaType::kE4M3, 16, 32, random, 1), b = make(MmaType::kE4M3, 8, 32, random, 1);
    MmaRows rows;
    MmaColumns columns;
    columns.resize(plan, 8);
    mma_pack_rows(plan, rows, a.pointers.data());
    mma_pack_columns(plan, columns, 0, b.pointers.data());
    for (int i = 0; i < 16; ++i) rows.scale[0][i] = i == 5 ? NAN : 1.0f;
    for (int j = 0; j < 8; ++j) columns.scale.push_back(j == 2 ? NAN : 1.0f);
    std::vector<float> sums(128, 1.0f);
    mma_multiply(plan, rows, columns, 0, 8, sums.data());
    for (size_t n = 0; n < 128; ++n) CHECK_EQ(std::isnan(sums[n]), n % 16 == 5 || n / 16 == 2);
  }
  force_isa("");
}

TEST(mma_fragments_round_trip) {
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    std::mt19937_64 random(51);
    for (MmaSum sum : {MmaSum::kF32, MmaSum::kF16, MmaSum::kS32}) {
      uint32_t in[4][32], out[4][32] = {};
      for (auto& r : in)
        for (uint32_t& x : r)
          x = static_cast<uint32_t>(random()) & (sum == MmaSum::kF16 ? 0xbbffbbff : 0xffffffff);
      const uint32_t* from[] = {in[0], in[1], in[2], in[3]};
      uint32_t* to[] = {out[0], out[1], out[2], out[3]};
      alignas(64) uint32_t sums[128];
      mma_load_sums(sum, sums, from);
      if (sum != MmaSum::kF16)
        for (int l = 0; l < 32; ++l)
          for (int q = 0; q < 4; ++q)
            CHECK_EQ(sums[16 * (2 * (l % 4) + q % 2) + l / 4 + 8 * (q / 2)], in[q][l]);
      mma_store_sums(sum, sums, to);
      CHECK(std::memcmp(in, out, sum == MmaSum::kF16 ? 256 : 512) == 0);
    }
  }
  force_isa("");
}

TEST(mma_integers) {
  struct Case {
    MmaType type;
    int k;
    bool is_signed;
  };
  for (Case c : {Case{MmaType::kS8, 32, true},
                 {MmaType::kU8, 32, false},
                 {MmaType::kS4, 64, true},
                 {MmaType::kU4, 64, false}})
    for (bool saturate : {false, true})
      for (Isa isa : available_isas()) {
        force_isa(isa_name(isa));
        std::mt19937_64 random = seeded({52, static_cast<int64_t>(c.type), saturate});
        MmaPlan plan(80, MmaUnit::kMma, c.type, c.type, MmaSum::kS32, c.k, false);
        plan.saturate = saturate;
        Operand a = make(c.type, 16, c.k, random, 0), b = make(c.type, 8, c.k, random, 0);
        MmaRows rows;
        MmaColumns columns;
        columns.resize(plan, 8);
        mma_pack_rows(plan, rows, a.pointers.data());
        mma_pack_columns(plan, columns, 0, b.pointers.data());
        std::vector<int32_t> sums(128);
        for (size_t n = 0; n < 128; ++n)
          sums[n] = n % 3 == 0   ? INT32_MAX - static_cast<int>(random() % 1000)
                    : n % 3 == 1 ? INT32_MIN + 5
                                 : static_cast<int32_t>(random());
        std::vector<int32_t> start = sums;
        mma_multiply(plan, rows, columns, 0, 8, sums.data());
        int bits = mma_bits(c.type);
        auto value = [&](uint32_t code) {
          return c.is_signed && (code >> (bits - 1)) ? static_cast<int64_t>(code) - (1 << bits)
                                                     : static_cast<int64_t>(code);
        };
        for (int j = 0; j < 8; ++j)
          for (int i = 0; i < 16; ++i) {
            int64_t sum = start[static_cast<size_t>(16 * j + i)];
            for (int x = 0; x < c.k; ++x)
              sum += value(a.codes[static_cast<size_t>(i * c.k + x)]) *
                     value(b.codes[static_cast<size_t>(j * c.k + x)]);
            if (saturate) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
            CHECK_EQ(sums[static_cast<size_t>(16 * j + i)], static_cast<int32_t>(sum));
          }
      }
  force_isa("");
}
