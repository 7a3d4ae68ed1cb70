// Runs a grid: the run loop, and the schedulers of a block's paths and of a cluster's blocks. Clusters are
// units of the grid (machine/grid_worker.h).
//
// Paths that can run do so before an asynchronous operation completes; when nothing can run and nothing is
// pending, the launch ends with a report of where every path waits. In a shuffled launch each warp is a path
// of its own, and a turn of some instructions goes to any warp that is ready.
#include "launch/run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <triton_runner/machine/grid_worker.h>
#include <triton_runner/num/by_size.h>
#include <triton_runner/num/types.h>

#include "async/mbarrier.h"
#include "check/check.h"
#include "check/count.h"
#include "launch/stop_machine.h"
#include "state/divergence.h"
#include "state/grid.h"
#include "state/turns.h"

namespace triton_runner::simt {
namespace {

using machine::Step;

constexpr uint32_t kTimeouts = 64;      // of waits without anything else that happens
constexpr uint64_t kTurn = 16;          // instructions of a turn of a shuffled launch, on average
constexpr uint64_t kSpinsOfFuel = 512;  // so many accesses that a spinning loop makes, in that time: it spins

// A guarded instruction runs under the guard and the path's mask; not at all where no thread is left.
void run_guarded(Exec& x, const Instr& in, const Tables& tables) {
  const int8_t* own = x.mask;
  int8_t* mask = x.worker->guard_mask.data();
  switch (tables.guard(x.reg<int8_t>(in.guard), in.guard_flip, own, mask, x.count)) {
    case Guard::kNone:
      return;
    case Guard::kAll:
      break;
    case Guard::kSome:
      x.mask = mask;
      break;
  }
  in.run(x, in);
  x.mask = own;
}

// kTurns: at most `turn` instructions.
template <bool kTurns>
void run_path(Exec& x, const Tables& tables, uint64_t turn) {
  while (x.pc < x.limit) {
    if (kTurns && turn-- == 0) return;
    const Instr& in = *x.pc++;
    if (in.guard == kNoRegister)
      in.run(x, in);
    else
      run_guarded(x, in, tables);
  }
}

// With a look at what each instruction does.
void run_path_checked(Exec& x, const Tables& tables, Checks& checks, uint64_t turn) {
  std::vector<int8_t>& on = x.worker->checked_mask;
  while (x.pc < x.limit && turn-- > 0) {
    const Instr& in = *x.pc++;
    const int8_t* own = x.mask;
    if (in.guard != kNoRegister) {
      if (!checks.guarded(x, in)) continue;
      int8_t* mask = x.worker->guard_mask.data();
      const Guard guard = tables.guard(x.reg<int8_t>(in.guard), in.guard_flip, own, mask, x.count);
      if (guard == Guard::kNone) {
        checks.ran(1);  // as in a run of native code
        continue;
      }
      if (guard == Guard::kSome) x.mask = mask;
    }
    // Handlers may give the mask's threads to other paths: the checks see those that came.
    const bool is_masked = x.mask;
    if (is_masked) on.assign(x.mask, x.mask + x.count);
    checks.before(x, in);
    in.run(x, in);
    x.mask = is_masked ? on.data() : nullptr;
    checks.after(x, in);
    checks.ran(std::exchange(x.beyond, 0));
    x.mask = own;
  }
}

enum class Outcome { kFinished, kBlocked, kSpinning, kStopped, kGoesOn };

Step step_of(Outcome o) {
  return o == Outcome::kFinished   ? Step::kFinished
         : o == Outcome::kSpinning ? Step::kSpinning
         : o == Outcome::kStopped  ? Step::kStopped
                                   : Step::kGoesOn;
}

bool is_ready(const Cta& cta, const Path& s) {
  if (s.frozen) [[unlikely]]
    return false;
  return s.state == PathState::kReady || (s.state == PathState::kPoll && s.seen_event != cta.cluster->events);
}

class GridWorker : public machine::GridWorker<GridWorker, Cluster> {
 public:
  static constexpr int kPatience = 1;  // a step that spins is long: kSpinsOfFuel
  // A loop that looks like spinning may be one that gets on: without a trap it is waited for (the launch may have a
  // time limit).
  static constexpr bool kSpinsForSure = false;

