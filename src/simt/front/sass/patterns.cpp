// Finds what several instructions do as one: sums of 64 bits that are added by halves, and numbers that are put into the registers
// of a load for threads that do not load.
#include <algorithm>

#include "front/sass/values.h"

namespace triton_runner::simt {
namespace {

bool is_of(const sass::Instruction& in, std::initializer_list<sass::Opcode> opcodes) {
  return std::any_of(opcodes.begin(), opcodes.end(), [&](sass::Opcode opcode) { return in.is(opcode); });
}
bool is_sum(const sass::Instruction& in) { return is_of(in, {sass::Opcode::kIADD3, sass::Opcode::kUIADD3}); }
bool is_shifted(const sass::Instruction& in) { return is_of(in, {sass::Opcode::kLEA, sass::Opcode::kULEA}); }

// The operands that are added up: those of IADD3 other than zero; what LEA shifts, and what it adds to that. None: the
// instruction adds in another way.
std::vector<const sass::Operand*> terms_of(const sass::Matched& m, const sass::Instruction& in) {
  std::vector<const sass::Operand*> out;
  const bool is_three = is_sum(in);
  for (size_t k = is_three ? 3 : 2; k < (is_three ? 6u : 4u); ++k) {
    const sass::Operand& o = *m.slots[k];
    const bool is_register = o.kind == sass::OperandKind::kRegister || o.kind == sass::OperandKind::kUniform;
    if (o.inverted || o.absolute || (o.minus && o.kind != sass::OperandKind::kInteger) ||
        !o.selector.empty() ||
        !(is_register || o.kind == sass::OperandKind::kInteger || o.kind == sass::OperandKind::kConstant))
      return {};
    if (!is_three || !is_register || o.index != sass::kZero) out.push_back(&o);
  }
  return out;
}

bool is_predicate(const sass::Operand* o, bool inverted) {
  return o && o->index == sass::kTrue && o->inverted == inverted;
}

// The carry that the lower half of a sum gives; null: the instruction is none.
const sass::Operand* carry_of(const sass::Matched& m, const sass::Instruction& in) {
  if (in.guard || in.has("X") || !(is_sum(in) || is_shifted(in))) return nullptr;
  const bool gives_two = is_sum(in) && m.slots[2] && m.slots[2]->index != sass::kTrue;
  const sass::Operand &d = *m.slots[0], *carry = m.slots[1];
  if (!carry || carry->index == sass::kTrue || gives_two || d.index == sass::kZero) return nullptr;
  return terms_of(m, in).size() == 2 ? carry : nullptr;
}

// The carry that the upper half takes.
const sass::Operand* carried_to(const sass::Matched& m, const sass::Instruction& in) {
  using enum sass::Opcode;
  const bool is_signed = is_of(in, {kLEA_HI_SX32, kULEA_HI_SX32});
  const bool is_lea = is_signed || is_of(in, {kLEA_HI, kULEA_HI});
  if (in.guard || !in.has("X") || !(is_lea || is_sum(in)) || m.slots[0]->index == sass::kZero) return nullptr;
  const auto is_written = [](const sass::Operand* o) { return o && o->index != sass::kTrue; };
  if (is_written(m.slots[1]) || (!is_lea && (is_written(m.slots[2]) || !is_predicate(m.slots[7], true))))
    return nullptr;
  const sass::Operand* carry = m.slots[is_signed ? 5 : 6];
  if (!carry || carry->inverted || carry->index == sass::kTrue) return nullptr;
  const std::vector<const sass::Operand*> terms = terms_of(m, in);
  if (is_lea ? terms.size() != 2 : terms.size() > 2 || terms.empty()) return nullptr;
  if (is_lea && !is_signed) {  // the upper half of what is shifted
    const sass::Operand& c = *m.slots[4];
    if (c.minus || c.inverted || c.absolute || !c.selector.empty() ||
        (c.kind != sass::OperandKind::kRegister && c.kind != sass::OperandKind::kUniform))
      return nullptr;
  }
  return carry;
}

// The number that an unguarded instruction puts into all registers that it writes, if it does nothing else.
std::optional<uint32_t> number_of(const sass::Instruction& in) {
  if (in.guard || in.operands.size() < 2) return {};
  const sass::Operand& from = in.operands[1];
  if (in.is(sass::Opcode::kCS2R)) return from.selector == "SRZ" ? std::optional<uint32_t>(0) : std::nullopt;
  if (!in.is(sass::Opcode::kMOV) || (in.operands.size() > 2 && in.operands[2].integer != 15)) return {};
  if (from.kind == sass::OperandKind::kRegister && from.index == sass::kZero) return 0;
  if (from.kind != sass::OperandKind::kInteger || from.minus || from.inverted) return {};
  return static_cast<uint32_t>(from.integer);
}

}  // namespace

void Values::find_halves(const sass::Module& module, const sass::Function& f) {
  const auto size = static_cast<uint32_t>(f.body.size());
  const auto has = [](const std::vector<uint32_t>& all, uint32_t reg) {
    return std::find(all.begin(), all.end(), reg) != all.end();
  };
  for (uint32_t low = 0; low < size; ++low) {
    const sass::Instruction& in = f.body[low];
    if (!is_sum(in) && !is_shifted(in)) continue;
    const auto matched = sass::match(module, in);
    const sass::Operand* carry = matched ? carry_of(*matched, in) : nullptr;
    if (!carry) continue;
    const uint32_t code = sass::register_code(carry->kind, carry->index), value = after(low, code);
    if (value == code) continue;
    // The only one that reads the carry, and whether what the lower half has stays until then.
    const sass::Registers own = sass::registers_of(module, in);
    std::optional<uint32_t> high;
    bool is_right = true;
    for (uint32_t k = low; k < size && is_right && (k == low || before(k, code) == value); ++k) {
      const sass::Registers of = sass::registers_of(module, f.body[k]);
      if (k != low && has(of.reads, code)) is_right = !high, high = k;
      if (high) continue;
      for (const uint32_t reg : of.writes) {
        const bool is_home = after(k, reg) == reg;
        is_right = is_right && !(is_home && (has(own.reads, reg) || (k != low && has(own.writes, reg))));
      }
      const auto row = sass::match(module, f.body[k]);
      is_right = is_right && row && !may_part(*row->row);
    }
    if (!high || !is_right) continue;
    const sass::Instruction& upper = f.body[*high];
    const auto other = sass::match(module, upper);
    const sass::Operand* taken = other ? carried_to(*other, upper) : nullptr;
    if (!taken || taken->kind != carry->kind || taken->index != carry->index) continue;
    if (other->slots[0]->kind != matched->slots[0]->kind) continue;
    if (is_sum(in) != is_sum(upper)) continue;
    if (is_shifted(in)) {
      const sass::Operand &a = *matched->slots[2], &same = *other->slots[2];
      const size_t by = other->slots[4]->kind == sass::OperandKind::kInteger ? 4 : 5;
      if (a.kind != sass::OperandKind::kRegister && a.kind != sass::OperandKind::kUniform) continue;
      const uint32_t reg = sass::register_code(a.kind, a.index);
      if (a.kind != same.kind || a.index != same.index || before(low, reg) != before(*high, reg) ||
          matched->slots[4]->integer != other->slots[by]->integer)
        continue;
    }
    lower_halves_.emplace(*high, low);
    is_lower_.insert(low);
  }
}

void Values::find_fills(const sass::Module& module, const sass::Function& f, const std::vector<bool>& ends) {
  constexpr uint32_t kFar = 256;
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    const std::optional<uint32_t> number = number_of(f.body[i]);
    if (!number) continue;
    const std::vector<uint32_t> filled = sass::results_of(module, f.body[i]);
    const auto has = [&](const std::vector<uint32_t>& all) {
      return std::any_of(filled.begin(), filled.end(),
                         [&](uint32_t r) { return std::find(all.begin(), all.end(), r) != all.end(); });
    };
    for (uint32_t k = i + 1; !ends[k - 1] && k < f.body.size() && k < i + kFar; ++k) {
      const sass::Registers of = sass::registers_of(module, f.body[k]);
      if (!of.known || has(of.reads)) break;
      if (!has(of.writes)) continue;
      const bool all = std::all_of(filled.begin(), filled.end(), [&](uint32_t r) {
        return std::find(of.writes.begin(), of.writes.end(), r) != of.writes.end();
      });
      if (!all || filled.empty() || !f.body[k].guard || !f.body[k].is(sass::Opcode::kLDG)) break;
      is_fill_.insert(i);
      for (const uint32_t r : filled) fills_[k].emplace(r, *number);
      break;
    }
  }
}

}  // namespace triton_runner::simt
