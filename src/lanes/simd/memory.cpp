// Moves lanes between registers and memory (gathers, scatters, copies), turns guards into masks, and finds
// the range of the addresses of an access.
#include <bit>
#include <cstring>
#include <type_traits>

#include <triton_runner/num/by_size.h>

#include <triton_runner/lanes/tables.h>

#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
#include <immintrin.h>
#endif

namespace triton_runner::lanes {
namespace SIMD_ISA {
namespace {

#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
// By 16 lanes, as native code stores predicates: a wider load would wait until several stores are done.
Guard guard(const int8_t* p, uint8_t flip, const int8_t* mask, int8_t* out, uint32_t n) {
  const auto load = [](const int8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  const __m128i flipped = _mm_set1_epi8(static_cast<char>(flip));
  __m128i any = _mm_setzero_si128(), missing = any;
  for (uint32_t i = 0; i < n; i += 16) {
    const __m128i m = mask ? load(mask + i) : _mm_set1_epi8(-1);
    const __m128i v = _mm_and_si128(_mm_xor_si128(load(p + i), flipped), m);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), v);
    any = _mm_or_si128(any, v);
    missing = _mm_or_si128(missing, _mm_xor_si128(v, m));
  }
  return _mm_testz_si128(any, any)           ? Guard::kNone
         : _mm_testz_si128(missing, missing) ? Guard::kAll
                                             : Guard::kSome;
}
#else
Guard guard(const int8_t* p, uint8_t flip, const int8_t* mask, int8_t* out, uint32_t n) {
  uint8_t any = 0, missing = 0;
  if (mask) {
    for (uint32_t i = 0; i < n; ++i) {
      uint8_t m = static_cast<uint8_t>(mask[i]);
      uint8_t v = static_cast<uint8_t>(p[i] ^ flip) & m;
      out[i] = static_cast<int8_t>(v);
      any |= v;
      missing |= static_cast<uint8_t>(v ^ m);
    }
  } else {
    for (uint32_t i = 0; i < n; ++i) {
      uint8_t v = static_cast<uint8_t>(p[i] ^ flip);
      out[i] = static_cast<int8_t>(v);
      any |= v;
      missing |= static_cast<uint8_t>(~v);
    }
  }
  return !any ? Guard::kNone : missing ? Guard::kSome : Guard::kAll;
}
#endif

#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
#if defined(SIMD_ISA_avx512)
constexpr uint32_t kVector = 64;
#else
constexpr uint32_t kVector = 32;
#endif
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVector)));
};
using Vector = VectorOf<uint32_t>::type;
constexpr uint32_t kOfVector = kVector / 4;  // words
template <class T>
inline auto numbers(const T* from) {
  typename VectorOf<T>::type v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
#if defined(SIMD_ISA_avx512)
inline Vector on(const int8_t* mask) {
  return Vector(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(mask))));
}
inline Vector picked(Vector words, Vector which) {
  return Vector(_mm512_permutexvar_epi32(__m512i(which), __m512i(words)));
}
template <class V>
inline bool is_zero(V v) {
  return _mm512_test_epi64_mask(__m512i(v), __m512i(v)) == 0;
}
#else
inline Vector on(const int8_t* mask) {
  return Vector(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask))));
}
inline Vector picked(Vector words, Vector which) {
  return Vector(_mm256_permutevar8x32_epi32(__m256i(words), __m256i(which)));
}
template <class V>
inline bool is_zero(V v) {
  return _mm256_testz_si256(__m256i(v), __m256i(v));
}
#endif
inline Vector lower(Vector x, Vector y) { return x < y ? x : y; }
inline Vector higher(Vector x, Vector y) { return x > y ? x : y; }
template <class T>
inline auto one_after_another() {
  typename VectorOf<T>::type v;
  for (uint32_t k = 0; k < kVector / sizeof(T); ++k) v[k] = k;
  return v;
}
// f of all words.
template <class F>
inline uint32_t over_words(Vector x, F f) {
#pragma GCC unroll 4
  for (uint32_t step = kOfVector / 2; step; step /= 2)
    x = f(x, picked(x, one_after_another<uint32_t>() ^ step));
  return x[0];
}
// f(sum so far, a[i] + add) of all lanes; those that are off have 0.
template <class F>
inline uint32_t over_addresses(const uint32_t* a, uint32_t add, const int8_t* mask, uint32_t n, F f) {
  Vector sum{};
  for (uint32_t i = 0; i < n; i += kOfVector) {
    const Vector at = numbers(a + i) + add;
    sum = f(sum, mask ? at & on(mask + i) : at);
  }
  return over_words(sum, f);
}
uint32_t highest(const uint32_t* a, uint32_t add, const int8_t* mask, uint32_t n) {
  return over_addresses(a, add, mask, n, higher);
}
uint32_t any_bits(const uint32_t* a, uint32_t add, const int8_t* mask, uint32_t n) {
  return over_addresses(a, add, mask, n, [](Vector x, Vector y) { return x | y; });
}
#else
uint32_t highest(const uint32_t* a, uint32_t add, const int8_t* mask, uint32_t n) {
  uint32_t high = 0;
  if (!mask) {
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t v = a[i] + add;
      high = v > high ? v : high;
    }
    return high;
  }
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t v = mask[i] ? a[i] + add : 0;
    high = v > high ? v : high;
  }
  return high;
}