  GridWorker(Launch& launch, int index)
      : machine::GridWorker<GridWorker, Cluster>(launch, index),
        launch_(launch),
        code_(*launch.code),
        tables_(simd_tables(num::current_isa())),
        worker_(*launch.memory) {
    worker_.launch = &launch;
    worker_.clusters = &taker_;
    worker_.guard_mask.resize(code_.threads);
    if (launch.checked) checks_ = std::make_unique<Checks>(launch);
    worker_.checks = checks_.get();
    if (auto* counter = launch.options->counter) counting_ = std::make_unique<Counting>(launch, *counter);
    worker_.counting = counting_.get();
    worker_.each_access = checks_ || counting_;
    for (const Constant& c : code_.constants)
      if (c.kind == Constant::kBlock) block_numbers_.push_back(&c);
  }
  ~GridWorker() { give_steps(); }

  Step step(Cluster& cluster) { return step_of(run_cluster(cluster)); }
  Step turn(Cluster& cluster) { return step_of(run_turn(cluster, launch_.shuffle->random)); }
  void end(Cluster& cluster) {
    if (counting_) counting_->end(cluster);
  }
  void discard(Cluster&) {}

  std::unique_ptr<Cluster> make() {
    auto cluster = std::make_unique<Cluster>();
    cluster->worker = &worker_;
    const uint32_t n = code_.cluster[0] * code_.cluster[1] * code_.cluster[2];
    for (uint32_t rank = 0; rank < n; ++rank) {
      auto cta = std::make_unique<Cta>();
      cta->worker = &worker_;
      cta->cluster = cluster.get();
      cta->code = &code_;
      cta->rank = rank;
      cta->shared_base = rank << kRankShift;
      // A GPU gives shared memory in pieces, and ptxas makes wide loads of narrow ones that read to the end of one.
      constexpr uint32_t kWidest = 16;
      cta->shared_bytes = code_.level == "cubin" ? (launch_.shared_bytes + kWidest - 1) / kWidest * kWidest
                                                 : launch_.shared_bytes;
      cta->memory = std::make_unique<CtaMemory>(code_.register_bytes, cta->shared_bytes,
                                                uint64_t{code_.local_bytes} * code_.threads);
      cta->regs = cta->memory->regs();
      cta->shared = cta->memory->shared();
      cta->local = cta->memory->local();
      cta->alive.resize(code_.threads);
      cta->cluster_tickets.resize(code_.threads);
      fill_constants(*cta);
      cluster->ctas.push_back(std::move(cta));
    }
    return cluster;
  }

  bool begin(Cluster& cluster, int64_t number) {
    if (launch_.stops(number)) return false;
    cluster.number = number;
    cluster.async.begin(launch_.options->timing, static_cast<uint64_t>(number));
    if (checks_) checks_->begin(cluster);
    if (counting_) counting_->begin(cluster);
    cluster.barrier.arrived = 0;
    cluster.timeouts = 0;
    for (auto& cta : cluster.ctas) {
      cta->id = block_of(launch_, number, cta->rank);
      cta->was_refused = false;
      std::fill_n(cta->shared, std::min(code_.reserved_shared, cta->shared_bytes), std::byte{0});
      if (code_.begin_reserved) code_.begin_reserved(cta->rank, cta->shared);
      for (const Constant* c : block_numbers_) fill_block_number(*cta, *c);
      begin_paths(*cta);
      for (auto& part : cta->parts)
        if (part) part->begin(*cta);
    }
    return true;
  }

 private:
  void give_steps() {
    launch_.steps.fetch_add(worker_.steps, std::memory_order_relaxed);
    worker_.steps = 0;
  }

  [[gnu::noinline]] void fill_block_number(Cta& cta, const Constant& c) {
    num::by_size(c.bytes, [&](auto zero) {
      using T = decltype(zero);
      std::fill_n(reinterpret_cast<T*>(cta.regs + c.offset), code_.threads, static_cast<T>(cta.id[c.low]));
    });
  }

