// Decodes the buffer into which stores of TTGIR went: slots that were written become records, in the order of
// programs and iterations.
#include <algorithm>
#include <cstring>
#include <thread>

#include <triton_runner/probe/insert.h>

#include "programs.h"

namespace triton_runner::probe {
namespace {

constexpr size_t kParallel = size_t{1} << 24;  // bytes from which on a second thread pays

void decode(const Insertion& insertion, const Area& area, std::span<const std::byte> buffer,
            std::span<const std::array<int64_t, 3>> programs, Recording& into) {
  Series series = area.series;
  const auto size = static_cast<size_t>(series.site.record_bytes());
  const auto loops = static_cast<size_t>(series.site.loops), extras = static_cast<size_t>(series.extras);
  const auto& grid = insertion.grid;
  const auto* headers = reinterpret_cast<const int32_t*>(buffer.data() + area.header);
  const auto words = static_cast<size_t>(area.words);
  std::vector<int64_t> slots;  // that were written
  series.dropped = area.without_slots;
  for (int64_t p = 0; p < area.programs; ++p) {
    const int64_t linear = area.chosen.empty() ? p : area.chosen[static_cast<size_t>(p)];
    const std::array<int64_t, 3> id{linear % grid[0], linear / grid[0] % grid[1],
                                    linear / (grid[0] * grid[1])};
    if (!area.marker && !is_asked(programs, id)) continue;
    for (int64_t s = 0; s < area.slots; ++s) {
      const int64_t slot = p * area.slots + s;
      const int32_t* header = headers + static_cast<size_t>(slot) * words;
      if (!header[0]) continue;
      slots.push_back(slot);
      series.programs.push_back(id);
      series.iterations.insert(series.iterations.end(), header + 1, header + 1 + loops);
      series.extra.insert(series.extra.end(), header + 1 + loops, header + 1 + loops + extras);
    }
    // The last iteration that found no slot tells how many did, where it is one loop's.
    const auto* beyond =
        reinterpret_cast<const int32_t*>(buffer.data() + area.overflow) + static_cast<size_t>(p) * loops;
    if (std::any_of(beyond, beyond + loops, [](int32_t n) { return n != 0; }))
      series.dropped +=
          area.trip_counts.size() == 1 ? std::max<int64_t>(1, beyond[0] - area.trip_counts[0]) : 1;
  }
  // Storage that nobody has touched yet: its pages are made by the threads that fill them.
  series.data.resize(slots.size() * size);
  auto copy = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i)
      std::memcpy(
          series.data.data() + i * size,
          buffer.data() + area.data + static_cast<size_t>(slots[i]) * static_cast<size_t>(area.stride), size);
  };
  const size_t half = slots.size() * size >= kParallel ? slots.size() / 2 : 0;
  if (half) {
    std::thread other(copy, size_t{0}, half);
    copy(half, slots.size());
    other.join();
  } else {
    copy(0, slots.size());
  }
  if (series.dropped > area.without_slots)
    into.notes.push_back(series.site.value + ": " + std::to_string(series.dropped - area.without_slots) +
                         " or more records were dropped: a loop whose iterations cannot be counted before it "
                         "runs has slots for " +
                         std::to_string(area.slots));
  into.series.push_back(std::move(series));
}

}  // namespace

Recording decode(const Insertion& insertion, std::span<const std::byte> buffer,
                 std::span<const std::array<int64_t, 3>> programs) {
  Recording result;
  result.notes = insertion.notes;
  if (static_cast<int64_t>(buffer.size()) < insertion.bytes) {
    result.notes.push_back("the buffer is shorter than planned; nothing is read from it");
    return result;
  }
  for (const Area& area : insertion.areas) decode(insertion, area, buffer, programs, result);
  return result;
}

}  // namespace triton_runner::probe
