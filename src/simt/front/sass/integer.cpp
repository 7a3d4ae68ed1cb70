// Lowers integers, logic, predicates; the uniform datapath's are the same on other registers.
#include "front/sass/handlers.h"
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

std::string decimal(int64_t value) { return std::to_string(value); }

bool is_zero(const sass::Operand& o) {
  return (o.kind == sass::OperandKind::kRegister || o.kind == sass::OperandKind::kUniform) &&
         o.index == sass::kZero;
}

uint32_t carry_place(SassLowering& l, size_t k) { return l.slot(k) ? l.predicate(k) : kNoRegister; }

uint32_t carry_result(SassLowering& l, size_t k) {
  return l.slot(k) && l.slot(k)->index != sass::kTrue ? l.predicate_result(k) : kNoRegister;
}

// d = a + b + c with carries; the operands are slots, or places of `at` where that has them.
struct Sum {
  size_t slots[3];
  uint32_t at[3] = {kNoRegister, kNoRegister, kNoRegister};
  Add3 carries = {};
  bool subtract = false;  // the first
};
bool emit_sum(SassLowering& l, Sum sum) {
  uint32_t small = sum.subtract ? 9 : 0;
  for (uint32_t k = 0; k < 3; ++k) {
    if (sum.at[k] != kNoRegister) continue;
    const sass::Operand& o = *l.slot(sum.slots[k]);
    if (o.absolute || (o.minus && l.has("X"))) return false;
    // -a is ~a + 1, whose carry is that of the subtraction.
    if (o.minus || o.inverted) small |= 1u << k;
    if (o.minus) small |= 8u << k;
    sum.at[k] = l.raw(sum.slots[k]);
    if (sum.at[k] == kNoRegister) return false;
  }
  const uint32_t d = l.result(0);
  return l.emit(sums().add3, {.d = d, .a = sum.at[0], .b = sum.at[1], .c = sum.at[2], .small = small},
                sum.carries);
}

// d <- a + b + c: slots 0, 3, 4, 5; carries out 1, 2 and in 6, 7.
bool lower_iadd3(SassLowering& l) {
  if (l.is_lower_half()) return l.lower_lower_half(false);
  if (l.lower_upper_half()) return true;
  Sum sum{{3, 4, 5}};
  for (size_t k = 0; k < 2; ++k) {
    sum.carries.out[k] = carry_result(l, 1 + k);
    sum.carries.in[k] = carry_place(l, 6 + k);
  }
  if (l.has("X") || sum.carries.out[0] != kNoRegister || sum.carries.out[1] != kNoRegister)
    return emit_sum(l, sum);
  std::vector<size_t> terms;
  for (size_t k = 3; k < 6; ++k)
    if (!is_zero(*l.slot(k))) terms.push_back(k);
  if (terms.empty()) terms.push_back(3);
  if (terms.size() > 1 && l.slot(terms[0])->minus && !l.slot(terms[1])->minus) std::swap(terms[0], terms[1]);
  uint32_t so_far = l.word(terms[0]);
  if (terms.size() == 1) l.copy(l.result(0), so_far, 4);
  for (size_t k = 1; k < terms.size(); ++k) {
    const sass::Operand& o = *l.slot(terms[k]);
    const bool last = k + 1 == terms.size(), subtract = o.minus && !o.inverted && !o.absolute;
    const uint32_t term = subtract ? l.raw(terms[k]) : l.word(terms[k]);
    const uint32_t d = last ? l.result(0) : l.temporary(4);
    l.ptx(subtract ? "sub.s32 %r0, %r1, %r2" : "add.s32 %r0, %r1, %r2", {d, so_far, term});
    so_far = d;
  }
  return true;
}

// d <- a + b, with carries in and out.
bool lower_iadd(SassLowering& l) {
  Sum sum{{2, 3, 0}, {kNoRegister, kNoRegister, l.constant(0, 4)}};
  sum.carries.out[0] = carry_result(l, 1);
  if (l.has("X")) sum.carries.in[0] = carry_place(l, 4);
  if (l.has("X") || sum.carries.out[0] != kNoRegister) return emit_sum(l, sum);
  return l.ptx("add.s32 %r0, %r1, %r2", {l.result(0), l.word(2), l.word(3)});
}

