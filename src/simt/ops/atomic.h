// Declares read-modify-write of elements (machine/update.h) as an instruction.
#pragma once
#include <triton_runner/machine/update.h>

#include "state/address.h"

namespace triton_runner::simt {

using machine::AtomicOp;
using machine::AtomicType;
using machine::Update;
using machine::Updates;

struct AtomicPlan {
  AddressPlace address;
  Space where = Space::kGeneric;
  uint32_t bytes = 0;  // of an element
  uint32_t n = 1;      // elements
  Updates updates;     // none for 128 bits, which are exchanged, or swapped if equal
  uint32_t values[8] = {};
  uint32_t results[8] = {};      // kNoRegister: not wanted
  uint32_t other = kNoRegister;  // kCas: what replaces the element
};
// Operands::data is the AtomicPlan; wide: of 128 bits.
Handler atomic_handler(bool wide);

}  // namespace triton_runner::simt
