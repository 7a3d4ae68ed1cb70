// Implements Tracing: turns stretches, requests and barriers of each warp into events of an exec::Trace.
#include "check/trace.h"

#include <algorithm>

namespace triton_runner::simt {

using exec::TraceEvent;
using exec::WarpTrace;

Tracing::Tracing(const std::vector<std::vector<uint32_t>>& stretches, uint32_t warps, uint64_t most)
    : warps_(warps) {
  trace_.stretches = stretches;
  trace_.most = most;
  for (std::vector<uint32_t>& stretch : trace_.stretches) std::sort(stretch.begin(), stretch.end());
}

bool Tracing::counts(uint64_t n) {
  trace_.size += n;
  trace_.is_cut |= trace_.size > trace_.most;
  return !trace_.is_cut;
}

WarpTrace& Tracing::warp_of(int64_t program, uint32_t warp) {
  if (!last_ || program != last_program_) {
    last_ = &trace_.blocks[program];
    last_->resize(warps_);
    last_program_ = program;
  }
  return (*last_)[warp];
}

void Tracing::step(int64_t program, uint32_t warp, uint32_t stretch) {
  if (!counts(1)) return;
  WarpTrace& to = warp_of(program, warp);
  const auto end = static_cast<uint32_t>(to.events.size());
  if (!to.steps.empty()) to.steps.back().events = end;
  to.steps.push_back({stretch, end});
}

TraceEvent& Tracing::add(int64_t program, uint32_t warp, uint32_t instruction, TraceEvent::Kind kind) {
  WarpTrace& to = warp_of(program, warp);
  if (to.steps.empty() || trace_.is_cut) return unread_ = {};
  const size_t begin = to.steps.size() > 1 ? to.steps[to.steps.size() - 2].events : 0;
  for (size_t i = to.events.size(); i > begin; --i)
    if (to.events[i - 1].instruction == instruction && to.events[i - 1].kind == kind) return to.events[i - 1];
  counts(1);
  TraceEvent& made = to.events.emplace_back();
  made.instruction = instruction, made.kind = kind, made.first = static_cast<uint32_t>(to.lines.size());
  return made;
}

void Tracing::add_line(WarpTrace& warp, TraceEvent& event, uint64_t line, uint64_t sectors) {
  if (event.lines > 0 && warp.lines.back() >> 4 == line) {
    warp.lines.back() |= sectors;
  } else if (event.lines < 0xffff && counts(1)) {
    warp.lines.push_back(line << 4 | sectors);
    ++event.lines;
  }
}

void Tracing::request(int64_t program, uint32_t warp, uint32_t instruction, TraceEvent::Kind kind,
                      std::span<const uint64_t> sectors, uint64_t bytes) {
  TraceEvent& event = add(program, warp, instruction, kind);
  if (trace_.is_cut) return;
  event.value += static_cast<uint32_t>(bytes);
  for (const uint64_t s : sectors) add_line(warp_of(program, warp), event, s / 4, uint64_t{1} << s % 4);
}

void Tracing::copy(int64_t program, uint32_t warp, uint32_t instruction, bool is_global, uint64_t at,
                   uint32_t bytes) {
  if (bytes == 0) return;
  TraceEvent& event = add(program, warp, instruction, is_global ? TraceEvent::kGlobal : TraceEvent::kShared);
  if (trace_.is_cut) return;
  event.value += bytes;
  if (!is_global) return;
  WarpTrace& to = warp_of(program, warp);
  for (uint64_t s = at / 32; s <= (at + bytes - 1) / 32; ++s)
    add_line(to, event, s / 4, uint64_t{1} << s % 4);
}

void Tracing::barrier(int64_t program, uint32_t warp, uint32_t instruction, TraceEvent::Kind kind,
                      uint32_t at, uint32_t value) {
  TraceEvent& event = add(program, warp, instruction, kind);
  event.at = at;
  const bool adds =
      kind == TraceEvent::kArrive || kind == TraceEvent::kExpect || kind == TraceEvent::kComplete;
  event.value = adds ? event.value + value : value;
}

exec::Trace Tracing::taken() {
  for (auto& [program, warps] : trace_.blocks)
    for (WarpTrace& warp : warps) {
      if (!warp.steps.empty()) warp.steps.back().events = static_cast<uint32_t>(warp.events.size());
      size_t begin = 0;
      for (const exec::TraceStep& step : warp.steps) {
        std::stable_sort(
            warp.events.begin() + static_cast<ptrdiff_t>(begin), warp.events.begin() + step.events,
            [](const TraceEvent& a, const TraceEvent& b) { return a.instruction < b.instruction; });
        begin = step.events;
      }
    }
  return std::move(trace_);
}

}  // namespace triton_runner::simt
