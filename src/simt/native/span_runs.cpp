// Implements span_runs.h.
#include "native/span_runs.h"

#include <algorithm>
#include <optional>

#include "ops/control.h"
#include "ops/move.h"

namespace triton_runner::simt {

uint32_t filled_load(const Code& code, size_t begin) {
  size_t i = begin;
  const auto moves = [](const Instr& in) {
    const NativeRow* row = native_row(in.run);
    return row && row->form == Form::kMove && row->d == Element::kWord && in.guard == kNoRegister;
  };
  while (i < code.instrs.size() && i - begin < kMaxWords && moves(code.instrs[i])) ++i;
  if (i == begin || i == code.instrs.size()) return 0;
  const Instr& load = code.instrs[i];
  const auto* access = static_cast<const Access*>(load.data);
  if (load.run != access_handler({.space = Space::kGlobal}, false) || access->reg_bytes != 4) return 0;
  const auto end = access->regs + access->words;
  for (size_t k = begin; k < i; ++k)
    if (std::find(access->regs, end, code.instrs[k].d) == end) return 0;
  return static_cast<uint32_t>(i + 1 - begin);
}

namespace {

class SpanRuns {
 public:
  SpanRuns(Code& code, SpanFinder::Kind kind, const PartsOf& parts)
      : code_(code), parts_(parts), finder_(SpanFinder(code, kind)) {}

  std::vector<SpanRun> find(const std::function<void()>& begin_run) {
    std::vector<SpanRun> runs;
    for (uint32_t i = 0; i < code_.instrs.size();) {
      const uint32_t begin = i;
      finder_->begin(begin);
      halves_ = {};
      begin_run();
      while (i < code_.instrs.size() && finder_->size() < kMostParts)
        if (const uint32_t count = take(i, i == begin))
          i += count;
        else
          break;
      if (finder_->has_accesses()) runs.push_back({begin, i - begin, finder_->body(), finder_->finish()});
      if (i == begin) ++i;
    }
    return runs;
  }

  // The run from the first instruction on, of a kernel that has nothing to do with shared memory or barriers after it.
  std::vector<SpanRun> find_silent(const std::function<void()>& begin_run) {
    uint32_t end = 0;
    finder_->begin(0);
    begin_run();
    while (end < code_.instrs.size() && finder_->size() < kMostParts)
      if (const uint32_t count = take(end, end == 0))
        end += count;
      else
        break;
    if (!finder_->is_silent() || code_.targets.contains(0)) return {};
    for (uint32_t i = end; i < code_.instrs.size(); ++i)
      if (!is_for_itself(i)) return {};
    return {{0, end, finder_->body(), finder_->finish()}};
  }

 private:
  // Whether it has nothing to do with shared memory or barriers, nor jumps.
  bool is_for_itself(uint32_t i) const {
    const Handler run = code_.instrs[i].run;
    return run == end_thread || run == end_over || run == access_handler({.space = Space::kGlobal}, true) ||
           run == access_handler({.space = Space::kGlobal}, false) || !parts_(i).empty();
  }
  bool is_cut(uint32_t from, uint32_t count) const {
    for (uint32_t k = 0; k < count; ++k)
      if (code_.targets.contains(from + k)) return true;
    return false;
  }

  // The run goes on with what stands at i: so many instructions, or none.
  uint32_t take(uint32_t i, bool is_first) {
    const Instr& in = code_.instrs[i];
    if (is_first ? in.guard != kNoRegister : is_cut(i, 1)) return 0;
    if (in.run == end_over) return take_ends(i);
    const uint32_t filled = filled_load(code_, i), count = std::max(filled, 1u);
    if (is_cut(i + 1, count - 1)) return 0;
    const std::vector<Instr> more = filled ? std::vector<Instr>() : parts_(i);
    return add(more, i, count) ? count : 0;
  }

  // Parts, or an access with moves before it; `ends`: of the threads that it leaves.
  bool add(const std::vector<Instr>& more, uint32_t i, uint32_t count, const Instr* ends = nullptr) {
    for (const Instr& part : more) {
      if (!halves_.fits(part)) {
        finder_->end_phase();
        halves_ = {};
        if (!halves_.fits(part)) return false;
      }
      finder_->add({&part, 1});
    }
    if (!more.empty()) return true;
    if (count == 1 && !ends && finder_->add_barrier(i)) return true;
    if (count == 1 && finder_->add_shared(i, ends)) {
      halves_ = {};
      return true;
    }
    return finder_->add_access({&code_.instrs[i], count - 1}, i + count - 1, halves_, ends);
  }

  // Some threads end, the others go on to where they end too (end_over): loads and stores get a guard, and what only computes may
  // do so for all.
  uint32_t take_ends(uint32_t at) {
    const Instr& in = code_.instrs[at];
    const auto end = static_cast<uint32_t>(static_cast<const Instr*>(in.data) - code_.instrs.data());
    const SpanFinder finder = *finder_;
    const HalvesRead halves = halves_;
    for (uint32_t i = at + 1; i < end; ++i) {
      const std::vector<Instr> more = parts_(i);
      const bool overwrites = std::ranges::any_of(more, [&](const Instr& p) { return p.d == in.guard; });
      if (!overwrites && !is_cut(i, 1) && add(more, i, 1, &in)) continue;
      finder_.emplace(finder), halves_ = halves;
      return 0;
    }
    return end - at;
  }

  Code& code_;
  const PartsOf& parts_;
  std::optional<SpanFinder> finder_;
  HalvesRead halves_;
};

}  // namespace

std::vector<SpanRun> find_span_runs(Code& code, SpanFinder::Kind kind, const std::function<void()>& begin_run,
                                    const PartsOf& parts) {
  SpanRuns runs(code, kind, parts);
  return kind == SpanFinder::kSilent ? runs.find_silent(begin_run) : runs.find(begin_run);
}

}  // namespace triton_runner::simt
