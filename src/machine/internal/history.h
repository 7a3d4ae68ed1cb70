// History keeps the last accesses to each piece of a memory, as far as a later access needs them to be told
// apart from a race. It has the rule that says what a race is: two accesses, one of them a write that changes
// the value and not both of them atomic, that nothing orders (clock.h). It is found whichever of them comes
// first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include <triton_runner/machine/clock.h>

namespace triton_runner::machine {

// Records by number; 0 is the time before the launch.
struct Cell {
  uint32_t writer = 0;       // the last write
  uint32_t changer = 0;      // the last write that changed the value
  uint32_t readers[2] = {};  // since then, not ordered with each other
  uint32_t atomics[2] = {};  // the last ones, of different agents

  bool operator==(const Cell&) const = default;
  // Nothing needs to be remembered but this write.
  void settle(uint32_t record) { *this = {record, record}; }
  void add_reader(uint32_t record, const auto& unordered) { remember(readers, record, unordered); }
  // Record `mine` accesses it; `changes`: what is written differs from what is there. unordered(record): nothing
  // orders it before `mine`. Gives the record that it races with, or 0.
  uint32_t touch(uint32_t mine, Act act, bool changes, const auto& unordered, const auto& act_of) {
    return touch(mine, act, changes, unordered, act_of, unordered);
  }
  // Some of those that made one access together may be ordered and others not: unordered() if nothing orders any of them, and
  // uncovered() unless something orders all.
  uint32_t touch(uint32_t mine, Act act, bool changes, const auto& unordered, const auto& act_of,
                 const auto& uncovered) {
    const bool atomic = act == Act::kAtomic || act == Act::kAtomicRead;
    if (!atomic)
      for (uint32_t a : atomics)
        if (unordered(a) && (act == Act::kRead ? act_of(a) == Act::kAtomic : changes)) return a;
    if (unordered(changer) && (act != Act::kWrite || changes)) return changer;
    if (act == Act::kRead) {
      add_reader(mine, uncovered);
      return 0;
    }
    if (changes) {
      if (act == Act::kWrite && unordered(writer)) return writer;
      for (uint32_t r : readers)
        if (unordered(r)) return r;
    }
    if (atomic) {
      remember(atomics, mine, uncovered);
      return 0;
    }
    writer = mine;
    if (changes) settle(mine);
    return 0;
  }

 private:
  // In one of two places, in place of what comes before it anyway.
  static void remember(uint32_t (&list)[2], uint32_t record, const auto& unordered) {
    for (uint32_t& r : list)
      if (!unordered(r)) r = 0;
    if (!list[0])
      list[0] = record;
    else if (!list[1])
      list[1] = record;
  }
};

// Cells of 1, 2 or 4 bytes, made when they are first touched: a page has cells of the size of its smallest access. The pages
// that were opened last have them all, 6 bytes for each byte of memory; the others are packed (history.cpp).
class History {
 public:
  // f(cell, address of it, bytes of it) for the cells of [address, address + bytes).
  template <class F>
  void each(uint64_t address, uint64_t bytes, F f) {
    while (bytes) {
      Page& page = page_of(address, bytes);
      const uint64_t base = address / kPage * kPage, end = std::min(address + bytes, base + kPage);
      const uint64_t size = uint64_t{1} << page.shift;
      for (uint64_t at = address / size * size; at < end; at += size)
        f(page.cells[(at - base) >> page.shift], at, size);
      bytes -= end - address;
      address = end;
    }
  }
  void clear() { *this = {}; }

 private:
  static constexpr uint64_t kPage = 1024;
  static constexpr size_t kOpenCells = size_t{1} << 19;
  struct Page {
    int shift = 2;
    std::vector<Cell> cells;       // empty: it is packed
    std::vector<uint32_t> packed;  // empty too: nothing has touched it
  };
  void pack(Page& page);
  void unpack(Page& page);

  Page& page_of(uint64_t address, uint64_t bytes) {
    const uint64_t number = address / kPage, unit = address | bytes;
    const int shift = unit & 1 ? 0 : unit & 2 ? 1 : 2;
    if (!last_ || last_number_ != number || shift < last_->shift) open(number, shift);
    return *last_;
  }
  // The page is the last one, with cells of 1 << shift bytes at most.
  void open(uint64_t number, int shift);

  std::unordered_map<uint64_t, Page> pages_;  // by number
  std::deque<Page*> open_;                    // which have their cells, oldest first
  size_t open_cells_ = 0;                     // of them
  // Cells of packed pages, for those that are opened next: the heap would get holes, as what is packed is small.
  std::vector<std::vector<Cell>> spare_;
  std::vector<uint32_t> packing_, plane_;
  Page* last_ = nullptr;
  uint64_t last_number_ = 0;
};

}  // namespace triton_runner::machine
