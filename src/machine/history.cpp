// Packs the pages of a history that were not touched lately. A cell is six numbers, of which most cells have
// one or two; and where a warp or a program has gone through memory in order, numbers are equal or rise by
// one every few cells:
//
//   64 cells of two warps that stored 4 bytes a thread: writer 7*32 .. 7*32+31, 8*32 .. 8*32+31; changer: the same; no others
//   mask of planes: writer, and changer as writer | run of 32, up every cell: 7*32 | run of 32, up every cell: 8*32
//
// Each of the six numbers is a plane of its own. A plane is runs: a word that says how many cells and every how many of them
// the number rises; and the first number, or (kEach) the number of each cell.
#include <triton_runner/machine/history.h>

#include <array>
#include <bit>
#include <cstring>

namespace triton_runner::machine {
namespace {

constexpr size_t kPlanes = 6, kWriter = 0, kChanger = 1;
using Numbers = std::array<uint32_t, kPlanes>;
static_assert(sizeof(Cell) == sizeof(Numbers));
constexpr uint32_t kSameChanger = 1u << kPlanes;  // of the mask
constexpr uint32_t kEach = 1u << 31, kBits = 11;  // of a run
constexpr size_t kShortest = 3;                   // cells of a run that is none of kEach

// Returns how many cells from `first` on are equal or rise, and (step) every how many.
size_t run_of(const std::vector<uint32_t>& plane, size_t first, size_t& step) {
  const uint32_t start = plane[first];
  size_t n = 1;
  while (first + n < plane.size() && plane[first + n] == start) ++n;
  step = n;
  uint32_t number = start + 1;
  for (size_t k = 0; first + n < plane.size() && plane[first + n] == number; ++n)
    if (++k == step) ++number, k = 0;
  return n;
}

void pack_plane(const std::vector<uint32_t>& plane, std::vector<uint32_t>& out) {
  size_t each = 0;  // where the numbers of a kEach begin, one after its word; 0: none is open
  for (size_t at = 0, step; at < plane.size();) {
    const size_t n = run_of(plane, at, step);
    if (n >= kShortest || (!each && at + n == plane.size())) {
      out.push_back(static_cast<uint32_t>(n | step << kBits));
      out.push_back(plane[at]);
      each = 0, at += n;
      continue;
    }
    if (!each) out.push_back(kEach), each = out.size();
    ++out[each - 1];
    out.push_back(plane[at++]);
  }
}

}  // namespace

void History::pack(Page& page) {
  const std::vector<Cell>& cells = page.cells;
  const auto first = std::bit_cast<Numbers>(cells[0]);
  Numbers any = first, differs{};
  uint32_t other_changer = first[kChanger] ^ first[kWriter];
  if (std::memcmp(cells.data(), cells.data() + 1, (cells.size() - 1) * sizeof(Cell)) != 0)
    for (const Cell& cell : cells) {
      const auto numbers = std::bit_cast<Numbers>(cell);
      for (size_t p = 0; p < kPlanes; ++p) any[p] |= numbers[p], differs[p] |= numbers[p] ^ first[p];
      other_changer |= numbers[kChanger] ^ numbers[kWriter];
    }
  if (!other_changer) any[kChanger] = 0;
  packing_.assign(1, other_changer ? 0 : kSameChanger);
  for (size_t p = 0; p < kPlanes; ++p) {
    if (!any[p]) continue;
    packing_[0] |= 1u << p;
    if (!differs[p]) {
      packing_.push_back(static_cast<uint32_t>(cells.size() | cells.size() << kBits));
      packing_.push_back(first[p]);
      continue;
    }
    plane_.resize(cells.size());
    for (size_t i = 0; i < cells.size(); ++i) plane_[i] = std::bit_cast<Numbers>(cells[i])[p];
    pack_plane(plane_, packing_);
  }
  page.packed = packing_;
  spare_.push_back(std::move(page.cells));
  page.cells.clear();
}

void History::unpack(Page& page) {
  const size_t count = kPage >> page.shift;
  std::vector<Cell> cells;
  if (!spare_.empty()) {
    cells = std::move(spare_.back());
    spare_.pop_back();
  }
  cells.assign(count, {});
  const std::vector<uint32_t>& packed = page.packed;
  size_t word = 1;
  for (size_t p = 0; p < kPlanes && !packed.empty(); ++p) {
    if (!(packed[0] >> p & 1)) continue;
    for (size_t at = 0; at < count;) {
      const uint32_t run = packed[word++];
      const size_t n = run & ((1u << kBits) - 1), step = (run & ~kEach) >> kBits;
      for (size_t i = 0; i < n; ++i) {
        auto numbers = std::bit_cast<Numbers>(cells[at + i]);
        numbers[p] = run & kEach ? packed[word + i] : packed[word] + static_cast<uint32_t>(i / step);
        cells[at + i] = std::bit_cast<Cell>(numbers);
      }
      word += run & kEach ? n : 1;
      at += n;
    }
  }
  if (!packed.empty() && (packed[0] & kSameChanger))
    for (Cell& cell : cells) cell.changer = cell.writer;
  page.packed = {};
  page.cells = std::move(cells);
}

void History::open(uint64_t number, int shift) {
  Page& page = pages_[number];
  last_ = &page, last_number_ = number;
  if (page.cells.empty()) {
    unpack(page);
    open_.push_back(&page);
    open_cells_ += page.cells.size();
  }
  if (shift < page.shift) {
    std::vector<Cell> finer(kPage >> shift);
    for (size_t i = 0; i < finer.size(); ++i) finer[i] = page.cells[i << shift >> page.shift];
    open_cells_ += finer.size() - page.cells.size();
    page.cells = std::move(finer);
    page.shift = shift;
  }
  for (; open_cells_ > kOpenCells && open_.front() != &page; open_.pop_front()) {
    open_cells_ -= open_.front()->cells.size();
    pack(*open_.front());
  }
}

}  // namespace triton_runner::machine