  void fill_constants(Cta& cta) {
    for (const Constant& c : code_.constants)
      for (uint32_t t = 0; t < code_.threads; ++t) {
        uint64_t value[2] = {c.low, c.high};
        if (c.kind == Constant::kThread) value[0] = code_.thread_values[c.low][t];
        if (c.kind == Constant::kShared) value[0] = cta.shared_base + c.low;
        if (c.kind == Constant::kParam) std::memcpy(value, launch_.params.data() + c.low, c.bytes);
        std::copy_n(reinterpret_cast<const std::byte*>(value), c.bytes,
                    cta.regs + c.offset + uint64_t{c.bytes} * t);
      }
  }

  static bool may_run(const Cta& cta, const Path& s) {
    return cta.code->warp_turns ? s.has_turn : is_ready(cta, s);
  }

  // The path to run: of those that are ready (in a shuffled launch: of those of one warp, whose first thread is
  // `warp`), the one that gave up the fewest turns, with the lowest pc.
  static Path* choose(Cta& cta, uint32_t warp = kNoRegister) {
    Path* best = nullptr;
    if (cta.code->warp_turns) give_turns(cta, is_ready);
    for (auto& s : cta.paths) {
      if (!may_run(cta, *s)) continue;
      if (warp != kNoRegister && s->first != warp) continue;
      if (!best || s->penalty < best->penalty || (s->penalty == best->penalty && s->pc < best->pc))
        best = s.get();
    }
    return best;
  }

  // Takes in the paths that are ready at the same pc; gives the next higher pc at which one is. Paths of one warp whose
  // turns are the hardware's become one where one begins its turn and the other has given its turn away.
  const Instr* gather(Cta& cta, Path& s) const {
    const Instr* limit = code_.instrs.data() + code_.instrs.size();
    const bool runs = std::exchange(s.runs, true);
    for (size_t i = 0; i < cta.paths.size();) {
      Path& other = *cta.paths[i];
      const bool in_warp = code_.warp_turns && &other != &s && share_warp(s, other, code_.width);
      if (in_warp) {
        other.runs = false;
        if (!runs && other.pc == s.pc && other.state == PathState::kYield && !other.frozen) {
          merge(cta, s, other);
          s.since = 0;
          continue;
        }
      } else if (&other != &s && is_ready(cta, other) && may_merge(cta, s, other)) {
        if (other.pc == s.pc) {
          merge(cta, s, other);
          continue;
        }
        if (other.pc > s.pc) limit = std::min(limit, other.pc);
      }
      ++i;
    }
    return limit;
  }

  Outcome run_cta(Cta& cta) {
    while (!cta.paths.empty()) {
      Path* s = worker_.resume ? cta.paths[worker_.resume->path].get()
                : cta.paths.size() == 1 && is_ready(cta, *cta.paths[0]) ? cta.paths[0].get()
                                                                        : choose(cta);
      if (!s) return Outcome::kBlocked;
      const Outcome o = run_some(cta, *s, ~uint64_t{0});
      if (o != Outcome::kGoesOn || worker_.resume) return o;
    }
    return Outcome::kFinished;
  }

