// Implements UnitWriter: approx.cpp's formulas, 16 lanes of 32 bits at a time.
#include "native/unit.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include <triton_runner/lanes/approximations.h>

namespace triton_runner::simt {
namespace {

constexpr uint8_t kLess = 1, kUnordered = 3, kNotAtLeast = 9, kGreater = 14;  // of comparisons
constexpr uint32_t kOne = 1 << 23, kInfinity = 0x7f800000;
constexpr VectorOp kWithSign{VectorOp::k0F38, VectorOp::k66, false, 0x0a},  // AVX2's
    kBlendHalfWords{VectorOp::k0F3A, VectorOp::k66, false, 0x0e};

// Words that instructions take from memory.
constexpr uint32_t kWords[] = {0xc2fc0000, 0x3f000000, 0x4e800000, 0x4b000000, 0x007fffff, 0xffffffff,
                               32,         64,         0x1ffff,    0xffff,     0x77e2,     0x47e7,
                               0x8000,     kOne,       kInfinity,  0x80000000, 252u << 23, 0x7e800000,
                               0x3f800000, 0x4b800000, 0x3e800000, 0xc3800000, 0x08102040, 0x787c7e7f,
                               0x80010204, 0x7f406070, 0x7f0000};

// For kShuffleBytes: each byte of a word is byte `which` of it.
using Bytes = std::array<uint8_t, 64>;
constexpr Bytes spread(uint8_t which) {
  Bytes from{};
  for (size_t i = 0; i < 64; ++i) from[i] = static_cast<uint8_t>(i / 4 % 4 * 4 + which);
  return from;
}

// The words of each entry: c0, and c2 above c1. Fixed-point numbers are e + x: an entry's number above `kPoint` bits x, and c0 has
// -e, so that e + x may be added to a result (`sign` 1) or subtracted. c1 is less `sign` times 2^15, which x itself stands for.
// The pairs have halves or quarters of these entries, by the bits 16 to 23 (of which the last is the exponent's): what is left of x
// are 16 bits, less 2^15.
template <size_t kEntries>
struct UnitTables {
  uint32_t c0[kEntries], c12[kEntries], pairs[256][2];
  UnitTables(lanes::Operation operation, uint32_t add, int32_t sign) : c0{}, c12{}, pairs{} {
    const auto entries = lanes::special_function(operation);
    constexpr uint32_t kPoint = kEntries == 64 ? 17 : 16;
    for (uint32_t i = 0; i < kEntries; ++i) {
      c0[i] = static_cast<uint32_t>(entries[i].c0) + add - static_cast<uint32_t>(sign) * (i << kPoint << 2);
      c12[i] = (static_cast<uint32_t>(entries[i].c12) & 0xfff) << 16 | (c1(entries[i], sign) & 0xffff);
    }
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t x = (i << 16 & ((1u << kPoint) - 1)) + 0x8000, entry = i % 128 << 16 >> kPoint;
      pairs[i][0] = c0[entry] + c1(entries[entry], sign) * (x >> 13);
      pairs[i][1] = c12[entry];
    }
  }

 private:
  static uint32_t c1(const lanes::ApproxEntry& entry, int32_t sign) {
    return static_cast<uint32_t>((entry.c12 >> 12) - sign * 0x8000);
  }
};

struct Constants {
  alignas(64) UnitTables<64> ex2{lanes::Operation::kEx2, 126u << 25, 1};  // with the exponent's bias
  UnitTables<128> rcp{lanes::Operation::kRcp, 0, -1};
  alignas(64) Bytes first = spread(0), second = spread(1);
  std::array<uint16_t, 32> upper;  // 2^10
  std::array<uint32_t, 8> words[std::size(kWords)];
  Constants() {
    upper.fill(1 << 10);
    for (size_t i = 0; i < std::size(kWords); ++i) words[i].fill(kWords[i]);
  }
};

consteval Constant16 constant(uint32_t value) {
  uint32_t i = 0;
  while (kWords[i] != value) ++i;  // one that is not there does not compile
  return {static_cast<uint32_t>(offsetof(Constants, words)) + 32 * i, true};
}

}  // namespace

