// Implements the rules of exact.h. Exact values have 128 bits, which holds the product of two numbers that
// lack nothing.
#include <triton_runner/machine/exact.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>

namespace triton_runner::machine {

namespace {

using Wide = __int128;
constexpr int64_t kLost = Integer::kLost;

std::string number_text(Wide value) {
  if (value < 0) return "-" + number_text(-value);
  std::string digits(1, static_cast<char>('0' + static_cast<int>(value % 10)));
  return value < 10 ? digits : number_text(value / 10) + digits;
}

Wide exact(const Integer& a) { return a.as_signed() + (static_cast<Wide>(a.wraps) << a.width); }

bool any_lost(const Operation& o) {
  return std::ranges::any_of(o.in, [](const Integer& a) { return a.wraps == kLost; });
}

bool none_wrapped(const Operation& o) {
  return std::ranges::all_of(o.in, [](const Integer& a) { return a.wraps == 0; });
}

// Returns how often 2^width is missing from the result, which should be `value`.
int64_t wraps(Wide value, const Integer& out) {
  const Wide missing = value - out.as_signed();
  const Wide times = missing >> out.width;
  const Wide limit = Wide{1} << (std::min(out.width, 62u) - 1);  // so that sums of two have room
  return (times << out.width) != missing || times >= limit - 1 || times <= -limit + 1
             ? kLost
             : static_cast<int64_t>(times);
}

// For shifts, minima and the like: computed only where something is missing; elsewhere it is right.
template <class F>
int64_t computed(const Operation& o, F f) {
  if (none_wrapped(o)) return 0;
  if (any_lost(o)) return kLost;
  return wraps(f(exact(o.in[0]), exact(o.in[1])), o.out);
}

template <class F>
int64_t divided(const Operation& o, F f) {
  if (o.in[1].as_unsigned() == 0 || (o.in[1].wraps != kLost && exact(o.in[1]) == 0)) return 0;
  return any_lost(o) ? kLost : wraps(f(exact(o.in[0]), exact(o.in[1])), o.out);
}

Wide floor_quotient(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// As a number without sign; what is negative by itself was meant as its bits.
Wide exact_unsigned(const Integer& a) { return a.wraps == 0 ? static_cast<Wide>(a.as_unsigned()) : exact(a); }

bool holds(int predicate, Wide a, Wide b) {
  switch (predicate) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
    case 6:
      return a < b;
    case 3:
    case 7:
      return a <= b;
    case 4:
    case 8:
      return a > b;
    default:
      return a >= b;
  }
}

// For two conditions: the other one decides if it is `decides`.
int64_t condition(const Operation& o, uint64_t decides) {
  for (const Integer& a : o.in)
    if (a.wraps == 0 && a.as_unsigned() == decides) return 0;
  return none_wrapped(o) ? 0 : kLost;
}

}  // namespace

int64_t Integer::as_signed() const {
  const uint32_t up = 64 - width;
  return static_cast<int64_t>(bits << up) >> up;
}

uint64_t Integer::as_unsigned() const {
  const uint32_t up = 64 - width;
  return bits << up >> up;
}

namespace {

// The bits of a rule's operation on two numbers.
using CombineFn = uint64_t (*)(const Integer&, const Integer&);

CombineFn combine_of(ExactFn rule) {
  if (rule == &exact_add) return [](const Integer& a, const Integer& b) { return a.bits + b.bits; };
  if (rule == &exact_mul) return [](const Integer& a, const Integer& b) { return a.bits * b.bits; };
  if (rule == &exact_mins)
    return [](const Integer& a, const Integer& b) { return a.as_signed() < b.as_signed() ? a.bits : b.bits; };
  if (rule == &exact_maxs)
    return [](const Integer& a, const Integer& b) { return a.as_signed() > b.as_signed() ? a.bits : b.bits; };
  return nullptr;
}

}  // namespace

__int128 surplus_of(uint64_t constant, uint32_t width) {
  constexpr int kOnes = 8;  // a negative number without its upper bits begins with so many
  const uint64_t bits = width == 64 ? constant : constant & ((uint64_t{1} << width) - 1);
  const int length = std::bit_width(bits);
  if (length >= static_cast<int>(width) || length < static_cast<int>(width) / 2) return 0;
  return std::countl_one(bits << (64 - length)) >= kOnes ? Wide{1} << length : 0;
}

namespace {

Wide scaled(Wide surplus, Wide by) {
  Wide out;
  return __builtin_mul_overflow(surplus, by, &out) ? 0 : out;
}

// The surplus that an operation on single bits gives: what was meant has sign bits without end.
Wide surplus_of_bits(ExactFn rule, const Operation& o) {
  const Integer ones{UINT64_MAX, 64};
  const Integer &a = o.in[0], &b = o.in.size() < 2 ? ones : o.in[1];  // not: xor with ones
  if ((a.surplus == 0 && b.surplus == 0) || a.wraps != 0 || b.wraps != 0) return 0;
  const Wide x = exact(a) - a.surplus, y = exact(b) - b.surplus;
  return exact(o.out) - (rule == exact_and ? x & y : rule == exact_or ? x | y : x ^ y);
}

Wide surplus_by(ExactFn rule, const Operation& o) {
  const Integer& a = o.in[0];
  if (rule == exact_extend) return a.surplus;
  if (rule == exact_neg) return -a.surplus;
  if (rule == exact_and || rule == exact_or || rule == exact_xor) return surplus_of_bits(rule, o);
  if (o.in.size() < 2) return 0;
  const Integer& b = o.in[1];
  if (rule == exact_choose) return o.in[2].as_unsigned() ? a.surplus : b.surplus;
  if (rule == exact_add) return a.surplus + b.surplus;
  if (rule == exact_sub) return a.surplus - b.surplus;
  if (rule == exact_shl)
    return b.as_unsigned() < o.out.width ? scaled(a.surplus, Wide{1} << b.as_unsigned()) : 0;
  if (rule == exact_mul && a.surplus == 0) return scaled(b.surplus, exact(a));
  return rule == exact_mul && b.surplus == 0 ? scaled(a.surplus, exact(b)) : 0;
}

}  // namespace

Integer with_rule(ExactFn rule, const Operation& o) {
  Integer out = o.out;
  out.wraps = rule(o);
  if (out.wraps == kLost) return out;
  out.surplus = surplus_by(rule, o);
  const Wide times = out.surplus >> out.width;
  if (out.surplus == 0 || times << out.width != out.surplus) return out;
  return {out.bits, out.width, wraps(exact(out) - out.surplus, out)};
}

bool makes(ExactFn rule) {
  constexpr ExactFn kMake[] = {exact_add, exact_sub,  exact_mul,       exact_shl,
                               exact_neg, exact_divs, exact_floordivs, exact_ceildivs};
  return std::ranges::find(kMake, rule) != std::end(kMake);
}

bool combines(ExactFn rule) { return combine_of(rule) != nullptr; }

Integer combined(ExactFn rule, const Integer& a, const Integer& b) {
  const Integer both[] = {a, b};
  return with_rule(rule, {both, {combine_of(rule)(a, b), b.width}});
}

int64_t exact_add(const Operation& o) {
  return any_lost(o) ? kLost : wraps(exact(o.in[0]) + exact(o.in[1]), o.out);
}

int64_t exact_sub(const Operation& o) {
  return any_lost(o) ? kLost : wraps(exact(o.in[0]) - exact(o.in[1]), o.out);
}

int64_t exact_mul(const Operation& o) {
  for (const Integer& a : o.in)
    if (a.wraps == 0 && a.as_unsigned() == 0) return 0;
  Wide value;
  if (any_lost(o) || __builtin_mul_overflow(exact(o.in[0]), exact(o.in[1]), &value)) return kLost;
  return wraps(value, o.out);
}

int64_t exact_mulu(const Operation& o) {
  for (const Integer& a : o.in)
    if (exact_extendu({{&a, 1}, o.out}) != 0) return kLost;
  return 0;
}

int64_t exact_neg(const Operation& o) { return any_lost(o) ? kLost : wraps(-exact(o.in[0]), o.out); }

int64_t exact_shl(const Operation& o) {
  const Integer& by = o.in[1];
  if (by.wraps != 0 || by.as_unsigned() >= o.out.width) return 0;
  if (o.in[0].wraps == kLost) return kLost;
  Wide value;
  return __builtin_mul_overflow(exact(o.in[0]), Wide{1} << by.as_unsigned(), &value) ? kLost
                                                                                     : wraps(value, o.out);
}

int64_t exact_shrs(const Operation& o) {
  if (o.in[1].wraps != 0 || o.in[1].as_unsigned() >= o.out.width) return 0;
  return computed(o, [](Wide a, Wide by) { return a >> static_cast<int>(by); });
}

int64_t exact_divs(const Operation& o) {
  return divided(o, [](Wide a, Wide b) { return a / b; });
}
int64_t exact_rems(const Operation& o) {
  return divided(o, [](Wide a, Wide b) { return a % b; });
}
int64_t exact_floordivs(const Operation& o) { return divided(o, floor_quotient); }
int64_t exact_ceildivs(const Operation& o) {
  return divided(o, [](Wide a, Wide b) { return -floor_quotient(-a, b); });
}
int64_t exact_mins(const Operation& o) {
  return computed(o, [](Wide a, Wide b) { return std::min(a, b); });
}
int64_t exact_maxs(const Operation& o) {
  return computed(o, [](Wide a, Wide b) { return std::max(a, b); });
}

int64_t exact_extend(const Operation& o) {
  return o.in[0].wraps == 0 ? 0 : o.in[0].wraps == kLost ? kLost : wraps(exact(o.in[0]), o.out);
}

int64_t exact_extendu(const Operation& o) {
  const Integer& a = o.in[0];
  return a.wraps == 0 || (a.wraps != kLost && exact(a) == static_cast<Wide>(a.as_unsigned())) ? 0 : kLost;
}

int64_t exact_compare(const Operation& o) {
  if (none_wrapped(o)) return 0;
  if (any_lost(o)) return kLost;
  const auto number = o.predicate >= 6 ? exact_unsigned : exact;
  return holds(o.predicate, number(o.in[0]), number(o.in[1])) == (o.out.as_unsigned() != 0) ? 0 : kLost;
}

int64_t exact_select(const Operation& o) {
  const Integer &condition = o.in[0], &yes = o.in[1], &no = o.in[2];
  if (condition.wraps != 0 && (yes.as_unsigned() != no.as_unsigned() || yes.wraps != no.wraps)) return kLost;
  return (condition.as_unsigned() ? yes : no).wraps;
}

int64_t exact_choose(const Operation& o) {
  const Integer in[] = {o.in[2], o.in[0], o.in[1]};
  return exact_select({in, o.out});
}

int64_t exact_and(const Operation& o) { return o.out.width == 1 ? condition(o, 0) : 0; }

int64_t exact_or(const Operation& o) {
  if (o.out.width == 1) return condition(o, 1);
  const bool is_sum = (o.in[0].as_unsigned() & o.in[1].as_unsigned()) == 0;
  return is_sum && !none_wrapped(o) ? exact_add(o) : 0;
}

int64_t exact_xor(const Operation& o) { return o.out.width == 1 && !none_wrapped(o) ? kLost : 0; }

int64_t exact_offset(const Operation& o) { return none_wrapped(o) ? 0 : kLost; }

std::string overflow_text(const Integer& result) {
  return (result.wraps == kLost ? "what" : number_text(exact(result)) + ", which") + " does not fit into " +
         std::to_string(result.width) + " bits: " + std::to_string(result.as_signed()) + " is left";
}

bool MeantToWrap::at(const base::Location& place) {
  auto [found, is_new] = lines_.try_emplace(place.file);
  if (is_new) {
    std::ifstream file(place.file);
    int number = 1;
    for (std::string line; std::getline(file, line); ++number)
      if (line.find("triton_runner: wraps") != std::string::npos) found->second.insert(number);
  }
  return found->second.contains(place.line);
}

bool is_hash_factor(int64_t constant) { return constant % 2 != 0 && std::abs(constant) >= 1 << 20; }

}  // namespace triton_runner::machine
