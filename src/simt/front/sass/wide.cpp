// Lowers sums of 64 bits that machine code adds by halves (Values::lower_half): as one sum, which is kept as the pair of both
// registers. So the address that most of them are need not be put together again.
//
//   IADD3 R14, P4, R4, 0x200, RZ      R14 = the lower half
//   IADD3.X R15, RZ, R5, RZ, P4, !PT  {R14, R15} = {R4, R5} + 0x200, and R15 of it
#include <algorithm>

#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

bool is_literal_number(const sass::Operand* o) { return o && o->kind == sass::OperandKind::kInteger; }

// Two neighbouring words of a constant bank.
bool are_neighbours(const sass::Operand& low, const sass::Operand* high) {
  return low.kind == sass::OperandKind::kConstant && high && high->kind == low.kind &&
         high->bank == low.bank && high->integer == low.integer + 4 && low.parts.empty() &&
         high->parts.empty();
}

std::vector<size_t> terms_of(const SassLowering& l, bool is_shifted) {
  if (is_shifted) return {3};
  std::vector<size_t> out;
  for (size_t k = 3; k < 6; ++k) {
    const sass::Operand& o = *l.slot(k);
    const bool is_register = o.kind == sass::OperandKind::kRegister || o.kind == sass::OperandKind::kUniform;
    if (!is_register || o.index != sass::kZero) out.push_back(k);
  }
  return out;
}

}  // namespace

// IADD3 or LEA: the lower half alone, as a sum of 32 bits.
bool SassLowering::lower_lower_half(bool is_shifted) {
  Half half{matched_, {}};
  uint32_t terms[2];
  const std::vector<size_t> slots = is_shifted ? std::vector<size_t>{2, 3} : terms_of(*this, false);
  for (size_t k = 0; k < 2; ++k) {
    terms[k] = raw(slots[k]);
    if (terms[k] == kNoRegister) return false;
    half.slots.push_back(slots[k]);
    half.places.push_back(terms[k]);
  }
  if (is_shifted)
    ptx("shl.b32 %r0, %r1, " + std::to_string(slot(4)->integer & 31), {terms[0] = temporary(4), raw(2)});
  half.places.push_back(result(0));
  lower_halves_[static_cast<uint32_t>(in_ - function_.body.data())] = half;
  return ptx("add.s32 %r0, %r1, %r2", {half.places[2], terms[0], terms[1]});
}

// The place of 64 bits whose lower half is the operand `low`, which lies in `at`, and whose upper one is that of slot k, or 0.
uint32_t SassLowering::joined(const sass::Operand& low, uint32_t at, size_t k) {
  const sass::Operand* high = k ? slot(k) : nullptr;
  if (is_literal_number(&low) && (!high || is_literal_number(high)))
    return constant(
        static_cast<uint64_t>(high ? high->integer : 0) << 32 | static_cast<uint32_t>(low.integer), 8);
  if (are_neighbours(low, high)) return bank(low, 8);
  const uint32_t upper = high ? raw(k) : kNoRegister;
  if (const uint32_t known = known_pair(at, upper); known != kNoRegister) return used(known);
  const uint32_t whole = temporary(8);
  if (high)
    ptx("mov.b64 %d0, {%r1, %r2}", {whole, at, upper});
  else
    ptx("cvt.u64.u32 %d0, %r1", {whole, at});
  return whole;
}

bool SassLowering::lower_upper_half() {
  const auto index = values_.lower_half(static_cast<uint32_t>(in_ - function_.body.data()));
  if (!index) return false;
  const Half& half = lower_halves_.at(*index);
  for (const uint32_t place : half.places)
    if (code.uses.contains(place)) used(place);  // the terms of the lower half last until here
  using enum sass::Opcode;
  const bool is_signed = in_->is(kLEA_HI_SX32) || in_->is(kULEA_HI_SX32);
  const bool is_shifted = is_signed || in_->is(kLEA_HI) || in_->is(kULEA_HI);
  const sass::Operand* low[] = {half.of.slots[half.slots[0]], half.of.slots[half.slots[1]]};
  const uint32_t sum = temporary(8);
  if (is_shifted) {
    const int64_t by = half.of.slots[4]->integer & 31;
    const bool is_zero = is_signed || slot(4)->index == sass::kZero;
    const uint32_t added = joined(*low[1], half.places[1], 3);
    if (is_zero) {
      ptx(std::string("mad.wide.") + (is_signed ? "s32" : "u32") + " %d0, %r1, %r2, %d3",
          {sum, half.places[0], constant(uint64_t{1} << by, 4), added});
    } else {
      const uint32_t shifted = temporary(8);
      ptx("shl.b64 %d0, %d1, " + std::to_string(by), {shifted, joined(*low[0], half.places[0], 4)});
      ptx("add.s64 %d0, %d1, %d2", {sum, shifted, added});
    }
  } else {
    std::vector<size_t> high = terms_of(*this, false);
    high.resize(2);  // 0: none
    // Either way gives the sum: that which is there as a pair.
    const auto fits = [&](size_t a, size_t k) {
      if (!k) return is_literal_number(low[a]);
      const sass::Operand* o = slot(k);
      return (is_literal_number(low[a]) && is_literal_number(o)) || are_neighbours(*low[a], o) ||
             (o->kind != sass::OperandKind::kConstant && known_pair(half.places[a], raw(k)) != kNoRegister);
    };
    if (fits(0, high[1]) + fits(1, high[0]) > fits(0, high[0]) + fits(1, high[1]))
      std::swap(high[0], high[1]);
    const uint32_t first = joined(*low[0], half.places[0], high[0]);
    ptx("add.s64 %d0, %d1, %d2", {sum, first, joined(*low[1], half.places[1], high[1])});
  }
  const uint32_t upper = result(0);
  new_pairs_.push_back({{half.places[2], upper}, sum});
  return ptx("mov.b64 {%r0, %r1}, %d2", {unread(4), upper, sum});
}

}  // namespace triton_runner::simt
