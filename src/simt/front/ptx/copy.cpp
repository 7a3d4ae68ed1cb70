// Lowers cp.async and its groups, and hands the other forms of cp to bulk.cpp and tma.cpp. See PTX ISA
// 9.7.9.25.3, 9.7.13.15.17.
#include "async/copy.h"

#include <algorithm>

#include "front/ptx/addresses.h"
#include "front/ptx/async.h"

namespace triton_runner::simt {

using ptx::Mod;

namespace {

bool lower_copy(Lowering& l, const ptx::Instruction& in) {
  CopyPlan plan;
  int64_t bytes = 0;
  if (in.operands.size() < 3 || !address_place(l, in.operands[0], &plan.to) ||
      !address_place(l, in.operands[1], &plan.from) || !l.integer(in.operands[2], &bytes))
    return false;
  const bool allowed = in.has(Mod::kCg) ? bytes == 16 : bytes == 4 || bytes == 8 || bytes == 16;
  if (!allowed)
    return l.fail(in.operands[2].offset,
                  "cp-size is " + std::to_string(bytes) +
                      (in.has(Mod::kCg) ? ": .cg copies 16 bytes" : ": 4, 8 and 16 bytes can be copied"));
  plan.bytes = static_cast<uint32_t>(bytes);
  // These follow: src-size or the predicate ignore-src, then a cache policy.
  const size_t policy = in.has(Mod::kL2CacheHint) ? 1 : 0;
  if (in.operands.size() > 3 + policy) {
    const ptx::Operand& extra = in.operands[3];
    const bool is_predicate =
        extra.kind == ptx::OperandKind::kRegister && l.declared(extra).type == Mod::kPred;
    (is_predicate ? plan.ignore : plan.from_bytes) = l.place(extra, is_predicate ? Mod::kPred : Mod::kU32);
  }
  return l.emit<run_copy>(plan);
}

}  // namespace

bool lower_wait(Lowering& l, const ptx::Instruction& in, Handler wait) {
  int64_t n = 0;
  if (in.operands.size() != 1 || !l.integer(in.operands[0], &n)) return false;
  return l.emit(wait, {.small = static_cast<uint32_t>(std::clamp<int64_t>(n, 0, UINT32_MAX))});
}

bool lower_cp(Lowering& l, const ptx::Instruction& in) {
  if (in.has(Mod::kBulk)) return lower_bulk(l, in);
  if (in.has(Mod::kCommitGroup)) return l.emit<run_copy_commit>();
  if (in.has(Mod::kWaitAll)) return l.emit<run_copy_wait_all>();
  if (in.has(Mod::kWaitGroup)) return lower_wait(l, in, handler<run_copy_wait>);
  if (in.has(Mod::kMbarrier) || in.has(Mod::kArrive)) {
    AddressPlace address;
    address.generic = !in.has(Mod::kShared) && !in.has(Mod::kSharedCta);
    if (in.operands.size() != 1 || !address_place(l, in.operands[0], &address)) return false;
    return l.emit(handler<run_copy_arrive>, {.small = in.has(Mod::kNoinc)}, address);
  }
  return lower_copy(l, in);
}

}  // namespace triton_runner::simt