uint32_t any_bits(const uint32_t* a, uint32_t add, const int8_t* mask, uint32_t n) {
  uint32_t bits = 0;
  if (!mask) {
    for (uint32_t i = 0; i < n; ++i) bits |= a[i] + add;
    return bits;
  }
  for (uint32_t i = 0; i < n; ++i) bits |= mask[i] ? a[i] + add : 0;
  return bits;
}
#endif

void range(const uint64_t* a, const int8_t* mask, uint32_t n, uint64_t* low, uint64_t* high, uint64_t* bits) {
  uint64_t l = ~uint64_t{0}, h = 0, b = 0;
  if (!mask) {
    for (uint32_t i = 0; i < n; ++i) {
      l = a[i] < l ? a[i] : l;
      h = a[i] > h ? a[i] : h;
      b |= a[i];
    }
  } else {
    for (uint32_t i = 0; i < n; ++i) {
      uint64_t off = mask[i] ? 0 : ~uint64_t{0};
      uint64_t up = a[i] | off, down = a[i] & ~off;
      l = up < l ? up : l;
      h = down > h ? down : h;
      b |= down;
    }
  }
  *low = l;
  *high = h;
  *bits = b;
}

#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
// Two sums of bits at once, as n is a multiple of 32.
template <class T>
inline bool contiguous_of(const T* a, uint32_t n, T step) {
  constexpr uint32_t kLanes = kVector / sizeof(T);
  typename VectorOf<T>::type low = one_after_another<T>() * step + a[0], bad{}, more{};
  auto high = low + kLanes * step;
  for (uint32_t i = 0; i < n; i += 2 * kLanes) {
    bad |= numbers(a + i) ^ low;
    more |= numbers(a + i + kLanes) ^ high;
    low += 2 * kLanes * step, high += 2 * kLanes * step;
  }
  return is_zero(bad | more);
}
// The lanes of each warp have one address.
bool is_by_warp(const uint32_t* a, uint32_t n) {
  Vector others{};
  for (uint32_t i = 0; i < n; i += kOfVector) others |= numbers(a + i) ^ a[i & ~31u];
  return is_zero(others);
}
#else
template <class T>
bool contiguous_of(const T* a, uint32_t n, T step) {
  T bad = 0;
  const T first = a[0];
  for (uint32_t i = 0; i < n; ++i) bad |= a[i] ^ static_cast<T>(first + step * i);
  return bad == 0;
}
bool is_by_warp(const uint32_t* a, uint32_t n) {
  uint32_t others = 0;
  for (uint32_t w = 0; w < n; w += 32)
    for (uint32_t i = 0; i < 32; ++i) others |= a[w + i] ^ a[w];
  return others == 0;
}
#endif
bool contiguous(const uint64_t* a, uint32_t n, uint64_t step) { return contiguous_of(a, n, step); }
bool contiguous32(const uint32_t* a, uint32_t n, uint32_t step) { return contiguous_of(a, n, step); }

