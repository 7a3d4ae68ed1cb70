// Declares the instructions by which kernels write tensor maps, in the engine's own format
// (exec/tensor_map.h).
#pragma once
#include <string>

#include "state/address.h"

namespace triton_runner::simt {

enum class MapField : uint8_t {
  kNone,
  kGlobalAddress,
  kRank,
  kBoxDim,
  kGlobalDim,
  kGlobalStride,
  kElementStride,
  kElemtype,
  kInterleaveLayout,
  kSwizzleMode,
  kSwizzleAtomicity,
  kFillMode,
};
struct MapReplacePlan {
  AddressPlace map;
  bool shared = false;  // .shared::cta; else global or generic
  MapField field = MapField::kNone;
  std::string name;    // of the field, for messages
  uint32_t index = 0;  // dimension, innermost first
  uint32_t value = 0;  // place
  bool wide = false;   // .b64
  int stride_shift = 0;
};
void run_map_replace(Exec& x, const Operands& in, const MapReplacePlan& plan);

struct MapCopyPlan {
  AddressPlace to, from;
};
void run_map_copy(Exec& x, const Operands& in, const MapCopyPlan& plan);

}  // namespace triton_runner::simt
