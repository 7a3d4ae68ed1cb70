// Cluster launch control: a running program asks for the work of one that has not started, and is given the
// number of one that then never starts, or is told that there is none.
//
// The answer, two integers of 64 bits, is the program's number and a mark that says which of both it is.
#include <algorithm>
#include <cstring>

#include "lowering.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

constexpr int64_t kAnswerBytes = 16;
constexpr int64_t kRefused = 0xc1c00000, kCancelled = 0xc1c00001;

struct Query {
  const MemPlan* plan;  // of the answer's buffer
};

// Null after a trap.
Buffer* answer(Task& t, const Instr& in, int64_t bytes) {
  if (t.program->cluster) {
    t.trap(in, exec::TrapKind::kUnsupported, "launch control in a cluster whose blocks are programs");
    return nullptr;
  }
  if (t.program->was_refused) {
    t.trap(in, exec::TrapKind::kInvalid,
           "the program asks for work again after it has read that there is none: what happens then is "
           "undefined");
    return nullptr;
  }
  const int64_t program = t.worker->take();
  const int64_t words[] = {program < 0 ? 0 : program, program < 0 ? kRefused : kCancelled};
  Buffer* made = t.worker->pool->allocate(bytes);
  std::memset(made->data(), 0, static_cast<size_t>(bytes));
  std::memcpy(made->data(), words, sizeof words);
  return made;
}

const Instr* run_answer(Task& t, const Instr& in) {
  const MemPlan& plan = *in.as<Query>().plan;
  Buffer* made = answer(t, in, plan.bytes());
  if (!made) return nullptr;
  SharedState::of(t).write(plan, mem_desc(t, in.operand(0)), made);
  return next(in);
}

const Instr* run_try_cancel(Task& t, const Instr& in) {
  SharedState& state = SharedState::of(t);
  const MemDesc barrier = mem_desc(t, in.operand(1));
  const MemPlan* plan = in.as<Query>().plan;
  Buffer* made = answer(t, in, plan->bytes());
  if (!made) return nullptr;
  state.copy_through_barrier(t, barrier.base + barrier.flip * 8, {made, plan, mem_desc(t, in.operand(0))},
                             kAnswerBytes);
  return next(in);
}

const Instr* run_try_cancel_sync(Task& t, const Instr& in) {
  Buffer* made = answer(t, in, kAnswerBytes);
  if (!made) return nullptr;
  t.adopt(in.result(), made);
  return next(in);
}

// An answer that was read is the number of the program, or -1.
const Instr* run_load_result(Task& t, const Instr& in) {
  Buffer* read = SharedState::of(t).read_planned(*in.as<Query>().plan, mem_desc(t, in.operand(0)));
  int64_t words[2];
  std::memcpy(words, read->data(), sizeof words);
  t.worker->pool->release(read);
  if (words[1] != kCancelled && words[1] != kRefused)
    return t.trap(
        in, exec::TrapKind::kInvalid,
        "these 128 bits are no answer of clc_try_cancel: it was not waited for, or was overwritten");
  t.set_uniform(in.result(), words[1] == kCancelled ? words[0] : -1);
  return next(in);
}

const Instr* run_is_canceled(Task& t, const Instr& in) {
  const bool cancelled = t.bits(in.operand(0)) >= 0;
  t.program->was_refused |= !cancelled;
  t.set_uniform(in.result(), cancelled ? 1 : 0);
  return next(in);
}

const Instr* run_get_program_id(Task& t, const Instr& in) {
  const auto& grid = t.worker->launch->options->grid;
  const int64_t linear = std::max<int64_t>(t.bits(in.operand(0)), 0);
  const int64_t id[] = {linear % grid[0], linear / grid[0] % grid[1], linear / (grid[0] * grid[1])};
  t.set_uniform(in.result(), id[in.as<int64_t>()]);
  return next(in);
}

// A Query for the answer's memory; null after an error.
const Query* query(Lowering& l, const ir::Op& op, const ir::Value* memory) {
  const MemView* view = mem_view(l, *memory, op);
  if (!view) return nullptr;
  if (view->n() * view->size != kAnswerBytes) {
    l.error(op, "an answer of cluster launch control has 16 bytes");
    return nullptr;
  }
  return l.make<Query>(l.make<MemPlan>(*view));
}

}  // namespace

void lower_clc_try_cancel(Lowering& l, const ir::Op& op) {
  if (const Query* q = query(l, op, op.operand_of("result"))) l.emit(run_try_cancel, op, q);
}

// Into the buffer of an aref, whose turns say when it is there.
void lower_nvws_clc_try_cancel(Lowering& l, const ir::Op& op) {
  if (const Query* q = query(l, op, op.operand_of("result"))) l.emit(run_answer, op, q);
}

void lower_clc_try_cancel_sync(Lowering& l, const ir::Op& op) { l.emit(run_try_cancel_sync, op); }

void lower_clc_load_result(Lowering& l, const ir::Op& op) {
  if (const Query* q = query(l, op, op.operand_of("src"))) l.emit(run_load_result, op, q);
}
// It traps where there is no answer.
void shadow_clc_load_result(ShadowRule&) {}

void lower_clc_is_canceled(Lowering& l, const ir::Op& op) { l.emit(run_is_canceled, op); }

void lower_clc_get_program_id(Lowering& l, const ir::Op& op) {
  l.emit(run_get_program_id, op, l.make<int64_t>(op.int_attr("dim", 0)));
}

}  // namespace triton_runner::tile
