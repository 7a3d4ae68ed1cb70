// Declares loads and stores of one or several registers. Atomics are in atomic.h, asynchronous copies in
// async/.
#pragma once
#include <algorithm>

#include "state/operand_data.h"

namespace triton_runner::simt {

// The handler of a load or store. Operands::a is the address, data the Access.
Handler access_handler(const Access& access, bool write);
// The same value for every thread that is on.
template <class T>
void fill(const Lanes& l, T* out, uint64_t value) {
  if (!l.mask) return static_cast<void>(std::fill_n(out, l.count, static_cast<T>(value)));
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.mask[i]) out[i] = static_cast<T>(value);
}
// A load at `offset` of the kernel's parameters, the same for every thread.
void load_param(Exec& x, const Operands& in, const Access& a);

}  // namespace triton_runner::simt
