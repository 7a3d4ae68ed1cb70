// Tells what check="overflow" has to know of PTX: which instructions compute integers, and how wide they are.
#include <triton_runner/ptx/opcode.h>

#include "front/ptx/listing.h"

namespace triton_runner::simt {
namespace {

using ptx::Mod;
using ptx::Opcode;
namespace m = machine;

// As arith.cmpi numbers them.
std::optional<int> predicate_of(const ptx::Instruction& in, bool is_signed) {
  constexpr std::pair<Mod, int> kSigned[] = {{Mod::kEq, 0}, {Mod::kNe, 1}, {Mod::kLt, 2},
                                             {Mod::kLe, 3}, {Mod::kGt, 4}, {Mod::kGe, 5}};
  constexpr std::pair<Mod, int> kUnsigned[] = {{Mod::kLo, 6}, {Mod::kLs, 7}, {Mod::kHi, 8}, {Mod::kHs, 9}};
  for (const auto& [mod, predicate] : kUnsigned)
    if (in.has(mod)) return predicate;
  for (const auto& [mod, predicate] : kSigned)
    if (in.has(mod)) return predicate < 2 || is_signed ? predicate : predicate + 4;
  return {};
}

Exact conversion_of(const ptx::Instruction& in) {
  const Mod to = in.type(0), from = in.type(1);
  if (from == Mod::kNone || ptx::is_float(to) || ptx::is_float(from) || in.has(Mod::kSat)) return {};
  const int wide = ptx::bits(to), narrow = ptx::bits(from);
  if (wide < narrow || narrow < 16) return {};
  Exact e{ptx::is_signed(from) || wide == narrow ? m::exact_extend : m::exact_extendu};
  e.widths = {static_cast<uint8_t>(narrow)}, e.width = static_cast<uint8_t>(wide);
  return e;
}

m::ExactFn product_of(const ptx::Instruction& in, bool is_signed) {
  if (in.has(Mod::kHi)) return nullptr;
  for (size_t i = 1; i < 3; ++i)
    if (const ptx::Operand& o = in.operands[i];
        o.kind == ptx::OperandKind::kInteger && m::is_hash_factor(o.integer))
      return nullptr;
  return in.has(Mod::kWide) && !is_signed ? m::exact_mulu : m::exact_mul;
}

struct Rule {
  Opcode opcode;
  m::ExactFn rule;
  bool only_signed = false;
};
constexpr Rule kRules[] = {
    {Opcode::kAdd, m::exact_add},        {Opcode::kSub, m::exact_sub},
    {Opcode::kNeg, m::exact_neg},        {Opcode::kShl, m::exact_shl},
    {Opcode::kShr, m::exact_shrs, true}, {Opcode::kDiv, m::exact_divs, true},
    {Opcode::kRem, m::exact_rems, true}, {Opcode::kMin, m::exact_mins, true},
    {Opcode::kMax, m::exact_maxs, true}, {Opcode::kAnd, m::exact_and},
    {Opcode::kOr, m::exact_or},          {Opcode::kXor, m::exact_xor},
    {Opcode::kNot, m::exact_xor},        {Opcode::kMov, m::exact_extend},
    {Opcode::kCvta, m::exact_extend},    {Opcode::kSelp, m::exact_choose},
    {Opcode::kSetp, m::exact_compare},
};

m::ExactFn rule_of(const ptx::Instruction& in, bool is_signed) {
  if (in.opcode == Opcode::kMul || in.opcode == Opcode::kMad) return product_of(in, is_signed);
  for (const Rule& r : kRules)
    if (r.opcode == in.opcode) return is_signed || !r.only_signed ? r.rule : nullptr;
  return nullptr;
}

// By redux.sync.
m::ExactFn combined_by(const ptx::Instruction& in) {
  if (in.has(Mod::kAdd)) return m::exact_add;
  if (!ptx::is_signed(in.type(0))) return nullptr;
  return in.has(Mod::kMin) ? m::exact_mins : in.has(Mod::kMax) ? m::exact_maxs : nullptr;
}

Exact::Moves moves_of(const ptx::Instruction& in) {
  switch (in.opcode) {
    case Opcode::kLd:
      return Exact::Moves::kLoad;
    case Opcode::kSt:
      return in.has(Mod::kAsync) ? Exact::Moves::kNothing : Exact::Moves::kStore;
    case Opcode::kShfl:
      return Exact::Moves::kShuffle;
    case Opcode::kRedux:
      return combined_by(in) ? Exact::Moves::kCombine : Exact::Moves::kNothing;
    default:
      return Exact::Moves::kNothing;
  }
}

Exact without_constants(const ptx::Instruction& in) {
  Exact e;
  e.jumps = in.does(ptx::Effect::kJumps);
  e.moves = moves_of(in);
  if (e.moves == Exact::Moves::kCombine) e.rule = combined_by(in), e.widths = {32}, e.width = 32;
  if (e.moves != Exact::Moves::kNothing) return e;
  if (in.opcode == Opcode::kCvt) return conversion_of(in);
  const Mod type = in.opcode == Opcode::kCvta && in.type(0) == Mod::kNone ? Mod::kU64 : in.type(0);
  const bool is_predicate = type == Mod::kPred;
  const int width = is_predicate ? 1 : ptx::bits(type);
  if (ptx::is_float(type) || (width != 1 && width != 16 && width != 32 && width != 64)) return e;
  for (const ptx::Operand& o : in.operands)
    if (o.kind == ptx::OperandKind::kVector) return e;
  const bool is_signed = ptx::is_signed(type);
  if (in.has(Mod::kSat) || in.has(Mod::kCc)) return e;
  e.rule = rule_of(in, is_signed);
  const auto own = static_cast<uint8_t>(width);
  e.widths = {own, own, own};
  e.width = in.has(Mod::kWide) ? static_cast<uint8_t>(2 * own) : own;
  if (in.opcode == Opcode::kMad) e.then = m::exact_add, e.widths[2] = e.width;
  if (in.opcode == Opcode::kShl || in.opcode == Opcode::kShr) e.widths[1] = 32;
  if (in.opcode == Opcode::kSelp) e.widths[2] = 1;
  if (in.opcode == Opcode::kSetp) {
    const auto predicate = predicate_of(in, is_signed);
    if (!predicate || in.operands.size() != 3) return Exact{};
    e.predicate = *predicate;
    e.width = 1;
  }
  return e;
}

}  // namespace

Exact exact_of(const ptx::Instruction& in) {
  Exact e = without_constants(in);
  for (size_t i = 0; e.rule && i < e.surplus.size() && i + 1 < in.operands.size(); ++i)
    if (const ptx::Operand& o = in.operands[i + 1]; o.kind == ptx::OperandKind::kInteger)
      e.surplus[i] = m::surplus_of(static_cast<uint64_t>(o.integer), e.widths[i]);
  return e;
}

}  // namespace triton_runner::simt
