// Makes _core.probe.insert_stores and its kin: values stored to a buffer by the kernel itself, on a GPU or
// the SIMT engine.
#include <nanobind/ndarray.h>

#include <memory>

#include <triton_runner/ir/module.h>
#include <triton_runner/probe/insert.h>

#include "recorder.h"

namespace triton_runner::python {
namespace {

using probe::Insertion;
using probe::InsertOptions;

ir::Module parse(const std::string& text, const std::string& filename) {
  base::Diagnostics sink;
  auto module = ir::parse(text, filename, &sink);
  if (!module) raise(sink);
  return std::move(module).value();
}

template <auto insert>
Insertion insert_into(const std::string& text, const std::string& filename, const std::string& kernel,
                      nb::handle selectors, std::array<int64_t, 3> grid, Programs programs,
                      std::vector<std::optional<int64_t>> arguments, bool every_iteration, bool markers,
                      int64_t max_bytes, bool print_signs) {
  ir::Module module = parse(text, filename);
  InsertOptions options{markers,   every_iteration, std::move(programs), grid, std::move(arguments),
                        max_bytes, print_signs};
  std::vector<probe::Selector> chosen = make_selectors(selectors);
  return unwrap(insert(module, kernel, chosen, options));
}

template <auto insert>
void def_insert(nb::module_& m, const char* name, const char* doc) {
  m.def(name, insert_into<insert>, "text"_a, "filename"_a, "kernel"_a, "selectors"_a, "grid"_a,
        "programs"_a = Programs{}, "arguments"_a = std::vector<std::optional<int64_t>>{},
        "every_iteration"_a = false, "markers"_a = true, "max_bytes"_a = int64_t{1} << 30,
        "print_signs"_a = true, doc);
}

// The elements' type by its name; nothing else than what cuda-gdb's registers are.
num::Type register_type(const std::string& name) {
  if (name == "f32") return num::Type::kF32;
  if (name == "i32") return num::Type::kI32;
  fail("registers are i32 or f32, not " + name);
}

// Records that were read elsewhere: one of `threads` 32-bit elements each.
probe::Series make_series(nb::dict site, Programs programs, std::vector<std::vector<int64_t>> iterations,
                          nb::ndarray<const uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> values,
                          nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> mask) {
  probe::Series s;
  auto text = [&](const char* key) { return nb::cast<std::string>(site[key]); };
  s.site.kernel = text("kernel");
  s.site.level = text("level");
  s.site.value = text("value");
  s.site.op = text("op");
  s.site.file = text("file");
  s.site.line = nb::cast<int>(site["line"]);
  s.site.type = register_type(text("type"));
  s.site.type_text = text("type");
  s.site.shape = {static_cast<int64_t>(values.shape(1))};
  s.site.loops = iterations.empty() ? 0 : static_cast<int>(iterations[0].size());
  if (programs.size() != values.shape(0) || iterations.size() != values.shape(0) ||
      mask.size() != values.size())
    fail("a record each has a program, iterations, elements and a mask");
  s.programs = std::move(programs);
  for (const auto& numbers : iterations)
    s.iterations.insert(s.iterations.end(), numbers.begin(), numbers.end());
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  s.data.assign(bytes, bytes + 4 * values.size());
  s.mask.assign(mask.data(), mask.data() + mask.size());
  return s;
}

}  // namespace

void init_probe_insert(nb::module_& m) {
  nb::class_<Insertion> insertion(m, "Insertion",
                                  "A module with stores (or markers) put in, and where they store.");
  insertion.def_ro("text", &Insertion::text)
      .def_ro("bytes", &Insertion::bytes)
      .def_ro("notes", &Insertion::notes)
      .def_prop_ro("sites",
                   [](const Insertion& i) {
                     std::vector<probe::Site> out;
                     for (const probe::Area& a : i.areas) out.push_back(a.series.site);
                     return out;
                   })
      .def(
          "replace_markers",
          [](Insertion& self, const std::string& text, const std::string& filename,
             const std::string& kernel) {
            ir::Module module = parse(text, filename);
            unwrap(probe::replace_markers(module, kernel, self));
          },
          "text"_a, "filename"_a, "kernel"_a,
          "Stores in place of the markers in the TTGIR that was made of the module; text is that then.");
  def_decode(insertion);
  m.def("make_series", make_series, "site"_a, "programs"_a, "iterations"_a, "values"_a, "mask"_a,
        "A Series of registers that were read by a debugger.");
  m.def(
      "make_recording",
      [](std::vector<probe::Series> series, std::vector<std::string> notes) {
        auto made = std::make_shared<probe::Recording>();
        made->series = std::move(series);
        made->notes = std::move(notes);
        return made;
      },
      "series"_a, "notes"_a = std::vector<std::string>(), "A Recording of them.");
  def_insert<probe::insert_stores>(
      m, "insert_stores",
      "An Insertion: stores put into TTGIR for the values that the selectors name. arguments: the integer "
      "arguments, a parameter each, None where it is none.");
  def_insert<probe::insert_markers>(
      m, "insert_markers",
      "The same for TTIR: markers, which replace_markers() makes stores of in the TTGIR.");
}

}  // namespace triton_runner::python
