// Computes fma.oob: elements that a tensor copy marked as outside of its tensor count as zero. See PTX ISA
// 9.7.4.4, 5.5.4.
#include <triton_runner/lanes/oob.h>

#include <vector>

namespace triton_runner::lanes {
namespace {

constexpr uint16_t kOutside = 0x7ff7;  // the NaN that copies write for elements outside of the tensor

template <uint32_t n>
void run(Lanes& l, const Operands& in) {
  struct Half {
    uint16_t part[n];
  };
  // Read before the result is written, which may overwrite an operand.
  thread_local std::vector<uint8_t> outside;
  outside.assign(l.count * n, 0);
  for (uint32_t place : {in.a, in.b, in.c})
    for (uint32_t i = 0; i < l.count; ++i)
      for (uint32_t k = 0; k < n; ++k) outside[i * n + k] |= l.reg<Half>(place)[i].part[k] == kOutside;
  reinterpret_cast<Handler>(in.imm)(l, in);
  for (uint32_t i = 0; i < l.count; ++i)
    for (uint32_t k = 0; k < n; ++k)
      if (l.on(i) && outside[i * n + k]) l.reg<Half>(in.d)[i].part[k] = 0;
}

}  // namespace

Handler fma_oob(int halves) { return halves == 1 ? run<1> : run<2>; }

}  // namespace triton_runner::lanes
