// Checks numbers. check="nan" and "inf" report the first floating-point instruction whose result is worse
// than its operands (machine/badness.h), check="zerodiv" the first div or rem of integers whose quotient is
// not defined: the divisor is 0, or the lowest integer is divided by -1. Machine code computes these in
// several instructions: parts.cpp.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <triton_runner/num/types.h>

#include <triton_runner/exec/substitution.h>

#include "check/check.h"

namespace triton_runner::simt {

using machine::Badness;

namespace {

bool is(const Instr& in, Source::Numbers numbers) { return in.source && in.source->numbers == numbers; }

double value_at(const Lanes& x, uint32_t place, const Source& e, uint32_t lane, uint32_t k) {
  const size_t size = num::size_of(e.type);
  const std::byte* reg = x.regs + place + size * e.elements * (x.first + lane);
  return num::to_double(num::load_bits(reg + size * k, e.type), e.type);
}

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

Badness Checks::badness(double value) const { return machine::badness(value, inf_); }

void Checks::nan_before(const Exec& x, const Instr& in) {
  arithmetic_ = is(in, Source::Numbers::kFloats) && in.d != kNoRegister;
  if (!arithmetic_) return;
  const Source& e = *in.source;
  operands_.assign(size_t{x.count} * e.elements, {});
  for (uint32_t i : x.lanes())
    for (uint32_t k = 0; k < e.elements; k++) {
      Operand3& o = operands_[i * e.elements + k];
      for (uint32_t place : {in.a, in.b, in.c}) {
        if (place == kNoRegister) continue;
        o.values[o.n++] = value_at(x, place, e, i, k);
        o.worst = std::max(o.worst, badness(o.values[o.n - 1]));
      }
      if (e.part && e.part->reads.empty())
        o.worst = Badness::kFine;  // MUFU.RSQ of the text's -QNAN makes one
    }
}

void Checks::nan_after(Exec& x, const Instr& in) {
  if (!in.source || in.source->at != marked_at_) marked_at_ = nullptr;
  if (!arithmetic_) return;
  if (in.source->part) marked_at_ = in.source->at;
  const Source& e = *in.source;
  for (uint32_t i = 0; i < x.count; i++) {
    const auto inherited = inherited_.find(i);
    const bool is_step = inherited != inherited_.end();
    if (x.on(i) && e.part) part_writes(x, in, i, nullptr);
    for (uint32_t k = 0; x.on(i) && k < e.elements; k++) {
      const Operand3& o = operands_[i * e.elements + k];
      const double result = value_at(x, in.d, e, i, k);
      const Badness own = badness(result);
      if (own == Badness::kFine) continue;
      if (is_step && own <= inherited->second.mark.badness) {
        if (own > inherited->second.outside) part_writes(x, in, i, &inherited->second.mark);
        continue;
      }
      if (own <= o.worst) continue;
      std::string message = std::string("the result is ") +
                            (own == Badness::kNotANumber ? "NaN" : "infinite") + ", and no operand is: ";
      for (uint32_t n = 0; n < o.n; n++) message += (n ? ", " : "") + text_of(o.values[n]);
      if (e.part) {
        const Mark mark{maker_of(x, in, i), std::move(message), exec::TrapKind::kNan, own, e.type};
        part_writes(x, in, i, &mark);
        continue;
      }
      if (!substituted(x, in, i, exec::TrapKind::kNan, message))
        return x.trap(in, exec::TrapKind::kNan, std::move(message), i);
      if (!replaces_here_) continue;
      const size_t size = num::size_of(e.type);
      num::store_bits(x.regs + in.d + size * e.elements * (x.first + i) + size * k, e.type,
                      num::from_double(launch_.options->substitution->number, e.type));
    }
  }
}

void Checks::division_before(const Exec& x, const Instr& in) {
  divided_.clear();
  if (!is(in, Source::Numbers::kDivision) || in.b == kNoRegister) return;
  const num::Type type = in.source->type;
  auto bits = [&](uint32_t place, uint32_t lane) {
    return num::load_bits(x.regs + place + num::size_of(type) * (x.first + lane), type);
  };
  const auto width = static_cast<uint32_t>(8 * num::size_of(type));
  for (uint32_t i : x.lanes()) {
    const uint64_t a = bits(in.a, i), b = bits(in.b, i);
    const bool overflows =
        in.source->is_signed && num::sign_extend(b, type) == -1 && a == uint64_t{1} << (width - 1);
    if (b != 0 && !overflows) continue;
    const std::string dividend =
        in.source->is_signed ? std::to_string(num::sign_extend(a, type)) : std::to_string(a);
    if (overflows)
      divided_.push_back(
          {i, exec::TrapKind::kOverflow,
           "the quotient does not fit into " + std::to_string(width) + " bits: " + dividend + " / -1"});
    else
      divided_.push_back({i, exec::TrapKind::kDivisionByZero, "the divisor is 0: " + dividend + " / 0"});
  }
}

void Checks::division_after(Exec& x, const Instr& in) {
  for (const auto& [lane, kind, message] : divided_) {
    const num::Type type = in.source->type;
    if (!substituted(x, in, lane, kind, message)) return x.trap(in, kind, message, lane);
    if (replaces_here_ && in.d != kNoRegister)
      num::store_bits(x.regs + in.d + num::size_of(type) * (x.first + lane), type,
                      static_cast<uint64_t>(static_cast<int64_t>(launch_.options->substitution->number)));
  }
}

bool Checks::substituted(Exec& x, const Operands& in, uint32_t lane, exec::TrapKind kind,
                         const std::string& message) {
  exec::Substitution* experiment = launch_.options->substitution;
  if (!experiment) return false;
  const exec::Trap trap = x.made_trap(in, kind, message, lane, 0, 0, {});
  const Source* source = instr_of(in).source;
  experiment->places.note(source ? source->at : nullptr, x.program(), 1, [&] { return trap; });
  replaces_here_ = experiment->applies_at(trap.location.str());
  return true;
}

void Checks::put_number(std::byte& at) {
  // Bytes have no type here. Numbers of different sign get bytes of which none is the same, and which are
  // finite and small as a float of any type (f32: 0.747 and -0.373).
  const bool negative = launch_.options->substitution->number < 0;
  at = std::byte{negative ? uint8_t{0xbe} : uint8_t{0x3f}};
}

}  // namespace triton_runner::simt