bool lower_imad(SassLowering& l) {
  const bool no_product = is_zero(*l.slot(1)) || is_zero(*l.slot(2));
  if (l.has("X")) {
    const uint32_t product = no_product ? l.constant(0, 4) : l.temporary(4);
    if (!no_product) l.ptx("mul.lo.s32 %r0, %r1, %r2", {product, l.word(1), l.word(2)});
    Sum sum{{0, 3, 0}, {product, kNoRegister, l.constant(0, 4)}};
    sum.carries.in[0] = carry_place(l, 4);
    return emit_sum(l, sum);
  }
  if (no_product) return l.move(l.result(0), l.word(3));
  if (l.has("IADD") && l.slot(2)->kind == sass::OperandKind::kInteger && l.slot(2)->integer == 1)
    return l.ptx("add.s32 %r0, %r1, %r2", {l.result(0), l.word(1), l.word(3)});
  if (is_zero(*l.slot(3))) return l.ptx("mul.lo.s32 %r0, %r1, %r2", {l.result(0), l.word(1), l.word(2)});
  return l.ptx("mad.lo.s32 %r0, %r1, %r2, %r3", {l.result(0), l.word(1), l.word(2), l.word(3)});
}

// The product of two 32-bit operands in 64: of slots 1 and 2, or where carries may be written, 2 and 3.
bool wide_product(SassLowering& l, size_t a, uint32_t* out) {
  if (l.slot(a)->minus || l.slot(a + 1)->minus) return false;
  *out = l.temporary(8);
  return l.ptx(std::string("mul.wide.") + (l.has("U32") ? "u32" : "s32") + " %d0, %r1, %r2",
               {*out, l.word(a), l.word(a + 1)});
}

bool lower_imad_wide(SassLowering& l) {
  constexpr size_t a = 2, c = 4;
  const uint32_t carry_out = carry_result(l, 1);
  uint32_t wide = kNoRegister;
  if (!l.has("X") && carry_out == kNoRegister && !is_zero(*l.slot(c)) && !l.slot(a)->minus &&
      !l.slot(a + 1)->minus) {
    l.ptx(std::string("mad.wide.") + (l.has("U32") ? "u32" : "s32") + " %d0, %r1, %r2, %d3",
          {wide = l.temporary(8), l.word(a), l.word(a + 1), l.pair(c)});
    return l.give_pair(0, wide);
  }
  if (!wide_product(l, a, &wide)) return false;
  if (l.has("X") || carry_out != kNoRegister) {
    const uint32_t sum = l.temporary(8);
    if (l.has("X")) l.copy(l.carry(), carry_place(l, 5), 1);
    const char* line = !l.has("X")                ? "add.cc.u64 %d0, %d1, %d2"
                       : carry_out != kNoRegister ? "addc.cc.u64 %d0, %d1, %d2"
                                                  : "addc.u64 %d0, %d1, %d2";
    l.ptx(line, {sum, wide, l.pair(c)});
    l.give_pair(0, sum);
    if (carry_out != kNoRegister) l.copy(carry_out, l.carry(), 1);
    return true;
  }
  if (!is_zero(*l.slot(c))) l.ptx("add.s64 %d0, %d1, %d2", {wide, wide, l.pair(c)});
  return l.give_pair(0, wide);
}

bool lower_imad_high(SassLowering& l) {
  uint32_t wide = kNoRegister;
  if (!wide_product(l, 2, &wide)) return false;
  const uint32_t carry_out = carry_result(l, 1);
  if (carry_out != kNoRegister) {
    l.ptx("add.cc.u64 %d0, %d1, %d2", {wide, wide, l.pair(4)});
    l.copy(carry_out, l.carry(), 1);
  } else if (!is_zero(*l.slot(4))) {
    l.ptx("add.s64 %d0, %d1, %d2", {wide, wide, l.pair(4)});
  }
  l.ptx("shr.u64 %d0, %d1, 32", {wide, wide});
  return l.ptx("cvt.u32.u64 %r0, %d1", {l.result(0), wide});
}

