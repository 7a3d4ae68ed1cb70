// A kernel's machine code as the finder of values needs it, from the reader of listings.
#include <triton_runner/base/try.h>
#include <triton_runner/probe/sass.h>

#include <algorithm>
#include <set>

#include <triton_runner/sass/text.h>

#include "sass_find.h"

namespace triton_runner::probe {

std::vector<SassInstruction> code_of(const sass::Function& f) {
  std::set<int64_t> targets;
  std::vector<SassInstruction> code;
  for (const sass::Instruction& in : f.body) {
    SassInstruction& out = code.emplace_back();
    out.address = in.address;
    out.line = in.ptx_line;
    out.guarded = in.guard.has_value();
    out.opcode = in.spelling;
    for (const sass::Operand& o : in.operands) {
      out.operands.emplace_back(o.text.ends_with(".reuse") ? o.text.substr(0, o.text.size() - 6) : o.text);
      if (o.kind == sass::OperandKind::kLabel) targets.insert(out.target = o.integer);
    }
  }
  for (SassInstruction& in : code) in.is_target = targets.contains(static_cast<int64_t>(in.address));
  return code;
}

base::Result<std::vector<SassInstruction>> parse_sass(std::string_view listing, std::string_view kernel) {
  auto module = TRY(sass::parse(std::string(listing)));
  const sass::Function* f = module->find(kernel);
  if (!f || f->body.empty())
    return base::failure("the disassembly has no kernel '" + std::string(kernel) + "'");
  if (std::none_of(f->body.begin(), f->body.end(), [](const auto& in) { return in.ptx_line != 0; }))
    return base::failure(
        "the cubin of '" + std::string(kernel) + "' does not say from which lines of the PTX it was made",
        {"Triton asks ptxas for them unless TRITON_DISABLE_LINE_INFO is set"});
  return code_of(*f);
}

}  // namespace triton_runner::probe
