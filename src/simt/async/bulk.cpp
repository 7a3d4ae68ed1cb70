// Issues and makes bulk copies of plain memory, and keeps the bulk groups.
//
// Addresses and barriers are checked when a copy is issued; the bytes move when somebody waits for them.
#include "async/bulk.h"

#include <cstring>

#include "async/delivery.h"
#include "async/mbarrier.h"
#include "check/check.h"
#include "state/refuse.h"

namespace triton_runner::simt {

// The thread's number in the cluster.
static uint32_t agent_of(const Exec& x, uint32_t lane) {
  return x.cta->rank * x.code().threads + x.first + lane;
}

bool BulkStore::issue(Exec& x, const Operands& in, uint32_t lane, uint32_t from, uint32_t bytes,
                      std::unique_ptr<BulkStore> store) {
  Cluster& cluster = *x.cta->cluster;
  const uint32_t agent = agent_of(x, lane);
  store->at_ = x.shared(in, lane, from, bytes, false);
  if (!store->at_) return false;
  store->agent_ = agent;
  store->group_ = cluster.async.commits(agent);
  store->from_ = cluster.cta_of(from);
  store->offset_ = from & kOffsetMask;
  store->bytes_ = bytes;
  cluster.issue(std::move(store), agent);
  return true;
}

std::string BulkStore::text() const {
  return "store of " + std::to_string(bytes_) + " bytes from " + shared_text(offset_) + ", group " +
         std::to_string(group_) + " of its thread";
}

void BulkStore::complete(Cluster&) {
  write(at_ - offset_, offset_);
  Exec x = late_exec(*cta);
  if (Checks* checks = x.worker->checks; checks && from_)
    cta->part<BulkReads>(Cta::kBulk)
        .push_back({agent_, group_, checks->read_out(x, *instr, *from_, offset_, bytes_)});
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

struct Load : Delivery {
  using Delivery::Delivery;
  const BulkPlan* plan;
  const std::byte* from;
  uint32_t bytes;
  void write(std::byte* block, uint32_t offset) override {
    apply(*plan, block + offset, from, bytes, 0xffff);
  }
};

struct Store : BulkStore {
  using BulkStore::BulkStore;
  const BulkPlan* plan;
  std::byte* to;
  uint32_t bytes, byte_mask;
  void write(const std::byte* block, uint32_t offset) override {
    apply(*plan, to, block + offset, bytes, byte_mask);
  }
};

// Size and addresses are multiples of 16; false after a trap.
bool check(Exec& x, const Operands& in, uint32_t lane, uint64_t to, uint64_t from, uint32_t bytes) {
  if (bytes % 16 != 0)
    return refuse(x, in, exec::TrapKind::kInvalid,
                  "the size is " + std::to_string(bytes) + ", not a multiple of 16", lane);
  for (uint64_t address : {to, from}) {
    if (address % 16 == 0) continue;
    return refuse(x, in, exec::TrapKind::kMisaligned, "bulk copies want addresses aligned to 16 bytes", lane,
                  address, bytes);
  }
  return true;
}

}  // namespace

void run_bulk_load(Exec& x, const Operands& in, const BulkPlan& plan) {
  for (uint32_t i : x.lanes()) {
    const uint64_t from = plan.from.at(x, i);
    const uint32_t bytes = x.reg<uint32_t>(plan.size)[i];
    const uint32_t to = plan.to.shared_at(x, in, i), barrier = plan.barrier.shared_at(x, in, i);
    if (to == kNoRegister || barrier == kNoRegister || !check(x, in, i, to, from, bytes)) return;
    if (bytes == 0) continue;
    const bool many = plan.cta_mask != kNoRegister;
    if (!many && x.cta->cluster->cta_of(to) != x.cta->cluster->cta_of(barrier))
      return x.trap(in, exec::TrapKind::kInvalid, "its mbarrier lies in another block than the memory", i,
                    kSharedWindow | to, bytes);
    auto op = std::make_unique<Load>(x, in, i);
    op->plan = &plan;
    op->bytes = bytes;
    op->from = plan.from_shared ? x.shared(in, i, static_cast<uint32_t>(from), bytes, false)
                                : x.global(in, i, from, bytes, false);
    if (!op->from) return;
    std::optional<uint32_t> blocks;
    if (many) blocks = x.reg<uint16_t>(plan.cta_mask)[i];
    if (!op->add(x, to, barrier, bytes, bytes, blocks)) return;
    x.cta->cluster->issue(std::move(op));
  }
}

void run_bulk_store(Exec& x, const Operands& in, const BulkPlan& plan) {
  for (uint32_t i : x.lanes()) {
    const uint64_t to = plan.to.at(x, i);
    const uint32_t bytes = x.reg<uint32_t>(plan.size)[i];
    const uint32_t from = plan.from.shared_at(x, in, i);
    if (from == kNoRegister || !check(x, in, i, to, from, bytes)) return;
    if (bytes == 0) continue;
    auto op = std::make_unique<Store>(x, in);
    op->plan = &plan;
    op->to = x.global(in, i, to, bytes, true);
    if (!op->to) return;
    op->bytes = bytes;
    op->byte_mask = plan.byte_mask == kNoRegister ? 0xffff : x.reg<uint16_t>(plan.byte_mask)[i];
    if (!BulkStore::issue(x, in, i, from, bytes, std::move(op))) return;
  }
}

void run_bulk_commit(Exec& x, const Operands&) {
  for (uint32_t i : x.lanes()) x.cta->cluster->async.commit(agent_of(x, i));
}

// A wait for reads only sees the writes too.
void run_bulk_wait(Exec& x, const Operands& in) {
  Cluster& cluster = *x.cta->cluster;
  const uint32_t first = agent_of(x, 0);
  auto waited = [&](const auto& s) {
    const bool ours = s.agent >= first && s.agent < first + x.count && x.on(s.agent - first);
    return ours && machine::is_waited_for(s.group, in.small, cluster.async.commits(s.agent));
  };
  cluster.async.take(waited, [&](auto& op) { op->complete(cluster); });
  if (Checks* checks = x.worker->checks)
    std::erase_if(x.cta->part<BulkReads>(Cta::kBulk), [&](const BulkRead& read) {
      if (waited(read)) checks->saw_reads(x, read.agent - first, read.time);
      return waited(read);
    });
}

}  // namespace triton_runner::simt
