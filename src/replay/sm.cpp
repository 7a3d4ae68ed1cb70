// Decides which warp issues when, and accounts for the time in which none does. What an instruction does when
// it issues is in execute.cpp.
#include "sm.h"

#include <algorithm>

namespace triton_runner::replay {

constexpr uint32_t kInstructionsOfLine = 8;  // of 16 bytes, in 128

Sm::Sm(const std::vector<Op>& ops, const exec::Trace& trace, const Parameters& chip, const Setup& setup,
       Result& result)
    : ops_(ops), trace_(trace), chip_(chip), setup_(setup), result_(result), memory_(chip, setup) {
  for (const auto& [program, warps] : trace.blocks)
    warps_of_block_ = std::max(warps_of_block_, static_cast<uint32_t>(warps.size()));
  slots_.resize(std::max(1u, setup.resident));
  warps_.resize(slots_.size() * warps_of_block_);
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    warps_[w].slot = w / warps_of_block_, warps_[w].number = w % warps_of_block_;
    warps_[w].part = w % kParts;
    parts_[warps_[w].part].push_back(w);
  }
  code_.assign(ops.size() / kInstructionsOfLine + 1, kNever);
  result.begins.assign(setup.programs.size(), 0);
  result.ends.assign(setup.programs.size(), 0);
  stale_.fill(true);
}

void Sm::run() {
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) launch(slot, 0);
  while (running_ > 0) {
    for (size_t p = 0; p < kParts; ++p)
      if (stale_[p]) best_[p] = pick(p, &best_at_[p]), stale_[p] = false;
    const auto part =
        static_cast<size_t>(std::min_element(best_at_.begin(), best_at_.end()) - best_at_.begin());
    const double at = best_at_[part];
    if (!arrivals_.empty() && arrivals_.top().at <= at) {
      const Arrival arrival = arrivals_.top();
      arrivals_.pop();
      complete(arrival);
      continue;
    }
    if (at == kNever) {
      result_.fault = "warps wait for a barrier at which no other warp of the traced blocks arrives";
      return;
    }
    issue(best_[part], at);
  }
  result_.cycles =
      std::max(result_.ends.empty() ? 0 : *std::max_element(result_.ends.begin(), result_.ends.end()),
               memory_.last_store);
  for (const auto& pipes : pipes_) result_.tensor += pipes[kTensor].busy / kParts;
  result_.issue = static_cast<double>(result_.instructions) / kParts;
  result_.shared = memory_.shared.busy, result_.l2 = memory_.l2.busy, result_.dram = memory_.dram.busy;
  result_.dram_bytes = memory_.dram_bytes;
  result_.l1_sectors = memory_.l1_sectors, result_.l1_hits = memory_.l1_hits;
  result_.l2_sectors = memory_.l2_sectors, result_.l2_hits = memory_.l2_hits;
}

void Sm::launch(uint32_t slot, double at) {
  while (next_ < setup_.programs.size()) {
    const uint32_t block = next_++;
    const auto found = trace_.blocks.find(setup_.programs[block]);
    Slot& to = slots_[slot];
    to = {};
    to.block = block;
    const uint32_t repeat = repeats_[setup_.programs[block]]++;
    const double begin = launcher_.take(at, chip_.block_interval * setup_.active);
    result_.begins[block] = begin;
    for (uint32_t n = 0; found != trace_.blocks.end() && n < found->second.size(); ++n) {
      Warp& warp = warps_[slot * warps_of_block_ + n];
      const uint32_t part = warp.part;
      warp = {};
      warp.slot = slot, warp.number = n, warp.part = part, warp.repeat = repeat;
      warp.trace = &found->second[n];
      warp.is_first = block < slots_.size();
      if (warp.trace->steps.empty()) continue;
      ++to.alive, ++running_;
      enter_step(warp);
      warp.issued = at, warp.after_stall = begin + chip_.block_cycles;
      prepare(warp);
    }
    if (to.alive > 0) return;
    result_.ends[block] = at;
  }
}

