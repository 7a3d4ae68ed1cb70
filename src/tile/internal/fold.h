// fold() computes what integer ops on scalars give before a launch, from its grid and from what is known of
// its arguments.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include <triton_runner/ir/graph.h>

namespace triton_runner::tile {

// Who asks: knows the launch, and the values that ops are given.
class Folder {
 public:
  static constexpr int64_t kAnyProgram = -1;
  std::array<int64_t, 3> grid{};
  int64_t program = kAnyProgram;  // its linear number, x fastest; kAnyProgram: what holds for every one
  virtual std::optional<int64_t> known(const ir::Value* value) = 0;  // as its type holds it

 protected:
  ~Folder() = default;
};

// A number as a scalar of the type holds it: sign-extended, i1 is 0 or 1.
int64_t held(int64_t number, const ir::Type& type);

// Computes the op's only result: by fold_x, where its row of ops.def says FOLD(x), else as the num functor of
// its handler's name computes it. Empty where it is not known.
std::optional<int64_t> fold(Folder& folder, const ir::Op& op);

}  // namespace triton_runner::tile
