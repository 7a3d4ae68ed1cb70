// Each worker takes programs from a shared counter and runs one at a time to its end. A program that spins
// (waits for another one) is set aside: its worker first goes round those it has, and starts a new program
// only when none of them gets on. So kernels that wait for each other finish on one thread, and memory stays
// at one program a worker otherwise. When a program traps, those above it leave and those below run on, so
// that the trap that stays is the one that comes first in the grid's order, on any number of workers. The
// blocks of a cluster, where they are programs, are taken together and have turns within what is one program
// to the rest of this file: the first of them, which leads.
#include "schedule.h"

#include <algorithm>
#include <unordered_map>

#include <triton_runner/exec/pool.h>
#include <triton_runner/num/dot.h>

#include "check/check.h"
#include "machine/tensor_desc.h"
#include "trace/location.h"

namespace triton_runner::tile {
namespace {

constexpr int kPatience = 64;            // rounds of spinning before another program is started
constexpr size_t kShuffledPrograms = 8;  // under way at once in a shuffled launch, more while they spin

// What the tiles of one worker may occupy.
uint64_t tile_limit(const Launch& launch) {
  int64_t asked = launch.options->max_tile_bytes;
  uint64_t all = asked > 0 ? static_cast<uint64_t>(asked) : exec::usable_memory() / 4 * 3;
  return all / static_cast<uint64_t>(std::max(launch.workers, 1));
}

enum class Step { kFinished, kSpinning, kStopped };

class GridWorker {
 public:
  // `deadlocked`, of all workers, under the launch's mutex: the programs that are left wait for each other, and each worker reports its
  // first one.
  GridWorker(Launch& launch, bool& deadlocked, int index)
      : launch_(launch),
        deadlocked_(deadlocked),
        waiter_(launch.progress, index),
        code_(*launch.code),
        worker_(*launch.memory) {
    worker_.launch = &launch;
    worker_.index = index;
    thread_local BufferPool pool;
    pool.set_limit(tile_limit(launch));
    worker_.pool = &pool;
  }

  ~GridWorker() {
    num::release_bf16_unit();
    for (auto& p : idle_) destroy(*p);
    for (auto& p : active_) destroy(*p);
  }

  // Of a deadlock that several workers have programs in, the trap of the lowest program stays.
  void run() {
    if (launch_.checks && launch_.checks->shuffled())
      run_shuffled(*launch_.checks);
    else
      run_in_order();
    if (is_deadlocked()) report_deadlock();
  }

  void run_in_order() {
    int rounds = 0;
    while (!launch_.stops(0)) {
      if (active_.empty() || (rounds >= kPatience && more())) {
        rounds = 0;
        if (!start()) {
          if (active_.empty()) return;
          continue;
        }
        run_straight();
        continue;
      }
      for (size_t i = 0; i < active_.size() && rounds >= 0;) {
        size_t before = active_.size();
        advance(i);
        if (active_.size() < before)
          rounds = 0;
        else
          ++i;
      }
      if (++rounds <= kPatience || more())
        waiter_.busy();
      else if (idle_round())
        return;
    }
  }

  // Each turn goes to any of the programs that are under way. Turns end at pseudo-random places too: a program
  // of which many end so, one after the other, does more than spin.
  void run_shuffled(Checks& checks) {
    size_t spins = 0, most = kShuffledPrograms;
    std::unordered_map<const Program*, int> preempted;  // turns since the program last spun
    while (!launch_.stops(0)) {
      const bool stuck = spins > kPatience * (active_.size() + 1);
      if (stuck && more()) ++most, spins = 0;
      while (active_.size() < most && more()) start();
      if (active_.empty()) return;
      const size_t before = active_.size(), k = checks.random().below(before);
      int& turns = preempted[active_[k].get()];
      advance(k);
      const bool was_preempted = checks.preempted();
      turns = was_preempted ? turns + 1 : 0;
      if (active_.size() < before || turns > kPatience) {
        spins = 0;
        waiter_.busy();
        launch_.progress.changed();
      } else if (was_preempted) {
        continue;
      } else if (++spins > kPatience * (active_.size() + 1) && !more() && idle_round()) {
        return;
      }
    }
  }

 private:
  // Whether there are programs that may start. In the grid's order none does after one that may not.
  bool more() const {
    const bool own = worker_.taken < worker_.taken_end;
    const int64_t next = own ? worker_.taken : launch_.next_program.load(std::memory_order_relaxed);
    const bool in_order = !launch_.checks || !launch_.checks->shuffled();
    return (own || next < launch_.num_programs) && !launch_.stops(in_order ? next : 0);
  }

