// Runs linked f32 ops: blocks of eight vectors go through all of them in registers.
#include "simd/streams.h"

#include <triton_runner/num/reduce_ops.h>

#include "simd/common.h"
#include "simd/width.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

constexpr int kLanes = kVectorBytes / 4, kVectors = 8, kBlock = kLanes * kVectors;

typedef float V __attribute__((vector_size(kVectorBytes)));
typedef float Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
typedef int32_t Lanes __attribute__((vector_size(kVectorBytes)));

NUM_INLINE V at(const float* x, int64_t vector) {
  return *reinterpret_cast<const Unaligned*>(x + vector * kLanes);
}
NUM_INLINE V all(float x) { return x - V{}; }  // x - 0 is x, -0 too
// Gives `yes` where bytes of the condition are 1, else `no`.
NUM_INLINE V chosen(const Link& l, int64_t i, int64_t vector, V yes, V no) {
  const uint8_t* c = l.condition + i + vector * kLanes;
#if defined(SIMD_ISA_avx512)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(c));
  return _mm512_mask_blend_ps(_mm_test_epi8_mask(bytes, bytes), no, yes);
#elif defined(SIMD_ISA_avx2)
  const __m256i lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(c)));
  return bits_as<Lanes>(_mm256_cmpgt_epi32(lanes, _mm256_setzero_si256())) ? yes : no;
#else
  const Lanes lanes = {c[0], c[1], c[2], c[3]};
  return lanes != 0 ? yes : no;
#endif
}

// For each of a block's vectors, which stay in registers.
#define EACH(...) _Pragma("GCC unroll 8") for (int k = 0; k < N; ++k) __VA_ARGS__

// N vectors from element i on through all links, and to the end.
template <int N, class End>
NUM_INLINE void run_block(const float* x, const Link* links, size_t count, int64_t i, End& end) {
  V v[N];
  EACH(v[k] = at(x + i, k);)
  for (const Link* l = links; l != links + count; ++l) {
    switch (static_cast<int>(l->op) * 2 + l->uniform) {
// A link of y, which is one value for all elements, or one for each.
#define LINK(name, ...)                          \
  case static_cast<int>(LinkOp::name) * 2 + 1: { \
    const V y = all(*l->operand);                \
    EACH(v[k] = __VA_ARGS__;)                    \
    break;                                       \
  }                                              \
  case static_cast<int>(LinkOp::name) * 2:       \
    EACH({                                       \
      const V y = at(l->operand + i, k);         \
      v[k] = __VA_ARGS__;                        \
    })                                           \
    break;
      LINK(kAdd, v[k] + y)
      LINK(kSub, v[k] - y)
      LINK(kSubFrom, y - v[k])
      LINK(kMul, v[k] * y)
      LINK(kSelect, chosen(*l, i, k, v[k], y))
      LINK(kSelectNot, chosen(*l, i, k, y, v[k]))
      LINK(kReplace, y)
#undef LINK
      default:
        EACH(v[k] = v[k] * v[k];)
    }
  }
  end.whole(i, v);
}

// Fewer than a vector: through copies, so that nothing after them is read.
template <class End>
void run_rest(const float* x, const Link* links, size_t count, int64_t i, int64_t m, End& end) {
  float first[kLanes] = {}, out[kLanes], operands[kMostLinks][kLanes];
  uint8_t conditions[kMostLinks][kLanes];
  Link copies[kMostLinks];
  for (int64_t j = 0; j < m; ++j) first[j] = x[i + j];
  for (size_t k = 0; k < count; ++k) {
    copies[k] = links[k];
    if (!links[k].uniform && links[k].operand) {
      for (int64_t j = 0; j < kLanes; ++j) operands[k][j] = j < m ? links[k].operand[i + j] : 0.0f;
      copies[k].operand = operands[k];
    }
    if (links[k].condition) {
      for (int64_t j = 0; j < kLanes; ++j) conditions[k][j] = j < m ? links[k].condition[i + j] : 0;
      copies[k].condition = conditions[k];
    }
  }
  struct Kept {
    float* out;
    NUM_INLINE void whole(int64_t, const V (&v)[1]) { *reinterpret_cast<Unaligned*>(out) = v[0]; }
  } kept{out};
  run_block<1>(first, copies, count, 0, kept);
  end.rest(i, m, out);
}