// d <- (a << s) + b, or b - (a << s); of HI the upper half of {c, a} << s, c being a's sign for SX32. A minus before a is
// that of the whole shifted value, also of HI, as an H200 has it.
template <bool high, bool sign>
bool lower_lea(SassLowering& l) {
  if (!high && l.is_lower_half()) return l.lower_lower_half(true);
  if (high && l.lower_upper_half()) return true;
  const size_t shift = high && !sign ? 5 : 4;
  const std::string by = decimal(l.slot(shift)->integer & 31);
  const bool subtract = l.slot(2)->minus;  // the shifted value, with the carry of the subtraction
  if (l.slot(2)->inverted || (subtract && (sign || l.has("X")))) return false;
  const uint32_t a = l.raw(2), shifted = l.temporary(4);
  const int64_t kept = 32 - (l.slot(shift)->integer & 31);  // of a's bits, below the upper half
  if (!high) {
    l.ptx("shl.b32 %r0, %r1, " + by, {shifted, a});
  } else if (sign) {
    l.ptx("shr.s32 %r0, %r1, " + decimal(std::min<int64_t>(kept, 31)), {shifted, a});
  } else if (kept == 32) {
    l.copy(shifted, l.word(4), 4);
  } else if (is_zero(*l.slot(4)) && !l.slot(4)->inverted) {
    l.ptx("shr.u32 %r0, %r1, " + decimal(kept), {shifted, a});
  } else {
    const uint32_t upper = l.temporary(4), lower = l.temporary(4);
    l.ptx("shl.b32 %r0, %r1, " + by, {upper, l.word(4)});
    l.ptx("shr.u32 %r0, %r1, " + decimal(kept), {lower, a});
    l.ptx("or.b32 %r0, %r1, %r2", {shifted, upper, lower});
  }
  Sum sum{{0, 3, 0}, {shifted, kNoRegister, l.constant(0, 4)}};
  sum.subtract = subtract;
  sum.carries.out[0] = carry_result(l, 1);
  if (l.has("X")) sum.carries.in[0] = carry_place(l, shift + 1);
  if (l.has("X") || sum.carries.out[0] != kNoRegister) return emit_sum(l, sum);
  return l.ptx(subtract ? "sub.s32 %r0, %r2, %r1" : "add.s32 %r0, %r1, %r2",
               {l.result(0), shifted, l.word(3)});
}

bool lower_lop3(SassLowering& l) {
  const size_t a = l.shape() == 1 ? 2 : 1;
  const int64_t table = l.slot(a + 3)->integer & 0xff;
  const uint32_t x = l.word(a), y = l.word(a + 1), z = l.word(a + 2), d = l.result(l.shape());
  const bool tells = l.shape() == 1;  // whether the result is another one than zero, too
  if (tells && l.slot(6)->index == sass::kTrue && l.slot(6)->kind != sass::OperandKind::kRegister &&
      l.slot(6)->inverted != l.has("PAND")) {
    const uint32_t all = l.temporary(4), holds = l.predicate_result(0);
    l.ptx("lop3.b32 %r0, %r1, %r2, %r3, " + decimal(table), {all, x, y, z});
    l.ptx("setp.ne.u32 %p0, %r1, %r2", {holds, all, l.constant(0, 4)});
    return l.copy(d, all, 4);
  }
  if (tells) {
    return l.ptx(std::string("lop3.") + (l.has("PAND") ? "and" : "or") + ".b32 %r0|%p1, %r2, %r3, %r4, " +
                     decimal(table) + ", %p5",
                 {d, l.predicate_result(0), x, y, z, l.predicate(6)});
  }
  const char* two = table == 0xc0 ? "and" : table == 0xfc ? "or" : table == 0x3c ? "xor" : nullptr;
  if (two) return l.ptx(std::string(two) + ".b32 %r0, %r1, %r2", {d, x, y});
  return l.ptx("lop3.b32 %r0, %r1, %r2, %r3, " + decimal(table), {d, x, y, z});
}

