// Element types of the cases: their bits to and from double, written apart from src/num so that the two check
// each other.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace triton_runner::cases {

struct Element {
  enum Special : uint8_t {
    kIeee,
    kNoInf,
    kUnsignedZero
  };  // e4m3fn has no infinities; fnuz has only +0 and one NaN
  std::string_view name;
  int bytes;
  bool is_float;
  bool is_signed;
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  Special special = kIeee;
};

const Element* find_element(std::string_view name);  // null if there is no such type
double decode(const Element& type, uint64_t bits);   // integers too; exact up to 2^53
uint64_t encode(const Element& type, double value);  // to the nearest, ties to even; saturates where it must
// Shortest text that reads back as the same value, or `digits` significant ones.
std::string shown(const Element& type, uint64_t bits, int digits);

}  // namespace triton_runner::cases
