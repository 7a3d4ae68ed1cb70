// Parses and computes constants: literals, WARP_SZ, and expressions of them, with the values that ptxas
// gives. See PTX ISA 4.5. Where the ISA leaves something open, or ptxas does otherwise, ptxas decides
// (doc/internals/ptx.md#numbers): tests/golden/ptx-constants.txt holds its answers.
#include <bit>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "parser.h"

namespace triton_runner::ptx {
namespace {

constexpr int kDeepestConstant = 200;  // parentheses and signs in each other

bool is_name_byte(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

enum class Operator : uint8_t {
  kNone,
  kQuestion,
  kOrElse,
  kAndAlso,
  kOr,
  kXor,
  kAnd,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kLeft,
  kRight,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder
};

struct Sign {
  Operator op = Operator::kNone;
  int level = 0;  // how strongly it binds: 1 is ?:
  std::string_view text;
};

// Longer ones come before those that they begin with.
constexpr Sign kSigns[] = {
    {Operator::kQuestion, 1, "?"},  {Operator::kOrElse, 2, "||"},    {Operator::kAndAlso, 3, "&&"},
    {Operator::kOr, 4, "|"},        {Operator::kXor, 5, "^"},        {Operator::kAnd, 6, "&"},
    {Operator::kEqual, 7, "=="},    {Operator::kNotEqual, 7, "!="},  {Operator::kLeft, 9, "<<"},
    {Operator::kRight, 9, ">>"},    {Operator::kLessEqual, 8, "<="}, {Operator::kGreaterEqual, 8, ">="},
    {Operator::kLess, 8, "<"},      {Operator::kGreater, 8, ">"},    {Operator::kAdd, 10, "+"},
    {Operator::kSubtract, 10, "-"}, {Operator::kMultiply, 11, "*"},  {Operator::kDivide, 11, "/"},
    {Operator::kRemainder, 11, "%"}};

// The operator that stands here, if one does. A '%' before a letter or digit begins a register.
Sign operator_at(const char* p) {
  for (const Sign& sign : kSigns)
    if (*p == sign.text[0] && (sign.text.size() == 1 || p[1] == sign.text[1]))
      return sign.op == Operator::kRemainder && is_name_byte(p[1]) ? Sign{} : sign;
  return {};
}

// The result of the operators that integers of both signs and floats have; nothing for the others.
template <class T>
std::optional<bool> compared(Operator op, T x, T y) {
  using enum Operator;
  switch (op) {
    case kEqual:
      return x == y;
    case kNotEqual:
      return x != y;
    case kLess:
      return x < y;
    case kLessEqual:
      return x <= y;
    case kGreater:
      return x > y;
    case kGreaterEqual:
      return x >= y;
    default:
      return {};
  }
}
template <class T>
std::optional<T> computed(Operator op, T x, T y) {
  if (op == Operator::kAdd) return x + y;
  if (op == Operator::kSubtract) return x - y;
  if (op == Operator::kMultiply) return x * y;
  return {};
}

constexpr const char* kNoDivision = "a division by zero in a constant";

double as_double(const Operand& o) { return std::bit_cast<double>(o.integer); }

Operand of_double(double d) {
  Operand out;
  out.kind = OperandKind::kFloat;
  out.is_wide = true;
  out.integer = std::bit_cast<int64_t>(d);
  return out;
}

}  // namespace

// An integer's own type: .u64 if it was written with U or does not fit .s64.
struct Parser::Constant : Operand {
  bool is_unsigned = false;
  Constant() { kind = OperandKind::kInteger; }
  explicit Constant(Operand o) : Operand(o) {}
  Constant(uint64_t value, bool is_unsigned) : Constant() {
    integer = static_cast<int64_t>(value);
    this->is_unsigned = is_unsigned;
  }
  bool is_integer() const { return kind == OperandKind::kInteger; }
};

bool Parser::at_constant() const {
  if (is_digit(*p_) || *p_ == '-' || *p_ == '+' || *p_ == '~') return true;
  if (*p_ == '.') return is_digit(p_[1]);
  return *p_ == 'W' && name_at(here()) == "WARP_SZ";
}

// One number as it is written, without a sign.
bool Parser::literal(Constant* out) {
  const uint32_t at = here();
  if (*p_ == 'W' && name_at(at) == "WARP_SZ") {
    p_ += 7;
    *out = Constant(32, false);
    return true;
  }
  const char* begin = p_;
  if (*p_ == '0' && (p_[1] == 'f' || p_[1] == 'F' || p_[1] == 'd' || p_[1] == 'D')) {
    const char kind = p_[1];
    const bool wide = kind == 'd' || kind == 'D';
    const int digits = wide ? 16 : 8;
    uint64_t bits = 0;
    int n = 0;
    for (p_ += 2; n < digits && digit_value(*p_) < 16; ++n, ++p_)
      bits = bits << 4 | static_cast<uint64_t>(digit_value(*p_));
    if (n < digits || is_name_byte(*p_))
      return fail(at, std::string("a float written as bits is 0") + kind + " and " + std::to_string(digits) +
                          " hexadecimal digits");
    *out = Constant(of_double(std::bit_cast<double>(bits)));
    out->is_wide = wide;
    return true;
  }
  // A decimal float: digits with a point among or beside them, or with an exponent.
  const char* q = p_;
  while (is_digit(*q)) ++q;
  bool real = false;
  if (*q == '.') {
    const char* point = q++;
    while (is_digit(*q)) ++q;
    real = q - point > 1 || point > p_;
  }
  if (q > p_ && (*q == 'e' || *q == 'E')) {
    const char* e = q + 1;
    if (*e == '+' || *e == '-') ++e;
    if (is_digit(*e)) {
      while (is_digit(*e)) ++e;
      q = e, real = true;
    }
  }
  if (real) {
    if (is_name_byte(*q) || *q == '.') return fail(at, "'" + std::string(p_, q + 1) + "' is not a number");
    double d = 0;
    const auto [end, problem] = std::from_chars(p_, q, d);
    // strtod's ERANGE: ptxas takes no double that it had to denormalise either.
    if (problem != std::errc() || end != q || (d != 0 && d < DBL_MIN))
      return fail(at, "this is not a number that a double can hold");
    p_ = q;
    *out = Constant(of_double(d));
    return true;
  }
  if (!is_digit(*p_)) return fail_here("a number");
  uint32_t base = 10;
  if (*p_ == '0') {
    if (p_[1] == 'x' || p_[1] == 'X')
      base = 16, p_ += 2;
    else if (p_[1] == 'b' || p_[1] == 'B')
      base = 2, p_ += 2;
    else if (is_digit(p_[1]))
      base = 8, p_ += 1;
  }
  const char* digits = p_;
  uint64_t value = 0;  // modulo 2^64, as ptxas cuts it
  bool large = false;
  for (int d; (d = digit_value(*p_)) < static_cast<int>(base); ++p_) {
    large |= value >> 63;
    value = value * base + static_cast<uint64_t>(d);
  }
  const bool suffix = *p_ == 'U' && p_ > digits;
  if (suffix) ++p_;
  if (is_name_byte(*p_)) {
    p_ = begin;
    return fail(at, found() + " is not a number");
  }
  if (p_ == digits) return fail(at, "a number in base " + std::to_string(base) + " lacks its digits");
  if (base == 2 && large) return fail(at, "this number has more than 64 bits");
  *out = Constant(value, suffix || value >> 63);
  return true;
}

bool Parser::unary(Constant* out, int depth) {
  const uint32_t at = next_at();
  if (depth == kDeepestConstant) return fail(at, "a constant with fewer parentheses and signs in each other");
  const char c = *p_;
  if (c == '(') {
    ++p_;
    skip();
    if (*p_ == '.' && !is_digit(p_[1])) {  // (.s64) or (.u64)
      const std::string_view type = after_dot();
      if (type != "s64" && type != "u64") return fail(at, "a constant is cast to .s64 or .u64");
      if (!expect(')', "the type of a cast") || !unary(out, depth + 1)) return false;
      if (!out->is_integer()) return fail(at, "a cast is for integers, and this is a float");
      out->is_unsigned = type == "u64";
      return true;
    }
    if (*p_ == '0' && (p_[1] == 'f' || p_[1] == 'F')) {
      if (!literal(out)) return false;
    } else if (!conditional(out, 1, depth + 1)) {
      return false;
    }
    return expect(')', "a constant");
  }
  if (c == '0' && (p_[1] == 'f' || p_[1] == 'F'))
    return fail(at, "a float written as 0f... stands alone: no sign and no operator is taken with it",
                {"write its bits with the sign, or the same value as 0d..."});
  if (c != '-' && c != '+' && c != '~' && c != '!') return literal(out);
  ++p_;
  if (!unary(out, depth + 1)) return false;
  uint64_t value = static_cast<uint64_t>(out->integer);
  if (!out->is_integer()) {
    if (c == '~' || c == '!')
      return fail(at, std::string("'") + c + "' is for integers, and this is a float");
    // (0f...) is a double of these bits from here on, but for '+'.
    if (c == '-') *out = Constant(of_double(-as_double(*out)));
    return true;
  }
  if (c == '-') *out = Constant(0 - value, out->is_unsigned);
  if (c == '~') *out = Constant(~value, true);
  if (c == '!') *out = Constant(value == 0, false);
  return true;
}

// The same of floats.
bool Parser::combine_floats(int op, Constant* a, const Constant& b, uint32_t at) {
  using enum Operator;
  const double x = as_double(*a), y = as_double(b);
  const auto number = [&](double value) {
    // The NaN of an x86 processor, wherever this runs.
    const bool made = std::isnan(value) && !std::isnan(x) && !std::isnan(y);
    return *a = Constant(of_double(made ? std::bit_cast<double>(uint64_t{0xfff8000000000000}) : value)), true;
  };
  const auto what = static_cast<Operator>(op);
  if (const auto value = compared(what, x, y)) return *a = Constant(*value, false), true;
  if (what == kDivide) return y == 0 ? fail(at, kNoDivision) : number(x / y);
  if (const auto value = computed(what, x, y)) return number(*value);
  return fail(at, "this operator is for integers, and these are floats");
}

// a = a `op` b.
bool Parser::combine(int op, Constant* a, const Constant& b, uint32_t at) {
  using enum Operator;
  const auto what = static_cast<Operator>(op);
  if (a->is_integer() != b.is_integer())
    return fail(at, "an operator between an integer and a float",
                {"both are integers, or both floats: write 2.0 instead of 2"});
  if (!a->is_integer()) return combine_floats(op, a, b, at);
  const auto no_division = [&] { return fail(at, kNoDivision); };
  const uint64_t x = static_cast<uint64_t>(a->integer), y = static_cast<uint64_t>(b.integer);
  const int64_t sx = a->integer, sy = b.integer;
  const bool is_unsigned = a->is_unsigned || b.is_unsigned;
  const auto truth = [&](bool value) { return *a = Constant(value, false), true; };
  const auto number = [&](uint64_t value) { return *a = Constant(value, is_unsigned), true; };
  if (const auto value = is_unsigned ? compared(what, x, y) : compared(what, sx, sy)) return truth(*value);
  if (const auto value = computed(what, x, y)) return number(*value);
  switch (what) {
    case kOrElse:
      return truth(x || y);
    case kAndAlso:
      return truth(x && y);
    case kOr:
      return number(x | y);
    case kXor:
      return number(x ^ y);
    case kAnd:
      return number(x & y);
    case kDivide:
      if (y == 0) return no_division();
      if (is_unsigned) return number(x / y);
      if (sx == INT64_MIN && sy == -1) return fail(at, "a quotient that does not fit .s64 in a constant");
      return number(static_cast<uint64_t>(sx / sy));
    case kRemainder:
      if (y == 0) return no_division();
      return *a = Constant(x % y, true), true;
    case kLeft:
      return *a = Constant(x << (y & 63), a->is_unsigned), true;
    default:  // kRight
      return *a = Constant(a->is_unsigned ? x >> (y & 63) : static_cast<uint64_t>(sx >> (y & 63)),
                           a->is_unsigned),
             true;
  }
}

// Operators that bind at least as strongly as `level`.
bool Parser::conditional(Constant* out, int level, int depth) {
  if (!unary(out, depth)) return false;
  while (true) {
    const char* behind = p_;
    skip();
    const Sign symbol = operator_at(p_);
    if (symbol.op == Operator::kNone || symbol.level < level) {
      p_ = behind;
      return true;
    }
    const uint32_t at = here();
    p_ += symbol.text.size();
    if (symbol.op == Operator::kQuestion) {
      Constant yes, no;
      if (!conditional(&yes, 1, depth + 1) || !expect(':', "a constant after '?'") ||
          !conditional(&no, 1, depth + 1))
        return false;
      if (!out->is_integer() || !yes.is_integer() || !no.is_integer())
        return fail(at, "'?' and ':' are for integers, and one of these is a float");
      *out = out->integer ? yes : no;
      continue;
    }
    Constant right;
    if (!conditional(&right, symbol.level + 1, depth + 1)) return false;
    if (!combine(static_cast<int>(symbol.op), out, right, at)) return false;
  }
}

bool Parser::constant(Operand* out) {
  const uint32_t at = here();
  Constant value;
  if (*p_ == '0' && (p_[1] == 'f' || p_[1] == 'F')) {
    if (!literal(&value)) return false;
  } else if (!conditional(&value, 1, 0)) {
    return false;
  }
  value.offset = at;
  *out = value;
  return true;
}

bool Parser::integer(int64_t* out, const char* of) {
  skip();
  if (!at_constant() && *p_ != '(' && *p_ != '!') return fail_here(of);
  Operand value;
  const uint32_t at = here();
  if (!constant(&value)) return false;
  if (value.kind != OperandKind::kInteger) return fail(at, std::string("expected ") + of + ", found a float");
  *out = value.integer;
  return true;
}

bool Parser::unsigned_integer(uint64_t* out, const char* of) {
  const uint32_t at = next_at();
  if (*p_ == '-') return fail(at, std::string(of) + " cannot be negative");
  if (!at_constant() || *p_ == '+' || *p_ == '~') return fail_here(of);
  Constant value;
  if (!literal(&value)) return false;
  if (!value.is_integer()) return fail(at, std::string("expected ") + of + ", found a float");
  *out = static_cast<uint64_t>(value.integer);
  return true;
}

bool literal_bits(const Operand& literal, Mod type, uint64_t* out) {
  const uint64_t value = static_cast<uint64_t>(literal.integer);
  const bool is_half = type == Mod::kF16 || type == Mod::kBf16 || type == Mod::kF16x2 || type == Mod::kBf16x2;
  const bool is_real = type == Mod::kF32 || type == Mod::kF64;
  *out = value;
  if (literal.kind == OperandKind::kInteger) return !is_half && !is_real;
  if (type == Mod::kF32 && literal.is_wide)
    *out = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
  if (is_real) return true;
  if (is_float(type)) return !is_half;
  return type == (literal.is_wide ? Mod::kB64 : Mod::kB32);
}

std::string wrong_literal(const Operand& literal, Mod type) {
  const std::string name = "." + std::string(text(type));
  if (bits(type) == 16 && is_float(type))
    return "ptxas takes no number as an operand of " + name + ": use a register";
  if (literal.kind == OperandKind::kInteger)
    return "an integer as an operand of " + name + ": ptxas takes 1.0, not 1";
  if (type == Mod::kB32) return "a float of 64 bits as an operand of .b32: write its 32 bits as 0f...";
  if (type == Mod::kB64) return "a float of 32 bits as an operand of .b64: write its 64 bits as 0d...";
  return "a float as an operand of " + name;
}

}  // namespace triton_runner::ptx