// d = a table of three predicates, of which at most two vary: where PTX has such a function.
bool lower_small_table(SassLowering& l, uint32_t d, int64_t table) {
  std::vector<uint32_t> variables;
  std::vector<int> bits;  // of the table's index
  int known = 0;
  for (int k = 0; k < 3; ++k) {
    const sass::Operand& o = *l.slot(2 + static_cast<size_t>(k));
    const bool is_constant = o.index == sass::kTrue && o.kind != sass::OperandKind::kRegister;
    if (is_constant && !o.inverted) known |= 4 >> k;
    if (is_constant) continue;
    variables.push_back(l.predicate(2 + static_cast<size_t>(k)));
    bits.push_back(4 >> k);
  }
  if (variables.size() > 2) return false;
  uint32_t reduced = 0;  // the table of the variables alone
  for (uint32_t i = 0; i < 1u << variables.size(); ++i) {
    int at = known;
    for (size_t v = 0; v < variables.size(); ++v)
      if (i >> v & 1) at |= bits[v];
    reduced |= static_cast<uint32_t>(table >> at & 1) << i;
  }
  if (variables.empty()) return l.copy(d, l.constant(reduced ? 0xff : 0, 1), 1);
  if (variables.size() == 1) {
    if (reduced == 0 || reduced == 3) return l.copy(d, l.constant(reduced ? 0xff : 0, 1), 1);
    return reduced == 2 ? l.copy(d, variables[0], 1) : l.ptx("not.pred %p0, %p1", {d, variables[0]});
  }
  const char* name = reduced == 8 ? "and" : reduced == 14 ? "or" : reduced == 6 ? "xor" : nullptr;
  return name && l.ptx(std::string(name) + ".pred %p0, %p1, %p2", {d, variables[0], variables[1]});
}

bool lower_plop3(SassLowering& l) {
  if (l.slot(1)->index == sass::kTrue &&
      lower_small_table(l, l.predicate_result(0), l.slot(5)->integer & 0xff))
    return true;
  const uint32_t a = l.predicate(2), b = l.predicate(3), c = l.predicate(4);
  auto table = [&](uint32_t d, size_t k) {
    l.emit(sums().predicate_table,
           {.d = d, .a = a, .b = b, .c = c, .small = static_cast<uint32_t>(l.slot(k)->integer & 0xff)});
  };
  const bool second = l.slot(1)->index != sass::kTrue;
  const uint32_t first = second ? l.temporary(1) : l.predicate_result(0);
  table(first, 5);
  if (!second) return true;
  table(l.predicate_result(1), 6);
  return l.copy(l.predicate_result(0), first, 1);
}

bool lower_shf(SassLowering& l) {
  const uint32_t a = l.word(1), c = l.word(3);
  uint32_t by = l.word(2);
  const bool left = l.has("L"), high = l.has("HI"), wide = l.has("U64") || l.has("S64"),
             is_signed = l.has("S32") || l.has("S64");
  if (!wide && left == high) {
    // The funnel shift of 32 bits: the upper half to the left, the lower to the right.
    if (is_signed) return false;
    return l.ptx(std::string("shf.") + (left ? "l" : "r") + (l.has("W") ? ".wrap" : ".clamp") +
                     ".b32 %r0, %r1, %r2, %r3",
                 {l.result(0), a, c, by});
  }
  if (l.has("W")) {
    if (wide) return false;
    const uint32_t wrapped = l.temporary(4);
    l.ptx("and.b32 %r0, %r1, 31", {wrapped, by});
    by = wrapped;
  }
  if (!wide) {
    if (left) return l.ptx("shl.b32 %r0, %r1, %r2", {l.result(0), a, by});
    return l.ptx(std::string("shr.") + (is_signed ? "s32" : "u32") + " %r0, %r1, %r2", {l.result(0), c, by});
  }
  const uint32_t value = l.temporary(8), unread = l.temporary(4);
  l.ptx("mov.b64 %d0, {%r1, %r2}", {value, a, c});
  l.ptx(std::string(left        ? "shl.b64"
                    : is_signed ? "shr.s64"
                                : "shr.u64") +
            " %d0, %d1, %r2",
        {value, value, by});
  if (high) return l.ptx("mov.b64 {%r0, %r1}, %d2", {unread, l.result(0), value});
  return l.ptx("mov.b64 {%r0, %r1}, %d2", {l.result(0), unread, value});
}

