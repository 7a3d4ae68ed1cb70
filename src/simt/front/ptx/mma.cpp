// Lowers mma.sync, and what products name: types, metadata of sparse matrices, scale factors of blocks. PTX
// ISA 9.7.14.3, 9.7.14.5, 9.7.14.6.
#include "matrix/mma.h"

#include <triton_runner/base/look_up.h>

#include "front/ptx/matrices.h"

namespace triton_runner::simt {

using num::MmaSum;
using num::MmaType;
using ptx::Mod;
using ptx::OperandKind;

namespace {

struct Shape {
  Mod mod;
  int m, n, k;
};
constexpr Shape kShapes[] = {
    {Mod::kM8N8K4, 8, 8, 4},       {Mod::kM8N8K16, 8, 8, 16},     {Mod::kM8N8K32, 8, 8, 32},
    {Mod::kM8N8K128, 8, 8, 128},   {Mod::kM16N8K4, 16, 8, 4},     {Mod::kM16N8K8, 16, 8, 8},
    {Mod::kM16N8K16, 16, 8, 16},   {Mod::kM16N8K32, 16, 8, 32},   {Mod::kM16N8K64, 16, 8, 64},
    {Mod::kM16N8K128, 16, 8, 128}, {Mod::kM16N8K256, 16, 8, 256},
};

}  // namespace

std::optional<MmaType> mma_type(Mod type, bool packed) {
  static constexpr std::pair<Mod, MmaType> kTypes[] = {
      {Mod::kF16, MmaType::kF16},   {Mod::kBf16, MmaType::kBF16}, {Mod::kTf32, MmaType::kTF32},
      {Mod::kE4m3, MmaType::kE4M3}, {Mod::kE5m2, MmaType::kE5M2}, {Mod::kE3m2, MmaType::kE3M2},
      {Mod::kE2m3, MmaType::kE2M3}, {Mod::kS8, MmaType::kS8},     {Mod::kU8, MmaType::kU8},
      {Mod::kS4, MmaType::kS4},     {Mod::kU4, MmaType::kU4},
  };
  if (type == Mod::kE2m1) return packed ? MmaType::kE2M1 : MmaType::kE2M1Byte;
  return base::look_up(kTypes, type);
}

std::optional<MmaSum> mma_sum(Mod type) {
  static constexpr std::pair<Mod, MmaSum> kSums[] = {
      {Mod::kF32, MmaSum::kF32}, {Mod::kF16, MmaSum::kF16}, {Mod::kS32, MmaSum::kS32}};
  return base::look_up(kSums, type);
}

bool lower_sparse(Lowering& l, const ptx::Instruction& in, const num::MmaPlan& plan, size_t* operand,
                  SparseA* out) {
  if (in.operands.size() < *operand + 2)
    return l.fail(in, "a sparse product needs metadata and a sparsity selector");
  out->metadata = l.place(in.operands[(*operand)++], Mod::kB32);
  int64_t selector = 0;
  const ptx::Operand& which = in.operands[(*operand)++];
  if (out->metadata == kNoRegister || !l.integer(which, &selector)) return false;
  const uint32_t lanes = sparse_lanes(plan);
  if (selector < 0 || selector >= 4 / lanes)
    return l.fail(which.offset, "the sparsity selector " + std::to_string(selector) +
                                    " names lanes that a quad does not have: " + std::to_string(lanes) +
                                    " hold the metadata of this product");
  out->selector = static_cast<uint32_t>(selector);
  return true;
}

namespace {

bool lower_scales(Lowering& l, const ptx::Instruction& in, const num::MmaPlan& plan, size_t operand,
                  BlockScales* out) {
  out->vectors = in.has(Mod::kScaleVec4X) ? 4 : in.has(Mod::kScaleVec2X) ? 2 : 1;
  if (!in.has(Mod::kScaleVec1X) && !in.has(Mod::kScaleVec2X) && !in.has(Mod::kScaleVec4X))
    out->vectors = in.has(Mod::kKindMxf4) ? 2 : in.has(Mod::kKindMxf4nvf4) ? 4 : 1;
  out->ue4m3 = in.type(4) == Mod::kUe4m3;
  out->groups = plan.scale == num::MmaScale::kGroups ? static_cast<uint32_t>(plan.k) / 16 : 0;
  out->a = l.place(in.operands[operand], Mod::kB32);
  out->b = l.place(in.operands[operand + 2], Mod::kB32);
  auto selectors = [&](const ptx::Operand& o, uint32_t* byte, uint32_t* thread) {
    if (o.kind != OperandKind::kVector || o.parts.size() != 2)
      return l.fail(o.offset, "expected {byte-id, thread-id} of the scale factors");
    *byte = l.place(o.parts[0], Mod::kU16);
    *thread = l.place(o.parts[1], Mod::kU16);
    return *byte != kNoRegister && *thread != kNoRegister;
  };
  return out->a != kNoRegister && out->b != kNoRegister &&
         selectors(in.operands[operand + 1], &out->a_byte, &out->a_thread) &&
         selectors(in.operands[operand + 3], &out->b_byte, &out->b_thread);
}

// Rows g and g + 8 are those of lanes 4 g + 2 t and 4 g + 2 t + 1 (t: thread-id of A, 0 or 1), column g that
// of lane 4 g + t (0 to 3). The factors are neighbouring bytes from byte-id on.
// Registers of an operand that each thread holds.
struct Counts {
  uint32_t a = 0, b = 0, sums = 0;
};

// The product of two types that tensor cores have models of; null, or why there is none.
const char* plan_product(const Lowering& l, const ptx::Instruction& in, Mma& m, Counts* counts) {
  const bool sparse = in.has(Mod::kSp) || in.has(Mod::kSpOrderedMetadata);
  const bool packed = in.has(Mod::kKindMxf4) || in.has(Mod::kKindMxf4nvf4);
  const auto a = mma_type(in.type(1), packed), b = mma_type(in.type(2), packed);
  const auto sum = mma_sum(in.type(0));
  if (!a || !b || !sum || (*a >= MmaType::kS8) != (*sum == MmaSum::kS32) ||
      num::mma_bits(*a) != num::mma_bits(*b))
    return "no tensor core multiplies these types";
  const num::MmaScale scale = !in.has(Mod::kBlockScale) ? num::MmaScale::kNone
                              : packed                  ? num::MmaScale::kGroups
                                                        : num::MmaScale::kPowers;
  for (int fast = 0; fast < 2; ++fast) {
    m.plan[fast] = num::MmaPlan(l.capability(), num::MmaUnit::kMma, *a, *b, *sum, m.k, fast != 0, scale);
    m.plan[fast].saturate = in.has(Mod::kSatfinite);
    m.plan[fast].sparse = sparse;
  }
  const int bits = num::mma_bits(*a);
  counts->a = static_cast<uint32_t>(m.m / 8 * m.k * bits / 128 / (sparse ? 2 : 1));
  counts->b = static_cast<uint32_t>(m.k * bits / 128);
  counts->sums = static_cast<uint32_t>(*sum == MmaSum::kF16 ? m.m / 8 : m.m / 4);
  // The rows of a warp's operands have 16 or 32 bytes.
  const int bytes = m.k * bits / (sparse ? 16 : 8);
  if ((bytes != 16 && bytes != 32) || (sparse && m.m != 16))
    return "no tensor core multiplies these types in this shape";
  return nullptr;
}

bool check_counts(Lowering& l, const ptx::Instruction& in, const MmaFragments& f, const Counts& want) {
  auto check = [&](const ptx::Operand& operand, const char* name, uint32_t have, uint32_t wanted) {
    return have == wanted ||
           l.fail(operand.offset, "'" + std::string(in.spelling) + "' has " + std::to_string(wanted) +
                                      " registers of " + name + ", there are " + std::to_string(have));
  };
  return check(in.operands[0], "D", f.d_count, want.sums) && check(in.operands[1], "A", f.a_count, want.a) &&
         check(in.operands[2], "B", f.b_count, want.b) && check(in.operands[3], "C", f.c_count, want.sums);
}

}  // namespace

bool lower_mma(Lowering& l, const ptx::Instruction& in) {
  auto refuse = [&](const char* why) { return l.fail(in, "'" + std::string(in.spelling) + "': " + why); };
  Mma m;
  for (const Shape& s : kShapes)
    if (in.has(s.mod)) {
      m.m = s.m;
      m.k = s.k;
    }
  if (m.k == 0) return refuse("this shape is not one of mma.sync");
  const Mod type = in.type(1);
  if (in.type(0) != in.type(3))
    return refuse(
        "results and accumulators of different types are those of sm_70's m8n8k4, which is not executed");
  if (type == Mod::kF16 && m.m == 8) return refuse("m8n8k4 of f16 is sm_70's, which is not executed");
  const Mod word = type == Mod::kF64 ? Mod::kF64 : Mod::kB32;
  MmaFragments& f = m.f;
  if (!lower_registers(l, in.operands[0], word, true, f.d, &f.d_count, 4) ||
      !lower_registers(l, in.operands[1], word, false, f.a, &f.a_count, 8) ||
      !lower_registers(l, in.operands[2], word, false, f.b, &f.b_count, 4) ||
      !lower_registers(l, in.operands[3], word, false, f.c, &f.c_count, 4))
    return false;
  Counts counts;
  Handler run = handler<run_mma>;
  if (type == Mod::kF64 || type == Mod::kB1) {
    const int row = type == Mod::kF64 ? 4 : 128;  // elements: a register of each of the four threads of a row
    run = type == Mod::kF64 ? handler<run_f64> : handler<run_b1>;
    m.is_xor = type == Mod::kB1 && in.has(Mod::kXor);
    counts = {static_cast<uint32_t>(m.m / 8 * m.k / row), static_cast<uint32_t>(m.k / row),
              static_cast<uint32_t>(m.m / 4)};
  } else if (const char* why = plan_product(l, in, m, &counts)) {
    return refuse(why);
  }
  if (counts.a == 0 || counts.b == 0) return refuse("no tensor core multiplies these types in this shape");
  if (!check_counts(l, in, f, counts)) return false;
  size_t next = 4;
  if (in.has(Mod::kSp) || in.has(Mod::kSpOrderedMetadata)) {
    m.sparse.emplace();
    if (!lower_sparse(l, in, m.plan[0], &next, &*m.sparse)) return false;
  }
  if (in.has(Mod::kBlockScale)) {
    m.scales.emplace();
    if (!lower_scales(l, in, m.plan[0], next, &*m.scales)) return false;
  }
  set_alone(m);
  return l.emit(run, {}, std::move(m));
}

}  // namespace triton_runner::simt
