// mov of what is not a register of its own (special registers, addresses), cvta, isspacep. PTX ISA 9.7.9.3,
// 9.7.9.19, 9.7.9.20.
#include <algorithm>
#include <cstring>

#include "ptx/lower.h"
#include "memory.h"
#include "ptx/special.h"

namespace triton_runner::simt {
namespace {

template <class T>
void copy(Lanes& l, const Operands& in) {
  T* d = l.reg<T>(in.d);
  const T* a = l.reg<T>(in.a);
  if (!l.mask) {
    std::memmove(d, a, sizeof(T) * l.count);
    return;
  }
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.mask[i]) d[i] = a[i];
}

Handler copy_of(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return copy<uint8_t>;
    case 2:
      return copy<uint16_t>;
    case 4:
      return copy<uint32_t>;
    case 8:
      return copy<uint64_t>;
    default:
      return copy<unsigned __int128>;
  }
}

uint32_t bytes_of(ptx::Mod type) { return static_cast<uint32_t>(std::max(1, ptx::bits(type) / 8)); }

template <class From, class To>
void add_window(Lanes& l, const Operands& in) {
  const From* a = l.reg<From>(in.a);
  To* d = l.reg<To>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = static_cast<To>(static_cast<uint64_t>(a[i]) | static_cast<uint64_t>(in.imm));
}
void drop_window(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = a[i] & ~static_cast<uint64_t>(in.imm);
}

// imm: the window; small: 1 for "any host address".
void is_space(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  int8_t* d = l.reg<int8_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    const uint64_t window = a[i] & kWindowMask;
    const bool host = window != kSharedWindow && window != kLocalWindow;
    bool is = in.small ? host : window == static_cast<uint64_t>(in.imm);
    if (is && in.e) is = static_cast<uint32_t>(a[i]) >> kRankShift == exec_of(l).cta->rank;
    d[i] = is ? -1 : 0;
  }
}

// From an address of .param to a generic one.
void param_to_generic(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = a[i] < kParamBase ? kLocalWindow | a[i] : param_address(exec_of(l), a[i]);
}
// And back.
void generic_to_param(Lanes& l, const Operands& in) {
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint64_t* d = l.reg<uint64_t>(in.d);
  const uint64_t base = param_address(exec_of(l), kParamBase);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = (a[i] & kWindowMask) == kLocalWindow ? a[i] & ~kWindowMask : a[i] - base + kParamBase;
}

uint64_t window_of(const ptx::Instruction& in) {
  using ptx::Mod;
  if (in.has(Mod::kShared) || in.has(Mod::kSharedCta) || in.has(Mod::kSharedCluster)) return kSharedWindow;
  return in.has(Mod::kLocal) ? kLocalWindow : 0;  // global and const: host addresses
}

bool lower_cvta(Lowering& l, const ptx::Instruction& in) {
  const uint64_t window = window_of(in);
  const ptx::Mod type = in.type(0);
  uint32_t a = l.place(in.operands[1], type), d = l.reg(in.operands[0]);
  const uint32_t bytes = bytes_of(type);
  Handler run = copy_of(bytes);
  if (window && in.has(ptx::Mod::kTo))
    run = bytes == 8 ? drop_window : copy<uint32_t>;
  else if (window)
    run = bytes == 8 ? add_window<uint64_t, uint64_t> : copy<uint32_t>;
  if (bytes == 8 && in.has(ptx::Mod::kParam))
    run = in.has(ptx::Mod::kTo) ? generic_to_param : param_to_generic;
  Instr& i = l.emit(run);
  i.d = d, i.a = a;
  i.imm = static_cast<int64_t>(in.has(ptx::Mod::kTo) ? kWindowMask : window);
  return true;
}

}  // namespace

Handler copy_register(uint32_t bytes) { return copy_of(bytes); }

bool lower_move(Lowering& l, const ptx::Instruction& in) {
  if (in.opcode == ptx::Opcode::kCvta) return lower_cvta(l, in);
  if (in.opcode == ptx::Opcode::kIsspacep) {
    const uint64_t window = window_of(in);
    uint32_t a = l.place(in.operands[1], ptx::Mod::kU64), d = l.reg(in.operands[0]);
    Instr& i = l.emit(is_space);
    i.d = d, i.a = a;
    i.imm = static_cast<int64_t>(window);
    i.small = window == 0;
    i.e = in.has(ptx::Mod::kShared) || in.has(ptx::Mod::kSharedCta);
    return true;
  }
  const ptx::Operand &to = in.operands[0], &from = in.operands[1];
  if (to.kind == ptx::OperandKind::kVector || from.kind == ptx::OperandKind::kVector) return lower_alu(l, in);
  if (to.kind != ptx::OperandKind::kRegister) return l.error(to.offset, "expected a register");
  // As wide as the register: `mov.u32 %r1, %tid.x` into 32 bits, `mov.b64 %rd1, name` into 64.
  const uint32_t bytes = bytes_of(l.declared(to).type);
  if (from.kind == ptx::OperandKind::kSpecial && read_special(l, from.special, bytes, l.reg(to))) return true;
  const bool number = from.kind == ptx::OperandKind::kInteger || from.kind == ptx::OperandKind::kFloat;
  const bool as_written = number && bytes_of(in.type(0)) == bytes;
  const uint32_t a = l.place(from, from.kind == ptx::OperandKind::kRegister  ? l.declared(from).type
                                   : as_written || ptx::is_float(in.type(0)) ? in.type(0)
                                                                             : l.declared(to).type);
  if (from.kind == ptx::OperandKind::kRegister && bytes_of(l.declared(from).type) != bytes)
    return l.error(in, "mov between registers of different sizes");
  uint32_t d = l.reg(to);
  Instr& i = l.emit(copy_of(bytes));
  i.d = d, i.a = a;
  return true;
}

}  // namespace triton_runner::simt
