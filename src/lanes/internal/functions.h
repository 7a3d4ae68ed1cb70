// Finds the functions over lanes by what they compute, of which types, and how (rounding, saturation, the
// rule of NaNs).
//
//   find(Operation::kAdd, Type::kF32, Type::kNone, kVFtz | kVDirected)    f32, flushed, in the direction of Operands::small
//
// An instruction set has names of its own for them: ptx::find_alu goes from PTX's modifiers to these.
#pragma once
#include <cstddef>
#include <cstdint>

#include <triton_runner/lanes/lanes.h>
#include <triton_runner/num/enums.h>

namespace triton_runner::lanes {

enum class Operation : uint8_t {
  kNone,
#define OPERATION(name) name,
#include <triton_runner/lanes/functions.def>
};

// kOther stands for a type that no function has.
enum class Type : uint8_t {
  kNone,
  kOther,
#define TYPE(name, ...) name,
#include <triton_runner/lanes/types.def>
};
int bits(Type type);
bool is_float(Type type);
bool is_signed(Type type);

// How a function computes, where that takes another function; the rest is data in Operands::small. Without kVFtz subnormals
// are kept; without kVNan, of minimum and maximum, a number wins over a NaN. NaNs are NVIDIA's (simd/floats.h): another rule
// is another bit here.
//
// The bits from kVLast to kComparisonShift are free; the four above hold the comparison of setp's plain form. A key of the
// table keeps kVariantBits bits: one more would collide with a type (functions.cpp checks it).
enum Variant : uint32_t {
  kVLow = 0,  // the low half of a product; not a bit, but the absence of kVHi and kVWide
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
  kVFullRange = 1u << 11,    // div.full: approximate, for divisors of every size
  kVOob = 1u << 12,          // fma.oob: the value that marks what is out of bounds makes the result zero
  kVAbs = 1u << 13,          // min and max of absolute values
  kVShiftAmount = 1u << 14,  // bfind: by how much to shift left so that the bit found is the highest
  kVLeft = 1u << 15,         // shf to the left; mov that packs parts into a register, which kVHi unpacks
  kVClamp = 1u << 16,
  kVThree = 1u << 17,    // three operands where two are usual (min, max)
  kVGeneral = 1u << 18,  // comparisons: with a second result, a boolean, or flushed operands
  kVPair = 1u << 19,     // lop3 with a predicate result
  kVTurns = 1u << 20,    // sin and cos of an argument in turns, as the unit has it
  kVLast = kVTurns,
};
// Row::variant of setp's plain form holds the comparison from this bit on, in four bits.
inline constexpr uint32_t kComparisonShift = 24, kVariantBits = kComparisonShift + 4;
static_assert(kVLast < 1u << kComparisonShift);

// Operands::small holds directions of rounding and comparisons as num numbers them.
using num::Direction, num::Comparison;
using enum num::Direction;
using enum num::Comparison;

// The modes of prmt, as Operands::small holds them.
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

// The question of testp, as Operands::small holds it.
enum FloatTest : uint32_t {
  kTestFinite,
  kTestInfinite,
  kTestNumber,
  kTestNotANumber,
  kTestNormal,
  kTestSubnormal
};

// Operands::small of lop3 with a predicate result has this bit above the table where the result is combined by or; else it
// is combined by and.
inline constexpr uint32_t kLop3Or = 1u << 8;
// Operands::small of cvt.pack has these above the bits of the result's type.
inline constexpr uint32_t kPackToSigned = 1u << 8, kPackFromSigned = 1u << 9;

// Operands::small of a comparison holds the comparison, how it is combined with the predicate c, and whether
// operands are flushed.
inline constexpr uint32_t kCmpMask = 15, kBoolShift = 4, kBoolNone = 0, kBoolAnd = 1, kBoolOr = 2,
                          kBoolXor = 3;
inline constexpr uint32_t kCmpFtz = 1u << 7;

// Chooses a conversion. The bytes are those of the registers, which may be wider than the types.
struct CvtKey {
  Type to, from;
  uint32_t to_bytes, from_bytes;
  Direction direction;
  bool integral, ftz, sat, satfinite, relu;
};
// The conversion, and what it wants in Operands::small and imm.
struct CvtChoice {
  Handler run = nullptr;
  uint32_t small = 0;
  int64_t imm = 0;
};

// A function over lanes for one instruction, and what it wants in Operands::small, imm and data. The places d, a, b, c and e
// of Operands take the operands of the instruction that `operands` says.
struct LaneFunction {
  Handler run = nullptr;
  uint32_t small = 0;
  int64_t imm = 0;
  // The places d, a, b, c and e take these operands of the instruction, by number. kNoOperand: the place takes none; kCarry:
  // it takes the thread's carry, a predicate. The caller inverts a negated predicate.
  static constexpr int8_t kNoOperand = -1, kCarry = -2;
  int8_t operands[5] = {-1, -1, -1, -1, -1};
  // The type in which an immediate at d, a, b, c, e is stored; kNone for registers only.
  Type types[5] = {Type::kNone, Type::kNone, Type::kNone, Type::kNone, Type::kNone};
  int8_t extra = kNoOperand;  // the number of a sixth operand, whose place goes into imm
  Type extra_type = Type::kPred;
};

// Returns the function for the current instruction set (num::current_isa); null if there is none. Where one type does not
// tell functions apart, type2 does.
Handler find(Operation operation, Type type, Type type2 = Type::kNone, uint32_t variant = 0);
CvtChoice find_cvt(const CvtKey& key);

}  // namespace triton_runner::lanes
