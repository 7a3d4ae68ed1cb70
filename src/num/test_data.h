// Gives the tests of this folder their operands (corners of every type and random bits), and runs a kernel on
// each instruction set.
#pragma once
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <triton_runner/base/text.h>
#include <triton_runner/num/elementwise.h>

#include "test.h"

namespace triton_runner::num::testing {

inline const Type kIntTypes[] = {Type::kI1, Type::kI8, Type::kI16, Type::kI32, Type::kI64};
inline const Type kArithmeticFloats[] = {Type::kF16,        Type::kBF16,       Type::kF32,
                                         Type::kF64,        Type::kF8E4M3FN,   Type::kF8E5M2,
                                         Type::kF8E4M3FNUZ, Type::kF8E5M2FNUZ, Type::kF8E4M3B11FNUZ};

// The random numbers of one case: the same whatever ran before it and whatever instruction sets the machine
// has.
inline std::mt19937_64 seeded(std::initializer_list<int64_t> numbers) {
  std::seed_seq seed(numbers.begin(), numbers.end());
  return std::mt19937_64(seed);
}

inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa_available(isa)) isas.push_back(isa);
  return isas;
}

// The bits of interesting elements of a type.
inline std::vector<uint64_t> corners(Type type) {
  std::vector<uint64_t> bits;
  int width = width_of(type);
  uint64_t all = truncate_bits(~uint64_t{0}, type), top = uint64_t{1} << (width - 1);
  for (uint64_t x : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{7}, top, top - 1, top + 1,
                     all, all - 1, uint64_t(width), uint64_t(width - 1), uint64_t(width + 1)})
    bits.push_back(truncate_bits(x, type));
  if (is_float(type)) {
    for (double x : {0.5,
                     1.0,
                     1.5,
                     2.0,
                     2.5,
                     3.0,
                     1e-3,
                     100.0,
                     448.0,
                     65504.0,
                     65520.0,
                     1e30,
                     3.4e38,
                     1e-38,
                     1e-40,
                     6e-8,
                     0.49999997,
                     8388607.5,
                     static_cast<double>(INFINITY),
                     static_cast<double>(NAN)})
      for (double s : {1.0, -1.0})
        bits.push_back(from_double(s * x, type, Rounding::kNearestEven, Overflow::kNonSaturating));
  }
  return bits;
}

// n elements: corners first or random; random floats have exponents spread around 1 as often as everywhere.
inline std::vector<uint64_t> operands(Type type, size_t n, std::mt19937_64& random,
                                      bool with_corners = true) {
  std::vector<uint64_t> list, edge = corners(type);
  for (size_t i = 0; i < n; ++i) {
    uint64_t r = random();
    if (with_corners && r % 4 == 0)
      list.push_back(edge[(r >> 8) % edge.size()]);
    else if (is_float(type) && r % 4 < 3)
      list.push_back(from_double(
          (static_cast<double>(random() % 4096) - 2048) / std::ldexp(1.0, static_cast<int>(r >> 8 & 15)),
          type));
    else
      list.push_back(truncate_bits(random(), type));
  }
  return list;
}

inline std::vector<char> stored(const std::vector<uint64_t>& bits, Type type) {
  std::vector<char> bytes(bits.size() * size_of(type));
  for (size_t i = 0; i < bits.size(); ++i) store_bits(bytes.data() + i * size_of(type), type, bits[i]);
  return bytes;
}

inline bool is_nan(uint64_t bits, Type type) { return is_float(type) && std::isnan(to_double(bits, type)); }
inline bool same(uint64_t a, uint64_t b, Type type) { return a == b || (is_nan(a, type) && is_nan(b, type)); }

using base::hex;

// Runs `functor` on every available instruction set and on lengths that end inside a vector, with and without
// splats, and compares with `expected` (NaNs equal each other). Fails once per combination.
inline void check_kernel(const Elementwise& functor, Type in, Type out,
                         const std::vector<std::vector<uint64_t>>& in_bits,
                         const std::vector<uint64_t>& expected) {
  size_t n = expected.size();
  for (Isa isa : available_isas()) {
    Kernel kernel = functor.kernel(in, out, isa);
    CHECK(static_cast<bool>(kernel));
    if (!kernel) return;
    std::vector<std::vector<char>> data;
    std::vector<const void*> pointers;
    for (size_t k = 0; k < in_bits.size(); ++k)
      data.push_back(stored(in_bits[k], kernel.in_size[k] == size_of(in) ? in : Type::kI1));
    for (auto& d : data) pointers.push_back(d.data());
    std::vector<char> result(n * size_of(out) + 1, 0x5a);
    kernel.run(result.data(), pointers.data(), 0, static_cast<int64_t>(n));
    std::string where = std::string(functor.name) + " " + std::string(type_name(in)) + "->" +
                        std::string(type_name(out)) + " " + std::string(isa_name(isa));
    if (result.back() != 0x5a) unit::record_failure(__FILE__, __LINE__, where + ": wrote past the end");
    for (size_t i = 0; i < n; ++i) {
      uint64_t got = load_bits(result.data() + i * size_of(out), out);
      if (same(got, expected[i], out)) continue;
      std::string text = where + ": element " + std::to_string(i) + " (";
      for (auto& bits : in_bits) text += hex(bits[i]) + " ";
      unit::record_failure(__FILE__, __LINE__, text + ") is " + hex(got) + ", not " + hex(expected[i]));
      break;
    }
  }
}

}  // namespace triton_runner::num::testing
