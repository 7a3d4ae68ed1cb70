// Makes the tiles of distributed encodings: which register of which lane of which warp holds an element.
// Those of shared and tensor memory are in memory.cpp.
#include <algorithm>

#include "tiles.h"

namespace triton_runner::layout {
namespace {

using Order = std::vector<int64_t>;

// Minor first: the last dimension, then the one before, ...
Order row_major(size_t rank) {
  Order order;
  for (size_t d = rank; d-- > 0;) order.push_back(static_cast<int64_t>(d));
  return order;
}

// The two matrix dimensions swapped where K is not the last: K minor for both operands.
Order k_minor(int64_t op_idx, size_t rank) {
  Order order = row_major(rank);
  if (op_idx == 1) std::swap(order[0], order[1]);
  return order;
}

LinearLayout identity_nd(std::string_view in, std::span<const int64_t> shape, const Order& order) {
  const auto names = dim_names(shape.size());
  LinearLayout layout({{std::string(in), {}}}, {});
  for (int64_t d : order) layout *= LinearLayout::identity(shape[d], in, names[d]);
  return layout;
}

// As identity_nd, but everyone along K holds the same.
LinearLayout broadcast_nd(std::string_view in, std::span<const int64_t> shape, const Order& order,
                          int64_t k_dim) {
  const auto names = dim_names(shape.size());
  LinearLayout layout({{std::string(in), {}}}, {});
  for (int64_t d : order) {
    layout *= d == k_dim ? LinearLayout::zeros(shape[d], in, names[d])
                         : LinearLayout::identity(shape[d], in, names[d]);
  }
  return layout;
}

LinearLayout in_order(const LinearLayout& layout, const Order& order) {
  std::vector<std::string> wanted;
  const auto names = dim_names(order.size());
  for (int64_t d : order) wanted.push_back(names[d]);
  return layout.transpose_outs(wanted);
}

// The four-by-eight lanes of NVIDIA's matrix instructions on a tile: `k_width` neighbours along the inner
// dimension.
LinearLayout four_by_eight(std::span<const int64_t> tile, int64_t k_width, const Order& order,
                           const Order& repeat) {
  const size_t rank = tile.size();
  const auto names = dim_names(rank);
  const std::string &inner = names[order[0]], &outer = names[order[1]];
  LinearLayout layout = LinearLayout::identity(k_width, "register", inner) *
                        LinearLayout::identity(4, "lane", inner) * LinearLayout::identity(8, "lane", outer);
  layout *= LinearLayout::identity(tile[order[1]] / 8, "register", outer) *
            LinearLayout::identity(tile[order[0]] / (k_width * 4), "register", inner);
  if (rank == 3) {
    layout *= LinearLayout::identity(1, "register", names[order[2]]) *
              LinearLayout::identity(1, "lane", names[order[2]]);
  }
  return in_order(layout, repeat);
}

Order mma_warp_order(const Encoding& mma) {
  const size_t rank = mma.warps_per_cta.size();
  Order order = row_major(rank);
  if (mma.version == 3) std::swap(order[0], order[1]);  // warps of a warp group go down M
  return order;
}

// A basis list over (outer, inner) as a layout's input: pairs (value along a, value along b).
LinearLayout two_dims(std::string_view a, std::string_view b, std::vector<Basis> registers,
                      std::vector<Basis> lanes, int64_t a_size, int64_t b_size) {
  return {{{"register", std::move(registers)}, {"lane", std::move(lanes)}},
          {{std::string(a), static_cast<int32_t>(a_size)}, {std::string(b), static_cast<int32_t>(b_size)}}};
}

std::vector<Basis> powers(int axis, int64_t from, int64_t below) {
  std::vector<Basis> bases;
  for (int64_t v = from; v < below; v *= 2) {
    Basis basis(2, 0);
    basis[axis] = static_cast<int32_t>(v);
    bases.push_back(basis);
  }
  return bases;
}

std::vector<Basis> joined(std::initializer_list<std::vector<Basis>> parts) {
  std::vector<Basis> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

LinearLayout with_batch(LinearLayout tile, size_t rank) {
  if (rank == 3) tile *= LinearLayout::identity(1, "register", "dim0");
  return tile;
}

// How warps (and, first, repeated registers) of WMMA tile the tensor, in units of an instruction.
LinearLayout wmma_cta(const Encoding& e) {
  const size_t rank = e.rank();
  if (!e.warps_per_cta.empty()) return identity_nd("warp", e.warps_per_cta, row_major(rank));
  return {{{"register", e.register_bases}, {"warp", e.warp_bases}},
          reached(rank, {&e.register_bases, &e.warp_bases})};
}

LinearLayout without_k(const LinearLayout& layout, size_t k_dim) {
  std::vector<InDim> ins = layout.ins();
  std::vector<OutDim> outs = layout.outs();
  int d = layout.out_index(dim_names(k_dim + 1)[k_dim]);
  for (InDim& in : ins) {
    for (Basis& basis : in.bases) basis[d] = 0;
  }
  // Register repeats along K are no repeats of this operand.
  for (InDim& in : ins) {
    if (in.name == "register") std::erase_if(in.bases, is_idle);
  }
  outs[d].size = 1;
  return {std::move(ins), std::move(outs)};
}

LinearLayout dot_of_mma(const Encoding& e) {
  const Encoding& mma = *e.parent;
  const size_t rank = mma.warps_per_cta.size();
  const int64_t k_dim = e.op_idx == 0 ? rank - 1 : rank - 2;
  std::vector<int64_t> tile(rank, 1);
  tile[k_dim] = e.k_width * 8;
  tile[e.op_idx == 0 ? rank - 2 : rank - 1] = e.op_idx == 0 ? 16 : 8;
  const Order order = k_minor(e.op_idx, rank);
  LinearLayout layout = four_by_eight(tile, e.k_width, order, order);
  return layout * in_order(broadcast_nd("warp", mma.warps_per_cta, mma_warp_order(mma), k_dim), order);
}

LinearLayout dot_of_blocked(const Encoding& e, std::span<const int64_t> shape) {
  const Encoding& blocked = *e.parent;
  const size_t rank = blocked.order.size();
  const int64_t k_dim = e.op_idx == 0 ? rank - 1 : rank - 2;
  std::vector<int64_t> registers = blocked.size_per_thread;
  registers[k_dim] = shape[k_dim];
  return identity_nd("register", registers, blocked.order) *
         broadcast_nd("lane", blocked.threads_per_warp, blocked.order, k_dim) *
         broadcast_nd("warp", blocked.warps_per_cta, blocked.order, k_dim);
}

LinearLayout dot_of_mfma(const Encoding& e, std::span<const int64_t> shape) {
  const Encoding& mfma = *e.parent;
  const size_t rank = mfma.warps_per_cta.size();
  const size_t k_dim = e.op_idx == 0 ? rank - 1 : rank - 2, other_dim = e.op_idx == 0 ? rank - 2 : rank - 1;
  const auto names = dim_names(rank);
  const int64_t other = mfma.instr_shape[e.op_idx == 0 ? 0 : 1];
  const int64_t lanes_along_k = 64 / other;
  const int64_t k_tile = e.k_width * lanes_along_k, k_size = std::max(k_tile, shape[k_dim]);
  LinearLayout layout =
      two_dims(names[k_dim], names[other_dim], joined({powers(0, 1, e.k_width), powers(0, k_tile, k_size)}),
               joined({powers(1, 1, other), powers(0, e.k_width, k_tile)}), k_size, other);
  layout = with_batch(std::move(layout), rank);
  if (!mfma.tiles_per_warp.empty()) {
    layout *= LinearLayout::identity(mfma.tiles_per_warp[other_dim], "register", names[other_dim]);
  }
  return layout * broadcast_nd("warp", mfma.warps_per_cta, row_major(rank), k_dim);
}

LinearLayout dot_of_wmma(const Encoding& e) {
  const Encoding& wmma = *e.parent;
  const size_t rank = wmma.rank();
  const size_t k_dim = e.op_idx == 0 ? rank - 1 : rank - 2, other_dim = e.op_idx == 0 ? rank - 2 : rank - 1;
  const auto names = dim_names(rank);
  const int64_t k_instr = wmma.instr_shape.size() == 3 ? wmma.instr_shape[2] : 16;
  const int64_t other =
      wmma.instr_shape.size() == 3 ? wmma.instr_shape[wmma.is_transposed ? 1 - e.op_idx : e.op_idx] : 16;
  std::vector<Basis> registers, lanes;
  int64_t k_size;
  if (wmma.version == 1) {  // both halves of a warp hold the same
    registers = powers(0, 1, k_instr);
    lanes = joined({powers(1, 1, 16), {{0, 0}}});
    k_size = k_instr;
  } else {
    k_size = std::max(k_instr, e.k_width * 2);
    registers = joined({powers(0, 1, e.k_width), powers(0, e.k_width * 2, k_size), powers(1, 16, other)});
    lanes = joined({powers(1, 1, 16), powers(0, e.k_width, e.k_width * 2)});
  }
  LinearLayout layout =
      two_dims(names[k_dim], names[other_dim], std::move(registers), std::move(lanes), k_size, other);
  return with_batch(std::move(layout), rank) * without_k(wmma_cta(wmma), k_dim);
}

}  // namespace

LinearLayout blocked_tile(const Encoding& e) {
  return identity_nd("register", e.size_per_thread, e.order) *
         identity_nd("lane", e.threads_per_warp, e.order) * identity_nd("warp", e.warps_per_cta, e.order);
}

LinearLayout mma_tile(const Encoding& e) {
  const size_t rank = e.warps_per_cta.size();
  std::vector<int64_t> tile(rank, 1);
  // Hopper gives [16, n, k]; Ampere [16, 8], with a 1 before it for batches.
  const bool hopper = e.version == 3;
  tile[rank - 2] = hopper ? e.instr_shape[0] : e.instr_shape[e.instr_shape.size() - 2];
  tile[rank - 1] = hopper ? e.instr_shape[1] : e.instr_shape[e.instr_shape.size() - 1];
  const Order order = row_major(rank);
  return four_by_eight(tile, 2, order, order) *
         in_order(identity_nd("warp", e.warps_per_cta, mma_warp_order(e)), order);
}

LinearLayout mfma_tile(const Encoding& e) {
  const size_t rank = e.warps_per_cta.size();
  const auto names = dim_names(rank);
  const int64_t m = e.instr_shape[0], n = e.instr_shape[1];
  // Along `a` a lane has four neighbours, along `b` neighbours are lanes; transposed instructions swap M
  // and N.
  const bool swap = e.is_transposed;
  const int64_t a_size = swap ? n : m, b_size = swap ? m : n;
  const std::string &a = names[swap ? rank - 1 : rank - 2], &b = names[swap ? rank - 2 : rank - 1];
  std::vector<Basis> registers, lanes;
  if (e.element_bits == 64) {  // four results of a lane lie four rows apart
    registers = powers(0, 4, a_size);
    lanes = joined({powers(1, 1, b_size), powers(0, 1, 4)});
  } else {
    const int64_t across = 4 * (64 / b_size);  // rows that one register of all lanes and its neighbours cover
    registers = joined({powers(0, 1, 4), powers(0, across, a_size)});
    lanes = joined({powers(1, 1, b_size), powers(0, 4, across)});
  }
  LinearLayout layout = two_dims(a, b, std::move(registers), std::move(lanes), a_size, b_size);
  const Order order = row_major(rank);
  layout = in_order(with_batch(std::move(layout), rank), order);
  if (!e.tiles_per_warp.empty()) layout *= identity_nd("register", e.tiles_per_warp, order);
  return layout * identity_nd("warp", e.warps_per_cta, order);
}

LinearLayout wmma_tile(const Encoding& e) {
  const size_t rank = e.rank();
  const auto names = dim_names(rank);
  const bool swap = e.is_transposed;
  const std::string &a = names[swap ? rank - 1 : rank - 2], &b = names[swap ? rank - 2 : rank - 1];
  int64_t a_size = 16, b_size = 16;
  if (e.instr_shape.size() == 3) {
    a_size = e.instr_shape[0];  // a transposed product is the instruction on swapped operands
    b_size = e.instr_shape[1];
  }
  std::vector<Basis> registers, lanes;
  if (e.version == 1) {  // even rows in the lower half of a warp, odd ones in the upper
    registers = powers(0, 2, 16);
    lanes = joined({powers(1, 1, 16), powers(0, 1, 2)});
  } else {
    registers = joined({powers(0, 1, 8), powers(0, 16, a_size), powers(1, 16, b_size)});
    lanes = joined({powers(1, 1, 16), powers(0, 8, 16)});
  }
  LinearLayout layout = two_dims(a, b, std::move(registers), std::move(lanes), a_size, b_size);
  return in_order(with_batch(std::move(layout), rank), row_major(rank)) * wmma_cta(e);
}

base::Result<LinearLayout> dot_operand_tile(const Encoding& e, std::span<const int64_t> shape) {
  switch (e.parent->kind) {
    case EncodingKind::kBlocked:
      return dot_of_blocked(e, shape);
    case EncodingKind::kNvidiaMma:
      if (e.parent->version == 1) break;
      return dot_of_mma(e);
    case EncodingKind::kAmdMfma:
      return dot_of_mfma(e, shape);
    case EncodingKind::kAmdWmma:
      return dot_of_wmma(e);
    default:
      break;
  }
  return base::failure(std::string("#ttg.dot_op of #ttg.") + encoding_name(e.parent->kind) +
                       (e.parent->version == 1 ? " of version 1 (Volta)" : "") + " is not supported");
}

}  // namespace triton_runner::layout