  // The next program of the grid, ready to run as the last of active_; false if there is none, or if it may
  // not run.
  bool start() {
    if (!more()) return false;
    std::unique_ptr<Program> p;
    if (idle_.empty()) {
      if (!(p = make_program())) return false;
    } else {
      p = std::move(idle_.back());
      idle_.pop_back();
    }
    bool ready = begin(*p);
    (ready ? active_ : idle_).push_back(std::move(p));
    return ready;
  }

  // Makes it the next program of the grid; false if there is none, or the launch is to stop.
  bool begin(Program& p) {
    const int64_t linear = worker_.take();
    if (linear < 0) return false;
    if (p.led) [[unlikely]]
      return begin_cluster(*p.led, linear);
    p.linear = p.number = linear;
    p.id = id_of(linear);
    return begin_block(p);
  }

  bool begin_block(Program& p) {
    p.was_refused = false;
    if (p.tasks.size() > 1) p.tasks.resize(1);
    Task& t = p.tasks[0];
    t.pc = code_.entry;
    t.outcome = Outcome::kRunning;
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
    const auto &grid = launch_.options->grid, &dims = code_.cluster;
    cluster.arrivals.assign(cluster.blocks.size(), 0);
    for (Program* p : cluster.blocks) {
      int64_t at = number, rank = p->rank;
      for (size_t d = 0; d < 3; ++d) {
        p->id[d] = at % (grid[d] / dims[d]) * dims[d] + rank % dims[d];
        at /= grid[d] / dims[d], rank /= dims[d];
      }
      p->linear = p->id[0] + grid[0] * (p->id[1] + grid[1] * p->id[2]);
      p->number = number;
      if (!begin_block(*p)) return false;
    }
    return true;
  }

  // The id of program `linear`: mostly one of the next after the last, so that nothing is divided. It is
  // worked out in registers: reading all of an array of which one element was just written waits for that
  // write, which stands behind all that the program before stored.
  std::array<int64_t, 3> id_of(int64_t linear) {
    const auto& grid = launch_.options->grid;
    int64_t ahead = linear - linear_, x = x_, y = y_, z = z_;
    if (ahead < 0 || ahead > 8) {
      x = linear % grid[0], y = linear / grid[0] % grid[1], z = linear / (grid[0] * grid[1]);
    } else {
      for (x += ahead; x >= grid[0]; x -= grid[0])
        if (++y == grid[1]) y = 0, ++z;
    }
    linear_ = linear, x_ = x, y_ = y, z_ = z;
    return {x, y, z};
  }

  // With the blocks that it leads, if it is the first of a cluster.
  std::unique_ptr<Program> make_program() {
    auto p = make_block();
    if (!p || code_.cluster_size() == 1) return p;
    p->led = std::make_unique<Cluster>();
    p->led->blocks.push_back(p.get());
    for (int rank = 1; rank < code_.cluster_size(); ++rank) {
      auto other = make_block();
      if (!other) return destroy(*p), nullptr;
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
      destroy(*p);
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
        t.set_uniform(slot,
                      static_cast<int64_t>(num::from_double(std::bit_cast<double>(a.bits), ty.element)));
        break;
      case exec::ParamKind::kTensorDesc:
        set_tensor_desc(t, slot, *a.descriptor);
        break;
    }
  }

  void destroy(Program& p) {
    for (Value& v : p.values)
      if (v.buffer) worker_.pool->release(v.buffer);
    if (p.shared) worker_.pool->release(p.shared);
    if (p.led)
      for (auto& other : p.led->others) destroy(*other);
  }

  // Runs active_[i] until it ends, stops or spins.
  void advance(size_t i) {
    const Step s = step(*active_[i]);
    if (s == Step::kFinished) {
      end(*active_[i]);
      retire(i);
    } else if (s == Step::kStopped) {
      discard(i);
    }
  }

  // Runs the last of active_, and the next programs of the grid in its place, until one stops or spins or none
  // is left.
  void run_straight() {
    Program& p = *active_.back();
    Step s;
    while ((s = step(p)) == Step::kFinished) {
      end(p);
      if (begin(p)) continue;
      return retire(active_.size() - 1);
    }
    if (s == Step::kStopped) discard(active_.size() - 1);
  }

  void end(Program& p) {
    if (p.state) p.state->end();
    for (Slot s : code_.left_over) {
      Value& v = p.values[s];
      if (v.buffer) p.tasks[0].drop(v);
      v.form = Form::kNone;
    }
    if (p.led) [[unlikely]]
      for (auto& other : p.led->others) end(*other);
    launch_.progress.ended();
  }

  void retire(size_t i) {
    idle_.push_back(std::move(active_[i]));
    active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
  }

