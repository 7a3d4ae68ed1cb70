// Linked f32 ops: blocks of eight vectors go through all of them in registers.
#include "simd/streams.h"

#include <triton_runner/num/reduce_ops.h>

#include "simd/common.h"

namespace triton_runner::num::NUM_ISA {
namespace {

#if defined(NUM_ISA_avx512)
constexpr int kVectorBytes = 64;
#elif defined(NUM_ISA_avx2)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kLanes = kVectorBytes / 4, kVectors = 8, kBlock = kLanes * kVectors;
constexpr int kAccumulators = 64;  // of a sum: element i goes to number i mod 64

typedef float V __attribute__((vector_size(kVectorBytes)));
typedef float Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
typedef int32_t Lanes __attribute__((vector_size(kVectorBytes)));
typedef uint8_t Bytes __attribute__((vector_size(kLanes)));

NUM_INLINE V at(const float* x, int64_t vector) {
  return *reinterpret_cast<const Unaligned*>(x + vector * kLanes);
}
NUM_INLINE V all(float x) { return x - V{}; }  // x - 0 is x, -0 too
NUM_INLINE V chosen(const Link& l, int64_t i, int64_t vector, V yes, V no) {
  Bytes bytes;
  __builtin_memcpy(&bytes, l.condition + i + vector * kLanes, sizeof bytes);
  return __builtin_convertvector(bytes, Lanes) != 0 ? yes : no;
}

#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)

// Elements i .. i + kBlock through all links, and to the end.
template <class End>
NUM_INLINE void run_block(const float* x, const Link* links, size_t count, int64_t i, End& end) {
#define LOAD(k) V v##k = at(x + i, k);
  EACH(LOAD)
#undef LOAD
  for (const Link* l = links; l != links + count; ++l) {
    switch (static_cast<int>(l->op) * 2 + l->uniform) {
// One value for all elements, then one for each.
#define LINK(name, ...)                          \
  case static_cast<int>(LinkOp::name) * 2 + 1: { \
    const V u = all(*l->operand);                \
    EACH(__VA_ARGS__##_ALL)                      \
    break;                                       \
  }                                              \
  case static_cast<int>(LinkOp::name) * 2: {     \
    EACH(__VA_ARGS__)                            \
    break;                                       \
  }
#define ADD(k) v##k = v##k + at(l->operand + i, k);
#define ADD_ALL(k) v##k = v##k + u;
#define SUB(k) v##k = v##k - at(l->operand + i, k);
#define SUB_ALL(k) v##k = v##k - u;
#define SUB_FROM(k) v##k = at(l->operand + i, k) - v##k;
#define SUB_FROM_ALL(k) v##k = u - v##k;
#define MUL(k) v##k = v##k * at(l->operand + i, k);
#define MUL_ALL(k) v##k = v##k * u;
#define SELECT(k) v##k = chosen(*l, i, k, v##k, at(l->operand + i, k));
#define SELECT_ALL(k) v##k = chosen(*l, i, k, v##k, u);
#define SELECT_NOT(k) v##k = chosen(*l, i, k, at(l->operand + i, k), v##k);
#define SELECT_NOT_ALL(k) v##k = chosen(*l, i, k, u, v##k);
#define REPLACE(k) v##k = at(l->operand + i, k);
#define REPLACE_ALL(k) v##k = u;
#define SQUARE(k) v##k = v##k * v##k;
      LINK(kAdd, ADD)
      LINK(kSub, SUB)
      LINK(kSubFrom, SUB_FROM)
      LINK(kMul, MUL)
      LINK(kSelect, SELECT)
      LINK(kSelectNot, SELECT_NOT)
      LINK(kReplace, REPLACE)
      default:
        EACH(SQUARE)
    }
  }
  end.whole(i, v0, v1, v2, v3, v4, v5, v6, v7);
}

float run_one(float v, const Link* links, size_t count, int64_t i) {
  for (const Link* l = links; l != links + count; ++l) {
    const float y = l->op == LinkOp::kSquare ? v : l->operand[l->uniform ? 0 : i];
    switch (l->op) {
      case LinkOp::kAdd:
        v = v + y;
        break;
      case LinkOp::kSub:
        v = v - y;
        break;
      case LinkOp::kSubFrom:
        v = y - v;
        break;
      case LinkOp::kMul:
      case LinkOp::kSquare:
        v = v * y;
        break;
      case LinkOp::kSelect:
        v = l->condition[i] ? v : y;
        break;
      case LinkOp::kSelectNot:
        v = l->condition[i] ? y : v;
        break;
      case LinkOp::kReplace:
        v = y;
        break;
    }
  }
  return v;
}

// Fewer than a block: a few one by one, more through copies, so that nothing behind them is read.
template <class End>
void run_rest(const float* x, const Link* links, size_t count, int64_t i, int64_t m, End& end) {
  float first[kBlock] = {}, out[kBlock], operands[kMostLinks][kBlock];
  if (m <= 4) {
    for (int64_t j = 0; j < m; ++j) out[j] = run_one(x[i + j], links, count, i + j);
    return end.rest(i, m, out);
  }
  uint8_t conditions[kMostLinks][kBlock];
  Link copies[kMostLinks];
  __builtin_memcpy(first, x + i, static_cast<size_t>(m) * sizeof(float));
  for (size_t k = 0; k < count; ++k) {
    copies[k] = links[k];
    if (!links[k].uniform && links[k].operand) {
      for (int64_t j = 0; j < kBlock; ++j) operands[k][j] = j < m ? links[k].operand[i + j] : 0.0f;
      copies[k].operand = operands[k];
    }
    if (links[k].condition) {
      for (int64_t j = 0; j < kBlock; ++j) conditions[k][j] = j < m ? links[k].condition[i + j] : 0;
      copies[k].condition = conditions[k];
    }
  }
  struct Kept {
    float* out;
    NUM_INLINE void whole(int64_t, V v0, V v1, V v2, V v3, V v4, V v5, V v6, V v7) {
#define STORE(k) *reinterpret_cast<Unaligned*>(out + k * kLanes) = v##k;
      EACH(STORE)
    }
  } kept{out};
  run_block(first, copies, count, 0, kept);
  end.rest(i, m, out);
}

struct Stored {
  float* out;
  NUM_INLINE void whole(int64_t i, V v0, V v1, V v2, V v3, V v4, V v5, V v6, V v7) {
    float* out = this->out + i;
    EACH(STORE)
#undef STORE
  }
  void rest(int64_t i, int64_t m, const float* v) {
    __builtin_memcpy(out + i, v, static_cast<size_t>(m) * sizeof(float));
  }
};

struct Streamed {  // out + i is the begin of a line
  float* out;
  NUM_INLINE void whole(int64_t i, V v0, V v1, V v2, V v3, V v4, V v5, V v6, V v7) {
#if defined(NUM_ISA_avx512)
#define STREAM(k) _mm512_stream_ps(out + i + k * kLanes, v##k);
#elif defined(NUM_ISA_avx2)
#define STREAM(k) _mm256_stream_ps(out + i + k * kLanes, v##k);
#elif defined(__x86_64__)
#define STREAM(k) _mm_stream_ps(out + i + k * kLanes, v##k);
#else
#define STREAM(k) *reinterpret_cast<Unaligned*>(out + i + k * kLanes) = v##k;
#endif
    EACH(STREAM)
#undef STREAM
  }
  void rest(int64_t i, int64_t m, const float* v) { Stored{out}.rest(i, m, v); }
};

// As many accumulators as a block has elements, or a block goes to them in turns.
struct Added {
  static constexpr int kSums = kAccumulators / kLanes;
  V sum[kSums];
  NUM_INLINE void whole(int64_t i, V v0, V v1, V v2, V v3, V v4, V v5, V v6, V v7) {
    const int64_t at = kSums > kVectors ? i / kLanes : 0;
#define ADD_UP(k) sum[(at + k) % kSums] = sum[(at + k) % kSums] + v##k;
    EACH(ADD_UP)
#undef ADD_UP
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
  for (; i + kBlock <= n; i += kBlock) run_block(x, links, count, i, end);
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
  if (head) run_rest(x, links, count, 0, head, end);
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

}  // namespace triton_runner::num::NUM_ISA
