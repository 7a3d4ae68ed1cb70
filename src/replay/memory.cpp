// Implements Memory: lines and their tags, and when each sector of a request is there.
#include "memory.h"

#include <algorithm>
#include <bit>

namespace triton_runner::replay {
namespace {

constexpr double kSector = 32;
constexpr uint32_t kWhole = 15;  // all sectors of a line

constexpr uint64_t kLines = uint64_t{1} << 36, kRegions = 1 << 12;  // of a place
constexpr double kShared = 1.5;  // programs that read a line, from which on it is shared

// Memory gives halves of lines.
uint32_t halves_of(uint32_t sectors) { return (sectors & 3 ? 3u : 0u) | (sectors & 12 ? 12u : 0u); }

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
  active_ = std::max(1u, setup.active);
  l2_rate_ = std::min(chip.l2_sm_bytes, chip.l2_bytes / active_);
  l2_requests_ = std::min(1.0, chip.l2_requests / active_);
  dram_rate_ = std::min(chip.l2_sm_bytes, chip.dram_bytes / active_);
  const double room = std::max(8192.0, chip.l1_size - setup.shared);
  sets_ = std::max<size_t>(1, static_cast<size_t>(room) / (exec::kLineBytes * kWays));
  tags_.resize(sets_ * kWays);
}

// A line's way to L2: by its bytes, and by the request that it is.
double Memory::port(double at, uint32_t sectors, double share) {
  const double merged = share > kShared ? chip_.l2_merged : 1;
  const double cycles = std::max(bytes_of(sectors) / l2_rate_, 1 / l2_requests_) / merged;
  return l2.take(at, std::max(cycles, bytes_of(sectors) / chip_.l2_sm_bytes));
}

// The part of these sectors of a line that is this SM's is read from memory, or written there.
double Memory::reach(double at, uint32_t sectors, double part) {
  const double bytes = bytes_of(sectors), lost = sectors == kWhole ? 0 : chip_.dram_partial;
  dram_bytes += bytes * part;
  return dram.take(at, (bytes + lost) * part / dram_rate_);
}

// The part of a place that says which region (0: none), which line of it, and which program's it is.
uint64_t Memory::place_of(uint64_t line, uint32_t repeat) const {
  const uint64_t address = line * exec::kLineBytes + exec::kLineBytes / 2;
  auto holds = [&](size_t r) { return address >= regions_[r].begin && address < regions_[r].end; };
  size_t r = last_region_;
  if (r >= regions_.size() || !holds(r))
    for (r = 0; r < regions_.size() && !holds(r);) ++r;
  if (r == regions_.size()) return line % kLines;
  last_region_ = r;
  const uint64_t place = (r + 1) * kLines + (line - regions_[r].begin / exec::kLineBytes);
  return repeat && regions_[r].share < kShared ? place | uint64_t{repeat} << 48 : place;
}

double Memory::share_of(uint64_t place) const {
  const uint64_t r = place / kLines % kRegions;
  return r > 0 && r <= regions_.size() ? regions_[r - 1].share : 1;
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
  const double share = share_of(line);
  const double begin = port(at, sectors, share);
  const double place = static_cast<double>(mixed(line) >> 40) / (1 << 23) - 1;  // -1 to 1
  const double ready = begin + chip_.l2_latency + chip_.l2_spread * place;
  Lines::Line& known = seen_.at(line);
  // The sectors that came since, of this SM and of those that do the same, are as many as L2 holds.
  if (brought_ - known.seen > chip_.l2_size / active_) known.sectors = 0;
  known.seen = brought_;
  const uint32_t missing = sectors & ~known.sectors;
  l2_hits += n - std::popcount(missing);
  if (!missing) return std::max(ready, known.ready);
  const uint32_t fresh = halves_of(missing) & ~known.sectors;
  const double from = reach(begin, fresh, 1 / share);
  brought_ += bytes_of(fresh) / share;
  // In the first wave all programs want it at once; later it is there where another one has asked before.
  skipped_ += 1 / share;
  const bool waits = is_first || skipped_ >= 1;
  if (skipped_ >= 1) skipped_ -= 1;
  if (waits) known.ready = std::max(known.ready, from + chip_.dram_latency + chip_.dram_spread * place);
  known.sectors |= static_cast<uint8_t>(fresh);
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
  const double begin = port(at, sectors, 1);
  Lines::Line& known = seen_.at(line);
  const uint32_t fresh = sectors & ~known.written;
  known.sectors |= static_cast<uint8_t>(sectors), known.written |= static_cast<uint8_t>(sectors);
  // L2 writes back while others still read: what is stored takes its part of the bandwidth.
  const double taken = fresh ? dram.take(begin, bytes_of(fresh) / dram_rate_) : begin;
  dram_bytes += bytes_of(fresh), brought_ += bytes_of(fresh), known.seen = brought_;
  last_store = std::max(last_store, std::max(begin + chip_.l2_latency, taken));
  return begin + chip_.l2_latency;
}

double Memory::update(double at, uint64_t line, uint32_t sectors) {
  const double begin = atomics.take(at, active_ / chip_.l2_atomics);
  const double there = below(begin, line, sectors, true) - chip_.l2_latency;
  Lines::Line& known = seen_.at(line);
  const double others = std::min(active_, share_of(line));  // SMs that update it too
  known.free = std::max(known.free, there) + others / chip_.l2_line_atomics;
  const double ready = known.free + chip_.atomic_latency;
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
