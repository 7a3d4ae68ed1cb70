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

  bool operator==(const Cell&) const = default;
  // Nothing needs to be remembered but this write.
  void settle(uint32_t record) { *this = {record, record}; }
  void add_reader(uint32_t record, const auto& unordered) { remember(readers, record, unordered); }
  // Record `mine` accesses it; `changes`: what is written differs from what is there. unordered(record): nothing
  // orders it before `mine`. Gives the record that it races with, or 0.
  uint32_t touch(uint32_t mine, Act act, bool changes, const auto& unordered, const auto& act_of) {
    const bool atomic = act == Act::kAtomic || act == Act::kAtomicRead;
    if (!atomic)
      for (uint32_t a : atomics)
        if (unordered(a) && (act == Act::kRead ? act_of(a) == Act::kAtomic : changes)) return a;
    if (unordered(changer) && (act != Act::kWrite || changes)) return changer;
    if (act == Act::kRead) {
      add_reader(mine, unordered);
      return 0;
    }
    if (changes) {
      if (act == Act::kWrite && unordered(writer)) return writer;
      for (uint32_t r : readers)
        if (unordered(r)) return r;
    }
    if (atomic) {
      remember(atomics, mine, unordered);
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

// Cells of 1, 2 or 4 bytes, made when they are first touched: a page has the size of its smallest access. The pages that
// were touched lately have them all; of the others runs of equal cells are kept, so that a history takes a fifth of the
// memory that a launch goes through in order, and not six times as much.
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
    open_.clear();
    last_ = nullptr;
  }

 private:
  static constexpr uint64_t kPage = 1024;
  static constexpr size_t kOpen = 4096;  // pages with all their cells
  struct Run {
    Cell cell;
    uint32_t count;
  };
  struct Page {
    uint64_t base;
    int shift;
    std::vector<Cell> cells;
    std::vector<Run> runs{};  // where there are no cells

    void pack() {
      for (const Cell& cell : cells)
        if (!runs.empty() && runs.back().cell == cell)
          ++runs.back().count;
        else
          runs.push_back({cell, 1});
      if (2 * runs.size() < cells.size()) {
        cells = {};
        runs.shrink_to_fit();
      } else {
        runs = {};
      }
    }
    void unpack() {
      for (const Run& run : runs) cells.insert(cells.end(), run.count, run.cell);
      runs = {};
    }
  };

  Page& page_of(uint64_t address, uint64_t bytes) {
    const uint64_t base = address - address % kPage;
    if (!last_ || last_->base != base) {
      std::unique_ptr<Page>& page = pages_[base];
      if (!page)
        open(page = std::make_unique<Page>(Page{base, 2, std::vector<Cell>(kPage / 4)}));
      else if (page->cells.empty())
        open(page);
      last_ = page.get();
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
  // In the place of the page that was opened first.
  void open(const std::unique_ptr<Page>& page) {
    if (page->cells.empty()) page->unpack();
    if (open_.size() < kOpen) return open_.push_back(page.get());
    Page*& oldest = open_[next_++ % kOpen];
    oldest->pack();
    oldest = page.get();
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::vector<Page*> open_;
  size_t next_ = 0;
  Page* last_ = nullptr;
};

}  // namespace triton_runner::machine
