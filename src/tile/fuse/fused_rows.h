// Rows finds the strips of a tile whose elements do not lie in one run: where those of one are, and their
// copies to and from scratch.
#pragma once
#include <algorithm>
#include <cstring>

#include <triton_runner/num/kernels.h>

#include "ops/lazy.h"
#include "task.h"

namespace triton_runner::tile {

// Elements of a tile that do not lie in one run: the rows of a view, or of a block of memory of which a
// mask turns on a box.
struct Rows {
  uint64_t address;           // of the element at index 0, which the box may leave out
  int64_t stride[kLazyRank];  // bytes
  int64_t lo[kLazyRank], hi[kLazyRank];
  const std::byte* other;  // what is outside of the box: a tile, or (null) `bits`
  uint64_t bits;
};

// Splits a strip into runs within one row: f(elements before it in the strip, address of its first element,
// length, and which of them, first to last, are inside of the box).
template <class F>
void each_run(const Rows& r, const TileType& tile, int64_t begin, int64_t m, F f) {
  int last = tile.rank - 1;
  int64_t inner = tile.shape[last];
  int64_t row = begin / inner, col = begin - row * inner;
  for (int64_t done = 0; done < m; ++row, col = 0) {
    int64_t length = std::min(inner - col, m - done), rest = row;
    uint64_t address = r.address + static_cast<uint64_t>(col * r.stride[last]);
    bool inside = true;
    for (int d = last - 1; d >= 0; --d) {
      int64_t i = rest % tile.shape[d];
      rest /= tile.shape[d];
      address += static_cast<uint64_t>(i * r.stride[d]);
      inside &= i >= r.lo[d] && i < r.hi[d];
    }
    int64_t lo = inside ? std::clamp<int64_t>(r.lo[last] - col, 0, length) : 0;
    int64_t hi = inside ? std::clamp<int64_t>(r.hi[last] - col, lo, length) : lo;
    f(done, address, length, lo, hi);
    done += length;
  }
}

// Elements begin .. begin + m as one run, at the index `begin`; null where they are not one, or not all
// inside of the box.
inline std::byte* in_place(const Rows& r, const TileType& tile, int64_t size, int64_t begin, int64_t m) {
  int last = tile.rank - 1;
  if (r.stride[last] != size) return nullptr;
  std::byte* found = nullptr;
  if (tile.rank > 1 && begin % tile.shape[last] + m > tile.shape[last]) return nullptr;
  each_run(r, tile, begin, m, [&](int64_t, uint64_t address, int64_t length, int64_t lo, int64_t hi) {
    if (lo == 0 && hi == length) found = reinterpret_cast<std::byte*>(address);
  });
  return found;
}

// Nothing but rows from end to end, and all of them inside of the box.
inline bool whole_rows(const Rows& r, const TileType& tile, int64_t begin, int64_t m) {
  for (int d = 0; d < tile.rank; ++d)
    if (r.lo[d] > 0 || r.hi[d] < tile.shape[d]) return false;
  const int64_t cols = tile.shape[tile.rank - 1];
  return begin % cols == 0 && m % cols == 0;
}

inline void fetch(const Rows& r, const TileType& tile, int64_t size, int64_t begin, int64_t m,
                  std::byte* out) {
  int64_t stride = r.stride[tile.rank - 1];
  if (tile.rank == 2 && whole_rows(r, tile, begin, m)) {
    const int64_t cols = tile.shape[1], row = begin / cols, rows = m / cols;
    const void* from = reinterpret_cast<const void*>(r.address + static_cast<uint64_t>(row * r.stride[0]));
    if (stride == 0 && r.stride[0] == size) return num::repeat(out, from, rows, cols, 1, size);
    if (stride == size) return num::copy_rows(out, cols * size, from, r.stride[0], rows, cols * size);
  }
  auto fill = [&](int64_t from, int64_t to) {
    if (from == to) return;
    if (r.other)
      std::memcpy(out + from * size, r.other + (begin + from) * size, (to - from) * size);
    else
      num::fill(out + from * size, r.bits, to - from, size);
  };
  each_run(r, tile, begin, m, [&](int64_t at, uint64_t address, int64_t length, int64_t lo, int64_t hi) {
    fill(at, at + lo);
    const void* from = reinterpret_cast<const void*>(address + static_cast<uint64_t>(lo * stride));
    std::byte* to = out + (at + lo) * size;
    if (lo == hi) {
    } else if (stride == size) {
      std::memcpy(to, from, (hi - lo) * size);
    } else if (stride == 0) {
      uint64_t bits = 0;
      std::memcpy(&bits, from, size);
      num::fill(to, bits, hi - lo, size);
    } else {
      num::copy_strided(to, 1, from, stride / size, hi - lo, size);
    }
    fill(at + hi, at + length);
  });
}

inline void put(const Rows& r, const TileType& tile, int64_t size, int64_t begin, int64_t m,
                const std::byte* in, bool far) {
  each_run(r, tile, begin, m, [&](int64_t at, uint64_t address, int64_t, int64_t lo, int64_t hi) {
    if (lo == hi) return;
    void* to = reinterpret_cast<void*>(address + static_cast<uint64_t>(lo * size));
    if (far)
      num::copy_past_caches(to, in + (at + lo) * size, (hi - lo) * size);
    else
      std::memcpy(to, in + (at + lo) * size, (hi - lo) * size);
  });
}

}  // namespace triton_runner::tile
