// Lowers functions by name (tt.extern_elementwise) and powers of integers: num's kernels where there is one,
// else one element at a time.
#include <triton_runner/num/elementwise.h>
#include <triton_runner/num/scalar.h>

#include "ops/elements.h"
#include "ops/elementwise.h"

namespace triton_runner::tile {
namespace {

const Instr* run_scalar_function(Task& t, const Instr& in) {
  const auto& f = *static_cast<const num::ScalarFunction*>(in.data);
  const num::Type to = t.type(in.result()).element;
  std::vector<Elements> operands;
  num::Type types[num::kMaxScalarOperands] = {};
  for (uint32_t i = 0; i < in.num_operands; ++i) {
    operands.emplace_back(t, in.operand(i));
    types[i] = t.type(in.operand(i)).element;
  }
  set_elements(t, in, [&](int64_t i) {
    uint64_t values[num::kMaxScalarOperands] = {};
    for (uint32_t k = 0; k < in.num_operands; ++k) values[k] = operands[k][i];
    return f.call(values, types, to);
  });
  return next(in);
}

// base ^ exponent, the exponent being an integer of any width.
const Instr* run_fpowi(Task& t, const Instr& in) {
  const num::Type type = t.type(in.result()).element;
  const Elements base(t, in.operand(0)), exponent(t, in.operand(1));
  set_elements(t, in, [&](int64_t i) {
    return num::from_double(num::power_of_int(num::to_double(base[i], type), exponent.integer(i)), type);
  });
  return next(in);
}

const Instr* run_ipowi(Task& t, const Instr& in) {
  const TileType& to = t.type(in.result());
  const Elements base(t, in.operand(0)), exponent(t, in.operand(1));
  set_elements(t, in, [&](int64_t i) {
    int64_t power = 0xffffffff;  // 1 / 0, as divsi has it
    num::int_power(base.integer(i), exponent.integer(i), &power);
    return num::truncate_bits(static_cast<uint64_t>(power), to.element);
  });
  return next(in);
}

}  // namespace

void lower_extern_elementwise(Lowering& l, const ir::Op& op) {
  const ir::Attr* symbol = op.attr("symbol");
  const std::string name = symbol ? std::string(symbol->string) : "";
  const TileType& to = *l.type_of(op.result());
  std::vector<num::Type> types;
  bool same_shapes = true;
  for (const ir::Use& u : op.operand_uses) {
    const TileType& from = *l.type_of(u.value);
    types.push_back(from.element);
    same_shapes &= from.shape == to.shape && from.size > 0;
  }
  if (const num::ScalarFunction* f = num::find_scalar_function(name); f && f->arity == types.size()) {
    if (!same_shapes || !f->accepts(types, to.element))
      return l.fail(op, "the external function '" + name + "' does not take these types");
    l.emit(run_scalar_function, op, f);
    return;
  }
  const num::Elementwise* f = num::find_extern(name);
  if (!f || f->arity != types.size()) {
    std::vector<std::string> known, notes;
    for (std::string_view s : num::extern_symbols()) known.emplace_back(s);
    for (const num::ScalarFunction& s : num::scalar_functions()) known.emplace_back(s.symbol);
    for (const std::string& n : base::nearest_names(name, known))
      notes.push_back("the engine has '" + n + "'");
    notes.push_back(
        "run the kernel from its ptx or cubin on a GPU, or write the function with tl and math ops");
    return l.fail(op, "the external function '" + name + "' is not known to the tile engine",
                  std::move(notes));
  }
  if (f->id != num::Functor::ldexp) return lower_elementwise(l, op, *f);
  // The only one with operands of two types.
  const num::Kernel kernel = types[1] == num::Type::kI32 ? f->kernel(types[0], to.element) : num::Kernel{};
  if (!kernel || !same_shapes)
    return l.fail(op, "the external function '" + name + "' does not take these types");
  l.emit(run_elementwise, op, l.make<ElementwiseData>(kernel));
}

void lower_fpowi(Lowering& l, const ir::Op& op) {
  const TileType &base = *l.type_of(op.operand(0)), &exponent = *l.type_of(op.operand(1));
  if (!num::is_float(base.element) || !num::is_integer(exponent.element) || base.shape != exponent.shape)
    return l.fail(op, "a float and an integer of the same shape are expected");
  l.emit(run_fpowi, op);
}

void lower_ipowi(Lowering& l, const ir::Op& op) {
  const TileType &base = *l.type_of(op.operand(0)), &exponent = *l.type_of(op.operand(1));
  if (!num::is_integer(base.element) || base.element != exponent.element || base.shape != exponent.shape)
    return l.fail(op, "two integers of the same type and shape are expected");
  l.emit(run_ipowi, op);
}

}  // namespace triton_runner::tile
