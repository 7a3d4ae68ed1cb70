// SharedTiles keeps buffers of shared and tensor memory that a program stores and reads whole as tiles.
//
// A buffer's bytes lie swizzled in the arena, but what stores it and what reads it nearly always see the same
// elements through the same view. So a store keeps the tile itself, and a read through the same view (a
// transposed one too) shares it: nothing is copied. Any other access to those bytes first settles the tile:
// it is written to the arena, where a wrong view then reads other elements, as it would on the machine.
#pragma once
#include <vector>

#include "machine/memdesc.h"

namespace triton_runner::tile {

// Elements of a buffer: those of index (i, j, ...) at data() + (i * stride[0] + j * stride[1] ...) elements.
struct SharedElements {
  Buffer* buffer;  // a reference
  int64_t offset;  // bytes
  int64_t stride[kMaxMemRank];
  std::byte* data() const { return buffer->data() + offset; }
};

class SharedTiles {
 public:
  ~SharedTiles() { clear(); }
  // Tensor memory: the byte of the arena where it begins (-1: there is none), and the bytes of a lane.
  struct Lanes {
    int64_t first = -1, row = 1;
  };
  // A new program: nothing is kept yet. `keep` false: nothing will be, for who looks at the arena after each
  // instruction.
  void begin(BufferPool* pool, std::byte* arena, Lanes tensor_memory, bool keep = true);
  void clear();

  // The plan's buffer at `d` becomes `data`, elements in the order of the plan. Takes over a reference, and
  // from then on they only change if nobody else has one.
  void put(const MemPlan& plan, MemDesc d, Buffer* data);
  SharedElements get(const MemPlan& plan, MemDesc d);
  // Elements of nothing else, in the plan's own order: a reference for the caller.
  Buffer* get_planned(const MemPlan& plan, MemDesc d);
  // The same, to be changed and put back: the caller has the only reference.
  Buffer* take(const MemPlan& plan, MemDesc d);
  // Before [first, first + bytes) of the arena is read or written directly.
  void settle(int64_t first, int64_t bytes);
  void settle_all();

 private:
  struct Tile {
    const MemPlan* plan;
    MemDesc at;
    Buffer* data;
    bool changed;    // the arena lacks it
    int64_t lo, hi;  // bytes it may touch; of tensor memory along each row, beginning at kFirstColumn
    const MemPlan* asked = nullptr;  // that found it last, and where: the next iteration asks again
    uint32_t asked_flip = 0;
    SharedElements where{};
  };
  Tile tile_of(const MemPlan& plan, MemDesc d, Buffer* data, bool changed) const;
  // The tile that has the plan's buffer, or null; sets out.offset and stride.
  Tile* find(const MemPlan& plan, MemDesc d, SharedElements& out);
  void write_back(const Tile& tile);
  void settle_overlaps(const Tile& tile);
  void remove(size_t i);

  BufferPool* pool_ = nullptr;
  std::byte* arena_ = nullptr;
  Lanes tensor_memory_;
  bool keep_ = true;
  std::vector<Tile> tiles_;
};

}  // namespace triton_runner::tile
