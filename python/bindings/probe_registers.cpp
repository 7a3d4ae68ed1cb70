// _core.probe: registers of PTX. Taps in TTGIR, the plan that they give, and what records by it.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <triton_runner/ir/module.h>
#include <triton_runner/probe/registers.h>

#include "bindings.h"
#include "recorder.h"

namespace triton_runner::python {
namespace {

using probe::RegisterPlan;
using probe::Tapped;

std::shared_ptr<const ptx::Module> parsed(std::string text, const std::string& filename) {
  return unwrap(ptx::parse(std::move(text), filename));
}

std::shared_ptr<Tapped> tap(std::string text, std::string filename, const std::string& kernel,
                            nb::handle selectors, const std::string& level) {
  const std::vector<probe::Selector> wanted = make_selectors(selectors);
  ir::Module module = unwrap(ir::parse(std::move(text), std::move(filename)));
  return std::make_shared<Tapped>(unwrap(probe::tap_values(module, kernel, wanted, level)));
}

RegisterPlan plan(const Tapped& tapped, std::string twin, const std::optional<std::string>& ptx,
                  const std::string& filename) {
  const auto twin_module = parsed(std::move(twin), filename);
  const auto own = ptx ? parsed(*ptx, filename) : twin_module;
  RegisterPlan found = unwrap(probe::plan_registers(tapped.taps, *twin_module, *own));
  found.notes = tapped.notes;
  return found;
}

}  // namespace

void init_registers(nb::module_& m) {
  nb::class_<Tapped>(
      m, "Tapped",
      "TTGIR or LLIR with taps behind values: what the compiler is given to find their registers.")
      .def_ro("text", &Tapped::text)
      .def_ro("notes", &Tapped::notes)
      .def_prop_ro("values", [](const Tapped& t) {
        std::vector<std::string> names;
        for (const probe::Tap& tap : t.taps) names.push_back(tap.site.value);
        return names;
      });
  m.def("tap", &tap, nb::arg("text"), nb::arg("filename"), nb::arg("kernel"), nb::arg("selectors"),
        nb::arg("level") = "ptx",
        "Taps behind the values of a kernel of TTGIR. Errors: those of select(); values that are in no "
        "register.");

  nb::class_<RegisterPlan>(m, "RegisterPlan",
                           "Which registers of a PTX text are read where, and what they are parts of.")
      .def_prop_ro("probes", [](const RegisterPlan& p) { return p.probes.size(); })
      .def_ro("notes", &RegisterPlan::notes);
  m.def("plan_registers", &plan, nb::arg("tapped"), nb::arg("twin"), nb::arg("ptx") = nb::none(),
        nb::arg("filename") = "<ptx>",
        "The plan for the PTX of a launch, given the PTX of its twin with taps; without it, for the twin "
        "itself. "
        "DiagnosticError where the two are not the same program: its place is the first instruction that "
        "differs.");
  m.def(
      "plan_named_registers",
      [](std::string ptx, const std::string& filename, const std::string& kernel,
         const std::vector<std::string>& names, uint32_t threads, uint32_t blocks) {
        return unwrap(probe::plan_named_registers(*parsed(std::move(ptx), filename), kernel, names, "ptx",
                                                  threads, blocks));
      },
      nb::arg("ptx"), nb::arg("filename"), nb::arg("kernel"), nb::arg("names"), nb::arg("threads"),
      nb::arg("blocks") = 1,
      "The plan for \"%r7\", \"{%r1,%r2}\", \"mma.sync\", \"kernel.ptx:120\", \"kernel.py:42\".");
  m.def(
      "names_registers",
      [](std::string ptx, const std::string& filename, const std::string& kernel, const std::string& name) {
        return probe::names_registers(*parsed(std::move(ptx), filename), kernel, name);
      },
      nb::arg("ptx"), nb::arg("filename"), nb::arg("kernel"), nb::arg("name"),
      "Whether plan_named_registers() would take the name.");

  nb::class_<probe::RegisterRecorder>(
      m, "RegisterRecorder",
      "Records registers of the launches under Options.registers, which have to be of "
      "the plan's text.")
      .def(
          "__init__",
          [](probe::RegisterRecorder* self, const RegisterPlan& plan, bool every_iteration,
             std::vector<std::array<int64_t, 3>> programs, int64_t max_bytes) {
            new (self)
                probe::RegisterRecorder(plan, {{}, false, every_iteration, std::move(programs), max_bytes});
          },
          nb::arg("plan"), nb::arg("every_iteration") = false,
          nb::arg("programs") = std::vector<std::array<int64_t, 3>>{},
          nb::arg("max_bytes") = int64_t{1} << 30)
      .def(
          "take",
          [](probe::RegisterRecorder& self) { return std::make_shared<probe::Recording>(self.take()); },
          "The Recording since the last call.");
}

}  // namespace triton_runner::python
