// Counts what a launch of machine code executes: it is given sums and no values.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <triton_runner/exec/trace.h>

namespace triton_runner::exec {

enum class Count : uint8_t {
#define COUNT(name, enumerator, ...) k##enumerator,
#include <triton_runner/exec/counts.def>
};
inline constexpr size_t kCounts = 0
#define COUNT(...) +1
#include <triton_runner/exec/counts.def>
    ;

struct Tally : std::array<uint64_t, kCounts> {
  uint64_t& operator[](Count c) { return at(static_cast<size_t>(c)); }
  uint64_t operator[](Count c) const { return at(static_cast<size_t>(c)); }
  void add(const Tally& other) {
    for (size_t c = 0; c < kCounts; ++c) at(c) += other.at(c);
  }
};

// The worst of an instruction's requests to shared memory, which takes the most wavefronts in a phase: two of the
// threads that meet in a bank, and where in the block's shared memory they access.
struct Collision {
  uint32_t ways = 1;  // 1: none
  uint32_t bank = 0;
  std::array<uint32_t, 2> threads{}, offsets{};
  int64_t program = 0;
  // Returns whether this is the one to show of two; the same whichever worker came first.
  bool goes_before(const Collision& other) const {
    return ways != other.ways ? ways > other.ways : program < other.program;
  }
};

// Sectors of global memory, each once, as bits of the pages that hold them.
class Sectors {
 public:
  static constexpr uint64_t kBytes = 32;
  void add(uint64_t first, uint64_t last) {  // numbers of sectors
    for (uint64_t s = first; s <= last; ++s) page(s / kPage)[s % kPage / 64] |= uint64_t{1} << s % 64;
  }
  void add(const Sectors& other) {
    for (const auto& [number, bits] : other.pages_)
      for (size_t i = 0; i < bits.size(); ++i) page(number)[i] |= bits[i];
  }
  uint64_t size() const {
    uint64_t n = 0;
    for (const auto& [number, bits] : pages_)
      for (const uint64_t word : bits) n += static_cast<uint64_t>(std::popcount(word));
    return n;
  }

 private:
  static constexpr uint64_t kPage = 2048;  // sectors
  using Page = std::array<uint64_t, kPage / 64>;
  Page& page(uint64_t number) {
    if (last_ && number == last_number_) return *last_;
    last_number_ = number;
    return *(last_ = &pages_[number]);
  }
  std::unordered_map<uint64_t, Page> pages_;  // a page stays where it is
  uint64_t last_number_ = 0;
  Page* last_ = nullptr;
};

struct Counts {
  uint32_t warps = 0;               // of a block
  std::vector<Tally> instructions;  // as the function's body has them
  std::vector<uint64_t> by_warp;    // of each instruction and warp of a block: Count::kExecuted
  std::vector<Collision> collisions;
  int64_t programs = 0;   // that ran; with clusters, clusters
  Tally least{}, most{};  // of a program, all instructions together
  Sectors loaded, stored;

  void begin(size_t size, uint32_t block_warps) {
    warps = block_warps;
    instructions.assign(size, {});
    by_warp.assign(size * warps, 0);
    collisions.assign(size, {});
  }
  void add_program(const Tally& sum) {
    for (size_t c = 0; c < kCounts; ++c) {
      least.at(c) = programs ? std::min(least.at(c), sum.at(c)) : sum.at(c);
      most.at(c) = std::max(most.at(c), sum.at(c));
    }
    ++programs;
  }
  // Adds counts of the same kernel and block.
  void add(const Counts& other) {
    for (size_t i = 0; i < instructions.size(); ++i) {
      instructions[i].add(other.instructions[i]);
      if (other.collisions[i].ways > 1 && other.collisions[i].goes_before(collisions[i]))
        collisions[i] = other.collisions[i];
    }
    for (size_t i = 0; i < by_warp.size(); ++i) by_warp[i] += other.by_warp[i];
    loaded.add(other.loaded);
    stored.add(other.stored);
    if (other.programs == 0) return;
    for (size_t c = 0; c < kCounts; ++c) {
      least.at(c) = programs ? std::min(least.at(c), other.least.at(c)) : other.least.at(c);
      most.at(c) = std::max(most.at(c), other.most.at(c));
    }
    programs += other.programs;
  }
};

// LaunchOptions::counter of a launch of a cubin: it runs code of its own with counting instructions in it. The sums do not depend on the number of threads.
class CountObserver {
 public:
  // A worker of the launch has ended.
  void add(const Counts& part) {
    std::lock_guard lock(mutex_);
    if (counts_.instructions.empty()) counts_.begin(part.instructions.size(), part.warps);
    if (counts_.instructions.size() == part.instructions.size() && counts_.warps == part.warps)
      counts_.add(part);
    else
      is_mixed_ = true;
  }
  // Keeps what launches that follow do in order, too: so many steps, events, lines at most (exec::Trace).
  void keep_trace(uint64_t most) { trace_.most = most; }
  bool keeps_trace() const { return trace_.most > 0; }
  void add(Trace&& part) {
    std::lock_guard lock(mutex_);
    if (trace_.stretches.empty()) trace_.stretches = std::move(part.stretches);
    trace_.blocks.merge(part.blocks);
    trace_.size += part.size;
    trace_.is_cut |= part.is_cut || trace_.size > trace_.most;
  }
  const Trace& trace() const { return trace_; }
  void give_trace(Trace&& trace) { trace_ = std::move(trace); }
  const Counts& counts() const { return counts_; }
  bool is_mixed() const {
    return is_mixed_;
  }  // launches of different kernels: not all of them are in the sums

 private:
  Counts counts_;
  Trace trace_;
  bool is_mixed_ = false;
  std::mutex mutex_;
};

}  // namespace triton_runner::exec
