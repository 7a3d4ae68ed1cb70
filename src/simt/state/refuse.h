// refuse() and invalid() trap, and are the answer of the handler that found something that cannot be done.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

template <class... Args>
bool refuse(Exec& x, const Operands& in, exec::Cause cause, std::string message, Args... args) {
  x.trap(in, cause, std::move(message), args...);
  return false;
}
inline bool invalid(Exec& x, const Operands& in, uint32_t lane, std::string message) {
  return refuse(x, in, exec::TrapKind::kInvalid, std::move(message), lane);
}

}  // namespace triton_runner::simt
