// Implements special_function() from the tables of approx.cpp.
#include <triton_runner/lanes/approximations.h>

namespace triton_runner::lanes {
namespace approximations {

using Entry = ApproxEntry;
#include "simd/approx_tables.inc"

}  // namespace approximations

std::span<const ApproxEntry> special_function(Operation operation) {
  if (operation == Operation::kRcp) return approximations::kRcpTable;
  return approximations::kEx2Table;
}

}  // namespace triton_runner::lanes
