// Lowers calls: the callee's instructions stand in place of the call, with registers of its own (routine.cpp
// has those of functions that call themselves). Arguments and results are registers (.reg) or lie in the
// thread's local memory (.param), on the caller's side and on the callee's independently. See PTX ISA 7.1,
// 9.7.12.5.
#include <cstring>

#include <triton_runner/num/by_size.h>

#include "front/ptx/builtin.h"
#include "front/ptx/frame.h"
#include "front/ptx/lower.h"
#include "ops/move.h"

namespace triton_runner::simt {
namespace {

constexpr uint32_t kDeepestCall = 64;

// The address of a thread's frame is in its local memory.
uint64_t frame_of(const Exec& x, const Operands& in, uint32_t lane) {
  const uint64_t thread = uint64_t{x.first + lane} * x.code().local_bytes;
  return thread + (in.b == kNoRegister ? 0 : x.reg<uint64_t>(in.b)[lane]);
}

// imm: the offset in each thread's frame, which b says.
template <class T>
void store_local(Exec& x, const Operands& in) {
  const T* a = x.reg<T>(in.a);
  for (uint32_t i : x.lanes()) std::memcpy(x.cta->local + frame_of(x, in, i) + in.imm, a + i, sizeof(T));
}
template <class T>
void load_local(Exec& x, const Operands& in) {
  T* d = x.reg<T>(in.d);
  for (uint32_t i : x.lanes()) std::memcpy(d + i, x.cta->local + frame_of(x, in, i) + in.imm, sizeof(T));
}

template <class T>
Handler local_access(bool store) {
  return store ? handler<store_local<T>> : handler<load_local<T>>;
}
Handler local_access(bool store, uint32_t bytes) {
  if (bytes == 16) return local_access<unsigned __int128>(store);
  return num::by_size(bytes, [&](auto zero) { return local_access<decltype(zero)>(store); });
}

bool in_memory(const ptx::Operand& actual) { return actual.kind == ptx::OperandKind::kVariable; }

uint32_t formal_bytes(const ptx::Variable& formal) { return bytes_of(formal.type); }

}  // namespace

bool Lowering::fits(const ptx::Variable& formal, const ptx::Operand& actual, bool is_result) const {
  return fits(*frame_->function, formal, actual, is_result);
}

bool Lowering::fits(const ptx::Function& caller, const ptx::Variable& formal, const ptx::Operand& actual,
                    bool is_result) const {
  uint32_t ignored;
  switch (actual.kind) {
    case ptx::OperandKind::kVariable:
      return actual.variable->space == ptx::Space::kParam && actual.variable->bytes == formal.bytes &&
             !is_entry_param(*actual.variable, &ignored);
    case ptx::OperandKind::kRegister:
      return !formal.is_array && ptx::bits(caller.registers[actual.reg].type) == ptx::bits(formal.type);
    case ptx::OperandKind::kSink:
      return is_result;
    case ptx::OperandKind::kInteger:
    case ptx::OperandKind::kFloat:
      return !is_result && !formal.is_array;
    default:
      return false;
  }
}

// Guards are the call's: it is branched around.
void Lowering::emit_local(bool store, uint32_t place, uint32_t offset, uint32_t bytes) {
  Instr& i = emit(local_access(store, bytes));
  (store ? i.a : i.d) = place;
  i.b = frame_place();
  i.imm = offset;
  i.guard = kNoRegister;
}

void Lowering::emit_copy(uint32_t to, uint32_t from, uint32_t bytes) {
  Instr& i = emit(copy_register(bytes));
  i.d = to, i.a = from;
  i.guard = kNoRegister;
}

uint32_t Lowering::argument_memory(const ptx::Variable& formal, const ptx::Operand& actual) {
  if (in_memory(actual)) return local_offset(*actual.variable);
  uint32_t offset = 0;
  const uint32_t from = place(actual, formal.type);
  if (reserve_local(formal, &offset)) emit_local(true, from, offset, formal_bytes(formal));
  return offset;
}

uint32_t Lowering::result_memory(const ptx::Variable& formal, const ptx::Operand& actual) {
  if (in_memory(actual)) return local_offset(*actual.variable);
  uint32_t offset = 0;
  reserve_local(formal, &offset);
  return offset;
}

void Lowering::take_result(const ptx::Variable& formal, const ptx::Operand& actual, uint32_t memory) {
  if (actual.kind == ptx::OperandKind::kRegister)
    emit_local(false, reg(actual), memory, formal_bytes(formal));
}

template <class F>
static void each_pair(std::span<const ptx::Variable> formals, std::span<const ptx::Operand> actuals, F&& f) {
  for (size_t i = 0; i < formals.size(); ++i) f(formals[i], actuals[i]);
}

bool Lowering::emit_call(const ptx::Instruction& in, const ptx::Function& callee,
                         std::span<const ptx::Operand> returns, std::span<const ptx::Operand> args,
                         const Instr** entry) {
  const std::string name(callee.name);
  if (callee.is_declaration)
    return fail(in, "'" + name + "' has no body in this module", {"the engine has " + builtin_names()});
  if (args.size() != callee.params.size() || returns.size() != callee.returns.size())
    return fail(in, "'" + name + "' takes " + std::to_string(callee.params.size()) + " arguments and gives " +
                        std::to_string(callee.returns.size()) + " results; the call has " +
                        std::to_string(args.size()) + " and " + std::to_string(returns.size()));
  bool ok = true;
  const auto check = [&](std::span<const ptx::Variable> formals, std::span<const ptx::Operand> actuals,
                         bool results) {
    each_pair(formals, actuals, [&](const ptx::Variable& formal, const ptx::Operand& actual) {
      if (fits(formal, actual, results)) return;
      const std::string scalar = formal.is_array ? ""
                                 : results       ? "a register, _ or "
                                                 : "a register, a number or ";
      ok =
          fail(actual.offset, (results ? "result '" : "parameter '") + std::string(formal.name) + "' of '" +
                                  name + "' has " + std::to_string(formal.bytes) + " bytes: the call needs " +
                                  scalar + "a .param variable of that size, declared in the caller");
    });
  };
  check(callee.returns, returns, true);
  check(callee.params, args, false);
  if (!ok) return false;
  if (entry) table_ends_.push_back({0, entry, static_cast<uint32_t>(code.instrs.size()), true});
  if (auto routine = routine_of_.find(&callee); routine != routine_of_.end()) {
    call_routine(*routine->second, returns, args);
    return true;
  }
  if (frame_->depth >= kDeepestCall) return fail(in, "calls are nested more than 64 deep");
  return inline_call(callee, returns, args);
}

bool Lowering::inline_call(const ptx::Function& callee, std::span<const ptx::Operand> returns,
                           std::span<const ptx::Operand> args) {
  Frame frame;
  frame.caller = frame_;
  frame.depth = frame_->depth + 1;
  const auto in_register = [&](const ptx::Variable& formal) {
    if (formal.space != ptx::Space::kReg) return false;
    frame.places.push_back(temporary(formal_bytes(formal)));  // in the order of Function::registers
    return true;
  };
  each_pair(callee.returns, returns, [&](const ptx::Variable& formal, const ptx::Operand& actual) {
    if (!in_register(formal)) frame.locals[&formal] = result_memory(formal, actual);
  });
  each_pair(callee.params, args, [&](const ptx::Variable& formal, const ptx::Operand& actual) {
    if (!in_register(formal))
      frame.locals[&formal] = argument_memory(formal, actual);
    else if (in_memory(actual))
      emit_local(false, frame.places.back(), local_offset(*actual.variable), formal_bytes(formal));
    else
      emit_copy(frame.places.back(), place(actual, formal.type), formal_bytes(formal));
  });
  const size_t first_end = ends_.size();
  if (!lower_function(callee, frame)) return false;
  for (size_t i = first_end; i < ends_.size(); ++i) {
    ends_[i].target = static_cast<uint32_t>(code.instrs.size());
    ends_[i].resolved = true;
  }
  fixups_.insert(fixups_.end(), ends_.begin() + static_cast<ptrdiff_t>(first_end), ends_.end());
  ends_.resize(first_end);
  size_t next = 0;
  each_pair(callee.returns, returns, [&](const ptx::Variable& formal, const ptx::Operand& actual) {
    if (formal.space != ptx::Space::kReg) return take_result(formal, actual, frame.locals[&formal]);
    const uint32_t from = frame.places[next++];
    if (in_memory(actual))
      emit_local(true, from, local_offset(*actual.variable), formal_bytes(formal));
    else if (actual.kind == ptx::OperandKind::kRegister)
      emit_copy(reg(actual), from, formal_bytes(formal));
  });
  return true;
}

}  // namespace triton_runner::simt
