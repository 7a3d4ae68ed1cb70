// Implements programs.h: checks the programs that a dump asks for against the grid, and counts them.
#include "programs.h"

#include <algorithm>
#include <set>
#include <string>

#include <triton_runner/base/try.h>

namespace triton_runner::probe {

bool is_asked(std::span<const Program> asked, const Program& id) {
  if (asked.empty()) return true;
  return std::any_of(asked.begin(), asked.end(), [&](const Program& p) {
    return (p[0] < 0 || p[0] == id[0]) && (p[1] < 0 || p[1] == id[1]) && (p[2] < 0 || p[2] == id[2]);
  });
}

base::Result<int64_t> count_programs(const Program& grid) {
  for (int64_t n : grid)
    if (n < 0 || n >= kPrograms) return base::failure("a grid has 0 to 2^31 - 1 programs an axis");
  const int64_t all = grid[0] * grid[1] * grid[2];
  if (grid[0] && grid[1] && (all / grid[0] / grid[1] != grid[2] || all >= kPrograms))
    return base::failure("a grid of 2^31 programs or more is not dumped");
  return all;
}

base::Status check_asked(const Program& grid, std::span<const Program> asked) {
  for (const Program& p : asked)
    for (size_t i = 0; i < 3; ++i)
      if (p[i] >= grid[i])
        return base::failure("program (" + std::to_string(p[0]) + ", " + std::to_string(p[1]) + ", " +
                                 std::to_string(p[2]) + ") is not in the grid (" + std::to_string(grid[0]) +
                                 ", " + std::to_string(grid[1]) + ", " + std::to_string(grid[2]) + ")",
                             {"programs are counted from 0 on each axis"});
  return base::success();
}

base::Result<std::vector<int64_t>> asked_programs(const Program& grid, std::span<const Program> asked) {
  TRY(check_asked(grid, asked));
  std::set<int64_t> found;
  for (const Program& p : asked) {
    auto range = [&](size_t i) {
      return p[i] < 0 ? std::pair<int64_t, int64_t>{0, grid[i]} : std::pair{p[i], p[i] + 1};
    };
    auto [x0, x1] = range(0);
    auto [y0, y1] = range(1);
    auto [z0, z1] = range(2);
    if ((x1 - x0) * (y1 - y0) * (z1 - z0) > static_cast<int64_t>(kListed)) return std::vector<int64_t>{};
    for (int64_t z = z0; z < z1; ++z)
      for (int64_t y = y0; y < y1; ++y)
        for (int64_t x = x0; x < x1; ++x) found.insert((z * grid[1] + y) * grid[0] + x);
  }
  if (found.size() > kListed) found.clear();
  return std::vector<int64_t>(found.begin(), found.end());
}

}  // namespace triton_runner::probe
