// Executes launch control (machine/launch_control.h). The answer is there when somebody waits for it, as the
// bytes of a bulk copy are. All blocks of the asking cluster get the same.
#include "async/launch_control.h"

#include <cstring>

#include <triton_runner/machine/launch_control.h>

#include "async/delivery.h"
#include "state/grid.h"

namespace triton_runner::simt {

using machine::kAnswerBytes;
using machine::LaunchAnswer;

namespace {

struct Answer : Delivery {
  using Delivery::Delivery;
  LaunchAnswer answer;
  void write(std::byte* block, uint32_t offset) override {
    std::memcpy(block + offset, &answer, kAnswerBytes);
  }
};

}  // namespace

void run_try_cancel(Exec& x, const Operands& in, const CancelRequest& request) {
  for (uint32_t i : x.lanes()) {
    const uint32_t to = request.answer.shared_at(x, in, i), barrier = request.barrier.shared_at(x, in, i);
    if (to == kNoRegister || barrier == kNoRegister) return;
    if (to % kAnswerBytes != 0)
      return x.trap(in, exec::TrapKind::kMisaligned, "the answer wants an address aligned to 16 bytes", i,
                    kSharedWindow | to, kAnswerBytes);
    if (x.cta->was_refused)
      return x.trap(in, exec::TrapKind::kInvalid, std::string("the block") + machine::kAsksAgain, i);
    std::optional<uint32_t> blocks;
    if (request.all_blocks) {
      const auto& ctas = x.cta->cluster->ctas;
      blocks = (1u << ctas.size()) - 1;
      for (uint32_t rank = 0; rank < ctas.size(); rank++)
        if (ctas[rank]->alive_count == 0)
          return x.trap(in, exec::TrapKind::kInvalid,
                        "block " + std::to_string(rank) + " of the cluster has ended, and gets no answer", i);
    }
    auto op = std::make_unique<Answer>(x, in, i);
    if (!op->add(x, to, barrier, kAnswerBytes, kAnswerBytes, blocks)) return;
    if (const int64_t cluster = x.worker->clusters->take(); cluster >= 0)
      op->answer = LaunchAnswer::of(block_of(x.launch(), cluster, 0));
    x.cta->cluster->issue(std::move(op));
  }
}

void run_cancel_query(Exec& x, const Operands& in, const CancelQuery& question) {
  for (uint32_t i : x.lanes()) {
    const LaunchAnswer& answer = x.reg<LaunchAnswer>(question.answer)[i];
    if (!answer.is_one())
      return x.trap(in, exec::TrapKind::kInvalid,
                    "these 128 bits are no answer of clusterlaunchcontrol.try_cancel: it was not waited for, "
                    "or was overwritten",
                    i);
    if (question.predicate != kNoRegister) {
      x.reg<int8_t>(question.predicate)[i] = answer.is_cancelled() ? -1 : 0;
      x.cta->was_refused |= !answer.is_cancelled();
    }
    for (size_t d = 0; d < question.words.size(); d++)
      if (question.words[d] != kNoRegister)
        x.reg<uint32_t>(question.words[d])[i] = d < 3 ? answer.block()[d] : 0;
  }
}

}  // namespace triton_runner::simt
