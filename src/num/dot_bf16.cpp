// Chooses the instructions for the bf16 dots of mma="fast" (AMX or AVX512_BF16), and packs the operands as
// they take them, b in pairs of neighbours in k.
#include <algorithm>
#include <bit>

#include <triton_runner/num/dot.h>
#include <triton_runner/num/kernels.h>
#include <triton_runner/num/of_isa.h>

#include "scratch.h"
#include "simd/tables.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace triton_runner::num {
namespace {

constexpr int64_t kPackedDepth = 512;  // of packed operands that stay in cache

thread_local Scratch packed_scratch;
thread_local void (*release)() = nullptr;

// The registers of AMX are a process's only after it has asked for them: signal frames grow by 8 KB, and the
// kernel refuses where a thread's stack for signals is too small for that.
bool ask_for_amx() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr unsigned kOsxsave = 1u << 27, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kTileState = 3u << 17;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  unsigned a, b, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kOsxsave)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kAmxBf16) || !(d & kAmxTile)) return false;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileState) == kTileState && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

const Bf16Table& table_of(Bf16Unit unit) {
  const Isa isa = current_isa();
  return unit == Bf16Unit::kTiles ? NUM_OF_ISA(isa, bf16_tiles) : NUM_OF_ISA(isa, bf16_pairs);
}

bool has_pairs() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}
bool is_intel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

const uint16_t* bf16_at(MatrixView v, int64_t i, int64_t j) {
  return static_cast<const uint16_t*>(v.data) + i * v.row_stride + j * v.col_stride;
}

// `size`: 2 for elements, 4 for pairs of them.
void* copied(MatrixView v, int64_t rows, int64_t cols, size_t size) {
  void* copy = packed_scratch.take(rows * cols * static_cast<int64_t>(size));
  const int64_t shape[] = {rows, cols}, strides[] = {v.row_stride, v.col_stride};
  copy_view(copy, v.data, shape, strides, 2, size);
  return copy;
}

// b in pairs, as Bf16Table takes it.
const uint32_t* packed(MatrixView b, const Bf16Table& table, int64_t k, int64_t n) {
  auto* out = static_cast<uint32_t*>(packed_scratch.take(k * n * 2));
  if (b.row_stride != 1 || b.col_stride % 2 != 0) {
    if (b.col_stride != 1) b = {copied(b, k, n, 2), b.type, n, 1};
    table.pack(out, bf16_at(b, 0, 0), b.row_stride, n, k);
    return out;
  }
  // Columns of b are rows of pairs.
  const int64_t panel = table.panel ? table.panel : n;
  uint32_t* to = out;
  for (int64_t j = 0; j < n; j += panel) {
    const int64_t shape[] = {k / 2, std::min(panel, n - j)}, strides[] = {1, b.col_stride / 2};
    copy_view(to, bf16_at(b, 0, j), shape, strides, 2, 4);
    to += shape[0] * shape[1];
  }
  return out;
}

void set_start(float* c, int64_t ldc, int64_t m, int64_t n, DotStart start) {
  for (int64_t i = 0; i < m && start.value; ++i) std::fill_n(c + i * ldc, n, *start.value);
  for (int64_t i = 0; i < m && start.scale; ++i)
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] *= start.scale[i * start.scale_step];
}

}  // namespace

bool bf16_unit_available(Bf16Unit unit) {
  if (unit == Bf16Unit::kNone || !isa_available(Isa::kAvx512) || !table_of(unit).dot) return false;
  if (unit == Bf16Unit::kPairs) return has_pairs();
  static const bool amx = ask_for_amx();
  return amx;
}

Bf16Unit best_bf16_unit() {
  if (bf16_unit_available(Bf16Unit::kTiles)) return Bf16Unit::kTiles;
  return !is_intel() && bf16_unit_available(Bf16Unit::kPairs) ? Bf16Unit::kPairs : Bf16Unit::kNone;
}

bool dot_bf16_fast(float* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k,
                   DotStart start, Bf16Unit unit) {
  if (a.type != Type::kBF16 || b.type != Type::kBF16 || k % 2 != 0 || !bf16_unit_available(unit))
    return false;
  const Bf16Table& table = table_of(unit);
  if (n % table.columns != 0) return false;
  if (table.release) release = table.release;
  bool from_zero = start.value && std::bit_cast<uint32_t>(*start.value) == 0;
  if (!from_zero) set_start(c, ldc, m, n, start);
  for (int64_t done = 0; done < k; done += kPackedDepth, from_zero = false) {
    const int64_t part = std::min(kPackedDepth, k - done);
    MatrixView rows = a, columns = b;
    rows.data = bf16_at(a, 0, done);
    columns.data = bf16_at(b, done, 0);
    packed_scratch.reserve(Scratch::rounded(m * part * 2) + 2 * Scratch::rounded(part * n * 2));
    if (a.col_stride != 1) rows = {copied(rows, m, part, 2), a.type, part, 1};
    const uint32_t* pairs = packed(columns, table, part, n);
    table.dot(c, ldc, bf16_at(rows, 0, 0), rows.row_stride, pairs, m, n, part, from_zero);
  }
  return true;
}

void release_bf16_unit() {
  if (release) release();
  release = nullptr;
}

}  // namespace triton_runner::num
