// Runs programs of the tile engine as units of a grid (machine/grid_worker.h). The blocks of a cluster, where
// they are programs, are taken together and have turns within what is one program to the rest of this file:
// the first of them, which leads.
#include "schedule.h"

#include <algorithm>

#include <triton_runner/exec/pool.h>
#include <triton_runner/exec/scalar.h>
#include <triton_runner/machine/grid_worker.h>
#include <triton_runner/num/dot.h>

#include "check/check.h"
#include "machine/tensor_desc.h"
#include "snapshot.h"
#include "trace/location.h"

namespace triton_runner::tile {
namespace {

using machine::Step;

constexpr int kTurns = 64;  // of a program that does more than spin

// The bytes that the tiles of one worker may occupy.
uint64_t tile_limit(const Launch& launch) {
  int64_t asked = launch.options->max_tile_bytes;
  uint64_t all = asked > 0 ? static_cast<uint64_t>(asked) : exec::usable_memory() / 4 * 3;
  return all / static_cast<uint64_t>(std::max(launch.workers, 1));
}

class GridWorker : public machine::GridWorker<GridWorker, Program> {
 public:
  static constexpr int kPatience = 64;
  static constexpr bool kSpinsForSure = true;

  GridWorker(Launch& launch, int index)
      : machine::GridWorker<GridWorker, Program>(launch, index),
        launch_(launch),
        code_(*launch.code),
        worker_(*launch.memory) {
    worker_.launch = &launch;
    worker_.index = index;
    worker_.programs = &taker_;
    thread_local BufferPool pool;
    pool.set_limit(tile_limit(launch));
    worker_.pool = &pool;
  }

  ~GridWorker() {
    num::release_bf16_unit();
    for (auto& p : idle_) discard(*p);
    for (auto& p : active_) discard(*p);
  }

  // In a deadlock that several workers have programs in, the trap of the lowest program stays.
  void run_all() {
    run();
    if (is_deadlocked()) report_deadlock();
  }

  bool begin(Program& p, int64_t number) {
    if (p.led) [[unlikely]]
      return begin_cluster(*p.led, number);
    p.linear = p.number = number;
    p.id = id_of(number);
    return begin_block(p);
  }

  bool begin_block(Program& p) {
    p.was_refused = false;
    if (!p.is_one_task()) p.tasks.resize(1);
    Task& t = p.tasks.front();
    t.pc = code_.entry;
    t.outcome = Outcome::kRunning;
    t.frozen = false;
    t.cluster_ticket = 0;
    t.spun_at = nullptr;
    if (t.should_stop()) [[unlikely]] {
      t.stopped(*code_.entry);
      return false;
    }
    if (p.state) p.state->begin(p);
    if (launch_.checks) launch_.checks->begin(p);
    return true;
  }

  // The blocks of cluster `number` of the grid, each ready to run before the first does.
  bool begin_cluster(Cluster& cluster, int64_t number) {
    const auto& grid = launch_.options->grid;
    cluster.barrier = {};
    for (Program* p : cluster.blocks) {
      p->id = machine::block_in(grid, code_.cluster, number, p->rank);
      p->linear = p->id[0] + grid[0] * (p->id[1] + grid[1] * p->id[2]);
      p->number = number;
      if (!begin_block(*p)) return false;
    }
    return true;
  }

  // The id of program `linear`: mostly one of the next after the last, so that nothing is divided. It is
  // worked out in registers: reading all of an array of which one element was just written waits for that
  // write, which comes after all that the program before stored.
  std::array<int64_t, 3> id_of(int64_t linear) {
    const auto& grid = launch_.options->grid;
    int64_t ahead = linear - linear_, x = x_, y = y_, z = z_;
    if (ahead < 0 || ahead > 8) {
      const std::array<int64_t, 3> place = machine::place_in(grid, linear);
      x = place[0], y = place[1], z = place[2];
    } else {
      for (x += ahead; x >= grid[0]; x -= grid[0])
        if (++y == grid[1]) y = 0, ++z;
    }
    linear_ = linear, x_ = x, y_ = y, z_ = z;
    return {x, y, z};
  }

