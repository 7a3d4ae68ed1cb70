// beside() says where an access lies that leaves a block of memory, or comes after it: "4 bytes past the end of argument 'x'".
#pragma once
#include <cstdint>
#include <string>

namespace triton_runner::exec {

inline std::string count_of_bytes(uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

// The access to `bytes` at `address`, which is not before the block that ends at `end`.
inline std::string beside(uint64_t address, uint64_t bytes, uint64_t end, const std::string& label) {
  if (address < end && address + bytes <= end) return "inside " + label;
  if (address < end) return "runs " + count_of_bytes(address + bytes - end) + " past the end of " + label;
  return (address == end ? "right at the end of " : count_of_bytes(address - end) + " past the end of ") +
         label;
}

}  // namespace triton_runner::exec