#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
// Four lanes' 16 bytes as four registers' 4 words of these lanes, and those of the lanes 4 further in the upper halves.
inline void transpose4(const __m256i x[4], __m256i out[4]) {
  const __m256i t0 = _mm256_unpacklo_epi32(x[0], x[1]), t1 = _mm256_unpacklo_epi32(x[2], x[3]);
  const __m256i t2 = _mm256_unpackhi_epi32(x[0], x[1]), t3 = _mm256_unpackhi_epi32(x[2], x[3]);
  out[0] = _mm256_unpacklo_epi64(t0, t1);
  out[1] = _mm256_unpackhi_epi64(t0, t1);
  out[2] = _mm256_unpacklo_epi64(t2, t3);
  out[3] = _mm256_unpackhi_epi64(t2, t3);
}
template <class At>
void gather_4x4(std::byte* const* out, At at, uint32_t n) {
  const auto words = [&](uint32_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at(i))); };
  for (uint32_t i = 0; i < n; i += 8) {
    __m256i x[4], r[4];
    for (uint32_t k = 0; k < 4; ++k)
      x[k] = _mm256_inserti128_si256(_mm256_castsi128_si256(words(i + k)), words(i + k + 4), 1);
    transpose4(x, r);
    for (int k = 0; k < 4; ++k) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[k] + 4 * i), r[k]);
  }
}
template <bool kShared, class At>
void scatter_4x4(const std::byte* const* in, At at, uint32_t n) {
  for (uint32_t turn = 0; turn < n; turn += 8) {
    const uint32_t i = kShared ? store_turn(turn, n, 16) - 7 : turn;
    __m256i x[4], r[4];
    for (uint32_t k = 0; k < 4; ++k)
      x[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in[k] + 4 * i));
    transpose4(x, r);
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t lane = kShared ? 7 - k : k;
      const __m256i row = r[lane % 4];
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at(i + lane)),
                       lane < 4 ? _mm256_castsi256_si128(row) : _mm256_extracti128_si256(row, 1));
    }
  }
}
#else
template <class At>
void gather_4x4(std::byte* const* out, At at, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    const std::byte* p = at(i);  // once: a register of the result may be the address's
    for (uint32_t k = 0; k < 4; ++k) std::memcpy(out[k] + 4 * i, p + 4 * k, 4);
  }
}
template <bool kShared, class At>
void scatter_4x4(const std::byte* const* in, At at, uint32_t n) {
  for (uint32_t turn = 0; turn < n; ++turn) {
    const uint32_t i = kShared ? store_turn(turn, n, 16) : turn;
    for (uint32_t k = 0; k < 4; ++k) std::memcpy(at(i) + 4 * k, in[k] + 4 * i, 4);
  }
}
#endif

// The lanes of a warp that are on, a bit a lane.
inline uint32_t bits_of(const int8_t* mask) {
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
  return static_cast<uint32_t>(
      _mm256_movemask_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask))));
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < 32; ++i) bits |= uint32_t{mask[i] != 0} << i;
  return bits;
#endif
}

// Calls f(lane) for the lanes that are on: in ascending order, or (kShared) as store_turn has them for stores of `bytes`.
// Often one lane of each warp is on, as where warps hand sums to each other.
template <bool kShared, class F>
inline void for_lanes(const int8_t* mask, uint32_t n, uint32_t bytes, F f) {
  const uint32_t lanes = !kShared || bytes <= 4 ? 32 : 128 / bytes;
  const uint32_t low = ~uint32_t{0} >> (32 - lanes);
  for (uint32_t first = 0; first < n; first += 32) {
    uint32_t on = mask ? bits_of(mask + first) : ~uint32_t{0};
    while (on) {
      const uint32_t part = static_cast<uint32_t>(std::countr_zero(on)) & ~(lanes - 1);
      uint32_t bits = on & low << part;
      on ^= bits;
      while (bits) {
        const auto i = static_cast<uint32_t>(kShared ? 31 - std::countl_zero(bits) : std::countr_zero(bits));
        bits &= ~(uint32_t{1} << i);
        f(first + i);
      }
    }
  }
}

