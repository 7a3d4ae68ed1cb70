// Keeps the sites of out-of-bounds accesses in an order that does not depend on which worker came first.
#include <triton_runner/exec/faults.h>

#include <algorithm>

#include <triton_runner/base/diagnostic.h>
#include <triton_runner/exec/kernel.h>

namespace triton_runner::exec {

void Faults::note(const void* site, int64_t program, uint64_t count, const std::function<Trap()>& describe) {
  std::lock_guard lock(mutex_);
  auto [it, is_new] = sites_.try_emplace(site);
  Site& s = it->second;
  s.fault.count += count;
  if (!is_new && s.program <= program) return;
  s.fault.first = describe();
  s.program = program;
  s.met = clock_++;
}

void advise_on_distance(Trap& trap, int64_t distance, uint32_t checks, std::string_view level) {
  // A product that wrapped is as often negative as not; what no mask holds back lies just past the end.
  constexpr int64_t kBefore = -(int64_t{1} << 22), kBehind = int64_t{1} << 30;
  if ((distance > kBefore && distance < kBehind) || checks & kCheckOverflow) return;
  const std::string what = "so far from '" + trap.argument + "', an integer may have overflowed: ";
  trap.notes.push_back(what + base::option("check", "overflow") +
                       (level == "cubin" ? " at ttir, ttgir or ptx" : "") + " says where one does");
}

std::vector<Fault> Faults::take() {
  std::lock_guard lock(mutex_);
  std::vector<Site> sites;
  for (auto& [key, site] : sites_) sites.push_back(std::move(site));
  sites_.clear();
  std::sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) {
    return a.program != b.program ? a.program < b.program : a.met < b.met;
  });
  std::vector<Fault> out;
  for (Site& s : sites) out.push_back(std::move(s.fault));
  return out;
}

}  // namespace triton_runner::exec
