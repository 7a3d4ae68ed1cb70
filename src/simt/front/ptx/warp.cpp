// Lowers shfl, vote, match, redux, elect, activemask. See PTX ISA 9.7.9.6, 9.7.13.9 to 9.7.13.14.
#include "ops/warp.h"

#include "front/ptx/lower.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

namespace {

// d|p of a pair, or d alone; kNoRegister where it is a sink or there is none.
struct Results {
  uint32_t d = kNoRegister, p = kNoRegister;
};
Results results_of(Lowering& l, const ptx::Operand& operand) {
  if (operand.kind != OperandKind::kPair) return {l.reg(operand), kNoRegister};
  return {l.reg(operand.parts[0]), l.reg(operand.parts[1])};
}

bool lower_shfl(Lowering& l, const ptx::Instruction& in) {
  if (in.operands.size() != 5)
    return l.fail(in, "shfl needs five operands: d|p, a, b, c, membermask",
                  {"shfl without .sync and its membermask was removed in PTX ISA 6.4 for sm_70 and later"});
  const Results r = results_of(l, in.operands[0]);
  const uint32_t a = l.place(in.operands[1], Mod::kB32);
  const uint32_t members = l.place(in.operands[4], Mod::kB32);
  const ShuffleKind kind = in.has(Mod::kUp)     ? ShuffleKind::kUp
                           : in.has(Mod::kDown) ? ShuffleKind::kDown
                           : in.has(Mod::kBfly) ? ShuffleKind::kBfly
                                                : ShuffleKind::kIdx;
  const ptx::Operand &b = in.operands[2], &c = in.operands[3];
  const bool constant = b.kind == OperandKind::kInteger && c.kind == OperandKind::kInteger;
  const uint32_t b_place = constant ? kNoRegister : l.place(b, Mod::kB32);
  const uint32_t c_place = constant ? kNoRegister : l.place(c, Mod::kB32);
  Instr& i = l.emit(nullptr);
  i.d = r.d, i.e = r.p, i.a = a, i.b = b_place, i.c = c_place;
  i.imm = members;
  auto value = [&](const ptx::Operand& o) {
    return constant ? std::optional(static_cast<uint32_t>(o.integer)) : std::nullopt;
  };
  set_shuffle(i, l.code, kind, value(b), value(c));
  return true;
}

bool lower_vote(Lowering& l, const ptx::Instruction& in) {
  if (in.operands.size() != 3)
    return l.fail(in, "vote needs three operands: d, a, membermask",
                  {"vote without .sync and its membermask was removed in PTX ISA 6.4 for sm_70 and later"});
  ptx::Operand a = in.operands[1];
  const bool negated = a.negated;
  a.negated = false;
  const uint32_t d = l.reg(in.operands[0]), p = l.place(a, Mod::kPred), flip = negated ? 1 : 0;
  const uint32_t members = l.place(in.operands[2], Mod::kB32);
  if (d == kNoRegister) return true;
  const Vote kind = in.has(Mod::kAll)   ? Vote::kAll
                    : in.has(Mod::kAny) ? Vote::kAny
                    : in.has(Mod::kUni) ? Vote::kUni
                                        : Vote::kBallot;
  return l.emit<run_vote>({.d = d, .a = p, .b = members, .c = flip, .small = static_cast<uint32_t>(kind)});
}

bool lower_match(Lowering& l, const ptx::Instruction& in) {
  const Mod type = in.type(0);
  const bool wide = type == Mod::kB64, all = in.has(Mod::kAll);
  const Results r = results_of(l, in.operands[0]);
  const uint32_t a = l.place(in.operands[1], type), members = l.place(in.operands[2], Mod::kB32);
  if (r.d == kNoRegister && !all) return true;
  return l.emit(match_handler(all, wide), {.d = r.d, .a = a, .b = members, .e = r.p});
}

bool lower_redux(Lowering& l, const ptx::Instruction& in) {
  const Mod type = in.type(0);
  const bool is_signed = type == Mod::kS32, is_float = type == Mod::kF32;
  const Redux op = in.has(Mod::kAdd)   ? Redux::kAdd
                   : in.has(Mod::kAnd) ? Redux::kAnd
                   : in.has(Mod::kOr)  ? Redux::kOr
                   : in.has(Mod::kXor) ? Redux::kXor
                   : in.has(Mod::kMin) ? is_float    ? Redux::kMinF
                                         : is_signed ? Redux::kMinS
                                                     : Redux::kMinU
                   : is_float          ? Redux::kMaxF
                   : is_signed         ? Redux::kMaxS
                                       : Redux::kMaxU;
  const uint32_t d = l.reg(in.operands[0]), a = l.place(in.operands[1], type);
  const uint32_t members = l.place(in.operands[2], Mod::kB32);
  if (d == kNoRegister) return true;
  const uint32_t how = (in.has(Mod::kAbs) ? kReduxAbs : 0) | (in.has(Mod::kNaN) ? kReduxNan : 0);
  return l.emit(redux_handler(op), {.d = d, .a = a, .b = members, .small = how});
}

}  // namespace

bool lower_warp(Lowering& l, const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::kShfl:
      return lower_shfl(l, in);
    case ptx::Opcode::kVote:
      return lower_vote(l, in);
    case ptx::Opcode::kMatch:
      return lower_match(l, in);
    case ptx::Opcode::kRedux:
      return lower_redux(l, in);
    case ptx::Opcode::kActivemask: {
      const uint32_t d = l.reg(in.operands[0]);
      return d == kNoRegister || l.emit<run_activemask>({.d = d});
    }
    case ptx::Opcode::kElect: {
      const Results r = results_of(l, in.operands[0]);
      const uint32_t members = l.place(in.operands[1], Mod::kB32);
      return l.emit<run_elect>({.d = r.d, .b = members, .e = r.p});
    }
    default:
      return l.fail(in, "not an instruction of a warp");
  }
}

}  // namespace triton_runner::simt
