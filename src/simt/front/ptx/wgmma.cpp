// Lowers wgmma. See PTX ISA 9.7.15.
#include "matrix/wgmma.h"

#include <cstdlib>

#include "front/ptx/matrices.h"

namespace triton_runner::simt {

using num::MmaSum;
using num::MmaType;
using ptx::Mod;
using ptx::OperandKind;

namespace {

bool lower_product(Lowering& l, const ptx::Instruction& in) {
  auto refuse = [&](const std::string& why) {
    return l.fail(in, "'" + std::string(in.spelling) + "': " + why);
  };
  const bool sparse = in.has(Mod::kSp);
  WgmmaProduct m;
  uint32_t named_k = 0;
  for (Mod mod : in.mods) {  // m64n128k16
    const std::string_view text = ptx::text(mod);
    if (!text.starts_with("m64n")) continue;
    char* rest = nullptr;
    m.n = static_cast<uint32_t>(std::strtoul(text.data() + 4, &rest, 10));
    named_k = static_cast<uint32_t>(std::strtoul(rest + 1, nullptr, 10));
  }
  const Mod d_type = in.type(0), a_type = in.type(1), b_type = in.type(2);
  m.b1 = a_type == Mod::kB1;
  const auto a = mma_type(a_type, false), b = mma_type(b_type, false);
  const auto sum = mma_sum(d_type);
  if (m.n == 0 || !sum || (!m.b1 && (!a || !b || num::mma_bits(*a) != num::mma_bits(*b))))
    return refuse("no tensor core multiplies these types");
  const uint32_t wide =
      m.b1 ? sparse ? 0 : 256 : (sparse ? 512 : 256) / static_cast<uint32_t>(num::mma_bits(*a));
  const bool integers = m.b1 || *a >= MmaType::kS8;
  if (named_k != wide || integers != (*sum == MmaSum::kS32) || (!m.b1 && num::mma_bits(*a) < 8))
    return refuse("no tensor core multiplies these types in this shape");
  const auto& o = in.operands;
  const uint32_t registers = m.n / (*sum == MmaSum::kF16 ? 4 : 2);
  m.d.resize(registers);
  uint32_t count = 0;
  if (!lower_registers(l, o[0], Mod::kB32, true, m.d.data(), &count, registers)) return false;
  if (count != registers)
    return l.fail(o[0].offset, "'" + std::string(in.spelling) + "' has " + std::to_string(registers) +
                                   " registers of D, there are " + std::to_string(count));
  m.a_in_registers = o[1].kind == OperandKind::kVector;
  if (m.a_in_registers) {
    if (!lower_registers(l, o[1], Mod::kB32, false, m.a, &count, 4)) return false;
    if (count != 4) return l.fail(o[1].offset, "A has 4 registers, there are " + std::to_string(count));
  } else {
    if (!l.place(o[1], Mod::kB64, &m.a_descriptor)) return false;
  }
  if (!l.place(o[2], Mod::kB64, &m.b_descriptor)) return false;
  // Metadata and selector of a sparse product; scale-d, then imm-scale-a, imm-scale-b, imm-trans-a (of a
  // descriptor), imm-trans-b.
  size_t next = 3;
  if (sparse) {
    m.sparse.emplace();
    num::MmaPlan plan;
    plan.a = *a, plan.k = static_cast<int>(wide);
    if (!lower_sparse(l, in, plan, &next, &*m.sparse)) return false;
  }
  if (o.size() > next) {
    m.scale_d = o[next].kind == OperandKind::kInteger ? l.constant(o[next].integer != 0 ? 0xff : 0, 1)
                                                      : l.place(o[next], Mod::kPred);
    if (m.scale_d == kNoRegister) return false;
  }
  int64_t immediates[4] = {1, 1, 0, 0};
  size_t at = 0;
  for (size_t i = next + 1; i < o.size() && at < 4; ++i, ++at) {
    if (at == 2 && m.a_in_registers) ++at;
    if (!l.integer(o[i], &immediates[at])) return false;
  }
  if (std::abs(immediates[0]) != 1 || std::abs(immediates[1]) != 1)
    return refuse("operands are scaled by 1 or -1");
  m.trans_a = immediates[2] != 0;
  m.trans_b = immediates[3] != 0;
  if ((m.trans_a || m.trans_b) && (m.b1 || num::mma_bits(*a) != 16))
    return refuse("only operands of 16 bits are transposed");
  const int k = m.b1 ? 0 : static_cast<int>(wide);
  for (int fast = 0; fast < 2 && !m.b1; ++fast) {
    num::MmaPlan& plan = m.plan[fast];
    plan = num::MmaPlan(l.capability(), num::MmaUnit::kWgmma, *a, *b, *sum, k, fast != 0);
    plan.saturate = in.has(Mod::kSatfinite);
    plan.sparse = sparse;
    plan.a_sign = static_cast<int>(immediates[0]);
    plan.b_sign = static_cast<int>(immediates[1]);
    plan.in_registers = plan.fast && !sparse && *sum == MmaSum::kF32 && plan.a_sign == 1 &&
                        plan.b_sign == 1 && plan.k <= num::kMmaMaxInRegisters;
  }
  m.joins = !m.b1 && !sparse && *sum == MmaSum::kF32 && m.plan[0].k % m.plan[0].block() == 0;
  if (m.b1)
    for (num::MmaPlan& plan : m.plan) plan.sum = MmaSum::kS32;
  m.at_once = l.early_uses().serialized;
  return l.emit<run_wgmma>(std::move(m));
}

}  // namespace

void lower_early_use(Lowering& l, std::span<const ptx::Instruction* const> products) {
  EarlyProducts early{{}, l.early_uses().surely};
  for (const ptx::Instruction* product : products) early.products.push_back(l.source(*product));
  l.emit<wgmma_early_use>(std::move(early));
}

bool lower_wgmma(Lowering& l, const ptx::Instruction& in) {
  if (in.has(Mod::kMmaAsync)) return lower_product(l, in);
  const bool wait = in.spelling.starts_with("wgmma.wait_group");
  const bool commit = in.spelling.starts_with("wgmma.commit_group");
  int64_t left = 0;
  if (wait && !l.integer(in.operands[0], &left)) return false;
  if (left < 0) return l.fail(in, "the number of groups that may stay unfinished is at least 0");
  return l.emit(wait     ? handler<wgmma_wait>
                : commit ? handler<wgmma_commit>
                         : handler<wgmma_fence>,
                {.imm = left});
}

}  // namespace triton_runner::simt
