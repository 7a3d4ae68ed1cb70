// Checks races of shared and tensor memory: tasks of a program, and the copies and products that run beside
// them.
#include <algorithm>
#include <cstring>

#include <triton_runner/exec/numbers.h>

#include "check/race_state.h"
#include "lowering.h"
#include "machine/cluster.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {

using enum ir::Effect;
using Queue = RaceRule::Queue;

namespace {

uint64_t barrier_address(Task& t, Slot s) { return address_of(mem_desc(t, s)); }

// Makes `seen` know what ended copies and products did.
auto ended(machine::Clock& seen) {
  return [&seen](uint32_t thread) { seen.see(thread, 1); };
}

}  // namespace

RaceCheck::Thread RaceCheck::beside(Task& t, const Instr& in) {
  Thread made = new_thread(t, &in);
  Thread& task = state(t).thread;
  made.task = task.id, made.met = task.met;
  task.release(made.seen);
  return made;
}

void RaceCheck::arrive(Task& t, const Instr& in, Thread& from, ir::GroupName group) {
  const auto operands = in.op->group(group);
  const int first = Lowering::operand_index(*in.op, group);
  for (size_t i = 0; i < operands.size(); ++i) {
    const MemDesc d = mem_desc(t, in.operand(static_cast<uint32_t>(first + i)));
    if (in.op->does(ir::Effect::kTensorCore)) {
      for (Program* block : tensor_blocks(t)) from.release(of(*block).barriers[address_of(d)]);
    } else {
      from.release(of(block_of(t, d)).barriers[address_of(d)]);
    }
  }
}

bool RaceCheck::buffer(Task& t, const Instr& in, Thread& thread, const MemoryOperand& b, Act act) {
  return buffer(t, in, thread, *b.plan, mem_desc(t, in.operand(b.operand)), *in.op->operand(b.operand), act);
}

bool RaceCheck::buffer(Task& t, const Instr& in, Thread& thread, const MemoryOperand& b, Act act,
                       const Program& block) {
  MemDesc d = mem_desc(t, in.operand(b.operand));
  if (block.cluster) d.block = static_cast<uint32_t>(1 + block.rank);
  return buffer(t, in, thread, *b.plan, d, *in.op->operand(b.operand), act);
}

bool RaceCheck::buffers(Task& t, const Instr& in, Thread& thread, ir::GroupName group, Act act) {
  const MemoryOperand* b = code_.buffer_of(in, group);
  return !b || std::ranges::all_of(tensor_blocks(t), [&](const Program* block) {
    return buffer(t, in, thread, *b, act, *block);
  });
}

bool RaceCheck::buffer(Task& t, const Instr& in, Thread& thread, const MemPlan& plan, MemDesc d,
                       const ir::Value& value, Act act) {
  const Program& block = block_of(t, d);
  ProgramRace& race = of(block);
  const auto arena = static_cast<uint64_t>(t.code->shared_bytes);
  std::vector<std::byte> marks(arena), ones(plan.bytes(), std::byte{1});
  plan.write(marks.data(), d, ones.data());
  if (warps_.are_known() && &thread == &state(t).thread) shared_hazard(state(t), marks, act == Act::kWrite);
  const uint32_t mine = record(thread, in, act);
  const bool by_proxy = act == Act::kRead && threads_[thread.id].beside && !plan.in_tensor_memory();
  uint32_t other = 0, unfenced = 0;
  uint64_t where = 0;
  for (uint64_t at = d.base; at < arena && !other && !unfenced;) {
    uint64_t end = at;
    while (end < arena && marks[end] != std::byte{0}) ++end;
    const auto is_unfenced = [&](const machine::Cell& cell) {
      return by_proxy && !fenced(cell.changer, thread) && !fenced_later(cell.changer, t);
    };
    const auto touch_row = [&](machine::History::Row& row, uint64_t, uint64_t, uint64_t) {
      return !is_unfenced(row.cell) && touch_row_of(row, thread, mine, act, true);
    };
    const auto touch_cell = [&](machine::Cell& cell, uint64_t address, uint64_t) {
      if (other || unfenced) return;
      other = touch(cell, thread, mine, act, true);
      if (!other && is_unfenced(cell)) unfenced = cell.changer;
      where = address;
    };
    if (end > at) race.shared.rows(at, end - at, (end - at) | 16, touch_row, touch_cell);
    at = end;
    while (at < arena && marks[at] == std::byte{0}) ++at;
  }
  if (!other && !unfenced) return true;
  // Which element lies there: its number, written byte by byte.
  const std::vector<int64_t>& strides = plan.strides();
  const int64_t n = value.type->num_elements(), size = plan.bytes() / n;
  int64_t element = 0;
  for (int byte = 0; byte < 4; ++byte) {
    for (int64_t e = 0; e < n; ++e)
      std::memset(ones.data() + e * size, static_cast<int>(e >> 8 * byte & 0xff), size);
    plan.write(marks.data(), d, ones.data());
    element |= static_cast<int64_t>(marks[where]) << 8 * byte;
  }
  std::vector<int64_t> index;
  for (size_t k = 0; k < strides.size(); ++k) index.push_back(element / strides[k]), element %= strides[k];
  std::string what = "element [" + exec::numbers_text(index) + "] of %" + std::string(value.name) +
                     (plan.in_tensor_memory() ? " in tensor memory" : " in shared memory");
  if (&block != t.program) what += " of block " + std::to_string(block.rank) + " of the cluster";
  if (other) return report(t, in, exec::Race::kShared, act, other, what, std::move(index));
  return trap_with_notes(t, in, exec::Race::kFence,
                         "it reads " + what +
                             " through the async proxy, and no ttng.fence_async_shared stands between "
                             "that and the write of it",
                         std::move(index),
                         {"the other access is " + place_text(*records_[unfenced].in->op, *t.code)});
}