const void* UnitWriter::constants() {
  static const Constants all;
  return &all;
}

// d = the square of the upper 16 bits w of a point, 2^16 times: of two groups h and l of 8, h h / 2 and the products of the bits of
// l with those of h from which nothing is cut off. With h = 2 q + r, h h / 2 is 2 q q + 2 q r. The bytes q and l / 2 (which has r
// above it) are there four times each, without the bits that do not count, so that products of bytes are 64 times the terms.
void UnitWriter::square(int d, uint8_t unused_bits) {
  const int l = at(kFirst), q = at(kSecond), t = a_.use().scratch;
  const auto vector = [](size_t at) { return Constant16{static_cast<uint32_t>(at), false}; };
  shift(kRightBy, q, at(kPrepared), 1 + unused_bits);
  a_.vector(kShuffleBytes, l, q, vector(offsetof(Constants, first)));
  a_.vector(kShuffleBytes, q, q, vector(offsetof(Constants, second)));
  a_.vector(kAnd, d, l, constant(0x08102040));
  a_.vector(kAnd, t, q, constant(0x787c7e7f));
  a_.vector(kMulBytes, d, d, t);
  a_.vector(kAnd, l, l, constant(0x80010204));
  a_.vector(kAnd, t, q, constant(0x7f406070));
  a_.vector(kMulBytes, l, l, t);
  a_.vector(kAddHalfWords, d, d, l);
  a_.vector(kMulPairs, d, d, vector(offsetof(Constants, upper)));
  a_.vector(kAddBytes, t, q, q);
  a_.vector(kAnd, q, q, constant(0x7f0000));
  a_.vector(kMulBytes, t, t, q);
  a_.vector(kAdd, d, d, t);
}

// d = (c0 2^13 + c1 x + c2 s + bias) >> 15, of the squares d; the sum without c0 has 32 bits.
void UnitWriter::interpolate(int d, const Function& f) {
  const int x = at(kFirst), c12 = at(kC12), t = at(kSecond);
  if (a_.use().has_masks()) {
    a_.vector(kAnd, x, at(kPrepared), f.point);
    shift(kLeftBy, t, c12, 16);
    shift(kRightSignedBy, t, t, 16);
    a_.vector(kMulLow, t, t, x);
    a_.vector(kMulPairs, d, d, c12);
    a_.vector(kAdd, d, d, t);
  } else {
    a_.vector(kXor, x, at(kPrepared), constant(0x8000));
    a_.vector_imm(kBlendHalfWords, d, d, x, 0x55);
    a_.vector(kMulPairs, d, d, c12);
  }
  a_.vector(kAdd, d, d, f.bias);
  shift(kRightSignedBy, d, d, 13);
  a_.vector(kAdd, d, d, at(kC0));
  shift(kRightBy, d, d, 2);
}

void UnitWriter::compute(int d, const Function& f) {
  square(d, f.tables.lowest - 16);
  a_.look_up(at(kC0), at(kC12), at(kPrepared), f.tables, t_.masks, std::array{at(kFirst), at(kSecond)});
  interpolate(d, f);
}

void UnitWriter::flush_low(int d) {
  a_.vector_imm(kCompareSigned, t_.more, d, constant(kOne), kLess);
  a_.vector(kXor, d, d, d, t_.more);
}

void UnitWriter::keep_nans(int d, int a) {
  a_.vector_imm(kComparePs, t_.more, a, a, kUnordered);
  a_.vector(kMove, d, 0, nan_, t_.more);
}

// One less where it is negative and not a whole number.
void UnitWriter::round_down(int fixed) {
  const Constant16 fraction = constant(0x007fffff);
  if (a_.use().has_masks()) {
    a_.vector(kMaskOfSigns, t_.more, 0, fixed);
    a_.vector(kTest, t_.more, fixed, fraction, t_.more);
    return a_.vector(kAdd, fixed, fixed, constant(~uint32_t{0}), t_.more);
  }
  const int t = at(kFirst);
  a_.vector(kAnd, t, fixed, fraction);
  a_.vector(kWithSign, t, t, fixed);
  shift(kRightSignedBy, t, t, 31);
  a_.vector(kAdd, fixed, fixed, t);
}

