// Checks what the text of an encoding may get wrong: the numbers that layouts are built from.
#include <algorithm>
#include <bit>
#include <initializer_list>

#include "tiles.h"

namespace triton_runner::layout {
namespace {

bool is_power_of_two(int64_t value) {
  return value > 0 && value <= int64_t{1} << 20 && std::has_single_bit(static_cast<uint64_t>(value));
}

bool one_of(int64_t value, std::initializer_list<int64_t> known) {
  return std::find(known.begin(), known.end(), value) != known.end();
}

// Returns whether the lanes of a warp share the rows and columns of a matrix instruction: NVIDIA's hold 8 x 8
// at least, the 64 of AMD's hold no more than 64 of either.
bool instruction_fits(const Encoding& e) {
  const size_t first = e.version == 3 || e.kind == EncodingKind::kAmdMfma ? 0 : e.instr_shape.size() - 2;
  const int64_t m = e.instr_shape[first], n = e.instr_shape[first + 1];
  return e.kind == EncodingKind::kAmdMfma ? std::max(m, n) <= 64 : std::min(m, n) >= 8;
}

// The first problem with an encoding, or nothing.
const char* problem(const Encoding& e, size_t rank) {
  for (const auto* counts :
       {&e.size_per_thread, &e.threads_per_warp, &e.warps_per_cta, &e.tiles_per_warp, &e.instr_shape})
    if (!std::all_of(counts->begin(), counts->end(), is_power_of_two))
      return "a count that is not a power of two";
  for (const Basis& basis : e.cga)
    if (basis.size() < rank) return "blocks of fewer dimensions than the shape";
  switch (e.kind) {
    case EncodingKind::kBlocked:
      if (e.size_per_thread.size() != rank || e.threads_per_warp.size() != rank ||
          e.warps_per_cta.size() != rank)
        return "counts of another rank than the shape";
      break;
    case EncodingKind::kNvidiaMma:
    case EncodingKind::kAmdMfma:
      if (rank < 2 || e.warps_per_cta.size() != rank) return "warps of another rank than the shape";
      if (e.instr_shape.size() < 2) return "no shape of its instruction";
      if (!instruction_fits(e)) return "an instruction that no warp computes";
      if (!e.tiles_per_warp.empty() && e.tiles_per_warp.size() != rank)
        return "tiles of a warp of another rank than the shape";
      break;
    case EncodingKind::kAmdWmma:
      if (rank < 2 || (!e.warps_per_cta.empty() && e.warps_per_cta.size() != rank))
        return "warps of another rank than the shape";
      for (const auto* bases : {&e.warp_bases, &e.register_bases})
        for (const Basis& basis : *bases)
          if (basis.size() != rank) return "bases of another rank than the shape";
      break;
    case EncodingKind::kSlice:
      if (!e.parent) return "no parent";
      break;
    case EncodingKind::kDotOperand:
      if (!e.parent) return "no parent";
      if (rank < 2 || !one_of(e.op_idx, {0, 1}))
        return "an operand that is neither 0 nor 1 of two dimensions";
      if (e.parent->kind != EncodingKind::kBlocked && !is_power_of_two(e.k_width))
        return "a kWidth that is not a power of two";
      return problem(*e.parent, rank);
    case EncodingKind::kSwizzledShared:
    case EncodingKind::kRotatingShared:
      if (!is_power_of_two(e.vec) || !is_power_of_two(e.per_phase) || !is_power_of_two(e.max_phase))
        return "a vec, perPhase or maxPhase that is not a power of two";
      break;
    case EncodingKind::kNvmmaShared:
      if (!one_of(e.swizzle_bytes, {0, 32, 64, 128}))
        return "a swizzlingByteWidth other than 0, 32, 64 or 128";
      if (!one_of(e.element_bits, {4, 8, 16, 32, 64})) return "an elementBitWidth that no element has";
      break;
    case EncodingKind::kPaddedShared:
    case EncodingKind::kPartitionedShared:
      for (const auto& [interval, pad] : e.padding)
        if (interval < 1 || pad < 0) return "an interval or a padding below what there is";
      break;
    case EncodingKind::kTensorMemory:
      if (!one_of(e.block_m, {64, 128}) || !is_power_of_two(e.block_n)) return "a block that no hardware has";
      if (!is_power_of_two(e.col_stride)) return "a colStride that is not a power of two";
      [[fallthrough]];
    case EncodingKind::kTensorMemoryScales:
      if (rank < 2) return "a shape of one dimension";
      break;
    default:
      break;
  }
  return nullptr;
}

}  // namespace

base::Status well_formed(const Encoding& encoding, size_t rank) {
  const char* found = problem(encoding, rank);
  if (!found) return base::success();
  return base::failure(std::string("#ttg.") + encoding_name(encoding.kind) + " with " + found);
}

}  // namespace triton_runner::layout
