// Declares what the SIMT engine needs done over all lanes at once besides arithmetic: guards, gathers,
// scatters, copies. A table of them is compiled once an instruction set (simd/memory.cpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include <triton_runner/num/types.h>

namespace triton_runner::lanes {

enum class Guard : uint8_t { kNone, kSome, kAll };

// Returns which of n lanes stores `bytes` to shared memory in a turn. Where several store to one word PTX
// leaves open which value stays. An H100 takes 128 bytes at a time, so that lanes that store 16 go in
// quarters of a warp and those that store 8 in halves; of one part the first lane's value stays, of several
// the last part's.
inline uint32_t store_turn(uint32_t turn, uint32_t n, uint32_t bytes) {
  const uint32_t lanes = bytes <= 4 ? 32 : 128 / bytes;
  const uint32_t first = turn & ~(lanes - 1);
  return first + (n - first < lanes ? n : first + lanes) - 1 - turn;
}

struct SumHandlers;  // sums.h

struct Tables {
  // out[i] = (p[i] ^ flip) & mask[i] (mask null: all on), n a multiple of 32: how many are left of the mask?
  Guard (*guard)(const int8_t* p, uint8_t flip, const int8_t* mask, int8_t* out, uint32_t n);
  // The largest of a[i] + add (mod 2^32) of the lanes that are on.
  uint32_t (*highest)(const uint32_t* a, uint32_t add, const int8_t* mask, uint32_t n);
  // The bits that a[i] + add have set in any lane that is on.
  uint32_t (*any_bits)(const uint32_t* a, uint32_t add, const int8_t* mask, uint32_t n);
  // Lowest and highest of 64-bit addresses, and their bits, of the lanes that are on (at least one is).
  void (*range)(const uint64_t* a, const int8_t* mask, uint32_t n, uint64_t* low, uint64_t* high,
                uint64_t* bits);
  // a[i + 1] == a[i] + step for all lanes.
  bool (*contiguous)(const uint64_t* a, uint32_t n, uint64_t step);
  bool (*contiguous32)(const uint32_t* a, uint32_t n, uint32_t step);
  // `words` registers of n lanes from or to n groups of that many consecutive words at base + a[i]. Word
  // sizes: 1, 2, 4, 8 bytes; registers are word-sized. Checked by the caller.
  void (*gather64)(std::byte* const* out, const uint64_t* a, uint64_t add, const int8_t* mask, uint32_t n,
                   uint32_t words, uint32_t word_bytes);
  // The same of groups that follow each other from `from` or `to` on; the mask's, or all.
  void (*gather_row)(std::byte* const* out, const std::byte* from, const int8_t* mask, uint32_t n,
                     uint32_t words, uint32_t word_bytes);
  void (*scatter_row)(const std::byte* const* in, std::byte* to, const int8_t* mask, uint32_t n,
                      uint32_t words, uint32_t word_bytes);
  // Memory there has `end` bytes.
  void (*gather32)(std::byte* const* out, const std::byte* base, size_t end, const uint32_t* a, uint32_t add,
                   const int8_t* mask, uint32_t n, uint32_t words, uint32_t word_bytes);
  void (*scatter64)(const std::byte* const* in, const uint64_t* a, uint64_t add, const int8_t* mask,
                    uint32_t n, uint32_t words, uint32_t word_bytes);
  void (*scatter32)(const std::byte* const* in, std::byte* base, const uint32_t* a, uint32_t add,
                    const int8_t* mask, uint32_t n, uint32_t words, uint32_t word_bytes);
  // `count` matrices (1, 2, 4) of 8 rows of 16 bytes, as they are or transposed in elements of two bytes, to registers
  // of 32 lanes: row i of matrix r is at base + (a[8 * r + i] + add). False, and nothing was done: one is not within
  // `bytes` or not aligned.
  bool (*load_matrices)(const std::byte* base, uint32_t bytes, const uint32_t* a, uint32_t add,
                        uint32_t count, bool trans, std::byte* const* out);
  // d[i] = a[from[i]] in each warp of n lanes: 32 numbers below 32.
  void (*permute)(uint32_t* d, const uint32_t* a, const uint8_t* from, uint32_t n);
  const SumHandlers* sums;
};

const Tables& simd_tables(num::Isa isa);

}  // namespace triton_runner::lanes
