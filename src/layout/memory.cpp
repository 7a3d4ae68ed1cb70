// Makes the tiles of memory encodings: at which offset of shared memory, or row and column of tensor memory,
// an element lies. Those of registers are in distributed.cpp.
#include <algorithm>

#include "tiles.h"

namespace triton_runner::layout {

LinearLayout ordered_tile(std::span<const int64_t> order, std::span<const int64_t> shape) {
  const auto names = dim_names(shape.size());
  LinearLayout layout({{"offset", {}}}, {});
  // Its own bits are filled in by the repetition up to the block's share of the shape.
  for (int64_t d : order) layout *= LinearLayout::identity(1, "offset", names[d]);
  return layout;
}

LinearLayout swizzled_tile(const Encoding& e, std::span<const int64_t> shape) {
  const auto names = dim_names(shape.size());
  std::vector<int64_t> share(shape.begin(), shape.end());
  const std::vector<OutDim> blocks = reached(share.size(), {&e.cga});
  for (size_t d = 0; d < share.size(); d++) share[d] = std::max<int64_t>(1, share[d] / blocks[d].size);
  if (shape.size() == 1) return LinearLayout::identity(share[0], "offset", names[0]);
  const int64_t cols = share[e.order[0]], rows = share[e.order[1]];
  InDim offset{"offset", {}};
  for (int32_t c = 1; c < cols; c *= 2) offset.bases.push_back({c, 0});
  for (int32_t r = 1; r < rows; r *= 2) {
    int64_t phase = r / e.per_phase;
    // A rotation adds the number of the group of max_phase rows, which is linear only where the sum does
    // not carry.
    if (e.kind == EncodingKind::kRotatingShared) phase ^= r / e.per_phase / e.max_phase;
    offset.bases.push_back({static_cast<int32_t>(e.vec * (phase % e.max_phase) % cols), r});
  }
  LinearLayout layout({offset}, {{names[e.order[0]], static_cast<int32_t>(cols)},
                                 {names[e.order[1]], static_cast<int32_t>(rows)}});
  for (size_t d = 2; d < shape.size(); d++)
    layout *= LinearLayout::identity(share[e.order[d]], "offset", names[e.order[d]]);
  return layout;
}

LinearLayout nvmma_tile(const Encoding& e, std::span<const int64_t> shape) {
  const size_t rank = shape.size();
  const auto names = dim_names(rank);
  const std::vector<OutDim> whole = labelled(shape);

  // A TMA copy moves boxes of at most 256 a side, and one swizzle atom along the contiguous dimension.
  std::vector<int64_t> box(shape.begin(), shape.end());
  for (int64_t& side : box) side = std::min<int64_t>(side, 256);
  const size_t contiguous = e.is_transposed ? 0 : rank - 1;
  if (e.swizzle_bytes != 0) {
    int64_t packing = e.fp4_padded ? 2 : 1;
    box[contiguous] = std::min(box[contiguous], e.swizzle_bytes * 8 / e.element_bits / packing);
  }
  if (e.swizzle_bytes == 0) {
    LinearLayout layout = LinearLayout::identity(box[contiguous], "offset", names[contiguous]);
    for (size_t d = rank; d-- > 0;) {
      if (d != contiguous) layout *= LinearLayout::identity(box[d], "offset", names[d]);
    }
    std::vector<std::string> order(names.begin(), names.end());
    return not_smaller(layout.transpose_outs(order), whole);
  }

  // The core matrix: eight rows of one atom, whose 16-byte pieces are permuted from row to row.
  const int64_t vec = 128 / e.element_bits, cols = 8 * e.swizzle_bytes / e.element_bits;
  const int64_t per_phase = 128 / e.swizzle_bytes, max_phase = e.swizzle_bytes / 16;
  InDim offset{"offset", {}};
  auto packed = [&](int64_t c) {  // fp4 in bytes: every second eight bytes are padding
    if (!e.fp4_padded) return static_cast<int32_t>(c);
    return static_cast<int32_t>(c % 8 + c / 16 * 8);
  };
  for (int64_t c = 1; c < cols; c *= 2) offset.bases.push_back({0, packed(c)});
  for (int64_t r = 1; r < 8; r *= 2)
    offset.bases.push_back({static_cast<int32_t>(r), packed(vec * (r / per_phase % max_phase))});
  LinearLayout layout({offset},
                      {{"dim0", 8}, {"dim1", static_cast<int32_t>(e.fp4_padded ? cols / 2 : cols)}});

  // Rows and columns of a box, the outer dimensions collapsed into rows; transposed ones have the columns
  // first.
  std::vector<int64_t> sides = box;
  if (e.is_transposed) std::rotate(sides.begin(), sides.begin() + 1, sides.end());
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < rank; d++) rows *= sides[d];
  const std::vector<OutDim> collapsed{{"dim0", static_cast<int32_t>(rows)},
                                      {"dim1", static_cast<int32_t>(sides.back())}};
  layout = not_larger(not_smaller(std::move(layout), collapsed), collapsed);

