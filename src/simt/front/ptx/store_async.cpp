// Lowers st.async and red.async. See PTX ISA 9.7.9.12, 9.7.13.7.
#include "async/store_async.h"

#include "front/ptx/addresses.h"
#include "front/ptx/async.h"
#include "front/ptx/atomics.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

namespace {

// [address], value, [mbarrier]
bool lower(Lowering& l, const ptx::Instruction& in, Update update) {
  const Mod type = in.type(0);
  StoreAsyncPlan plan;
  plan.update = update;
  plan.element = static_cast<uint32_t>(ptx::bits(type)) / 8;
  plan.address.generic = plan.barrier.generic = !in.has(Mod::kSharedCluster);
  if (in.operands.size() != 3 || (plan.element != 4 && plan.element != 8))
    return l.fail(in, "this form is not executed", {"executed is: [address], value, [mbarrier]"});
  if (!address_place(l, in.operands[0], &plan.address) || !address_place(l, in.operands[2], &plan.barrier))
    return false;
  const ptx::Operand& value = in.operands[1];
  for (const ptx::Operand& part : parts_of(value)) plan.values.push_back(l.place(part, type));
  if (plan.values.size() > 4 || plan.values.empty())
    return l.fail(value.offset, "a vector of " + std::to_string(plan.values.size()) + " elements");
  return l.emit<run_store_async>(plan);
}

}  // namespace

bool lower_store_async(Lowering& l, const ptx::Instruction& in) { return lower(l, in, nullptr); }

bool lower_red_async(Lowering& l, const ptx::Instruction& in) {
  const Updates updates = find_update(operation_of(in), in.type(0));
  if (!in.has(Mod::kMbarrierCompleteTxBytes) || !updates.shared)
    return l.fail(in, "this form of red.async is not executed",
                  {"executed is red.async with .mbarrier::complete_tx::bytes"});
  return lower(l, in, updates.shared);
}

}  // namespace triton_runner::simt
