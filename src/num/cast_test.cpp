// Tests casts of whole arrays on every instruction set against the scalar specification, exhaustively for 8-
// and 16-bit types.
#include <bit>
#include <cstring>

#include <triton_runner/num/convert.h>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

const Type kAllFloats[] = {Type::kF16,        Type::kBF16,          Type::kF32,       Type::kF64,
                           Type::kTF32,       Type::kF8E4M3FN,      Type::kF8E5M2,    Type::kF8E4M3FNUZ,
                           Type::kF8E5M2FNUZ, Type::kF8E4M3B11FNUZ, Type::kF8E8M0FNU, Type::kF6E2M3FN,
                           Type::kF6E3M2FN,   Type::kF4E2M1FN};

// Every code of a narrow type; many of a wide one, among them the values and midpoints of the narrow types.
std::vector<uint64_t> sources(Type type, std::mt19937_64& random) {
  std::vector<uint64_t> list;
  if (width_of(type) <= 16) {
    for (uint64_t code = 0; code < uint64_t{1} << width_of(type); ++code) list.push_back(code);
    return list;
  }
  list = operands(type, 20000, random);
  for (Type narrow :
       {Type::kF16, Type::kBF16, Type::kF8E4M3FN, Type::kF8E5M2, Type::kF8E4M3FNUZ, Type::kF8E5M2FNUZ})
    for (uint64_t i = 0; i < 4096; ++i) {
      uint64_t code = width_of(narrow) == 8 ? i % 255 : random() & 0xffff;
      double a = to_double(code, narrow), b = to_double(truncate_bits(code + 1, narrow), narrow);
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      double middle = (a + b) / 2;
      for (double x : {a, middle, std::nextafter(middle, -1e300), std::nextafter(middle, 1e300),
                       middle * (1 + 0x1p-24), middle * (1 - 0x1p-24)})
        list.push_back(from_double(x, type == Type::kTF32 ? Type::kF32 : type));
    }
  return list;
}

}  // namespace

TEST(cast_float_to_float) {
  std::mt19937_64 random(20);
  for (Type from : kAllFloats) {
    auto x = sources(from, random);
    for (Type to : kAllFloats)
      for (Rounding rounding : {Rounding::kNearestEven, Rounding::kTowardZero}) {
        std::vector<uint64_t> expected;
        for (uint64_t bits : x) expected.push_back(convert_float(bits, from, to, rounding));
        check_kernel(
            rounding == Rounding::kNearestEven ? elementwise_fp_to_fp_rtne : elementwise_fp_to_fp_rtz, from,
            to, {x}, expected);
      }
  }
}

TEST(cast_narrow_nans_are_canonical) {
  float nans[3] = {std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffc12345u),
                   std::bit_cast<float>(0x7fffffffu)};
  for (Isa isa : available_isas()) {
    CHECK(force_isa(isa_name(isa)));
    uint16_t half[3], brain[3];
    uint8_t e4m3[3], e5m2[3], fnuz[3];
    convert(half, Type::kF16, nans, Type::kF32, 3);
    convert(brain, Type::kBF16, nans, Type::kF32, 3);
    convert(e4m3, Type::kF8E4M3FN, nans, Type::kF32, 3);
    convert(e5m2, Type::kF8E5M2, nans, Type::kF32, 3);
    convert(fnuz, Type::kF8E4M3FNUZ, nans, Type::kF32, 3);
    for (int i = 0; i < 3; ++i) {
      CHECK_EQ(half[i], 0x7fff);
      CHECK_EQ(brain[i], 0x7fff);
      CHECK_EQ(int{e4m3[i]}, 0x7f);
      CHECK_EQ(int{e5m2[i]}, 0x7f);
      CHECK_EQ(int{fnuz[i]}, 0x80);
    }
    // Every f16 NaN widens with its sign and payload, quiet, in vectors and in their tails alike.
    uint16_t f16[19];
    float f32[19];
    for (int i = 0; i < 19; ++i) f16[i] = static_cast<uint16_t>(0xfc01 + i);
    convert(f32, Type::kF32, f16, Type::kF16, 19);
    for (int i = 0; i < 19; ++i)
      CHECK_EQ(std::bit_cast<uint32_t>(f32[i]), 0xffc00000u | static_cast<uint32_t>(1 + i) << 13);
  }
  force_isa("");
}

