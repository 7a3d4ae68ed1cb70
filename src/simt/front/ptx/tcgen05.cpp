// Lowers tcgen05 but for its products (tcgen05_mma.cpp). See PTX ISA 9.7.16.
#include "matrix/tcgen05.h"

#include <cstdlib>

#include <triton_runner/base/text.h>

#include "front/ptx/matrices.h"
#include "ops/barrier.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

bool lower_tensor_address(Lowering& l, const ptx::Operand& operand, TensorAddress* out) {
  Lowering::Address a;
  if (!l.address(operand, &a)) return false;
  if (a.variable || a.bytes != 4)
    return l.fail(operand.offset, "an address of tensor memory is a register of 32 bits");
  out->place = a.place;
  out->offset = static_cast<uint32_t>(a.offset);
  return true;
}

namespace {

bool lower_fold(Lowering& l, const ptx::Instruction& in, const std::vector<uint32_t>& registers) {
  const ptx::Operand& result = in.operands[1];
  TensorFold f;
  f.registers = registers;
  f.result = l.reg(parts_of(result).size() == 1 ? parts_of(result)[0] : result);
  if (f.result == kNoRegister)
    return l.fail(result.offset, "'" + std::string(in.spelling) + "' reduces to one register");
  f.is_float = in.has(Mod::kF32);
  const bool max = in.has(Mod::kMax), is_signed = in.has(Mod::kS32);
  f.op = f.is_float  ? max ? Redux::kMaxF : Redux::kMinF
         : is_signed ? max ? Redux::kMaxS : Redux::kMinS
         : max       ? Redux::kMaxU
                     : Redux::kMinU;
  f.nan = in.has(Mod::kNaN);
  if (in.has(Mod::kAbs)) f.keep = 0x7fffffff;
  return l.emit<tensor_fold>(std::move(f));
}

bool lower_transfer(Lowering& l, const ptx::Instruction& in, bool load) {
  TensorTransfer t;
  struct Row {
    Mod mod;
    TensorTransfer::Shape shape;
    uint32_t lanes, registers, columns;  // of .x1
  };
  constexpr Row kRows[] = {{Mod::k32x32b, TensorTransfer::k32x32, 32, 1, 1},
                           {Mod::k16x64b, TensorTransfer::k16x64, 16, 1, 2},
                           {Mod::k16x128b, TensorTransfer::k16x128, 16, 2, 4},
                           {Mod::k16x256b, TensorTransfer::k16x256, 16, 4, 8},
                           {Mod::k16x32bx2, TensorTransfer::k16x32x2, 16, 1, 1}};
  uint32_t times = 0, registers = 0;
  for (Mod mod : in.mods) {
    const std::string_view text = ptx::text(mod);
    if (text.size() > 1 && text[0] == 'x' && base::is_digit(text[1]))
      times = static_cast<uint32_t>(std::strtoul(text.data() + 1, nullptr, 10));
    for (const Row& row : kRows)
      if (row.mod == mod) {
        t.shape = row.shape;
        t.lanes = row.lanes;
        registers = row.registers;
        t.columns = row.columns;
      }
  }
  t.packed = in.has(Mod::kPack16b) || in.has(Mod::kUnpack16b);
  registers *= times;
  t.columns *= times * (t.packed ? 2 : 1);
  const bool split = t.shape == TensorTransfer::k16x32x2;
  const bool reduces = in.has(Mod::kRed);
  const size_t address = reduces ? 2 : load ? 1 : 0, values = load ? 0 : (split ? 2 : 1);
  if (in.operands.size() < (split ? 3u : 2u) + (reduces ? 1 : 0))
    return l.fail(in, "'" + std::string(in.spelling) + "' has too few operands");
  if (split) {
    int64_t offset = 0;
    if (!l.integer(in.operands[address + 1], &offset)) return false;
    t.split = static_cast<uint32_t>(offset);
    if (offset < 0 || offset > 512) return l.fail(in, "the halves are at most 512 columns apart");
  }
  t.registers.resize(registers);
  uint32_t count = 0;
  if (!lower_tensor_address(l, in.operands[address], &t.address) ||
      !lower_registers(l, in.operands[values], Mod::kB32, load, t.registers.data(), &count, registers))
    return false;
  if (count != registers)
    return l.fail(in.operands[values].offset, "'" + std::string(in.spelling) + "' takes " +
                                                  std::to_string(registers) + " registers, there are " +
                                                  std::to_string(count));
  l.emit(transfer_handler(load), {}, t);
  return !reduces || lower_fold(l, in, t.registers);
}

bool lower_tcgen05_copy(Lowering& l, const ptx::Instruction& in) {
  TensorCopy c;
  c.pair = in.has(Mod::kCtaGroup2);
  c.rows = in.has(Mod::k4x256b) ? 4 : in.has(Mod::k64x128b) ? 64 : in.has(Mod::k32x128b) ? 32 : 128;
  c.bytes = in.has(Mod::k128x256b) || in.has(Mod::k4x256b) ? 32 : 16;
  if (in.has(Mod::kWarpx4)) c.spread = TensorCopy::kAll;
  if (in.has(Mod::kWarpx2_02_13)) c.spread = TensorCopy::kWarps02;
  if (in.has(Mod::kWarpx2_01_23)) c.spread = TensorCopy::kWarps01;
  c.bits = in.has(Mod::kB6x16P32) ? 6 : in.has(Mod::kB4x16P64) ? 4 : 8;
  if (!lower_tensor_address(l, in.operands[0], &c.address)) return false;
  if (!l.place(in.operands[1], Mod::kB64, &c.descriptor)) return false;
  return l.emit<tensor_copy>(c);
}

}  // namespace

bool lower_tcgen05(Lowering& l, const ptx::Instruction& in) {
  const std::string_view what = in.spelling.substr(sizeof "tcgen05." - 1);
  auto is = [&](std::string_view name) {
    return what.starts_with(name) &&
           (what.size() == name.size() || what[name.size()] == '.' || what[name.size()] == ':');
  };
  if (is("mma")) return lower_tcgen05_mma(l, in);
  if (is("ld") || is("st")) return lower_transfer(l, in, is("ld"));
  if (is("cp")) return lower_tcgen05_copy(l, in);
  if (is("shift")) {
    TensorShift s;
    s.pair = in.has(Mod::kCtaGroup2);
    if (!lower_tensor_address(l, in.operands[0], &s.address)) return false;
    return l.emit<tensor_shift>(s);
  }
  if (is("wait") || is("fence")) return l.emit(nothing, {});
  if (is("relinquish_alloc_permit")) return l.emit<tensor_relinquish>();
  if (is("alloc") || is("dealloc")) {
    TensorAllocation a;
    if (!l.place(in.operands[1], Mod::kB32, &a.columns)) return false;
    if (is("alloc")) {
      if (!lower_matrix_address(l, in, in.operands[0], &a.address)) return false;
    } else {
      if (!l.place(in.operands[0], Mod::kB32, &a.tensor)) return false;
    }
    return l.emit(is("alloc") ? handler<tensor_alloc> : handler<tensor_dealloc>, {}, a);
  }
  if (is("commit")) {
    TensorCommit c;
    if (!lower_matrix_address(l, in, in.operands[0], &c.address)) return false;
    if (in.operands.size() > 1) {
      if (!l.place(in.operands[1], Mod::kB16, &c.mask)) return false;
    }
    return l.emit<tensor_commit>(c);
  }
  return l.fail(in, "the engine does not execute '" + std::string(in.spelling) + "'");
}

}  // namespace triton_runner::simt
