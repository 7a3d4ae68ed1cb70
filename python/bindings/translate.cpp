// Makes _core.ir.translate: the text of one Triton release as another one reads it.
#include <triton_runner/ir/translate.h>

#include "bindings.h"

namespace triton_runner::python {

void init_translate(nb::module_& m) {
  m.def(
      "translate",
      [](std::string text, int release, std::string filename) {
        ir::Module module = unwrap(ir::parse(std::move(text), std::move(filename)));
        ir::Translation made = unwrap(ir::translate(module, release));
        return std::pair(std::move(made.text), std::move(made.changes));
      },
      "text"_a, "release"_a, "filename"_a = "",
      "TTIR or TTGIR of any release as release 304 (3.4), or a distribution by its number, reads it, and "
      "what was changed");
  m.def(
      "written_by",
      [](std::string text, std::string filename) {
        return ir::written_by(unwrap(ir::parse(std::move(text), std::move(filename))));
      },
      "text"_a, "filename"_a = "",
      "The releases, 304 (3.4), that can have printed TTIR or TTGIR, oldest first, then the distributions");
}

}  // namespace triton_runner::python
