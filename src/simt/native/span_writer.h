// SpanWriter writes how spans (span.h) come from memory and go there: 16 lanes (8 with AVX2) of one, two or four words each, which lie one lane
// after the other in memory and by words in the processor's registers.
#pragma once
#include <span>

#include "native/assembler.h"

namespace triton_runner::simt {

class SpanWriter {
 public:
  // The two registers are anybody's.
  SpanWriter(Assembler& assembler, int scratch, int scratch2)
      : a_(assembler), order_(scratch), other_(scratch2) {}
  // Loads words from access `index`: `d` are as many registers, and of four words one more. They are then, in the order of words,
  // those that words() names.
  void load(uint32_t index, std::span<const int> d);
  // The place in `d` of a word.
  static size_t word_at(size_t words, size_t word) {
    constexpr size_t kOfFour[] = {0, 4, 1, 2};
    return words == 4 ? kOfFour[word] : word;
  }
  // Stores words, of the lanes that mask `k` has (0: of all). Of more than one word `t` are four registers that are anybody's,
  // and `k2` a mask that is.
  void store(uint32_t index, std::span<const int> words, std::span<const int> t, int k, int k2);

  // Returns what r9 has to be.
  static const void* constants();

 private:
  // rcx = where the lanes' words begin; asks for those of the next time first.
  void begin(uint32_t index, size_t words);
  void put(int from, int lanes, int k2, uint32_t at);
  // The same without masks, 8 lanes.
  void load_eight(std::span<const int> d);
  void store_eight(std::span<const int> words, std::span<const int> t, int k);
  Assembler& a_;
  int order_, other_;
};

}  // namespace triton_runner::simt
