// Implements SpanWriter.
#include "native/span_writer.h"

#include <array>
#include <cstddef>

#include "native/span.h"

namespace triton_runner::simt {
namespace {

constexpr VectorOp kPickWide = wide(kPick), kSignsOfMask{VectorOp::k0F38, VectorOp::kF3, false, 0x38};
// AVX2's, within each half of a vector but for the last.
constexpr VectorOp kLowWords{VectorOp::k0F, VectorOp::kNone, false, 0x14},
    kHighWords{VectorOp::k0F, VectorOp::kNone, false, 0x15},
    kLowLongs{VectorOp::k0F, VectorOp::k66, false, 0x14},
    kHighLongs{VectorOp::k0F, VectorOp::k66, false, 0x15},
    kShufflePs{VectorOp::k0F, VectorOp::kNone, false, 0xc6},
    kBothHalves{VectorOp::k0F38, VectorOp::k66, false, 0x1a},
    kSecondHalf{VectorOp::k0F3A, VectorOp::k66, false, 0x18},
    kPermuteLongs{VectorOp::k0F3A, VectorOp::k66, true, 0x00},
    kHalves{VectorOp::k0F3A, VectorOp::k66, false, 0x06};
constexpr uint8_t kFirstHalves = 0x20, kSecondHalves = 0x31;  // of kHalves

constexpr uint8_t kLower = 0x44, kUpper = 0xee;  // halves, of kShuffleQuarters

// Numbers of the words that a register takes of two others, 0 to 31, and of the lanes whose words a register has.
struct Orders {
  using Words = std::array<uint32_t, 16>;
  alignas(64) Words even, odd, low, high, low_back, high_back;
  alignas(64) std::array<uint64_t, 8> even_back, odd_back;
  alignas(64) std::array<Words, 4> lanes_of_four;
  alignas(64) std::array<Words, 2> lanes_of_two;
  constexpr Orders()
      : even{},
        odd{},
        low{},
        high{},
        low_back{},
        high_back{},
        even_back{},
        odd_back{},
        lanes_of_four{},
        lanes_of_two{} {
    for (uint32_t i = 0; i < 16; ++i) {
      even[i] = 2 * i, odd[i] = 2 * i + 1;
      low[i] = 4 * (i % 8) + i / 8, high[i] = low[i] + 2;
      low_back[i] = i / 2 + 16 * (i % 2), high_back[i] = low_back[i] + 8;
      for (uint32_t k = 0; k < 4; ++k) lanes_of_four[k][i] = 4 * k + i / 4;
      for (uint32_t k = 0; k < 2; ++k) lanes_of_two[k][i] = 8 * k + i / 2;
    }
    for (uint32_t i = 0; i < 8; ++i) even_back[i] = i / 2 + 8 * (i % 2), odd_back[i] = even_back[i] + 4;
  }
};
constexpr Orders kOrders;

Memory order(const void* which) {
  const auto at = reinterpret_cast<uintptr_t>(which) - reinterpret_cast<uintptr_t>(&kOrders);
  return {kR9, 0, static_cast<uint32_t>(at)};
}

}  // namespace

const void* SpanWriter::constants() { return &kOrders; }

void SpanWriter::begin(uint32_t index, size_t words) {
  constexpr uint32_t kLine = 64;
  const bool is_four = words == 4;
  const auto bytes = static_cast<uint32_t>(4 * words);
  a_.begin_at(static_cast<uint32_t>(kMostAccesses) + index, is_four);
  for (uint32_t at = 0; at < bytes * static_cast<uint32_t>(a_.use().lanes); at += kLine)
    a_.prefetch({kRcx, is_four ? 8 : bytes, at});
  a_.begin_at(index, is_four);
}

void SpanWriter::load(uint32_t index, std::span<const int> d) {
  if (d.size() == 1) {
    begin(index, 1);
    return a_.with_memory(kLoad, d[0], 0, Memory{kRcx, 4, 0});
  }
  const bool is_four = d.size() > 2;
  begin(index, is_four ? 4 : 2);
  if (!a_.use().has_masks()) return load_eight(d);
  const auto memory = [](uint32_t k) { return Memory{kRcx, 8, 64 * k}; };
  a_.with_memory(kLoad, order_, 0, order(is_four ? &kOrders.low : &kOrders.even));
  a_.with_memory(kLoad, other_, 0, order(is_four ? &kOrders.high : &kOrders.odd));
  for (uint32_t k = 0; k < (is_four ? 4u : 2u); k += 2) {
    a_.with_memory(kLoad, d[k], 0, memory(k));
    a_.vector(kMove, d[k + 1], 0, d[k]);
    a_.with_memory(kPick, d[k], order_, memory(k + 1));
    a_.with_memory(kPick, d[k + 1], other_, memory(k + 1));
  }
  if (!is_four) return;
  a_.vector_imm(kShuffleQuarters, d[4], d[0], d[2], kUpper);
  a_.vector_imm(kShuffleQuarters, d[0], d[0], d[2], kLower);
  a_.vector_imm(kShuffleQuarters, d[2], d[1], d[3], kUpper);
  a_.vector_imm(kShuffleQuarters, d[1], d[1], d[3], kLower);
}

void SpanWriter::load_eight(std::span<const int> d) {
  const auto memory = [](uint32_t at) { return Memory{kRcx, 8, at}; };
  if (d.size() == 2) {
    for (uint32_t k = 0; k < 2; ++k) a_.with_memory(kLoad, d[k], 0, memory(32 * k));
    a_.vector_imm(kShufflePs, order_, d[0], d[1], 0x88);
    a_.vector_imm(kShufflePs, d[1], d[0], d[1], 0xdd);
    a_.vector_imm(kPermuteLongs, d[0], 0, order_, 0xd8);
    return a_.vector_imm(kPermuteLongs, d[1], 0, d[1], 0xd8);
  }
  for (uint32_t k = 0; k < 4; ++k) {
    a_.with_memory(kBothHalves, d[k], 0, memory(16 * k));
    a_.with_memory(kSecondHalf, d[k], d[k], memory(16 * k + 64));
    a_.byte(1);
  }
  a_.vector(kLowWords, order_, d[0], d[1]);
  a_.vector(kLowWords, other_, d[2], d[3]);
  a_.vector(kHighWords, d[0], d[0], d[1]);
  a_.vector(kHighWords, d[2], d[2], d[3]);
  a_.vector(kHighLongs, d[4], order_, other_);
  a_.vector(kLowLongs, d[1], d[0], d[2]);
  a_.vector(kHighLongs, d[2], d[0], d[2]);
  a_.vector(kLowLongs, d[0], order_, other_);
}

// `k` is a vector.
void SpanWriter::store_eight(std::span<const int> words, std::span<const int> t, int k) {
  // Stores the lanes of both vectors whose first one is `lane`, and those 4 further; `lanes` and `lanes2` are their masks.
  const auto put_both = [&](int first, int second, uint32_t lane, int lanes, int lanes2) {
    for (const uint8_t halves : {kFirstHalves, kSecondHalves}) {
      if (k) a_.vector_imm(kHalves, order_, lanes, lanes2, halves);
      a_.vector_imm(kHalves, other_, first, second, halves);
      const auto row = static_cast<uint32_t>(4 * words.size());
      a_.with_memory(kStore, other_, 0, Memory{kRcx, 8, row * (lane + (halves == kFirstHalves ? 0 : 4))},
                     k ? order_ : 0);
    }
  };
  if (words.size() == 2) {
    for (uint32_t half = 0; half < 2; ++half) {
      const VectorOp op = half ? kHighWords : kLowWords;
      a_.vector(op, t[half], words[0], words[1]);
      if (k) a_.vector(op, t[2 + half], k, k);
    }
    return put_both(t[0], t[1], 0, t[2], t[3]);
  }
  for (uint32_t half = 0; half < 2; ++half) {  // lanes 0, 1, 4 and 5; 2, 3, 6 and 7
    const VectorOp op = half ? kHighWords : kLowWords;
    a_.vector(op, order_, words[0], words[1]);
    a_.vector(op, other_, words[2], words[3]);
    a_.vector(kLowLongs, t[0], order_, other_);
    a_.vector(kHighLongs, t[1], order_, other_);
    for (uint32_t j = 0; j < 2 && k; ++j)
      a_.vector_imm(kShuffleWords, t[2 + j], 0, k, static_cast<uint8_t>(0x55 * (2 * half + j)));
    put_both(t[0], t[1], 2 * half, t[2], t[3]);
  }
}

// Stores a vector of the words of some lanes; `lanes` has those that are on, -1 each (negative: all are on).
void SpanWriter::put(int from, int lanes, int k2, uint32_t at) {
  if (lanes >= 0) a_.vector(kMaskOfSigns, k2, 0, lanes);
  a_.with_memory(kStore, from, 0, Memory{kRcx, 8, at}, lanes < 0 ? 0 : k2);
}

void SpanWriter::store(uint32_t index, std::span<const int> words, std::span<const int> t, int k, int k2) {
  if (words.size() == 1) {
    begin(index, 1);
    return a_.with_memory(kStore, words[0], 0, Memory{kRcx, 4, 0}, k);
  }
  if (k && !a_.use().has_masks()) {  // mostly all lanes are on
    const size_t all = a_.jump_if_all(k);
    begin(index, words.size());
    store_eight(words, t, k);
    const size_t done = a_.jump_always();
    a_.land(all);
    store(index, words, t, 0, k2);
    return a_.land(done);
  }
  const bool is_four = words.size() == 4;
  begin(index, words.size());
  if (!a_.use().has_masks()) return store_eight(words, t, 0);
  if (k) a_.vector(kSignsOfMask, t[3], 0, k);
  // A vector of words that are in order_, of the lanes of `numbers`.
  const auto put_ordered = [&](int from, const Orders::Words& numbers, uint32_t row) {
    if (k) {
      a_.with_memory(kLoad, other_, 0, order(&numbers));
      a_.vector(kLookUp, other_, other_, t[3]);
    }
    put(from, k ? other_ : -1, k2, 64 * row);
  };
  const auto picked = [&](int d, int first, VectorOp op, const void* by, int second) {
    a_.with_memory(kLoad, order_, 0, order(by));
    a_.vector(kMove, d, 0, first);
    a_.vector(op, d, order_, second);
  };
  for (uint32_t half = 0; half < 2; ++half) {
    const void* by = half ? &kOrders.high_back : &kOrders.low_back;
    picked(t[0], words[0], kPick, by, words[1]);
    if (!is_four) {
      put_ordered(t[0], kOrders.lanes_of_two[half], half);
      continue;
    }
    picked(t[1], words[2], kPick, by, words[3]);
    for (uint32_t k4 = 0; k4 < 2; ++k4) {
      picked(t[2], t[0], kPickWide, k4 ? &kOrders.odd_back : &kOrders.even_back, t[1]);
      put_ordered(t[2], kOrders.lanes_of_four[2 * half + k4], 2 * half + k4);
    }
  }
}

}  // namespace triton_runner::simt
