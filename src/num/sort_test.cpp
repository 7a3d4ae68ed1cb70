// Tests sorting stages on every instruction set against the selects that sort.h states; whole networks sort.
#include <triton_runner/num/sort.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

template <class T>
void by_definition(std::vector<T>& x, const SortStage& s) {
  std::vector<T> out = x;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i & s.distance) continue;
    T a = x[i], b = x[i + s.distance];
    bool down = ((i & s.flip) != 0) != s.descending;
    out[i] = down ? (a > b ? a : b) : (a > b ? b : a);
    out[i + s.distance] = down ? (b > a ? a : b) : (b > a ? b : a);
  }
  x = out;
}

// As tl.sort makes it.
std::vector<SortStage> network(uint32_t n, bool descending) {
  std::vector<SortStage> out;
  for (uint32_t size = 2; size <= n; size *= 2)
    for (uint32_t d = size / 2; d > 0; d /= 2)
      out.push_back({d, size == n ? 0 : size, size == n && descending});
  return out;
}

template <class T>
void check_type(Type type, bool is_signed) {
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (!force_isa(isa_name(isa))) continue;
    std::mt19937_64 random(7);
    SortFn run = sort_fn(type, is_signed);
    for (uint32_t n : {2u, 8u, 32u, 64u, 256u, 1024u}) {
      std::vector<T> x(n);
      for (T& v : x) v = static_cast<T>(random());
      if constexpr (std::is_floating_point_v<T>) {
        for (T& v : x) v = static_cast<T>(static_cast<int64_t>(random() % 2001) - 1000) / T{8};
        x[0] = T{-0.0}, x[n / 2] = T{0}, x[n - 1] = std::numeric_limits<T>::infinity();
      }
      for (bool descending : {false, true}) {
        std::vector<SortStage> stages = network(n, descending);
        std::vector<T> sorted = x, expected = x, wanted = x;
        run(sorted.data(), n, stages.data(), stages.size());
        for (const SortStage& s : stages) by_definition(expected, s);
        CHECK(std::memcmp(sorted.data(), expected.data(), n * sizeof(T)) == 0);
        std::sort(wanted.begin(), wanted.end());
        if (descending) std::reverse(wanted.begin(), wanted.end());
        CHECK(sorted == wanted);
      }
      if constexpr (std::is_floating_point_v<T>) {  // a NaN goes where the selects put it
        x[n / 2] = std::numeric_limits<T>::quiet_NaN();
        std::vector<SortStage> stages = network(n, false);
        std::vector<T> sorted = x, expected = x;
        run(sorted.data(), n, stages.data(), stages.size());
        for (const SortStage& s : stages) by_definition(expected, s);
        CHECK(std::memcmp(sorted.data(), expected.data(), n * sizeof(T)) == 0);
      }
    }
  }
  force_isa("");
}

}  // namespace

TEST(sort_stages) {
  check_type<float>(Type::kF32, true);
  check_type<double>(Type::kF64, true);
  check_type<int8_t>(Type::kI8, true);
  check_type<uint8_t>(Type::kI8, false);
  check_type<int16_t>(Type::kI16, true);
  check_type<uint16_t>(Type::kI16, false);
  check_type<int32_t>(Type::kI32, true);
  check_type<uint32_t>(Type::kI32, false);
  check_type<int64_t>(Type::kI64, true);
  check_type<uint64_t>(Type::kI64, false);
}

TEST(sort_types_without_stages) {
  CHECK(sort_fn(Type::kF16, true) == nullptr);
  CHECK(sort_fn(Type::kBF16, true) == nullptr);
}