void UnitWriter::ex2(int d, int a, bool flush) {
  static const Function function{{offsetof(Constants, ex2.c0),
                                  offsetof(Constants, ex2.c12),
                                  offsetof(Constants, ex2.pairs),
                                  64,
                                  17,
                                  {constant(32), constant(64)}},
                                 constant(0x1ffff),
                                 constant(0x77e2)};
  constexpr Constant16 kLeast = constant(0xc2fc0000);  // -126
  const int fixed = at(kPrepared), is_low = t_.masks[0];
  a_.vector(kMulPs, fixed, a, constant(0x4b000000));  // 2^23
  // Numbers below -126 and NaNs take more than the function. They are rare but for elements that are masked: these are often -inf, and
  // nothing is computed of a vector of them.
  a_.vector_imm(kComparePs, t_.more, a, kLeast, kNotAtLeast);
  const size_t plain = a_.jump_if_none(t_.more);
  a_.vector(kXor, d, d, d);
  a_.vector_imm(kComparePs, is_low, a, constant(0xc3800000), kLess);  // -256
  const size_t zeros = a_.jump_if_all(is_low);
  if (!flush) {  // of half the argument
    a_.vector_imm(kComparePs, is_low, a, kLeast, kLess);
    a_.vector(kMulPs, fixed, fixed, constant(0x3f000000), is_low);
  }
  a_.land(plain);
  a_.vector(kMinPs, fixed, fixed, constant(0x4e800000));  // 128 times that
  a_.vector(kTruncateFloat, fixed, 0, fixed);
  round_down(fixed);
  compute(d, function);
  a_.vector(kAdd, d, d, fixed);
  const size_t done = a_.jump_again();
  flush_low(d);
  if (!flush) {
    a_.vector_imm(kComparePs, is_low, a, kLeast, kLess);
    a_.vector(kMulPs, d, d, d, is_low);
  }
  keep_nans(d, a);
  a_.land(done);
  a_.land(zeros);
}

void UnitWriter::reciprocal(int d, int a, bool flush) {
  static const Function function{{offsetof(Constants, rcp.c0),
                                  offsetof(Constants, rcp.c12),
                                  offsetof(Constants, rcp.pairs),
                                  128,
                                  16,
                                  {constant(32), constant(64)}},
                                 constant(0xffff),
                                 constant(0x47e7)};
  const int size = at(kPrepared), t = at(kFirst);
  if (!flush) {
    division_factor(t, a);
    a_.vector(kMulPs, t, a, t);
  }
  a_.vector(kAnd, size, flush ? a : t, nan_);
  compute(d, function);
  a_.vector(kAdd, d, d, constant(252u << 23));
  a_.vector(kSub, d, d, size);
  flush_low(d);
  a_.vector_imm(kCompareSigned, t_.more, size, constant(kOne), kLess);
  set(d, constant(kInfinity), t_.more);
  a_.vector(kAnd, t, a, constant(0x80000000));
  a_.vector(kOr, d, d, t);
  if (!flush) {
    division_factor(t, a);
    a_.vector(kMulPs, d, d, t);
  }
  keep_nans(d, a);
}

void UnitWriter::division_factor(int d, int a) {
  const int size = at(kSecond);
  a_.vector(kAnd, size, a, nan_);
  set(d, constant(0x3f800000));                                              // 1
  a_.vector_imm(kComparePs, t_.more, size, constant(0x00800000), kLess);     // 2^-126
  set(d, constant(0x4b800000), t_.more);                                     // 2^24
  a_.vector_imm(kComparePs, t_.more, size, constant(0x7e800000), kGreater);  // 2^126
  set(d, constant(0x3e800000), t_.more);                                     // 1/4
}

}  // namespace triton_runner::simt
