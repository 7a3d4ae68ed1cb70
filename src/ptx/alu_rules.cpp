// Modifiers to variants, and the tables of every instruction set.
#include "alu_rules.h"

#include <algorithm>
#include <unordered_map>

#include <triton_runner/num/types.h>

namespace triton_runner::ptx {
namespace {

uint64_t key_of(Opcode op, Mod type, Mod type2, uint32_t variant) {
  return uint64_t(op) << 48 | uint64_t(type) << 38 | uint64_t(type2) << 28 | variant;
}

using Table = std::unordered_map<uint64_t, Handler>;

Table make_table(std::initializer_list<Rows> all) {
  Table table;
  for (const Rows& rows : all)
    for (size_t i = 0; i < rows.count; ++i) {
      const Row& r = rows.rows[i];
      table.emplace(key_of(r.op, r.type, r.type2, r.variant), r.run);
    }
  return table;
}

#define TABLE_OF(isa)                                                                                    \
  make_table({isa::int_rows(), isa::bit_rows(), isa::float_rows(), isa::approx_rows(), isa::half_rows(), \
              isa::compare_rows(), isa::move_rows(), video_rows()})
const Table& table() {
#if defined(__x86_64__) && !defined(NUM_PORTABLE)
  if (num::current_isa() == num::Isa::kAvx512) {
    static const Table avx512 = TABLE_OF(avx512);
    return avx512;
  }
  if (num::current_isa() == num::Isa::kAvx2) {
    static const Table avx2 = TABLE_OF(avx2);
    return avx2;
  }
#endif
  static const Table portable = TABLE_OF(portable);
  return portable;
}
#undef TABLE_OF

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
    {Mod::kFull, kVFull},
    {Mod::kShiftamt, kVShiftamt},
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

}  // namespace

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

Handler find_row(Opcode op, Mod type, Mod type2, uint32_t variant) {
  const Table& rows = table();
  auto found = rows.find(key_of(op, type, type2, variant));
  return found == rows.end() ? nullptr : found->second;
}

Handler sine_of_turns() { return find_row(Opcode::kSin, Mod::kF32, Mod::kNone, kVTurns); }
Handler cosine_of_turns() { return find_row(Opcode::kCos, Mod::kF32, Mod::kNone, kVTurns); }

CvtChoice choose_cvt(const CvtKey& key) {
#if defined(__x86_64__) && !defined(NUM_PORTABLE)
  if (num::current_isa() == num::Isa::kAvx512) return avx512::find_cvt(key);
  if (num::current_isa() == num::Isa::kAvx2) return avx2::find_cvt(key);
#endif
  return portable::find_cvt(key);
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
