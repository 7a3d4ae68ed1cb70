// Implements SharedTiles: decides which tiles are kept, and which of them an access has to see in the arena.
#include "machine/shared_tiles.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/num/kernels.h>

namespace triton_runner::tile {
namespace {

constexpr int64_t kFirstColumn = int64_t{1} << 40;  // columns of tensor memory are numbered apart from bytes

}  // namespace

void SharedTiles::begin(BufferPool* pool, std::byte* arena, Lanes tensor_memory, bool keep) {
  clear();
  pool_ = pool;
  arena_ = arena;
  tensor_memory_ = tensor_memory;
  keep_ = keep;
}

void SharedTiles::clear() {
  for (const Tile& t : tiles_) pool_->release(t.data);
  tiles_.clear();
}

SharedTiles::Tile SharedTiles::tile_of(const MemPlan& plan, MemDesc d, Buffer* data, bool changed) const {
  int64_t lo = d.base;
  if (plan.in_tensor_memory()) lo = kFirstColumn + (lo - tensor_memory_.first) % tensor_memory_.row;
  return {&plan, d, data, changed, lo, lo + plan.span()};
}

SharedTiles::Tile* SharedTiles::find(const MemPlan& plan, MemDesc d, SharedElements& out) {
  for (Tile& t : tiles_) {
    if (t.at.base != d.base) continue;
    const uint32_t flip = t.at.flip ^ d.flip;
    if (t.asked != &plan || t.asked_flip != flip) {
      if (!t.plan->holds(plan, flip, &out.offset, out.stride)) continue;
      out.offset *= plan.element_size();
      if (&plan == t.plan) return &t;  // who stores it: the readers ask the same again
      t.asked = &plan;
      t.asked_flip = flip;
      t.where = out;
    }
    out = t.where;
    return &t;
  }
  return nullptr;
}

void SharedTiles::write_back(const Tile& tile) {
  if (tile.changed) tile.plan->write(arena_, tile.at, tile.data->data());
}

void SharedTiles::remove(size_t i) {
  pool_->release(tiles_[i].data);
  tiles_[i] = tiles_.back();
  tiles_.pop_back();
}

void SharedTiles::settle_overlaps(const Tile& tile) { settle(tile.lo, tile.hi - tile.lo); }

void SharedTiles::put(const MemPlan& plan, MemDesc d, Buffer* data) {
  if (!keep_) {
    plan.write(arena_, d, data->data());
    return pool_->release(data);
  }
  SharedElements where;
  if (Tile* old = find(plan, d, where); old && old->plan->bytes() == plan.bytes()) {
    pool_->release(old->data);
    old->data = data;
    if (old->plan != &plan) old->plan = &plan, old->asked = nullptr;
    old->changed = true;
    return;
  }
  const Tile tile = tile_of(plan, d, data, true);
  settle_overlaps(tile);
  tiles_.push_back(tile);
}

SharedElements SharedTiles::get(const MemPlan& plan, MemDesc d) {
  SharedElements out;
  Tile* kept = find(plan, d, out);
  if (!kept) {
    Tile tile = tile_of(plan, d, nullptr, false);
    settle_overlaps(tile);
    tile.data = pool_->allocate(plan.bytes());
    plan.read(tile.data->data(), arena_, d);
    out.offset = 0;
    std::copy(plan.strides().begin(), plan.strides().end(), out.stride);
    if (!keep_) {
      out.buffer = tile.data;
      return out;
    }
    kept = &tiles_.emplace_back(tile);
  }
  out.buffer = kept->data;
  ++out.buffer->refs;
  return out;
}

Buffer* SharedTiles::get_planned(const MemPlan& plan, MemDesc d) {
  SharedElements where;
  const Tile* kept = find(plan, d, where);
  if (kept && (kept->plan->bytes() != plan.bytes() ||
               !std::equal(plan.strides().begin(), plan.strides().end(), where.stride)))
    settle_overlaps(*kept);
  return get(plan, d).buffer;
}

Buffer* SharedTiles::take(const MemPlan& plan, MemDesc d) {
  Buffer* data = get_planned(plan, d);
  if (!keep_) return data;
  if (data->refs == 2) {  // the kept tile's and the caller's become one
    SharedElements where;
    Tile* kept = find(plan, d, where);
    *kept = tiles_.back();
    tiles_.pop_back();
    data->refs = 1;
    return data;
  }
  Buffer* own = pool_->allocate(plan.bytes());
  std::memcpy(own->data(), data->data(), plan.bytes());
  pool_->release(data);
  return own;
}

void SharedTiles::settle(int64_t first, int64_t bytes) {
  for (size_t i = tiles_.size(); i-- > 0;) {
    if (tiles_[i].lo >= first + bytes || first >= tiles_[i].hi) continue;
    write_back(tiles_[i]);
    remove(i);
  }
}

void SharedTiles::settle_all() {
  for (const Tile& t : tiles_) write_back(t);
  clear();
}

}  // namespace triton_runner::tile
