// Addresses in the shared memory of a cluster's blocks: mapa and getctarank. PTX ISA 9.7.9.23, 9.7.9.24.
//
// A shared address is the block's rank and an offset, in 32 bits or in the low 32 of a generic address.
#include "exec.h"
#include "ptx/lower.h"

namespace triton_runner::simt {

using ptx::Mod;

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

bool lower_cluster(Lowering& l, const ptx::Instruction& in) {
  const bool wide = in.type(0) == Mod::kU64;
  const bool map = in.opcode == ptx::Opcode::kMapa;
  const uint32_t d = l.reg(in.operands[0]);
  const uint32_t a = l.place(in.operands[1], wide ? Mod::kU64 : Mod::kU32);
  const uint32_t b = map ? l.place(in.operands[2], Mod::kU32) : kNoRegister;
  if (d == kNoRegister) return true;
  Instr& i = l.emit(map    ? wide ? run_mapa<uint64_t> : run_mapa<uint32_t>
                    : wide ? run_getctarank<uint64_t>
                           : run_getctarank<uint32_t>);
  i.d = d, i.a = a, i.b = b;
  return true;
}

}  // namespace triton_runner::simt
