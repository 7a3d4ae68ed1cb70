// Multiplies bf16 for mma="fast" on AMX: eight tile registers of 16 rows of 64 bytes, and an instruction that
// multiplies two of them and adds the product, 16 x 32 times 32 x 16, to a third one. Where the machine has
// AMX it is tested by src/num/dot_test.cpp; elsewhere that tests the refusal alone.
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {

#if defined(SIMD_ISA_avx512)
namespace {

// Assembly, since the intrinsics of g++ 12 do not say that a load reads memory: stores before it may move
// after it. Pointers and strides in bytes.
#define TILE_LOAD(tile, from, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile::"r"(from), "r"(stride) : "memory")
#define TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile::: "memory")
#define TILE_STORE(tile, to, stride) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"(stride) : "memory")
#define TILE_MULTIPLY(sum, a, b) asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #sum::: "memory")

constexpr int64_t kTile = 16;      // rows of a tile, columns of f32 or of pairs
constexpr int64_t kDeep = 32;      // k of one instruction
constexpr int64_t kPanel = 32;     // columns of b that are packed together
constexpr int64_t kPairBytes = 4;  // of two bf16, or of one f32

// Tiles 0 to 3 are a block of c, two by two; 4 and 5 are of a, 6 and 7 of b.
struct alignas(64) Config {
  uint8_t palette = 1, start = 0, unused[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
  constexpr Config(int64_t m, int64_t n, int64_t k) {
    for (int t = 0; t < 8; ++t) {
      rows[t] = static_cast<uint8_t>(t < 6 ? m : k / 2);
      bytes[t] = static_cast<uint16_t>(t == 4 || t == 5 ? k * 2 : n * kPairBytes);
    }
  }
};

// The configuration that the last dot left is mostly right, and asking is faster than configuring.
void configure(const Config& wanted) {
  alignas(64) char now[sizeof(Config)];
  asm volatile("sttilecfg %0" : "=m"(now)::"memory");
  if (_mm512_cmpneq_epi32_mask(_mm512_load_si512(now), _mm512_load_si512(&wanted)) != 0)
    asm volatile("ldtilecfg %0" ::"m"(wanted) : "memory");
}

// A range of rows, columns or k, in tiles of one size.
struct Range {
  int64_t from, size, count;
};
struct Ranges {
  Range of[2];  // what tiles cover, and the rest
  Ranges(int64_t n, int64_t size) : of{{0, size, n / size}, {n / size * size, n % size, n % size != 0}} {}
};

struct Product {
  char* c;
  int64_t ldc;
  const char* a;
  int64_t a_row;
  const char* b;  // packed
  int64_t n, k;
  bool from_zero;
};

template <int R, int C>
void block(const Product& p, int64_t row, int64_t column, const Range& k) {
  const int64_t ldc = p.ldc, a_row = p.a_row, panel = column / kPanel * kPanel,
                b_row = (p.n - panel < kPanel ? p.n - panel : kPanel) * kPairBytes;
  constexpr int64_t kNext = kTile * kPairBytes;
  char* c = p.c + row * ldc + column * kPairBytes;
  const char *a = p.a + row * a_row + k.from * 2,
             *b = p.b + panel * p.k * 2 + k.from / 2 * b_row + (column - panel) * kPairBytes;
  if (p.from_zero && k.from == 0) {
    TILE_ZERO(0);
    if constexpr (C == 2) TILE_ZERO(1);
    if constexpr (R == 2) TILE_ZERO(2);
    if constexpr (R == 2 && C == 2) TILE_ZERO(3);
  } else {
    TILE_LOAD(0, c, ldc);
    if constexpr (C == 2) TILE_LOAD(1, c + kNext, ldc);
    if constexpr (R == 2) TILE_LOAD(2, c + kTile * ldc, ldc);
    if constexpr (R == 2 && C == 2) TILE_LOAD(3, c + kTile * ldc + kNext, ldc);
  }
  for (int64_t i = k.count; i > 0; --i, a += k.size * 2, b += k.size / 2 * b_row) {
    TILE_LOAD(4, a, a_row);
    TILE_LOAD(6, b, b_row);
    TILE_MULTIPLY(0, 4, 6);
    if constexpr (C == 2) {
      TILE_LOAD(7, b + kNext, b_row);
      TILE_MULTIPLY(1, 4, 7);
    }
    if constexpr (R == 2) {
      TILE_LOAD(5, a + kTile * a_row, a_row);
      TILE_MULTIPLY(2, 5, 6);
      if constexpr (C == 2) TILE_MULTIPLY(3, 5, 7);
    }
  }
  TILE_STORE(0, c, ldc);
  if constexpr (C == 2) TILE_STORE(1, c + kNext, ldc);
  if constexpr (R == 2) TILE_STORE(2, c + kTile * ldc, ldc);
  if constexpr (R == 2 && C == 2) TILE_STORE(3, c + kTile * ldc + kNext, ldc);
}

template <int R>
void rows(const Product& p, int64_t row, const Range& n, const Range& k) {
  int64_t column = n.from, left = n.count;
  for (; left >= 2; left -= 2, column += 2 * kTile) block<R, 2>(p, row, column, k);
  if (left) block<R, 1>(p, row, column, k);
}

// One size of tiles throughout. Rows of a, which may be far apart, are done with at once.
void region(const Product& p, const Range& m, const Range& n, const Range& k) {
  configure(Config(m.size, n.size, k.size));
  int64_t row = m.from, left = m.count;
  for (; left >= 2; left -= 2, row += 2 * kTile) rows<2>(p, row, n, k);
  if (left) rows<1>(p, row, n, k);
}

void dot(float* c, int64_t ldc, const uint16_t* a, int64_t a_row, const uint32_t* b, int64_t m, int64_t n,
         int64_t k, bool from_zero) {
  const Product p{reinterpret_cast<char*>(c),
                  ldc * 4,
                  reinterpret_cast<const char*>(a),
                  a_row * 2,
                  reinterpret_cast<const char*>(b),
                  n,
                  k,
                  from_zero};
  const Ranges heights(m, kTile), widths(n, kTile), depths(k, kDeep);
  for (const Range& depth : depths.of)
    for (const Range& width : widths.of)
      for (const Range& height : heights.of)
        if (depth.count && width.count && height.count) region(p, height, width, depth);
}

// Words 0 to 15, or 16 to 31, of two registers in turns.
struct alignas(64) Turns {
  uint16_t of[32] = {};
  constexpr explicit Turns(int from) {
    for (int i = 0; i < 32; ++i) of[i] = static_cast<uint16_t>(from + i / 2 + i % 2 * 32);
  }
};
constexpr Turns kLowTurns(0), kHighTurns(16);

void pack(uint32_t* out, const uint16_t* b, int64_t b_row, int64_t n, int64_t k) {
  const __m512i low = _mm512_load_si512(&kLowTurns), high = _mm512_load_si512(&kHighTurns);
  for (; n >= kPanel; n -= kPanel, b += kPanel) {
    const uint16_t* rows = b;
    for (int64_t i = k / 2; i > 0; --i, rows += 2 * b_row, out += kPanel) {
      __m512i even = _mm512_loadu_si512(rows), odd = _mm512_loadu_si512(rows + b_row);
      _mm512_storeu_si512(out, _mm512_permutex2var_epi16(even, low, odd));
      _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi16(even, high, odd));
    }
  }
  if (n == 0) return;
  const __mmask32 on = (__mmask32{1} << n) - 1;
  for (int64_t i = k / 2; i > 0; --i, b += 2 * b_row, out += n) {
    __m512i even = _mm512_maskz_loadu_epi16(on, b), odd = _mm512_maskz_loadu_epi16(on, b + b_row);
    _mm512_mask_storeu_epi32(out, static_cast<__mmask16>(on), _mm512_permutex2var_epi16(even, low, odd));
    _mm512_mask_storeu_epi32(out + 16, static_cast<__mmask16>(on >> 16),
                             _mm512_permutex2var_epi16(even, high, odd));
  }
}

}  // namespace
const Bf16Table bf16_tiles = {1, kPanel, dot, pack, [] { asm volatile("tilerelease" ::: "memory"); }};
#else
const Bf16Table bf16_tiles = {};
#endif

}  // namespace triton_runner::num::SIMD_ISA