TEST(cast_float_to_int) {
  std::mt19937_64 random(21);
  for (Type from : {Type::kF16, Type::kBF16, Type::kF32, Type::kF64, Type::kF8E4M3FN, Type::kF8E5M2}) {
    auto x = sources(from, random);
    for (double edge :
         {127.5, 128.0, 255.0, 256.0, 32767.5, 32768.0, 65535.5, 65536.0, 2147483647.0, 2147483648.0,
          4294967295.0, 4294967296.0, 9223372036854775807.0, 18446744073709551615.0, 0.999})
      for (double sign : {1.0, -1.0}) {
        x.push_back(from_double(sign * edge, from));
        if (from == Type::kF64) x.push_back(from_double(std::nextafter(sign * edge, 0.0), from));
      }
    for (Type to : kIntTypes)
      for (bool is_signed : {true, false}) {
        std::vector<uint64_t> expected;
        for (uint64_t bits : x) expected.push_back(float_to_int(bits, from, to, is_signed));
        check_kernel(is_signed ? elementwise_fptosi : elementwise_fptoui, from, to, {x}, expected);
      }
  }
}

TEST(cast_int_to_float) {
  std::mt19937_64 random(22);
  for (Type from : kIntTypes) {
    std::vector<uint64_t> x = width_of(from) <= 16 ? sources(from, random) : operands(from, 20000, random);
    for (int i = 0; i < 5000 && width_of(from) > 16; ++i)
      x.push_back(truncate_bits(random() >> (random() % 64), from));
    for (Type to : kArithmeticFloats)
      for (bool is_signed : {true, false}) {
        std::vector<uint64_t> expected;
        for (uint64_t bits : x) expected.push_back(int_to_float(bits, from, is_signed, to));
        check_kernel(is_signed ? elementwise_sitofp : elementwise_uitofp, from, to, {x}, expected);
      }
  }
}

TEST(cast_int_to_int) {
  std::mt19937_64 random(23);
  for (Type from : kIntTypes)
    for (Type to : kIntTypes) {
      auto x = operands(from, 3001, random);
      std::vector<uint64_t> sign, zero;
      for (uint64_t bits : x) {
        sign.push_back(truncate_bits(static_cast<uint64_t>(sign_extend(bits, from)), to));
        zero.push_back(truncate_bits(bits, to));
      }
      if (width_of(to) >= width_of(from)) {
        check_kernel(elementwise_extsi, from, to, {x}, sign);
        check_kernel(elementwise_extui, from, to, {x}, zero);
      }
      check_kernel(elementwise_trunci, from, to, {x}, zero);
      if (from != Type::kI1 || width_of(to) > 1) check_kernel(elementwise_index_cast, from, to, {x}, sign);
      check_kernel(elementwise_index_castui, from, to, {x}, zero);
    }
}

TEST(cast_bitcast_and_f4) {
  std::mt19937_64 random(24);
  auto x = operands(Type::kF32, 777, random);
  check_kernel(elementwise_bitcast, Type::kF32, Type::kI32, {x}, x);
  auto p = operands(Type::kI64, 777, random);
  check_kernel(elementwise_bitcast, Type::kI64, Type::kPointer, {p}, p);
  uint8_t packed[3] = {0x10, 0x72, 0xfe};
  float out[6];
  unpack_f4(out, Type::kF32, packed, 3);
  float want[6] = {0.0f, 0.5f, 1.0f, 6.0f, -4.0f, -6.0f};
  CHECK(std::memcmp(out, want, sizeof out) == 0);
}
