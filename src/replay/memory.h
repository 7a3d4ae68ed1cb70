// Memory is what one SM sees of memory: L1, its share of L2 and of memory, each a queue that takes requests
// in order.
#pragma once
#include <cstdint>
#include <vector>

#include <triton_runner/replay/replay.h>

namespace triton_runner::replay {

// A unit that is busy until a time; requests come in order.
struct Queue {
  double free = 0, busy = 0;
  double take(double at, double duration) {  // when it begins
    const double begin = at > free ? at : free;
    free = begin + duration, busy += duration;
    return begin;
  }
};

// Lines by number: open addressing, no line is ever taken out.
class Lines {
 public:
  struct Line {
    uint64_t key = 0;            // number + 1; 0: none
    double ready = 0, free = 0;  // of what is read; of atomics
    double seen = 0;             // bytes that had been brought to L2 when it was used last
    uint8_t sectors = 0, written = 0;
  };
  Line& at(uint64_t number);

 private:
  void grow();
  std::vector<Line> table_ = std::vector<Line>(1024);
  size_t used_ = 0;
};

class Memory {
 public:
  Memory(const Parameters& chip, const Setup& setup);

  // When the sectors of a line are there for a load that comes at `at`. is_first: of the launch's first wave.
  double load(double at, uint64_t line, uint32_t sectors, bool through_l1, bool is_first);
  // When a store is done in L2.
  double store(double at, uint64_t line, uint32_t sectors);
  double update(double at, uint64_t line, uint32_t sectors);
  // Accesses a thread's own memory, which stays in L1 as long as it has room.
  double local(double at, uint64_t line, uint32_t sectors, bool stores);
  // The place that the other functions take as a line: the same wherever the arguments' memory lies. repeat: of a program
  // that was not traced, in whose stead another one is replayed again; what programs share keeps its place.
  uint64_t place_of(uint64_t line, uint32_t repeat) const;

  Queue l1, l2, dram, atomics, shared;
  double dram_bytes = 0, last_store = 0;
  double l1_sectors = 0, l1_hits = 0, l2_sectors = 0, l2_hits = 0;

 private:
  struct Tag {
    uint64_t key = 0;
    double ready = 0;
    uint64_t used = 0;
    uint8_t sectors = 0;
  };
  static constexpr size_t kWays = 8;
  Tag& tag(uint64_t line, bool* is_there);
  double port(double at, uint32_t sectors, double share);
  double reach(double at, uint32_t sectors, double part);
  double below(double at, uint64_t line, uint32_t sectors, bool is_first);
  double share_of(uint64_t line) const;

  const Parameters& chip_;
  std::vector<Region> regions_;
  mutable size_t last_region_ = 0;
  double l2_rate_, l2_requests_, dram_rate_, active_;
  std::vector<Tag> tags_;
  size_t sets_;
  uint64_t clock_ = 0;
  Lines seen_;
  double brought_ = 0;  // bytes to L2
  double skipped_ = 0;  // of what others bring to L2: the part of a line that this SM owes
};

}  // namespace triton_runner::replay
