// Implements location.h: an op's location in the text or in Python, as a diagnostic has it.
#include "trace/location.h"

#include <cstdio>

namespace triton_runner::tile {
namespace {

base::Location in_text(const ir::Op& op, const ir::Module& module) {
  std::string_view source = module.source();
  if (op.text.data() >= source.data() && op.text.data() < source.data() + source.size())
    return base::locate(source, op.text.data() - source.data(), module.filename());
  return {std::string(module.filename()), 0, 0};
}

}  // namespace

base::Location location_of(const ir::Op& op, const ir::Module& module) {
  if (op.loc)
    if (const ir::Location* l = op.loc->place(); l && l->line > 0)
      return {std::string(l->file), l->line, l->column};
  return in_text(op, module);
}

base::Diagnostic diagnostic_at(const ir::Op& op, const ir::Module& module, std::string message) {
  base::Diagnostic d;
  d.location = in_text(op, module);
  d.message = std::move(message);
  std::string_view source = module.source();
  if (op.text.data() >= source.data() && op.text.data() < source.data() + source.size())
    d.source_line = std::string(base::line_at(source, op.text.data() - source.data()));
  return d;
}

std::string seconds_text(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

}  // namespace triton_runner::tile
