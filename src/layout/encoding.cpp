// Makes a linear layout of an encoding and a shape: a tile of the encoding's kind (tiles.h), repeated until
// the shape is full.
#include <triton_runner/base/try.h>
#include <triton_runner/layout/encoding.h>

#include <algorithm>
#include <bit>

#include "tiles.h"

namespace triton_runner::layout {

using base::failure;
using base::Result;

const char* encoding_name(EncodingKind kind) {
  static constexpr const char* kNames[] = {"blocked",
                                           "slice",
                                           "dot_op",
                                           "nvidia_mma",
                                           "amd_mfma",
                                           "amd_wmma",
                                           "linear",
                                           "swizzled_shared",
                                           "nvmma_shared",
                                           "padded_shared",
                                           "amd_rotating_shared",
                                           "shared_linear",
                                           "partitioned_shared",
                                           "tensor_memory_encoding",
                                           "tensor_memory_scales_encoding"};
  return kNames[static_cast<int>(kind)];
}

CgaBases cga_bases(std::span<const int64_t> ctas, std::span<const int64_t> splits,
                   std::span<const int64_t> order) {
  CgaBases bases;
  for (int64_t d : order) {
    for (int64_t n = 1; n < ctas[d]; n *= 2) {
      Basis basis(ctas.size(), 0);
      if (n < splits[d]) basis[d] = static_cast<int32_t>(n);
      bases.push_back(std::move(basis));
    }
  }
  return bases;
}

size_t Encoding::rank() const {
  switch (kind) {
    case EncodingKind::kSlice:
      return parent->rank() - 1;
    case EncodingKind::kDotOperand:
    case EncodingKind::kPartitionedShared:
      return parent->rank();
    case EncodingKind::kNvidiaMma:
    case EncodingKind::kAmdMfma:
      return warps_per_cta.size();
    case EncodingKind::kAmdWmma:
      if (!warps_per_cta.empty()) return warps_per_cta.size();
      for (const auto* bases : {&warp_bases, &register_bases}) {
        if (!bases->empty()) return bases->front().size();
      }
      return explicit_rank ? explicit_rank : 2;
    case EncodingKind::kLinear:
    case EncodingKind::kSharedLinear:
      return linear.outs().size();
    case EncodingKind::kPaddedShared:
      return linear.outs().empty() ? order.size() : linear.outs().size();
    case EncodingKind::kTensorMemory:
    case EncodingKind::kTensorMemoryScales:
      return 2;
    case EncodingKind::kNvmmaShared:
      return explicit_rank;
    default:
      return order.size();
  }
}

LinearLayout not_smaller(LinearLayout layout, std::span<const OutDim> wanted) {
  const std::string in = layout.ins().front().name;
  const std::vector<OutDim> outs = layout.outs();
  for (const OutDim& out : outs) {
    auto it = std::find_if(wanted.begin(), wanted.end(), [&](const OutDim& w) { return w.name == out.name; });
    if (it != wanted.end() && it->size > out.size)
      layout *= LinearLayout::identity(it->size / out.size, in, out.name);
  }
  return layout;
}

bool is_idle(const Basis& basis) {
  return std::all_of(basis.begin(), basis.end(), [](int x) { return x == 0; });
}

std::vector<OutDim> labelled(std::span<const int64_t> shape) {
  std::vector<OutDim> outs;
  const auto names = dim_names(shape.size());
  for (size_t d = 0; d < shape.size(); d++) outs.push_back({names[d], static_cast<int32_t>(shape[d])});
  return outs;
}

std::vector<OutDim> reached(size_t rank, std::initializer_list<const CgaBases*> bases) {
  std::vector<OutDim> outs = labelled(std::vector<int64_t>(rank, 1));
  for (const auto* list : bases)
    for (const Basis& basis : *list)
      for (size_t d = 0; d < rank; d++) outs[d].size = std::max(outs[d].size, basis[d] * 2);
  return outs;
}

LinearLayout not_larger(const LinearLayout& layout, std::span<const OutDim> wanted, bool drop_registers) {
  std::vector<InDim> ins = layout.ins();
  std::vector<OutDim> outs = layout.outs();
  for (size_t d = 0; d < outs.size(); d++) {
    auto it =
        std::find_if(wanted.begin(), wanted.end(), [&](const OutDim& w) { return w.name == outs[d].name; });
    if (it == wanted.end() || outs[d].size <= it->size) continue;
    // A basis that reaches beyond the end becomes a second holder of what is there.
    for (InDim& in : ins) {
      for (size_t bit = 0; bit < in.bases.size();) {
        Basis& basis = in.bases[bit];
        const bool cut = basis[d] >= it->size;
        if (cut) basis[d] = 0;
        if (cut && drop_registers && in.name == "register" && is_idle(basis)) {
          in.bases.erase(in.bases.begin() + static_cast<ptrdiff_t>(bit));
        } else {
          bit++;
        }
      }
    }
    outs[d].size = it->size;
  }
  return {std::move(ins), std::move(outs)};
}

namespace {

LinearLayout cga_layout(const CgaBases& bases, size_t rank) {
  return {{{"block", bases}}, reached(rank, {&bases})};
}

// For a tensor divided among blocks: what each block has.
std::vector<OutDim> share_of(std::span<const int64_t> shape, const LinearLayout& blocks) {
  std::vector<OutDim> share = labelled(shape);
  for (OutDim& out : share) out.size = std::max(1, out.size / blocks.out_size(out.name));
  return share;
}
std::vector<int64_t> share_of(std::span<const int64_t> shape, const CgaBases& cga) {
  std::vector<int64_t> sizes;
  for (const OutDim& out : share_of(shape, not_larger(cga_layout(cga, shape.size()), labelled(shape))))
    sizes.push_back(out.size);
  return sizes;
}

// The layout of one block, filled up or cut to its share of the shape, times how the blocks divide the whole.
LinearLayout with_blocks(LinearLayout tile, const CgaBases& cga, std::span<const int64_t> shape,
                         bool drop_registers = false) {
  const auto names = dim_names(shape.size());
  const LinearLayout blocks = not_larger(cga_layout(cga, shape.size()), labelled(shape));
  const std::vector<OutDim> share = share_of(shape, blocks);
  tile = not_larger(not_smaller(std::move(tile), share), share, drop_registers);
  return (tile * blocks).transpose_outs(names);
}

LinearLayout slice(const LinearLayout& parent, size_t dim, size_t rank) {
  // Registers that differed only along the dimension that is gone are one register now.
  const LinearLayout cut = parent.without_out(dim_names(rank)[dim]);
  std::vector<InDim> ins = cut.ins();
  for (InDim& in : ins) {
    if (in.name == "register") std::erase_if(in.bases, is_idle);
  }
  std::vector<OutDim> outs = cut.outs();
  const auto names = dim_names(outs.size());
  for (size_t d = 0; d < outs.size(); d++) outs[d].name = names[d];
  return {std::move(ins), std::move(outs)};
}

// The blocks' bases of a dot operand: its parent's, not divided along K.
CgaBases operand_cga(const Encoding& operand) {
  CgaBases cga = operand.parent->cga;
  for (Basis& basis : cga) basis[operand.op_idx == 0 ? basis.size() - 1 : basis.size() - 2] = 0;
  return cga;
}

bool powers_of_two(std::span<const int64_t> values) {
  return std::all_of(values.begin(), values.end(),
                     [](int64_t v) { return v > 0 && std::has_single_bit(uint64_t(v)); });
}

std::string shape_str(std::span<const int64_t> shape) {
  std::string out;
  for (int64_t d : shape) out += (out.empty() ? "" : "x") + std::to_string(d);
  return out;
}

Result<LinearLayout> explicit_layout(const Encoding& encoding, std::span<const int64_t> shape) {
  const auto wanted = labelled(shape);
  LinearLayout layout = encoding.linear;
  for (const OutDim& out : wanted) {
    if (layout.has_out(out.name)) continue;
    return failure("a linear layout of rank " + std::to_string(layout.outs().size()) + " on a tensor of " +
                   shape_str(shape));
  }
  // A layout that is smaller than the tensor repeats in registers (or in memory), a larger one has
  // several holders.
  return not_larger(not_smaller(std::move(layout), wanted), wanted, true);
}

// Pieces of the parent's layout, one after the other.
Result<LinearLayout> partitioned_layout(const Encoding& e, std::span<const int64_t> shape) {
  std::vector<int64_t> piece = share_of(shape, e.cga);
  const auto dim = static_cast<size_t>(e.dim);
  if (e.dim < 0 || dim >= piece.size() || e.pieces < 1 || piece[dim] % e.pieces != 0)
    return failure("#ttg.partitioned_shared of " + std::to_string(e.pieces) + " pieces along dimension " +
                   std::to_string(e.dim) + " cannot divide a shape of " + shape_str(shape));
  piece[dim] /= e.pieces;
  LinearLayout layout = TRY(to_linear_layout(*e.parent, piece));
  layout *= LinearLayout::identity(e.pieces, "offset", dim_names(piece.size())[dim]);
  return with_blocks(std::move(layout), e.cga, shape);
}

}  // namespace

// The order of an encoding that goes by one is a permutation of its dimensions; of an operand's, its parent's.
static bool order_fits(const Encoding& encoding, size_t rank) {
  const Encoding& e = encoding.kind == EncodingKind::kDotOperand ? *encoding.parent : encoding;
  bool ordered = e.kind == EncodingKind::kBlocked || e.kind == EncodingKind::kSwizzledShared ||
                 e.kind == EncodingKind::kRotatingShared ||
                 (e.kind == EncodingKind::kPaddedShared && e.linear.outs().empty());
  if (!ordered || (rank == 1 && e.order.empty())) return true;
  std::vector<bool> seen(rank);
  for (int64_t d : e.order) {
    if (d < 0 || static_cast<size_t>(d) >= rank || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return e.order.size() == rank;
}

Result<LinearLayout> to_linear_layout(const Encoding& encoding, std::span<const int64_t> shape) {
  const size_t rank = encoding.rank();
  if (rank != 0 && rank != shape.size())
    return failure(std::string("encoding #ttg.") + encoding_name(encoding.kind) + " of rank " +
                   std::to_string(rank) + " on a shape of " + shape_str(shape));
  constexpr int64_t kLargest = int64_t{1} << 30;  // of those that OutDim::size holds
  if (!powers_of_two(shape) || std::ranges::any_of(shape, [](int64_t size) { return size > kLargest; }))
    return failure(std::string("encoding #ttg.") + encoding_name(encoding.kind) + " on a shape of " +
                   shape_str(shape) + ": dimensions must be powers of two, up to 2^30");
  if (!order_fits(encoding, shape.size()))
    return failure(std::string("the order of #ttg.") + encoding_name(encoding.kind) +
                   " does not name each dimension of " + shape_str(shape) + " once");
  TRY(well_formed(encoding, shape.size()));
  switch (encoding.kind) {
    case EncodingKind::kBlocked:
      return with_blocks(blocked_tile(encoding), encoding.cga, shape, true);
    case EncodingKind::kSlice: {
      if (encoding.dim < 0 || static_cast<size_t>(encoding.dim) > shape.size())
        return failure("#ttg.slice has no dimension " + std::to_string(encoding.dim));
      std::vector<int64_t> expanded(shape.begin(), shape.end());
      expanded.insert(expanded.begin() + encoding.dim, 1);
      return slice(TRY(to_linear_layout(*encoding.parent, expanded)), encoding.dim, expanded.size());
    }
    case EncodingKind::kDotOperand:
      return with_blocks(TRY(dot_operand_tile(encoding, shape)), operand_cga(encoding), shape);
    case EncodingKind::kNvidiaMma:
      if (encoding.version == 1) return failure("#ttg.nvidia_mma of version 1 (Volta) is not supported");
      return with_blocks(mma_tile(encoding), encoding.cga, shape);
    case EncodingKind::kAmdMfma:
      return with_blocks(mfma_tile(encoding), encoding.cga, shape);
    case EncodingKind::kAmdWmma:
      return with_blocks(wmma_tile(encoding), encoding.cga, shape);
    case EncodingKind::kSwizzledShared:
    case EncodingKind::kRotatingShared:
      return with_blocks(swizzled_tile(encoding, shape), encoding.cga, shape);
    case EncodingKind::kNvmmaShared:
      return with_blocks(nvmma_tile(encoding, share_of(shape, encoding.cga)), encoding.cga, shape);
    case EncodingKind::kPaddedShared:
      if (encoding.linear.outs().empty())
        return with_blocks(ordered_tile(encoding.order, shape), encoding.cga, shape);
      return explicit_layout(encoding, shape);
    case EncodingKind::kLinear:
    case EncodingKind::kSharedLinear:
      return explicit_layout(encoding, shape);
    case EncodingKind::kPartitionedShared:
      return partitioned_layout(encoding, shape);
    case EncodingKind::kTensorMemory:
      return tensor_memory_layout(encoding, shape);
    case EncodingKind::kTensorMemoryScales:
      return tensor_memory_scales_layout(encoding, shape);
  }
  return failure("unknown encoding");
}

int64_t padding_before(const Encoding& encoding, int64_t offset) {
  int64_t pad = 0;
  for (const auto& [interval, amount] : encoding.padding) pad += offset / interval * amount;
  return pad;
}

std::vector<Holder> holders(const LinearLayout& layout, std::span<const int64_t> index) {
  std::vector<Holder> found;
  for (int64_t block = 0; block < layout.in_size("block"); block++) {
    for (int64_t warp = 0; warp < layout.in_size("warp"); warp++) {
      for (int64_t lane = 0; lane < layout.in_size("lane"); lane++) {
        for (int64_t reg = 0; reg < layout.in_size("register"); reg++) {
          const Basis at =
              layout.apply({{"register", reg}, {"lane", lane}, {"warp", warp}, {"block", block}});
          if (std::equal(at.begin(), at.end(), index.begin(), index.end()))
            found.push_back({reg, lane, warp, block});
        }
      }
    }
  }
  return found;
}

Result<int64_t> shared_offset(const Encoding& encoding, std::span<const int64_t> shape,
                              std::span<const int64_t> index, int element_bits) {
  if (!is_shared(encoding.kind))
    return failure(std::string("#ttg.") + encoding_name(encoding.kind) +
                   " is not an encoding of shared memory");
  auto layout = TRY(to_linear_layout(encoding, shape));
  auto inverse = layout.pseudo_invert();
  if (!inverse) return failure("the encoding does not place every element of " + shape_str(shape));
  const int64_t offset = inverse->apply(index)[inverse->out_index("offset")];
  return (offset + padding_before(encoding, offset)) * element_bits / 8;
}

Result<int64_t> shared_size(const Encoding& encoding, std::span<const int64_t> shape, int element_bits) {
  auto layout = TRY(to_linear_layout(encoding, shape));
  const int64_t last = layout.in_size("offset") - 1;
  return (last + padding_before(encoding, last) + 1) * element_bits / 8;
}

}  // namespace triton_runner::layout
