// Released remembers the releases by the atomics of a launch, by the address at which they were: whoever
// acquires there has seen what the releasing agent had.
//
// Addresses that the same agents have come to share a clock, so that a tile of counters that a thousand programs add to has one
// list of them, not one for each counter.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include <triton_runner/machine/clock.h>

namespace triton_runner::machine {

class Released {
 public:
  // The agent sees what was released at the address.
  void acquire(uint64_t address, Agent& agent);
  // Makes what the agent did so far known to whoever acquires at the address. serial: of the instruction, within which the
  // agent sees nothing but what it acquires here.
  void publish(uint64_t address, const Agent& agent, uint64_t serial);

 private:
  static constexpr uint64_t kPage = 1024;
  struct Shared {
    Clock clock;
    uint64_t uses = 0;  // addresses and pairs of known_ that have it
  };
  struct Page {
    int shift = 2;
    std::vector<uint32_t> clocks = std::vector<uint32_t>(kPage / 4);  // by word, or by half of one; 0: none
  };
  uint32_t& at(uint64_t address);
  void drop(uint32_t clock);
  void forget();

  std::unordered_map<uint64_t, Page> pages_;
  std::deque<Shared> clocks_ = std::deque<Shared>(1);
  std::vector<uint32_t> free_;
  // For the agent and the instruction that published last: what became of which clock.
  std::vector<std::pair<uint32_t, uint32_t>> known_;
  uint64_t serial_ = 0;
  uint32_t agent_ = 0;
  // The clock that was acquired last, and by whom, as long as no clock has changed.
  std::pair<uint32_t, uint32_t> acquired_;
};

}  // namespace triton_runner::machine
