// Declares TritonGPU encodings as data, and what they mean: the linear layout of a tensor or memory
// descriptor that has one.
//
// The rules are those of Triton 3.9; spellings of older releases (CTAsPerCGA, versionMajor, hasLeadingOffset,
// ...) are mapped to the same fields by whoever fills in an Encoding.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/layout/linear_layout.h>

namespace triton_runner::layout {

enum class EncodingKind : uint8_t {
  // Distributed: who holds an element. Inputs register, lane, warp, block.
  kBlocked,
  kSlice,
  kDotOperand,
  kNvidiaMma,
  kAmdMfma,
  kAmdWmma,
  kLinear,
  // Shared memory: where an element lies. Inputs offset (in elements), block; of padded ones before padding.
  kSwizzledShared,
  kNvmmaShared,
  kPaddedShared,
  kRotatingShared,
  kSharedLinear,
  kPartitionedShared,
  // Tensor memory. Inputs row (of 128 lanes), col (in elements), block.
  kTensorMemory,
  kTensorMemoryScales,
};
const char* encoding_name(EncodingKind kind);  // "blocked", ...

inline bool is_distributed(EncodingKind k) { return k <= EncodingKind::kLinear; }
inline bool is_shared(EncodingKind k) {
  return k >= EncodingKind::kSwizzledShared && k <= EncodingKind::kPartitionedShared;
}

// How the blocks (CTAs) of a cluster divide a tensor: the image of each bit of the block number, in units of
// a block's share. Empty: one block.
using CgaBases = std::vector<Basis>;
// The same from the older spelling; `order` lists dimensions, minor first.
CgaBases cga_bases(std::span<const int64_t> ctas, std::span<const int64_t> splits,
                   std::span<const int64_t> order);

struct Encoding {
  EncodingKind kind;
  CgaBases cga;

  std::vector<int64_t> order;                              // blocked, shared: minor first
  std::vector<int64_t> size_per_thread, threads_per_warp;  // blocked
  std::vector<int64_t> warps_per_cta;                      // blocked, mma, mfma, wmma before 3.6
  int64_t dim = 0;                                         // slice, partitioned
  std::shared_ptr<const Encoding> parent;                  // slice, dot operand; of a piece: partitioned
  int64_t pieces = 1;                                      // partitioned: along `dim`
  int64_t op_idx = 0, k_width = 0;                         // dot operand
  int64_t version = 0;                                     // mma (major), mfma, wmma
  std::vector<int64_t> instr_shape;                        // mma, mfma, wmma
  bool is_transposed = false;                              // mfma, wmma, nvmma_shared
  int64_t element_bits = 0;                                // mfma (64 for f64), nvmma_shared
  std::vector<int64_t> tiles_per_warp;                     // mfma; empty: one a dimension
  std::vector<Basis> warp_bases, register_bases;           // wmma's ctaLayout
  int64_t vec = 1, per_phase = 1, max_phase = 1;           // swizzled, rotating
  int64_t swizzle_bytes = 0;                               // nvmma_shared
  bool fp4_padded = false;                                 // nvmma_shared, tensor memory
  std::vector<std::pair<int64_t, int64_t>> padding;        // padded, partitioned: (interval, pad)
  LinearLayout linear;                                     // linear, shared_linear, padded_shared where given
  int64_t block_m = 128, block_n = 0;                      // tensor memory
  int64_t col_stride = 1;                                  // elements; -1: each in 32 bits of its own
  bool two_ctas = false;                                   // tensor memory
  int64_t explicit_rank = 0;                               // nvmma_shared, wmma: where it is written

  size_t rank() const;  // 0 where the encoding fits any
};

// The layout of a tensor of `shape` (dim0, dim1, ... are outputs). Shapes and parameters are powers of two.
// Errors: a shape that the encoding cannot hold, an encoding that is not supported (Volta's mma v1).
base::Result<LinearLayout> to_linear_layout(const Encoding& encoding, std::span<const int64_t> shape);

// Elements of padding before the element at `offset` of a padded layout (0 for others).
int64_t padding_before(const Encoding& encoding, int64_t offset);

// Who holds element `index`: every (register, lane, warp, block) of a distributed layout.
struct Holder {
  int64_t reg, lane, warp, block;
  bool operator==(const Holder&) const = default;
};
std::vector<Holder> holders(const LinearLayout& layout, std::span<const int64_t> index);

// Byte offset in shared memory of element `index` of a buffer whose elements have `element_bits` bits.
base::Result<int64_t> shared_offset(const Encoding& encoding, std::span<const int64_t> shape,
                                    std::span<const int64_t> index, int element_bits);
// Bytes of shared memory that a buffer takes, in one block.
base::Result<int64_t> shared_size(const Encoding& encoding, std::span<const int64_t> shape, int element_bits);

}  // namespace triton_runner::layout
