// Implements Released: finds, shares and joins the clocks of atomics by their addresses.
#include <triton_runner/machine/released.h>

#include <algorithm>

namespace triton_runner::machine {

uint32_t& Released::at(uint64_t address) {
  Page& page = pages_[address / kPage];
  if (address % 4 != 0 && page.shift == 2) {
    std::vector<uint32_t> finer(kPage / 2);
    for (size_t i = 0; i < page.clocks.size(); ++i) finer[2 * i] = page.clocks[i];
    page.clocks = std::move(finer);
    page.shift = 1;
  }
  return page.clocks[address % kPage >> page.shift];
}

void Released::drop(uint32_t clock) {
  if (clock == 0 || --clocks_[clock].uses != 0) return;
  clocks_[clock].clock = {};
  free_.push_back(clock);
}

void Released::forget() {
  for (const auto& [from, to] : known_) drop(from), drop(to);
  known_.clear();
}

void Released::acquire(uint64_t address, Agent& agent) {
  const uint32_t clock = at(address);
  if (clock == 0 || acquired_ == std::pair{clock, agent.id}) return;
  acquired_ = {clock, agent.id};
  if (agent.seen.includes(clocks_[clock].clock)) return;
  agent.seen.see(clocks_[clock].clock);
  if (agent.id == agent_) forget();
}

void Released::publish(uint64_t address, const Agent& agent, uint64_t serial) {
  if (agent.id != agent_ || serial != serial_) forget();
  agent_ = agent.id, serial_ = serial;
  uint32_t& place = at(address);
  const auto same = std::find_if(known_.rbegin(), known_.rend(),
                                 [&](auto& k) { return k.first == place || k.second == place; });
  if (same != known_.rend()) {
    const uint32_t now = same->second;
    if (now == place) return;
    ++clocks_[now].uses;
    drop(std::exchange(place, now));
    return;
  }
  acquired_ = {};
  if (clocks_[place].uses == 1) return agent.publish(clocks_[place].clock);  // nothing else has it
  uint32_t now = static_cast<uint32_t>(clocks_.size());
  if (free_.empty()) {
    clocks_.emplace_back();
  } else {
    now = free_.back();
    free_.pop_back();
  }
  clocks_[now].clock = clocks_[place].clock;
  agent.publish(clocks_[now].clock);
  clocks_[now].uses = 2;
  known_.emplace_back(place, now);  // which keeps both
  place = now;
}

}  // namespace triton_runner::machine
