// Finds who holds the elements of a tensor, and which warps run an op.
#include "machine/threads.h"

#include <algorithm>
#include <numeric>

#include <triton_runner/layout/encoding.h>

#include <triton_runner/tile/encoding.h>

namespace triton_runner::tile {
namespace {

constexpr int kMostBits = 20;  // of register, lane, warp and block together

// Region `index` of the ttg.warp_specialize around the op: 0 is the default one. None: there is no such op.
struct Partition {
  const ir::Op* specialize;
  size_t index;
};
std::optional<Partition> partition_around(const ir::Op& op) {
  for (const ir::Op* at = &op; at && at->block; at = at->block->region->parent) {
    const ir::Region* region = at->block->region;
    const ir::Op* parent = region->parent;
    if (!parent) break;
    const bool holder = parent->kind == ir::OpKind::kWarpSpecializePartitions;
    const ir::Op* specialize = holder && parent->block ? parent->block->region->parent : parent;
    if (!specialize || specialize->kind != ir::OpKind::kWarpSpecialize) continue;
    for (size_t r = 0; r < parent->regions.size(); ++r)
      if (parent->regions[r] == region) return Partition{specialize, holder ? r + 1 : r};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ThreadElements> thread_elements(Lowering& l, const ir::Op& op, const ir::Type& type) {
  auto fail = [&](std::string message) {
    l.fail(op, std::move(message));
    return std::nullopt;
  };
  if (!type.encoding) return fail(std::string(op.name) + " needs the layout of its tensors (TTGIR)");
  auto encoding = encoding_of(*type.encoding);
  if (!encoding) return fail(encoding.error().message);
  auto layout = layout::to_linear_layout(*encoding, {type.shape.begin(), type.shape.end()});
  if (!layout) return fail(layout.error().message);
  if (layout->total_in_bits() > kMostBits)
    return fail("a layout of 2^" + std::to_string(layout->total_in_bits()) + " registers is too large");
  ThreadElements out;
  out.registers = layout->in_size("register"), out.lanes = layout->in_size("lane");
  out.warps = layout->in_size("warp"), out.blocks = layout->in_size("block");
  for (int64_t block = 0; block < out.blocks; ++block)
    for (int64_t warp = 0; warp < out.warps; ++warp)
      for (int64_t lane = 0; lane < out.lanes; ++lane)
        for (int64_t reg = 0; reg < out.registers; ++reg) {
          const layout::Basis at =
              layout->apply({{"block", block}, {"warp", warp}, {"register", reg}, {"lane", lane}});
          int64_t element = 0;
          for (size_t d = 0; d < at.size(); ++d) element = element * type.shape[d] + at[d];
          out.element.push_back(static_cast<int32_t>(element));
        }
  return out;
}

std::optional<layout::LinearLayout> layout_of(const ir::Type& type) {
  if (!type.encoding) return std::nullopt;
  const auto encoding = encoding_of(*type.encoding);
  if (!encoding) return std::nullopt;
  auto layout = layout::to_linear_layout(*encoding, {type.shape.begin(), type.shape.end()});
  return layout ? std::optional(std::move(*layout)) : std::nullopt;
}

std::span<const layout::Basis> bases_of(const layout::LinearLayout& layout, std::string_view dim) {
  const auto found = std::ranges::find(layout.ins(), dim, &layout::InDim::name);
  return found == layout.ins().end() ? std::span<const layout::Basis>() : found->bases;
}

bool is_copy(const layout::Basis& basis) {
  return std::ranges::all_of(basis, [](int32_t at) { return at == 0; });
}

int64_t warps_around(const CodeHeader& code, const ir::Op& op) {
  const auto partition = partition_around(op);
  if (partition && partition->index > 0) {
    const ir::Attr* warps = partition->specialize->attr("partitionNumWarps");
    if (warps && partition->index - 1 < warps->raw.size())
      return static_cast<int64_t>(warps->raw[partition->index - 1]);
  }
  return code.num_warps;
}

namespace {

// Warps of the partitions of one specialisation, by their regions; `found` gets the largest sum of one in the region.
void find_most_warps(const ir::Region& region, int64_t& found) {
  for (const ir::Block* b = region.first; b; b = b->next)
    for (const ir::Op* op = b->first; op; op = op->next) {
      if (const ir::Attr* warps = op->attr("partitionNumWarps"))
        found = std::max<int64_t>(found, std::accumulate(warps->raw.begin(), warps->raw.end(), int64_t{0}));
      for (const ir::Region* inner : op->regions) find_most_warps(*inner, found);
    }
}

}  // namespace

int64_t warps_of_block(const CodeHeader& code, const ir::Op& op) {
  if (code.all_warps > code.num_warps) return code.all_warps;
  const ir::Op* func = &op;
  while (func->kind != ir::OpKind::kFunc && func->block && func->block->region->parent)
    func = func->block->region->parent;
  int64_t partitions = 0;
  for (const ir::Region* region : func->regions) find_most_warps(*region, partitions);
  if (partitions == 0) return code.num_warps;
  constexpr int64_t kGroup = 4;  // the compiler adds warps that do nothing, up to whole warp groups
  return (code.num_warps + partitions + kGroup - 1) / kGroup * kGroup;
}

int64_t first_warp(const CodeHeader& code, const ir::Op& op) {
  const auto partition = partition_around(op);
  if (!partition || partition->index == 0) return 0;
  const size_t index = partition->index - 1;
  const ir::Attr* starts = partition->specialize->attr("warpGroupStartIds");
  if (starts && index < starts->raw.size()) return static_cast<int64_t>(starts->raw[index]);
  // As the compiler places them: the largest first, after the warps of the default region.
  const ir::Attr* warps = partition->specialize->attr("partitionNumWarps");
  int64_t first = code.num_warps;
  for (size_t i = 0; warps && i < warps->raw.size(); ++i)
    if (warps->raw[i] > warps->raw[index] || (warps->raw[i] == warps->raw[index] && i < index))
      first += static_cast<int64_t>(warps->raw[i]);
  return first;
}

bool in_partition(const ir::Op& op) { return partition_around(op).has_value(); }

}  // namespace triton_runner::tile
