// Declares tensor descriptors (TMA): a strided view of global memory that blocks are loaded from and stored
// to, clipped at its edges. One implementation for tt.descriptor_* and for the ttng copies; the block's shape
// is the descriptor's type.
#pragma once
#include <cstdint>
#include <vector>

#include <triton_runner/machine/update.h>

#include "lowering.h"
#include "task.h"

namespace triton_runner::tile {

// A slot of type !tt.tensordesc holds this (Form::kObject).
struct TensorDescriptor {
  uint64_t base;  // address
  int32_t rank;
  bool nan_padding;    // what elements outside of the tensor read as: 0, or NaN
  int64_t shape[5];    // elements
  int64_t strides[5];  // elements
  bool off = false;    // AMD's predicate: copies through it do nothing
  bool im2col = false;
  // In im2col mode, of D, H, W, as exec::Im2col has them.
  int32_t lower[3] = {}, upper[3] = {};
  int32_t steps[5] = {1, 1, 1, 1, 1};
  bool round_to_tf32 = false;  // f32 elements, as they are loaded
};

// The value of a kernel parameter of type !tt.tensordesc.
void set_tensor_desc(Task& t, Slot slot, const exec::TensorDesc& desc);
TensorDescriptor from_host(const exec::TensorDesc& desc);
exec::TensorDesc to_host(const TensorDescriptor& desc);

// A block of a descriptor: where it begins, and its shape.
// In im2col mode a column of pixels: `shape` is one pixel's.
struct Box {
  int rank;
  int64_t at[5];
  int64_t shape[5];
  int64_t pixels = 0;       // 0: tiled
  int64_t offsets[3] = {};  // of D, H, W
};

// The type of a descriptor value says this; `block` where it is a pointer that has no such type.
struct BlockType {
  num::Type type{};
  bool known = false;   // an element type and a rank that can be run
  bool im2col = false;  // the shape is pixels and channels
  bool is_unsigned = false;
  std::vector<int64_t> shape;
};
BlockType block_type(Lowering& l, const ir::Value& desc, const ir::Type* block);
inline constexpr const char* kOnlyLoaded =
    "a descriptor in im2col mode is there to be loaded from, by ttng.async_tma_copy_global_to_local";

// Empty, or why no column begins where the box does.
std::string column_fault(const TensorDescriptor& desc, const Box& box, num::Type type);

// The descriptor in a slot. All of these give false after a trap.
bool tensor_desc(Task& t, const Instr& in, Slot slot, TensorDescriptor& desc);
// Writes its 128 bytes where the slot points to.
bool write_tensor_map(Task& t, const Instr& in, Slot place, const TensorDescriptor& desc);
// A block of that type, to be placed: `at` is not set.
bool open_box(Task& t, const Instr& in, const TensorDescriptor& desc, const BlockType& block, Box& box);
// Copies the block into `out` (row-major, contiguous), padded where it is outside.
bool load_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                void* out);
// Stores the part of the block that is inside.
bool store_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                 const void* from);
// Combines the part of the block that is inside with what is in memory, element by element, atomically.
bool reduce_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                  machine::Update update, const void* from);
// The update that a reducing op makes to an element; null after an error.
machine::Update reduction_of(Lowering& l, const ir::Op& op, const BlockType& block);

}  // namespace triton_runner::tile
