// Follows the reads of LDS that may be under way: how many operations their counter was given since, and
// whether a barrier came. Where ways meet, the larger number stays: a read that has ended on one of them is
// not said to go on.
#include <algorithm>
#include <map>

#include <triton_runner/amdgcn/opcode.h>
#include <triton_runner/amdgcn/waits.h>

#include "ways.h"

namespace triton_runner::amdgcn {
namespace {

constexpr uint8_t kMostSince = 64;  // operations since, as many as any wait counts

struct UnderWay {
  uint8_t since = 0;  // operations of the same counter
  bool over = false;  // a barrier
};
using Reads = std::map<uint32_t, UnderWay>;  // by the number of the read

bool joined_reads(Reads& there, const Reads& state) {
  bool changed = false;
  for (const auto& [read, under] : state) {
    const auto [it, is_new] = there.try_emplace(read, under);
    UnderWay& held = it->second;
    changed |= is_new || under.since > held.since || under.over > held.over;
    held = {std::max(held.since, under.since), held.over || under.over};
  }
  return changed;
}

bool is_called(const Instruction& in, std::string_view start) { return in.row->name.starts_with(start); }

}  // namespace

LateReads late_reads(const Module& module, const Kernel& kernel) {
  LateReads found;
  const auto any = [&](std::string_view start) {
    return std::ranges::any_of(kernel.body,
                               [&](const Instruction& in) { return in.row && is_called(in, start); });
  };
  if (!any("ds_read") || !any("s_barrier")) return found;
  const uint32_t generation = generation_of(module.target());
  const auto step = [&](uint32_t at, Reads& state, bool reports) {
    const Instruction& in = kernel.body[at];
    if (!in.row) return;
    if (is_called(in, "s_wait")) {
      const auto left = left_by(in)[kLds];
      std::erase_if(state, [&](const auto& entry) {
        const bool ends = left && entry.second.since >= *left;
        if (ends && reports && entry.second.over) found[entry.first].push_back(at);
        return ends;
      });
    }
    if (is_called(in, "s_barrier"))
      for (auto& [read, under] : state) under.over = true;
    if (!is_memory(in) || counter_of(in, generation) != kLds) return;
    for (auto& [read, under] : state) under.since = std::min<uint8_t>(under.since + 1, kMostSince);
    if (is_called(in, "ds_read") && in.operands.size() == 2) state[at] = {};
  };
  follow_ways<Reads>(kernel, joined_reads, step);
  return found;
}

}  // namespace triton_runner::amdgcn
