// Makes triton_runner._core.layout: encodings from their text, and the tables of where elements are.
#include <nanobind/ndarray.h>

#include <triton_runner/base/try.h>
#include <triton_runner/ir/edit.h>
#include <triton_runner/layout/places.h>
#include <triton_runner/tile/encoding.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using layout::BankAccess;
using layout::BankTable;

// An encoding, a shape and an element type: what a tensor or a buffer is.
struct PyLayout {
  layout::Encoding encoding;
  layout::LinearLayout linear;
  std::vector<int64_t> shape;
  int element_bits;
};

base::Result<PyLayout> read(const std::string& encoding, const std::vector<int64_t>& shape,
                            const std::string& element, std::string aliases) {
  auto module = TRY(ir::parse(aliases.empty() ? "module {\n}\n" : std::move(aliases)));
  auto type = TRY(ir::parse_type(module, element));
  const int bits = type->kind == ir::TypeKind::kPointer ? 64 : static_cast<int>(type->width);
  if (bits == 0)
    return base::failure(element + " is not the type of an element: f16, i8, bf16, f8E4M3FN, ...");
  auto attr = TRY(ir::parse_attr(module, encoding));
  auto known = TRY(tile::encoding_of(*attr));
  auto linear = TRY(to_linear_layout(known, shape));
  return PyLayout{std::move(known), std::move(linear), shape, bits};
}

using Table = nb::ndarray<nb::numpy, int32_t>;

Table table_of(std::vector<int32_t> values, const std::vector<int64_t>& shape) {
  auto* kept = new std::vector<int32_t>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
  const std::vector<size_t> sizes(shape.begin(), shape.end());
  return Table(kept->data(), sizes.size(), sizes.data(), owner);
}

}  // namespace

void init_layout(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("layout", "Encodings of Triton's IR as tables.");
  nb::class_<BankAccess>(m, "BankAccess", "One instruction of a warp that touches shared memory.")
      .def_ro("registers", &BankAccess::registers)
      .def_ro("bytes", &BankAccess::bytes)
      .def_ro("turns", &BankAccess::turns)
      .def_ro("fewest", &BankAccess::fewest)
      .def_prop_ro("conflicts", &BankAccess::conflicts);
  nb::class_<BankTable>(m, "BankTable", "The accesses by which a warp moves a tensor.")
      .def_ro("vector_bytes", &BankTable::vector_bytes)
      .def_ro("accesses", &BankTable::accesses);
  nb::class_<PyLayout>(m, "Encoding", "An encoding on a shape.")
      .def_prop_ro("kind", [](const PyLayout& l) { return layout::encoding_name(l.encoding.kind); })
      .def_ro("element_bits", &PyLayout::element_bits)
      .def_prop_ro("is_shared", [](const PyLayout& l) { return layout::is_shared(l.encoding.kind); })
      .def_prop_ro("is_distributed",
                   [](const PyLayout& l) { return layout::is_distributed(l.encoding.kind); })
      .def_prop_ro("bases",
                   [](const PyLayout& l) {
                     nb::dict out;
                     for (const layout::InDim& in : l.linear.ins()) out[in.name.c_str()] = nb::cast(in.bases);
                     return out;
                   })
      .def(
          "places",
          [](const PyLayout& l) {
            layout::Places found = unwrap(layout::places(l.linear));
            nb::dict out;
            for (size_t i = 0; i < found.names.size(); i++) {
              if (found.names[i] == "offset") {
                found.names[i] = "byte";
                for (int32_t& at : found.where[i]) {
                  const int64_t moved = at + layout::padding_before(l.encoding, at);
                  at = static_cast<int32_t>(moved * l.element_bits / 8);
                }
              }
              out[found.names[i].c_str()] = table_of(std::move(found.where[i]), l.shape);
            }
            out["copies"] = table_of(std::move(found.copies), l.shape);
            return out;
          },
          "{input: the lowest index that holds each element}, in shared memory \"byte\" for the offset; "
          "\"copies\".")
      .def(
          "holders",
          [](const PyLayout& l, const std::vector<int64_t>& index) {
            std::vector<std::vector<int64_t>> out;
            for (const layout::Holder& h : layout::holders(l.linear, index))
              out.push_back({h.reg, h.lane, h.warp, h.block});
            return out;
          },
          "index"_a, "Every [register, lane, warp, block] that holds the element.")
      .def_prop_ro(
          "shared_bytes",
          [](const PyLayout& l) { return unwrap(layout::shared_size(l.encoding, l.shape, l.element_bits)); })
      .def(
          "banks",
          [](const PyLayout& l, const PyLayout& registers, int warp, int most_bytes) {
            return unwrap(layout::bank_table(l.encoding, registers.encoding, l.shape, l.element_bits, warp,
                                             most_bytes));
          },
          "registers"_a, "warp"_a = 0, "most_bytes"_a = 16);
  m.def(
      "read",
      [](const std::string& encoding, const std::vector<int64_t>& shape, const std::string& element,
         std::string aliases) { return unwrap(read(encoding, shape, element, std::move(aliases))); },
      "encoding"_a, "shape"_a, "element"_a, "aliases"_a = "",
      "The layout of an encoding's text; `aliases` is a module that names encodings.");
}

}  // namespace triton_runner::python
