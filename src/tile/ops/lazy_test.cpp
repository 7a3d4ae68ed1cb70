// Tests sums and comparisons of indices and one value, which stay lazy where they can: at the limits of each
// type the elements are those of plain arithmetic that wraps.
#include "test.h"

#include <triton_runner/tile/tile.h>

#include <limits>

using namespace triton_runner;

namespace {

constexpr int kCount = 64;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// TYPE for the element type, CAST for what makes it of the i32 %r; the result goes to %out, 64 elements each.
const char* const kText = R"(
module {
  tt.func public @k(%out: !tt.ptr<TYPE>, %u: TYPE, %limit: TYPE) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    CAST
    %us = tt.splat %u : TYPE -> tensor<64xTYPE>
    %ls = tt.splat %limit : TYPE -> tensor<64xTYPE>
    %sum = arith.addi %us, %i : tensor<64xTYPE>
    %down = arith.subi %us, %i : tensor<64xTYPE>
    %up = arith.subi %i, %us : tensor<64xTYPE>
    %below = arith.cmpi slt, %sum, %ls : tensor<64xTYPE>
    %mask = arith.extui %below : tensor<64xi1> to tensor<64xTYPE>
    %p0 = tt.splat %out : !tt.ptr<TYPE> -> tensor<64x!tt.ptr<TYPE>>
    %o0 = tt.addptr %p0, %r : tensor<64x!tt.ptr<TYPE>>, tensor<64xi32>
    %c = arith.constant dense<64> : tensor<64xi32>
    %o1 = tt.addptr %o0, %c : tensor<64x!tt.ptr<TYPE>>, tensor<64xi32>
    %o2 = tt.addptr %o1, %c : tensor<64x!tt.ptr<TYPE>>, tensor<64xi32>
    %o3 = tt.addptr %o2, %c : tensor<64x!tt.ptr<TYPE>>, tensor<64xi32>
    tt.store %o0, %sum : tensor<64x!tt.ptr<TYPE>>
    tt.store %o1, %down : tensor<64x!tt.ptr<TYPE>>
    tt.store %o2, %up : tensor<64x!tt.ptr<TYPE>>
    tt.store %o3, %mask : tensor<64x!tt.ptr<TYPE>>
    tt.return
  }
}
)";

template <class T>
void check_type(const std::string& type, const std::string& cast) {
  auto module = ir::parse(replaced(replaced(kText, "TYPE", type), "CAST", cast), "lazy.ttir");
  CHECK(static_cast<bool>(module));
  if (!module) return;
  auto kernel = tile::load(std::make_shared<ir::Module>(std::move(module).value()));
  CHECK(static_cast<bool>(kernel));
  if (!kernel) return;
  using U = std::make_unsigned_t<T>;
  const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const std::vector<T> values = {low,
                                 static_cast<T>(low + 1),
                                 static_cast<T>(low + 63),
                                 static_cast<T>(low + 64),
                                 -1,
                                 0,
                                 1,
                                 50,
                                 static_cast<T>(high - 64),
                                 static_cast<T>(high - 63),
                                 static_cast<T>(high - 62),
                                 static_cast<T>(high - 1),
                                 high};
  for (T u : values)
    for (T limit : values) {
      std::vector<T> out(4 * kCount);
      exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(out.data()), {}},
                               {exec::ParamKind::kInteger, static_cast<uint64_t>(u), {}},
                               {exec::ParamKind::kInteger, static_cast<uint64_t>(limit), {}}};
      exec::Allocation memory[] = {
          {reinterpret_cast<uint64_t>(out.data()), out.size() * sizeof(T), "out", true}};
      exec::LaunchOptions options;
      options.threads = 1;
      CHECK(!kernel.value()->launch(options, args, memory));
      size_t wrong = 0;
      for (int i = 0; i < kCount; ++i) {
        const U x = static_cast<U>(u), k = static_cast<U>(i);
        const T sum = static_cast<T>(static_cast<U>(x + k));
        wrong += out[i] != sum;
        wrong += out[kCount + i] != static_cast<T>(static_cast<U>(x - k));
        wrong += out[2 * kCount + i] != static_cast<T>(static_cast<U>(k - x));
        wrong += out[3 * kCount + i] != (sum < limit ? 1 : 0);
      }
      CHECK_EQ(wrong, 0u);
    }
}

}  // namespace

TEST(lazy_sums_at_the_limits) {
  check_type<int8_t>("i8", "%i = arith.trunci %r : tensor<64xi32> to tensor<64xi8>");
  check_type<int16_t>("i16", "%i = arith.trunci %r : tensor<64xi32> to tensor<64xi16>");
  check_type<int64_t>("i64", "%i = arith.extsi %r : tensor<64xi32> to tensor<64xi64>");
  check_type<int32_t>("i32",
                      "%z = arith.constant dense<0> : tensor<64xi32>\n"
                      "    %i = arith.addi %r, %z : tensor<64xi32>");
}
