// Lowers cp.async.bulk and cp.reduce.async.bulk on plain memory, and the bulk groups. See PTX ISA 9.7.9.25.4.
// The forms with a tensor map are in tma.cpp, cp.async without .bulk is in copy.cpp.
#include "async/bulk.h"

#include "front/ptx/addresses.h"
#include "front/ptx/async.h"
#include "front/ptx/atomics.h"
#include "ops/barrier.h"

namespace triton_runner::simt {

using ptx::Mod;

bool lower_bulk(Lowering& l, const ptx::Instruction& in) {
  if (in.has(Mod::kTensor)) return lower_bulk_tensor(l, in);
  if (in.has(Mod::kCommitGroup)) return l.emit<run_bulk_commit>();
  if (in.has(Mod::kWaitGroup)) return lower_wait(l, in, handler<run_bulk_wait>);
  if (in.has(Mod::kPrefetch)) return l.emit(nothing, {});
  if (in.has(Mod::kIgnoreOob)) return l.fail(in, "cp.async.bulk with .ignore_oob is not executed");
  BulkPlan plan;
  // The spaces stand in the order destination, source.
  std::vector<Mod> spaces;
  for (Mod m : in.mods)
    if (is_shared(m) || m == Mod::kGlobal) spaces.push_back(m);
  if (spaces.size() != 2 || in.operands.size() < 3)
    return l.fail(in, "needs the state spaces of destination and source, their addresses and a size");
  plan.from_shared = is_shared(spaces[1]);
  if (!address_place(l, in.operands[0], &plan.to) || !address_place(l, in.operands[1], &plan.from))
    return false;
  plan.size = l.place(in.operands[2], Mod::kU32);
  if (in.has(Mod::kReduce)) {
    const Mod type = in.type(0), operation = operation_of(in);
    const Updates updates = find_update(operation, type);
    plan.element = static_cast<uint32_t>(ptx::bits(type)) / 8;
    plan.update = is_shared(spaces[0]) ? updates.shared : updates.global;
    if (!plan.update)
      return l.fail(in, "." + std::string(ptx::text(operation)) + " does not exist for ." +
                            std::string(ptx::text(type)));
  }
  if (is_shared(spaces[0])) {
    if (in.operands.size() < 4 || !address_place(l, in.operands[3], &plan.barrier)) return false;
    if (in.has(Mod::kMulticastCluster)) {
      if (in.operands.size() < 5) return l.fail(in, ".multicast::cluster needs a mask of blocks");
      plan.cta_mask = l.place(in.operands[4], Mod::kB16);
    }
    return l.emit<run_bulk_load>(plan);
  }
  if (in.has(Mod::kCpMask)) plan.byte_mask = l.place(in.operands.back(), Mod::kB16);
  return l.emit<run_bulk_store>(plan);
}

}  // namespace triton_runner::simt
