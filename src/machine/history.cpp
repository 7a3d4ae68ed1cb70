// Packs the pages of a history that were not touched lately. A cell is six numbers or more, of which most cells have
// one or two; and where a warp or a program has gone through memory in order, numbers are equal or rise by
// one every few cells:
//
//   64 cells of two warps that stored 4 bytes a thread: writer 7*32 .. 7*32+31, 8*32 .. 8*32+31; changer: the same; no others
//   mask of planes: writer, and changer as writer | run of 32, up every cell: 7*32 | run of 32, up every cell: 8*32
//
// Each of the numbers is a plane of its own. A plane is runs: a word that says how many cells and every how many of them
// the number rises; and the first number, or (kEach) the number of each cell.
#include <triton_runner/machine/history.h>

#include <cstring>

namespace triton_runner::machine {
namespace {

constexpr size_t kWriter = 0, kChanger = 1;
constexpr uint32_t kSameChanger = 1u << 31;       // of the mask
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

std::optional<bool> all_or_none(const std::byte* now, const std::byte* then, uint64_t bytes, uint64_t size) {
  using Words = uint32_t __attribute__((vector_size(16)));
  const auto differs = [&](uint64_t at) {
    if (size != sizeof(uint32_t)) return std::memcmp(now + at, then + at, size) != 0;
    return std::memcmp(now + at, then + at, sizeof(uint32_t)) != 0;  // no call
  };
  const bool first = differs(0);
  uint64_t i = 0;
  if (size == sizeof(uint32_t)) {
    Words same{}, differ{};
    for (; i + sizeof(Words) <= bytes; i += sizeof(Words)) {
      Words a, b;
      std::memcpy(&a, now + i, sizeof a), std::memcpy(&b, then + i, sizeof b);
      const Words equal = (Words)(a == b);
      same |= equal, differ |= ~equal;
    }
    const Words other = first ? same : differ;
    if (other[0] | other[1] | other[2] | other[3]) return std::nullopt;
  }
  for (; i < bytes; i += size)
    if (differs(i) != first) return std::nullopt;
  return first;
}

std::vector<uint32_t> pack_cells(std::span<const uint32_t> cells, size_t words) {
  const size_t count = cells.size() / words;
  std::vector<std::vector<uint32_t>> planes(words, std::vector<uint32_t>(count));
  for (size_t p = 0; p < words; ++p)
    for (size_t i = 0; i < count; ++i) planes[p][i] = cells[i * words + p];
  std::vector<uint32_t> packed(1);
  for (size_t p = 0; p < words; ++p) {
    uint32_t any = 0, differs = 0;
    for (const uint32_t number : planes[p]) any |= number, differs |= number ^ planes[p][0];
    if (!any) continue;
    if (p == kChanger && planes[p] == planes[kWriter]) {
      packed[0] |= kSameChanger;
      continue;
    }
    packed[0] |= 1u << p;
    if (differs) {
      pack_plane(planes[p], packed);
    } else {
      packed.push_back(static_cast<uint32_t>(count | count << kBits));
      packed.push_back(planes[p][0]);
    }
  }
  packed.shrink_to_fit();
  return packed;
}

void unpack_cells(std::span<const uint32_t> packed, size_t words, std::span<uint32_t> cells) {
  const size_t count = cells.size() / words;
  size_t word = 1;
  for (size_t p = 0; p < words; ++p) {
    if (!(packed[0] >> p & 1)) continue;
    for (size_t at = 0; at < count;) {
      const uint32_t run = packed[word++];
      const size_t n = run & ((1u << kBits) - 1), step = (run & ~kEach) >> kBits;
      for (size_t i = 0; i < n; ++i)
        cells[(at + i) * words + p] =
            run & kEach ? packed[word + i] : packed[word] + static_cast<uint32_t>(i / step);
      word += run & kEach ? n : 1;
      at += n;
    }
  }
  if (packed[0] & kSameChanger)
    for (size_t i = 0; i < count; ++i) cells[i * words + kChanger] = cells[i * words + kWriter];
}

}  // namespace triton_runner::machine