// If a task's own accesses to shared memory depend on each other, its warps meet: compilers see to that.
void RaceCheck::shared_hazard(TaskState& s, const std::vector<std::byte>& marks, bool writes) {
  const auto is_marked = [](std::byte b) { return b != std::byte{0}; };
  const auto first = std::find_if(marks.begin(), marks.end(), is_marked);
  const auto last = std::find_if(marks.rbegin(), marks.rend(), is_marked);
  const TaskState::Range mine{static_cast<uint64_t>(first - marks.begin()),
                              static_cast<uint64_t>(marks.rend() - last), writes};
  const bool meets = std::any_of(s.ranges.begin(), s.ranges.end(), [&](const TaskState::Range& r) {
    return (r.writes || writes) && r.begin < mine.end && mine.begin < r.end;
  });
  if (meets) meet(s);
  s.ranges.push_back(mine);
}

// After a fence the async proxy sees what a task wrote itself, or has had copied by cp.async.
bool RaceCheck::fenced(uint32_t number, const Thread& thread) const {
  const Record& r = records_[number];
  if (number == 0 || (threads_[r.agent].beside && !r.in->op->does(ir::Effect::kGroup))) return true;
  return thread.is_fenced_after(r);
}

// Triton itself puts a fence between a cp.async copy, or what an allocation stores, and what reads it through the
// async proxy: 3.9 in TTGIR, 3.7 and 3.8 after it. It looks at one task at a time: what another task copied needs
// a fence of the program's own. So does what a task stored: Gluon and TLX ask for it, and other TTGIR has it.
bool RaceCheck::fenced_later(uint32_t number, Task& t) {
  const Record& r = records_[number];
  return (r.in->op->does(ir::Effect::kGroup) || r.in->op->does(ir::Effect::kAllocates)) &&
         threads_[r.agent].task == threads_[state(t).thread.id].task;
}

namespace {

// Tokens and arefs: one of them for all, so that what they order is never taken for a race.
constexpr int64_t kTokens = -1;

}  // namespace

