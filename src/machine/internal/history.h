// History keeps the last accesses to each piece of a memory, as far as a later access needs them to be told
// apart from a race. It has the rule that says what a race is: two accesses, one of them a write that changes
// the value and not both of them atomic, that nothing orders (clock.h). It is found whichever of them comes
// first.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
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
  void settle(uint32_t record) {
    writer = changer = record;
    readers[0] = readers[1] = atomics[0] = atomics[1] = 0;
  }
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

// Returns whether all words of `size` bytes differ, or none does; nothing where some do.
std::optional<bool> all_or_none(const std::byte* now, const std::byte* then, uint64_t bytes, uint64_t size);

// Packs `count` cells of `words` numbers each, and unpacks them (history.cpp).
std::vector<uint32_t> pack_cells(std::span<const uint32_t> cells, size_t words);
void unpack_cells(std::span<const uint32_t> packed, size_t words, std::span<uint32_t> cells);

// The cells of a memory, made when they are first touched: C is a Cell or what has more to remember. A page of
// kPage bytes has cells of one size, that of its smallest access. Where warps go through memory in order, a page is a few rows, each of which stands for many cells:
//
//   two warps that stored 4 bytes a thread: cells 0 to 31, writer 7 * 64 up; cells 32 to 63, writer 8 * 64 + 32 up
//
// Other pages have all their cells, of which those that were opened last lie open; the others are packed.
template <class C, uint64_t kPage = 1024>
class Cells {
 public:
  // Cells [begin, end) of a page. The number of the writer is that of `cell`, one more every `writer_step` cells (0: never), and so
  // are those of the changer and of the first reader. A row that several warps have made (lay) has `warp` numbers for each of them;
  // it becomes a row for each when somebody else comes to it.
  struct Row {
    uint16_t begin, end;
    uint16_t writer_step = 0, changer_step = 0, reader_step = 0, warp = 0;
    C cell{};
    C at(uint32_t i) const {
      C c = cell;
      if (writer_step) c.writer += (i - begin) / writer_step;
      if (changer_step) c.changer += (i - begin) / changer_step;
      if (reader_step) c.readers[0] += (i - begin) / reader_step;
      return c;
    }
    bool parts_at(uint32_t i) const {
      return !(writer_step && (i - begin) % writer_step) && !(changer_step && (i - begin) % changer_step);
    }
    // Returns the cell at which the first of its warps ends.
    uint32_t end_of_warp() const {
      const uint32_t number = reader_step ? cell.readers[0] : cell.writer;
      return begin + (warp - number % warp) * (reader_step ? reader_step : writer_step);
    }
  };