std::string comparison(const SassLowering& l) {
  for (const char* name : {"EQ", "NE", "LT", "LE", "GT", "GE"})
    if (l.has(name)) return lower_case(name);
  return "";
}

// P <- (a compared with b) combined with a predicate, and the second result of its opposite. EX: the upper halves of 64
// bits, where the last operand says how the lower ones compare.
bool lower_isetp(SassLowering& l) {
  const std::string compare = comparison(l), type = l.has("U32") ? "u32" : "s32";
  const std::string combine = l.has("OR") ? "or" : l.has("XOR") ? "xor" : "and";
  if (compare.empty()) return false;
  const uint32_t a = l.word(2), b = l.word(3);
  const bool second = l.slot(1)->index != sass::kTrue;
  if (!l.has("EX")) return l.compare("." + compare + "." + combine, "." + type, 'r', a, b, 4);
  const uint32_t lower = l.predicate(5), holds = l.temporary(1), not_so = l.temporary(1);
  if (compare == "eq" || compare == "ne") {
    l.ptx("setp." + compare + (compare == "eq" ? ".and." : ".or.") + type + " %p0, %r1, %r2, %p3",
          {holds, a, b, lower});
  } else {
    const uint32_t equal = l.temporary(1);
    l.ptx("setp.eq.and." + type + " %p0, %r1, %r2, %p3", {equal, a, b, lower});
    l.ptx("setp." + compare.substr(0, 1) + "t.or." + type + " %p0, %r1, %r2, %p3", {holds, a, b, equal});
  }
  const uint32_t p = l.predicate(4), first = l.temporary(1);
  l.ptx(combine + ".pred %p0, %p1, %p2", {first, holds, p});
  if (second) {
    l.ptx("not.pred %p0, %p1", {not_so, holds});
    l.ptx(combine + ".pred %p0, %p1, %p2", {l.predicate_result(1), not_so, p});
  }
  return l.copy(l.predicate_result(0), first, 1);
}

// For 64 bits: which of the two it was, the first two results, is read by nothing that was seen.
bool lower_wide_extremum(SassLowering& l) {
  auto is_true = [&](size_t k, bool inverted) {
    return l.slot(k)->index == sass::kTrue && l.slot(k)->inverted == inverted;
  };
  const bool least = is_true(5, false);
  if (!is_true(0, false) || !is_true(1, false) || !is_true(6, true) || !(least || is_true(5, true)))
    return false;
  const uint32_t a = l.wide(3), b = l.wide(4), d = l.temporary(8);
  if (a == kNoRegister || b == kNoRegister) return false;
  l.ptx(std::string(least ? "min" : "max") + (l.has("U64") ? ".u64" : ".s64") + " %d0, %d1, %d2", {d, a, b});
  return l.give_pair(2, d);
}

// Both operands of 64 bits at once.
bool lower_wide_setp(SassLowering& l) {
  const std::string compare = comparison(l), combine = l.has("OR") ? "or" : l.has("XOR") ? "xor" : "and";
  const uint32_t a = l.wide(2), b = l.wide(3);
  if (compare.empty() || a == kNoRegister || b == kNoRegister) return false;
  return l.compare("." + compare + "." + combine, l.has("U64") ? ".u64" : ".s64", 'd', a, b, 4);
}

// Returns whether a selector takes each byte from its own place, of whichever operand.
bool keeps_bytes(const sass::Operand& how) {
  if (how.kind != sass::OperandKind::kInteger) return false;
  for (int64_t i = 0; i < 4; ++i)
    if ((how.integer >> 4 * i & 0xb) != i) return false;  // and does not repeat its sign
  return true;
}

