// Reads parameters and options of compiled kernels, from Python's tuples and dicts.
#include "parameters.h"

namespace triton_runner::python {
namespace {

constexpr const char* kKinds[] = {"pointer", "integer", "float", "tensordesc"};  // exec::ParamKind

exec::Param make_param(const std::string& name, const std::string& kind, const std::string& type, int bits) {
  for (size_t i = 0; i < std::size(kKinds); ++i)
    if (kind == kKinds[i]) return {name, static_cast<exec::ParamKind>(i), type, bits};
  fail("'" + kind + "' is not a kind of parameter", {"kinds: pointer, integer, float, tensordesc"});
}

exec::DescriptorLayout make_layout(const nb::dict& meta) {
  exec::DescriptorLayout layout;
  layout.swizzle = field(meta, "swizzle", 0);
  layout.element_bytes = field(meta, "elem_size", 0);
  layout.element_type = field(meta, "elem_type", 0);
  layout.block = field(meta, "block_size", std::vector<int64_t>());
  layout.fp4_padded = field(meta, "fp4_padded", false);
  layout.im2col = field(meta, "is_im2col", false);
  return layout;
}

}  // namespace

const char* kind_name(exec::ParamKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::vector<exec::Param> make_params(const nb::list& params) {
  std::vector<exec::Param> out;
  for (nb::handle entry : params) {
    nb::tuple p = nb::cast<nb::tuple>(entry);
    out.push_back(make_param(nb::cast<std::string>(p[0]), nb::cast<std::string>(p[1]),
                             nb::cast<std::string>(p[2]), nb::cast<int>(p[3])));
  }
  return out;
}

std::vector<exec::DescriptorLayout> make_layouts(const nb::dict& options) {
  std::vector<exec::DescriptorLayout> out;
  if (options.contains("tensordesc_meta") && !options["tensordesc_meta"].is_none())
    for (nb::handle meta : nb::cast<nb::list>(options["tensordesc_meta"]))
      out.push_back(make_layout(nb::cast<nb::dict>(meta)));
  return out;
}

exec::Scratch make_scratch(const nb::dict& options, const std::string& which) {
  return {field(options, (which + "_size").c_str(), int64_t{0}),
          field(options, (which + "_align").c_str(), int64_t{1})};
}

}  // namespace triton_runner::python