  // A program that stopped on its way: nothing of it can be used again.
  void discard(size_t i) {
    if (launch_.stops(0)) return;  // it may still be reported
    destroy(*active_[i]);
    active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
  }

  Step step(Program& p) {
    if (p.led) [[unlikely]]
      return step_tasks(p);
    if (p.tasks.size() == 1) {
      Task& t = p.tasks[0];
      run_task(t);
      if (t.outcome == Outcome::kFinished) return Step::kFinished;
      if (t.outcome == Outcome::kYielded) return poll(t);
      if (t.outcome == Outcome::kTrapped) return Step::kStopped;
    }
    return step_tasks(p);
  }

  // What the tasks did in their turns.
  struct Turns {
    bool all_done = true, any_yield = false, any_progress = false;
  };

  // Each task of a program gets a turn. False: one trapped.
  bool take_turns(Program& p, Turns& seen) {
    size_t turn = launch_.checks ? launch_.checks->first_turn(p.tasks.size()) : 0;
    for (size_t i = 0; i < p.tasks.size(); ++i) {
      Task& t = p.tasks[(i + turn) % p.tasks.size()];
      if (t.outcome == Outcome::kFinished) continue;
      run_task(t);
      if (t.outcome == Outcome::kTrapped) return false;
      seen.any_yield |= t.outcome == Outcome::kYielded;
      seen.any_progress |= t.progressed;
      seen.all_done &= t.outcome == Outcome::kFinished;
    }
    return true;
  }

  // Several tasks, of one program or of those of a cluster: all get a turn; blocked ones look again after
  // others ran.
  Step step_tasks(Program& p) {
    const size_t blocks = p.led ? p.led->blocks.size() : 1;
    for (;;) {
      Turns seen;
      const size_t first = launch_.checks && blocks > 1 ? launch_.checks->first_turn(blocks) : 0;
      for (size_t i = 0; i < blocks; ++i)
        if (!take_turns(p.led ? *p.led->blocks[(first + i) % blocks] : p, seen)) return Step::kStopped;
      if (seen.all_done) return Step::kFinished;
      if (launch_.stops(p.number)) return Step::kStopped;
      if (seen.any_yield) return poll(p.tasks[0]);
      if (!seen.any_progress) return deadlock(p);
    }
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
    return deadlocked_;
  }

  // Everything here only spins and there is nothing to start: whether this is so everywhere, and stays so. Where
  // a program has trapped, those below it may wait for what it, or one above it, was to do: its trap stays.
  bool idle_round() {
    const bool trapped = launch_.stop_from.load(std::memory_order_relaxed) != INT64_MAX;
    if (!waiter_.nobody_gets_on(trapped)) return false;
    std::lock_guard lock(launch_.mutex);
    deadlocked_ |= !launch_.trap;
    launch_.stop_from.store(0, std::memory_order_relaxed);
    return true;
  }

  void report_deadlock() {
    if (active_.empty()) return;
    Task& t = (*std::min_element(active_.begin(), active_.end(), [](const auto& a, const auto& b) {
                return a->linear < b->linear;
              }))->tasks.front();
    // Whoever was stopped within its loop's body names the loop's begin, as the others do.
    t.trap(t.spun_at ? *t.spun_at : *t.pc, exec::TrapKind::kDeadlock,
           "the programs that are left wait for each other, and none has changed memory for " +
               seconds_text(exec::kLivelockSeconds));
    std::lock_guard lock(launch_.mutex);
    if (launch_.trap) launch_.trap->iterations.clear();  // they spun as often as there was time
  }

  Launch& launch_;
  bool& deadlocked_;
  exec::Waiter waiter_;
  const Code& code_;
  Worker worker_;
  std::vector<std::unique_ptr<Program>> active_, idle_;
  int64_t linear_ = 0;  // the program that was started last, and its id
  int64_t x_ = 0, y_ = 0, z_ = 0;
};

}  // namespace

// Programs are taken from the launch several at a time: an atomic addition waits until all stores before it
// are done.
int64_t Worker::take() {
  if (taken == taken_end) {
    const int64_t some = std::clamp<int64_t>(launch->num_programs / (16 * launch->workers), 1, 64);
    taken = launch->next_program.fetch_add(some, std::memory_order_relaxed);
    taken_end = std::max(taken, std::min(taken + some, launch->num_programs));
    if (taken == taken_end) return -1;
  }
  const int64_t place = taken++;
  return launch->checks ? launch->checks->program_number(place) : place;
}

void run_grid(Launch& launch, int workers) {
  launch.workers = workers;
  launch.progress.begin(workers);
  bool deadlocked = false;
  exec::run_workers(workers, [&](int index) { GridWorker(launch, deadlocked, index).run(); });
}

}  // namespace triton_runner::tile
