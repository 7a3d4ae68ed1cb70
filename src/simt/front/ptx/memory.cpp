// Lowers ld and st in all state spaces. See PTX ISA 9.7.9.8 to 9.7.9.12. st.async is in store_async.cpp.
#include "ops/memory.h"

#include <cstdlib>
#include <string>

#include <triton_runner/base/text.h>

#include "front/ptx/addresses.h"
#include "front/ptx/async.h"
#include "front/ptx/listing.h"
#include "ops/move.h"

namespace triton_runner::simt {
namespace {

using ptx::Mod;

Space space_of(const ptx::Instruction& in) {
  if (in.has(Mod::kGlobal) || in.has(Mod::kConst)) return Space::kGlobal;
  if (is_in_shared(in)) return Space::kShared;
  if (in.has(Mod::kLocal)) return Space::kLocal;
  if (in.has(Mod::kParam) || in.has(Mod::kParamEntry) || in.has(Mod::kParamFunc)) return Space::kParam;
  return Space::kGeneric;
}

Space space_of(const ptx::Variable& v, Space otherwise) {
  switch (v.space) {
    case ptx::Space::kShared:
      return Space::kShared;
    case ptx::Space::kLocal:
      return Space::kLocal;
    case ptx::Space::kParam:
      return Space::kParam;
    case ptx::Space::kGlobal:
    case ptx::Space::kConst:
      return Space::kGlobal;
    case ptx::Space::kGeneric:
      return Space::kGeneric;
    default:
      return otherwise;
  }
}

// Returns a bit for each byte of a load that is used, where the pragma before it says so (PTX ISA 12): LLVM makes loads so wide
// that they reach past the end of an array.
uint32_t used_bytes(const ptx::Module& module, const ptx::Instruction& in) {
  constexpr std::string_view kPragma = ".pragma \"used_bytes_mask ";
  std::string_view before = module.text().substr(0, in.offset), line;
  do {
    before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);
    line = base::trimmed(before.substr(before.rfind('\n') + 1));
    before.remove_suffix(line.size());
  } while (line.starts_with(".loc"));
  if (!line.starts_with(kPragma)) return ~0u;
  const auto mask =
      static_cast<uint32_t>(std::strtoul(std::string(line.substr(kPragma.size())).c_str(), nullptr, 0));
  return mask ? mask : ~0u;
}

// The registers of a load or store, all of one size.
bool access_registers(Lowering& l, const ptx::Instruction& in, const ptx::Operand& value, Access& a) {
  const auto parts = parts_of(value);
  if (parts.size() > kMaxWords) return l.fail(value.offset, "a vector has at most 8 elements");
  a.words = static_cast<uint32_t>(parts.size());
  a.reg_bytes = a.word_bytes;
  bool known = false;
  for (const ptx::Operand& p : parts) {
    if (p.kind != ptx::OperandKind::kRegister) continue;
    const int bits = ptx::bits(l.declared(p).type);
    if (bits < 8 || bits < static_cast<int>(a.word_bytes) * 8)
      return l.fail(p.offset, "the register " + std::string(l.declared(p).name) + " has " +
                                  std::to_string(bits) + " bits; the access has " +
                                  std::to_string(a.word_bytes * 8));
    if (known && a.reg_bytes != static_cast<uint32_t>(bits) / 8)
      return l.fail(p.offset, "the registers of a vector are of one size");
    a.reg_bytes = static_cast<uint32_t>(bits) / 8;
    known = true;
  }
  // A number beside registers is as wide as they are: st.v2.b8 [a], {%rs1, 0}.
  const Mod number = a.reg_bytes == a.word_bytes ? in.type(0)
                     : a.reg_bytes == 2          ? Mod::kB16
                     : a.reg_bytes == 4          ? Mod::kB32
                                                 : Mod::kB64;
  for (uint32_t k = 0; k < a.words; ++k) {
    const ptx::Operand& p = parts[k];
    if (p.kind == ptx::OperandKind::kSink)
      a.regs[k] = kNoRegister;
    else
      a.regs[k] = l.place(p, p.kind == ptx::OperandKind::kRegister ? in.type(0) : number);
  }
  return true;
}

bool lower_access(Lowering& l, const ptx::Instruction& in, bool write) {
  const ptx::Operand &value = in.operands[write ? 1 : 0], &where = in.operands[write ? 0 : 1];
  Access a;
  const Mod type = in.type(0);
  a.word_bytes = static_cast<uint32_t>(ptx::bits(type)) / 8;
  a.is_signed = ptx::is_signed(type);
  a.strong = is_strong(in);
  a.space = space_of(in);
  a.tables = &simd_tables(num::current_isa());
  if (!access_registers(l, in, value, a)) return false;
  if (!write) a.used = used_bytes(l.module, in);
  if ((a.words & (a.words - 1)) || a.bytes() > 32)
    return l.fail(in, "a vector access has 1, 2, 4 or 8 elements and at most 32 bytes");
  Lowering::Address address;
  if (!l.address(where, &address)) return false;
  a.offset = address.offset;
  a.address_bytes = address.bytes;
  Handler run = nullptr;
  if (address.variable) {
    uint32_t offset = 0;
    const ptx::Variable& v = *address.variable;
    if (l.is_entry_param(v, &offset)) {
      if (write || a.word_bytes > 8)
        return l.fail(in, "the parameters of a kernel may only be read, up to 64 bits at a time");
      const uint64_t begin = static_cast<uint64_t>(address.offset) + offset;
      if (begin > l.code.param_bytes || a.bytes() > l.code.param_bytes - begin)
        return l.fail(in, std::to_string(a.bytes()) + " bytes at " + std::to_string(address.offset) +
                              " are not in parameter '" + std::string(v.name) + "'");
      a.offset = static_cast<int64_t>(begin);
      run = handler<load_param>;
    } else {
      // The variable's address is a constant; it also says which space this is.
      ptx::Operand name;
      name.kind = ptx::OperandKind::kVariable;
      name.variable = &v;
      name.offset = where.offset;
      a.space = space_of(v, a.space);
      const bool narrow = v.space == ptx::Space::kShared;
      address.place = l.place(name, narrow ? Mod::kB32 : Mod::kB64);
      a.address_bytes = narrow ? 4 : 8;
      if (address.place == kNoRegister) return false;
    }
  }
  const bool in_global = a.space != Space::kShared && a.space != Space::kLocal && a.space != Space::kParam;
  if (!run && in_global && a.address_bytes == 4) return l.fail(in, "global memory has addresses of 64 bits");
  if (!run) run = access_handler(a, write);
  return l.emit(run, {.a = address.place}, a);
}

}  // namespace

bool lower_memory(Lowering& l, const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::kLd:
    case ptx::Opcode::kLdu:
      return lower_access(l, in, false);
    case ptx::Opcode::kSt:
      if (in.has(Mod::kAsync)) return lower_store_async(l, in);
      return lower_access(l, in, true);
    case ptx::Opcode::kCreatepolicy: {
      // A cache policy is a number that only hints look at.
      uint32_t zero = l.constant(0, 8), d = l.reg(in.operands[0]);
      return l.emit(copy_register(8), {.d = d, .a = zero});
    }
    default:  // prefetch, discard, applypriority: hints
      return lower_hint(l, in);
  }
}

}  // namespace triton_runner::simt