bool lower_prmt(SassLowering& l) {
  for (const char* mode : {"F4E", "B4E", "RC8", "ECL", "ECR", "RC16"}) {
    if (!l.has(mode)) continue;
    return l.ptx("prmt.b32." + lower_case(mode) + " %r0, %r1, %r2, %r3",
                 {l.result(0), l.word(1), l.word(3), l.word(2)});
  }
  const uint32_t a = l.word(1), c = l.word(3);
  if (a == c && keeps_bytes(*l.slot(2))) return l.copy(l.result(0), a, 4);
  if (l.slot(2)->kind == sass::OperandKind::kInteger)
    return l.ptx("prmt.b32 %r0, %r1, %r2, " + decimal(l.slot(2)->integer), {l.result(0), a, c});
  return l.ptx("prmt.b32 %r0, %r1, %r2, %r3", {l.result(0), a, c, l.word(2)});
}

// Lowers instructions of one or two operands that PTX has too.
bool lower_plain(SassLowering& l, const std::string& mnemonic, size_t operands, size_t first = 1) {
  if (operands == 1) return l.ptx(mnemonic + " %r0, %r1", {l.result(0), l.word(first)});
  return l.ptx(mnemonic + " %r0, %r1, %r2", {l.result(0), l.word(first), l.word(first + 1)});
}

// The type of an extremum, and .relu as PTX puts it: in front of it, unless the extremum is that of an inner step.
std::string extremum_type(const SassLowering& l) {
  for (const char* other : {"U32", "S16x2", "U16x2"})
    if (l.has(other)) return "." + lower_case(other);
  return ".s32";
}
std::string extremum_rest(const SassLowering& l) {
  for (const char* bytes : {"U8x4", "S8x4"})
    if (l.has(bytes)) {
      const std::string type = bytes[0] == 'U' ? ".u32" : ".s32";
      return "4" + type + type + type + " %r0, %r1, %r2, %r1";
    }
  return (l.has("RELU") ? ".relu" : "") + extremum_type(l) + " %r0, %r1, %r2";
}

// The predicates of a pair say of its lower and of its upper half whether it is a's. Those of whole numbers are read by
// nothing that was seen.
bool lower_extremum(SassLowering& l) {
  const std::string rest = extremum_rest(l), v = l.has("U8x4") || l.has("S8x4") ? "v" : "";
  const size_t first = l.shape() == 1 ? 3 : 1;
  const bool says_which = first == 3 && (l.slot(1)->index != sass::kTrue || l.slot(2)->index != sass::kTrue);
  const bool pairs = l.has("S16x2") || l.has("U16x2");
  if (says_which && (!pairs || l.has("RELU"))) return false;
  const uint32_t a = l.word(first), b = l.word(first + 1);
  if (!says_which) return l.choose(first + 2, v + "min" + rest, v + "max" + rest, a, b);
  const uint32_t before = l.temporary(4), changed = l.temporary(4), half = l.temporary(4);
  l.copy(before, a, 4);  // the result may be the same register
  l.choose(first + 2, "min" + rest, "max" + rest, a, b);
  l.ptx("xor.b32 %r0, %r1, %r2", {changed, l.result(0), before});
  for (size_t k = 1; k < 3; ++k) {
    l.ptx(std::string("and.b32 %r0, %r1, ") + (k == 1 ? "0xffff" : "0xffff0000"), {half, changed});
    l.ptx("setp.eq.u32 %p0, %r1, 0", {l.predicate_result(k), half});
  }
  return true;
}

// min(a + b, c), or max.
bool lower_sum_extremum(SassLowering& l) {
  const uint32_t sum = l.temporary(4);
  const std::string rest = extremum_rest(l);
  const bool pairs = l.has("S16x2") || l.has("U16x2");
  l.ptx(pairs ? "add.u16x2 %r0, %r1, %r2" : "add.s32 %r0, %r1, %r2", {sum, l.word(1), l.word(2)});
  return l.choose(4, "min" + rest, "max" + rest, sum, l.word(3));
}

// min(min(a, b), c), or max.
bool lower_extremum_of_three(SassLowering& l) {
  if (l.slot(4)->index != sass::kTrue) return false;
  const std::string name = l.slot(4)->inverted ? "max" : "min";
  const uint32_t first = l.temporary(4);
  l.ptx(name + extremum_type(l) + " %r0, %r1, %r2", {first, l.word(1), l.word(2)});
  return l.ptx(name + extremum_rest(l), {l.result(0), first, l.word(3)});
}

