// Implements footprints(): counts the bytes of the sectors that traced programs ask for, for each program and
// for all together.
#include <triton_runner/replay/footprint.h>

#include <bit>

#include "memory.h"

namespace triton_runner::replay {
namespace {

size_t region_of(uint64_t line, std::span<const Region> regions) {
  const uint64_t address = line * exec::kLineBytes + exec::kLineBytes / 2;
  size_t i = 0;
  while (i < regions.size() && !(address >= regions[i].begin && address < regions[i].end)) ++i;
  return i;
}

// Returns how many bytes of the line's sectors are new.
uint64_t fresh(Lines& lines, uint64_t packed) {
  Lines::Line& line = lines.at(packed >> 4);
  const auto missing = static_cast<uint8_t>((packed & 15) & ~line.sectors);
  line.sectors |= missing;
  return 32 * static_cast<uint64_t>(std::popcount(missing));
}

}  // namespace

std::vector<Footprint> footprints(const exec::Trace& trace, std::span<const Region> regions) {
  std::vector<Footprint> out(regions.size() + 1);
  Lines all;
  for (const auto& [program, warps] : trace.blocks) {
    Lines own;
    for (const exec::WarpTrace& warp : warps)
      for (const exec::TraceEvent& event : warp.events) {
        if (event.kind != exec::TraceEvent::kGlobal) continue;
        for (uint32_t k = 0; k < event.lines; ++k) {
          const uint64_t packed = warp.lines[event.first + k];
          Footprint& to = out[region_of(packed >> 4, regions)];
          to.each += fresh(own, packed), to.together += fresh(all, packed);
        }
      }
  }
  out.resize(regions.size());
  return out;
}

}  // namespace triton_runner::replay
