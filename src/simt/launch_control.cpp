// clusterlaunchcontrol: a block asks for the work of a cluster that has not started. PTX ISA 9.7.13.17.
//
// The cluster is taken off the launch's counter when the instruction is issued, so that nobody starts it any
// more. The answer is there when somebody waits for it, as the bytes of a bulk copy are: the number of its
// first block, and a word that says whether there is one. All blocks of the asking cluster get the same.
#include <array>
#include <cstring>
#include <optional>

#include "async/mbarrier.h"
#include "check/check.h"
#include "ptx/addresses.h"
#include "ptx/lower.h"
#include "run.h"

namespace triton_runner::simt {

using ptx::Mod;

namespace {

constexpr uint32_t kAnswerBytes = 16;
// The last word of an answer, which nothing else is taken for.
constexpr uint32_t kRefused = 0xc1c00000, kCancelled = 0xc1c00001;
using Words = std::array<uint32_t, 4>;  // %ctaid.x, y, z of the first block, and one of these

struct Request {
  AddressPlace answer, barrier;
  bool all_blocks = false;
};

struct Answer : AsyncOp {
  Cta* cta;
  const Instr* in;
  uint32_t thread;
  Words words{0, 0, 0, kRefused};
  std::vector<std::pair<std::byte*, uint32_t>> to;  // with the mbarrier of each
  void complete(Cluster&) override {
    if (cta->alive_count == 0) return;
    Exec x = late_exec(*cta);
    for (const auto& [at, barrier] : to) {
      std::memcpy(at, words.data(), kAnswerBytes);
      if (Checks* checks = x.worker->checks) {
        const Cta& owner = *cta->cluster->cta_of(barrier);
        checks->landed(x, *in, owner, static_cast<uint32_t>(at - owner.shared), kAnswerBytes, barrier);
      }
      if (!mbarrier_complete_tx(x, *in, thread, barrier, kAnswerBytes)) return;
    }
  }
};

// The next cluster that has not started, which now never will.
Words take_cluster(Exec& x) {
  Launch& launch = *x.worker->launch;
  const int64_t linear = launch.take_cluster();
  if (linear < 0) return {0, 0, 0, kRefused};
  const std::array<uint32_t, 3> first = first_block(launch, static_cast<uint64_t>(linear));
  return {first[0], first[1], first[2], kCancelled};
}

void run_try_cancel(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& request = *static_cast<const Request*>(in.data);
  for (uint32_t i = 0; i < x.count; i++) {
    if (!x.on(i)) continue;
    const uint32_t to = request.answer.shared_at(x, in, i), barrier = request.barrier.shared_at(x, in, i);
    if (to == kNoRegister || barrier == kNoRegister) return;
    if (to % kAnswerBytes != 0)
      return x.trap(in, exec::TrapKind::kMisaligned, "the answer wants an address aligned to 16 bytes", i,
                    kSharedWindow | to, kAnswerBytes);
    if (x.cta->was_refused)
      return x.trap(
          in, exec::TrapKind::kInvalid,
          "the block asks for work again after it has read that there is none: what happens then is "
          "undefined",
          i);
    auto op = std::make_unique<Answer>();
    op->cta = x.cta;
    op->in = &instr_of(in);
    op->thread = x.first + i;
    auto add = [&](uint32_t address, uint32_t signal) {
      std::byte* at = x.shared(in, i, address, kAnswerBytes, true);
      if (!at || !mbarrier_valid(x, in, i, signal)) return false;
      op->to.emplace_back(at, signal);
      return true;
    };
    if (!request.all_blocks && !add(to, barrier)) return;
    for (uint32_t rank = 0; request.all_blocks && rank < x.cta->cluster->ctas.size(); rank++) {
      if (x.cta->cluster->ctas[rank]->alive_count == 0)
        return x.trap(in, exec::TrapKind::kInvalid,
                      "block " + std::to_string(rank) + " of the cluster has ended, and gets no answer", i);
      if (!add((to & kOffsetMask) | rank << kRankShift, (barrier & kOffsetMask) | rank << kRankShift)) return;
    }
    op->words = take_cluster(x);
    x.cta->cluster->issue(std::move(op));
  }
}

struct Question {
  uint32_t answer = kNoRegister;
  uint32_t predicate = kNoRegister;  // is_canceled
  // get_first_ctaid: x, y, z and one whose value says nothing.
  std::array<uint32_t, 4> words{kNoRegister, kNoRegister, kNoRegister, kNoRegister};
};

void run_query(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& question = *static_cast<const Question*>(in.data);
  for (uint32_t i = 0; i < x.count; i++) {
    if (!x.on(i)) continue;
    const Words& answer = x.reg<Words>(question.answer)[i];
    const bool cancelled = answer[3] == kCancelled;
    if (!cancelled && answer[3] != kRefused)
      return x.trap(in, exec::TrapKind::kInvalid,
                    "these 128 bits are no answer of clusterlaunchcontrol.try_cancel: it was not waited for, "
                    "or was overwritten",
                    i);
    if (question.predicate != kNoRegister) {
      x.reg<int8_t>(question.predicate)[i] = cancelled ? -1 : 0;
      x.cta->was_refused |= !cancelled;
    }
    for (size_t d = 0; d < question.words.size(); d++)
      if (question.words[d] != kNoRegister) x.reg<uint32_t>(question.words[d])[i] = d < 3 ? answer[d] : 0;
  }
}

}  // namespace

bool lower_launch_control(Lowering& l, const ptx::Instruction& in) {
  if (in.operands.size() < 2) return l.error(in, "'" + std::string(in.spelling) + "' has too few operands");
  if (in.has(Mod::kTryCancel)) {
    Request request;
    request.all_blocks = in.has(Mod::kMulticastClusterAll);
    if (!address_place(l, in.operands[0], &request.answer) ||
        !address_place(l, in.operands[1], &request.barrier))
      return false;
    l.emit(run_try_cancel).data = l.code.keep(request);
    return true;
  }
  Question question;
  const ptx::Operand& result = in.operands[0];
  if (in.has(Mod::kIsCanceled)) {
    question.predicate = l.reg(result);
  } else if (result.kind == ptx::OperandKind::kVector) {
    if (result.parts.size() > question.words.size())
      return l.error(result.offset, "the number of a block has three parts");
    for (size_t i = 0; i < result.parts.size(); i++) question.words[i] = l.reg(result.parts[i]);
  } else {
    question.words[in.has(Mod::kGetFirstCtaidY) ? 1 : in.has(Mod::kGetFirstCtaidZ) ? 2 : 0] = l.reg(result);
  }
  question.answer = l.place(in.operands[1], Mod::kB128);
  if (question.answer == kNoRegister) return false;
  l.emit(run_query).data = l.code.keep(question);
  return true;
}

}  // namespace triton_runner::simt