// The blocks of a cluster meet, or one writes to the memory of another.
bool RaceCheck::cluster_before(Task& t, const Instr& in) {
  const ir::Effects does = in.op->effects();
  if (does.any(kSignals) && t.program->cluster && in.op->int_attr("relaxed", 0) == 0) {
    const Cluster* cluster = t.program->cluster;
    state(t).thread.release(met_[{cluster, cluster->barrier.ticket()}]);
  }
  const MemoryOperand* to = code_.buffer_of(in, "dst");
  if (!to || !does.any(kBufferWrites)) return true;
  const MemoryOperand* from = code_.buffer_of(in, "src");
  for (Program* block : blocks_reached(t, in)) {
    if (!does.any(kAsync)) return buffer(t, in, state(t).thread, *to, Act::kWrite, *block);
    Thread copy = beside(t, in);
    if (from && !buffer(t, in, copy, *from, Act::kRead)) return false;
    if (!buffer(t, in, copy, *to, Act::kWrite, *block)) return false;
    if (const int barrier = Lowering::operand_index(*in.op, "barrier"); barrier >= 0)
      of(*block).flights[barrier_address(t, in.operand(static_cast<uint32_t>(barrier)))].push_back(copy.id);
  }
  return true;
}

bool RaceCheck::shared_before(Task& t, const Instr& in) {
  if (const RaceFn rule = row_of(in.op->kind).race) {
    RaceRule own{t, in, *this, nullptr};
    return rule(own);
  }
  const auto& buffers = code_.buffers[&in - t.code->instrs.data()];
  const ir::Effects does = in.op->effects();
  ProgramRace& race = of(*t.program);
  if (does.any(kCluster)) return cluster_before(t, in);
  if (does.all(kToken | kSignals)) state(t).thread.release(race.named[kTokens]);
  if (does.all(kNamed | kSignals)) state(t).thread.release(race.named[t.bits(in.operand(0))]);
  if (does.any(kBufferReads | kBufferWrites) && !does.any(kAsync | kAllocates)) {
    const Act act = does.any(kBufferReads) ? Act::kRead : Act::kWrite;
    return buffers.empty() || !is_on(t, in, "pred") || buffer(t, in, state(t).thread, buffers[0], act);
  }
  if (does.all(kAsync | kGroup)) {  // a copy from pointers: one instruction of those that it becomes
    if (buffers.empty() || accesses_[&in - t.code->instrs.data()].kind == AccessKind::kNone) return true;
    Thread copy = beside(t, in);
    state(t).begun.issue(copy.id, Queue::kCopies);
    const Access& a = accesses_[&in - t.code->instrs.data()];
    return access(t, in, a, copy) && buffer(t, in, copy, buffers[0], Act::kWrite);
  }
  if (does.all(kAsync | kBufferWrites) && !does.any(kTensorCore)) {  // its barrier counts the bytes
    if (!is_on(t, in, "pred")) return true;
    Thread copy = beside(t, in);
    state(t).issues = &in, state(t).issued = copy;
    const MemoryOperand* to = code_.buffer_of(in, "result");
    const int barrier = Lowering::operand_index(*in.op, "barrier");
    for (Program* block : blocks_reached(t, in)) {
      if (to && !buffer(t, in, copy, *to, Act::kWrite, *block)) return false;
      // The barrier, of this block or another, gets to know when it has landed.
      if (barrier < 0) continue;
      const Slot counted = in.operand(static_cast<uint32_t>(barrier));
      Program& teller = mem_desc(t, counted).block ? block_of(t, mem_desc(t, counted)) : *block;
      of(teller).flights[barrier_address(t, counted)].push_back(copy.id);
    }
    return true;
  }
  if (does.all(kAsync | kBlock | kStores)) {
    Thread copy = beside(t, in);
    state(t).begun.issue(copy.id, Queue::kStores);
    state(t).begun.commit(Queue::kStores);
    return buffers.empty() || buffer(t, in, copy, buffers[0], Act::kRead);
  }
  if (does.all(kGroup | kBarrier)) {
    TaskState& s = state(t);
    Clock& into = race.barriers[barrier_address(t, in.operand(0))];
    s.thread.release(into);
    s.begun.take_all(Queue::kCopies, ended(into));
    return true;
  }
  if (does.all(kBarrier | kSignals) && is_on(t, in, "pred")) {
    if (does.any(kTensorCore))
      arrive(t, in, race.tensor_core, "barrier");
    else
      arrive(t, in, state(t).thread, "alloc");
  }
  if (does.any(kGroup) && !does.any(kWaits)) state(t).begun.commit(Queue::kCopies);
  return true;
}