  // Runs a path until the scheduler has to look, in a shuffled launch at most `turn` instructions of it.
  Outcome run_some(Cta& cta, Path& s, uint64_t turn) {
    Exec x;
    x.fuel = kFuel;
    x.spins_before = worker_.global_spins;
    if (worker_.resume) [[unlikely]] {
      x.limit = worker_.resume->limit;
      x.fuel = worker_.resume->fuel;
      x.spins_before -= worker_.resume->spins;
      worker_.resume.reset();
    } else {
      x.limit = gather(cta, s);
    }
    if (s.state == PathState::kYield) s.since = 0;
    s.state = PathState::kReady;
    x.regs = cta.regs;
    x.first = s.first;
    x.count = s.count;
    x.mask = s.full ? nullptr : s.mask.data();
    x.pc = s.pc;
    x.path = &s;
    x.cta = &cta;
    x.worker = &worker_;
    x.whole_runs = !launch_.shuffle && (!checks_ || checks_->asks_accesses_alone(x));
    if (checks_) [[unlikely]]
      run_path_checked(x, tables_, *checks_, turn);
    else if (launch_.shuffle) [[unlikely]]
      run_path<true>(x, tables_, turn);
    else
      run_path<false>(x, tables_, turn);
    if (worker_.resume) [[unlikely]]
      return Outcome::kGoesOn;
    if (x.path) x.path->pc = x.pc;
    // Loops with several paths leave at every turn: their fuel is the block's.
    cta.fuel -= kFuel - x.fuel;
    cta.spins += worker_.global_spins - x.spins_before;
    if (launch_.stops(*cta.cluster)) return Outcome::kStopped;
    if (cta.fuel > 0) return Outcome::kGoesOn;
    cta.fuel = kFuel;
    // Each path (in a shuffled launch: each warp) jumps back for itself, and often one of them asks for all.
    const uint64_t jumps =
        launch_.shuffle ? code_.threads / code_.width : std::max<size_t>(cta.paths.size(), 1);
    const bool spins_only = cta.spins * jumps >= kSpinsOfFuel;
    cta.spins = 0;
    worker_.only_spun = spins_only ? worker_.only_spun + 1 : 0;
    if (!spins_only) launch_.progress.changed();
    if (should_stop(x)) return Outcome::kStopped;
    if (x.path) ++x.path->penalty;
    // Others may be ready at each look, yet wait for the same: after some looks they had their turns.
    const bool others_first =
        !launch_.shuffle && worker_.only_spun <= cta.paths.size() && others_ready(cta, x.path);
    if (!spins_only || others_first) return Outcome::kGoesOn;
    worker_.only_spun = 0;
    return Outcome::kSpinning;
  }

  // A turn of a shuffled launch: of any path of the cluster that is ready.
  Outcome run_turn(Cluster& cluster, exec::Random& random) {
    size_t ready = 0;
    bool finished = true;
    for (auto& cta : cluster.ctas) {
      finished = finished && cta->paths.empty();
      if (code_.warp_turns) give_turns(*cta, is_ready);
      for (auto& s : cta->paths) ready += may_run(*cta, *s);
    }
    if (ready == 0) return go_on(cluster, finished);
    size_t k = random.below(ready);
    for (auto& cta : cluster.ctas)
      for (auto& s : cta->paths) {
        if (!may_run(*cta, *s) || k-- != 0) continue;
        const Outcome o = run_some(*cta, *choose(*cta, s->first), 1 + random.below(2 * kTurn - 1));
        if (o == Outcome::kSpinning) cluster.complete_oldest();
        return launch_.stops(cluster) ? Outcome::kStopped : o;
      }
    return Outcome::kGoesOn;
  }

  static bool others_ready(const Cta& cta, const Path* s) {
    return std::any_of(cta.paths.begin(), cta.paths.end(), [&](const auto& other) {
      return other.get() != s && is_ready(cta, *other) && s && other->penalty < s->penalty;
    });
  }

  bool should_stop(Exec& x) {
    const exec::LaunchOptions& o = *launch_.options;
    const Operands& in = *std::min(x.pc, code_.instrs.data() + code_.instrs.size() - 1);
    if (launch_.is_interrupted()) {
      x.trap(in, exec::TrapKind::kInterrupted, "interrupted");
    } else if (launch_.is_late()) {
      x.trap(in, exec::TrapKind::kTimeout,
             "the launch took longer than its limit of " + seconds(o.timeout_seconds));
    } else if (o.max_steps > 0 &&
               launch_.steps.load(std::memory_order_relaxed) + worker_.steps > o.max_steps) {
      x.trap(in, exec::TrapKind::kTimeout,
             "the launch executed more than its limit of " + std::to_string(o.max_steps) + " instructions");
    }
    if (o.max_steps > 0) give_steps();
    return launch_.stops(*x.cta->cluster);
  }

  static std::string seconds(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g seconds", value);
    return text;
  }

