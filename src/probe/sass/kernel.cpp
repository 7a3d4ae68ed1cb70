// kernel_of() finds a kernel in a listing of machine code, and refuses one that does not say from which lines
// of the PTX it was made.
#include <triton_runner/probe/sass.h>

#include <algorithm>

namespace triton_runner::probe {

base::Result<const sass::Function*> kernel_of(const sass::Module& module, std::string_view kernel) {
  const sass::Function* f = module.find(kernel);
  if (!f || f->body.empty())
    return base::failure("the disassembly has no kernel '" + std::string(kernel) + "'");
  if (std::none_of(f->body.begin(), f->body.end(), [](const auto& in) { return in.ptx_line != 0; }))
    return base::failure(
        "the cubin of '" + std::string(kernel) + "' does not say from which lines of the PTX it was made",
        {"Triton asks ptxas for them unless TRITON_DISABLE_LINE_INFO is set"});
  return f;
}

}  // namespace triton_runner::probe
