// _core.probe: values of PTX registers found in the machine code of a cubin.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <triton_runner/probe/sass.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using probe::SassPlan;

template <typename T, int dims>
using Column = nb::ndarray<const T, nb::ndim<dims>, nb::c_contig, nb::device::cpu>;

probe::Recording assembled(const SassPlan& plan, Column<uint32_t, 1> reads, Column<int64_t, 2> programs,
                           Column<uint32_t, 1> threads, Column<uint32_t, 1> values, bool every_iteration) {
  const size_t n = reads.size();
  if (programs.shape(0) != n || programs.shape(1) != 3 || threads.size() != n || values.size() != n)
    raise(base::failure("a value each has a read, a program of three numbers, a thread"));
  std::vector<probe::SassValue> all(n);
  for (size_t i = 0; i < n; ++i) {
    if (reads.data()[i] >= plan.reads.size()) raise(base::failure("there is no such read in the plan"));
    const int64_t* p = programs.data() + 3 * i;
    all[i] = {reads.data()[i], {p[0], p[1], p[2]}, threads.data()[i], values.data()[i]};
  }
  return probe::assemble_sass(plan, all, every_iteration);
}

}  // namespace

void init_probe_sass(nb::module_& m) {
  nb::class_<SassPlan>(m, "SassPlan",
                       "Which registers of a cubin are read where, and what they are parts of.")
      .def_ro("notes", &SassPlan::notes)
      .def_ro("fences", &SassPlan::fences, "Addresses to stop at too, so that executions can be counted.")
      .def_prop_ro(
          "reads",
          [](const SassPlan& p) {
            std::vector<std::tuple<uint64_t, uint64_t, std::string>> out;
            for (const probe::SassRead& r : p.reads) out.emplace_back(r.stop, r.definition, r.reg);
            return out;
          },
          "(the address to stop at, that of the instruction which gave it, the register) of each read.")
      .def_prop_ro("values",
                   [](const SassPlan& p) {
                     std::vector<std::string> names;
                     for (const probe::Tap& tap : p.taps) names.push_back(tap.site.value);
                     return names;
                   })
      .def("assemble", &assembled, nb::arg("reads"), nb::arg("programs"), nb::arg("threads"),
           nb::arg("values"), nb::arg("every_iteration") = false,
           "The Recording of values in the order in which they came: uint32[n] numbers of reads, int64[n, "
           "3], uint32[n], uint32[n].");
  m.def(
      "place_in_sass",
      [](const probe::RegisterPlan& plan, std::string text, const std::string& filename,
         const std::string& kernel, const std::string& listing) {
        const auto code = unwrap(probe::parse_sass(listing, kernel));
        return unwrap(
            probe::place_in_sass(plan, *unwrap(ptx::parse(std::move(text), filename)), kernel, code));
      },
      nb::arg("plan"), nb::arg("ptx"), nb::arg("filename"), nb::arg("kernel"), nb::arg("listing"),
      "A SassPlan of a RegisterPlan for the PTX; listing: what nvdisasm -gp -c prints of the cubin that "
      "was made of the same text. DiagnosticError where nothing is kept.");
  m.def(
      "describe_sass",
      [](std::string text, const std::string& filename, const std::string& kernel,
         const std::string& listing) {
        const auto code = unwrap(probe::parse_sass(listing, kernel));
        return probe::describe_sass(*unwrap(ptx::parse(std::move(text), filename)), kernel, code);
      },
      nb::arg("ptx"), nb::arg("filename"), nb::arg("kernel"), nb::arg("listing"),
      "A line for each instruction of the PTX that writes registers: which of the SASS hold them, or why "
      "none does.");
}

}  // namespace triton_runner::python