  // f(cell, address of it, bytes of it) for the cells of [address, address + bytes), which have at most `unit` bytes.
  template <class F>
  void each(uint64_t address, uint64_t bytes, F f, uint64_t unit = 4) {
    over_pages(address, bytes, unit | bytes, [&](Page& page, uint64_t base, uint64_t begin, uint64_t end) {
      open(page);
      each_of(page, base, begin, end, f);
    });
  }
  // The cells of some bytes, if they lie open and in one page, and the bytes are cells in full; else none.
  std::span<C> open_cells(uint64_t address, uint64_t bytes) {
    const uint64_t number = address / kPage, of_pages = number / std::tuple_size_v<Pages>;
    const auto& [known, pages] = recent_[of_pages % recent_.size()];
    if (!pages || known != of_pages) return {};
    Page& page = (*pages)[number % std::tuple_size_v<Pages>];
    const uint64_t at = address % kPage, rest = (uint64_t{1} << page.shift) - 1;
    if (!page.all || page.all->cells.empty() || ((at | bytes) & rest) || at + bytes > kPage) return {};
    return {&page.all->cells[at >> page.shift], bytes >> page.shift};
  }
  // The same of bytes that some threads access in order, `unit` each: row(row, its address, its bytes) for each of their rows, and
  // f() for the cells of one of which row() gives false, having changed nothing, and of those that come after it in the page.
  template <class R, class F>
  void rows(uint64_t address, uint64_t bytes, uint64_t unit, R row, F f) {
    // The cells of all pages are as fine as those where it begins: it ends between two of them.
    over_pages(address, bytes, unit | address, [&](Page& page, uint64_t base, uint64_t begin, uint64_t end) {
      const auto first = static_cast<uint16_t>((begin - base) >> page.shift),
                 last = static_cast<uint16_t>((end - base) >> page.shift);
      if (const uint32_t at = page.all ? kRows : cut(page, first, last); at != kRows) {
        for (Row* row_at = page.rows + at; begin < end; ++row_at) {
          Row& r = *row_at;
          const uint64_t n = uint64_t{r.end} - r.begin;
          if (!row(r, begin, n << page.shift, uint64_t{1} << page.shift)) break;
          begin += n << page.shift;
        }
        if (begin == end) return;
      }
      open(page);
      each_of(page, base, begin, end, f);
    });
  }
  // Whether nobody has accessed [address, address + bytes), and the cells there may be of `unit` bytes in rows.
  bool is_fresh(uint64_t address, uint64_t bytes, uint64_t unit) {
    bool is = true;
    fresh_.clear();
    over_pages(address, bytes, unit | address, [&](Page& page, uint64_t base, uint64_t begin, uint64_t end) {
      const uint32_t at = row_at(page, begin - base);
      is = is && !page.all && page.row_count < kRows && page.shift == std::countr_zero(unit) &&
           (at == page.row_count || uint64_t{page.rows[at].begin} << page.shift >= end - base);
      fresh_.push_back({&page, at});
    });
    return is;
  }
  // Whether what was accessed of [address, address + bytes) lies in rows, and f(the first cell of a row) holds for each of them.
  template <class F>
  bool only_rows(uint64_t address, uint64_t bytes, uint64_t unit, F f) {
    bool all = true;
    over_pages(address, bytes, unit | address, [&](Page& page, uint64_t base, uint64_t begin, uint64_t end) {
      all = all && !page.all;
      for (uint32_t k = row_at(page, begin - base);
           all && k < page.row_count && base + (uint64_t{page.rows[k].begin} << page.shift) < end; ++k)
        all = f(std::as_const(page.rows[k].cell));
    });
    return all;
  }
  // Memory of which is_fresh() was just told is accessed by threads in order, of warps of `warp` threads: `each` bytes a thread.
  // `cell` is the first thread's; the next ones have the next numbers.
  void lay(uint64_t address, uint64_t bytes, uint32_t each, uint16_t warp, const C& cell) {
    const uint64_t last = address + bytes;
    uint64_t begin = address;
    for (const auto& [in, at] : fresh_) {
      Page& page = *in;
      const uint64_t base = begin / kPage * kPage, end = std::min(last, base + kPage);
      Row row{static_cast<uint16_t>((begin - base) >> page.shift),
              static_cast<uint16_t>((end - base) >> page.shift)};
      const auto threads = static_cast<uint32_t>((begin - address) / each);
      row.cell = cell, row.warp = warp;
      const auto count = [&](uint32_t& number, uint16_t& step) {
        if (number) number += threads, step = static_cast<uint16_t>(each >> page.shift);
      };
      count(row.cell.writer, row.writer_step);
      count(row.cell.changer, row.changer_step);
      count(row.cell.readers[0], row.reader_step);
      insert(page, at, row);
      begin = end;
    }
  }
  // Whether all of [address, address + bytes) lies in rows, and f(the first cell of a row) holds for each of them.
  template <class F>
  bool all_rows(uint64_t address, uint64_t bytes, uint64_t unit, F f) {
    bool all = true;
    over_pages(address, bytes, unit | address, [&](Page& page, uint64_t base, uint64_t begin, uint64_t end) {
      if (!all || page.all) return void(all = false);
      for (uint32_t k = row_at(page, begin - base); begin < end; ++k) {
        if (k == page.row_count || base + (uint64_t{page.rows[k].begin} << page.shift) > begin ||
            !f(std::as_const(page.rows[k].cell)))
          return void(all = false);
        begin = base + (uint64_t{page.rows[k].end} << page.shift);
      }
    });
    return all;
  }
  // The same threads that have laid [address, address + bytes) by a read, and whom nobody has joined, read it again: what lay() is
  // told. same(number, number now): the two are of one thread. False: it is not so, and nothing is changed.
  template <class F>
  bool lay_again(uint64_t address, uint64_t bytes, uint32_t each, uint16_t warp, uint32_t reader, F same) {
    for (const bool change : {false, true}) {
      bool all = true;
      over_pages(
          address, bytes, each | address, [&](Page& page, uint64_t base, uint64_t begin, uint64_t end) {
            if (!all || page.all) return void(all = false);
            const uint32_t k = row_at(page, begin - base);
            if (k == page.row_count) return void(all = false);
            Row& row = page.rows[k];
            const uint32_t number = reader + static_cast<uint32_t>((begin - address) / each);
            if (change) return void(row.cell.readers[0] = number);
            C only{};
            only.readers[0] = row.cell.readers[0];
            all = base + (uint64_t{row.begin} << page.shift) == begin &&
                  base + (uint64_t{row.end} << page.shift) == end && row.warp == warp &&
                  row.reader_step == each >> page.shift && row.cell == only && same(only.readers[0], number);
          });
      if (!all) return false;
    }
    return true;
  }
  // Nothing was accessed. What there is space for stays.
  void clear() {
    for (auto& [number, pages] : pages_)
      for (Page& page : *pages) {
        if (!page.row_count && !page.all) {
          page.shift = 4;
          continue;
        }
        drop_rows(page);
        if (page.all && !page.all->cells.empty()) spare_.push_back(std::move(page.all->cells));
        page = {};
      }
    open_.clear();
    oldest_ = open_cells_ = 0;
  }

