// Declares the instructions of launch control: asking for the work of a cluster that has not started, and
// reading the answer.
#pragma once
#include <array>

#include "state/address.h"

namespace triton_runner::simt {

struct CancelRequest {
  AddressPlace answer, barrier;
  bool all_blocks = false;
};
void run_try_cancel(Exec& x, const Operands& in, const CancelRequest& request);

struct CancelQuery {
  uint32_t answer = kNoRegister;
  uint32_t predicate = kNoRegister;  // is_canceled
  // get_first_ctaid: x, y, z and one whose value says nothing.
  std::array<uint32_t, 4> words{kNoRegister, kNoRegister, kNoRegister, kNoRegister};
};
void run_cancel_query(Exec& x, const Operands& in, const CancelQuery& question);

}  // namespace triton_runner::simt
