// Implements needed_lanes(): from the end of a run, what is stored needs the lanes that store it, and what those read needs the same.
#include "native/phases.h"

#include <algorithm>
#include <unordered_map>

#include "native/span.h"

namespace triton_runner::simt {
namespace {

constexpr uint32_t kWarps = 64;  // lanes of the widest warp

uint32_t whole_warps(uint32_t lanes) {
  return lanes > kAllLanes - kWarps ? kAllLanes : (lanes + kWarps - 1) / kWarps * kWarps;
}

// The lanes that a part changes memory for.
uint32_t stored_lanes(const Instr& in) {
  if (const SpanPart* span = span_of(in); span && span->store) return span->lanes;
  if (const SharedPart* shared = shared_of(in); shared && shared->store)
    return shared->lanes.empty() ? 0 : shared->lanes.back().lane + 1;
  return 0;
}

}  // namespace

void phase_part(Lanes&, const Operands&) {}

Instr end_of_phase() {
  Instr in;
  in.run = phase_part;
  return in;
}

std::vector<uint32_t> needed_lanes(std::span<const Instr> run, std::span<const uint32_t> local) {
  std::vector<uint32_t> needed(run.size());
  std::unordered_map<uint32_t, uint32_t> of_place;
  for (size_t i = run.size(); i-- > 0;) {
    const Instr& in = run[i];
    const NativeRow* row = native_row(in.run);
    uint32_t lanes = stored_lanes(in);
    each_write(in, [&](uint32_t p) {
      lanes = std::max(lanes, std::ranges::binary_search(local, p) ? of_place[p] : kAllLanes);
    });
    needed[i] = lanes = whole_warps(lanes);
    each_write(in, [&](uint32_t p) { of_place[p] = 0; });  // each_read() has what a guard leaves as it was
    each_read(in, row, [&](uint32_t p) { of_place[p] = std::max(of_place[p], lanes); });
  }
  return needed;
}

}  // namespace triton_runner::simt
