// Tests the fast ways of mfma.h: four rows at once have the bits of a group after the other, on every instruction set.
#include <triton_runner/num/mfma.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <triton_runner/num/types.h>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

constexpr int kTileRows = kMfmaRows, kTileColumns = 32, kTileSteps = 32;

struct Sides {
  std::vector<float> a, b;
  std::vector<int32_t> parts[2], exponents[2];
  std::vector<int16_t> short_exponents[2];
};

// Numbers of 11 bits, some of them 0, whose exponents lie within `spread` of 0.
Sides some(std::mt19937& random, int spread, int least) {
  Sides s;
  for (int side = 0; side < 2; ++side) {
    std::vector<float>& to = side ? s.b : s.a;
    for (int i = 0; i < (side ? kTileColumns : kTileRows) * kTileSteps; ++i) {
      const int whole = static_cast<int>(random() % 2048),
                by = static_cast<int>(random() % (2 * spread + 1)) - spread;
      const float size = random() % 8 == 0 ? 0.0f : std::ldexp(static_cast<float>(whole | 1024), by - 10);
      to.push_back(random() & 1 ? -size : size);
    }
    s.parts[side].resize(to.size());
    s.exponents[side].resize(to.size());
    mfma_parts(to.data(), static_cast<int64_t>(to.size()), least, 10, s.parts[side].data(),
               s.exponents[side].data());
    s.short_exponents[side].resize(to.size());
    mfma_exponents(to.data(), static_cast<int64_t>(to.size()), least, s.short_exponents[side].data());
  }
  return s;
}

// The same products one row and one group at a time.
void by_groups(const Sides& s, int group, bool by_halves, float* sums) {
  for (int row = 0; row < kTileRows; ++row)
    for (int k = 0; k < kTileSteps; k += group) {
      std::vector<int32_t> part, exponent;
      for (int i = k; i < k + group; ++i) {
        part.push_back(s.parts[0][static_cast<size_t>(i * kTileRows + row)]);
        exponent.push_back(s.exponents[0][static_cast<size_t>(i * kTileRows + row)]);
      }
      mfma({part.data(), exponent.data(), &s.parts[1][static_cast<size_t>(k * kTileColumns)],
            &s.exponents[1][static_cast<size_t>(k * kTileColumns)], sums + row * kTileColumns, kTileColumns,
            group, 4, by_halves});
    }
}

struct RowsOfSums {
  explicit RowsOfSums(float* sums) {
    for (int r = 0; r < kTileRows; ++r) row[r] = sums + r * kTileColumns;
  }
  float* row[kTileRows];
};
MfmaRows rows_of(const Sides& s, int group, bool by_halves, const RowsOfSums& sums) {
  return {s.a.data(),   s.short_exponents[0].data(),
          s.b.data(),   s.short_exponents[1].data(),
          sums.row,     kTileRows,
          kTileColumns, kTileSteps,
          group,        by_halves};
}

// On each instruction set in turn.
template <class F>
void for_each_isa(const F& body) {
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    body();
  }
  force_isa("");
}

}  // namespace

TEST(mfma_rows_have_the_bits_of_groups) {
  std::mt19937 random(1);
  for_each_isa([&] {
    for (int round = 0; round < 200; ++round) {
      const int spread = round % 3 == 0 ? 2 : round % 3 == 1 ? 14 : 45, group = round % 2 ? 16 : 8;
      const Sides s = some(random, spread, spread == 14 ? -14 : -126);
      // Sums far above the products, and below, but not so far that their differences are tiny.
      const int far = round % 5 == 0 ? 80 : round % 5 == 1 && spread < 45 ? -54 : 0;
      float sums[kTileRows * kTileColumns], other[kTileRows * kTileColumns];
      for (float& c : sums)
        c = random() % 4 == 0 ? 0
                              : std::ldexp(static_cast<float>(random() % 65535) - 32767.5f,
                                           static_cast<int>(random() % 60) - 45 + far);
      std::copy_n(sums, kTileRows * kTileColumns, other);
      by_groups(s, group, round % 2 != 0, other);
      CHECK_EQ(mfma_rows(rows_of(s, group, round % 2 != 0, RowsOfSums(sums)), 0), kTileSteps);
      for (int i = 0; i < kTileRows * kTileColumns; ++i)
        CHECK_EQ(std::bit_cast<uint32_t>(sums[i]), std::bit_cast<uint32_t>(other[i]));
    }
  });
}

TEST(mfma_rows_stop_at_a_sum_that_is_not_finite_or_tiny) {
  std::mt19937 random(2);
  for_each_isa([&] {
    const Sides s = some(random, 2, -126);
    for (float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                      std::numeric_limits<float>::denorm_min(), -0x1p-101f}) {
      float sums[kTileRows * kTileColumns] = {};
      sums[37] = odd;
      CHECK_EQ(mfma_rows(rows_of(s, 8, false, RowsOfSums(sums)), 0), 0);
      CHECK_EQ(sums[0], 0.0f);
    }
    float sums[kTileRows * kTileColumns] = {-0.0f, 0x1p-100f};
    CHECK_EQ(mfma_rows(rows_of(s, 8, false, RowsOfSums(sums)), 0), kTileSteps);
  });
}

TEST(mfma_chain_rows_fuse_one_product_after_the_other) {
  std::mt19937 random(3);
  for_each_isa([&] {
    const Sides s = some(random, 14, -126);
    float sums[kTileRows * kTileColumns] = {}, other[kTileRows * kTileColumns] = {};
    mfma_chain_rows(rows_of(s, 8, false, RowsOfSums(sums)));
    for (int row = 0; row < kTileRows; ++row)
      for (int j = 0; j < kTileColumns; ++j)
        for (int k = 0; k < kTileSteps; ++k)
          other[row * kTileColumns + j] =
              std::fma(s.a[static_cast<size_t>(k * kTileRows + row)],
                       s.b[static_cast<size_t>(k * kTileColumns + j)], other[row * kTileColumns + j]);
    for (int i = 0; i < kTileRows * kTileColumns; ++i)
      CHECK_EQ(std::bit_cast<uint32_t>(sums[i]), std::bit_cast<uint32_t>(other[i]));
  });
}
