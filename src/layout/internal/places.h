// Gives layouts as tables for people and pictures: where each element of a tensor is, and which banks of
// shared memory a warp touches when its registers are stored to a buffer or loaded from it.
#pragma once
#include <triton_runner/layout/encoding.h>

namespace triton_runner::layout {

// For each element in the row-major order of the tensor: the lowest index of each input that holds it.
struct Places {
  std::vector<std::string> names;           // register, lane, warp, block; offset, block; row, col, block
  std::vector<std::vector<int32_t>> where;  // one list a name; -1 where nothing holds the element
  std::vector<int32_t> copies;              // how many hold it
};
// Errors: more than 2^24 elements or holders.
base::Result<Places> places(const LinearLayout& layout);

constexpr int kBanks = 32, kBankBytes = 4;

// One instruction of a warp that moves registers to or from shared memory, as ld.shared and st.shared do:
// 4 bytes a bank and turn; accesses of 8 bytes go in two turns, of 16 bytes in four. Lanes that want the same
// 4 bytes share them.
struct BankAccess {
  std::vector<int32_t> registers;  // of the tensor, in the order of their bytes
  std::vector<int64_t> bytes;      // where each lane's begin
  int turns = 0, fewest = 0;       // what the banks need, what they would need without conflicts
  int conflicts() const { return turns - fewest; }
};
struct BankTable {
  int vector_bytes = 0;  // what a lane moves at a time: registers that are neighbours in memory
  std::vector<BankAccess> accesses;
};
// How warp `warp` of block 0 moves a tensor in `registers` (a distributed encoding) to or from a buffer in
// `shared`, both of `shape` with elements of `element_bits` bits; a lane moves at most `most_bytes` at a time.
base::Result<BankTable> bank_table(const Encoding& shared, const Encoding& registers,
                                   std::span<const int64_t> shape, int element_bits, int warp = 0,
                                   int most_bytes = 16);

}  // namespace triton_runner::layout
