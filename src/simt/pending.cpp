// Families that are not executed yet: each is an error at its line.
#include "lower.h"

namespace triton_runner::simt {
namespace {
bool pending(Lowering& l, const ptx::Instruction& in) {
  return l.error(in, "the engine does not execute '" + std::string(in.spelling) + "'");
}
}  // namespace

bool lower_tcgen05(Lowering& l, const ptx::Instruction& in) { return pending(l, in); }

}  // namespace triton_runner::simt
