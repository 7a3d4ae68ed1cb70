// What tt.reduce, tt.scan and tt.map_elementwise share: a function of scalars, lowered for many elements at
// once, and the tiles that it is called with.
#pragma once
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

// Whether it can be called for one element at a time only: it has control flow, or tiles of its own.
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
};

// Runs a combine function on left and right, which it takes over;
// the results are copied to `out`. False: the task stopped.
bool combine(Task& t, const Level& level, std::vector<Buffer*>& left, std::vector<Buffer*>& right,
             const std::vector<void*>& out);
// Makes the elements at `data` the value of a result.
void give(Task& t, Slot result, const void* data);

}  // namespace triton_runner::tile
