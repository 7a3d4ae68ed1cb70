// The table from an opcode, its types and its variant to the function that does it: rows stand in simd/*.cpp,
// each beside its formula.
#pragma once
#include <cstddef>
#include <cstdint>

#include <triton_runner/num/enums.h>
#include <triton_runner/ptx/lanes.h>
#include <triton_runner/ptx/opcode.h>

namespace triton_runner::ptx {

// Modifiers that choose another function; the others are data in Operands::small.
enum Variant : uint32_t {
  kVLo = 0,
  kVHi = 1u << 0,
  kVWide = 1u << 1,
  kVSat = 1u << 2,
  kVFtz = 1u << 3,
  kVDirected = 1u << 4,  // rounds otherwise than to nearest even; small: Direction
  kVRelu = 1u << 5,
  kVNan = 1u << 6,
  kVXorsign = 1u << 7,
  kVCarryIn = 1u << 8,
  kVCarryOut = 1u << 9,
  kVApprox = 1u << 10,
  kVFull = 1u << 11,
  kVOob = 1u << 12,
  kVAbs = 1u << 13,
  kVShiftamt = 1u << 14,
  kVLeft = 1u << 15,
  kVClamp = 1u << 16,
  kVThree = 1u << 17,    // three operands where two are usual (min, max)
  kVGeneral = 1u << 18,  // comparisons: with a second result, a boolean, or flushed operands
  kVPair = 1u << 19,     // lop3 with a predicate result
  kVTurns = 1u << 20,    // sin and cos of an argument in turns, as the unit has it
};

// In Operands::small: rounding, comparisons.
using num::Direction, num::Comparison;
using enum num::Direction;
using enum num::Comparison;

// The modes of prmt, as in Operands::small.
enum Permutation : uint32_t {
  kPermuteBytes,        // each nibble of c chooses a byte; the others take two bits of c
  kPermuteForward4,     // f4e
  kPermuteBackward4,    // b4e
  kPermuteReplicate8,   // rc8
  kPermuteClampLeft,    // ecl
  kPermuteClampRight,   // ecr
  kPermuteReplicate16,  // rc16
  kPermutations
};

// The question of testp, as in Operands::small.
enum FloatTest : uint32_t {
  kTestFinite,
  kTestInfinite,
  kTestNumber,
  kTestNotANumber,
  kTestNormal,
  kTestSubnormal
};

// In Operands::small of lop3 with a predicate result, above the table: it is combined by or, else by and.
inline constexpr uint32_t kLop3Or = 1u << 8;
// In Operands::small of cvt.pack, above the bits of the result's type.
inline constexpr uint32_t kPackToSigned = 1u << 8, kPackFromSigned = 1u << 9;

// In Row::variant of setp, the comparison of the plain form.
inline constexpr uint32_t kComparisonShift = 24;
// Operands::small of a comparison: the comparison, how it is combined with the predicate c, and whether
// operands are flushed.
inline constexpr uint32_t kCmpMask = 15, kBoolShift = 4, kBoolNone = 0, kBoolAnd = 1, kBoolOr = 2,
                          kBoolXor = 3;
inline constexpr uint32_t kCmpFtz = 1u << 7;

struct Row {
  Opcode op;
  Mod type;
  Mod type2;  // kNone where one type says it all
  uint32_t variant;
  Handler run;
};
// `type2` where one type does not say it all.
#define ROW_OF(op, type, type2, variant, ...) \
  Row { Opcode::op, Mod::type, Mod::type2, (variant), __VA_ARGS__ }
#define ROW(op, type, variant, ...) ROW_OF(op, type, kNone, variant, __VA_ARGS__)
struct Rows {
  const Row* rows;
  size_t count;
};

// How a conversion is chosen: bytes of the registers are of their declared types, which may be wider than the
// types that the instruction names.
struct CvtKey {
  Mod to, from;
  uint32_t to_bytes, from_bytes;
  Direction direction;
  bool integral, ftz, sat, satfinite, relu;
};
struct CvtChoice {
  Handler run = nullptr;
  uint32_t small = 0;
  int64_t imm = 0;
};

#define PTX_TABLES(isa)                  \
  namespace isa {                        \
  Rows int_rows();                       \
  Rows bit_rows();                       \
  Rows approx_rows();                    \
  Rows float_rows();                     \
  Rows half_rows();                      \
  Rows compare_rows();                   \
  Rows move_rows();                      \
  CvtChoice find_cvt(const CvtKey& key); \
  }
PTX_TABLES(portable)
#if defined(__x86_64__)
PTX_TABLES(avx2)
PTX_TABLES(avx512)
#endif
#undef PTX_TABLES
Rows video_rows();

}  // namespace triton_runner::ptx
