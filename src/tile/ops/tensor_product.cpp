// Lays out rows and columns of tiles as num's tensor cores take them, and multiplies them.
#include "ops/tensor_product.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <triton_runner/base/look_up.h>
#include <triton_runner/num/convert.h>

namespace triton_runner::tile {
namespace {

constexpr int64_t kTileRows = 16, kBytes = 16;  // of A at once; of a row of a tile

std::optional<num::MmaType> mma_type(num::Type type) {
  static constexpr std::pair<num::Type, num::MmaType> kTypes[] = {
      {num::Type::kF16, num::MmaType::kF16},     {num::Type::kBF16, num::MmaType::kBF16},
      {num::Type::kTF32, num::MmaType::kTF32},   {num::Type::kF8E4M3FN, num::MmaType::kE4M3},
      {num::Type::kF8E5M2, num::MmaType::kE5M2},
  };
  return base::look_up(kTypes, type);
}

int64_t size_of(num::MmaType type) { return num::mma_bits(type) / 8; }

// If instructions find the elements of a row, if a thread holds more of them side by side than a register has. As
// Triton has it (MMAv2.cpp): an instruction takes the same register of two such groups, or, where the row is too short,
// two registers of one.
std::vector<int32_t> places_of(int64_t k, int64_t width, int64_t size) {
  const int64_t in_register = 4 / size, in_half = 4 * in_register, instruction = 2 * in_half;
  if (width <= in_register || k % (4 * width) != 0) return {};
  const bool two_groups = k >= 8 * width;
  const int64_t registers = width / in_register;  // of a group
  std::vector<int32_t> out;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t number = i / instruction, half = i % instruction / in_half;
    const int64_t thread = i % in_half / in_register, element = i % in_register;
    const int64_t held = two_groups ? number % registers : number * 2 % registers + half;
    const int64_t group = two_groups ? number / registers * 2 + half : number * 2 / registers;
    out.push_back(static_cast<int32_t>((group * 4 + thread) * width + held * in_register + element));
  }
  return out;
}

// `count` lines (rows of A, columns of B) from `first` on, `k` elements of each: tiles of 8 lines of 16 bytes, those of
// one place along k after the other. Lines from `lines` on are 0.
template <class T>
void pack(const num::MatrixView& m, int64_t line_stride, int64_t k_stride, int64_t first, int64_t count,
          int64_t lines, const int32_t* places, int64_t from, int64_t k, std::byte* out) {
  constexpr int64_t kElements = kBytes / static_cast<int64_t>(sizeof(T));
  const T* data = static_cast<const T*>(m.data);
  T* to = reinterpret_cast<T*>(out);
  for (int64_t line = 0; line < count; ++line) {
    T* tile = to + line / 8 * 8 * kElements + line % 8 * kElements;
    const bool is_there = first + line < lines;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = places ? places[from + i] : from + i;
      tile[i / kElements * (count / 8) * 8 * kElements + i % kElements] =
          is_there ? data[(first + line) * line_stride + at * k_stride] : T{};
    }
  }
}

void pack_lines(const num::MatrixView& m, bool rows, int64_t size, int64_t first, int64_t count,
                int64_t lines, const TensorProduct& p, int64_t from, std::byte* out) {
  const int64_t line = rows ? m.row_stride : m.col_stride, along = rows ? m.col_stride : m.row_stride;
  const int32_t* places = p.places.empty() ? nullptr : p.places.data();
  const auto run = size == 1 ? pack<uint8_t> : size == 2 ? pack<uint16_t> : pack<uint32_t>;
  run(m, line, along, first, count, lines, places, from, p.plan.k, out);
}

struct ProductScratch {
  num::MmaRows rows;
  num::MmaColumns columns;
  std::vector<std::byte> tiles;
  std::vector<float> sums, total;
};
thread_local std::unique_ptr<ProductScratch> scratch;

void load(float* to, const std::byte* c, num::Type type, int64_t n) {
  num::convert(to, num::Type::kF32, c, type, n);
}

void store(std::byte* c, num::Type type, float value) {
  if (type == num::Type::kF16) {
    const auto bits = static_cast<uint16_t>(num::mma_f16_bits(value));
    std::memcpy(c, &bits, sizeof bits);
  } else {
    std::memcpy(c, &value, sizeof value);
  }
}

}  // namespace

