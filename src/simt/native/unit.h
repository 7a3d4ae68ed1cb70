// UnitWriter writes what the special function unit gives for 16 floats, and what instructions make of that (lanes/simd/approx.cpp
// says why it is so): ex2 and the reciprocal of .approx, and what a division multiplies its operands with.
#pragma once
#include <array>

#include "native/assembler.h"

namespace triton_runner::simt {

// Registers that a function may overwrite.
struct UnitTemporaries {
  std::array<int, 5> vectors;
  std::array<int, 2> masks;  // may be the last two vectors
  int more;                  // one more mask
};

class UnitWriter {
 public:
  // In the register for NaNs each word is 0x7fffffff.
  UnitWriter(Assembler& assembler, const UnitTemporaries& t)
      : a_(assembler), nan_(assembler.use().nan), t_(t) {}
  // d = ex2(a), of .ftz or not; d is another register than a.
  void ex2(int d, int a, bool flush);
  // d = 1 / a, of .ftz or not.
  void reciprocal(int d, int a, bool flush);
  // d = what a divisor a and its reciprocal are multiplied with so that neither is a subnormal.
  void division_factor(int d, int a);

  // The address that rsi has to hold.
  static const void* constants();

 private:
  // Names the vectors[] by what they hold.
  enum Part { kPrepared, kC0, kC12, kFirst, kSecond };
  int at(Part part) const { return t_.vectors[part]; }
  struct Function {
    WordTables tables;
    Constant16 point, bias;  // bits between two entries; what is added before the sum is cut off
  };
  // d = the function of a prepared argument, more or less that argument (Tables).
  void compute(int d, const Function& f);
  void square(int d, uint8_t unused_bits);
  void interpolate(int d, const Function& f);
  void round_down(int fixed);
  void shift(int how, int d, int a, int by) {
    a_.vector_imm(kShiftWordsBy, how, d, a, static_cast<uint8_t>(by));
  }
  // d = the word, of the elements that `mask` has.
  void set(int d, Constant16 word, int mask = 0) { a_.vector(kBroadcast, d, 0, {word.at, false}, mask); }
  // Results below the least exponent are 0.
  void flush_low(int d);
  // d is a NaN where a is one.
  void keep_nans(int d, int a);

  Assembler& a_;
  int nan_;
  UnitTemporaries t_;
};

}  // namespace triton_runner::simt
