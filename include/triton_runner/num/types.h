// Has the element types: sizes, names, the scalar conversions between them, and the choice of instruction set.
//
// Scalar conversions are the specification: the SIMD kernels of elementwise.h and convert.h give the same
// bits.
//   float -> wider float   exact; NaN keeps sign and payload (f16, f32: made quiet)
//   float -> narrower      rounds as asked, subnormals kept; NaN becomes the target's canonical NaN as cvt
//   gives it on
//                          NVIDIA (f16 and bf16 0x7fff, e4m3 0x7f, e5m2 0x7f, fnuz 0x80, f32 from f64
//                          0x7fffffff); f4, f6 and fp8e4b15 have no NaN and give their largest value
//   overflow               f16, bf16, f32: infinity when rounding to nearest, the largest finite toward zero.
//                          fp8, f6, f4: the largest finite, infinities too (cvt.satfinite, which is what
//                          Triton emits on sm_89 and later); Overflow::kNonSaturating gives infinity, or NaN
//                          where there is none
//   float -> integer       toward zero; out of range gives the nearest bound (cvt.rzi saturates); i8 and i1
//   go through a
//                          16-bit cvt and keep its low bits, as Triton's code does. NaN gives 0, but from f64
//                          or to i64 the sign bit of the cvt's width (0x8000..., PTX ISA on cvt)
//   integer -> float       rounds to nearest even once, from the integer
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <triton_runner/num/type.h>

namespace triton_runner::num {

size_t size_of(Type type);  // bytes of storage of one element
int width_of(Type type);    // bits: 1, 4, 6, 8, 16, 32, 64 (tf32: 32)
bool is_float(Type type);
bool is_integer(Type type);             // i1 .. i64; not pointers
std::string_view type_name(Type type);  // MLIR's: "i32", "f8E4M3FN", "tf32"; "ptr"
std::optional<Type> parse_type(std::string_view name);

enum class Overflow : uint8_t { kAsHardware, kNonSaturating };

// Values travel as the element's bits, zero-extended.
double to_double(uint64_t bits, Type type);  // exact for every float type
uint64_t from_double(double value, Type type, Rounding rounding = Rounding::kNearestEven,
                     Overflow overflow = Overflow::kAsHardware);
uint64_t convert_float(uint64_t bits, Type from, Type to, Rounding rounding = Rounding::kNearestEven,
                       Overflow overflow = Overflow::kAsHardware);
uint64_t float_to_int(uint64_t bits, Type from, Type to, bool is_signed);
uint64_t int_to_float(uint64_t bits, Type from, bool is_signed, Type to);
int64_t sign_extend(uint64_t bits, Type type);     // of integer types; i1 true is -1
uint64_t truncate_bits(uint64_t bits, Type type);  // keeps the low width_of(type) bits
uint64_t load_bits(const void* element, Type type);
void store_bits(void* element, Type type, uint64_t bits);

// The instruction sets this machine has; kernels looked up without naming one come from current_isa().
bool isa_available(Isa isa);
Isa current_isa();  // the best available, or the forced one
bool force_isa(
    std::string_view name);  // "avx512", "avx2", "portable"; "" is the best; false: unknown or unavailable
bool limit_isa(
    std::string_view name);  // from here on as on a machine that has no better one; false: as above
std::string_view isa_name(Isa isa);

}  // namespace triton_runner::num