  // With the blocks that it leads, if it is the first of a cluster.
  std::unique_ptr<Program> make() {
    auto p = make_block();
    if (!p || code_.cluster_size() == 1) return p;
    p->led = std::make_unique<Cluster>();
    p->led->blocks.push_back(p.get());
    for (int rank = 1; rank < code_.cluster_size(); ++rank) {
      auto other = make_block();
      if (!other) return discard(*p), nullptr;
      other->rank = rank;
      p->led->blocks.push_back(other.get());
      p->led->others.push_back(std::move(other));
    }
    for (Program* block : p->led->blocks) block->cluster = p->led.get();
    return p;
  }

  std::unique_ptr<Program> make_block() {
    auto p = std::make_unique<Program>();
    p->worker = &worker_;
    p->values.resize(code_.types.size());
    Task& t = p->tasks.emplace_back();
    t.values = p->values.data();
    t.code = &code_;
    t.program = p.get();
    t.worker = &worker_;
    try {
      if (code_.shared_bytes > 0) p->shared = worker_.pool->allocate(code_.shared_bytes);
      for (size_t i = 0; i < code_.params.size(); ++i) set_param(t, code_.params[i], launch_.args[i]);
    } catch (const std::bad_alloc& error) {
      t.trap_memory(*code_.entry, error);
      discard(*p);
      return nullptr;
    }
    t.pc = code_.prologue;
    run_task(t);
    return p;
  }

  static void set_param(Task& t, Slot slot, const exec::Argument& a) {
    const TileType& ty = t.type(slot);
    switch (a.kind) {
      case exec::ParamKind::kPointer:
        t.set_uniform(slot, static_cast<int64_t>(a.bits));
        break;
      case exec::ParamKind::kInteger:
        t.set_uniform(slot,
                      ty.element == num::Type::kI1 ? (a.bits & 1) : num::sign_extend(a.bits, ty.element));
        break;
      case exec::ParamKind::kFloat:
        t.set_uniform(slot, static_cast<int64_t>(exec::float_bits(ty.element, a.bits)));
        break;
      case exec::ParamKind::kTensorDesc:
        set_tensor_desc(t, slot, *a.descriptor);
        break;
    }
  }

  void discard(Program& p) {
    for (Value& v : p.values)
      if (v.buffer) worker_.pool->release(v.buffer);
    if (p.shared) worker_.pool->release(p.shared);
    if (p.led)
      for (auto& other : p.led->others) discard(*other);
  }

  void end(Program& p) {
    if (p.state) p.state->end();
    for (Slot s : code_.left_over) p.tasks.front().forget(s);
    if (p.led) [[unlikely]]
      for (auto& other : p.led->others) end(*other);
  }

  // Turns end at pseudo-random places, too.
  Step turn(Program& p) {
    const Step s = step(p);
    if (!launch_.checks->preempted()) return p.turns = 0, s;
    return ++p.turns > kTurns ? Step::kWorks : s == Step::kSpinning ? Step::kGoesOn : s;
  }

  Step step(Program& p) {
    if (p.led) [[unlikely]]
      return step_tasks(p, {});
    Step done = step_from(p, {});
    while (p.restored) [[unlikely]] {
      restore_program(p);
      done = step_from(p, p.round);
    }
    return done;
  }

  Step step_from(Program& p, const Program::Round& round) {
    if (p.is_one_task()) {
      Task& t = p.tasks.front();
      run_task(t);
      if (t.outcome == Outcome::kFinished) return Step::kFinished;
      if (p.restored) return Step::kGoesOn;
      if (t.outcome == Outcome::kYielded) return poll(t);
      if (t.outcome == Outcome::kTrapped) return Step::kStopped;
    }
    return step_tasks(p, round);
  }

