// Computes the occupancy of a multiprocessor: a row of a table an architecture, one division for each limit.
#include <triton_runner/artifact/occupancy.h>

#include <algorithm>

namespace triton_runner::artifact {
namespace {

struct Sm {
  int capability, warps, blocks, shared_kib;
};
constexpr Sm kSms[] = {
    {75, 32, 16, 64},  {80, 64, 32, 164},  {86, 48, 16, 100},  {87, 48, 16, 164},  {89, 48, 24, 100},
    {90, 64, 32, 228}, {100, 64, 32, 228}, {103, 64, 32, 228}, {120, 48, 24, 100}, {121, 48, 24, 100},
};
constexpr int kRegisterFile = 65536, kSides = 4;  // an SM's, in as many files as it has schedulers

constexpr int64_t rounded(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

const Sm* sm_of(std::string_view target) {
  for (const Sm& sm : kSms)
    if (target == "cuda:" + std::to_string(sm.capability)) return &sm;
  return nullptr;
}

}  // namespace

base::Result<Occupancy> occupancy(std::string_view target, int threads, int registers, int64_t shared) {
  const Sm* sm = sm_of(target);
  if (!sm) {
    std::string known;
    for (const Sm& s : kSms) known += (known.empty() ? "cuda:" : ", cuda:") + std::to_string(s.capability);
    return base::failure("the occupancy of '" + std::string(target) + "' is not known", {"known: " + known});
  }
  if (threads < 1 || threads > 1024)
    return base::failure("a block has 1 to 1024 threads, not " + std::to_string(threads));
  const int warps = static_cast<int>(rounded(threads, 32) / 32);
  Occupancy out;
  out.most_warps = sm->warps;
  const int64_t register_file =
      kRegisterFile / kSides / rounded(int64_t{std::max(registers, 1)} * 32, 256) * kSides;
  const int64_t reserved = sm->capability >= 80 ? 1024 : 0;
  const int64_t of_block = rounded(shared + reserved, sm->capability >= 80 ? 128 : 256);
  const std::pair<const char*, int64_t> counts[] = {
      {"warps", sm->warps / warps},
      {"blocks", sm->blocks},
      {"registers", register_file / warps},
      {"shared memory", of_block ? int64_t{sm->shared_kib} * 1024 / of_block : sm->blocks},
  };
  int64_t least = sm->blocks;
  for (const auto& [what, count] : counts) least = std::min(least, count);
  for (const auto& [what, count] : counts)
    if (count == least) out.limits.emplace_back(what);
  if (least == 0)
    return base::failure("no SM of " + std::string(target) + " holds a block of " + std::to_string(threads) +
                         " threads with " + std::to_string(registers) + " registers each and " +
                         std::to_string(shared) + " bytes of shared memory: too much " + out.limits.front());
  out.blocks = static_cast<int>(least);
  out.warps = out.blocks * warps;
  return out;
}

}  // namespace triton_runner::artifact
