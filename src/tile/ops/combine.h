// Declares what tt.reduce, tt.scan and tt.map_elementwise share: a function of scalars, lowered for many
// elements at once, and the tiles that it is called with.
#pragma once
#include <cstring>
#include <vector>

#include "lowering.h"
#include "task.h"

namespace triton_runner::tile {

// A tile as [outer, length, inner] around an axis of it.
struct Axis {
  int64_t outer, length, inner;
};
Axis axis_of(const TileType& ty, int64_t axis);

// A function lowered for one number of elements.
struct Level {
  int64_t n;  // elements at once; 0: scalars
  std::vector<Slot> args, results;
  const Instr* const* entry;
};

// Returns whether it can be called for one element at a time only: it has control flow, or tiles of its own.
bool needs_scalars(const ir::Region& region);
// Adds what the region reads from outside of it to `operands`. places: see Lowering::vector_region.
Level make_level(Lowering& l, const ir::Region& region, int64_t n, std::vector<Slot>* operands,
                 const Places* places = nullptr);

// Elements of several tiles, given back to the pool in the end.
struct Tiles {
  Task& t;
  std::vector<Buffer*> buffers;
  explicit Tiles(Task& task) : t(task) {}
  ~Tiles() {
    for (Buffer* b : buffers)
      if (b) t.worker->pool->release(b);
  }
  std::byte* data(uint32_t i) const { return buffers[i]->data(); }
  // copy(to, from, type) of the first `count` operands; others are what the function reads besides.
  template <class Copy>
  void copy_operands(const Instr& in, uint32_t count, Copy copy) {
    for (uint32_t i = 0; i < count; ++i) {
      const TileType& ty = t.type(in.operand(i));
      const void* from = t.dense(in.operand(i));
      buffers.push_back(t.worker->pool->allocate(ty.bytes));
      copy(static_cast<void*>(data(i)), from, ty);
    }
  }
  void copy_operands(const Instr& in, uint32_t count) {
    copy_operands(in, count,
                  [](void* to, const void* from, const TileType& ty) { std::memcpy(to, from, ty.bytes); });
  }
};

// Runs a combine function on left and right, which it takes over;
// the results are copied to `out`. False: the task stopped.
bool combine(Task& t, const Level& level, std::vector<Buffer*>& left, std::vector<Buffer*>& right,
             const std::vector<void*>& out);
// One round of a combine function: n elements of each operand's type on either side.
struct Combination {
  Tiles left, right, combined;
  Combination(Task& t, const Instr& in, uint32_t count, int64_t n) : left(t), right(t), combined(t) {
    for (uint32_t i = 0; i < count; ++i)
      for (Tiles* tiles : {&left, &right, &combined})
        tiles->buffers.push_back(t.worker->pool->allocate(n * t.type(in.operand(i)).size));
  }
  bool run(const Level& level) {
    std::vector<void*> out;
    for (Buffer* buffer : combined.buffers) out.push_back(buffer->data());
    return combine(left.t, level, left.buffers, right.buffers, out);
  }
};
// Makes the elements at `data` the value of a result.
void give(Task& t, Slot result, const void* data);

}  // namespace triton_runner::tile
