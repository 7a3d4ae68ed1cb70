// Tensor descriptors (TMA): a strided view of global memory that blocks are loaded from and stored to,
// clipped at its edges. One implementation for tt.descriptor_* and for the ttng copies; the block's shape is
// the descriptor's type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowering.h"
#include "task.h"

namespace triton_runner::tile {

// What a slot of type !tt.tensordesc holds (Form::kObject).
struct TensorDescriptor {
  uint64_t base;  // address
  int32_t rank;
  bool nan_padding;    // what elements outside of the tensor read as: 0, or NaN
  int64_t shape[5];    // elements
  int64_t strides[5];  // elements
  bool off = false;    // AMD's predicate: copies through it do nothing
};

// The value of a kernel parameter of type !tt.tensordesc.
void set_tensor_desc(Task& t, Slot slot, const exec::TensorDesc& desc);
TensorDescriptor from_host(const exec::TensorDesc& desc);
exec::TensorDesc to_host(const TensorDescriptor& desc);

// A block of a descriptor: where it begins, and its shape.
struct Box {
  int rank;
  int64_t at[5];
  int64_t shape[5];
};

// What the type of a descriptor value says; `block` where it is a pointer that has no such type.
struct BlockType {
  num::Type type{};
  bool known = false;  // an element type and a rank that can be run
  bool is_unsigned = false;
  std::vector<int64_t> shape;
};
BlockType block_type(Lowering& l, const ir::Value& desc, const ir::Type* block);

// The descriptor in a slot. All of these give false after a trap.
bool tensor_desc(Task& t, const Instr& in, Slot slot, TensorDescriptor& desc);
// Copies the block into `out` (row-major, contiguous), padded where it is outside.
bool load_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                void* out);
// Stores the part of the block that is inside.
bool store_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                 const void* from);
// Combines the part of the block that is inside with what is in memory, element by element, atomically.
enum class Reduction : uint8_t {
  kAdd = 1,
  kMin,
  kMax,
  kInc,
  kDec,
  kAnd,
  kOr,
  kXor
};  // as the IR numbers them
bool reduce_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                  bool is_unsigned, Reduction kind, const void* from);

}  // namespace triton_runner::tile
