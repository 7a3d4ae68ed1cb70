// Declares the vector clocks of the race check: which agent has seen what of which others. history.h applies
// them to accesses.
//
// An agent is whatever accesses memory in an order of its own: a task or a warp, a program or a cluster, a copy or a
// product that runs beside them. What agent A did up to its time t happens before what B does next if B has seen A's
// time t; B sees it through an atomic or a barrier.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace triton_runner::machine {

// Times of agents, by agent; agents that are not in it have time 0.
class Times {
 public:
  uint32_t of(uint32_t agent) const {
    if (seen_.empty() || agent < seen_[0].first) return 0;
    const uint32_t near = agent - seen_[0].first;  // agents that meet have numbers in a row
    if (near < seen_.size() && seen_[near].first == agent) return seen_[near].second;
    auto it = std::lower_bound(seen_.begin(), seen_.end(), agent,
                               [](const auto& entry, uint32_t a) { return entry.first < a; });
    return it != seen_.end() && it->first == agent ? it->second : 0;
  }
  void see(uint32_t agent, uint32_t time) {
    auto it = std::lower_bound(seen_.begin(), seen_.end(), agent,
                               [](const auto& entry, uint32_t a) { return entry.first < a; });
    if (it != seen_.end() && it->first == agent)
      it->second = std::max(it->second, time);
    else
      seen_.insert(it, {agent, time});
  }
  void see(const Times& other) {
    size_t a = 0, missing = 0;
    for (const auto& [agent, time] : other.seen_) {
      while (a < seen_.size() && seen_[a].first < agent) ++a;
      if (a < seen_.size() && seen_[a].first == agent)
        seen_[a].second = std::max(seen_[a].second, time);
      else
        ++missing;
    }
    // Those that are not there come in from the end on, so that each is moved once.
    a = seen_.size();
    seen_.resize(a + missing);
    for (size_t b = other.seen_.size(), to = seen_.size(); missing; --to) {
      const auto& theirs = other.seen_[b - 1];
      if (a && seen_[a - 1].first >= theirs.first) {
        b -= seen_[a - 1].first == theirs.first;
        seen_[to - 1] = seen_[a - 1];
        --a;
      } else {
        seen_[to - 1] = theirs;
        --b, --missing;
      }
    }
  }
  void clear() { seen_.clear(); }
  bool includes(const Times& other) const {
    auto a = seen_.begin();
    for (const auto& [agent, time] : other.seen_) {
      while (a != seen_.end() && a->first < agent) ++a;
      if (a == seen_.end() || a->first != agent || a->second < time) return false;
    }
    return true;
  }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> seen_;  // sorted
};

// The clock holds what has been seen, and how much of it a fence has made known to the async proxy: to copies
// by TMA, wgmma and tcgen05.
class Clock : public Times {
 public:
  using Times::see;
  void see(const Clock& other) {
    Times::see(other);
    fenced.see(other.fenced);
  }
  void clear() {
    Times::clear();
    fenced.clear();
  }
  bool includes(const Clock& other) const { return Times::includes(other) && fenced.includes(other.fenced); }
  Times fenced;
};

enum class Act : uint8_t { kRead, kWrite, kAtomic, kAtomicRead };

// An access that is remembered.
struct Record {
  uint32_t agent = 0, time = 0;
  Act act = Act::kRead;
};

struct Agent {
  uint32_t id = 0;
  uint32_t time = 1;
  Clock seen;

  // Another agent takes its place.
  void begin(uint32_t number) {
    id = number, time = 1;
    seen.clear();
  }
  // Makes what it did so far known to whoever sees `into`.
  void release(Clock& into) {
    publish(into);
    ++time;
  }
  // The same of several places, before the agent's time goes on.
  void publish(Clock& into) const {
    into.see(seen);
    into.see(id, time);
  }
  // Makes what it has seen and done known to the async proxy, of those too that see it from here on.
  void fence() {
    Times all = seen;
    all.see(id, time++);
    seen.fenced.see(all);
  }
  bool is_after(const Record& r) const { return r.agent == id || seen.of(r.agent) >= r.time; }
  bool is_fenced_after(const Record& r) const { return seen.fenced.of(r.agent) >= r.time; }
};

}  // namespace triton_runner::machine
