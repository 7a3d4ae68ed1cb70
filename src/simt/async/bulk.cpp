// Bulk copies of plain memory, and the bulk groups.
//
// Addresses and barriers are checked when a copy is issued; the bytes move when somebody waits for them.
#include "async/bulk.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/machine/copy_groups.h>

#include "async/mbarrier.h"
#include "check/check.h"

namespace triton_runner::simt {

void BulkStore::complete(Cluster&) {
  BulkGroups& groups = cta->part<BulkGroups>(Cta::kBulk);
  groups.forget(this);
  Exec x = late_exec(*cta);
  store(x);
  if (x.worker->checks) groups.made.push_back({thread, group, made});
}

void BulkGroups::begin(Cta& cta) {
  commits.assign(cta.code->threads, 0);
  stores.clear();
  made.clear();
}

void issue_store(Exec& x, const Operands& in, uint32_t lane, std::unique_ptr<BulkStore> store) {
  BulkGroups& groups = x.cta->part<BulkGroups>(Cta::kBulk);
  store->cta = x.cta;
  store->in = &instr_of(in);
  store->thread = x.first + lane;
  store->group = groups.commits[store->thread];
  groups.stores.push_back(store.get());
  x.cta->cluster->issue(std::move(store));
}

namespace {

// Combines or copies `bytes` bytes.
void apply(const BulkPlan& plan, std::byte* to, const std::byte* from, uint32_t bytes, uint32_t byte_mask) {
  if (plan.update) {
    for (uint32_t at = 0; at < bytes; at += plan.element) {
      uint64_t value = 0;
      std::memcpy(&value, from + at, plan.element);
      plan.update(to + at, value, 0);
    }
  } else if (byte_mask != 0xffff) {
    for (uint32_t at = 0; at < bytes; at++)
      if (byte_mask >> (at & 15) & 1) to[at] = from[at];
  } else {
    std::memmove(to, from, bytes);
  }
}

struct Load : AsyncOp {
  Cta* cta;
  const Instr* in;
  const BulkPlan* plan;
  uint32_t thread;
  const std::byte* from;
  uint32_t bytes;
  std::vector<std::pair<std::byte*, uint32_t>> to;  // with the mbarrier of each
  void complete(Cluster&) override {
    if (cta->alive_count == 0) return;
    Exec x = late_exec(*cta);
    for (const auto& [at, barrier] : to) {
      apply(*plan, at, from, bytes, 0xffff);
      if (Checks* checks = x.worker->checks) {
        const Cta& owner = *cta->cluster->cta_of(barrier);
        checks->landed(x, *in, owner, static_cast<uint32_t>(at - owner.shared), bytes, barrier);
      }
      if (!mbarrier_complete_tx(x, *in, thread, barrier, bytes)) return;
    }
  }
};

struct Store : BulkStore {
  const BulkPlan* plan;
  std::byte* to;
  const std::byte* from;
  uint32_t bytes, byte_mask;
  void store(Exec& x) override {
    apply(*plan, to, from, bytes, byte_mask);
    if (x.worker->checks)
      made = x.worker->checks->read_out(x, *in, *x.cta, static_cast<uint32_t>(from - x.cta->shared), bytes);
  }
};

// Size and addresses are multiples of 16; false after a trap.
bool check(Exec& x, const Operands& in, uint32_t lane, uint64_t to, uint64_t from, uint32_t bytes) {
  if (bytes % 16 != 0) {
    x.trap(in, exec::TrapKind::kInvalid, "the size is " + std::to_string(bytes) + ", not a multiple of 16",
           lane);
    return false;
  }
  for (uint64_t address : {to, from}) {
    if (address % 16 == 0) continue;
    x.trap(in, exec::TrapKind::kMisaligned, "bulk copies want addresses aligned to 16 bytes", lane, address,
           bytes);
    return false;
  }
  return true;
}

}  // namespace

void run_bulk_load(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const BulkPlan*>(in.data);
  for (uint32_t i = 0; i < x.count; i++) {
    if (!x.on(i)) continue;
    const uint64_t from = plan.from.at(x, i);
    const uint32_t bytes = x.reg<uint32_t>(plan.size)[i];
    const uint32_t to = plan.to.shared_at(x, in, i), barrier = plan.barrier.shared_at(x, in, i);
    if (to == kNoRegister || barrier == kNoRegister || !check(x, in, i, to, from, bytes)) return;
    if (bytes == 0) continue;
    auto op = std::make_unique<Load>();
    op->cta = x.cta;
    op->in = &instr_of(in);
    op->plan = &plan;
    op->thread = x.first + i;
    op->bytes = bytes;
    op->from = plan.from_shared ? x.shared(in, i, static_cast<uint32_t>(from), bytes, false)
                                : x.global(in, i, from, bytes, false);
    if (!op->from) return;
    const uint32_t blocks = plan.cta_mask == kNoRegister ? 0 : x.reg<uint16_t>(plan.cta_mask)[i];
    auto add = [&](uint32_t address, uint32_t signal) {
      std::byte* at = x.shared(in, i, address, bytes, true);
      if (!at || !mbarrier_valid(x, in, i, signal)) return false;
      if (x.cta->cluster->cta_of(address) != x.cta->cluster->cta_of(signal)) {
        x.trap(in, exec::TrapKind::kInvalid, "its mbarrier lies in another block than the memory", i,
               kSharedWindow | address, bytes);
        return false;
      }
      op->to.emplace_back(at, signal);
      return true;
    };
    if (plan.cta_mask == kNoRegister && !add(to, barrier)) return;
    for (uint32_t rank = 0; rank < 16; rank++)
      if ((blocks >> rank & 1) &&
          !add((to & kOffsetMask) | rank << kRankShift, (barrier & kOffsetMask) | rank << kRankShift))
        return;
    x.cta->cluster->issue(std::move(op));
  }
}

void run_bulk_store(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const BulkPlan*>(in.data);
  for (uint32_t i = 0; i < x.count; i++) {
    if (!x.on(i)) continue;
    const uint64_t to = plan.to.at(x, i);
    const uint32_t bytes = x.reg<uint32_t>(plan.size)[i];
    const uint32_t from = plan.from.shared_at(x, in, i);
    if (from == kNoRegister || !check(x, in, i, to, from, bytes)) return;
    if (bytes == 0) continue;
    auto op = std::make_unique<Store>();
    op->plan = &plan;
    op->to = x.global(in, i, to, bytes, true);
    if (!op->to) return;
    op->from = x.shared(in, i, from, bytes, false);
    if (!op->from) return;
    op->bytes = bytes;
    op->byte_mask = plan.byte_mask == kNoRegister ? 0xffff : x.reg<uint16_t>(plan.byte_mask)[i];
    issue_store(x, in, i, std::move(op));
  }
}

void run_bulk_commit(Lanes& lanes, const Operands&) {
  Exec& x = exec_of(lanes);
  BulkGroups& groups = x.cta->part<BulkGroups>(Cta::kBulk);
  uint32_t* n = groups.commits.data() + x.first;
  for (uint32_t i = 0; i < x.count; i++) n[i] += x.on(i) ? 1 : 0;
}

// What waits for reads only sees the writes too.
void run_bulk_wait(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  BulkGroups& groups = x.cta->part<BulkGroups>(Cta::kBulk);
  if (groups.stores.empty() && groups.made.empty()) return;
  Cluster& cluster = *x.cta->cluster;
  auto waited = [&](const auto& s) {
    const bool ours = s.thread >= x.first && s.thread < x.first + x.count && x.on(s.thread - x.first);
    return ours && machine::is_waited_for(s.group, in.small, groups.commits[s.thread]);
  };
  const std::vector<BulkStore*> stores = groups.stores;  // completing them takes them out
  for (const BulkStore* s : stores) {
    if (!waited(*s)) continue;
    auto it = std::find_if(cluster.pending.begin(), cluster.pending.end(),
                           [&](const auto& op) { return op.get() == s; });
    if (it == cluster.pending.end()) continue;
    std::unique_ptr<AsyncOp> op = std::move(*it);
    cluster.pending.erase(it);
    op->complete(cluster);
  }
  if (Checks* checks = x.worker->checks)
    std::erase_if(groups.made, [&](const BulkGroups::Made& m) {
      if (waited(m)) checks->saw_reads(x, m.thread - x.first, m.time);
      return waited(m);
    });
}

}  // namespace triton_runner::simt