  Outcome run_cluster(Cluster& cluster) {
    for (;;) {
      Cluster::Round& round = cluster.round;
      round = {.events = cluster.events};
      if (!run_round(cluster)) return Outcome::kStopped;
      if (round.finished || (round.events == cluster.events && !round.spinning)) {
        const Outcome o = go_on(cluster, round.finished);
        if (o == Outcome::kGoesOn) continue;
        return o;
      }
      if (round.spinning) {
        cluster.complete_oldest();
        return launch_.stops(cluster) ? Outcome::kStopped : Outcome::kSpinning;
      }
    }
  }

  // Each block has a turn. False: the launch stops.
  bool run_round(Cluster& cluster) {
    Cluster::Round& round = cluster.round;
    while (round.next < cluster.ctas.size()) {
      Cta& cta = *cluster.ctas[round.next];
      if (!cta.paths.empty()) {
        const Outcome o = run_cta(cta);
        if (o == Outcome::kStopped) return false;
        if (worker_.resume) continue;  // with the block that stood then
        round.finished = round.finished && o == Outcome::kFinished;
        round.spinning = round.spinning || o == Outcome::kSpinning;
      }
      ++round.next;
    }
    return true;
  }

  // Nothing of the cluster can run: what is pending completes, or waits end. kGoesOn: something can run now.
  Outcome go_on(Cluster& cluster, bool finished) {
    if (cluster.complete_oldest()) return launch_.stops(cluster) ? Outcome::kStopped : Outcome::kGoesOn;
    if (finished) return Outcome::kFinished;
    if (thaw(cluster)) return Outcome::kGoesOn;
    if (time_out(cluster)) return Outcome::kGoesOn;
    report_deadlock(cluster);
    return Outcome::kStopped;
  }

  // If nothing else can go on, what a debugger froze does. False: nothing is frozen.
  bool thaw(Cluster& cluster) {
    bool any = false;
    for (auto& cta : cluster.ctas)
      for (auto& s : cta->paths) any |= std::exchange(s->frozen, false);
    if (any) launch_.stopper->on_thaw();
    return any;
  }

  // Nobody gets on: waits that may give up do, a number of times. False: none is left.
  static bool time_out(Cluster& cluster) {
    if (cluster.timeouts_since != cluster.events) cluster.timeouts = 0;
    cluster.timeouts_since = cluster.events;
    if (cluster.timeouts++ == kTimeouts) return false;
    bool any = false;
    for (auto& cta : cluster.ctas)
      for (auto& s : cta->paths) {
        if (!waits_at_mbarrier(*s)) continue;
        s->timed_out = any = true;
        s->state = PathState::kReady;
      }
    return any;
  }

  void report_deadlock(Cluster& cluster);

  Launch& launch_;
  const Code& code_;
  const Tables& tables_;
  Worker worker_;
  std::vector<const Constant*> block_numbers_;
  std::unique_ptr<Checks> checks_;
  std::unique_ptr<Counting> counting_;
};

void GridWorker::report_deadlock(Cluster& cluster) {
  Exec x;
  const Operands* where = nullptr;
  std::vector<std::string> notes;
  for (auto& cta : cluster.ctas) {
    for (auto& s : cta->paths) {
      std::string why = what_it_does(*cta, *s);
      if (why.empty()) why = "waits for an event that no remaining thread can signal";
      std::string line =
          cluster.ctas.size() > 1 ? "block " + std::to_string(cta->rank) + " of the cluster, " : "";
      const Source* source = s->pc->source;
      line += threads_of(*s, code_);
      if (source) line += " at " + instruction_location(code_, *source);
      notes.push_back(line + " " + why);
      if (!where) {
        where = s->pc;
        x.cta = cta.get();
        x.worker = &worker_;
        x.path = s.get();
        x.first = s->first;
        x.count = s->count;
      }
    }
  }
  if (!where) return;
  x.trap(*where, exec::TrapKind::kDeadlock, "every thread of the block waits", kNoRegister, 0, 0,
         std::move(notes));
}

}  // namespace

void run_grid(Launch& launch, int workers) {
  launch.run(workers, [&](int index) { GridWorker(launch, index).run(); });
}

}  // namespace triton_runner::simt