  // Back to the tensor's own dimensions, minor first.
  std::vector<size_t> dims;  // the dimension that each side belongs to
  for (size_t d = 0; d < rank; d++) dims.push_back(e.is_transposed ? (d + 1) % rank : d);
  std::vector<OutDim> outs;
  for (size_t d = rank; d-- > 0;) outs.push_back({names[dims[d]], static_cast<int32_t>(sides[d])});
  const std::vector<std::string> columns_first{"dim1", "dim0"};
  layout = layout.transpose_outs(columns_first).reshape_outs(outs).transpose_outs(names);
  return not_smaller(std::move(layout), whole);
}

// Twice along a dimension, in further columns, until its size is not below `below`.
static void repeat(LinearLayout& tile, std::string_view dim, int64_t size, int64_t below) {
  for (; size < below; size *= 2) tile *= LinearLayout::identity(2, "col", dim);
}

base::Result<LinearLayout> tensor_memory_layout(const Encoding& e, std::span<const int64_t> shape) {
  const std::vector<OutDim> block_outs = reached(2, {&e.cga});
  const int64_t share[2] = {shape[0] / block_outs[0].size, shape[1] / block_outs[1].size};
  if (share[0] < 1 || share[1] < 1) return base::failure("tensor memory: more blocks than rows or columns");
  const int64_t n = std::min(e.block_n, e.fp4_padded ? share[1] : share[1]);
  LinearLayout tile = LinearLayout::zeros(e.fp4_padded ? 2 : e.col_stride, "col", "dim1");
  int64_t done_m = e.block_m, done_n = n;
  if (e.block_m == 64 && e.two_ctas && n > 1) {
    // A pair of blocks with 64 rows each has the right half of the columns in the upper lanes.
    tile = LinearLayout::identity(64, "row", "dim0") * tile * LinearLayout::identity(n / 2, "col", "dim1") *
           LinearLayout::identity(2, "row", "dim1");
  } else if (e.block_m == 64 && share[0] >= 64) {
    // 16 lanes of each warp's 32; the other 16 take a second block of rows, or of columns, or nothing.
    tile = LinearLayout({{"row", {{1, 0}, {2, 0}, {4, 0}, {8, 0}}}}, {{"dim0", 16}, {"dim1", 1}}) * tile *
           LinearLayout::identity(n, "col", "dim1");
    std::vector<InDim> ins = tile.ins();
    std::vector<OutDim> outs = tile.outs();
    auto& rows = ins.front().bases;
    if (share[0] > 64) {
      rows.push_back({64, 0});
      done_m = 128;
    } else if (share[1] > n) {
      rows.push_back({0, static_cast<int32_t>(n)});
      done_n = 2 * n;
    } else {
      rows.push_back({0, 0});
    }
    rows.push_back({16, 0});
    rows.push_back({32, 0});
    outs = {{"dim0", static_cast<int32_t>(done_m)}, {"dim1", static_cast<int32_t>(done_n)}};
    tile = LinearLayout(std::move(ins), std::move(outs));
  } else {
    tile = LinearLayout::identity(e.block_m, "row", "dim0") * tile * LinearLayout::identity(n, "col", "dim1");
  }
  repeat(tile, "dim1", done_n, share[1]);
  repeat(tile, "dim0", done_m, share[0]);
  return not_larger(tile, labelled(share)) * LinearLayout({{"block", e.cga}}, block_outs);
}

base::Result<LinearLayout> tensor_memory_scales_layout(const Encoding& e, std::span<const int64_t> shape) {
  // 32 rows by 4 columns of bytes, the same in each of the four warps' lanes; then blocks of rows, then
  // of columns.
  const std::vector<OutDim> block_outs = reached(2, {&e.cga});
  const int64_t share[2] = {shape[0] / block_outs[0].size, shape[1] / block_outs[1].size};
  LinearLayout tile = LinearLayout::identity(32, "row", "dim0") * LinearLayout::zeros(4, "row", "dim0") *
                      LinearLayout::identity(4, "col", "dim1");
  // Blocks come in pairs of 32 rows; rows first, unless the encoding says columns first.
  const bool columns_first = e.order.size() == 2 && e.order[0] == 1;
  if (columns_first) repeat(tile, "dim1", 4, share[1]);
  repeat(tile, "dim0", 32, std::max<int64_t>(share[0], 64));
  if (!columns_first) repeat(tile, "dim1", 4, share[1]);
  return not_larger(tile, labelled(share)) * LinearLayout({{"block", e.cga}}, block_outs);
}

}  // namespace triton_runner::layout
