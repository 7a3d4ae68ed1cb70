// The last accesses to each piece of a memory, as far as a later access needs them to be told apart from
// a race.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace triton_runner::tile {

// Accesses by number (RaceCheck::records_); 0 is the time before the launch.
struct Cell {
  uint32_t writer = 0;       // the last write
  uint32_t changer = 0;      // the last write that changed the value
  uint32_t readers[2] = {};  // since then, not ordered with each other
  uint32_t atomics[2] = {};  // the last ones, of different threads
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

}  // namespace triton_runner::tile
