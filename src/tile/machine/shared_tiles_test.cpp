// Tests kept tiles against an arena that is written and read each time: random stores, loads and direct
// accesses through views that overlap, are transposed, slices, or place elements otherwise.
#include "machine/shared_tiles.h"

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <triton_runner/tile/encoding.h>
#include "test.h"

namespace triton_runner::tile {
namespace {

constexpr int kRows = 16, kCols = 32, kBytes = kRows * kCols * 4;

// i32 elements, swizzled in groups of `vec`; `columns` first: the transposed view of the same bytes.
MemView view_of(int vec, int phases, bool transposed, std::vector<int64_t> shape) {
  MemView view;
  view.element = num::Type::kI32;
  view.size = 4;
  view.encoding.kind = layout::EncodingKind::kSwizzledShared;
  view.encoding.vec = vec;
  view.encoding.per_phase = 1;
  view.encoding.max_phase = phases;
  view.encoding.order = {1, 0};
  view.allocated = {kRows, kCols};
  view.shape = shape;
  auto inverse = to_linear_layout(view.encoding, view.allocated)->pseudo_invert();
  for (size_t d = 0; d < 2; d++) {
    std::vector<uint32_t> bits;
    for (int64_t v = 1; v < shape[d]; v *= 2) {
      std::vector<int64_t> index(2, 0);
      index[d] = v;
      bits.push_back(static_cast<uint32_t>(inverse->apply(index)[0]));
    }
    view.place.push_back(bits);
  }
  if (transposed) {
    std::swap(view.place[0], view.place[1]);
    std::swap(view.shape[0], view.shape[1]);
    std::swap(view.allocated[0], view.allocated[1]);
  }
  view.buffer_bytes = kBytes;
  return view;
}

struct Access {
  MemView view;
  MemPlan plan;
  MemDesc at;
};

}  // namespace

static void check_against_arena(bool keep) {
  std::vector<Access> accesses;
  auto add = [&](MemView view, std::vector<int> order, MemDesc at) {
    MemPlan plan(view, std::move(order));
    accesses.push_back({std::move(view), std::move(plan), at});
  };
  for (uint32_t base : {0u, uint32_t{kBytes}}) {
    add(view_of(4, 4, false, {kRows, kCols}), {}, {base, 0});
    add(view_of(4, 4, false, {kRows, kCols}), {0, 1}, {base, 0});  // columns contiguous
    add(view_of(4, 4, true, {kRows, kCols}), {}, {base, 0});
    add(view_of(1, 1, false, {kRows, kCols}), {}, {base, 0});  // other places
    const MemView whole = view_of(4, 4, false, {kRows, kCols});
    for (int64_t j : {0, 16}) {
      const int64_t corner[2] = {8, j};
      add(view_of(4, 4, false, {8, 16}), {}, {base, whole.place_of(corner)});
    }
  }
  alignas(64) std::byte kept[2 * kBytes], plain[2 * kBytes];
  std::memset(kept, 0xff, sizeof kept);
  std::memset(plain, 0xff, sizeof plain);
  BufferPool pool;
  SharedTiles tiles;
  tiles.begin(&pool, kept, {}, keep);
  std::mt19937 random(5);
  int32_t next = 0;
  bool right = true;
  for (int step = 0; step < 4000; step++) {
    const Access& a = accesses[random() % accesses.size()];
    const int64_t n = a.view.n();
    switch (random() % 5) {
      case 0:
      case 1: {  // store
        Buffer* b = pool.allocate(n * 4);
        auto* p = reinterpret_cast<int32_t*>(b->data());
        std::iota(p, p + n, next), next += static_cast<int32_t>(n);
        a.plan.write(plain, a.at, p);
        tiles.put(a.plan, a.at, b);
        break;
      }
      case 2: {  // load
        std::vector<int32_t> expected(n);
        a.plan.read(expected.data(), plain, a.at);
        const SharedElements e = tiles.get(a.plan, a.at);
        const auto* p = reinterpret_cast<const int32_t*>(e.data());
        for (int64_t i = 0; i < a.view.shape[0]; i++) {
          for (int64_t j = 0; j < a.view.shape[1]; j++)
            right &= p[i * e.stride[0] + j * e.stride[1]] ==
                     expected[i * a.plan.strides()[0] + j * a.plan.strides()[1]];
        }
        pool.release(e.buffer);
        break;
      }
      case 3: {  // change in place, while somebody else may hold the elements
        Buffer* other = random() % 2 ? tiles.get(a.plan, a.at).buffer : nullptr;
        const int32_t before = other ? *reinterpret_cast<int32_t*>(other->data()) : 0;
        Buffer* b = tiles.take(a.plan, a.at);
        std::vector<int32_t> expected(n);
        a.plan.read(expected.data(), plain, a.at);
        right &= std::memcmp(b->data(), expected.data(), n * 4) == 0;
        ++*reinterpret_cast<int32_t*>(b->data());
        ++expected[0];
        a.plan.write(plain, a.at, expected.data());
        tiles.put(a.plan, a.at, b);
        if (other) {
          right &= *reinterpret_cast<int32_t*>(other->data()) == before;
          pool.release(other);
        }
        break;
      }
      default: {  // direct
        const int64_t at = random() % (2 * kBytes / 4) * 4;
        tiles.settle(at, 4);
        right &= std::memcmp(kept + at, plain + at, 4) == 0;
        std::memcpy(kept + at, &next, 4);
        std::memcpy(plain + at, &next, 4);
        next++;
      }
    }
  }
  CHECK(right);
  tiles.settle_all();
  CHECK(std::memcmp(kept, plain, sizeof kept) == 0);
}

TEST(kept_tiles_are_what_the_arena_would_hold) {
  check_against_arena(true);
  check_against_arena(false);
}

TEST(tiles_of_one_view_are_shared_not_copied) {
  const MemView view = view_of(4, 4, false, {kRows, kCols}), turned = view_of(4, 4, true, {kRows, kCols});
  const MemPlan store(view), load(turned, {0, 1});
  alignas(64) std::byte arena[kBytes];
  BufferPool pool;
  SharedTiles tiles;
  tiles.begin(&pool, arena, {});
  Buffer* b = pool.allocate(kBytes);
  tiles.put(store, {0, 0}, b);
  const SharedElements whole = tiles.get(load, {0, 0});
  CHECK(whole.buffer == b);
  CHECK_EQ(whole.offset, 0);
  CHECK_EQ(whole.stride[0], 1);
  CHECK_EQ(whole.stride[1], kCols);
  // A corner of it, too.
  const int64_t corner[2] = {8, 16};
  const MemPlan part(view_of(4, 4, false, {8, 16}));
  const SharedElements slice = tiles.get(part, {0, view.place_of(corner)});
  CHECK(slice.buffer == b);
  CHECK_EQ(slice.offset, (8 * kCols + 16) * 4);
  CHECK_EQ(slice.stride[0], kCols);
  for (const SharedElements& e : {whole, slice}) pool.release(e.buffer);
}

}  // namespace triton_runner::tile
