// Makes _core.probe: Python's variables in registers of PTX and of machine code.
#include <triton_runner/probe/variables.h>

#include <triton_runner/num/types.h>

#include "bindings.h"
#include "debugger.h"

namespace triton_runner::python {
namespace {

using probe::Assigned;
using probe::Marks;
using probe::Variables;

constexpr const char* kStatus[] = {"none", "buffer", "nowhere", "not yet", "partly", "there"};

exec::StoppedLanes& lanes_of(DebuggerObject& d) {
  auto* lanes = dynamic_cast<exec::StoppedLanes*>(d.stopped);
  if (!lanes) fail("no threads stand here");
  return *lanes;
}

const Variables& variable(const DebuggerObject& d, const std::string& name) {
  const Variables* of = d.debugger.variable(name);
  if (!of) fail("it is not known where variable '" + name + "' is");
  return *of;
}

probe::CodePlace code_at(const DebuggerObject& d, uint32_t place) {
  return d.debugger.places().at(place).code();
}

nb::object read_variable(DebuggerObject& d, const std::string& name, uint32_t place) {
  const Variables& of = variable(d, name);
  const Variables::Found& found = of.find(name, code_at(d, place));
  if (found.status != Variables::Status::kThere) return nb::none();
  const Variables::Elements e = of.read(found, lanes_of(d));
  const probe::Site& site = of.assignments()[found.assignment].site;
  return nb::make_tuple(std::string(num::type_name(site.type)), site.shape,
                        nb::bytes(e.data.data(), e.data.size()), nb::bytes(e.there.data(), e.there.size()));
}

}  // namespace

void init_variables(nb::module_& m) {
  nb::class_<Assigned::One>(m, "Assignment",
                            "What a statement of Python gives to a variable, as a value of the TTGIR.")
      .def_ro("site", &Assigned::One::site)
      .def_ro("line", &Assigned::One::line, "of the statement")
      .def_ro("is_buffer", &Assigned::One::is_buffer, "whether it is in shared or tensor memory")
      .def_ro("is_in_flight", &Assigned::One::is_in_flight, "whether the tensor cores are still computing it")
      .def_ro("constant", &Assigned::One::constant, "the attribute that it is, or \"\"");
  nb::class_<Assigned>(m, "Assigned", "The assignments of a kernel's TTGIR.")
      .def_ro("all", &Assigned::all)
      .def(
          "marked",
          [](const Assigned& of, const std::vector<uint32_t>& which) { return unwrap(of.marked(which)); },
          "which"_a, "The TTGIR with a mark after some of them, by their numbers.");
  m.def(
      "assigned",
      [](std::string ttgir, std::string filename, const std::string& kernel, std::string ttir) {
        return unwrap(probe::assigned(std::move(ttgir), std::move(filename), kernel, std::move(ttir)));
      },
      "ttgir"_a, "filename"_a, "kernel"_a, "ttir"_a = "",
      "ttir: the same kernel there, which says the types of its variables.");
  nb::class_<Marks>(m, "Marks", "Where assignments of a kernel are in its PTX.")
      .def(
          "add",
          [](Marks& to, const Marks& from, size_t i) {
            if (i >= std::min(to.places.size(), from.places.size())) return;
            to.places[i] = from.places[i];
            to.unplaced[i] = from.unplaced[i];
          },
          "others"_a, "assignment"_a, "That of another program with marks.")
      .def(
          "lose",
          [](Marks& marks, size_t i) {
            if (i < marks.unplaced.size()) marks.unplaced[i] = true;
          },
          "assignment"_a, "Where one is cannot be told.")
      .def_prop_ro("placed", [](const Marks& marks) {
        std::vector<bool> out;
        for (size_t i = 0; i < marks.places.size(); ++i)
          out.push_back(!marks.places[i].empty() && !marks.unplaced[i]);
        return out;
      });
  m.def("marks_of", &probe::marks_of, "assigned"_a, "plan"_a,
        "Those whose registers a RegisterPlan of the PTX reads: where it reads them.");
  m.def(
      "find_marks",
      [](const Assigned& assigned, std::string twin, std::string ptx, const std::string& filename) {
        return unwrap(probe::find_marks(assigned.all.size(), *parsed_ptx(std::move(twin), filename),
                                        *parsed_ptx(std::move(ptx), filename)));
      },
      "assigned"_a, "twin"_a, "ptx"_a, "filename"_a,
      "twin: the PTX of assigned.marked(). DiagnosticError where it is another program than the PTX.");
  nb::class_<Variables>(m, "Variables",
                        "A kernel's variables of Python, where it stands at PTX or in machine code.")
      .def_prop_ro("assignments", &Variables::assignments)
      .def("has", &Variables::has, "name"_a);
  m.def(
      "variables_of_ptx",
      [](const Assigned& assigned, std::string ptx, const std::string& filename, const std::string& kernel,
         const Marks& marks, const probe::RegisterPlan& plan) {
        return std::make_shared<Variables>(assigned, parsed_ptx(std::move(ptx), filename), kernel, marks,
                                           plan);
      },
      "assigned"_a, "ptx"_a, "filename"_a, "kernel"_a, "marks"_a, "plan"_a, "By a RegisterPlan of the PTX.");
  m.def(
      "variables_of_machine",
      [](const Assigned& assigned, std::string ptx, const std::string& filename, const std::string& kernel,
         const Marks& marks, std::string listing, const probe::SassPlan* plan) {
        return std::make_shared<Variables>(assigned, parsed_ptx(std::move(ptx), filename), kernel, marks,
                                           unwrap(sass::parse(std::move(listing))), plan);
      },
      "assigned"_a, "ptx"_a, "filename"_a, "kernel"_a, "marks"_a, "listing"_a, "plan"_a.none(),
      "By a SassPlan of the machine code that was made of the PTX.");
}

void init_variables(nb::class_<DebuggerObject>& c) {
  c.def(
       "set_variables",
       [](DebuggerObject& d, const std::map<std::string, std::shared_ptr<Variables>>& variables) {
         d.debugger.set_variables({variables.begin(), variables.end()});
       },
       "variables"_a, "Of a launch of PTX or machine code, by name: for conditions and watchpoints, too.")
      .def(
          "find_variable",
          [](DebuggerObject& d, const std::string& name, uint32_t place) -> std::pair<std::string, uint32_t> {
            const Variables::Found& found = variable(d, name).find(name, code_at(d, place));
            return {kStatus[static_cast<size_t>(found.status)], found.assignment};
          },
          "name"_a, "place"_a,
          "(\"none\", \"buffer\", \"nowhere\", \"not yet\", \"partly\" or \"there\", the number of its "
          "assignment).")
      .def("read_variable", &read_variable, "name"_a, "place"_a,
           "(type, shape, bytes, which elements are in threads that are here), or None: it is not there.")
      .def(
          "variable_writes",
          [](DebuggerObject& d, const std::string& name, uint32_t place, nb::bytes bytes) {
            const auto* data = reinterpret_cast<const std::byte*>(bytes.c_str());
            const Variables& of = variable(d, name);
            const auto writes = unwrap(of.write(of.find(name, code_at(d, place)), code_at(d, place),
                                                lanes_of(d), {data, bytes.size()}));
            std::vector<std::pair<size_t, nb::bytes>> out;
            for (const Variables::Write& w : writes)
              out.emplace_back(w.value, nb::bytes(w.elements.data(), w.elements.size()));
            return out;
          },
          "name"_a, "place"_a, "bytes"_a,
          "(register, what its threads are to have) of each that another value of a variable changes.");
}

}  // namespace triton_runner::python
