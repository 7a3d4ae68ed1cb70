// Tells what an instruction asks of the SM, whatever its operands hold: pipe, and floating-point operations.
#pragma once
#include <cstdint>
#include <string_view>

#include <triton_runner/sass/text.h>

namespace triton_runner::sass {

struct Work {
  std::string_view pipe;  // as pipes.def names it; empty: no source says
  uint32_t flops = 0;     // of a thread for which the guard holds
  uint64_t matrix_operations =
      0;  // of a warp: products and sums of the matrices' elements, two for each product
  std::string_view
      matrix_type;  // of the elements that are multiplied: "f16", "tf32", "f8", "f4", "s8", "f64", "b1"
  std::string_view
      space;  // of an access to memory: "global", "shared", "local", "generic", "tma"; empty: none
  std::string_view access;  // "load", "store", "atomic", "reduction", "copy"
};
Work work_of(const Module& module, const Instruction& in);

}  // namespace triton_runner::sass
