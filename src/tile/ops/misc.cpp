// Lowers casts between kinds of types, arithmetic with attributes or two results, assertions, printing, and
// ops that have nothing to do.
#include <cinttypes>

#include <triton_runner/exec/numbers.h>
#include <triton_runner/exec/stopper.h>
#include <triton_runner/ir/enums.h>
#include <triton_runner/num/elementwise.h>

#include "ops/elementwise.h"
#include "ops/lazy.h"

namespace triton_runner::tile {
namespace {

// The same bits as another type of the same size.
void run_bitcast(Task& t, const Instr& in) {
  Slot s = in.operand(0), r = in.result();
  if (t.is_uniform(s)) {
    int64_t bits = t.bits(s);
    t.set_uniform_from(r, &bits);
    return;
  }
  bool addresses = t.type(r).element == num::Type::kPointer || t.type(r).element == num::Type::kI64;
  if (t.value(s).form == Form::kBox || (t.value(s).form == Form::kAffine && !addresses)) {
    t.adopt(r, t.elements(s));
  } else {
    t.copy(r, s);
  }
}

void lower_bits(Lowering& l, const ir::Op& op) {
  const TileType &from = *l.type_of(op.operand(0)), &to = *l.type_of(op.result());
  if (from.size == 0 || from.size != to.size)
    return l.fail(op, "'" + std::string(op.name) + "' needs types of the same size");
  l.emit<run_bitcast>(op);
}

const Instr* run_nothing(Task&, const Instr& in) { return next(in); }

}  // namespace

const Instr* run_zero(Task& t, const Instr& in) {
  for (uint32_t i = 0; i < in.num_results; ++i) t.set_uniform(in.result(i), 0);
  return next(in);
}

void lower_bitcast(Lowering& l, const ir::Op& op) { lower_bits(l, op); }
void lower_int_to_ptr(Lowering& l, const ir::Op& op) { lower_bits(l, op); }

void lower_ptr_to_int(Lowering& l, const ir::Op& op) { lower_bits(l, op); }

// Another name of the type of the same bits: one value to one that looks the same in memory.
void lower_unrealized_cast(Lowering& l, const ir::Op& op) {
  if (op.num_operands() != 1 || op.results.size() != 1)
    return l.fail(op, "a cast of " + std::to_string(op.num_operands()) + " values to " +
                          std::to_string(op.results.size()) +
                          " is not supported: it stands for what a later pass does");
  const Slot from = l.slot(op.operand(0));
  if (op.operand(0)->type == op.result()->type) return l.alias(op.result(), from);
  const TileType &a = *l.type_of(from), &b = *l.type_of(op.result());
  if (a.size == 0 || a.size != b.size || a.shape != b.shape ||
      num::is_float(a.element) != num::is_float(b.element))
    return l.fail(op, "a cast from " + std::string(op.operand(0)->type->text) + " to " +
                          std::string(op.result()->type->text) +
                          ", which are not the same in memory, is not supported");
  lower_bits(l, op);
}

void lower_fp_to_fp(Lowering& l, const ir::Op& op) {
  if (op.operand_of("rbits")) return lower_stochastic(l, op);
  const ir::Attr* rounding = op.attr("rounding");
  bool toward_zero = rounding && rounding->string == "rtz";
  if (rounding && !toward_zero && rounding->string != "rtne")
    return l.fail(op, "rounding '" + std::string(rounding->string) + "' is not supported: rtne and rtz are");
  lower_elementwise(l, op, toward_zero ? num::elementwise_fp_to_fp_rtz : num::elementwise_fp_to_fp_rtne);
}

// The other roundings (down, up, half away) nobody prints.
void lower_truncf(Lowering& l, const ir::Op& op) {
  using enum ir::ArithRounding;
  const auto rounding =
      op.attr("roundingmode") ? op.enum_attr<ir::ArithRounding>("roundingmode") : kToNearestEven;
  if (rounding != kToNearestEven && rounding != kTowardZero)
    return l.fail(op, "this rounding mode is not supported: to_nearest_even and toward_zero are");
  lower_elementwise(l, op, rounding == kTowardZero ? num::elementwise_fp_to_fp_rtz : num::elementwise_truncf);
}

void lower_clampf(Lowering& l, const ir::Op& op) {
  const ir::Attr* nan = op.attr("propagateNan");
  bool all = nan && nan->string == "all";
  lower_elementwise(l, op, all ? num::elementwise_clampf_all : num::elementwise_clampf_none);
}

// ---- arith.mului_extended and friends: two results

namespace {

struct WideData {
  num::Kernel low, high;
};

void run_one(const void* context, void* out, const void* const* in, uint32_t splat, int64_t n) {
  static_cast<const num::Kernel*>(context)->run(out, in, splat, n);
}

void run_wide(Task& t, const Instr& in, const WideData& d) {
  // The first result must not take an operand's buffer: the second still needs it.
  Instr keep = in;
  keep.kills = 0;
  map_elements(t, keep, 0, 2, {run_one, &d.low});
  map_elements(t, keep, 1, 2, {run_one, &d.high});
}

void lower_wide(Lowering& l, const ir::Op& op, const num::Elementwise& low, const num::Elementwise& high) {
  num::Type type = l.type_of(op.operand(0))->element;
  auto* d = l.make<WideData>(low.kernel(type, type), high.kernel(type, type));
  if (!d->low || !d->high) return l.fail(op, "'" + std::string(op.name) + "' does not work on this type");
  l.emit<run_wide>(op, d);
}

}  // namespace

void lower_mului_extended(Lowering& l, const ir::Op& op) {
  lower_wide(l, op, num::elementwise_muli, num::elementwise_mulhiui);
}
void lower_mulsi_extended(Lowering& l, const ir::Op& op) {
  lower_wide(l, op, num::elementwise_muli, num::elementwise_mulhisi);
}

namespace {
// The sum and its carry, or the difference and its borrow.
void lower_carrying(Lowering& l, const ir::Op& op, const num::Elementwise& f, bool borrow) {
  const Slot a = l.slot(op.operand(0)), b = l.slot(op.operand(1)), sum = l.slot(op.result(0));
  const num::Type type = l.type_of(a)->element;
  auto* combine = l.make<ElementwiseData>(f.kernel(type, type));
  auto* below = l.make<ElementwiseData>(num::elementwise_cmpi_ult.kernel(type, num::Type::kI1));
  if (!combine->kernel || !below->kernel)
    return l.fail(op, "'" + std::string(op.name) + "' does not work on this type");
  l.emit(run_elementwise, op, {sum}, {a, b}, combine);
  // A sum that wrapped is below either operand.
  l.emit(run_elementwise, op, {l.slot(op.result(1))}, {borrow ? a : sum, borrow ? b : a}, below);
}
}  // namespace

void lower_addui_extended(Lowering& l, const ir::Op& op) {
  lower_carrying(l, op, num::elementwise_addi, false);
}
void lower_subui_extended(Lowering& l, const ir::Op& op) {
  lower_carrying(l, op, num::elementwise_subi, true);
}

// ---- assertions and printing

namespace {

const Instr* run_assert(Task& t, const Instr& in, const std::string& message) {
  Slot s = in.operand(0);
  if (t.is_uniform(s) && t.bits(s)) return next(in);
  const TileType& ty = t.type(s);
  const auto* ok = t.dense<uint8_t>(s);
  for (int64_t i = 0; i < ty.n; ++i) {
    if (ok[i]) continue;
    return t.trap(in, exec::TrapKind::kAssert, message.empty() ? "the condition is false" : message,
                  ty.index_of(i));
  }
  return next(in);
}

struct PrintData {
  std::string prefix;
  bool hex;
  std::vector<bool> is_signed;  // by operand
};

std::string format_element(const std::byte* p, const TileType& ty, bool hex, bool is_signed) {
  uint64_t bits = num::load_bits(p, ty.element);
  char text[64];
  if (hex || ty.element == num::Type::kPointer) {
    snprintf(text, sizeof text, "0x%0*" PRIx64, ty.size * 2, bits);
  } else if (num::is_float(ty.element)) {
    snprintf(text, sizeof text, "%f", num::to_double(bits, ty.element));
  } else if (is_signed && ty.element != num::Type::kI1) {
    snprintf(text, sizeof text, "%" PRId64, num::sign_extend(bits, ty.element));
  } else {
    snprintf(text, sizeof text, "%" PRIu64, bits);
  }
  return text;
}

// One line an element, as the GPU prints them: pid (x, y, z) idx (i, j) prefix: (operand n) value
void run_print(Task& t, const Instr& in) {
  const exec::LaunchOptions& options = *t.worker->launch->options;
  exec::Observer* observer = options.printer ? options.printer : options.observer;
  if (!observer) return;
  const auto& d = in.as<PrintData>();
  const auto& id = t.program->id;
  std::string text;
  const std::string pid = "pid (" + exec::numbers_text(id) + ") idx (";
  if (in.num_operands == 0) text = pid + ")" + d.prefix + "\n";
  for (uint32_t o = 0; o < in.num_operands; ++o) {
    const TileType& ty = t.type(in.operand(o));
    const auto* data = t.dense<std::byte>(in.operand(o));
    std::vector<int64_t> at(ty.rank);
    for (int64_t i = 0; i < ty.n; ++i) {
      text += pid + exec::numbers_text(at) + ")" + d.prefix;
      if (in.num_operands > 1) text += "(operand " + std::to_string(o) + ") ";
      text += format_element(data + i * ty.size, ty, d.hex, o >= d.is_signed.size() || d.is_signed[o]) + "\n";
      next_index(at, ty.shape);
    }
  }
  observer->on_print(text, id);
}

}  // namespace

// Warps of a program run in step, and what is stored is there for the next op: fences, waits and marks order
// what is ordered already.
void lower_nothing(Lowering& l, const ir::Op& op) { l.emit(run_nothing, op, {}, {}); }
// Only check="hints" looks at what is assumed.
void lower_assume(Lowering& l, const ir::Op& op) {
  l.emit(run_nothing, op, {}, l.fuses() ? std::vector<Slot>{} : std::vector{l.slot(op.operand(0))});
}
// Nobody's work was cancelled, no event has a number.
void lower_zero(Lowering& l, const ir::Op& op) { l.emit(run_zero, op, {l.slot(op.result())}, {}); }

void lower_assert(Lowering& l, const ir::Op& op) {
  auto* message = l.make<std::string>();
  for (const char* key : {"message", "msg"})
    if (const ir::Attr* a = op.attr(key)) *message = std::string(a->string);
  l.emit<run_assert>(op, {}, {l.slot(op.operand(0))}, message);
}

void lower_print(Lowering& l, const ir::Op& op) {
  auto* d = l.make<PrintData>();
  if (const ir::Attr* a = op.attr("prefix")) d->prefix = std::string(a->string);
  if (d->prefix.starts_with(exec::kBreakpoint)) return;
  if (d->prefix.starts_with(exec::kMarker)) return l.mark(op, d->prefix);
  d->hex = op.int_attr("hex", 0) != 0;
  if (const ir::Attr* a = op.attr("isSigned"))
    for (uint64_t s : a->raw) d->is_signed.push_back(s != 0);
  l.emit<run_print>(op, d);
}

}  // namespace triton_runner::tile
