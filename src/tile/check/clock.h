// Who knows about whom: threads of control, and what each has seen of the others (vector clocks).
//
// A thread is a task of a program, or a copy or product that runs beside it. What thread A did up to its time
// t happens before what B does next if B has seen A's time t; B sees it through an atomic or a barrier.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace triton_runner::tile {

// Times of threads, by thread; threads that are not in it have time 0.
class Times {
 public:
  uint32_t of(uint32_t thread) const {
    auto it = std::lower_bound(seen_.begin(), seen_.end(), thread,
                               [](const auto& entry, uint32_t t) { return entry.first < t; });
    return it != seen_.end() && it->first == thread ? it->second : 0;
  }
  void see(uint32_t thread, uint32_t time) {
    auto it = std::lower_bound(seen_.begin(), seen_.end(), thread,
                               [](const auto& entry, uint32_t t) { return entry.first < t; });
    if (it != seen_.end() && it->first == thread)
      it->second = std::max(it->second, time);
    else
      seen_.insert(it, {thread, time});
  }
  void see(const Times& other) {
    if (other.seen_.empty()) return;
    std::vector<std::pair<uint32_t, uint32_t>> both;
    both.reserve(seen_.size() + other.seen_.size());
    auto a = seen_.cbegin();
    auto b = other.seen_.cbegin();
    while (a != seen_.cend() || b != other.seen_.end()) {
      if (b == other.seen_.end() || (a != seen_.cend() && a->first < b->first)) {
        both.push_back(*a++);
      } else if (a == seen_.cend() || b->first < a->first) {
        both.push_back(*b++);
      } else {
        both.emplace_back(a->first, std::max(a->second, b->second));
        ++a, ++b;
      }
    }
    seen_ = std::move(both);
  }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> seen_;  // sorted
};

// What has been seen, and how much of it a fence has made known to the async proxy: to copies by TMA, wgmma
// and tcgen05.
class Clock : public Times {
 public:
  using Times::see;
  void see(const Clock& other) {
    Times::see(other);
    fenced.see(other.fenced);
  }
  Times fenced;
};

}  // namespace triton_runner::tile
