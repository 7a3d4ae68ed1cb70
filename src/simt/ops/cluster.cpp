// Computes addresses in the shared memory of a cluster's blocks, and the block of an address.
#include "ops/cluster.h"

namespace triton_runner::simt {
namespace {

// The address a of this block, in the block of rank b.
template <class T>
void run_mapa(Lanes& lanes, const Operands& in) {
  const T* a = lanes.reg<T>(in.a);
  const uint32_t* b = lanes.reg<uint32_t>(in.b);
  T* d = lanes.reg<T>(in.d);
  constexpr T kRank = T{0xff} << kRankShift;
  for (uint32_t i = 0; i < lanes.count; i++)
    if (lanes.on(i)) d[i] = (a[i] & ~kRank) | (static_cast<T>(b[i]) << kRankShift & kRank);
}

template <class T>
void run_getctarank(Lanes& lanes, const Operands& in) {
  const T* a = lanes.reg<T>(in.a);
  uint32_t* d = lanes.reg<uint32_t>(in.d);
  for (uint32_t i = 0; i < lanes.count; i++)
    if (lanes.on(i)) d[i] = static_cast<uint32_t>(a[i]) >> kRankShift;
}

}  // namespace

Handler map_handler(bool wide) { return wide ? run_mapa<uint64_t> : run_mapa<uint32_t>; }
Handler rank_handler(bool wide) { return wide ? run_getctarank<uint64_t> : run_getctarank<uint32_t>; }

}  // namespace triton_runner::simt
