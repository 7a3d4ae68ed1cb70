// Implements text.h by the printers: types, attributes, locations, values and ops as text, and an op's line.
#include <triton_runner/ir/text.h>

#include "printer.h"

namespace triton_runner::ir {

std::string text_of(const Type* type) {
  std::string out;
  TextWriter(out).type(type);
  return out;
}
std::string text_of(const Attr* attr) {
  std::string out;
  TextWriter(out).attr(attr, false);
  return out;
}
std::string text_of(const Location* loc) {
  std::string out;
  TextWriter(out).location(loc, false);
  return out;
}
std::string text_of(const Value* value) {
  std::string out = "%" + std::string(value->name);
  if (value->group_size > 1) out += "#" + std::to_string(value->group_index);
  return out;
}
std::string text_of(const Module& module, const Op& op) {
  Printer printer(module.impl(), true);
  printer.op(op);
  return std::move(printer.out);
}
base::Location location_of(const Module& module, const Op& op) {
  if (op.text.empty()) return {std::string(module.filename()), 0, 0};
  return module.impl().location_of(op.text);
}
int line_of(const Module& module, const Op& op) { return location_of(module, op).line; }

}  // namespace triton_runner::ir
