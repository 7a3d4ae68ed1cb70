// Tests random operations on integers of 8 bits beside the same operations on integers that do not wrap.
#include <triton_runner/machine/exact.h>

#include <array>
#include <random>

#include "test.h"

namespace triton_runner::machine {
namespace {

constexpr uint32_t kWidth = 8;

Integer integer_of(int64_t exact) {
  Integer out{static_cast<uint64_t>(exact) & 0xff, kWidth, 0};
  out.wraps = (exact - out.as_signed()) / 256;
  return out;
}

// The result in the register, and what it would be.
struct Case {
  ExactFn rule;
  int64_t (*exact)(int64_t, int64_t);
};
const Case kCases[] = {
    {exact_add, [](int64_t a, int64_t b) { return a + b; }},
    {exact_sub, [](int64_t a, int64_t b) { return a - b; }},
    {exact_mul, [](int64_t a, int64_t b) { return a * b; }},
};

}  // namespace

TEST(sums_and_products_of_what_wrapped_are_counted) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> numbers(-2000, 2000);
  for (int i = 0; i < 20000; ++i) {
    const Case& c = kCases[random() % std::size(kCases)];
    const int64_t a = numbers(random), b = numbers(random), exact = c.exact(a, b);
    const std::array in{integer_of(a), integer_of(b)};
    const Integer out{static_cast<uint64_t>(exact) & 0xff, kWidth, 0};
    const int64_t wraps = c.rule({in, out});
    if (wraps == Integer::kLost)
      CHECK(std::abs(exact) > 100 * 256);  // too often to be counted in 8 bits
    else
      CHECK_EQ(out.as_signed() + wraps * 256, exact);
  }
}

TEST(a_comparison_is_wrong_where_the_exact_one_differs) {
  std::mt19937 random(8);
  std::uniform_int_distribution<int64_t> numbers(-600, 600);
  for (int i = 0; i < 20000; ++i) {
    const int64_t a = numbers(random), b = numbers(random);
    const std::array in{integer_of(a), integer_of(b)};
    const bool is = in[0].as_signed() < in[1].as_signed();
    const int64_t wraps = exact_compare({in, {is ? 1u : 0u, 1, 0}, 2});
    CHECK_EQ(wraps != 0, is != (a < b));
  }
}

TEST(quotients_and_extensions_are_lost_where_they_are_wrong) {
  const auto of = [](int64_t exact) { return std::array{integer_of(exact), integer_of(3)}; };
  for (int64_t a = -600; a <= 600; ++a) {
    const auto in = of(a);
    const int64_t quotient = in[0].as_signed() / 3;
    const Integer out{static_cast<uint64_t>(quotient) & 0xff, kWidth, 0};
    const int64_t wraps = exact_divs({in, out});
    CHECK_EQ(wraps == 0, quotient == a / 3);
    const Integer wide{static_cast<uint64_t>(in[0].as_signed()) & 0xffff, 16, 0};
    CHECK_EQ(exact_extend({std::span(in).first(1), wide}) == 0, in[0].wraps == 0);
    // 128 to 255 are right as numbers without sign.
    CHECK_EQ(exact_extendu({std::span(in).first(1), wide}) == 0, in[0].wraps == 0 || (a >= 0 && a < 256));
  }
}

TEST(what_a_hash_does_ends_the_count) {
  const std::array in{integer_of(300), integer_of(7)};
  CHECK_EQ(exact_xor({in, integer_of(300 ^ 7)}), 0);
  CHECK_EQ(exact_and({in, integer_of(300 & 7)}), 0);
  const std::array parts{integer_of(512 + 16), integer_of(3)};  // no bit in both: a sum
  CHECK_EQ(exact_or({parts, integer_of(19)}), 2);
  CHECK(is_hash_factor(16777619) && is_hash_factor(-1640531527));
  CHECK(!is_hash_factor(1 << 24) && !is_hash_factor(-3) && !is_hash_factor(4097));
}

TEST(conditions_and_choices) {
  const Integer wrong{1, 1, Integer::kLost}, yes{1, 1, 0}, no{0, 1, 0};
  CHECK_EQ(exact_and({std::array{wrong, no}, no}), 0);
  CHECK_EQ(exact_and({std::array{wrong, yes}, yes}), Integer::kLost);
  CHECK_EQ(exact_or({std::array{wrong, yes}, yes}), 0);
  CHECK_EQ(exact_select({std::array{yes, integer_of(5), integer_of(300)}, integer_of(5)}), 0);
  CHECK_EQ(exact_select({std::array{no, integer_of(5), integer_of(300)}, integer_of(300)}), 1);
  CHECK_EQ(exact_select({std::array{wrong, integer_of(5), integer_of(6)}, integer_of(5)}), Integer::kLost);
  CHECK_EQ(exact_select({std::array{wrong, integer_of(5), integer_of(5)}, integer_of(5)}), 0);
}

namespace {

// The number that was meant where LLVM has dropped the sign bits of a constant, after a shift by 8.
int64_t shifted(ExactFn rule, int64_t x, int64_t constant, uint64_t bits) {
  constexpr uint32_t kWide = 32, kBy = 8;
  const auto wide = [](uint64_t value) { return Integer{value & UINT32_MAX, kWide}; };
  Integer dropped = wide(static_cast<uint64_t>(constant) & (UINT32_MAX >> kBy));
  dropped.surplus = surplus_of(dropped.bits, kWide);
  CHECK(dropped.surplus != 0);
  const Integer result = with_rule(rule, {std::array{wide(static_cast<uint64_t>(x)), dropped}, wide(bits)});
  const Integer out = with_rule(exact_shl, {std::array{result, wide(kBy)}, wide(result.bits << kBy)});
  CHECK(out.wraps != Integer::kLost);
  return out.as_signed() + (out.wraps << kWide);
}

}  // namespace

TEST(constants_without_their_sign_bits_stand_for_negative_numbers) {
  std::mt19937 random(9);
  std::uniform_int_distribution<int64_t> numbers(-60000, 60000);
  for (int i = 0; i < 20000; ++i) {
    const int64_t x = numbers(random), c = -1 - (numbers(random) & 0xffff);
    const auto bits = [&](auto f) {
      return f(static_cast<uint64_t>(x), static_cast<uint64_t>(c) & 0xffffff);
    };
    CHECK_EQ(shifted(exact_add, x, c, bits([](uint64_t a, uint64_t b) { return a + b; })), (x + c) * 256);
    CHECK_EQ(shifted(exact_and, x, c, bits([](uint64_t a, uint64_t b) { return a & b; })), (x & c) * 256);
    CHECK_EQ(shifted(exact_or, x, c, bits([](uint64_t a, uint64_t b) { return a | b; })), (x | c) * 256);
    CHECK_EQ(shifted(exact_xor, x, c, bits([](uint64_t a, uint64_t b) { return a ^ b; })), (x ^ c) * 256);
  }
}

TEST(a_choice_has_the_surplus_of_what_it_chooses) {
  Integer dropped{0xfffffe, 32};
  dropped.surplus = surplus_of(dropped.bits, 32);
  const Integer other{5, 32}, yes{1, 1}, no{0, 1};
  CHECK(with_rule(exact_choose, {std::array{dropped, other, yes}, {dropped.bits, 32}}).surplus ==
        dropped.surplus);
  CHECK(with_rule(exact_choose, {std::array{dropped, other, no}, {other.bits, 32}}).surplus == 0);
}

}  // namespace triton_runner::machine
