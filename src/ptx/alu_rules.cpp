// Maps PTX's modifiers to variants, and PTX's names to those of the functions over lanes.
#include "alu_rules.h"

#include <algorithm>
#include <string_view>

namespace triton_runner::ptx {
namespace {

// The meaning of a modifier, by kind. Those that say what is so anyway (rn, lo, wrap, r) are in none.
template <class Value>
struct Meaning {
  Mod mod;
  Value value;
};
template <class Value, size_t n>
bool look_up(const Meaning<Value> (&rows)[n], Mod mod, Value* out) {
  for (const Meaning<Value>& row : rows)
    if (row.mod == mod) return *out = row.value, true;
  return false;
}

constexpr Meaning<Comparison> kComparisonMods[] = {
    {Mod::kEq, kCmpEq},   {Mod::kNe, kCmpNe},   {Mod::kLt, kCmpLt},   {Mod::kLe, kCmpLe},
    {Mod::kGt, kCmpGt},   {Mod::kGe, kCmpGe},   {Mod::kLo, kCmpLt},   {Mod::kLs, kCmpLe},
    {Mod::kHi, kCmpGt},   {Mod::kHs, kCmpGe},   {Mod::kEqu, kCmpEqu}, {Mod::kNeu, kCmpNeu},
    {Mod::kLtu, kCmpLtu}, {Mod::kLeu, kCmpLeu}, {Mod::kGtu, kCmpGtu}, {Mod::kGeu, kCmpGeu},
    {Mod::kNum, kCmpNum}, {Mod::kNan, kCmpNan},
};
constexpr Meaning<uint32_t> kCombinations[] = {
    {Mod::kAnd, kBoolAnd}, {Mod::kOr, kBoolOr}, {Mod::kXor, kBoolXor}};
constexpr Meaning<Variant> kVariants[] = {
    {Mod::kHi, kVHi},
    {Mod::kWide, kVWide},
    {Mod::kSat, kVSat},
    {Mod::kFtz, kVFtz},
    {Mod::kRelu, kVRelu},
    {Mod::kNaN, kVNan},
    {Mod::kXorsign, kVXorsign},
    {Mod::kAbs, kVAbs},
    {Mod::kCc, kVCarryOut},
    {Mod::kOob, kVOob},
    {Mod::kApprox, kVApprox},
    {Mod::kFull, kVFullRange},
    {Mod::kShiftamt, kVShiftAmount},
    {Mod::kL, kVLeft},
    {Mod::kClamp, kVClamp},
};
constexpr Meaning<Direction> kDirections[] = {
    {Mod::kRz, kZero}, {Mod::kRm, kDownward}, {Mod::kRp, kUpward}, {Mod::kRna, kNearestAway}};
constexpr Meaning<Direction> kIntegralDirections[] = {
    {Mod::kRni, kNearest}, {Mod::kRzi, kZero}, {Mod::kRmi, kDownward}, {Mod::kRpi, kUpward}};
constexpr Meaning<Permutation> kPermutationMods[] = {
    {Mod::kF4e, kPermuteForward4},  {Mod::kB4e, kPermuteBackward4},  {Mod::kRc8, kPermuteReplicate8},
    {Mod::kEcl, kPermuteClampLeft}, {Mod::kEcr, kPermuteClampRight}, {Mod::kRc16, kPermuteReplicate16}};
constexpr Meaning<FloatTest> kTests[] = {{Mod::kFinite, kTestFinite}, {Mod::kInfinite, kTestInfinite},
                                         {Mod::kNumber, kTestNumber}, {Mod::kNotanumber, kTestNotANumber},
                                         {Mod::kNormal, kTestNormal}, {Mod::kSubnormal, kTestSubnormal}};

void read(Mod m, Spec& s) {
  if (Variant v; look_up(kVariants, m, &v)) s.variant |= v;
  s.integral |= look_up(kIntegralDirections, m, &s.direction);
  look_up(kDirections, m, &s.direction);
  look_up(kPermutationMods, m, &s.permutation);
  look_up(kTests, m, &s.test);
  s.stochastic |= m == Mod::kRs;
  s.satfinite |= m == Mod::kSatfinite;
  s.scaled |= m == Mod::kScaledN2Ue8m0;
  s.is_pack |= m == Mod::kPack;
}

// For opcodes that compare: lo, hi, ls, hs are comparisons there, and, or, xor what they combine with.
bool read_comparison(Mod m, Spec& s) {
  if (Comparison c; look_up(kComparisonMods, m, &c)) return s.comparison = c, true;
  return look_up(kCombinations, m, &s.combine);
}

constexpr std::string_view kOperationNames[] = {
    "kNone",
#define OPERATION(name) #name,
#include <triton_runner/lanes/functions.def>
};
constexpr std::string_view kTypeNames[] = {
    "kNone",
    "kOther",
#define TYPE(name, ...) #name,
#include <triton_runner/lanes/types.def>
};
template <class Value, size_t n>
constexpr Value named(const std::string_view (&names)[n], std::string_view name, Value other) {
  for (size_t i = 0; i < n; ++i)
    if (names[i] == name) return static_cast<Value>(i);
  return other;
}
constexpr Operation kOperations[] = {
#define OP(name, ...) named(kOperationNames, #name, Operation::kNone),
#include <triton_runner/ptx/opcodes.def>
};
constexpr Type kTypes[] = {
#define TYPE(name, ...) named(kTypeNames, #name, Type::kOther),
#define MOD(name, text) Type::kNone,
#include <triton_runner/ptx/modifiers.def>
};

}  // namespace

Operation operation_of(Opcode opcode) { return kOperations[static_cast<size_t>(opcode)]; }
Type type_of(Mod type) { return kTypes[static_cast<size_t>(type)]; }
Mod mod_of(Type type) {
  return static_cast<Mod>(std::find(std::begin(kTypes), std::end(kTypes), type) - std::begin(kTypes));
}

Spec spec_of(const Instruction& in) {
  Spec s;
  s.types.fill(Mod::kNone);
  size_t types = 0;
  for (Mod m : in.mods) {
    if (is_type(m)) {
      if (types < s.types.size()) s.types[types++] = m;
    } else if (!row(in.opcode).compares || !read_comparison(m, s)) {
      read(m, s);
    }
  }
  if (in.does(Effect::kCarries)) s.variant |= kVCarryIn;
  if (s.direction != kNearest) s.variant |= kVDirected;
  return s;
}

Mod bits_type(int bits) {
  switch (bits) {
    case 1:
      return Mod::kPred;
    case 8:
      return Mod::kB8;
    case 16:
      return Mod::kB16;
    case 32:
      return Mod::kB32;
    case 64:
      return Mod::kB64;
    case 128:
      return Mod::kB128;
    default:
      return Mod::kNone;
  }
}

}  // namespace triton_runner::ptx
