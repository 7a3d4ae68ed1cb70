// Implements Module: its lookups, and parse() and parse_body(), which make one.
#include <triton_runner/ptx/module.h>

#include <charconv>

#include "parser.h"

namespace triton_runner::ptx {

const Function* Module::find_function(std::string_view name) const {
  for (const Function* f : functions())
    if (f->name == name) return f;
  return nullptr;
}

std::vector<const Function*> Module::entries() const {
  std::vector<const Function*> out;
  for (const Function* f : functions())
    if (f->is_entry && !f->is_declaration) out.push_back(f);
  return out;
}

base::Location ModuleImpl::location(uint32_t offset) const { return lines_.locate(source, offset, name); }

base::Diagnostic Module::diagnostic(uint32_t offset, std::string message,
                                    std::vector<std::string> notes) const {
  return {base::Severity::kError, location(offset), std::move(message), std::move(notes),
          std::string(base::line_at(text(), offset))};
}

int ModuleImpl::compute_capability() const {
  if (!target_text.starts_with("sm_")) return 0;
  int out = 0;
  const std::string_view digits = target_text.substr(3, 4);
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

base::Result<std::shared_ptr<const Module>> parse(std::string text, std::string filename) {
  auto module = std::make_shared<ModuleImpl>();
  module->source = std::move(text);
  module->name = std::move(filename);
  Parser parser(*module);
  if (!parser.parse_module()) return parser.take_error();
  return std::shared_ptr<const Module>(std::move(module));
}

base::Result<std::shared_ptr<const Module>> parse_body(std::string body, std::span<const Register> registers,
                                                       std::string filename) {
  auto module = std::make_shared<ModuleImpl>();
  module->source = std::move(body);
  module->name = std::move(filename);
  module->is_body = true;
  Parser parser(*module);
  if (!parser.parse_body(registers)) return parser.take_error();
  return std::shared_ptr<const Module>(std::move(module));
}

}  // namespace triton_runner::ptx
