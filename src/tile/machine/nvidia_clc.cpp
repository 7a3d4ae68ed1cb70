// Lowers cluster launch control: a running program asks for the work of one that has not started
// (machine/launch_control.h).
#include <algorithm>
#include <cstring>
#include <span>

#include <triton_runner/machine/launch_control.h>

#include "lowering.h"
#include "machine/cluster.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

using machine::kAnswerBytes;
using machine::LaunchAnswer;

// Null after a trap.
Buffer* answer(Task& t, const Instr& in, int64_t bytes) {
  if (t.program->was_refused) {
    t.trap(in, exec::TrapKind::kInvalid, std::string("the program") + machine::kAsksAgain);
    return nullptr;
  }
  const int64_t unit = t.worker->programs->take();  // a program, or a cluster of them
  LaunchAnswer answer;
  if (unit >= 0)
    answer = LaunchAnswer::of(machine::block_in(t.worker->launch->options->grid, t.code->cluster, unit, 0));
  Buffer* made = t.worker->pool->allocate(bytes);
  std::memset(made->data(), 0, static_cast<size_t>(bytes));
  std::memcpy(made->data(), &answer, sizeof answer);
  return made;
}

bool run_answer(Task& t, const Instr& in, const MemPlan& plan) {
  Buffer* made = answer(t, in, plan.bytes());
  if (made) SharedState::of(t).write(plan, mem_desc(t, in.operand(0)), made);
  return made != nullptr;
}

bool run_try_cancel(Task& t, const Instr& in, const MemPlan& plan) {
  SharedState& state = SharedState::of(t);
  const uint32_t barrier = address_of(mem_desc(t, in.operand(1)));
  Buffer* made = answer(t, in, plan.bytes());
  if (made) state.copy_through_barrier(barrier, {made, &plan, mem_desc(t, in.operand(0))}, kAnswerBytes);
  return made != nullptr;
}

bool run_try_cancel_sync(Task& t, const Instr& in) {
  Buffer* made = answer(t, in, kAnswerBytes);
  if (made) t.adopt(in.result(), made);
  return made != nullptr;
}

// To each block of the cluster, at the same place, counted by its own mbarrier.
const Instr* run_async_try_cancel(Task& t, const Instr& in, const MemPlan& plan) {
  Program* const own[] = {t.program};
  std::span<Program* const> blocks = own;
  if (t.program->cluster) {
    if (!asks_for_cluster(t)) return next(in);
    blocks = t.program->cluster->blocks;
  }
  const uint32_t barrier = address_of(mem_desc(t, in.operand(0)));
  for (Program* block : blocks)
    if (!SharedState::of(*block).barrier(barrier)) return no_barrier(t, in, "the answer's mbarrier");
  Buffer* made = answer(t, in, plan.bytes());
  if (!made) return nullptr;
  made->refs += static_cast<uint32_t>(blocks.size()) - 1;
  for (Program* block : blocks)
    SharedState::of(*block).copy_through_barrier(barrier, {made, &plan, mem_desc(t, in.operand(1))},
                                                 kAnswerBytes);
  return next(in);
}

// False: it is none, and that is a trap.
bool read_answer(Task& t, const Instr& in, const MemPlan& plan, LaunchAnswer& answer) {
  Buffer* read = SharedState::of(t).read_planned(plan, mem_desc(t, in.operand(0)));
  std::memcpy(&answer, read->data(), sizeof answer);
  t.worker->pool->release(read);
  return answer.is_one() || t.trap(in, exec::TrapKind::kInvalid,
                                   "these 128 bits are no answer of cluster launch control: it was not "
                                   "waited for, or was overwritten");
}

// An answer that was read is the number of the program, or -1.
const Instr* run_load_result(Task& t, const Instr& in, const MemPlan& plan) {
  LaunchAnswer answer;
  if (!read_answer(t, in, plan, answer)) return nullptr;
  const auto& grid = t.worker->launch->options->grid;
  const auto [x, y, z] = answer.block();
  t.set_uniform(in.result(), answer.is_cancelled() ? x + grid[0] * (y + grid[1] * z) : -1);
  return next(in);
}

// The place of the cluster's first block, or -1.
const Instr* run_query_cancel(Task& t, const Instr& in, const MemPlan& plan) {
  LaunchAnswer answer;
  if (!read_answer(t, in, plan, answer)) return nullptr;
  t.program->was_refused |= !answer.is_cancelled();
  const auto place = answer.block();
  for (uint32_t d = 0; d < place.size(); ++d)
    t.set_uniform(in.result(d), answer.is_cancelled() ? static_cast<int64_t>(place[d]) : -1);
  return next(in);
}

void run_is_canceled(Task& t, const Instr& in) {
  const bool cancelled = t.bits(in.operand(0)) >= 0;
  t.program->was_refused |= !cancelled;
  t.set_uniform(in.result(), cancelled ? 1 : 0);
}

void run_get_program_id(Task& t, const Instr& in) {
  const auto& grid = t.worker->launch->options->grid;
  const int64_t linear = std::max<int64_t>(t.bits(in.operand(0)), 0);
  t.set_uniform(in.result(), machine::place_in(grid, linear)[static_cast<size_t>(in.as<int64_t>())]);
}

// The plan of the answer's memory; null after an error.
const MemPlan* answer_plan(Lowering& l, const ir::Op& op, const ir::Value* memory) {
  const MemView* view = mem_view(l, *memory, op);
  if (!view) return nullptr;
  if (view->n() * view->size != kAnswerBytes)
    return l.fail(op, "an answer of cluster launch control has 16 bytes"), nullptr;
  return l.make<MemPlan>(*view);
}

}  // namespace

void lower_clc_try_cancel(Lowering& l, const ir::Op& op) {
  if (const MemPlan* plan = answer_plan(l, op, op.operand_of("result"))) l.emit<run_try_cancel>(op, plan);
}

void lower_async_clc_try_cancel(Lowering& l, const ir::Op& op) {
  if (const MemPlan* plan = answer_plan(l, op, op.operand_of("result")))
    l.emit<run_async_try_cancel>(op, plan);
}

void lower_clc_query_cancel(Lowering& l, const ir::Op& op) {
  if (const MemPlan* plan = answer_plan(l, op, op.operand_of("src"))) l.emit<run_query_cancel>(op, plan);
}

// Into the buffer of an aref, whose turns say when it is there.
void lower_nvws_clc_try_cancel(Lowering& l, const ir::Op& op) {
  if (const MemPlan* plan = answer_plan(l, op, op.operand_of("result"))) l.emit<run_answer>(op, plan);
}

void lower_clc_try_cancel_sync(Lowering& l, const ir::Op& op) { l.emit<run_try_cancel_sync>(op); }

void lower_clc_load_result(Lowering& l, const ir::Op& op) {
  if (const MemPlan* plan = answer_plan(l, op, op.operand_of("src"))) l.emit<run_load_result>(op, plan);
}
// It traps where there is no answer.
void shadow_clc_load_result(ShadowRule&) {}

void lower_clc_is_canceled(Lowering& l, const ir::Op& op) { l.emit<run_is_canceled>(op); }

void lower_clc_get_program_id(Lowering& l, const ir::Op& op) {
  l.emit<run_get_program_id>(op, l.number(op, "dim"));
}

}  // namespace triton_runner::tile