// Products of bytes, or of halves and bytes, summed up: 4A, or 2A with LO or HI.
bool lower_dot(SassLowering& l) {
  std::vector<std::string> types;
  for (std::string_view mod : l.in().mods)
    if (mod == "U8" || mod == "S8" || mod == "U16" || mod == "S16")
      types.emplace_back(mod[0] == 'U' ? ".u32" : ".s32");
  if (types.size() != 2) return false;
  const std::string name = l.has("4A") ? "dp4a" : l.has("LO") ? "dp2a.lo" : "dp2a.hi";
  return l.ptx(name + types[0] + types[1] + " %r0, %r1, %r2, %r3",
               {l.result(0), l.word(1), l.word(2), l.word(3)});
}

// d = a + b + c of pairs, or two of them: slots from `first` on.
bool lower_wide_sum(SassLowering& l, size_t first, size_t count) {
  if (first > 2 && (l.slot(1)->index != sass::kTrue || l.slot(2)->index != sass::kTrue)) return false;
  uint32_t so_far = kNoRegister;
  for (size_t k = first; k < first + count; ++k) {
    if (is_zero(*l.slot(k))) continue;
    const uint32_t term = l.wide(k);
    if (term == kNoRegister) return false;
    const uint32_t sum = so_far == kNoRegister ? term : l.temporary(8);
    if (so_far != kNoRegister) l.ptx("add.s64 %d0, %d1, %d2", {sum, so_far, term});
    so_far = sum;
  }
  return l.give_pair(0, so_far == kNoRegister ? l.constant(0, 8) : so_far);
}

bool lower_mask(SassLowering& l) {
  return lower_plain(l, l.has("W") ? "bmsk.wrap.b32" : "bmsk.clamp.b32", 2);
}

bool lower_find(SassLowering& l) {
  if (carry_result(l, 1) != kNoRegister) return false;
  return lower_plain(
      l, std::string(l.has("SH") ? "bfind.shiftamt" : "bfind") + (l.has("U32") ? ".u32" : ".s32"), 1, 2);
}

bool lower_extend(SassLowering& l) {
  const sass::Operand& bits = *l.slot(2);
  if (l.has("U32") && bits.kind == sass::OperandKind::kInteger && bits.integer > 0 && bits.integer < 32)
    return l.ptx("and.b32 %r0, %r1, %r2", {l.result(0), l.word(1), l.constant((1u << bits.integer) - 1, 4)});
  return lower_plain(
      l, std::string(l.has("W") ? "szext.wrap" : "szext.clamp") + (l.has("U32") ? ".u32" : ".s32"), 2);
}

bool lower_viadd(SassLowering& l) {
  if (l.has("ISAT") != l.has("S32")) return false;
  if (l.has("U8x4") || l.has("S8x4"))  // each byte by itself
    return l.ptx(std::string(l.slot(2)->minus ? "vsub4" : "vadd4") + ".u32.u32.u32 %r0, %r1, %r2, %r1",
                 {l.result(0), l.word(1), l.raw(2)});
  if (l.has("ISAT") && (l.slot(1)->minus || l.slot(2)->minus)) {  // the least number has no opposite
    const size_t from = l.slot(1)->minus ? 2 : 1;
    if (l.slot(from)->minus) return false;
    return l.ptx("sub.sat.s32 %r0, %r1, %r2", {l.result(0), l.word(from), l.raw(3 - from)});
  }
  return lower_plain(l, l.has("16x2") ? "add.u16x2" : l.has("ISAT") ? "add.sat.s32" : "add.s32", 2);
}

