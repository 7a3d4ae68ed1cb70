// Lowers clusterlaunchcontrol. See PTX ISA 9.7.13.17.
#include "async/launch_control.h"

#include "front/ptx/addresses.h"

namespace triton_runner::simt {

using ptx::Mod;

bool lower_launch_control(Lowering& l, const ptx::Instruction& in) {
  if (in.operands.size() < 2) return l.fail(in, "'" + std::string(in.spelling) + "' has too few operands");
  if (in.has(Mod::kTryCancel)) {
    CancelRequest request;
    request.all_blocks = in.has(Mod::kMulticastClusterAll);
    if (!address_place(l, in.operands[0], &request.answer) ||
        !address_place(l, in.operands[1], &request.barrier))
      return false;
    return l.emit<run_try_cancel>(request);
  }
  CancelQuery question;
  const ptx::Operand& result = in.operands[0];
  if (in.has(Mod::kIsCanceled)) {
    question.predicate = l.reg(result);
  } else if (result.kind == ptx::OperandKind::kVector) {
    if (result.parts.size() > question.words.size())
      return l.fail(result.offset, "the number of a block has three parts");
    for (size_t i = 0; i < result.parts.size(); i++) question.words[i] = l.reg(result.parts[i]);
  } else {
    question.words[in.has(Mod::kGetFirstCtaidY) ? 1 : in.has(Mod::kGetFirstCtaidZ) ? 2 : 0] = l.reg(result);
  }
  if (!l.place(in.operands[1], Mod::kB128, &question.answer)) return false;
  return l.emit<run_cancel_query>(question);
}

}  // namespace triton_runner::simt
