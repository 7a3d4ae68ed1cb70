// Ranks floats for check="nan" and "inf": an operation is reported where its result is worse than all of its
// operands. So each check reports the same whether or not the other one is on: a NaN that comes of infinities
// is worse than they are.
#pragma once
#include <cmath>
#include <cstdint>

namespace triton_runner::machine {

enum class Badness : uint8_t { kFine, kInfinite, kNotANumber };  // from better to worse

// infinities: they count, too; else they are as good as other numbers.
inline Badness badness(double value, bool infinities) {
  if (std::isnan(value)) return Badness::kNotANumber;
  return infinities && std::isinf(value) ? Badness::kInfinite : Badness::kFine;
}

}  // namespace triton_runner::machine