// Moves the words of lane i between the registers and place.
template <class T, uint32_t kWords>
inline void load_words(std::byte* const* out, const std::byte* place, uint32_t i) {
  for (uint32_t k = 0; k < kWords; ++k) std::memcpy(out[k] + sizeof(T) * i, place + sizeof(T) * k, sizeof(T));
}
template <class T, uint32_t kWords>
inline void store_words(const std::byte* const* in, std::byte* place, uint32_t i) {
  for (uint32_t k = 0; k < kWords; ++k) std::memcpy(place + sizeof(T) * k, in[k] + sizeof(T) * i, sizeof(T));
}

template <class T, uint32_t kWords, class At>
void gather_words(std::byte* const* out, At at, const int8_t* mask, uint32_t n) {
  std::byte* to[kWords];  // of its own: no store can be to these pointers
  std::memcpy(to, out, sizeof to);
  if (mask) return for_lanes<false>(mask, n, 0, [&](uint32_t i) { load_words<T, kWords>(to, at(i), i); });
  for (uint32_t i = 0; i < n; ++i) load_words<T, kWords>(to, at(i), i);
}
template <class T, uint32_t kWords, bool kShared, class At>
void scatter_words(const std::byte* const* in, At at, const int8_t* mask, uint32_t n) {
  constexpr uint32_t kBytes = static_cast<uint32_t>(sizeof(T)) * kWords,
                     kPart = kBytes <= 4 ? 32 : 128 / kBytes;
  const std::byte* from[kWords];  // of its own: no store can be to these pointers
  std::memcpy(from, in, sizeof from);
  auto store = [&](uint32_t i) { store_words<T, kWords>(from, at(i), i); };
  if (mask) return for_lanes<kShared>(mask, n, kBytes, store);
  for (uint32_t first = 0; first < n; first += kPart)
    for (uint32_t k = 0; k < kPart; ++k) store(first + (kShared ? kPart - 1 - k : k));
}
// f(T{}, words): a constant for each number of words, 1, 2, 4 and 8.
template <class F>
void by_words(uint32_t word_bytes, uint32_t words, F f) {
  num::by_size(word_bytes, [&](auto zero) {
    if (words == 1) return f(zero, std::integral_constant<uint32_t, 1>());
    if (words == 2) return f(zero, std::integral_constant<uint32_t, 2>());
    if (words == 4) return f(zero, std::integral_constant<uint32_t, 4>());
    f(zero, std::integral_constant<uint32_t, 8>());
  });
}

template <class At>
void gather_any(std::byte* const* out, At at, const int8_t* mask, uint32_t n, uint32_t words,
                uint32_t word_bytes) {
  if (words == 4 && word_bytes == 4 && !mask) return gather_4x4(out, at, n);
  by_words(word_bytes, words,
           [&](auto zero, auto count) { gather_words<decltype(zero), count>(out, at, mask, n); });
}
template <bool kShared, class At>
void scatter_any(const std::byte* const* in, At at, const int8_t* mask, uint32_t n, uint32_t words,
                 uint32_t word_bytes) {
  if (words == 4 && word_bytes == 4 && !mask) return scatter_4x4<kShared>(in, at, n);
  by_words(word_bytes, words,
           [&](auto zero, auto count) { scatter_words<decltype(zero), count, kShared>(in, at, mask, n); });
}

