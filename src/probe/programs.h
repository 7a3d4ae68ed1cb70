// Decides which programs of a grid a dump is of, and where in a buffer a part may begin.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::probe {

using Program = std::array<int64_t, 3>;

constexpr size_t kListed = 64;        // programs that a kernel compares itself with, one by one
constexpr int64_t kUncounted = 1024;  // executions in loops that nobody counts before they run, at most
constexpr int64_t kPrograms = int64_t{1} << 31;

inline int64_t aligned(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

// Returns whether a program is among those that are asked for: those with the given number on each axis (-1:
// any); none listed: all.
bool is_asked(std::span<const Program> asked, const Program& id);

// An error where one that is asked for is not in the grid.
base::Status check_asked(const Program& grid, std::span<const Program> asked);

// The programs of a grid: below 2^31, or an error.
base::Result<int64_t> count_programs(const Program& grid);

// The programs that are asked for, by linear number (x fastest); empty: all of them, or too many to name.
// Errors: one that is not in the grid.
base::Result<std::vector<int64_t>> asked_programs(const Program& grid, std::span<const Program> asked);

}  // namespace triton_runner::probe