 private:
  static constexpr size_t kOpenCells = size_t{1} << 19, kWords = sizeof(C) / sizeof(uint32_t);
  static constexpr uint32_t kRows = 32, kFewest = 2;  // of a page
  static_assert(sizeof(C) % sizeof(uint32_t) == 0);
  // All cells of a page, or what they are packed in.
  struct All {
    std::vector<C> cells;
    std::vector<uint32_t> packed;
  };
  struct Page {
    uint8_t shift = 4;
    uint8_t row_count = 0, row_space = 0;
    Row* rows = nullptr;  // those that were touched, in order, where there is no `all`
    std::unique_ptr<All> all;
  };
  using Pages = std::array<Page, kPage / 16>;  // that lie in a row

  template <class F>
  void over_pages(uint64_t address, uint64_t bytes, uint64_t unit, F f) {
    while (bytes) {
      const uint64_t base = address / kPage * kPage, end = std::min(address + bytes, base + kPage);
      f(page_of(address, unit), base, address, end);
      bytes -= end - address;
      address = end;
    }
  }
  template <class F>
  void each_of(Page& page, uint64_t base, uint64_t begin, uint64_t end, F& f) {
    const uint64_t size = uint64_t{1} << page.shift;
    for (uint64_t at = begin / size * size; at < end; at += size)
      f(page.all->cells[(at - base) >> page.shift], at, size);
  }

