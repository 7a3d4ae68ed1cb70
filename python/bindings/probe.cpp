// Makes _core.probe: what dumps are made of. Recordings are read as NumPy arrays that share their memory.
#include <nanobind/ndarray.h>

#include <triton_runner/base/diagnostic.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/select.h>

#include "ir.h"
#include "recorder.h"

namespace triton_runner::python {
namespace {

using probe::Recording;
using probe::Selector;
using probe::Series;
using probe::Site;

template <class T>
nb::ndarray<nb::numpy, const T> array(nb::handle owner, const void* data, std::vector<size_t> shape) {
  static const T kNothing{};
  return nb::ndarray<nb::numpy, const T>(data ? data : &kNothing, shape.size(), shape.data(), owner);
}

// An array of numbers of a series, so many a record, which shares its memory.
template <class T, auto kField, class Width>
auto rows(Width width) {
  return [width](nb::handle self) {
    const auto& s = nb::cast<const Series&>(self);
    return array<T>(self, (s.*kField).data(), {s.size(), static_cast<size_t>(width(s))});
  };
}

void init_site(nb::module_& m) {
  nb::class_<Site>(m, "Site",
                   "What is dumped: a value of a kernel at a level, with its op, Python variable and place, "
                   "location as the IR writes it, element type, shape, layout, and the loops around it.")
      .def_ro("kernel", &Site::kernel)
      .def_ro("level", &Site::level)
      .def_ro("value", &Site::value)
      .def_ro("path", &Site::path,
              "of values of the IR: the op in the regions around it, 'k/scf.for@7.0/arith.mulf@2'")
      .def_ro("result", &Site::result, "which of the op's results, or of the region's arguments")
      .def_ro("op", &Site::op)
      .def_ro("marker", &Site::marker)
      .def_ro("variable", &Site::variable)
      .def_ro("file", &Site::file)
      .def_ro("line", &Site::line)
      .def_ro("column", &Site::column)
      .def_ro("stack", &Site::stack)
      .def_ro("location", &Site::location)
      .def_ro("type_text", &Site::type_text)
      .def_prop_ro("type", [](const Site& s) { return std::string(num::type_name(s.type)); })
      .def_ro("shape", &Site::shape)
      .def_ro("layout", &Site::layout)
      .def_ro("loops", &Site::loops)
      .def_ro("origin", &Site::origin)
      .def_ro("origin_address", &Site::origin_address)
      .def_ro("origin_bytes", &Site::origin_bytes);
}

void init_recording(nb::module_& m) {
  nb::class_<Series>(m, "Series", "The records of one value, by program and then in order of execution.")
      .def_ro("site", &Series::site)
      .def_ro("dropped", &Series::dropped)
      .def_ro("registers", &Series::registers,
              "Of machine code (address of the instruction, register) of what gave the value.")
      .def("__len__", &Series::size)
      .def_prop_ro("programs", rows<int64_t, &Series::programs>([](const Series&) { return 3; }),
                   "int64[records, 3]: the program of each record, x first.")
      .def_prop_ro("iterations",
                   rows<int64_t, &Series::iterations>([](const Series& s) { return s.site.loops; }),
                   "int64[records, loops]: the iteration of each loop around the value, outermost first.")
      .def_prop_ro("extra", rows<int64_t, &Series::extra>([](const Series& s) { return s.extras; }),
                   "int64[records, n]: of a marker its scalars (offset, grid x, y, z).")
      .def_prop_ro("data",
                   rows<uint8_t, &Series::data>([](const Series& s) { return s.site.record_bytes(); }),
                   "uint8[records, bytes]: each record's elements, row-major, in the value's own type.")
      .def_prop_ro(
          "order",
          [](nb::handle self) -> nb::object {
            const auto& s = nb::cast<const Series&>(self);
            if (s.order.empty()) return nb::none();
            return nb::cast(array<int64_t>(self, s.order.data(), {s.size()}));
          },
          "int64[records]: the place of each record among those of all series as they were made, or None.")
      .def_prop_ro(
          "mask",
          [](nb::handle self) -> nb::object {
            const auto& s = nb::cast<const Series&>(self);
            if (s.mask.empty()) return nb::none();
            return nb::cast(
                array<uint8_t>(self, s.mask.data(), {s.size(), static_cast<size_t>(s.site.num_elements())}));
          },
          "uint8[records, elements]: 0 where an element was not there; None where all were.")
      .def_prop_ro(
          "copies",
          [](nb::handle self) {
            const auto& s = nb::cast<const Series&>(self);
            return array<int64_t>(self, s.copies.data(), {s.copies.size(), 4});
          },
          "int64[copies, 4]: record, element, block and thread of each copy of an element that has other "
          "bits.")
      .def_prop_ro(
          "copy_data",
          [](nb::handle self) {
            const auto& s = nb::cast<const Series&>(self);
            return array<uint8_t>(self, s.copy_data.data(), {s.copy_data.size()});
          },
          "uint8[bytes]: the values of those copies, one after the other.");

  nb::class_<Recording>(m, "Recording", "What one launch's probes recorded.")
      .def_prop_ro("series",
                   [](nb::handle self) {
                     nb::list out;
                     for (Series& s : nb::cast<Recording&>(self).series)
                       out.append(nb::cast(s, nb::rv_policy::reference_internal, self));
                     return out;
                   })
      .def_ro("notes", &Recording::notes);
}

}  // namespace

std::vector<Selector> make_selectors(nb::handle given) {
  std::vector<Selector> out;
  for (nb::handle item : given) {
    if (nb::isinstance<nb::str>(item))
      out.push_back({nb::cast<std::string>(item), {}});
    else
      out.push_back({nb::cast<std::string>(item[0]), nb::cast<std::vector<std::string>>(item[1])});
  }
  return out;
}

void init_probe(nb::module_& core) {
  nb::module_ m = core.def_submodule("probe", "Recording values of running kernels.");
  init_site(m);
  init_recording(m);
  init_registers(m);
  init_counts(m);
  init_replay(m);
  init_probe_insert(m);
  init_probe_sass(m);
  init_probe_amdgcn(m);
  init_variables(m);
  init_debugger(m);

  nb::class_<RecorderObject>(m, "Recorder",
                             "Records values of the launches under Options.recorder on the tile engine.")
      .def(
          "__init__",
          [](RecorderObject* self, nb::handle selectors, bool markers, bool every_iteration,
             std::vector<std::array<int64_t, 3>> programs, int64_t max_bytes,
             std::vector<std::string> kernels) {
            probe::RecorderOptions o{make_selectors(selectors), markers, every_iteration, std::move(programs),
                                     max_bytes};
            new (self) RecorderObject{probe::Recorder(std::move(o)), {kernels.begin(), kernels.end()}};
          },
          "selectors"_a, "markers"_a = true, "every_iteration"_a = false,
          "programs"_a = std::vector<std::array<int64_t, 3>>{}, "max_bytes"_a = int64_t{1} << 30,
          "kernels"_a = std::vector<std::string>{},
          "selectors: texts, or (variable, [\"kernel.py:42\", ...]); programs: (x, y, z), -1 for any; "
          "kernels: names, none for all.")
      .def(
          "take",
          [](RecorderObject& self) {
            nb::list out;
            while (!self.recordings.empty()) {
              out.append(self.recordings.front());
              self.recordings.pop_front();
            }
            return out;
          },
          "The recordings of the launches since the last call.");

  m.def(
      "nearest_names",
      [](const std::string& wanted, const std::vector<std::string>& names) {
        return base::nearest_names(wanted, names);
      },
      "wanted"_a, "names"_a, "The names closest to `wanted`, best first, at most three.");

  m.def(
      "values",
      [](const ModulePtr& module, const std::string& kernel) {
        const ir::Op* func = module->find_function(kernel);
        if (!func) fail("there is no kernel '" + kernel + "' in this module");
        const std::vector<Selector> all{{"*", {}}};
        nb::list out;
        for (const probe::Selected& s : unwrap(probe::select(*module, *func, all)))
          out.append(nb::make_tuple(s.name, PyValue{module, const_cast<ir::Value*>(s.value)}));
        return out;
      },
      "module"_a, "kernel"_a,
      "[(name, ir.Value)] of the values of a kernel that can be recorded, in the order of the text: names as "
      "Site.value has them, each of one value.");

  m.def(
      "select",
      [](const ir::Module& module, const std::string& kernel, nb::handle selectors) {
        const ir::Op* func = module.find_function(kernel);
        if (!func) fail("there is no kernel '" + kernel + "' in this module");
        nb::list out;
        const std::vector<Selector> wanted = make_selectors(selectors);
        for (const probe::Selected& s : unwrap(probe::select(module, *func, wanted)))
          out.append(nb::make_tuple(probe::site_of(s, kernel, ""), s.selector));
        return out;
      },
      "module"_a, "kernel"_a, "selectors"_a,
      "[(Site, number of the selector)] of the values that the selectors choose, in the order of the text.");
}

}  // namespace triton_runner::python
