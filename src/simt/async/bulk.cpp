// cp.async.bulk and cp.reduce.async.bulk on plain memory, and the bulk groups. PTX ISA 9.7.9.25.4.
//
// Addresses and barriers are checked when a copy is issued; the bytes move when somebody waits for them.
#include "async/bulk.h"

#include <algorithm>
#include <cstring>

#include "ptx/addresses.h"
#include "async/mbarrier.h"
#include "ptx/atomics.h"
#include "check/check.h"
#include "ptx/lower.h"

namespace triton_runner::simt {

using ptx::Mod;

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

struct Plan {
  AddressPlace to, from, barrier;
  uint32_t size = kNoRegister;       // .u32
  uint32_t cta_mask = kNoRegister;   // .b16: copies to these blocks
  uint32_t byte_mask = kNoRegister;  // .b16: bytes of every 16 that are written
  Update update = nullptr;           // reductions
  uint32_t element = 1;              // bytes
  bool from_shared = false;
};

// Combines or copies `bytes` bytes.
void apply(const Plan& plan, std::byte* to, const std::byte* from, uint32_t bytes, uint32_t byte_mask) {
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
  const Plan* plan;
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
  const Plan* plan;
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

void run_load(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const Plan*>(in.data);
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

void run_store(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const Plan*>(in.data);
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

void run_commit(Lanes& lanes, const Operands&) {
  Exec& x = exec_of(lanes);
  BulkGroups& groups = x.cta->part<BulkGroups>(Cta::kBulk);
  uint32_t* n = groups.commits.data() + x.first;
  for (uint32_t i = 0; i < x.count; i++) n[i] += x.on(i) ? 1 : 0;
}

// small: groups that may stay. What waits for reads only sees the writes too.
void run_wait(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  BulkGroups& groups = x.cta->part<BulkGroups>(Cta::kBulk);
  if (groups.stores.empty() && groups.made.empty()) return;
  Cluster& cluster = *x.cta->cluster;
  auto waited = [&](const auto& s) {
    const bool ours = s.thread >= x.first && s.thread < x.first + x.count && x.on(s.thread - x.first);
    return ours && s.group + uint64_t{in.small} < groups.commits[s.thread];
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

void run_nothing(Lanes&, const Operands&) {}

bool shared_space(Mod m) { return m == Mod::kShared || m == Mod::kSharedCta || m == Mod::kSharedCluster; }

}  // namespace

bool lower_bulk(Lowering& l, const ptx::Instruction& in) {
  if (in.has(Mod::kTensor)) return lower_bulk_tensor(l, in);
  if (in.has(Mod::kCommitGroup)) return l.emit(run_commit), true;
  if (in.has(Mod::kWaitGroup)) {
    int64_t n = 0;
    if (in.operands.size() != 1 || !l.integer(in.operands[0], &n)) return false;
    l.emit(run_wait).small = static_cast<uint32_t>(n);
    return true;
  }
  if (in.has(Mod::kPrefetch)) return l.emit(run_nothing), true;
  if (in.has(Mod::kIgnoreOob)) return l.error(in, "cp.async.bulk with .ignore_oob is not executed");
  Plan plan;
  // The spaces stand in the order destination, source.
  std::vector<Mod> spaces;
  for (Mod m : in.mods)
    if (shared_space(m) || m == Mod::kGlobal) spaces.push_back(m);
  if (spaces.size() != 2 || in.operands.size() < 3)
    return l.error(in, "needs the state spaces of destination and source, their addresses and a size");
  plan.from_shared = shared_space(spaces[1]);
  if (!address_place(l, in.operands[0], &plan.to) || !address_place(l, in.operands[1], &plan.from))
    return false;
  plan.size = l.place(in.operands[2], Mod::kU32);
  if (in.has(Mod::kReduce)) {
    const Mod type = in.type(0), operation = operation_of(in);
    const Updates updates = find_update(operation, type);
    plan.element = static_cast<uint32_t>(ptx::bits(type)) / 8;
    plan.update = shared_space(spaces[0]) ? updates.shared : updates.global;
    if (!plan.update)
      return l.error(in, "." + std::string(ptx::text(operation)) + " does not exist for ." +
                             std::string(ptx::text(type)));
  }
  if (shared_space(spaces[0])) {
    if (in.operands.size() < 4 || !address_place(l, in.operands[3], &plan.barrier)) return false;
    if (in.has(Mod::kMulticastCluster)) {
      if (in.operands.size() < 5) return l.error(in, ".multicast::cluster needs a mask of blocks");
      plan.cta_mask = l.place(in.operands[4], Mod::kB16);
    }
    l.emit(run_load).data = l.code.keep(plan);
    return true;
  }
  if (in.has(Mod::kCpMask)) plan.byte_mask = l.place(in.operands.back(), Mod::kB16);
  l.emit(run_store).data = l.code.keep(plan);
  return true;
}

}  // namespace triton_runner::simt