void Sm::end_warp(Warp& warp, double at) {
  Slot& slot = slots_[warp.slot];
  warp.ready = kNever, warp.trace = nullptr;
  --running_;
  if (--slot.alive > 0) {
    for (BlockBarrier& b : slot.barriers)  // those that wait for all that live
      if (!b.waiting.empty() && b.arrived >= slot.alive * 32) {
        wake(b.waiting, at + chip_.barrier_latency, Reason::k_barrier);
        b = {};
      }
    return;
  }
  result_.ends[slot.block] = at;
  launch(warp.slot, at);
}

// The warp of a part that issues next, and when.
uint32_t Sm::pick(size_t part, double* at) {
  std::vector<uint32_t>& mine = parts_[part];
  for (;;) {
    double first = kNever;
    for (const uint32_t w : mine) first = std::min(first, warps_[w].ready);
    *at = first;
    if (first == kNever) return 0;
    const double now = *at = std::max(first, free_[part]);
    // The same warp as before, else the youngest.
    uint32_t chosen = ~0u;
    if (warps_[last_[part]].ready <= now && warps_[last_[part]].part == part) chosen = last_[part];
    for (size_t i = mine.size(); chosen == ~0u && i > 0; --i)
      if (warps_[mine[i - 1]].ready <= now) chosen = mine[i - 1];
    Warp& warp = warps_[chosen];
    const Op& op = ops_[warp.instruction];
    if (op.pipe == kNoPipe) return chosen;
    const double room = op.pipe == kLsu                  ? chip_.lsu_queue * op.interval
                        : op.kind == Kind::kGroupProduct ? chip_.gmma_queue * op.interval
                                                         : 0;
    const double open = pipes_[part][op.pipe].free - room;
    if (open <= now) return chosen;
    warp.ready = open, warp.after_pipe = open;
    warp.pipe = op.pipe == kLsu ? Reason::k_lg_throttle : Reason::k_math_pipe_throttle;
  }
}

void Sm::segment(const Warp& warp, Reason reason, double begin, double end) {
  if (end <= begin) return;
  result_.stalls[warp.instruction][static_cast<size_t>(reason)] += end - begin;
  const uint32_t block = slots_[warp.slot].block;
  if (block < setup_.timeline)
    result_.segments.push_back({block, warp.number, reason, warp.instruction, begin, end});
}

// Accounts for what the warp did between its latest instruction and this one.
void Sm::account(Warp& warp, double at) {
  double from = warp.issued;
  for (const auto& [until, reason] : {std::pair{warp.after_stall, warp.stall},
                                      {warp.after_wait, warp.cause},
                                      {warp.after_pipe, warp.pipe},
                                      {at, Reason::k_not_selected}}) {
    segment(warp, reason, from, std::min(until, at));
    from = std::max(from, std::min(until, at));
  }
  segment(warp, Reason::k_selected, at, at + 1);
}

void Sm::issue(uint32_t index, double at) {
  Warp& warp = warps_[index];
  const Op& op = ops_[warp.instruction];
  free_[warp.part] = at + 1, last_[warp.part] = index, stale_[warp.part] = true;
  ++result_.instructions;
  account(warp, at);
  warp.hold = 0, warp.issued = at + 1, warp.after_pipe = 0;
  execute(warp, op, at);
  warp.after_stall = at + op.stall, warp.stall = Reason::k_wait;
  if (!advance(warp, at)) return end_warp(warp, at + op.stall);
  prepare(warp);
}

void Sm::enter_step(Warp& warp) {
  warp.stretch = &trace_.stretches[warp.trace->steps[warp.step].stretch];
  warp.at = 0;
  warp.instruction = warp.stretch->front();
}

// On to the next instruction. False: there is none.
bool Sm::advance(Warp& warp, double at) {
  const uint32_t before = warp.instruction;
  if (++warp.at < warp.stretch->size()) {
    warp.instruction = (*warp.stretch)[warp.at];
  } else {
    warp.event = warp.trace->steps[warp.step].events;
    if (++warp.step >= warp.trace->steps.size()) return false;
    enter_step(warp);
  }
  if (warp.instruction != before + 1 && warp.at == 0 &&
      warp.after_stall < at + ops_[before].stall + chip_.branch_cycles) {
    warp.after_stall = at + ops_[before].stall + chip_.branch_cycles;
    warp.stall = Reason::k_branch_resolving;
  }
  return true;
}

