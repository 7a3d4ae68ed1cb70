// Counts how often the threads of a block have come round the loops of PTX or machine code, which a stop says
// as the iterations of a loop.
//
// Two kinds of places count: where a loop may be entered from, its number is set back, and at its head one is added.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <triton_runner/base/try.h>
#include <triton_runner/probe/debugger.h>

#include "register_flow.h"

namespace triton_runner::probe {
namespace {

// A loop of code: its head, what lies on the ways back to it, and what leads into it from outside.
struct CodeLoop {
  uint32_t head;
  std::vector<uint32_t> body, before;
  // Most instructions of the PTX are in the body several times: machine code goes round less often than the PTX does.
  bool is_unrolled = false;
};

// The instructions that a jump comes back to.
std::vector<uint32_t> loop_heads(const RegisterFlow& flow) {
  std::vector<uint32_t> heads;
  for (uint32_t i = 0; i < flow.steps.size(); ++i)
    for (const uint32_t to : flow.steps[i].next)
      if (to <= i) heads.push_back(to);
  std::sort(heads.begin(), heads.end());
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  return heads;
}

std::vector<CodeLoop> loops_of(const RegisterFlow& flow) {
  const auto count = static_cast<uint32_t>(flow.steps.size());
  std::vector<std::vector<uint32_t>> previous(count + 1);
  for (uint32_t i = 0; i < count; ++i)
    for (const uint32_t to : flow.steps[i].next) previous[std::min(to, count)].push_back(i);
  std::vector<CodeLoop> loops;
  for (const uint32_t head : loop_heads(flow)) {
    CodeLoop loop{head, {}, {}};
    std::vector<bool> inside(count);
    std::vector<uint32_t> open;
    inside[head] = true;
    for (const uint32_t latch : previous[head])
      if (latch >= head) open.push_back(latch);
    while (!open.empty()) {
      const uint32_t i = open.back();
      open.pop_back();
      if (inside[i]) continue;
      inside[i] = true;
      open.insert(open.end(), previous[i].begin(), previous[i].end());
    }
    std::map<std::pair<int, std::string_view>, int> copies;
    for (uint32_t i = 0; i < count; ++i) {
      if (!inside[i]) continue;
      loop.body.push_back(i);
      if (flow.steps[i].ptx_line > 0) ++copies[{flow.steps[i].ptx_line, flow.steps[i].opcode}];
    }
    for (const uint32_t i : previous[head])
      if (!inside[i]) loop.before.push_back(i);
    const auto several =
        std::count_if(copies.begin(), copies.end(), [](const auto& of) { return of.second > 1; });
    loop.is_unrolled = 2 * static_cast<size_t>(several) > copies.size();
    loops.push_back(std::move(loop));
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const CodeLoop& a, const CodeLoop& b) { return a.body.size() > b.body.size(); });
  return loops;
}

std::vector<TextLoop> by_lines(const RegisterFlow& flow) {
  std::vector<TextLoop> out;
  auto lines = [&](const std::vector<uint32_t>& steps) {
    std::vector<int> at;
    for (const uint32_t i : steps) at.push_back(flow.steps[i].line);
    return at;
  };
  for (const CodeLoop& loop : loops_of(flow))
    out.push_back({flow.steps[loop.head].line, lines(loop.body), lines(loop.before), loop.is_unrolled});
  return out;
}

}  // namespace

base::Result<std::vector<TextLoop>> loops_of_code(std::string text, const std::string& kernel,
                                                  const std::string& level) {
  if (level == "cubin") {
    const auto module = TRY(sass::parse(std::move(text)));
    const sass::Function* f = module->find(kernel);
    return f ? by_lines(flow_of(*module, *f)) : std::vector<TextLoop>();
  }
  const auto module = TRY(ptx::parse(std::move(text), "<ptx>"));
  const ptx::Function* f = module->find_function(kernel);
  return f ? by_lines(flow_of(*module, *f)) : std::vector<TextLoop>();
}

void Debugger::set_loops(std::vector<Loop> loops) {
  loops_ = std::move(loops);
  rounds_.clear();
  for (std::vector<std::vector<uint32_t>>* of : {&around_, &heads_, &before_}) of->assign(places_.size(), {});
  for (uint32_t loop = 0; loop < loops_.size(); ++loop) {
    for (uint32_t place : loops_[loop].body) around_.at(place).push_back(loop);
    for (uint32_t place : loops_[loop].before) before_.at(place).push_back(loop);
    heads_.at(loops_[loop].head).push_back(loop);
  }
}

void Debugger::count_rounds(uint32_t place, const exec::Stopped& stopped) {
  if (sparse_ || loops_.empty() || (heads_[place].empty() && before_[place].empty())) return;
  const auto& lanes = static_cast<const exec::StoppedLanes&>(stopped);  // loops are of code
  const size_t block = size_t{lanes.block()} * lanes.threads();
  std::vector<int64_t>& rounds = rounds_[{stopped.program(), lanes.block()}];
  rounds.resize(size_t{lanes.threads()} * loops_.size(), -1);
  for (size_t thread = lanes.first(); thread < size_t{lanes.first()} + lanes.count(); ++thread) {
    if (!stopped.is_of(block + thread)) continue;
    for (uint32_t loop : before_[place]) rounds[thread * loops_.size() + loop] = -1;
    for (uint32_t loop : heads_[place]) ++rounds[thread * loops_.size() + loop];
  }
}

std::vector<int64_t> Debugger::iterations(uint32_t place, const exec::Stopped& stopped) const {
  if (loops_.empty()) return stopped.iterations();
  std::vector<int64_t> out;
  const auto& lanes = static_cast<const exec::StoppedLanes&>(stopped);
  const auto rounds = rounds_.find({stopped.program(), lanes.block()});
  if (rounds == rounds_.end()) return out;
  const size_t thread = stopped.task() % lanes.threads();
  for (uint32_t loop : around_[place])
    out.push_back(std::max<int64_t>(rounds->second[thread * loops_.size() + loop], 0));
  return out;
}

}  // namespace triton_runner::probe
