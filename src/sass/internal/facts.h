// Tells what an instruction is and asks of the SM, by its row and suffixes, whatever its operands hold.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <triton_runner/sass/text.h>

namespace triton_runner::sass {

struct Work {
  std::string_view pipe;  // as opcodes.def names it; empty: no source says
  uint32_t flops = 0;     // of a thread for which the guard holds
  uint64_t matrix_operations =
      0;  // of a warp: products and sums of the matrices' elements, two for each product
  std::string_view
      matrix_type;  // of the elements that are multiplied: "f16", "tf32", "f8", "f4", "s8", "f64", "b1"
  std::string_view
      space;  // of an access to memory: "global", "shared", "local", "generic", "tma"; empty: none
  std::string_view access;  // "load", "store", "atomic", "reduction", "copy"
};
Work work_of(const Instruction& in);

// A product of matrices: an m x k matrix by a k x n one.
struct Product {
  uint32_t m = 0, n = 0, k = 0;
  uint32_t bits = 0;      // of an element that is multiplied; 0: the instruction is no product
  std::string_view type;  // of these elements
  bool of_group = false;  // of four warps
};
Product product_of(const Instruction& in);

// Tells of a copy of the copy engine whether it leads out of the shared memory of the block that asks for it.
bool leaves_shared(const Instruction& in);

bool gives_floats(const Instruction& in);  // what it leaves in registers is f32
// A copy of a register or a constant in one.
bool is_move(const Instruction& in);
// Sources that are no zeros, predicates or tables.
size_t real_sources(const Instruction& in);

inline constexpr uint32_t kFrame = 1;  // R1, the address of the stack frame
// The 4-byte words of the stack frame that a load or a store of registers takes, by their number; none where its address is
// computed.
std::vector<uint32_t> frame_words(const Instruction& in);

}  // namespace triton_runner::sass