  Page& page_of(uint64_t address, uint64_t unit) {
    const uint64_t number = address / kPage, of_pages = number / std::tuple_size_v<Pages>;
    auto& [known, pages] = recent_[of_pages % recent_.size()];
    if (!pages || known != of_pages) {
      std::unique_ptr<Pages>& found = pages_[of_pages];
      if (!found) found = std::make_unique<Pages>();
      known = of_pages, pages = found.get();
    }
    Page& page = (*pages)[number % std::tuple_size_v<Pages>];
    const int shift = std::min(4, std::countr_zero(address | unit));
    if (shift < page.shift) refine(page, shift);
    return page;
  }
  void refine(Page& page, int shift) {
    const int by = page.shift - shift;
    page.shift = static_cast<uint8_t>(shift);
    if (!page.all) {
      for (Row& r : std::span(page.rows, page.row_count))
        for (uint16_t* n : {&r.begin, &r.end, &r.writer_step, &r.changer_step, &r.reader_step})
          *n = static_cast<uint16_t>(*n << by);
      return;
    }
    std::vector<C>& cells = page.all->cells;
    if (cells.empty()) unpack(page, by);
    std::vector<C> finer(kPage >> shift);
    for (size_t i = 0; i < finer.size(); ++i) finer[i] = cells[i >> by];
    open_cells_ += finer.size() - cells.size();
    cells = std::move(finer);
  }
  // The first row that ends after a byte of the page.
  static uint32_t row_at(const Page& page, uint64_t byte) {
    const Row* at = std::partition_point(page.rows, page.rows + page.row_count,
                                         [&](const Row& r) { return uint64_t{r.end} << page.shift <= byte; });
    return static_cast<uint32_t>(at - page.rows);
  }
  // Rows begin at `begin` and `end`, and there is no gap between: gives the first of them. kRows: there would be too many, or one
  // cannot be parted.
  uint32_t cut(Page& page, uint16_t begin, uint16_t end) {
    uint32_t first = row_at(page, uint64_t{begin} << page.shift);
    for (uint32_t k = first; k < page.row_count && page.rows[k].begin < end; ++k)
      if (page.rows[k].warp && !part_warps(page, k)) return kRows;
    while (first < page.row_count && page.rows[first].end <= begin) ++first;
    if (first < page.row_count && page.rows[first].begin == begin && page.rows[first].end == end)
      return first;
    if (page.row_count + 2u > kRows) return kRows;
    if (first < page.row_count && page.rows[first].begin < begin && !part(page, first++, begin)) return kRows;
    uint32_t k = first;
    for (uint16_t at = begin; at < end; at = page.rows[k++].end) {
      if (k < page.row_count && page.rows[k].begin == at) {
        if (page.rows[k].end > end && !part(page, k, end)) return kRows;
        continue;
      }
      if (page.row_count == kRows) return kRows;
      const uint16_t to = k < page.row_count ? std::min(end, page.rows[k].begin) : end;
      insert(page, k, Row{at, to});
    }
    return first;
  }
  // Row k becomes a row for each warp. False: there would be too many.
  bool part_warps(Page& page, uint32_t k) {
    for (const uint16_t end = page.rows[k].end;; ++k) {
      const uint32_t at = page.rows[k].end_of_warp();
      const bool is_last = at >= end;
      if (!is_last && !part(page, k, static_cast<uint16_t>(at))) return false;
      page.rows[k].warp = page.rows[k].reader_step = 0;
      if (is_last) return true;
    }
  }
  // Row k ends at `at`, where another begins. False: it cannot be parted, or there would be too many.
  bool part(Page& page, uint32_t k, uint16_t at) {
    if (page.row_count == kRows || !page.rows[k].parts_at(at)) return false;
    Row& r = page.rows[k];
    Row rest = r;
    rest.cell = r.at(at), rest.begin = at;
    r.end = at;
    insert(page, k + 1, rest);
    return true;
  }
  void insert(Page& page, uint32_t at, const Row& row) {
    if (page.row_count == page.row_space) {
      const uint32_t space = page.row_space ? 2u * page.row_space : kFewest;
      Row* rows = rows_for(space);
      std::copy_n(page.rows, page.row_count, rows);
      drop_rows(page);
      page.rows = rows, page.row_space = static_cast<uint8_t>(space);
    }
    Row* end = page.rows + page.row_count++;
    std::copy_backward(page.rows + at, end, end + 1);
    page.rows[at] = row;
  }
  // Space for rows comes from blocks, as the heap would take longer than all else that is done for most pages.
  Row* rows_for(uint32_t space) {
    std::vector<Row*>& unused = unused_[std::countr_zero(space)];
    if (!unused.empty()) {
      Row* rows = unused.back();
      unused.pop_back();
      return rows;
    }
    if (block_left_ < space) {
      block_left_ = block_size_ = std::min(2 * block_size_, kLargest);
      blocks_.push_back(std::make_unique_for_overwrite<Row[]>(block_left_));
    }
    return &blocks_.back()[block_left_ -= space];
  }
  void drop_rows(Page& page) {
    if (page.rows) unused_[std::countr_zero(page.row_space)].push_back(page.rows);
    page.rows = nullptr, page.row_space = 0;
  }
  // The page has its cells, and lies open.
  void open(Page& page) {
    if (page.all) {
      if (page.all->cells.empty()) unpack(page, 0);
    } else {
      page.all = std::make_unique<All>();
      page.all->cells = fresh(kPage >> page.shift);
      for (const Row& r : std::span(page.rows, page.row_count))
        for (uint32_t i = r.begin; i < r.end; ++i) page.all->cells[i] = r.at(i);
      drop_rows(page);
      page.row_count = 0;
      opened(page);
    }
  }
  void opened(Page& page) {
    open_.push_back(&page);
    open_cells_ += page.all->cells.size();
    for (; open_cells_ > kOpenCells && open_[oldest_] != &page; ++oldest_) pack(*open_[oldest_]);
    if (oldest_ > open_.size() / 2) {
      open_.erase(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(oldest_));
      oldest_ = 0;
    }
  }
  static std::span<uint32_t> words_of(std::vector<C>& cells) {
    return {reinterpret_cast<uint32_t*>(cells.data()), cells.size() * kWords};
  }
  void pack(Page& page) {
    All& all = *page.all;
    open_cells_ -= all.cells.size();
    all.packed = pack_cells(words_of(all.cells), kWords);
    spare_.push_back(std::move(all.cells));
    all.cells.clear();
  }
  // `by`: how much coarser the cells are that were packed.
  void unpack(Page& page, int by) {
    All& all = *page.all;
    all.cells = fresh(kPage >> (page.shift + by));
    unpack_cells(all.packed, kWords, words_of(all.cells));
    all.packed = {};
    opened(page);
  }
  std::vector<C> fresh(size_t count) {
    std::vector<C> cells;
    if (!spare_.empty()) {
      cells = std::move(spare_.back());
      spare_.pop_back();
    }
    cells.assign(count, {});
    return cells;
  }

  std::unordered_map<uint64_t, std::unique_ptr<Pages>> pages_;
  std::array<std::pair<uint64_t, Pages*>, 64> recent_{};
  std::vector<std::pair<Page*, uint32_t>>
      fresh_;  // what is_fresh() was told of: where in them a row would be
  std::vector<std::unique_ptr<Row[]>> blocks_;
  static constexpr uint32_t kLargest = 8192;
  uint32_t block_size_ = 256, block_left_ = 0;                   // rows of the last
  std::array<std::vector<Row*>, std::bit_width(kRows)> unused_;  // by how many there is space for
  std::vector<Page*> open_;                                      // which have their cells, oldest first
  size_t oldest_ = 0;                                            // of them
  size_t open_cells_ = 0;                                        // of them
  // Cells of packed pages, for those that are opened next: the heap would get holes, as what is packed is small.
  std::vector<std::vector<C>> spare_;
};

using History = Cells<Cell>;

}  // namespace triton_runner::machine