  // Each task of a program gets a turn, the round's next first. False: one trapped, or the program goes back.
  bool take_turns(Program& p, Program::Round& seen) {
    size_t turn = launch_.checks ? launch_.checks->first_turn(p.tasks.size()) : 0;
    for (; seen.next < p.tasks.size(); ++seen.next) {
      Task& t = p.tasks[(seen.next + turn) % p.tasks.size()];
      if (t.outcome == Outcome::kFinished) continue;
      if (t.frozen) [[unlikely]] {
        seen.all_done = false;
        continue;
      }
      run_task(t);
      if (t.outcome == Outcome::kTrapped || p.restored) return false;
      seen.any_yield |= t.outcome == Outcome::kYielded;
      seen.any_progress |= t.progressed;
      seen.all_done &= t.outcome == Outcome::kFinished;
    }
    return true;
  }

  // Several tasks, of one program or of those of a cluster: all get a turn; blocked ones look again after
  // others ran.
  Step step_tasks(Program& p, const Program::Round& round) {
    const size_t blocks = p.led ? p.led->blocks.size() : 1;
    Program::Round& seen = p.round;
    for (seen = round;; seen = {}) {
      const size_t first = launch_.checks && blocks > 1 ? launch_.checks->first_turn(blocks) : 0;
      for (size_t i = 0; i < blocks; ++i) {
        if (i > 0) seen.next = 0;
        if (!take_turns(p.led ? *p.led->blocks[(first + i) % blocks] : p, seen)) return Step::kStopped;
      }
      if (seen.all_done) return Step::kFinished;
      if (launch_.stops(p.number)) return Step::kStopped;
      if (seen.any_yield) return poll(p.tasks.front());
      if (!seen.any_progress && !thaw(p)) return deadlock(p);
    }
  }

  // If nothing else can go on, what a debugger froze does. False: nothing is frozen.
  bool thaw(Program& p) {
    bool any = false;
    for (Task& t : p.tasks) any |= std::exchange(t.frozen, false);
    if (any) launch_.stopper->on_thaw();
    return any;
  }

  Step poll(Task& t) {
    if (!t.should_stop()) return Step::kSpinning;
    t.stopped(*t.pc);
    return Step::kStopped;
  }

  Step deadlock(Program& p) {
    std::vector<std::string> where;
    const Instr* first = nullptr;
    Task* task = nullptr;
    auto look = [&](Program& block) {
      for (Task& t : block.tasks) {
        if (t.outcome != Outcome::kBlocked || !t.pc->op) continue;
        if (!first) first = t.pc, task = &t;
        const std::string who = p.led ? "block " + std::to_string(block.rank) + " of the cluster: " : "";
        where.push_back(who + std::string(t.pc->op->name) + " waits at " +
                        location_of(*t.pc->op, *code_.module).str());
      }
    };
    look(p);
    if (p.led)
      for (auto& other : p.led->others) look(*other);
    task->trap(*first, exec::TrapKind::kDeadlock,
               p.led ? "every task of the cluster's programs waits, and none can wake another"
                     : "every task of the program waits, and none can wake another");
    std::lock_guard lock(launch_.mutex);
    if (launch_.trap && launch_.trap_number == task->program->number) launch_.trap->notes = std::move(where);
    return Step::kStopped;
  }

  bool is_deadlocked() {
    std::lock_guard lock(launch_.mutex);
    return launch_.deadlocked;
  }

  void report_deadlock() {
    if (active_.empty()) return;
    Task& t = (*std::min_element(active_.begin(), active_.end(), [](const auto& a, const auto& b) {
                return a->linear < b->linear;
              }))->tasks.front();
    // Whoever was stopped within its loop's body names the loop's begin, as the others do.
    t.trap(t.spun_at ? *t.spun_at : *t.pc, exec::TrapKind::kDeadlock,
           "the programs that are left wait for each other, and none has changed memory for " +
               seconds_text(machine::kLivelockSeconds));
    std::lock_guard lock(launch_.mutex);
    if (launch_.trap) launch_.trap->iterations.clear();  // they spun as often as there was time
  }

  Launch& launch_;
  const Code& code_;
  Worker worker_;
  int64_t linear_ = 0;  // the program that was started last, and its id
  int64_t x_ = 0, y_ = 0, z_ = 0;
};

}  // namespace

void run_grid(Launch& launch, int workers) {
  launch.run(workers, [&](int index) { GridWorker(launch, index).run_all(); });
}

}  // namespace triton_runner::tile
