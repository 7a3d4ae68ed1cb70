#include "memory.h"

#include <algorithm>
#include <bit>

namespace triton_runner::replay {
namespace {

constexpr double kSector = 32;

double bytes_of(uint32_t sectors) { return kSector * std::popcount(sectors); }

uint64_t mixed(uint64_t x) {
  x ^= x >> 31, x *= 0x9e3779b97f4a7c15u;
  return x ^ x >> 29;
}

}  // namespace

Lines::Line& Lines::at(uint64_t number) {
  if (used_ * 2 > table_.size()) grow();
  const size_t mask = table_.size() - 1;
  for (size_t i = mixed(number) & mask;; i = (i + 1) & mask) {
    Line& line = table_[i];
    if (line.key == number + 1) return line;
    if (line.key) continue;
    ++used_, line.key = number + 1;
    return line;
  }
}

void Lines::grow() {
  std::vector<Line> old(table_.size() * 4);
  old.swap(table_);
  const size_t mask = table_.size() - 1;
  for (const Line& line : old) {
    if (!line.key) continue;
    size_t i = mixed(line.key - 1) & mask;
    while (table_[i].key) i = (i + 1) & mask;
    table_[i] = line;
  }
}

Memory::Memory(const Parameters& chip, const Setup& setup) : chip_(chip), regions_(setup.regions) {
  const double active = std::max(1u, setup.active);
  l2_rate_ = std::min(chip.l2_sm_bytes, chip.l2_bytes / active);
  dram_rate_ = std::min(chip.l2_sm_bytes, chip.dram_bytes / active);
  atomic_rate_ = chip.l2_atomics / active;
  const double room = std::max(8192.0, chip.l1_size - setup.shared);
  sets_ = std::max<size_t>(1, static_cast<size_t>(room) / (exec::kLineBytes * kWays));
  tags_.resize(sets_ * kWays);
  stored_room_ = chip.l2_size / active;
}

double Memory::share_of(uint64_t line) const {
  const uint64_t address = line * exec::kLineBytes + exec::kLineBytes / 2;
  auto holds = [&](const Region& r) { return address >= r.begin && address < r.end; };
  if (last_region_ < regions_.size() && holds(regions_[last_region_])) return regions_[last_region_].share;
  for (size_t i = 0; i < regions_.size(); ++i)
    if (holds(regions_[i])) return regions_[last_region_ = i].share;
  return 1;
}

uint64_t Memory::moved(uint64_t line, uint32_t repeat) const {
  return repeat && share_of(line) < 1.5 ? line | uint64_t{repeat} << 48 : line;
}

Memory::Tag& Memory::tag(uint64_t line, bool* is_there) {
  Tag* set = &tags_[mixed(line) % sets_ * kWays];
  Tag* oldest = set;
  for (size_t w = 0; w < kWays; ++w) {
    if (set[w].key == line + 1) {
      *is_there = true;
      return set[w];
    }
    if (set[w].used < oldest->used) oldest = &set[w];
  }
  *is_there = false;
  return *oldest;
}

// From L2 or memory.
double Memory::below(double at, uint64_t line, uint32_t sectors, bool is_first) {
  const int n = std::popcount(sectors);
  l2_sectors += n;
  const double begin = l2.take(at, bytes_of(sectors) / l2_rate_);
  double ready = begin + chip_.l2_latency;
  Lines::Line& known = seen_.at(line);
  const uint32_t fresh = sectors & ~known.sectors;
  if (fresh) {
    const double share = share_of(line & 0xffffffffffffu);
    const double owed = bytes_of(fresh) / share;
    const double from = dram.take(begin, owed / dram_rate_);
    dram_bytes += owed;
    // In the first wave all programs want it at once; later it is there where another one has asked before.
    skipped_ += 1 / share;
    const bool waits = is_first || skipped_ >= 1;
    if (skipped_ >= 1) skipped_ -= 1;
    if (waits) known.ready = std::max(known.ready, from + chip_.dram_latency);
    known.sectors |= static_cast<uint8_t>(fresh);
  }
  l2_hits += n - std::popcount(fresh);
  return std::max(ready, known.ready);
}

double Memory::load(double at, uint64_t line, uint32_t sectors, bool through_l1, bool is_first) {
  const double begin = l1.take(at, bytes_of(sectors) / chip_.l1_bytes);
  if (!through_l1) return below(begin, line, sectors, is_first);
  bool is_there = false;
  Tag& t = tag(line, &is_there);
  if (!is_there) t = {line + 1, 0, 0, 0};
  t.used = ++clock_;
  const uint32_t missing = sectors & ~t.sectors;
  l1_sectors += std::popcount(sectors), l1_hits += std::popcount(sectors & t.sectors);
  if (missing) {
    t.ready = std::max(t.ready, below(begin, line, missing, is_first));
    t.sectors |= static_cast<uint8_t>(missing);
  }
  return std::max(begin + chip_.l1_latency, t.ready);
}

double Memory::store(double at, uint64_t line, uint32_t sectors) {
  const double begin = l2.take(at, bytes_of(sectors) / l2_rate_);
  Lines::Line& known = seen_.at(line);
  const uint32_t fresh = sectors & ~known.sectors;
  known.sectors |= static_cast<uint8_t>(sectors);
  stored_ += bytes_of(fresh);
  if (fresh && stored_ > stored_room_) {  // L2 writes back what it has no room for
    dram.take(begin, bytes_of(fresh) / dram_rate_);
    dram_bytes += bytes_of(fresh);
  }
  const double done = begin + chip_.l2_latency;
  last_store = std::max(last_store, done);
  return done;
}

double Memory::update(double at, uint64_t line, uint32_t sectors) {
  const double begin = atomics.take(at, std::popcount(sectors) / atomic_rate_);
  const double ready = below(begin, line, sectors, true) - chip_.l2_latency + chip_.atomic_latency;
  last_store = std::max(last_store, ready);
  return ready;
}

double Memory::local(double at, uint64_t line, uint32_t sectors, bool stores) {
  if (!stores) return load(at, line, sectors, true, false);
  bool is_there = false;
  Tag& t = tag(line, &is_there);
  if (!is_there) t = {line + 1, at, 0, 0};
  t.used = ++clock_, t.sectors |= static_cast<uint8_t>(sectors);
  seen_.at(line).sectors |= static_cast<uint8_t>(sectors);
  return l1.take(at, bytes_of(sectors) / chip_.l1_bytes);
}

}  // namespace triton_runner::replay
