// Copies registers, and converts addresses from one state space to another.
#include "ops/move.h"

#include <cstring>

#include <triton_runner/num/by_size.h>

namespace triton_runner::simt {
namespace {

template <class T>
void copy(Lanes& l, const Operands& in) {
  T* d = l.reg<T>(in.d);
  const T* a = l.reg<T>(in.a);
  if (!l.mask) {
    std::memmove(d, a, sizeof(T) * l.count);
    return;
  }
  if constexpr (sizeof(T) <= 8) {
    auto* to = reinterpret_cast<std::byte*>(d);
    simd_tables(num::current_isa())
        .gather_row(&to, reinterpret_cast<const std::byte*>(a), l.mask, l.count, 1, sizeof(T));
    return;
  }
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.mask[i]) d[i] = a[i];
}

// d = f(a) of addresses of 64 bits.
template <class F>
void each_address(Lanes& l, const Operands& in, F f) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = f(a[i]);
}

}  // namespace

Handler copy_register(uint32_t bytes) {
  if (bytes == 16) return copy<unsigned __int128>;
  return num::by_size(bytes, [](auto zero) -> Handler { return copy<decltype(zero)>; });
}

void add_window(Lanes& l, const Operands& in) {
  each_address(l, in, [&](uint64_t a) { return a | static_cast<uint64_t>(in.imm); });
}
void drop_window(Lanes& l, const Operands& in) {
  each_address(l, in, [&](uint64_t a) { return a & ~static_cast<uint64_t>(in.imm); });
}

void is_space(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  int8_t* d = l.reg<int8_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    const uint64_t window = a[i] & kWindowMask;
    const bool host = window != kSharedWindow && window != kLocalWindow;
    const bool of_params = a[i] - param_address(exec_of(l), kParamBase) < exec_of(l).launch().params.size();
    bool is = in.small == 2 ? of_params : in.small ? host : window == static_cast<uint64_t>(in.imm);
    if (is && in.e) is = static_cast<uint32_t>(a[i]) >> kRankShift == exec_of(l).cta->rank;
    d[i] = is ? -1 : 0;
  }
}

void param_to_generic(Lanes& l, const Operands& in) {
  each_address(l, in,
               [&](uint64_t a) { return a < kParamBase ? kLocalWindow | a : param_address(exec_of(l), a); });
}
void generic_to_param(Lanes& l, const Operands& in) {
  const uint64_t base = param_address(exec_of(l), kParamBase);
  each_address(l, in, [&](uint64_t a) {
    return (a & kWindowMask) == kLocalWindow ? a & ~kWindowMask : a - base + kParamBase;
  });
}

}  // namespace triton_runner::simt
