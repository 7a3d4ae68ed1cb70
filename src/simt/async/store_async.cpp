// st.async and red.async: stores to, and updates of, the cluster's shared memory, whose bytes an mbarrier
// beside them counts. They happen when somebody waits. PTX ISA 9.7.9.12, 9.7.13.7.
#include "async/store_async.h"

#include <cstring>

#include "ptx/addresses.h"
#include "async/mbarrier.h"
#include "ptx/atomics.h"
#include "check/check.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

namespace {

struct Plan {
  AddressPlace address, barrier;
  uint32_t element = 0;  // bytes
  std::vector<uint32_t> values;
  Update update = nullptr;  // null: a store
  uint32_t bytes() const { return element * static_cast<uint32_t>(values.size()); }
};

struct Stores : AsyncOp {
  struct One {
    std::byte* at;
    std::array<uint64_t, 4> values;
    uint32_t barrier, lane;
  };
  Cta* cta;
  const Instr* in;
  const Plan* plan;
  uint32_t first;
  std::vector<One> all;
  void complete(Cluster&) override {
    if (cta->alive_count == 0 && cta->cluster->ctas.size() == 1) return;
    Exec x = late_exec(*cta);
    x.first = first;
    for (const One& one : all) {
      for (size_t e = 0; e < plan->values.size(); e++) {
        std::byte* at = one.at + e * plan->element;
        if (plan->update)
          plan->update(at, one.values[e], 0);
        else
          std::memcpy(at, &one.values[e], plan->element);
      }
      if (x.worker->checks) {
        const Cta& owner = *cta->cluster->cta_of(one.barrier);
        x.worker->checks->landed(x, *in, owner, static_cast<uint32_t>(one.at - owner.shared), plan->bytes(),
                                 one.barrier);
      }
      if (!mbarrier_complete_tx(x, *in, one.lane, one.barrier, plan->bytes())) return;
    }
  }
};

void run_stores(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const Plan*>(in.data);
  auto op = std::make_unique<Stores>();
  op->cta = x.cta;
  op->in = &instr_of(in);
  op->plan = &plan;
  op->first = x.first;
  const bool ok = for_each_lane(x, [&](uint32_t i) {
    const uint32_t address = plan.address.shared_at(x, in, i), barrier = plan.barrier.shared_at(x, in, i);
    if (address == kNoRegister || barrier == kNoRegister) return false;
    if (address % plan.bytes() != 0) {
      x.trap(in, exec::TrapKind::kMisaligned,
             "the address is not aligned to " + std::to_string(plan.bytes()) + " bytes", i,
             kSharedWindow | address, plan.bytes());
      return false;
    }
    Stores::One one{x.shared(in, i, address, plan.bytes(), true), {}, barrier, i};
    if (!one.at || !mbarrier_valid(x, in, i, barrier)) return false;
    if (x.cta->cluster->cta_of(address) != x.cta->cluster->cta_of(barrier)) {
      x.trap(in, exec::TrapKind::kInvalid, "its mbarrier lies in another block than the memory", i,
             kSharedWindow | address, plan.bytes());
      return false;
    }
    for (size_t e = 0; e < plan.values.size(); e++)
      one.values[e] =
          plan.element == 4 ? x.reg<uint32_t>(plan.values[e])[i] : x.reg<uint64_t>(plan.values[e])[i];
    op->all.push_back(one);
    return true;
  });
  if (ok) x.cta->cluster->issue(std::move(op));
}

// [address], value, [mbarrier]
bool lower(Lowering& l, const ptx::Instruction& in, Update update) {
  const Mod type = in.type(0);
  Plan plan;
  plan.update = update;
  plan.element = static_cast<uint32_t>(ptx::bits(type)) / 8;
  plan.address.generic = plan.barrier.generic = !in.has(Mod::kSharedCluster);
  if (in.operands.size() != 3 || (plan.element != 4 && plan.element != 8))
    return l.error(in, "this form is not executed", {"executed is: [address], value, [mbarrier]"});
  if (!address_place(l, in.operands[0], &plan.address) || !address_place(l, in.operands[2], &plan.barrier))
    return false;
  const ptx::Operand& value = in.operands[1];
  if (value.kind == OperandKind::kVector) {
    for (const ptx::Operand& part : value.parts) plan.values.push_back(l.place(part, type));
  } else {
    plan.values.push_back(l.place(value, type));
  }
  if (plan.values.size() > 4 || plan.values.empty())
    return l.error(value.offset, "a vector of " + std::to_string(plan.values.size()) + " elements");
  l.emit(run_stores).data = l.code.keep(plan);
  return true;
}

}  // namespace

bool lower_store_async(Lowering& l, const ptx::Instruction& in) { return lower(l, in, nullptr); }

bool lower_red_async(Lowering& l, const ptx::Instruction& in) {
  const Updates updates = find_update(operation_of(in), in.type(0));
  if (!in.has(Mod::kMbarrierCompleteTxBytes) || !updates.shared)
    return l.error(in, "this form of red.async is not executed",
                   {"executed is red.async with .mbarrier::complete_tx::bytes"});
  return lower(l, in, updates.shared);
}

}  // namespace triton_runner::simt