struct Stored {
  float* out;
  template <int N>
  NUM_INLINE void whole(int64_t i, const V (&v)[N]) {
    EACH(*reinterpret_cast<Unaligned*>(out + i + k * kLanes) = v[k];)
  }
  void rest(int64_t i, int64_t m, const float* v) {
    for (int64_t j = 0; j < m; ++j) out[i + j] = v[j];
  }
};

struct Streamed : Stored {  // out + i is the begin of a line
  template <int N>
  NUM_INLINE void whole(int64_t i, const V (&v)[N]) {
#if defined(SIMD_ISA_avx512)
    EACH(_mm512_stream_ps(out + i + k * kLanes, v[k]);)
#elif defined(SIMD_ISA_avx2)
    EACH(_mm256_stream_ps(out + i + k * kLanes, v[k]);)
#elif defined(__x86_64__)
    EACH(_mm_stream_ps(out + i + k * kLanes, v[k]);)
#else
    Stored::whole(i, v);
#endif
  }
};

struct Added {
  static constexpr int kSums = kAccumulators / kLanes;
  V sum[kSums];
  template <int N>
  NUM_INLINE void whole(int64_t i, const V (&v)[N]) {
    // Whole blocks begin at the first accumulator where there are no more of these than a block has vectors.
    const int64_t at = N == kVectors && kSums <= kVectors ? 0 : i / kLanes;
    EACH(sum[(at + k) % kSums] = sum[(at + k) % kSums] + v[k];)
  }
  void rest(int64_t i, int64_t m, const float* v) {
    float sums[kAccumulators];
    __builtin_memcpy(sums, sum, sizeof sums);
    for (int64_t j = 0; j < m; ++j) sums[(i + j) % kAccumulators] += v[j];
    __builtin_memcpy(sum, sums, sizeof sums);
  }
};

template <class End>
NUM_INLINE void run_from(int64_t i, const float* x, const Link* links, size_t count, int64_t n, End& end) {
  for (; i + kBlock <= n; i += kBlock) run_block<kVectors>(x, links, count, i, end);
  if (n - i >= 4 * kLanes) run_block<4>(x, links, count, i, end), i += 4 * kLanes;
  if (n - i >= 2 * kLanes) run_block<2>(x, links, count, i, end), i += 2 * kLanes;
  if (n - i >= kLanes) run_block<1>(x, links, count, i, end), i += kLanes;
  if (i < n) run_rest(x, links, count, i, n - i, end);
}

}  // namespace

void map_links(float* out, const float* x, const Link* links, size_t count, int64_t n) {
  Stored end{out};
  run_from(0, x, links, count, n, end);
}

void map_links_past_caches(float* out, const float* x, const Link* links, size_t count, int64_t n) {
  Streamed end{out};
  auto head = static_cast<int64_t>(-reinterpret_cast<uint64_t>(out) / sizeof(float) % 16);
  if (head > n) head = n;
  for (int64_t i = 0; i < head; i += kLanes)
    run_rest(x, links, count, i, head - i < kLanes ? head - i : kLanes, end);
  run_from(head, x, links, count, n, end);
}

void sum_links(float* out, void* state, const float* x, const Link* links, size_t count, int64_t n,
               bool first, bool last) {
  Added end;
  if (first)
    for (V& v : end.sum) v = all(-0.0f);
  else
    __builtin_memcpy(end.sum, state, sizeof end.sum);
  run_from(0, x, links, count, n, end);
  __builtin_memcpy(state, end.sum, sizeof end.sum);
  if (last) find_reduce_part(ReduceOp::kAddF, Type::kF32)(out, state, nullptr, 0, false, true);
}

}  // namespace triton_runner::num::SIMD_ISA
