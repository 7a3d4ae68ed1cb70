// Implements UnitWriter: approx.cpp's formulas, 16 lanes of 32 bits at a time.
#include "native/unit.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include <triton_runner/lanes/approximations.h>

namespace triton_runner::simt {
namespace {

constexpr uint8_t kLess = 1, kUnordered = 3, kGreater = 14;  // of comparisons
constexpr uint8_t kComplement = 0x55;                        // of kTernary
constexpr uint32_t kOne = 1 << 23, kInfinity = 0x7f800000;

// Words that instructions take from memory.
constexpr uint32_t kWords[] = {0xc2fc0000, 0x3f000000, 0x4e800000, 0x4b000000, 0x007fffff, 0xffffffff,
                               32,         64,         63,         127,        0x1ffff,    0xffff,
                               15,         0x1c,       0x77e2,     0x47e7,     0xff81ffff, 0xff80ffff,
                               kOne,       kInfinity,  0x80000000, 252u << 23, 0x7e800000, 0x3f800000,
                               0x4b800000, 0x3e800000, 0xc3800000, 0x1fe,      0xff,       0x01010101};

// The sums of partial products that the squarer takes of two groups of four bits, of which one lies 4 below the other: of the
// bits 1 to 3 of each, a word for one group, four bits of it for the other.
constexpr std::array<uint32_t, 16> cross_terms() {
  std::array<uint32_t, 16> words{};
  for (uint32_t i = 0; i < 16; ++i)  // the upper bit of an index says nothing
    for (uint32_t other = 0; other < 8; ++other) {
      uint32_t sum = 0;
      for (uint32_t j = 1; j < 4; ++j)
        for (uint32_t k = 4 - j; k < 4; ++k) sum += (i >> (j - 1) & other >> (k - 1) & 1) << (j + k - 4);
      words[i] |= sum << (4 * other);
    }
  return words;
}

// Numbers of bits from which vpmultishiftqb takes the bytes of each word: of a square's factors, which begin at bit `low`. For
// each upper bit of the 16 there is a byte with that bit, and one with the lower bits that are left of its partial product.
using Picks = std::array<uint8_t, 64>;
constexpr std::array<Picks, 4> picks(int low) {
  constexpr uint8_t kFrom[4][4] = {{15, 14, 13, 12}, {1, 2, 3, 4}, {11, 10, 9, 9}, {5, 6, 7, 8}};
  std::array<Picks, 4> all{};
  for (size_t k = 0; k < 4; ++k)
    for (size_t i = 0; i < 64; ++i)
      all[k][i] = static_cast<uint8_t>(kFrom[k][i % 4] + low + 32 * (i / 4 % 2));
  return all;
}

// c0, to which `add` is added, and the words of c1 - `middle` and c2: c1 goes over less than 2^16.
template <size_t kEntries>
struct Tables {
  int32_t c0[kEntries], c12[kEntries], pairs[kEntries][2];
  Tables(lanes::Operation operation, uint32_t add, int32_t middle) : c0{}, c12{}, pairs{} {
    const auto entries = lanes::special_function(operation);
    for (size_t i = 0; i < kEntries; ++i) {
      c0[i] = static_cast<int32_t>(static_cast<uint32_t>(entries[i].c0) + add);
      c12[i] = static_cast<int32_t>(static_cast<uint32_t>((entries[i].c12 >> 12) - middle) << 16 |
                                    (static_cast<uint32_t>(entries[i].c12) & 0xfff));
      pairs[i][0] = c0[i], pairs[i][1] = c12[i];
    }
  }
};

struct Constants {
  alignas(64) std::array<uint32_t, 16> cross = cross_terms();
  Tables<64> ex2{lanes::Operation::kEx2, 126u << 25, 1 << 15};  // with the exponent's bias
  Tables<128> rcp{lanes::Operation::kRcp, 0, -(1 << 15)};
  alignas(64) std::array<std::array<Picks, 4>, 2> picks{simt::picks(0), simt::picks(1)};
  std::array<uint32_t, 8> words[std::size(kWords)];
  Constants() {
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

void UnitWriter::look_up(uint8_t by, const WordTables& tables, int first_mask) {
  shift(kRightBy, at(kFirst), at(kPrepared), by);
  std::vector<int> masks(t_.masks.begin() + first_mask, t_.masks.end());
  masks.push_back(t_.more);
  a_.look_up(at(kC0), at(kC12), at(kFirst), tables, masks, at(kSecond));
}

// The upper bits of the square of 16 bits w: of two groups of 8, by groups of 4 where bits of the products are cut off.
void UnitWriter::square(int d, uint8_t unused_bits) {
  if (a_.use().sums_bytes) return square_by_bytes(d, unused_bits);
  const int x = at(kPoint), t = at(kFirst), u = at(kSecond), low = unused_bits;
  const Constant16 cross{offsetof(Constants, cross), false};
  const auto add_cross = [&](int group) {  // of t's lower bits and `group`
    a_.vector(kLookUp, t, t, cross);
    a_.vector(kAnd, u, group, constant(0x1c));
    a_.vector(kShiftRight, t, t, u);
    a_.vector(kAnd, t, t, constant(15));
    a_.vector(kAdd, d, d, t);
  };
  shift(kRightBy, d, x, 8 + low);
  a_.vector(kMulPairs, d, d, d);
  shift(kRightBy, d, d, 1);
  shift(kRightBy, t, x, 12 + low);
  shift(kRightBy, u, x, 4 + low);
  a_.vector(kAnd, u, u, constant(15));
  a_.vector(kMulPairs, t, t, u);
  a_.vector(kAdd, d, d, t);
  shift(kRightBy, t, x, 13 + low);
  if (low == 0) shift(kLeftBy, u, x, 1);
  add_cross(low == 0 ? u : x);
  shift(kRightBy, t, x, 5 + low);
  shift(kRightBy, u, x, 7 + low);
  add_cross(u);
}

// The same, a partial product for each bit of the upper group: four at a time are products of bytes.
void UnitWriter::square_by_bytes(int d, uint8_t low) {
  const int x = at(kPoint), lower = at(kFirst), products = at(kSecond), bits = a_.use().scratch;
  shift(kRightBy, d, x, 8 + low);
  a_.vector(kMulPairs, d, d, d);
  shift(kRightBy, d, d, 1);
  a_.vector(kAnd, lower, x, low ? constant(0x1fe) : constant(0xff));
  const auto pick = [&](int to, int from, uint32_t which) {
    const auto at = static_cast<uint32_t>(offsetof(Constants, picks) + sizeof(Picks) * (4u * low + which));
    a_.vector(kLoad, to, 0, Constant16{at, false});
    a_.vector(kPickBits, to, to, from);
  };
  for (uint32_t k = 0; k < 4; k += 2) {
    pick(bits, x, k);
    a_.vector(kAnd, bits, bits, constant(0x01010101));
    pick(products, lower, k + 1);
    a_.vector(kAddProductsOfBytes, d, products, bits);
  }
}

// d = (c0 2^13 + (c1 - middle) x + c2 s + bias) >> 15, of the squares d; the sum without c0 has 32 bits.
void UnitWriter::interpolate(int d, Constant16 bias) {
  const int x = at(kPoint), c12 = at(kC12), t = at(kFirst);
  shift(kRightSignedBy, t, c12, 16);
  a_.vector(kMulPairs, d, d, c12);
  a_.vector(kMulLow, t, t, x);
  a_.vector(kAdd, d, d, bias);
  a_.vector(kAdd, d, d, t);
  shift(kRightSignedBy, d, d, 13);
  a_.vector(kAdd, d, d, at(kC0));
  shift(kRightBy, d, d, 2);
}

void UnitWriter::flush_low(int d) {
  a_.vector_imm(kCompareSigned, t_.more, d, constant(kOne), kLess);
  a_.vector(kXor, d, d, d, t_.more);
}

void UnitWriter::keep_nans(int d, int a) {
  a_.vector_imm(kComparePs, t_.more, a, a, kUnordered);
  a_.vector(kMove, d, 0, nan_, t_.more);
}

void UnitWriter::ex2(int d, int a, bool flush) {
  const int fixed = at(kPrepared), is_low = t_.masks[0], is_negative = t_.masks[1], is_whole = t_.masks[2];
  // Elements that are masked are often -inf: of a vector of these nothing is computed.
  a_.vector(kXor, d, d, d);
  a_.vector_imm(kComparePs, t_.more, a, constant(0xc3800000), kLess);  // -256
  const size_t zeros = a_.jump_if_all(t_.more);
  a_.vector(kAnd, fixed, a, nan_);
  a_.vector(kMulPs, fixed, fixed, constant(0x4b000000));  // 2^23
  if (!flush) {                                           // below -126 of half the argument
    a_.vector_imm(kComparePs, is_low, a, constant(0xc2fc0000), kLess);
    a_.vector(kMulPs, fixed, fixed, constant(0x3f000000), is_low);
  }
  a_.vector(kMinPs, fixed, fixed, constant(0x4e800000));  // 128 times that
  a_.vector(kTruncateFloat, fixed, 0, fixed);
  a_.vector(kMaskOfSigns, is_negative, 0, a);
  a_.vector(kTestNot, is_whole, fixed, constant(0x007fffff), is_negative);
  a_.vector_imm(kTernary, fixed, fixed, fixed, kComplement, is_negative);
  a_.vector(kSub, fixed, fixed, constant(~uint32_t{0}), is_whole);
  look_up(17,
          {offsetof(Constants, ex2.c0),
           offsetof(Constants, ex2.c12),
           offsetof(Constants, ex2.pairs),
           64,
           constant(63),
           {constant(32), constant(64)}},
          2);
  a_.vector(kAnd, at(kPoint), fixed, constant(0x1ffff));
  square(d, 1);
  interpolate(d, constant(0x77e2));
  a_.vector(kAnd, fixed, fixed, constant(0xff81ffff));  // the exponent, and the rest of c1 x
  a_.vector(kAdd, d, d, fixed);
  flush_low(d);
  if (!flush) a_.vector(kMulPs, d, d, d, is_low);
  keep_nans(d, a);
  a_.land(zeros);
}

void UnitWriter::reciprocal(int d, int a, bool flush) {
  const int size = at(kPrepared), t = at(kFirst);
  if (!flush) {
    division_factor(t, a);
    a_.vector(kMulPs, t, a, t);
  }
  a_.vector(kAnd, size, flush ? a : t, nan_);
  look_up(16,
          {offsetof(Constants, rcp.c0),
           offsetof(Constants, rcp.c12),
           offsetof(Constants, rcp.pairs),
           128,
           constant(127),
           {constant(32), constant(64)}},
          1);
  a_.vector(kAnd, at(kPoint), size, constant(0xffff));
  square(d, 0);
  interpolate(d, constant(0x47e7));
  a_.vector(kAnd, t, size, constant(0xff80ffff));
  a_.vector(kAdd, d, d, constant(252u << 23));
  a_.vector(kSub, d, d, t);
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
  const int size = at(kPoint);
  a_.vector(kAnd, size, a, nan_);
  set(d, constant(0x3f800000));                                              // 1
  a_.vector_imm(kComparePs, t_.more, size, constant(0x00800000), kLess);     // 2^-126
  set(d, constant(0x4b800000), t_.more);                                     // 2^24
  a_.vector_imm(kComparePs, t_.more, size, constant(0x7e800000), kGreater);  // 2^126
  set(d, constant(0x3e800000), t_.more);                                     // 1/4
}

}  // namespace triton_runner::simt
