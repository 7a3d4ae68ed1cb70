// Copies of registers, and addresses from one state space to another.
#include "move.h"

#include <cstring>

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
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.mask[i]) d[i] = a[i];
}

}  // namespace

Handler copy_register(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return copy<uint8_t>;
    case 2:
      return copy<uint16_t>;
    case 4:
      return copy<uint32_t>;
    case 8:
      return copy<uint64_t>;
    default:
      return copy<unsigned __int128>;
  }
}

void add_window(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = a[i] | static_cast<uint64_t>(in.imm);
}
void drop_window(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = a[i] & ~static_cast<uint64_t>(in.imm);
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
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = a[i] < kParamBase ? kLocalWindow | a[i] : param_address(exec_of(l), a[i]);
}
void generic_to_param(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  const uint64_t base = param_address(exec_of(l), kParamBase);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = (a[i] & kWindowMask) == kLocalWindow ? a[i] & ~kWindowMask : a[i] - base + kParamBase;
}

}  // namespace triton_runner::simt
