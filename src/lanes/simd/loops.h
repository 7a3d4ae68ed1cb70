// Makes a Handler out of a formula for one value: loops over all lanes that the compiler vectorises, and the
// same under a mask (into a buffer, of which the lanes that are on are kept).
#pragma once
#include <utility>

#include <triton_runner/num/formulas.h>

#include "simd/rows.h"

#if !defined(__x86_64__)
#include <cfenv>
#endif

namespace triton_runner::lanes::SIMD_ISA {
namespace {

using namespace num::SIMD_ISA;

constexpr uint32_t kChunk = 256;  // lanes that pass through a buffer at a time

// kept[i] = mask[i] ? from[i] : kept[i]
template <class T>
LANES_INLINE void blend(T* kept, const T* from, const int8_t* mask, uint32_t n) {
  n &= ~31u;
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) kept[i] = mask[i] ? from[i] : kept[i];
}

// A register as an array of T, kPack of them a lane.
template <class T, int kPack = 1>
LANES_INLINE T* values(const Lanes& x, uint32_t place) {
  return reinterpret_cast<T*>(x.regs + place) + x.first * kPack;
}

// body(out, first, n) puts elements first, first + 1, ... into out[0 .. n). Any number of them, those of whole warps, share one
// copy of its loop, and so do one and two elements a lane. The body comes by value: pointers behind a reference could be
// what `d` points to, and the loop would read them again for each lane.
template <class D, class Body>
[[gnu::noinline]] void store_any(D* d, Body body, uint32_t first, uint32_t n) {
  body(d, first, n & ~31u);
}
// One copy of this for all bodies would call each through a pointer: a tenth of the time of a loop on half of the threads.
template <class D, int kPack, class Body>
[[gnu::noinline]] void store_masked(const Lanes& x, D* d, Body body) {
  using Lane = typename UintOf<sizeof(D) * kPack>::type;
  alignas(64) D buffer[kChunk * kPack];
  for (uint32_t i = 0; i < x.count; i += kChunk) {
    const uint32_t n = x.count - i < kChunk ? x.count - i : kChunk;
    store_any(buffer, body, i * kPack, n * kPack);
    blend(reinterpret_cast<Lane*>(d) + i, reinterpret_cast<const Lane*>(buffer), x.mask + i, n);
  }
}
// kSeldom: kernels seldom do it, so that 128 lanes have no copy of the loop.
template <class D, int kPack, bool kSeldom = false, class Body>
LANES_INLINE void store(const Lanes& x, uint32_t place, const Body& body) {
  D* d = values<D, kPack>(x, place);
  if (x.mask) [[unlikely]]
    store_masked<D, kPack>(x, d, body);
  else if (!kSeldom && x.count == 128)
    body(d, 0, 128 * kPack);
  else
    store_any(d, body, 0, x.count * kPack);
}

// A formula may want what the instruction was told besides its operands: then it is made from Operands.
template <class F>
LANES_INLINE F formula(const Operands& o) {
  if constexpr (__is_constructible(F, const Operands&))
    return F(o);
  else
    return F{};
}

// body(In*...) with the arrays of operands a, b, c, e, as many as there are types.
template <int kPack, class... In, class Body, size_t... kPlace>
LANES_INLINE void with_operands(const Lanes& x, const Operands& o, const Body& body,
                                std::index_sequence<kPlace...>) {
  const uint32_t places[] = {o.a, o.b, o.c, o.e};
  body(values<const In, kPack>(x, places[kPlace])...);
}

// The body of f(a), f(a, b), ...
template <class D, class F, class... In>
LANES_INLINE auto each(const F& f, const In*... in) {
  return [=](D* d, uint32_t first, uint32_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) d[i] = f(in[first + i]...);
  };
}

// d = f(a), f(a, b), ...: kPack values of types D, In... a lane.
template <bool kSeldom, class F, int kPack, class D, class... In>
LANES_INLINE void map_each(Lanes& x, const Operands& o) {
  const F f = formula<F>(o);
  const auto run = [&](const In*... in) __attribute__((always_inline)) {
    store<D, kPack, kSeldom>(x, o.d, each<D>(f, in...));
  };
  with_operands<kPack, In...>(x, o, run, std::index_sequence_for<In...>());
}
template <class F, int kPack, class D, class... In>
void map(Lanes& x, const Operands& o) {
  map_each<false, F, kPack, D, In...>(x, o);
}
template <class F, int kPack, class D, class... In>
void map_seldom(Lanes& x, const Operands& o) {
  map_each<true, F, kPack, D, In...>(x, o);
}

// The processor's rounding while it lives. What is computed in it must come from memory and go to memory: the
// compiler does not know that arithmetic depends on it.
class RoundingScope {
 public:
  LANES_INLINE explicit RoundingScope(uint32_t direction) {
#if defined(__x86_64__)
    constexpr unsigned kBits[4] = {0, 3, 1, 2};
    asm volatile("stmxcsr %0" : "=m"(saved_)::"memory");
    unsigned now = (saved_ & ~(3u << 13)) | kBits[direction & 3] << 13;
    asm volatile("ldmxcsr %0" ::"m"(now) : "memory");
#else
    constexpr int kModes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    saved_ = std::fegetround();
    std::fesetround(kModes[direction & 3]);
    asm volatile("" ::: "memory");
#endif
  }
  LANES_INLINE ~RoundingScope() {
#if defined(__x86_64__)
    asm volatile("ldmxcsr %0" ::"m"(saved_) : "memory");
#else
    asm volatile("" ::: "memory");
    std::fesetround(saved_);
#endif
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;
#else
  int saved_;
#endif
};

template <class F, int kPack, class D, class... In>
void map_directed(Lanes& x, const Operands& o) {
  RoundingScope scope(o.small & 3);
  map_each<true, F, kPack, D, In...>(x, o);
}

}  // namespace
}  // namespace triton_runner::lanes::SIMD_ISA