// to[i] = from[i] of the lanes that are on: addresses in a row, some of which are masked off.
template <class T>
void copy_lanes(std::byte* to, const std::byte* from, const int8_t* mask, uint32_t n) {
#if defined(SIMD_ISA_avx512)
  if constexpr (sizeof(T) == 4) {
    for (uint32_t i = 0; i < n; i += 16) {
      const __mmask16 on = _mm_movepi8_mask(_mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + i)));
      _mm512_mask_storeu_epi32(to + 4 * size_t{i}, on, _mm512_maskz_loadu_epi32(on, from + 4 * size_t{i}));
    }
    return;
  }
#endif
  for_lanes<false>(mask, n, 0,
                   [&](uint32_t i) { std::memcpy(to + sizeof(T) * i, from + sizeof(T) * i, sizeof(T)); });
}
void copy_any(std::byte* to, const std::byte* from, const int8_t* mask, uint32_t n, uint32_t word_bytes) {
  num::by_size(word_bytes, [&](auto zero) { copy_lanes<decltype(zero)>(to, from, mask, n); });
}

#if defined(SIMD_ISA_avx512)
inline __m512i words16(const std::byte* from, uint32_t i) {
  return _mm512_loadu_si512(from + 64 * size_t{i});
}

// Rows of two or four words of 4 bytes, one a lane and one after the other, to registers of these words.
void gather_pairs(std::byte* const* out, const std::byte* from, uint32_t n) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  for (uint32_t i = 0; i < n; i += 16) {
    const __m512i x = words16(from, i / 8), y = words16(from, i / 8 + 1);
    _mm512_storeu_si512(out[0] + 4 * size_t{i}, _mm512_permutex2var_epi32(x, even, y));
    _mm512_storeu_si512(out[1] + 4 * size_t{i}, _mm512_permutex2var_epi32(x, odd, y));
  }
}
void gather_fours(std::byte* const* out, const std::byte* from, uint32_t n) {
  // Words 0 and 1 of eight lanes, words 2 and 3 of them.
  const __m512i low = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(2));
  for (uint32_t i = 0; i < n; i += 16) {
    const __m512i x[4] = {words16(from, i / 4), words16(from, i / 4 + 1), words16(from, i / 4 + 2),
                          words16(from, i / 4 + 3)};
    for (uint32_t k = 0; k < 2; ++k) {
      const __m512i which = k ? high : low, first = _mm512_permutex2var_epi32(x[0], which, x[1]),
                    second = _mm512_permutex2var_epi32(x[2], which, x[3]);
      _mm512_storeu_si512(out[2 * k] + 4 * size_t{i}, _mm512_shuffle_i64x2(first, second, 0x44));
      _mm512_storeu_si512(out[2 * k + 1] + 4 * size_t{i}, _mm512_shuffle_i64x2(first, second, 0xee));
    }
  }
}

// The way back.
void scatter_pairs(const std::byte* const* in, std::byte* to, uint32_t n) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  for (uint32_t i = 0; i < n; i += 16) {
    const __m512i x = words16(in[0], i / 16), y = words16(in[1], i / 16);
    _mm512_storeu_si512(to + 8 * size_t{i}, _mm512_permutex2var_epi32(x, low, y));
    _mm512_storeu_si512(to + 8 * size_t{i} + 64, _mm512_permutex2var_epi32(x, high, y));
  }
}
void scatter_fours(const std::byte* const* in, std::byte* to, uint32_t n) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  const __m512i even = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i odd = _mm512_add_epi64(even, _mm512_set1_epi64(4));
  for (uint32_t i = 0; i < n; i += 16) {
    const __m512i x[4] = {words16(in[0], i / 16), words16(in[1], i / 16), words16(in[2], i / 16),
                          words16(in[3], i / 16)};
    for (uint32_t k = 0; k < 2; ++k) {  // eight lanes: words 0 and 1, words 2 and 3
      const __m512i which = k ? high : low, first = _mm512_permutex2var_epi32(x[0], which, x[1]),
                    second = _mm512_permutex2var_epi32(x[2], which, x[3]);
      std::byte* row = to + 16 * size_t{i} + 128 * k;
      _mm512_storeu_si512(row, _mm512_permutex2var_epi64(first, even, second));
      _mm512_storeu_si512(row + 64, _mm512_permutex2var_epi64(first, odd, second));
    }
  }
}
#endif