bool RaceCheck::shared_after(Task& t, const Instr& in) {
  ProgramRace& race = of(*t.program);
  const ir::Effects does = in.op->effects();
  Clock& seen = state(t).thread.seen;
  if (does.all(kCluster | kWaits) && t.program->cluster)
    seen.see(met_[{t.program->cluster, t.cluster_ticket}]);
  if (does.all(kToken | kWaits)) seen.see(race.named[kTokens]);
  if (does.all(kNamed | kWaits)) seen.see(race.named[t.bits(in.operand(0))]);
  if (does.all(kBarrier | kWaits)) {
    const uint64_t address = barrier_address(t, in.operand(0));
    Clock& told = race.barriers[address];
    std::vector<uint32_t>& flights = race.flights[address];
    const size_t landed =
        flights.size() -
        std::min(flights.size(), SharedState::of(t).copies_to(static_cast<uint32_t>(address)));
    std::for_each_n(flights.begin(), landed, ended(told));
    flights.erase(flights.begin(), flights.begin() + static_cast<ptrdiff_t>(landed));
    seen.see(told);
  }
  if (does.any(kWaits)) own_work_ended(t, in);
  if (const MemPlan* plan = code_.filled[&in - t.code->instrs.data()])
    if (!buffer(t, in, state(t).thread, *plan, mem_desc(t, in.result()), in.op->results[0], Act::kWrite))
      return false;
  if (does.any(kForks))
    for (Task* partition : SharedState::of(t).partitions) {
      TaskState& s = state(*partition);
      if (partition->outcome == Outcome::kFinished) {
        s.thread.release(state(t).thread.seen);  // the end of a partition
      } else {
        s.thread = new_thread(*partition, nullptr);
        state(t).thread.release(s.thread.seen);
      }
    }
  return true;
}

// A task waits for what it has begun.
void RaceCheck::own_work_ended(Task& t, const Instr& in) {
  const ir::Effects does = in.op->effects();
  TaskState& s = state(t);
  const auto seen = ended(s.thread.seen);
  if (does.any(kTensorCore)) s.begun.wait(Queue::kProducts, in.op->int_attr("pendings", 0), seen);
  if (does.any(kBlock)) {
    s.begun.wait(Queue::kStores, in.op->int_attr("pendings", 0), seen);
    arrive(t, in, s.thread, "barriers");
  }
  if (!does.any(kGroup)) return;
  if (const ir::Attr* left = in.op->attr("num"))
    s.begun.wait(Queue::kCopies, left->integer, seen);
  else
    s.begun.take_all(Queue::kCopies, seen);
}

// ---- what an op's own rule says

static RaceCheck::Thread& thread_of(RaceThread& t) { return static_cast<RaceCheck::Thread&>(t); }

bool RaceRule::on() const { return is_on(t, in, "pred"); }
RaceThread& RaceRule::task() { return check.state(t).thread; }
RaceThread& RaceRule::tensor_core() { return RaceCheck::of(*t.program).tensor_core; }
RaceThread& RaceRule::beside() { return *(made = std::make_shared<RaceCheck::Thread>(check.beside(t, in))); }
void RaceRule::order(RaceThread& before, RaceThread& after) {
  thread_of(before).release(thread_of(after).seen);
}
std::vector<Program*> RaceRule::blocks() const { return tensor_blocks(t); }
bool RaceRule::reads(RaceThread& by, ir::GroupName buffer) {
  return check.buffers(t, in, thread_of(by), buffer, RaceCheck::Act::kRead);
}
bool RaceRule::writes(RaceThread& by, ir::GroupName buffer) {
  return check.buffers(t, in, thread_of(by), buffer, RaceCheck::Act::kWrite);
}
void RaceRule::arrive(RaceThread& by, ir::GroupName barriers) {
  check.arrive(t, in, thread_of(by), barriers);
}
void RaceRule::begin(Queue queue, const RaceThread& work) {
  RaceCheck::TaskState& s = check.state(t);
  s.begun.issue(static_cast<const RaceCheck::Thread&>(work).id, queue);
  if (queue != Queue::kCopies) s.begun.commit(queue);  // each is a group of its own
}
void RaceRule::fence() { check.state(t).thread.fence(); }
void RaceRule::fence_memory() { check.fence_memory(check.state(t).thread); }
bool RaceRule::commits() const { return check.code_.commits; }

}  // namespace triton_runner::tile
