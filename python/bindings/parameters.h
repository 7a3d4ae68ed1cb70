// Tells how Python says what a compiled kernel takes: (name, kind, type, bits) a parameter, and a dict of
// options.
#pragma once
#include <string>
#include <vector>

#include <triton_runner/exec/parameters.h>

#include "bindings.h"

namespace triton_runner::python {

// A value of a dict; `otherwise` where there is none or it is None.
template <class T>
T field(const nb::dict& from, const char* key, T otherwise) {
  return from.contains(key) && !from[key].is_none() ? nb::cast<T>(from[key]) : otherwise;
}

// From (name, kind, type, bits); kind is one of pointer, integer, float, tensordesc.
const char* kind_name(exec::ParamKind kind);
std::vector<exec::Param> make_params(const nb::list& params);

// options["tensordesc_meta"]: a list of dicts, as Triton's metadata has it.
std::vector<exec::DescriptorLayout> make_layouts(const nb::dict& options);

// options["<which>_size"] and options["<which>_align"].
exec::Scratch make_scratch(const nb::dict& options, const std::string& which);

}  // namespace triton_runner::python
