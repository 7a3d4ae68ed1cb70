// Executes st.async and red.async: the elements are stored, and counted by the mbarrier, when somebody waits.
#include "async/store_async.h"

#include <cstring>

#include "async/mbarrier.h"
#include "check/check.h"
#include "state/refuse.h"

namespace triton_runner::simt {

namespace {

struct Stores : AsyncOp {
  using AsyncOp::AsyncOp;
  std::string text() const override {
    return std::to_string(all.size()) + " stores of " + std::to_string(plan->bytes()) +
           " bytes to shared memory, of which " +
           (all.empty() ? "nobody" : "the mbarrier at " + shared_text(all[0].barrier)) + " is told";
  }
  struct One {
    std::byte* at;
    std::array<uint64_t, 4> values;
    uint32_t barrier, lane;
  };
  const StoreAsyncPlan* plan;
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
        x.worker->checks->landed(x, *instr, owner, static_cast<uint32_t>(one.at - owner.shared),
                                 plan->bytes(), one.barrier, 0);
      }
      if (!mbarrier_complete_tx(x, *instr, one.lane, one.barrier, plan->bytes())) return;
    }
  }
};

}  // namespace

void run_store_async(Exec& x, const Operands& in, const StoreAsyncPlan& plan) {
  auto op = std::make_unique<Stores>(x, in);
  op->plan = &plan;
  op->first = x.first;
  const bool ok = for_each_lane(x, [&](uint32_t i) {
    const uint32_t address = plan.address.shared_at(x, in, i), barrier = plan.barrier.shared_at(x, in, i);
    if (address == kNoRegister || barrier == kNoRegister) return false;
    if (address % plan.bytes() != 0)
      return refuse(x, in, exec::TrapKind::kMisaligned,
                    "the address is not aligned to " + std::to_string(plan.bytes()) + " bytes", i,
                    kSharedWindow | address, plan.bytes());
    Stores::One one{x.shared(in, i, address, plan.bytes(), true), {}, barrier, i};
    if (!one.at || !mbarrier_valid(x, in, i, barrier)) return false;
    if (x.cta->cluster->cta_of(address) != x.cta->cluster->cta_of(barrier))
      return refuse(x, in, exec::TrapKind::kInvalid, "its mbarrier lies in another block than the memory", i,
                    kSharedWindow | address, plan.bytes());
    for (size_t e = 0; e < plan.values.size(); e++)
      one.values[e] =
          plan.element == 4 ? x.reg<uint32_t>(plan.values[e])[i] : x.reg<uint64_t>(plan.values[e])[i];
    op->all.push_back(one);
    return true;
  });
  if (ok) x.cta->cluster->issue(std::move(op));
}

}  // namespace triton_runner::simt
