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
#if defined(__x86_64__)
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

// Of opcodes that compare: lo, hi, ls, hs are comparisons there, and, or, xor what they combine with.
bool read_comparison(Mod m, Spec& s) {
  switch (m) {
#define CASE(mod, value)  \
  case Mod::mod:          \
    s.comparison = value; \
    return true;
    CASE(kEq, kCmpEq)
    CASE(kNe, kCmpNe)
    CASE(kLt, kCmpLt)
    CASE(kLe, kCmpLe)
    CASE(kGt, kCmpGt)
    CASE(kGe, kCmpGe)
    CASE(kLo, kCmpLt)
    CASE(kLs, kCmpLe)
    CASE(kHi, kCmpGt)
    CASE(kHs, kCmpGe)
    CASE(kEqu, kCmpEqu)
    CASE(kNeu, kCmpNeu)
    CASE(kLtu, kCmpLtu)
    CASE(kLeu, kCmpLeu)
    CASE(kGtu, kCmpGtu)
    CASE(kGeu, kCmpGeu)
    CASE(kNum, kCmpNum)
    CASE(kNan, kCmpNan)
#undef CASE
    case Mod::kAnd:
      s.combine = kBoolAnd;
      return true;
    case Mod::kOr:
      s.combine = kBoolOr;
      return true;
    case Mod::kXor:
      s.combine = kBoolXor;
      return true;
    default:
      return false;
  }
}

void read(Mod m, Spec& s) {
  switch (m) {
    case Mod::kRn:
      break;
    case Mod::kRz:
      s.direction = kZero;
      break;
    case Mod::kRm:
      s.direction = kDownward;
      break;
    case Mod::kRp:
      s.direction = kUpward;
      break;
    case Mod::kRna:
      s.direction = kNearestAway;
      break;
    case Mod::kRs:
      s.stochastic = true;
      break;
    case Mod::kRni:
      s.integral = true;
      break;
    case Mod::kRzi:
      s.integral = true, s.direction = kZero;
      break;
    case Mod::kRmi:
      s.integral = true, s.direction = kDownward;
      break;
    case Mod::kRpi:
      s.integral = true, s.direction = kUpward;
      break;
    case Mod::kSatfinite:
      s.satfinite = true;
      break;
    case Mod::kScaledN2Ue8m0:
      s.scaled = true;
      break;
    case Mod::kPack:
      s.is_pack = true;
      break;
#define CASE(mod, bit) \
  case Mod::mod:       \
    s.variant |= bit;  \
    break;
      CASE(kHi, kVHi)
      CASE(kWide, kVWide)
      CASE(kSat, kVSat)
      CASE(kFtz, kVFtz)
      CASE(kRelu, kVRelu)
      CASE(kNaN, kVNan)
      CASE(kXorsign, kVXorsign)
      CASE(kAbs, kVAbs)
      CASE(kCc, kVCarryOut)
      CASE(kApprox, kVApprox)
      CASE(kFull, kVFull)
      CASE(kOob, kVOob)
      CASE(kShiftamt, kVShiftamt)
      CASE(kL, kVLeft)
      CASE(kClamp, kVClamp)
#undef CASE
#define CASE(mod, value)   \
  case Mod::mod:           \
    s.permutation = value; \
    break;
      CASE(kF4e, kPermuteForward4)
      CASE(kB4e, kPermuteBackward4)
      CASE(kRc8, kPermuteReplicate8)
      CASE(kEcl, kPermuteClampLeft)
      CASE(kEcr, kPermuteClampRight)
      CASE(kRc16, kPermuteReplicate16)
#undef CASE
#define CASE(mod, value) \
  case Mod::mod:         \
    s.test = value;      \
    break;
      CASE(kFinite, kTestFinite)
      CASE(kInfinite, kTestInfinite)
      CASE(kNumber, kTestNumber)
      CASE(kNotanumber, kTestNotANumber)
      CASE(kNormal, kTestNormal)
      CASE(kSubnormal, kTestSubnormal)
#undef CASE
    default:
      break;  // those that say what is so anyway: lo, wrap, r
  }
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

CvtChoice choose_cvt(const CvtKey& key) {
#if defined(__x86_64__)
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
