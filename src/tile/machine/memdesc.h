// Declares memory descriptors: where in a program's shared memory (or tensor memory) each element of a buffer
// lies.
//
// Shared memory is one arena of bytes a program; tensor memory is a part of it with a row of bytes a lane. An
// element of a buffer lies at
//     base + (place(index) ^ flip) * element size        (and padding between, if the encoding has some)
// where place() is linear over GF(2) and comes from the encoding and the shape that was allocated: static, a
// MemView. `base` and `flip` are what a MemDesc holds at run time: indexing a ring of buffers moves the base,
// a slice flips bits of the place. Transposed, reshaped and reinterpreted descriptors have the same base and
// flip and another MemView, so that a wrong encoding reads other elements, as it would on the machine.
#pragma once
#include <cstdint>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/layout/encoding.h>
#include <triton_runner/machine/tensor_memory.h>

#include "lowering.h"
#include "ops/elements.h"
#include "task.h"

namespace triton_runner::tile {

inline constexpr int64_t kTensorMemoryRows = machine::kTensorLanes;
inline constexpr int64_t kScaleLanes = machine::kTensorScaleLanes;

inline constexpr size_t kMaxMemRank = 8;

struct MemDesc {
  uint32_t base;       // byte in the arena
  uint32_t flip;       // elements
  uint32_t block = 0;  // 1 + the rank of the block of the cluster whose arena it is; 0: the program's own
};
inline uint32_t address_of(MemDesc d) {
  return d.base + d.flip * 8;
}  // of an mbarrier: its elements have 8 bytes

// The static part of a memdesc value.
struct MemView {
  num::Type element;
  int size;  // bytes an element
  bool tensor_memory = false;
  std::vector<int64_t> leading;    // dimensions before those that the encoding covers: a ring of buffers
  std::vector<int64_t> shape;      // of one buffer, or of the slice of it
  std::vector<int64_t> allocated;  // of one buffer
  layout::Encoding encoding;
  std::vector<std::vector<uint32_t>> place;  // [dim of shape][bit]: elements
  int64_t buffer_bytes = 0;                  // of one buffer (tensor memory: bytes along a row)
  int64_t row_bytes = 0;                     // of a lane of tensor memory
  int64_t n() const;                         // elements of `shape`
  int64_t total() const;                     // elements of leading dimensions and shape
  int64_t bytes() const;                     // of all buffers of the ring
  std::vector<int64_t> whole_shape() const;  // leading dimensions and shape
  uint32_t place_of(std::span<const int64_t> index) const;
  int64_t stride_of_leading(size_t d) const;  // bytes
  int64_t splits() const;                     // blocks of a cluster that each have their own part
};

// The view of a value of type !ttg.memdesc; null after an error (reported at `op`).
const MemView* mem_view(Lowering& l, const ir::Value& value, const ir::Op& op);

// The same memory as a buffer of another shape in the same encoding; null after an error.
const MemView* reshaped(Lowering& l, const ir::Op& op, const MemView& view, std::vector<int64_t> shape);

// Copies between a buffer and contiguous elements, worked out once an instruction.
class MemPlan {
 public:
  // `order`: dimensions of the contiguous side, minor first;
  // empty for row-major. Covers leading dimensions too.
  MemPlan(const MemView& view, std::vector<int> order = {});

  void read(void* out, const std::byte* arena, MemDesc d) const;
  void write(std::byte* arena, MemDesc d, const void* in) const;
  int64_t bytes() const { return n_ * size_; }
  int element_size() const { return size_; }
  // The strides of the contiguous side, by dimension, in elements.
  const std::vector<int64_t>& strides() const { return strides_; }
  bool row_major() const { return row_major_; }
  // Returns whether `part`, a buffer at the same base with this flip against ours, is some or all of our
  // elements, its dimensions permuted perhaps. Then element 0 of it is ours at *offset, and `strides` are
  // those of its dimensions in our order (room for kMaxMemRank).
  bool holds(const MemPlan& part, uint32_t flip, int64_t* offset, int64_t* strides) const;
  bool in_tensor_memory() const { return tensor_memory_; }
  // Bytes from `base` that it may touch, for messages and checks.
  int64_t extent() const { return extent_; }
  // The same for any slice of the buffer; in tensor memory, of each row.
  int64_t span() const { return span_; }

 private:
  template <bool kRead>
  void transfer(std::byte* linear, std::byte* arena, MemDesc d) const;
  uint32_t padded(uint32_t place) const;
  void identify(const MemView& view, const std::vector<uint32_t>& bits);

  int size_;
  int64_t n_;
  int64_t extent_;
  int run_ = 0;                                   // log2 of the elements that are contiguous on both sides
  std::vector<uint32_t> place_;                   // of each run, bytes
  std::vector<uint32_t> group_base_;              // bytes, one a leading index
  std::vector<uint32_t> copies_{0};               // bytes from there: the same elements once more
  std::vector<std::pair<int, int64_t>> padding_;  // log2 of the interval, elements
  std::vector<int64_t> strides_;
  bool row_major_ = true;
  bool tensor_memory_;
  int64_t span_;
  struct Dim {
    int dim;
    std::vector<uint32_t> places;
  };
  std::vector<int64_t> kind_;  // what two buffers agree on if one may be part of the other
  std::vector<Dim> dims_;      // of more than one element that the encoding covers, by their first place
  std::vector<std::pair<uint32_t, uint32_t>> solve_;  // reduced places, and the index that has them
};

// The order (minor first) in which a buffer's dimensions follow each other in memory, as far as it can be
// told.
std::vector<int> memory_order(const MemView& view);

// An allocation of the op's result at `base`, and its `src` stored there, if it has one; view: of that, or null.
void emit_alloc(Lowering& l, const ir::Op& op, int64_t base, const MemView* view);

// The places of the buffers of a ring in memory that it shares with others, counted in buffers.
struct Spacing {
  int64_t step = 1, group = 1, first = 0;
  int64_t at(int64_t i) const { return first + i * step + i % group; }
};
// Returns the spacing of the ring that a descriptor is of.
Spacing spacing_of(Lowering& l, const ir::Value* ring);

// The op that made the value, through captures of partitions; null where that cannot be told.
const ir::Op* origin(const ir::Value* value);

// Elements of a buffer: which one along one dimension, a tile says; along the others its own place does.
class Picked {
 public:
  Picked(Task& t, const Instr& in, const MemView& view, int axis, MemDesc d, Slot indices);
  // The place of element i of the tile; null after a trap.
  std::byte* at(int64_t i);

 private:
  Task& t_;
  const Instr& in_;
  const MemView& view_;
  int axis_;
  MemDesc d_;
  const TileType& type_;
  Elements indices_;
  std::byte* base_;
  std::vector<int64_t> index_;
};
// The trap of an index that lies outside of a dimension of the buffer.
const Instr* no_element(Task& t, const Instr& in, const MemView& view, int axis, int64_t index,
                        std::vector<int64_t> element = {});

inline MemDesc mem_desc(Task& t, Slot s) { return t.object<MemDesc>(s); }

}  // namespace triton_runner::tile