std::optional<TensorProduct> tensor_product(int capability, num::MmaUnit unit, num::Type a, num::Type b,
                                            num::Type c, int64_t k, int64_t k_width, int64_t partial) {
  const auto ta = mma_type(a), tb = mma_type(b);
  if (!ta || !tb || size_of(*ta) != size_of(*tb) || (c != num::Type::kF32 && c != num::Type::kF16))
    return std::nullopt;
  const bool half = unit == num::MmaUnit::kMma && capability < 80;
  const int64_t size = size_of(*ta), instruction = std::min((half ? 16 : 32) / size, k);
  if (instruction * size < kBytes || k % instruction != 0) return std::nullopt;
  TensorProduct out;
  const auto sum = c == num::Type::kF32 ? num::MmaSum::kF32 : num::MmaSum::kF16;
  out.plan = num::MmaPlan(capability, unit, *ta, *tb, sum, static_cast<int>(instruction), false);
  out.step = instruction;
  out.places = places_of(k, k_width, size);
  const bool is_small = size == 1 && sum == num::MmaSum::kF32;
  if (is_small && partial > 0 && partial <= k) out.partial = std::max(partial, instruction);
  const bool joins =
      sum == num::MmaSum::kF32 && !out.plan.model.converted && instruction % out.plan.block() == 0;
  if (!joins) return out;
  const int64_t most = std::min<int64_t>(out.partial ? out.partial : k, num::kMmaMaxK);
  while (out.step * 2 <= most && k % (out.step * 2) == 0) out.step *= 2;
  out.plan.k = static_cast<int>(out.step);
  return out;
}

void multiply(const TensorProduct& p, void* c, int64_t ldc, num::Type c_type, const num::MatrixView& a,
              const num::MatrixView& b, int64_t m, int64_t n, int64_t k) {
  if (!scratch) scratch = std::make_unique<ProductScratch>();
  ProductScratch& s = *scratch;
  const int64_t size = size_of(p.plan.a), wide = p.step * size / kBytes, columns = (n + 7) / 8 * 8;
  const int64_t rows = (m + kTileRows - 1) / kTileRows * kTileRows, c_size = num::size_of(c_type);
  s.tiles.resize(static_cast<size_t>(wide * 2 * 128));
  // All sums, 16 rows after 16 rows: element [row, column] of a group at [16 * column + row].
  s.sums.assign(static_cast<size_t>(rows * columns), 0);
  auto* out = static_cast<std::byte*>(c);
  std::vector<float> line(static_cast<size_t>(n));
  for (int64_t r = 0; r < m; ++r) {
    load(line.data(), out + r * ldc * c_size, c_type, n);
    for (int64_t j = 0; j < n; ++j)
      s.sums[static_cast<size_t>(r / kTileRows * kTileRows * columns + 16 * j + r % kTileRows)] =
          line[static_cast<size_t>(j)];
  }
  if (p.partial) {
    s.total.swap(s.sums);
    s.sums.assign(s.total.size(), 0);
  }
  std::vector<const void*> tiles(static_cast<size_t>(2 * wide));
  for (int64_t from = 0; from < k; from += p.step) {
    s.columns.resize(p.plan, static_cast<int>(columns));
    for (int64_t j = 0; j < columns; j += 8) {
      pack_lines(b, false, size, j, 8, n, p, from, s.tiles.data());
      for (int64_t i = 0; i < wide; ++i) tiles[static_cast<size_t>(i)] = s.tiles.data() + i * 128;
      num::mma_pack_columns(p.plan, s.columns, static_cast<int>(j), tiles.data());
    }
    for (int64_t r = 0; r < rows; r += kTileRows) {
      pack_lines(a, true, size, r, kTileRows, m, p, from, s.tiles.data());
      for (int64_t i = 0; i < 2 * wide; ++i) tiles[static_cast<size_t>(i)] = s.tiles.data() + i * 128;
      num::mma_pack_rows(p.plan, s.rows, tiles.data());
      num::mma_multiply(p.plan, s.rows, s.columns, 0, static_cast<int>(columns), s.sums.data() + r * columns);
    }
    if (p.partial && ((from + p.step) % p.partial == 0 || from + p.step == k)) {
      for (size_t i = 0; i < s.sums.size(); ++i) s.total[i] += s.sums[i];
      std::fill(s.sums.begin(), s.sums.end(), 0.f);
    }
  }
  if (p.partial) s.sums.swap(s.total);
  for (int64_t r = 0; r < m; ++r)
    for (int64_t j = 0; j < n; ++j)
      store(out + (r * ldc + j) * c_size, c_type,
            s.sums[static_cast<size_t>(r / kTileRows * kTileRows * columns + 16 * j + r % kTileRows)]);
}

}  // namespace triton_runner::tile
