// Declares the repeating tile of each kind of encoding, within one block: encoding.cpp fills shapes with
// them.
#pragma once
#include <span>

#include <triton_runner/layout/encoding.h>

namespace triton_runner::layout {

// Repeats `layout` along its first input until no output is smaller than `wanted` says, in the order of
// its outputs.
LinearLayout not_smaller(LinearLayout layout, std::span<const OutDim> wanted);
// Cuts outputs to what `wanted` says; registers that hold nothing of their own then are kept (as copies)
// or dropped.
LinearLayout not_larger(const LinearLayout& layout, std::span<const OutDim> wanted,
                        bool drop_registers = false);

// dim0, dim1, ... with the sizes of a shape; and with those that bases of an input reach.
std::vector<OutDim> labelled(std::span<const int64_t> shape);
std::vector<OutDim> reached(size_t rank, std::initializer_list<const CgaBases*> bases);
bool is_idle(const Basis& basis);  // leads nowhere

// well_formed.cpp: whether the parameters of an encoding are such as a tensor of `rank` dimensions can have. The
// tiles below rely on it. Of a slice's or dot operand's parent only what they need themselves.
base::Status well_formed(const Encoding& encoding, size_t rank);

// distributed.cpp
LinearLayout blocked_tile(const Encoding& encoding);
LinearLayout mma_tile(const Encoding& encoding);
LinearLayout mfma_tile(const Encoding& encoding);
LinearLayout wmma_tile(const Encoding& encoding);
base::Result<LinearLayout> dot_operand_tile(const Encoding& encoding, std::span<const int64_t> shape);

// memory.cpp
LinearLayout ordered_tile(std::span<const int64_t> order, std::span<const int64_t> shape);
LinearLayout swizzled_tile(const Encoding& encoding, std::span<const int64_t> shape);
LinearLayout nvmma_tile(const Encoding& encoding, std::span<const int64_t> shape);
base::Result<LinearLayout> tensor_memory_layout(const Encoding& encoding, std::span<const int64_t> shape);
base::Result<LinearLayout> tensor_memory_scales_layout(const Encoding& encoding,
                                                       std::span<const int64_t> shape);

}  // namespace triton_runner::layout
