// Implements cp.async: copies that threads make by themselves, and their groups.
#include "async/copy.h"

#include <algorithm>
#include <cstring>

#include "async/mbarrier.h"
#include "check/check.h"
#include "state/refuse.h"

namespace triton_runner::simt {

namespace {

// All of n values are the same.
bool same(const uint32_t* values, uint32_t n) {
  uint32_t differ = 0;
  for (uint32_t i = 0; i < n; i++) differ |= values[i] ^ values[0];
  return differ == 0;
}

}  // namespace

bool CpAsync::are_same(uint32_t first, uint32_t count) const {
  return is_same_ || same(commits.data() + first, count);
}

void CpAsync::list(std::vector<std::pair<std::string, const Instr*>>& out) const {
  for (const Batch& b : batches_) {
    const size_t copies = b.each ? b.count : b.copies.size();
    if (copies == 0) continue;
    const uint32_t bytes = b.each ? b.each : b.copies[0].bytes;
    out.emplace_back("copy of " + std::to_string(bytes) + " bytes by each of " + std::to_string(copies) +
                         " threads to shared memory, group " + std::to_string(b.group),
                     b.in);
  }
}

void CpAsync::begin(Cta& cta) {
  while (!batches_.empty()) recycle(batches_.size() - 1);
  commits.assign(cta.code->threads, 0);
  is_same_ = true;
  next_ = 0;
}

CpAsync::Batch& CpAsync::add(uint32_t group) {
  Batch& b = spare_.add(batches_);
  b.each = 0;
  b.number = next_++;
  b.group = group;
  return b;
}

void CpAsync::recycle(size_t i) {
  batches_[i].copies.clear();
  spare_.put(std::move(batches_[i]));
  batches_.erase(batches_.begin() + static_cast<ptrdiff_t>(i));
}

void CpAsync::commit(const Lanes& threads) {
  uint32_t* n = commits.data() + threads.first;
  is_same_ = is_same_ && !threads.mask && threads.count == commits.size();
  if (!threads.mask) {
    for (uint32_t i = 0; i < threads.count; i++) n[i]++;
  } else {
    for (uint32_t i = 0; i < threads.count; i++) n[i] += threads.mask[i] != 0;
  }
}

namespace {

LANES_INLINE void make(const CpAsync::Copy& c) {
  if (c.from_bytes == c.bytes) {
    switch (c.bytes) {
      case 4:
        std::memcpy(c.to, c.from, 4);
        return;
      case 8:
        std::memcpy(c.to, c.from, 8);
        return;
      case 12:
        std::memcpy(c.to, c.from, 12);
        return;
      default:
        std::memcpy(c.to, c.from, 16);
        return;
    }
  }
  std::memset(c.to, 0, c.bytes);
  if (c.from_bytes) std::memcpy(c.to, c.from, c.from_bytes);
}

// The checks: the copies are there.
void tell(Exec& x, const CpAsync::Batch& batch, const CpAsync::Copy& c) {
  if (!x.worker->checks) return;
  x.worker->checks->copied(x, *batch.in, *x.cta, static_cast<uint32_t>(c.to - x.cta->shared), c.bytes,
                           c.thread, c.reading);
}
void tell(Exec& x, const CpAsync::Batch& batch) {
  if (!x.worker->checks) return;
  if (batch.each)
    x.worker->checks->copied_at_once(x, *batch.in, batch.to, batch.each, batch.first, batch.reading);
  for (const CpAsync::Copy& c : batch.copies) tell(x, batch, c);
}

}  // namespace

// A usual batch as single copies.
void CpAsync::expand(Exec& threads, Batch& batch) {
  if (batch.each == 0) return;
  for (uint32_t i = 0; i < batch.count; i++)
    batch.copies.push_back({threads.cta->shared + batch.to[i],
                            batch.zeros ? nullptr : reinterpret_cast<const std::byte*>(batch.from[i]),
                            static_cast<uint16_t>(batch.first + i), static_cast<uint8_t>(batch.each),
                            static_cast<uint8_t>(batch.zeros ? 0 : batch.each),
                            batch.reading_of(i, *threads.cta)});
  batch.each = 0;
}

namespace {

template <uint32_t kBytes>
void make_all(const CpAsync::Batch& batch, std::byte* shared) {
  const uint32_t* to = batch.to.data();
  const uint64_t* from = batch.from.data();
  if (batch.zeros) {
    for (uint32_t i = 0; i < batch.count; i++) std::memset(shared + to[i], 0, kBytes);
  } else {
    for (uint32_t i = 0; i < batch.count; i++)
      std::memcpy(shared + to[i], reinterpret_cast<const std::byte*>(from[i]), kBytes);
  }
}

void make_all(const CpAsync::Batch& batch, std::byte* shared) {
  if (batch.each == 16) return make_all<16>(batch, shared);
  if (batch.each == 12) return make_all<12>(batch, shared);
  if (batch.each == 8) return make_all<8>(batch, shared);
  make_all<4>(batch, shared);
}

}  // namespace

// wanted(batch, thread): whether the copy is to be made.
template <class Wanted>
void CpAsync::finish(Exec& threads, Wanted wanted) {
  const uint32_t begin = threads.first, end = threads.first + threads.count;
  for (size_t b = 0; b < batches_.size();) {
    Batch& batch = batches_[b];
    if (batch.first >= end || batch.first + batch.count <= begin) {
      b++;
      continue;
    }
    const auto is_wanted = [&](uint32_t thread) {
      return thread >= begin && thread < end && threads.on(thread - begin) && wanted(batch, thread);
    };
    if (batch.each) {
      uint32_t count = 0;
      for (uint32_t i = 0; i < batch.count; ++i) count += is_wanted(batch.first + i);
      if (count == batch.count) {
        make_all(batch, threads.cta->shared);
        tell(threads, batch);
        recycle(b);
        continue;
      }
      if (count == 0) {
        b++;
        continue;
      }
    }
    expand(threads, batch);
    std::erase_if(batch.copies, [&](const Copy& c) {
      if (!is_wanted(c.thread)) return false;
      make(c);
      tell(threads, batch, c);
      return true;
    });
    if (batch.copies.empty())
      recycle(b);
    else
      b++;
  }
}

void CpAsync::finish_groups(Exec& threads, uint32_t keep) {
  const uint32_t begin = threads.first, end = threads.first + threads.count;
  if (threads.mask || !are_same(begin, threads.count)) {
    finish(threads, [&](const Batch& batch, uint32_t thread) {
      return machine::is_waited_for(batch.group, keep, commits[thread]);
    });
    return;
  }
  // All threads are at the same group: whole batches.
  const uint32_t commit = commits[begin];
  for (size_t b = 0; b < batches_.size();) {
    Batch& batch = batches_[b];
    const bool wanted = machine::is_waited_for(batch.group, keep, commit);
    if (!wanted || batch.first < begin || batch.first + batch.count > end) {
      b++;
      continue;
    }
    if (batch.each) make_all(batch, threads.cta->shared);
    for (const Copy& c : batch.copies) make(c);
    tell(threads, batch);
    recycle(b);
  }
  const bool others = std::any_of(batches_.begin(), batches_.end(), [&](const Batch& b) {
    return b.first < begin ? b.first + b.count > begin : b.first < end && b.first + b.count > end;
  });
  if (others)
    finish(threads,
           [&](const Batch& batch, uint32_t) { return machine::is_waited_for(batch.group, keep, commit); });
}

void CpAsync::finish_all(Exec& threads, uint64_t before) {
  finish(threads, [&](const Batch& batch, uint32_t) { return batch.number < before; });
}

namespace {

CpAsync& part_of(Exec& x) { return x.cta->part<CpAsync>(Cta::kCpAsync); }

// Checks one thread's copy and gives its places; false after a trap.
bool check(Exec& x, const Operands& in, const CopyPlan& plan, uint32_t i, CpAsync::Copy& c) {
  const auto to = static_cast<uint32_t>(plan.to.at(x, i));
  const uint64_t from = plan.from.at(x, i);
  const uint32_t bytes = plan.bytes, aligned = plan.alignment();
  if (to % aligned != 0)
    return refuse(x, in, exec::TrapKind::kMisaligned,
                  "the shared address is not aligned to " + std::to_string(aligned) + " bytes", i,
                  kSharedWindow | to, bytes);
  c.to = x.shared(in, i, to, bytes, true);
  if (!c.to) return false;
  if (c.from_bytes > bytes)
    return refuse(x, in, exec::TrapKind::kInvalid,
                  "src-size is " + std::to_string(c.from_bytes) + " and cp-size " + std::to_string(bytes), i);
  c.from = nullptr;
  if (c.from_bytes == 0) return true;
  if (from % aligned != 0)
    return refuse(x, in, exec::TrapKind::kMisaligned,
                  "the global address is not aligned to " + std::to_string(aligned) + " bytes", i, from,
                  bytes);
  c.from = x.global(in, i, from, c.from_bytes, false);
  if (x.worker->checks) c.reading = x.worker->checks->reading();
  return c.from != nullptr;
}

// The usual case: all threads are on and copy in full from one allocation, or all fill with zeros. False:
// look at each of them.
bool add_uniform(Exec& x, const Operands& in, const CopyPlan& plan, CpAsync& part) {
  Checks* checks = x.worker->checks;
  if (x.mask || plan.ignore != kNoRegister || x.worker->counting) return false;
  if (plan.to.bytes != 4 || plan.from.bytes != 8) return false;
  const uint32_t n = x.count, bytes = plan.bytes, aligned = plan.alignment();
  bool zeros = false;
  if (plan.from_bytes != kNoRegister) {
    const uint32_t* size = x.reg<uint32_t>(plan.from_bytes);
    if (!same(size, n) || (size[0] != bytes && size[0] != 0)) return false;
    zeros = size[0] == 0;
  }
  if (!part.are_same(x.first, n)) return false;
  const uint32_t* to = x.reg<uint32_t>(plan.to.place);
  const uint32_t base = static_cast<uint32_t>(plan.to.offset) - x.cta->shared_base;
  if (uint64_t{plan.tables->highest(to, base, nullptr, n)} + bytes > x.cta->shared_bytes ||
      plan.tables->any_bits(to, base, nullptr, n) % aligned != 0)
    return false;
  const uint64_t* from = x.reg<uint64_t>(plan.from.place);
  const uint64_t offset = static_cast<uint64_t>(plan.from.offset);
  if (!zeros) {
    uint64_t low, high, bits;
    plan.tables->range(from, nullptr, n, &low, &high, &bits);
    if (bits % aligned != 0 || offset % aligned != 0 || high - low > uint64_t{1} << 40 ||
        !x.memory_for(in).known(low + offset, high - low + bytes))
      return false;
  }
  CpAsync::Batch& batch = part.add(part.commits[x.first]);
  batch.first = x.first;
  batch.count = n;
  batch.in = &instr_of(in);
  batch.each = bytes;
  batch.zeros = zeros;
  batch.to.resize(n);
  batch.from.resize(n);
  batch.reading.clear();
  for (uint32_t i = 0; i < n; i++) batch.to[i] = to[i] + base;
  for (uint32_t i = 0; i < n; i++) batch.from[i] = from[i] + offset;
  if (checks && !checks->copies_at_once(x, in, batch.to.data(), zeros ? nullptr : batch.from.data(), bytes,
                                        batch.reading)) [[unlikely]] {
    part.take_back();
    return false;
  }
  if (!zeros)
    for (uint32_t i = 0; i < n; i++) __builtin_prefetch(reinterpret_cast<const void*>(batch.from[i]));
  return true;
}

}  // namespace

void run_copy(Exec& x, const Operands& in, const CopyPlan& plan) {
  CpAsync& part = part_of(x);
  const bool at_once = x.cta->cluster->async.timing.at_once();
  if (add_uniform(x, in, plan, part)) {
    if (at_once) part.finish_all(x, ~uint64_t{0});
    return;
  }
  CpAsync::Batch* batch = nullptr;
  for (uint32_t i : x.lanes()) {
    CpAsync::Copy c;
    c.thread = static_cast<uint16_t>(x.first + i);
    c.bytes = static_cast<uint8_t>(plan.bytes);
    const uint32_t wanted = plan.from_bytes == kNoRegister ? plan.bytes : x.reg<uint32_t>(plan.from_bytes)[i];
    c.from_bytes = static_cast<uint8_t>(std::min(wanted, 255u));
    if (plan.ignore != kNoRegister && x.reg<int8_t>(plan.ignore)[i]) c.from_bytes = 0;
    if (!check(x, in, plan, i, c)) return;
    const uint32_t group = part.commits[c.thread];
    if (!batch || batch->group != group) {
      batch = &part.add(group);
      batch->first = x.first;
      batch->count = x.count;
      batch->in = &instr_of(in);
    }
    batch->copies.push_back(c);
  }
  if (at_once) part.finish_all(x, ~uint64_t{0});
}

void run_copy_commit(Exec& x, const Operands&) { part_of(x).commit(x); }

void run_copy_wait(Exec& x, const Operands& in) { part_of(x).finish_groups(x, in.small); }

void run_copy_wait_all(Exec& x, const Operands&) {
  CpAsync& part = part_of(x);
  part.commit(x);
  part.finish_all(x, ~uint64_t{0});
}

namespace {

// The threads' copies so far, then their arrivals.
struct CopiesThenArrive : AsyncOp {
  using AsyncOp::AsyncOp;
  std::string text() const override {
    return "arrivals at " + shared_text(addresses.empty() ? 0 : addresses[0]) + " after the copies before";
  }
  uint64_t before;
  uint32_t first;
  std::vector<int8_t> mask;
  std::vector<uint32_t> addresses;
  void complete(Cluster&) override {
    Exec x = late_exec(*cta);
    if (cta->alive_count == 0) return;
    x.first = first;
    x.count = static_cast<uint32_t>(mask.size());
    x.mask = mask.data();
    part_of(x).finish_all(x, before);
    for (uint32_t i : x.lanes())
      if (!mbarrier_arrive(x, *instr, i, addresses[i])) return;
  }
};

}  // namespace

void run_copy_arrive(Exec& x, const Operands& in, const AddressPlace& address) {
  auto op = std::make_unique<CopiesThenArrive>(x, in);
  op->before = part_of(x).issued();
  op->first = x.first;
  op->mask.resize(x.count);
  op->addresses.resize(x.count);
  for (uint32_t i : x.lanes()) {
    op->mask[i] = -1;
    op->addresses[i] = address.shared_at(x, in, i);
    if (op->addresses[i] == kNoRegister) return;
    const bool ok = in.small ? mbarrier_valid(x, in, i, op->addresses[i])
                             : mbarrier_add_pending(x, in, i, op->addresses[i]);
    if (!ok) return;
  }
  x.cta->cluster->issue(std::move(op));
}

}  // namespace triton_runner::simt
