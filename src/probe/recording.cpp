// Implements Recording: the size of a record, and the order of records.
#include <triton_runner/probe/recording.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <triton_runner/num/types.h>

namespace triton_runner::probe {

int64_t Site::num_elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

int64_t Site::record_bytes() const { return num_elements() * static_cast<int64_t>(num::size_of(type)); }

namespace {

// The parts of `all`, `size` each, in another order.
template <class T>
void reorder(std::vector<T>& all, size_t size, const std::vector<size_t>& order) {
  if (size == 0 || all.empty()) return;
  std::vector<T> sorted(all.size());
  for (size_t i = 0; i < order.size(); ++i)
    std::memcpy(sorted.data() + i * size, all.data() + order[i] * size, size * sizeof(T));
  all = std::move(sorted);
}

}  // namespace

void Recording::sort() {
  for (Series& s : series) {
    std::vector<size_t> order(s.size());
    std::iota(order.begin(), order.end(), size_t{0});
    auto before = [&](size_t a, size_t b) {
      const auto &p = s.programs[a], &q = s.programs[b];
      return std::lexicographical_compare(p.rbegin(), p.rend(), q.rbegin(), q.rend());
    };
    if (std::is_sorted(order.begin(), order.end(), before)) continue;
    std::stable_sort(order.begin(), order.end(), before);
    std::vector<int64_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int64_t>(i);
    for (auto& copy : s.copies) copy[0] = place[static_cast<size_t>(copy[0])];
    reorder(s.programs, 1, order);
    reorder(s.iterations, static_cast<size_t>(s.site.loops), order);
    reorder(s.extra, static_cast<size_t>(s.extras), order);
    reorder(s.order, s.order.empty() ? 0 : 1, order);
    reorder(s.data, static_cast<size_t>(s.site.record_bytes()), order);
    reorder(s.mask, static_cast<size_t>(s.site.num_elements()), order);
  }
}

}  // namespace triton_runner::probe
