// Computes what a kernel's integer arithmetic gives for one program, and so how often its loops run: before a
// launch, from its arguments and its grid.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <triton_runner/tile/fold.h>

namespace triton_runner::probe {

class Arithmetic final : public tile::Folder {
 public:
  Arithmetic(const ir::Op& kernel, std::array<int64_t, 3> grid,
             std::span<const std::optional<int64_t>> arguments);

  // A scalar for a program (linear number, x fastest); nothing where it hangs on memory or on what a loop
  // carries.
  std::optional<int64_t> value(const ir::Value* value, int64_t program);
  // The same where it holds for every program.
  std::optional<int64_t> value(const ir::Value* value) { return this->value(value, kAnyProgram); }
  // For each of the loops around one another (scf.for, outermost first) the most iterations it has in any
  // program; 0 where that is not known.
  std::vector<int64_t> trip_counts(std::span<const ir::Op* const> loops);

 private:
  std::optional<int64_t> known(const ir::Value* value) override;
  std::optional<int64_t> compute(const ir::Value& value);
  bool count(std::span<const ir::Op* const> loops, size_t at, std::vector<int64_t>& most);

  int64_t budget_ = 0;  // of values to compute
  int depth_ = 0;       // of the chain of ops that is followed
  std::unordered_map<const ir::Value*, int64_t> known_;
};

}  // namespace triton_runner::probe