void gather_row(std::byte* const* out, const std::byte* from, const int8_t* mask, uint32_t n, uint32_t words,
                uint32_t word_bytes) {
  const size_t size = size_t{words} * word_bytes;
  if (words == 1 && mask) return copy_any(out[0], from, mask, n, word_bytes);
  if (words == 1) {
    std::memcpy(out[0], from, size * n);
    return;
  }
#if defined(SIMD_ISA_avx512)
  if (word_bytes == 4 && !mask && words <= 4) return (words == 2 ? gather_pairs : gather_fours)(out, from, n);
#endif
  gather_any(out, [=](uint32_t i) { return from + size * i; }, mask, n, words, word_bytes);
}
void scatter_row(const std::byte* const* in, std::byte* to, const int8_t* mask, uint32_t n, uint32_t words,
                 uint32_t word_bytes) {
  const size_t size = size_t{words} * word_bytes;
  if (words == 1 && mask) return copy_any(to, in[0], mask, n, word_bytes);
  if (words == 1) {
    std::memcpy(to, in[0], size * n);
    return;
  }
#if defined(SIMD_ISA_avx512)
  if (word_bytes == 4 && !mask && words <= 4) return (words == 2 ? scatter_pairs : scatter_fours)(in, to, n);
#endif
  scatter_any<false>(in, [=](uint32_t i) { return to + size * i; }, mask, n, words, word_bytes);
}
void gather64(std::byte* const* out, const uint64_t* a, uint64_t add, const int8_t* mask, uint32_t n,
              uint32_t words, uint32_t word_bytes) {
  gather_any(
      out, [=](uint32_t i) { return reinterpret_cast<const std::byte*>(a[i] + add); }, mask, n, words,
      word_bytes);
}
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
// Gives all lanes the same words, as the sums that the warps of a scan leave are read.
void gather_one(std::byte* const* out, const std::byte* from, uint32_t n, uint32_t words) {
  for (uint32_t k = 0; k < words; ++k) {
    uint32_t word;
    std::memcpy(&word, from + 4 * size_t{k}, 4);
    const Vector all = Vector{} + word;
    for (uint32_t i = 0; i < n; i += kOfVector) std::memcpy(out[k] + 4 * size_t{i}, &all, kVector);
  }
}
// Words that lie within a vector, as those that the warps of a reduction leave for each other: false if they do not. Of `end`
// bytes from `base` on nothing behind is read.
bool gather_near(std::byte* out, const std::byte* base, size_t end, const uint32_t* a, uint32_t add,
                 uint32_t n) {
  const auto at = [&](uint32_t i) { return numbers(a + i) + add; };
  Vector low = at(0), high = low;
  for (uint32_t i = kOfVector; i < n; i += kOfVector) low = lower(low, at(i)), high = higher(high, at(i));
  const uint32_t first = over_words(low, lower);
  if (over_words(high, higher) - first > kVector - 4) return false;
  alignas(kVector) std::byte last[kVector] = {};
  const bool is_last = end - first < kVector;
  if (is_last) std::memcpy(last, base + first, end - first);
  const Vector words = numbers(reinterpret_cast<const uint32_t*>(is_last ? last : base + first));
  for (uint32_t i = 0; i < n; i += kOfVector) {
    const Vector found = picked(words, (at(i) - first) >> 2);
    std::memcpy(out + 4 * size_t{i}, &found, kVector);
  }
  return true;
}
#endif

// The lanes of each warp have one address (the sum of a warp, which all have): the first lane's value stays. False, and nothing
// was done: of some they differ.
bool scatter_warps(const std::byte* in, std::byte* base, const uint32_t* a, uint32_t add, uint32_t n) {
  if (!is_by_warp(a, n)) return false;
  for (uint32_t w = 0; w < n; w += 32)
    std::memcpy(base + static_cast<uint32_t>(a[w] + add), in + 4 * size_t{w}, 4);
  return true;
}

