// Cluster launch control: a running program asks for the work of one that has not started. Here none can be
// had, which a kernel must be ready for: every program of the grid runs itself.
#include <cstring>

#include "lowering.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

constexpr int64_t kAnswerBytes = 16;

struct Query {
  const MemPlan* plan;  // of the answer's buffer
};

Buffer* nothing_cancelled(Task& t, const MemPlan& plan) {
  Buffer* answer = t.worker->pool->allocate(plan.bytes());
  std::memset(answer->data(), 0, plan.bytes());
  return answer;
}

const Instr* run_answer(Task& t, const Instr& in) {
  const MemPlan& plan = *in.as<Query>().plan;
  SharedState::of(t).write(plan, mem_desc(t, in.operand(0)), nothing_cancelled(t, plan));
  return next(in);
}

const Instr* run_try_cancel(Task& t, const Instr& in) {
  SharedState& state = SharedState::of(t);
  const MemDesc barrier = mem_desc(t, in.operand(1));
  const MemPlan* plan = in.as<Query>().plan;
  Buffer* answer = nothing_cancelled(t, *plan);
  state.copy_through_barrier(t, barrier.base + barrier.flip * 8, {answer, plan, mem_desc(t, in.operand(0))},
                             kAnswerBytes);
  return next(in);
}

}  // namespace

void lower_clc_try_cancel(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("result"), op);
  if (!view) return;
  l.emit(run_try_cancel, op, l.make<Query>(l.make<MemPlan>(*view)));
}

// Into the buffer of an aref, whose turns say when it is there.
void lower_nvws_clc_try_cancel(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("result"), op);
  if (view) l.emit(run_answer, op, l.make<Query>(l.make<MemPlan>(*view)));
}

}  // namespace triton_runner::tile