// When the warp's next instruction may issue, as far as its own waits go.
void Sm::prepare(Warp& warp) {
  const Op& op = ops_[warp.instruction];
  double until = warp.after_stall;
  warp.cause = Reason::k_wait;
  auto wait = [&](double time, Reason why) {
    if (time > until) until = time, warp.cause = why;
  };
  for (size_t s = 0; s < kScoreboards; ++s)
    if (op.wait >> s & 1) wait(warp.scoreboards[s].until, warp.scoreboards[s].cause);
  auto wait_for_groups = [&](std::vector<double>& groups, Reason why) {
    for (size_t k = 0; k + op.groups < groups.size(); ++k) wait(groups[k], why);
    if (groups.size() > op.groups)
      groups.erase(groups.begin(), groups.end() - static_cast<ptrdiff_t>(op.groups));
  };
  if (op.kind == Kind::kGroups && op.group_barrier < kScoreboards)
    wait_for_groups(warp.scoreboards[op.group_barrier].groups, Reason::k_long_scoreboard);
  if (op.kind == Kind::kGroupWait) wait_for_groups(warp.product_groups, Reason::k_gmma);
  if (op.kind == Kind::kFence) wait(warp.stores, Reason::k_membar);
  if (warp.hold > 0) wait(warp.hold, warp.held);
  if (until != kNever) {
    wait(code(warp.instruction, until), Reason::k_no_instruction);
    if (op.constant && op.kind != Kind::kConstant) wait(constant(op, until), Reason::k_no_instruction);
  }
  warp.after_wait = warp.ready = until;
  stale_[warp.part] = true;
}

// When the instruction's code is there, for one who wants it at `at`.
double Sm::code(uint32_t instruction, double at) {
  const size_t line = instruction / kInstructionsOfLine;
  if (code_[line] == kNever)
    for (size_t k = 0; k <= static_cast<size_t>(chip_.code_ahead) && line + k < code_.size(); ++k)
      code_[line + k] = std::min(code_[line + k], at + chip_.code_latency);
  return code_[line];
}

double Sm::constant(const Op& op, double at) {
  const auto [found, is_new] = constants_.try_emplace(op.constant, at + chip_.constant_miss);
  return found->second;
}

void Sm::hold(Warp& warp, double until, Reason why) {
  warp.hold = std::max(warp.hold, until), warp.held = why;
}

// A barrier opens for the warps that it holds; the time until then is the barrier's.
void Sm::wake(std::vector<uint32_t>& warps, double at, Reason why) {
  for (const uint32_t w : warps) {
    warps_[w].hold = at, warps_[w].held = why;
    prepare(warps_[w]);
  }
  warps.clear();
}

void Sm::set(Warp& warp, const Op& op, double at, double done) {
  if (op.write < kScoreboards) {
    Scoreboard& s = warp.scoreboards[op.write];
    if (done >= s.until) s.until = done, s.cause = op.cause;
  }
  if (op.read < kScoreboards) {
    Scoreboard& s = warp.scoreboards[op.read];
    const double read = at + chip_.read_latency;
    if (read >= s.until) s.until = read, s.cause = Reason::k_short_scoreboard;
  }
}

std::span<const exec::TraceEvent> Sm::events_of(Warp& warp) {
  const std::vector<exec::TraceEvent>& all = warp.trace->events;
  const size_t end = warp.trace->steps[warp.step].events;
  while (warp.event < end && all[warp.event].instruction < warp.instruction) ++warp.event;
  size_t last = warp.event;
  while (last < end && all[last].instruction == warp.instruction) ++last;
  return {all.data() + warp.event, last - warp.event};
}

}  // namespace triton_runner::replay
