// Cluster launch control: a running program asks for the work of one that has not started. Here none can be
// had, which a kernel must be ready for: every program of the grid runs itself.
#include <cstring>

#include "lowering.h"
#include "shared_state.h"

namespace triton_runner::tile {
namespace {

constexpr int64_t kAnswerBytes = 16;

struct Query {
  const MemPlan* plan;  // of the answer's buffer
};

const Instr* run_try_cancel(Task& t, const Instr& in) {
  SharedState& state = SharedState::of(t);
  const MemDesc barrier = mem_desc(t, in.operand(1));
  const MemPlan* plan = in.as<Query>().plan;
  Buffer* answer = t.worker->pool->allocate(plan->bytes());
  std::memset(answer->data(), 0, plan->bytes());
  state.copy_through_barrier(barrier.base + barrier.flip * 8, {answer, plan, mem_desc(t, in.operand(0))},
                             kAnswerBytes);
  return next(in);
}

const Instr* run_zero(Task& t, const Instr& in) {
  t.set_uniform(in.result(), 0);
  return next(in);
}

const Instr* run_nothing(Task&, const Instr& in) { return next(in); }

}  // namespace

void lower_clc_try_cancel(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of(0), op);
  if (!view) return;
  l.emit(run_try_cancel, op, l.make<Query>(l.make<MemPlan>(*view)));
}

void lower_clc_load_result(Lowering& l, const ir::Op& op) { l.emit(run_nothing, op, {}, {}); }
void lower_clc_is_canceled(Lowering& l, const ir::Op& op) { l.emit(run_zero, op, {l.slot(op.result())}, {}); }
void lower_clc_get_program_id(Lowering& l, const ir::Op& op) {
  l.emit(run_zero, op, {l.slot(op.result())}, {});
}

}  // namespace triton_runner::tile
