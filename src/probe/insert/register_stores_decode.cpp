// Decodes the buffer into which a kernel stored registers. A program has at most as many records as its threads counted
// executions.
#include <algorithm>
#include <cstring>

#include <triton_runner/num/types.h>
#include <triton_runner/probe/register_stores.h>

#include "programs.h"

namespace triton_runner::probe {
namespace {

// Copies the elements of a slot into a record, and marks those that are present.
void decode_slot(const Tap& tap, const std::byte* slot, const uint32_t* counts, uint32_t least,
                 std::byte* data, uint8_t* mask) {
  const size_t width = num::size_of(tap.site.type), lanes = size_t{tap.threads} * tap.blocks;
  for (uint32_t b = 0; b < tap.blocks; ++b)
    for (uint32_t r = 0; r < tap.registers; ++r)
      for (uint32_t t = 0; t < tap.threads; ++t) {
        const size_t lane = size_t{b} * tap.threads + t;
        if (counts[lane] < least) continue;
        const auto element =
            static_cast<size_t>(tap.elements[(size_t{b} * tap.registers + r) * tap.threads + t]);
        std::byte value[8];
        std::memcpy(value, slot + (r * lanes + lane) * width, width);
        if (tap.site.type == num::Type::kI1) value[0] &= std::byte{1};
        std::memcpy(data + element * width, value, width);
        mask[element] = 1;
      }
}

}  // namespace

Recording decode(const RegisterStores& stores, std::span<const std::byte> buffer,
                 std::span<const std::array<int64_t, 3>> programs) {
  Recording result;
  result.notes = stores.notes;
  if (static_cast<int64_t>(buffer.size()) < stores.bytes) {
    result.notes.push_back("the buffer is shorter than planned; nothing is read from it");
    return result;
  }
  const auto& grid = stores.grid;
  for (size_t t = 0; t < stores.taps.size(); ++t) {
    const Tap& tap = stores.taps[t];
    const RegisterStores::Area& area = stores.areas[t];
    Series series;
    series.site = tap.site;
    const auto size = static_cast<size_t>(tap.site.record_bytes()),
               elements = static_cast<size_t>(tap.site.num_elements());
    std::vector<uint32_t> counts(size_t{tap.threads} * tap.blocks);
    for (int64_t p = 0; p < stores.programs; ++p) {
      const int64_t linear = stores.chosen.empty() ? p : stores.chosen[static_cast<size_t>(p)];
      const Program id{linear % grid[0], linear / grid[0] % grid[1], linear / (grid[0] * grid[1])};
      if (!is_asked(programs, id)) continue;
      const std::byte* mine = buffer.data() + p * stores.stride;
      std::memcpy(counts.data(), mine + area.counts, 4 * counts.size());
      const int64_t most = *std::max_element(counts.begin(), counts.end());
      const int64_t kept = stores.every_iteration ? std::min(most, area.slots) : std::min<int64_t>(most, 1);
      if (stores.every_iteration) series.dropped += most - kept;
      for (int64_t e = 0; e < kept; ++e) {
        series.programs.push_back(id);
        series.iterations.push_back(stores.every_iteration ? e : most - 1);
        series.data.resize(series.data.size() + size);
        series.mask.resize(series.mask.size() + elements);
        decode_slot(tap, mine + area.data + e * area.slot, counts.data(), static_cast<uint32_t>(e + 1),
                    series.data.data() + series.data.size() - size,
                    series.mask.data() + series.mask.size() - elements);
      }
    }
    if (series.dropped)
      result.notes.push_back(tap.site.value + ": " + std::to_string(series.dropped) +
                             " records were dropped: each program has room for " +
                             std::to_string(area.slots) + " executions of it");
    result.series.push_back(std::move(series));
  }
  return result;
}

}  // namespace triton_runner::probe
