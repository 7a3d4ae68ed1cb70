// Computes functions as the target does: those of f32 by the PTX that Triton's lowering has for each op, those
// of its library, of any type, by the library's. Others are computed as ever.
#include "hardware/functions.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "machine/asm_program.h"

namespace triton_runner::tile {
namespace {

std::string ptx_hex(float value) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08X", std::bit_cast<uint32_t>(value));
  return digits;
}

// The text for f32; $0 is the result. False: the op is of another type.
bool of_f32(Lowering& l, const ir::Op& op, const char* text) {
  for (const ir::Use& use : op.operand_uses)
    if (l.type(use.value->type)->element != num::Type::kF32) return false;
  std::string constraints = "=f";
  for (size_t i = 0; i < op.num_operands(); ++i) constraints += ",f";
  return lower_as_ptx(l, op, std::move(constraints), text);
}

// The constraint of a register for elements of a type; "" for those that have none.
std::string constraint_of(const ir::Type& type) {
  switch (type.scalar()->width) {
    case 16:
      return "h";
    case 32:
      return type.scalar()->kind == ir::TypeKind::kFloat ? "f" : "r";
    case 64:
      return type.scalar()->kind == ir::TypeKind::kFloat ? "d" : "l";
    default:
      return "";
  }
}

}  // namespace

std::optional<float> constant_of(const ir::Value* v) {
  while (v->defining_op && v->defining_op->does(ir::Effect::kMoves) && v->defining_op->num_operands() == 1)
    v = v->defining_op->operand(0);
  const ir::Attr* value = v->defining_op ? v->defining_op->attr("value") : nullptr;
  if (!value || v->type->scalar()->width != 32) return std::nullopt;
  if (value->kind == ir::AttrKind::kFloat) return std::bit_cast<float>(static_cast<uint32_t>(value->bits));
  if (value->kind == ir::AttrKind::kDenseElements && value->splat && !value->raw.empty())
    return std::bit_cast<float>(static_cast<uint32_t>(value->raw[0]));
  return std::nullopt;
}

namespace {

struct LibraryFunction {
  std::string constraints, text;
};
// Its text is empty where there is none.
LibraryFunction library_function(Lowering& l, const ir::Op& op) {
  const auto& library = l.hardware().options->library;
  if (!library) return {};
  LibraryFunction out{"=" + constraint_of(*op.result()->type), ""};
  std::vector<std::string> operands;
  bool fits = out.constraints.size() > 1;
  for (const ir::Use& use : op.operand_uses) {
    const std::string constraint = constraint_of(*use.value->type);
    fits &= !constraint.empty();
    operands.emplace_back(use.value->type->scalar()->text);
    out.constraints += "," + constraint;
  }
  if (!fits) return {};
  const ir::Attr* symbol = op.attr("symbol");
  out.text = library(std::string(symbol ? symbol->string : op.name), operands,
                     std::string(op.result()->type->scalar()->text));
  return out;
}

}  // namespace

// A function of the target's library, whose text the caller of tile::load has.
bool hardware_library(Lowering& l, const ir::Op& op) {
  LibraryFunction f = library_function(l, op);
  return !f.text.empty() && lower_as_ptx(l, op, std::move(f.constraints), std::move(f.text));
}

bool library_jumps(Lowering& l, const ir::Op& op) {
  return library_function(l, op).text.find("bra") != std::string::npos;
}

// The number that a division by a constant multiplies with: ptxas inverts it, if both are normal numbers.
static std::optional<float> reciprocal(const ir::Op& division) {
  const auto divisor = constant_of(division.operand(1));
  if (!divisor || !std::isnormal(*divisor) || !std::isnormal(1 / *divisor)) return std::nullopt;
  return 1 / *divisor;
}

static std::string division_text(const ir::Op& op, const char* result, bool contract) {
  const auto by = contract ? reciprocal(op) : std::nullopt;
  return by ? std::string("mul.f32 ") + result + ", $1, 0f" + ptx_hex(*by) + ";"
            : std::string("div.full.f32 ") + result + ", $1, $2;";
}

std::string quotient_text(const ir::Op& division) {
  return "{ .reg .f32 q; " + division_text(division, "q", true) + " add.f32 $0, q, $3; }";
}

bool hardware_divf(Lowering& l, const ir::Op& op) {
  return of_f32(l, op, division_text(op, "$0", l.hardware().contract).c_str());
}

bool hardware_exp(Lowering& l, const ir::Op& op) {
  return of_f32(l, op, "{ .reg .f32 t; mul.f32 t, $1, 0f3FB8AA3B; ex2.approx.f32 $0, t; }");
}
bool hardware_exp2(Lowering& l, const ir::Op& op) { return of_f32(l, op, "ex2.approx.ftz.f32 $0, $1;"); }
bool hardware_sqrt(Lowering& l, const ir::Op& op) { return of_f32(l, op, "sqrt.approx.ftz.f32 $0, $1;"); }
bool hardware_rsqrt(Lowering& l, const ir::Op& op) { return of_f32(l, op, "rsqrt.approx.ftz.f32 $0, $1;"); }

bool hardware_floor(Lowering& l, const ir::Op& op) { return of_f32(l, op, "cvt.rmi.ftz.f32.f32 $0, $1;"); }
bool hardware_ceil(Lowering& l, const ir::Op& op) { return of_f32(l, op, "cvt.rpi.ftz.f32.f32 $0, $1;"); }

bool hardware_remf(Lowering& l, const ir::Op& op) {
  return of_f32(l, op,
                "{ .reg .f32 q; .reg .pred p; div.rn.f32 q, $1, $2; cvt.rzi.f32.f32 q, q; neg.f32 q, q;"
                "  fma.rn.f32 q, q, $2, $1; testp.infinite.f32 p, $2; selp.f32 $0, $1, q, p; }");
}

}  // namespace triton_runner::tile
