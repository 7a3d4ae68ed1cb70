// Computes for check="overflow" what integers would be if registers had no width. Beside an integer stands
// how many times 2^width is missing from it; operations find that of their result, and a value that is used
// where it matters is reported if anything is missing. A sum that leaves the range and comes back is right; a
// comparison whose outcome is the exact one is right. A hash wraps on purpose and ends the count: and, xor, a
// shift to the right and a remainder without sign, a product with a large odd constant.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include <triton_runner/base/diagnostic.h>

namespace triton_runner::machine {

struct Integer {
  // Not a whole number of times, or too many to count: the value is wrong, and how far is not known.
  static constexpr int64_t kLost = INT64_MIN;

  uint64_t bits = 0;  // those above `width` do not count
  uint32_t width = 32;
  int64_t wraps = 0;
  // LLVM drops the upper bits of a constant that a later shift drops anyway: of (x - 1) << 8 in 64 bits it makes
  // (x + 0xffffffffffffff) << 8. So the value that was meant may be less by this much, which it is once the surplus is a
  // multiple of 2^width.
  __int128 surplus = 0;

  int64_t as_signed() const;
  uint64_t as_unsigned() const;
};

struct Operation {
  std::span<const Integer> in;
  Integer out;        // its bits and width; its wraps are what is asked for
  int predicate = 0;  // of a comparison, as arith.cmpi numbers them
};

// The wraps of the result.
using ExactFn = int64_t (*)(const Operation&);

// The surplus of a constant: 2^56 of 0xffffffffffffff in 64 bits, which may have been -1.
__int128 surplus_of(uint64_t constant, uint32_t width);
// The result of a rule: its bits and width are given, its wraps and surplus computed.
Integer with_rule(ExactFn rule, const Operation& o);

// Returns whether a result may be too large although the operands are exact.
bool makes(ExactFn rule);
// Returns whether reductions by this rule are followed, and one step of such a one on two numbers of one
// width.
bool combines(ExactFn rule);
Integer combined(ExactFn rule, const Integer& a, const Integer& b);

int64_t exact_add(const Operation& o);
int64_t exact_sub(const Operation& o);
int64_t exact_mul(const Operation& o);
int64_t exact_mulu(const Operation& o);  // twice as wide, of numbers without sign
int64_t exact_neg(const Operation& o);
int64_t exact_shl(const Operation& o);
int64_t exact_shrs(const Operation& o);
int64_t exact_divs(const Operation& o);
int64_t exact_rems(const Operation& o);
int64_t exact_floordivs(const Operation& o);
int64_t exact_ceildivs(const Operation& o);
int64_t exact_mins(const Operation& o);
int64_t exact_maxs(const Operation& o);
int64_t exact_extend(const Operation& o);   // with the sign
int64_t exact_extendu(const Operation& o);  // with zeros
int64_t exact_compare(const Operation& o);
int64_t exact_select(const Operation& o);  // by operand 0
int64_t exact_choose(const Operation& o);  // by operand 2
int64_t exact_and(const Operation& o);     // of conditions; of numbers it ends the count
int64_t exact_or(const Operation& o);      // the same, and a sum where no bit is in both
int64_t exact_xor(const Operation& o);
int64_t exact_offset(const Operation& o);  // an address and an offset

// "2147483648, which does not fit into 32 bits: -2147483648 is left"
std::string overflow_text(const Integer& result);

// Returns whether a product with this constant is a hash or a random number: odd, and larger than a stride.
bool is_hash_factor(int64_t constant);

// The lines of programs with the comment "triton_runner: wraps": their integers are meant to overflow.
class MeantToWrap {
 public:
  bool at(const base::Location& place);

 private:
  std::map<std::string, std::set<int>> lines_;  // by file
};

}  // namespace triton_runner::machine
