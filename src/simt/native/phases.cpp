// Implements needed_lanes(): from the end of a run, a phase is made for the lanes that store something in it, and for those that later
// phases read.
#include "native/phases.h"

#include <algorithm>
#include <unordered_map>

#include "native/span.h"

namespace triton_runner::simt {
namespace {

// Shuffles are among 32 lanes, and a block has no part of these.
uint32_t whole_warps(uint32_t lanes) { return lanes > kAllLanes - 32 ? kAllLanes : (lanes + 31) / 32 * 32; }

// The lanes that a part changes memory for.
uint32_t stored_lanes(const Instr& in) {
  if (const SpanPart* span = span_of(in); span && span->store) return span->lanes;
  const SharedPart* shared = shared_of(in);
  if (!shared || !shared->store) return 0;
  if (shared->compares) return kAllLanes;
  return shared->lanes.empty() ? 0 : shared->lanes.back().lane + 1;
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
  // A result of a part has to be there for so many lanes.
  const auto lanes_of = [&](const Instr& in) {
    uint32_t lanes = stored_lanes(in);
    each_write(in, [&](uint32_t p) {
      lanes = std::max(lanes, std::ranges::binary_search(local, p) ? of_place[p] : kAllLanes);
    });
    return whole_warps(lanes);
  };
  for (size_t end = run.size(); end > 0;) {
    size_t begin = end;
    uint32_t lanes = 0;
    if (ends_phase(run[begin - 1])) {
      lanes = lanes_of(run[--begin]);
    } else {
      for (; begin > 0 && !ends_phase(run[begin - 1]); --begin)
        lanes = std::max(lanes, lanes_of(run[begin - 1]));
    }
    // All parts of a phase are made for the same lanes, and what they read is to be there.
    for (size_t i = end; i-- > begin;) {
      needed[i] = lanes;
      each_write(run[i],
                 [&](uint32_t p) { of_place[p] = 0; });  // each_read() has what a guard leaves as it was
      each_read(run[i], native_row(run[i].run),
                [&](uint32_t p) { of_place[p] = std::max(of_place[p], lanes); });
    }
    end = begin;
  }
  return needed;
}

}  // namespace triton_runner::simt
