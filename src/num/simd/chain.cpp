// Two f32 operations in one pass: what lies between them stays in a register.
#include "simd/streams.h"

#include "simd/float_ops.h"

namespace triton_runner::num::NUM_ISA {
namespace {

template <class First, class Then, bool kRight>
int64_t chain(void* out, const void* a, const void* b, const void* c, int64_t n) {
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(a);
  auto* y = static_cast<const float*>(b);
  auto* z = static_cast<const float*>(c);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float between = First::apply(x[i], y[i]);
    o[i] = kRight ? Then::apply(z[i], between) : Then::apply(between, z[i]);
  }
  return -1;
}

template <class First, class Then>
Loop either(bool right) {
  return right ? chain<First, Then, true> : chain<First, Then, false>;
}
template <class First>
Loop with(int then, bool right) {
  return then == 0   ? either<First, addf>(right)
         : then == 1 ? either<First, subf>(right)
                     : either<First, mulf>(right);
}

// 0 addf, 1 subf, 2 mulf; -1 another loop.
int number_of(Loop loop) {
  constexpr Functor kKnown[] = {Functor::addf, Functor::subf, Functor::mulf};
  for (int i = 0; i < 3; ++i)
    if (find_float(kKnown[i], Type::kF32, Type::kF32) == loop) return i;
  return -1;
}

}  // namespace

Loop find_chain(Loop first, Loop then, bool right) {
  int i = number_of(first), k = number_of(then);
  if (i == 1 && k < 0) return find_exp_of_difference(then);
  if (i < 0 || k < 0) return nullptr;
  return i == 0 ? with<addf>(k, right) : i == 1 ? with<subf>(k, right) : with<mulf>(k, right);
}

}  // namespace triton_runner::num::NUM_ISA
