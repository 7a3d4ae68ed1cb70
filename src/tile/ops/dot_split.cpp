// Lowers tt.dot of f32 in parts: inputPrecision = tf32x3, bf16x3, bf16x6.
//
// It is computed as tritongpu-F32DotTC writes it out for tensor cores, so that TTIR has the bits of its
// TTGIR. A factor is the sum of two or three parts, each rounded to the narrow type. The products of parts
// are added up from the smallest on, starting from zero; what became NaN there (an infinity has no rest) is
// zero again. Then come the product of the first parts and, at last, the accumulator.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include <triton_runner/num/convert.h>

#include "ops/dot.h"

namespace triton_runner::tile {
namespace {

using PartPair = std::pair<int, int>;  // of a's and b's part, 0 the largest
constexpr PartPair kThree[] = {{1, 0}, {0, 1}, {0, 0}};
constexpr PartPair kSix[] = {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};

struct SplitDot {
  num::Type part;
  int parts;
  std::span<const PartPair> products;
  int64_t batches, m, n, k;
};

// The parts of n numbers as f32, one after the other; `rest` has room for n.
void split(const SplitDot& d, const float* from, float* out, float* rest, int64_t n) {
  std::memcpy(rest, from, static_cast<size_t>(n) * sizeof(float));
  for (int p = 0; p < d.parts; ++p, out += n) {
    if (d.part == num::Type::kBF16) {
      num::convert(out, num::Type::kBF16, rest, num::Type::kF32, n);
      // In place, from the end on: a bf16 is the upper half of its f32.
      const auto* halves = reinterpret_cast<const std::byte*>(out);
      for (int64_t i = n; i-- > 0;) {
        uint16_t half;
        std::memcpy(&half, halves + 2 * i, sizeof half);
        const uint32_t bits = static_cast<uint32_t>(half) << 16;
        std::memcpy(out + i, &bits, sizeof bits);
      }
    } else {
      num::convert(out, d.part, rest, num::Type::kF32, n);
    }
    for (int64_t i = 0; i < n; ++i) rest[i] -= out[i];
  }
}

const Instr* run_split_dot(Task& t, const Instr& in, const SplitDot& d) {
  BufferPool& pool = *t.worker->pool;
  const int64_t of_a = d.m * d.k, of_b = d.k * d.n, of_c = d.m * d.n;
  const auto* a = t.dense<float>(in.operand(0));
  const auto* b = t.dense<float>(in.operand(1));
  Buffer *a_parts = pool.allocate(of_a * d.parts * 4), *b_parts = pool.allocate(of_b * d.parts * 4);
  Buffer *sums = pool.allocate(of_c * 4), *rest = pool.allocate(std::max(of_a, of_b) * 4);
  auto floats = [](Buffer* buffer) { return reinterpret_cast<float*>(buffer->data()); };
  auto* c = static_cast<float*>(dot_accumulator(t, in, 2));
  const float zero = 0;
  for (int64_t i = 0; i < d.batches; ++i, c += of_c) {
    split(d, a + i * of_a, floats(a_parts), floats(rest), of_a);
    split(d, b + i * of_b, floats(b_parts), floats(rest), of_b);
    float* sum = floats(sums);
    for (const PartPair& pair : d.products) {
      const bool first = &pair == &d.products.front(), last = &pair == &d.products.back();
      for (int64_t j = 0; last && j < of_c; ++j)
        if (std::isnan(sum[j])) sum[j] = 0;
      num::DotStart start;
      if (first) start.value = &zero;
      num::dot_f32(sum, d.n, {floats(a_parts) + pair.first * of_a, num::Type::kF32, d.k, 1},
                   {floats(b_parts) + pair.second * of_b, num::Type::kF32, d.n, 1}, d.m, d.n, d.k, start);
    }
    for (int64_t j = 0; j < of_c; ++j) c[j] = sum[j] + c[j];
  }
  for (Buffer* buffer : {a_parts, b_parts, sums, rest}) pool.release(buffer);
  return next(in);
}

}  // namespace

bool is_split(ir::InputPrecision precision) {
  using enum ir::InputPrecision;
  return precision == kTf32x3 || precision == kBf16x3 || precision == kBf16x6;
}

void lower_split_dot(Lowering& l, const ir::Op& op, ir::InputPrecision precision) {
  const TileType &a = *l.type_of(op.operand(0)), &c = *l.type_of(op.result());
  const int row = a.rank - 2;
  const bool six = precision == ir::InputPrecision::kBf16x6;
  auto* d = l.make<SplitDot>();
  d->part = precision == ir::InputPrecision::kTf32x3 ? num::Type::kTF32 : num::Type::kBF16;
  d->parts = six ? 3 : 2;
  d->products = six ? std::span<const PartPair>(kSix) : std::span<const PartPair>(kThree);
  d->batches = row ? c.shape[0] : 1;
  d->m = c.shape[row], d->n = c.shape[row + 1], d->k = a.shape[row + 1];
  l.emit<run_split_dot>(op, d);
}

}  // namespace triton_runner::tile
