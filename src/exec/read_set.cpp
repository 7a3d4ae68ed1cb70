// Compares the bytes that two launches read.
#include <triton_runner/exec/read_set.h>

#include <algorithm>
#include <bit>

namespace triton_runner::exec {

std::vector<const ReadSet::Site*> ReadSet::in_order() const {
  std::vector<const Site*> sites;
  for (const auto& [key, site] : sites_) sites.push_back(&site);
  std::sort(sites.begin(), sites.end(), [](const Site* a, const Site* b) { return a->number < b->number; });
  return sites;
}

std::vector<ReadSet::Beyond> ReadSet::beyond(const ReadSet& other) const {
  Pages known;
  for (const auto& [key, site] : other.sites_)
    for (const auto& [number, bits] : site.pages)
      for (size_t i = 0; i < bits.size(); ++i) known[number][i] |= bits[i];
  std::vector<Beyond> out;
  for (const Site* site : in_order()) {
    Beyond found{site->place, 0, 0};
    for (const auto& [number, bits] : site->pages) {
      const auto there = known.find(number);
      for (size_t i = 0; i < bits.size(); ++i) {
        const uint64_t more = there == known.end() ? bits[i] : bits[i] & ~there->second[i];
        if (more && !found.bytes)
          found.address = number * kPage + i * 64 + static_cast<uint64_t>(std::countr_zero(more));
        found.bytes += static_cast<uint64_t>(std::popcount(more));
      }
    }
    if (found.bytes) out.push_back(std::move(found));
  }
  return out;
}

}  // namespace triton_runner::exec
