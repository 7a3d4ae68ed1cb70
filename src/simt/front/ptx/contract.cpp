// Implements ContractedCode: keeps the factors of products that are contracted until their sums come.
#include "front/ptx/contract.h"

#include <triton_runner/ptx/alu.h>

#include "ops/move.h"

namespace triton_runner::simt {
namespace {

using ptx::Mod;

template <class T>
void flip_sign(Lanes& l, const Operands& in) {
  const T* a = l.reg<T>(in.a);
  T* d = l.reg<T>(in.d);
  const T sign = static_cast<T>(in.imm);
  for (uint32_t i = 0; i < l.count; ++i) d[i] = a[i] ^ sign;
}

Handler for_bytes(uint32_t bytes, Handler two, Handler four, Handler eight) {
  return bytes == 2 ? two : bytes == 4 ? four : eight;
}

bool is_pair(Mod type) { return type == Mod::kF16x2 || type == Mod::kBf16x2 || type == Mod::kF32x2; }

uint32_t minus(Lowering& l, uint32_t place, Mod type) {
  const uint32_t bytes = bytes_of(type), part = is_pair(type) ? bytes / 2 : bytes;
  uint64_t sign = uint64_t{1} << (part * 8 - 1);
  if (part < bytes) sign |= sign << part * 8;
  const uint32_t to = l.temporary(bytes);
  l.emit(for_bytes(bytes, flip_sign<uint16_t>, flip_sign<uint32_t>, flip_sign<uint64_t>),
         {.d = to, .a = place, .imm = static_cast<int64_t>(sign)});
  return to;
}

}  // namespace

ContractedCode::ContractedCode(const ptx::Function& f) : f_(f), divisors_(f) {
  for (const ptx::Contraction& c : ptx::contractions(f)) {
    sums_.emplace(c.add, c);
    if (c.moved) kept_.emplace(c.product, std::array<uint32_t, 2>{kNoRegister, kNoRegister});
  }
}

bool ContractedCode::lower(Lowering& l, const ptx::Instruction& in, uint32_t index) {
  if (kept_.contains(index)) keep_operands(l, in, index);
  if (in.opcode == ptx::Opcode::kDiv) return lower_division(l, in);
  const auto found = sums_.find(index);
  return found != sums_.end() && lower_sum(l, in, found->second);
}

void ContractedCode::keep_operands(Lowering& l, const ptx::Instruction& product, uint32_t index) {
  for (size_t k = 0; k < 2; ++k) {
    const ptx::Operand& o = product.operands[k + 1];
    if (o.kind != ptx::OperandKind::kRegister) continue;
    const uint32_t bytes = bytes_of(product.type(0)), place = l.reg(o), to = l.temporary(bytes);
    l.emit(copy_register(bytes), {.d = to, .a = place});
    kept_[index][k] = to;
  }
}

// The sum as an fma of what the product multiplies.
bool ContractedCode::lower_sum(Lowering& l, const ptx::Instruction& sum, const ptx::Contraction& c) {
  const ptx::Instruction& product = f_.body[c.product];
  const Mod type = sum.type(0);
  const auto reciprocal = divisors_.reciprocal(product);
  const auto operands = ptx::fused_operands(f_, c);
  const auto found = ptx::find_fused(l.module, f_, c, product.opcode == ptx::Opcode::kDiv && !reciprocal);
  if (!found) return false;
  const auto kept = kept_.find(c.product);
  const auto factor = [&](size_t k) {
    if (kept != kept_.end() && kept->second[k] != kNoRegister) return kept->second[k];
    if (k == 1 && reciprocal) return l.constant(*reciprocal, 4);
    return l.place(operands[k + 1], type);
  };
  uint32_t a = factor(0);
  const uint32_t b = factor(1);
  uint32_t addend = l.place(operands[3], type);
  if (c.minus_product) a = minus(l, a, type);
  if (c.minus_addend) addend = minus(l, addend, type);
  return l.emit(
      found->run,
      {.d = l.reg(sum.operands[0]), .a = a, .b = b, .c = addend, .small = found->small, .imm = found->imm});
}

bool ContractedCode::lower_division(Lowering& l, const ptx::Instruction& div) {
  const auto reciprocal = divisors_.reciprocal(div);
  if (!reciprocal) return false;
  const Mod mods[] = {Mod::kRn, div.has(Mod::kFtz) ? Mod::kFtz : Mod::kF32, Mod::kF32};
  ptx::Instruction product = div;
  product.opcode = ptx::Opcode::kMul;
  product.mods = div.has(Mod::kFtz) ? std::span<const Mod>(mods) : std::span<const Mod>(mods).first(2);
  const auto found = ptx::find_alu(l.module, f_, product);
  if (!found) return false;
  const uint32_t a = l.place(div.operands[1], Mod::kF32), b = l.constant(*reciprocal, 4);
  return l.emit(found->run,
                {.d = l.reg(div.operands[0]), .a = a, .b = b, .small = found->small, .imm = found->imm});
}

}  // namespace triton_runner::simt
