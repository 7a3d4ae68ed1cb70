// Lowers atom and red on global and shared memory. See PTX ISA 9.7.13.5, 9.7.13.6. red.async is in
// store_async.cpp.
#include "front/ptx/atomics.h"

#include <algorithm>

#include <triton_runner/base/look_up.h>

#include "front/ptx/addresses.h"
#include "front/ptx/async.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

namespace {

constexpr std::pair<Mod, AtomicOp> kOperations[] = {
    {Mod::kAdd, AtomicOp::kAdd}, {Mod::kMin, AtomicOp::kMin}, {Mod::kMax, AtomicOp::kMax},
    {Mod::kInc, AtomicOp::kInc}, {Mod::kDec, AtomicOp::kDec}, {Mod::kAnd, AtomicOp::kAnd},
    {Mod::kOr, AtomicOp::kOr},   {Mod::kXor, AtomicOp::kXor}, {Mod::kExch, AtomicOp::kExch},
    {Mod::kCas, AtomicOp::kCas},
};
constexpr std::pair<Mod, AtomicType> kTypes[] = {
    {Mod::kB16, AtomicType::kB16},   {Mod::kB32, AtomicType::kU32},       {Mod::kU32, AtomicType::kU32},
    {Mod::kS32, AtomicType::kS32},   {Mod::kB64, AtomicType::kU64},       {Mod::kU64, AtomicType::kU64},
    {Mod::kS64, AtomicType::kS64},   {Mod::kF16, AtomicType::kF16},       {Mod::kF16x2, AtomicType::kF16x2},
    {Mod::kBf16, AtomicType::kBf16}, {Mod::kBf16x2, AtomicType::kBf16x2}, {Mod::kF32, AtomicType::kF32},
    {Mod::kF64, AtomicType::kF64},
};

}  // namespace

Mod operation_of(const ptx::Instruction& in) {
  for (const auto& [mod, operation] : kOperations)
    if (in.has(mod)) return mod;
  return Mod::kNone;
}

AtomicOp atomic_op(Mod operation) { return base::look_up(kOperations, operation).value_or(AtomicOp::kNone); }

Updates find_update(Mod operation, Mod type) {
  const auto element = base::look_up(kTypes, type);
  return element ? machine::find_update(atomic_op(operation), *element) : Updates{};
}

bool lower_atomic(Lowering& l, const ptx::Instruction& in) {
  if (in.has(Mod::kAsync)) return lower_red_async(l, in);
  const bool has_result = in.opcode == ptx::Opcode::kAtom;
  const Mod type = in.type(0), operation = operation_of(in);
  const size_t at = has_result ? 1 : 0;
  if (in.operands.size() < at + 2) return l.fail(in, "needs an address and a value");
  AtomicPlan plan;
  plan.where = in.has(Mod::kGlobal) ? Space::kGlobal : is_in_shared(in) ? Space::kShared : Space::kGeneric;
  plan.bytes = static_cast<uint32_t>(ptx::bits(type)) / 8;
  const bool wide = type == Mod::kB128;
  plan.updates = find_update(operation, type);
  if (wide ? operation != Mod::kExch && operation != Mod::kCas : !plan.updates.global)
    return l.fail(
        in, "." + std::string(ptx::text(operation)) + " does not exist for ." + std::string(ptx::text(type)));
  if (!address_place(l, in.operands[at], &plan.address)) return false;
  const ptx::Operand& value = in.operands[at + 1];
  const auto values = parts_of(value);
  plan.n = static_cast<uint32_t>(values.size());
  if (plan.n < 1 || plan.n > 8 || (plan.n & (plan.n - 1)) != 0)
    return l.fail(value.offset, "a vector of " + std::to_string(plan.n) + " elements");
  for (uint32_t e = 0; e < plan.n; e++) plan.values[e] = l.place(values[e], type);
  std::fill_n(plan.results, 8, kNoRegister);
  if (has_result) {
    const ptx::Operand& result = in.operands[0];
    const auto results = parts_of(result);
    if (result.kind == OperandKind::kVector && results.size() != plan.n)
      return l.fail(result.offset, "as many results as values are needed");
    for (size_t e = 0; e < results.size(); e++) plan.results[e] = l.reg(results[e]);
  }
  if (operation == Mod::kCas) {
    if (in.operands.size() < at + 3) return l.fail(in, ".cas needs a value to compare with and a new one");
    plan.other = l.place(in.operands[at + 2], type);
  }
  return l.emit(atomic_handler(wide), {}, plan);
}

}  // namespace triton_runner::simt