void gather32(std::byte* const* out, const std::byte* base, [[maybe_unused]] size_t end, const uint32_t* a,
              uint32_t add, const int8_t* mask, uint32_t n, uint32_t words, uint32_t word_bytes) {
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
  if (word_bytes == 4 && !mask && contiguous32(a, n, 0))
    return gather_one(out, base + static_cast<uint32_t>(a[0] + add), n, words);
  if (words == 1 && word_bytes == 4 && !mask && gather_near(out[0], base, end, a, add, n)) return;
#endif
  gather_any(
      out, [=](uint32_t i) { return base + static_cast<uint32_t>(a[i] + add); }, mask, n, words, word_bytes);
}
void scatter64(const std::byte* const* in, const uint64_t* a, uint64_t add, const int8_t* mask, uint32_t n,
               uint32_t words, uint32_t word_bytes) {
  scatter_any<false>(
      in, [=](uint32_t i) { return reinterpret_cast<std::byte*>(a[i] + add); }, mask, n, words, word_bytes);
}
void scatter32(const std::byte* const* in, std::byte* base, const uint32_t* a, uint32_t add,
               const int8_t* mask, uint32_t n, uint32_t words, uint32_t word_bytes) {
  if (words == 1 && word_bytes == 4 && !mask && scatter_warps(in[0], base, a, add, n)) return;
  scatter_any<true>(
      in, [=](uint32_t i) { return base + static_cast<uint32_t>(a[i] + add); }, mask, n, words, word_bytes);
}

void permute(uint32_t* d, const uint32_t* a, const uint8_t* from, uint32_t n) {
#if defined(SIMD_ISA_avx512)
  auto half = [&](size_t k) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
  };
  const __m512i low = half(0), high = half(16);
  for (size_t w = 0; w < n; w += 32) {
    const __m512i x = _mm512_loadu_si512(a + w), y = _mm512_loadu_si512(a + w + 16);
    _mm512_storeu_si512(d + w, _mm512_permutex2var_epi32(x, low, y));
    _mm512_storeu_si512(d + w + 16, _mm512_permutex2var_epi32(x, high, y));
  }
#elif defined(SIMD_ISA_avx2)
  const auto eight = [&](uint32_t k) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 8 * k)));
  };
  // By bit `bit` of the lane's number in `index`.
  const auto choose = [](__m256i index, int bit, __m256i low, __m256i high) {
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high),
                                                _mm256_castsi256_ps(_mm256_slli_epi32(index, 31 - bit))));
  };
  for (size_t w = 0; w < n; w += 32) {
    __m256i x[4];
    for (uint32_t k = 0; k < 4; ++k) x[k] = reinterpret_cast<__m256i>(numbers(a + w + 8 * k));
    for (uint32_t k = 0; k < 4; ++k) {
      const __m256i index = eight(k);
      const auto of = [&](int part) { return _mm256_permutevar8x32_epi32(x[part], index); };
      const __m256i low = choose(index, 3, of(0), of(1)), high = choose(index, 3, of(2), of(3));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + w + 8 * k), choose(index, 4, low, high));
    }
  }
#else
  for (size_t w = 0; w < n; w += 32) {
    uint32_t value[32];
    std::memcpy(value, a + w, sizeof value);
    for (size_t i = 0; i < 32; ++i) d[w + i] = value[from[i]];
  }
#endif
}

}  // namespace

bool load_matrices(const std::byte* base, uint32_t bytes, const uint32_t* a, uint32_t add, uint32_t count,
                   bool trans, std::byte* const* out);  // matrix.cpp
extern const SumHandlers kSums;                         // sums.cpp

extern const Tables kTables;
const Tables kTables{guard,        highest,   any_bits,      range,       contiguous,
                     contiguous32, gather64,  gather_row,    scatter_row, gather32,
                     scatter64,    scatter32, load_matrices, permute,     &kSums};

}  // namespace SIMD_ISA
}  // namespace triton_runner::lanes
