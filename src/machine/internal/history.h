// The last accesses to each piece of a memory, as far as a later access needs them to be told apart from a race; and
// the rule that says what a race is: two accesses, one of them a write that changes the value and not both of them
// atomic, that nothing orders. It is found whichever of them comes first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
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

// Cells of 1, 2 or 4 bytes, made when they are first touched: a page has the size of its smallest access.
class History {
 public:
  // f(cell, address of it, bytes of it) for the cells of [address, address + bytes).
  template <class F>
  void each(uint64_t address, uint64_t bytes, F f) {
    while (bytes) {
      Page& page = page_of(address, bytes);
      const uint64_t size = uint64_t{1} << page.shift, at = address % kPage >> page.shift << page.shift;
      f(page.cells[at >> page.shift], address - address % kPage + at, size);
      const uint64_t step = std::min(bytes, size - address % size);
      address += step;
      bytes -= step;
    }
  }
  void clear() {
    pages_.clear();
    last_ = nullptr;
  }

 private:
  static constexpr uint64_t kPage = 1024;
  struct Page {
    uint64_t base;
    int shift;
    std::vector<Cell> cells;
  };

  Page& page_of(uint64_t address, uint64_t bytes) {
    const uint64_t base = address - address % kPage;
    if (!last_ || last_->base != base) {
      std::unique_ptr<Page>& made = pages_[base];
      if (!made) made = std::make_unique<Page>(Page{base, 2, std::vector<Cell>(kPage / 4)});
      last_ = made.get();
    }
    const uint64_t unit = address | bytes;
    const int shift = unit & 1 ? 0 : unit & 2 ? 1 : 2;
    if (shift < last_->shift) {
      std::vector<Cell> finer(kPage >> shift);
      for (uint64_t i = 0; i < finer.size(); ++i) finer[i] = last_->cells[i << shift >> last_->shift];
      last_->cells = std::move(finer);
      last_->shift = shift;
    }
    return *last_;
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
};

}  // namespace triton_runner::machine