bool lower_brev(SassLowering& l) { return lower_plain(l, "brev.b32", 1); }
bool lower_popc(SassLowering& l) { return lower_plain(l, "popc.b32", 1); }
bool lower_iabs(SassLowering& l) { return lower_plain(l, "abs.s32", 1); }
// d = a + b of pairs, with carries in and out: -b is ~b + 1, whose carry is that of the subtraction.
bool lower_iadd_64(SassLowering& l) {
  const uint32_t carry_out = carry_result(l, 1);
  if (!l.has("X") && carry_out == kNoRegister) return lower_wide_sum(l, 2, 2);
  const size_t negated = l.slot(2)->minus ? 2 : 3, plain = 5 - negated;
  const sass::Operand& last = *l.slot(negated);
  const bool in_register =
      last.kind == sass::OperandKind::kRegister || last.kind == sass::OperandKind::kUniform;
  if (l.slot(plain)->minus || (last.minus && (l.has("X") || !in_register))) return false;
  const uint32_t a = l.wide(plain), d = l.temporary(8);
  uint32_t b = last.minus ? l.temporary(8) : l.wide(negated);
  if (a == kNoRegister || b == kNoRegister) return false;
  if (last.minus)
    l.ptx("not.b64 %d0, %d1",
          {b, last.index == sass::kZero ? l.constant(0, 8)
                                        : l.pair_from(last.index, last.kind == sass::OperandKind::kUniform)});
  l.copy(l.carry(), l.has("X") ? l.predicate(4) : l.constant(last.minus ? 0xff : 0, 1), 1);
  l.ptx("addc.cc.u64 %d0, %d1, %d2", {d, a, b});
  if (carry_out != kNoRegister) l.copy(carry_out, l.carry(), 1);
  return l.give_pair(0, d);
}

bool lower_iadd3_64(SassLowering& l) { return lower_wide_sum(l, l.shape() == 1 ? 3 : 1, 3); }

// Differences: of whole numbers, added to the third operand; of bytes, each by itself, or (ACC) added up with the third.
bool lower_vabsdiff(SassLowering& l) {
  std::string line = l.has("U32") ? "sad.u32" : "sad.s32";
  if (l.opcode() == sass::Opcode::kVABSDIFF4) {
    line = l.has("U8") ? "vabsdiff4.u32.u32.u32" : "vabsdiff4.u32.s32.s32";
    if (l.has("ACC")) line += ".add";
  }
  return l.ptx(line + " %r0, %r1, %r2, %r3", {l.result(0), l.word(1), l.word(2), l.word(3)});
}

}  // namespace

bool lower_integer(SassLowering& l) {
  using enum sass::Opcode;
  static constexpr SassRow kRows[] = {
      {lower_mask, {kBMSK, kUBMSK}},
      {lower_brev, {kBREV, kUBREV}},
      {lower_find, {kFLO, kUFLO}},
      {lower_iabs, {kIABS}},
      {lower_iadd3, {kIADD3, kUIADD3}},
      {lower_imad, {kIMAD, kUIMAD}},
      {lower_dot, {kIDP}},
      {lower_imad_high, {kIMAD_HI, kUIMAD_HI}},
      {lower_imad_wide, {kIMAD_WIDE, kUIMAD_WIDE}},
      {lower_extremum, {kIMNMX, kUVIMNMX, kVIMNMX}},
      {lower_isetp, {kISETP, kUISETP}},
      {lower_lea<false, false>, {kLEA, kULEA}},
      {lower_lea<true, false>, {kLEA_HI, kULEA_HI}},
      {lower_lea<true, true>, {kLEA_HI_SX32, kULEA_HI_SX32}},
      {lower_lop3, {kLOP3, kULOP3}},
      {lower_plop3, {kPLOP3, kUPLOP3}},
      {lower_popc, {kPOPC, kUPOPC}},
      {lower_prmt, {kPRMT, kUPRMT}},
      {lower_extend, {kSGXT, kUSGXT}},
      {lower_shf, {kSHF, kUSHF}},
      {lower_viadd, {kVIADD}},
      {lower_iadd3_64, {kUIADD3_64}},
      {lower_iadd_64, {kIADD_64, kIADD_64_X}},
      {lower_iadd, {kIADD}},
      {lower_wide_extremum, {kIMNMX_S64, kIMNMX_U64, kUIMNMX_S64, kUIMNMX_U64}},
      {lower_wide_setp, {kISETP_S64, kISETP_U64, kUISETP_S64, kUISETP_U64}},
      {lower_vabsdiff, {kVABSDIFF, kVABSDIFF4}},
      {lower_sum_extremum, {kVIADDMNMX}},
      {lower_extremum_of_three, {kVIMNMX3}}};
  return lower_by(l, kRows);
}

}  // namespace triton_runner::simt
