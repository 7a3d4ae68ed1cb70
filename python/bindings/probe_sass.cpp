// Makes _core.probe: values of PTX registers found in the machine code of a cubin.
#include <nanobind/ndarray.h>

#include <triton_runner/probe/sass.h>
#include <triton_runner/probe/sass_run.h>
#include <triton_runner/sass/registers.h>

#include "recorder.h"

namespace triton_runner::python {
namespace {

using probe::SassPlan;

template <typename T, int dims>
using Column = nb::ndarray<const T, nb::ndim<dims>, nb::c_contig, nb::device::cpu>;

probe::Recording assembled(const SassPlan& plan, Column<uint32_t, 1> reads, Column<int64_t, 2> programs,
                           Column<uint32_t, 1> threads, Column<uint32_t, 1> values, bool every_iteration) {
  const size_t n = reads.size();
  if (programs.shape(0) != n || programs.shape(1) != 3 || threads.size() != n || values.size() != n)
    fail("a value each has a read, a program of three numbers, a thread");
  std::vector<probe::SassValue> all(n);
  for (size_t i = 0; i < n; ++i) {
    if (reads.data()[i] >= plan.reads.size()) fail("there is no such read in the plan");
    const int64_t* p = programs.data() + 3 * i;
    all[i] = {reads.data()[i], {p[0], p[1], p[2]}, threads.data()[i], values.data()[i]};
  }
  return probe::assemble_sass(plan, all, every_iteration);
}

std::shared_ptr<const sass::Module> machine_of(std::string listing) {
  return unwrap(sass::parse(std::move(listing)));
}

nb::object column(std::vector<uint64_t> values) {
  auto* kept = new std::vector<uint64_t>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<uint64_t>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// Binds the classes that find values by running PTX and machine code.
void init_traces(nb::module_& m) {
  nb::class_<probe::RegisterTrace, exec::RegisterObserver>(
      m, "RegisterTrace", "What threads had in registers, in a launch under Options.recorder.")
      .def_prop_ro("is_full", &probe::RegisterTrace::is_full, "Whether the launch was too long for it.")
      .def_prop_ro(
          "sites",
          [](const probe::RegisterTrace& trace) {
            std::vector<std::tuple<uint32_t, bool, std::vector<uint32_t>>> out;
            for (const exec::RegisterProbe& p : trace.probes())
              out.emplace_back(p.instruction, p.after, p.registers);
            return out;
          },
          "(instruction, whether it is looked at after it, registers) of each place.")
      .def(
          "numbers",
          [](const probe::RegisterTrace& trace, size_t site, size_t k) {
            if (site >= trace.probes().size() || k >= trace.probes()[site].registers.size())
              fail("the trace does not have that register");
            std::vector<uint64_t> threads, orders, values;
            for (const auto& n : trace.numbers(site, k)) {
              threads.push_back(n.thread);
              orders.push_back(n.order);
              values.push_back(n.value);
            }
            return std::tuple(column(std::move(threads)), column(std::move(orders)),
                              column(std::move(values)));
          },
          "site"_a, "k"_a,
          "Three arrays, of register k of a place: threads (over the programs that came), when, values.");
  nb::class_<probe::RegisterSubstitution, exec::RegisterObserver>(
      m, "RegisterSubstitution",
      "An experiment on machine code: instructions leave other values in registers, those of one program's "
      "threads, one after the other.")
      .def(
          "__init__",
          [](probe::RegisterSubstitution* self, const std::string& kernel,
             const std::vector<std::tuple<uint32_t, bool, std::vector<uint32_t>>>& places,
             std::array<int64_t, 3> program, std::vector<probe::RegisterSubstitution::Values> values) {
            std::vector<exec::RegisterProbe> probes;
            for (const auto& [at, after, registers] : places)
              probes.push_back({kernel, at, after, registers});
            new (self) probe::RegisterSubstitution(std::move(probes), program, std::move(values));
          },
          "kernel"_a, "places"_a, "program"_a, "values"_a);
}

// The two launches that are compared.
void init_runs(nb::module_& m) {
  m.def(
      "trace_ptx",
      [](std::string ptx, const std::string& filename, const std::string& kernel, const Programs& programs) {
        return unwrap(probe::trace_of(*unwrap(ptx::parse(std::move(ptx), filename)), kernel, programs));
      },
      "ptx"_a, "filename"_a, "kernel"_a, "programs"_a = Programs{},
      "A trace of all registers that the kernel's PTX writes.");
  m.def(
      "trace_plan",
      [](const probe::RegisterPlan& plan, std::string ptx, const std::string& filename,
         const Programs& programs) {
        return probe::trace_of(plan, *unwrap(ptx::parse(std::move(ptx), filename)), programs);
      },
      "plan"_a, "ptx"_a, "filename"_a, "programs"_a = Programs{},
      "A trace of the registers that a plan for this PTX reads.");
  m.def(
      "trace_machine",
      [](std::string listing, const std::string& kernel, const Programs& programs, bool reads, bool heads) {
        return unwrap(probe::trace_of(*machine_of(std::move(listing)), kernel, programs, reads, heads));
      },
      "listing"_a, "kernel"_a, "programs"_a = Programs{}, "reads"_a = false, "heads"_a = false,
      "A trace of all registers that the kernel's machine code writes; listing: what nvdisasm -c -hex -gi "
      "-gp prints. reads: and of those that instructions read which write none. heads: and of all where a "
      "loop begins.");
  m.def(
      "place_by_running",
      [](const probe::RegisterPlan& plan, std::string ptx, const std::string& filename,
         const std::string& kernel, const probe::RegisterTrace& of_ptx, std::string listing,
         const probe::RegisterTrace& of_machine) {
        return unwrap(probe::place_by_running(plan, *unwrap(ptx::parse(std::move(ptx), filename)), kernel,
                                              of_ptx, *machine_of(std::move(listing)), of_machine));
      },
      "plan"_a, "ptx"_a, "filename"_a, "kernel"_a, "of_ptx"_a, "listing"_a, "of_machine"_a,
      "The SassPlan of what registers of the machine code had in the same threads as those of the PTX, from "
      "one launch of each. DiagnosticError where nothing is there.");
  m.def(
      "recorded_by_running",
      [](const SassPlan& plan, const probe::RegisterTrace& of_machine, std::string listing,
         const std::string& kernel, bool every_iteration) {
        return std::make_shared<probe::Recording>(
            probe::recorded(plan, of_machine, *machine_of(std::move(listing)), kernel, every_iteration));
      },
      "plan"_a, "of_machine"_a, "listing"_a, "kernel"_a, "every_iteration"_a = false,
      "The Recording of a SassPlan that place_by_running() gave.");
  m.def(
      "plan_sass_registers",
      [](std::string listing, const std::string& kernel, const std::vector<std::string>& names,
         uint32_t threads) {
        return unwrap(probe::plan_sass_registers(*machine_of(std::move(listing)), kernel, names, threads));
      },
      "listing"_a, "kernel"_a, "names"_a, "threads"_a,
      "The plan for \"R10\", \"P0\", \"0x1a0\", \"0x1a0:R10\", \"FADD\", \"kernel.py:42\", \"*\" of machine "
      "code.");
}

}  // namespace

void init_probe_sass(nb::module_& m) {
  init_traces(m);
  init_runs(m);
  nb::class_<SassPlan>(m, "SassPlan",
                       "Which registers of a cubin are read where, and what they are parts of.")
      .def_ro("notes", &SassPlan::notes)
      .def_ro("fences", &SassPlan::fences, "Addresses to stop at too, so that executions can be counted.")
      .def_prop_ro(
          "reads",
          [](const SassPlan& p) {
            std::vector<std::tuple<uint64_t, uint64_t, std::string>> out;
            for (const probe::SassRead& r : p.reads)
              out.emplace_back(r.stop, r.definition, sass::register_name(r.reg));
            return out;
          },
          "(the address to stop at, that of the instruction which gave it, the register) of each read.")
      .def_prop_ro("values", [](const SassPlan& p) { return tapped_values(p.taps); })
      .def("assemble", &assembled, "reads"_a, "programs"_a, "threads"_a, "values"_a,
           "every_iteration"_a = false,
           "The Recording of values in the order in which they came: uint32[n] numbers of reads, int64[n, "
           "3], uint32[n], uint32[n].");
  m.def(
      "place_in_sass",
      [](const probe::RegisterPlan& plan, std::string text, const std::string& filename,
         const std::string& kernel, std::string listing) {
        return unwrap(probe::place_in_sass(plan, *unwrap(ptx::parse(std::move(text), filename)), kernel,
                                           *machine_of(std::move(listing))));
      },
      "plan"_a, "ptx"_a, "filename"_a, "kernel"_a, "listing"_a,
      "A SassPlan of a RegisterPlan for the PTX; listing: what nvdisasm -gp -c prints of the cubin that was "
      "made of the same text. DiagnosticError where nothing is kept.");
  m.def(
      "describe_sass",
      [](std::string text, const std::string& filename, const std::string& kernel, std::string listing) {
        return unwrap(probe::describe_sass(*unwrap(ptx::parse(std::move(text), filename)), kernel,
                                           *machine_of(std::move(listing))));
      },
      "ptx"_a, "filename"_a, "kernel"_a, "listing"_a,
      "A line for each instruction of the PTX that writes registers: which of the SASS hold them, or why "
      "none does.");
}

}  // namespace triton_runner::python
