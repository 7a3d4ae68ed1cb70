// Makes _core.probe: registers of PTX. Taps in TTGIR, the plan that they give, and what records by it.
#include <nanobind/ndarray.h>

#include <triton_runner/ir/module.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/copies.h>
#include <triton_runner/probe/register_stores.h>

#include "bindings.h"
#include "recorder.h"

namespace triton_runner::python {
namespace {

using probe::RegisterPlan;
using probe::RegisterStores;
using probe::Tapped;

std::shared_ptr<Tapped> tap(std::string text, std::string filename, const std::string& kernel,
                            nb::handle selectors, const std::string& level) {
  const std::vector<probe::Selector> wanted = make_selectors(selectors);
  ir::Module module = unwrap(ir::parse(std::move(text), std::move(filename)));
  return std::make_shared<Tapped>(unwrap(probe::tap_values(module, kernel, wanted, level)));
}

// Taps that somebody put into LLIR: each shows one register of every thread.
std::shared_ptr<Tapped> thread_taps(std::string text, const std::string& kernel, const nb::list& values,
                                    uint32_t threads, uint32_t blocks) {
  auto tapped = std::make_shared<Tapped>();
  tapped->text = std::move(text);
  for (nb::handle v : values) {
    probe::Tap tap;
    probe::Site& site = tap.site;
    site.kernel = kernel;
    site.level = "llir";
    site.value = nb::cast<std::string>(v["value"]);
    site.op = nb::cast<std::string>(v["op"]);
    site.type_text = nb::cast<std::string>(v["type_text"]);
    const auto type = nb::cast<std::string>(v["type"]);
    const auto known = num::parse_type(type);
    if (!known) fail("there is no element type '" + type + "'");
    site.type = *known;
    site.file = nb::cast<std::string>(v["file"]);
    site.line = nb::cast<int>(v["line"]);
    site.column = nb::cast<int>(v["column"]);
    site.location = nb::cast<std::string>(v["location"]);
    if (blocks > 1) site.shape.push_back(blocks);
    site.shape.push_back(threads);
    site.loops = 1;
    tap.threads = threads;
    tap.blocks = blocks;
    tap.per_thread = true;
    for (uint32_t t = 0; t < threads * blocks; ++t) tap.elements.push_back(static_cast<int32_t>(t));
    tapped->taps.push_back(std::move(tap));
  }
  return tapped;
}

RegisterPlan plan(const Tapped& tapped, std::string twin, const std::optional<std::string>& ptx,
                  const std::string& filename, bool partial, bool keeps_copies) {
  const auto twin_module = parsed_ptx(std::move(twin), filename);
  const auto own = ptx ? parsed_ptx(*ptx, filename) : twin_module;
  RegisterPlan found = unwrap(probe::plan_registers(tapped.taps, *twin_module, *own, partial, keeps_copies));
  found.notes.insert(found.notes.begin(), tapped.notes.begin(), tapped.notes.end());
  return found;
}

void init_taps(nb::module_& m) {
  nb::class_<Tapped>(
      m, "Tapped",
      "TTGIR or LLIR with taps after values: what the compiler is given to find their registers.")
      .def_ro("text", &Tapped::text)
      .def_ro("notes", &Tapped::notes)
      .def_prop_ro("values", [](const Tapped& t) { return tapped_values(t.taps); })
      .def_prop_ro(
          "copied",
          [](const Tapped& t) {
            std::vector<std::string> names;
            for (const probe::Tap& tap : t.taps)
              if (probe::has_copies(tap)) names.push_back(tap.site.value);
            return names;
          },
          "Those of the values of which several registers or threads of a block hold an element.");
  m.def("tap", &tap, "text"_a, "filename"_a, "kernel"_a, "selectors"_a, "level"_a = "ptx",
        "Taps after the values of a kernel of TTGIR. Errors: those of select(); values that are in no "
        "register.");

  m.def("thread_taps", &thread_taps, "text"_a, "kernel"_a, "values"_a, "threads"_a, "blocks"_a = 1,
        "A text that has taps already, number i after values[i]: a dict of value, op, type (\"f32\"), "
        "type_text, file, line, column, location. Each thread has a value of its own.");
}

// A plan is made of taps, or of names; it follows its text when that is edited.
void init_plans(nb::module_& m) {
  nb::class_<RegisterPlan>(m, "RegisterPlan",
                           "Which registers of a PTX text are read where, and what they are parts of.")
      .def_prop_ro("probes", [](const RegisterPlan& p) { return p.probes.size(); })
      .def_prop_ro("values", [](const RegisterPlan& p) { return tapped_values(p.taps); })
      .def_ro("notes", &RegisterPlan::notes)
      .def(
          "add_note", [](RegisterPlan& p, std::string note) { p.notes.push_back(std::move(note)); }, "note"_a,
          "What the recording is to say too.");
  m.def("plan_registers", &plan, "tapped"_a, "twin"_a, "ptx"_a = nb::none(), "filename"_a = "<ptx>",
        "partial"_a = false, "keeps_copies"_a = false,
        "The plan for the PTX of a launch, given the PTX of its twin with taps; without it, for the twin "
        "itself. keeps_copies: its compiler taps registers that are copies of others too, as Triton does "
        "before 3.9. DiagnosticError where the two are not the same program: its place is the first "
        "instruction that differs.");
  m.def(
      "merge_plans", [](const std::vector<RegisterPlan>& plans) { return probe::merge_plans(plans); },
      "plans"_a, "All of them in one launch of their text.");
  m.def(
      "move_plan",
      [](const RegisterPlan& plan, std::string from, std::string to, const std::string& filename) {
        return unwrap(probe::move_plan(plan, *parsed_ptx(std::move(from), "<ptx>"),
                                       *parsed_ptx(std::move(to), filename)));
      },
      "plan"_a, "ptx"_a, "edited"_a, "filename"_a = "<ptx>",
      "The plan for a PTX text as one for the text that somebody made of it; its notes say what differs.");
  m.def(
      "plan_named_registers",
      [](std::string ptx, const std::string& filename, const std::string& kernel,
         const std::vector<std::string>& names, uint32_t threads, uint32_t blocks) {
        return unwrap(probe::plan_named_registers(*parsed_ptx(std::move(ptx), filename), kernel, names, "ptx",
                                                  threads, blocks));
      },
      "ptx"_a, "filename"_a, "kernel"_a, "names"_a, "threads"_a, "blocks"_a = 1,
      "The plan for \"%r7\", \"{%r1,%r2}\", \"mma.sync\", \"kernel.ptx:120\", \"kernel.py:42\".");
  m.def(
      "names_registers",
      [](std::string ptx, const std::string& filename, const std::string& kernel, const std::string& name) {
        return probe::names_registers(*parsed_ptx(std::move(ptx), filename), kernel, name);
      },
      "ptx"_a, "filename"_a, "kernel"_a, "name"_a, "Whether plan_named_registers() would take the name.");
}

// A register that wgmma or tcgen05.ld may still be writing is read after a wait.
void init_waits(nb::module_& m) {
  m.def(
      "add_waits",
      [](std::string ptx, const std::string& filename, const std::string& kernel,
         const std::vector<std::string>& names) {
        return unwrap(probe::add_waits(*parsed_ptx(std::move(ptx), filename), kernel, names));
      },
      "ptx"_a, "filename"_a, "kernel"_a, "names"_a,
      "The text with a wgmma.wait_group 0 after each group of products that the names ask for and that "
      "nothing waits for before the next jump; else the same text.");
  m.def(
      "complete_reads",
      [](std::string ptx, const std::string& filename, const std::string& kernel, const RegisterPlan& plan) {
        probe::CompletedReads done =
            unwrap(probe::complete_reads(*parsed_ptx(std::move(ptx), filename), kernel, plan));
        return std::tuple{std::move(done.text), std::move(done.plan), done.waits};
      },
      "ptx"_a, "filename"_a, "kernel"_a, "plan"_a,
      "(text, plan, waits): the text with a wait before each place where the plan reads a register that "
      "wgmma or tcgen05.ld may still be writing, the plan for it, and how many places these are.");
}

void init_register_stores(nb::module_& m) {
  nb::class_<RegisterStores> stores(m, "RegisterStores",
                                    "PTX with stores of registers put in, and where they store.");
  stores.def_ro("text", &RegisterStores::text)
      .def_ro("parameter", &RegisterStores::parameter, "the buffer's among those of the entry")
      .def_ro("bytes", &RegisterStores::bytes)
      .def_ro("notes", &RegisterStores::notes);
  def_decode(stores);
  m.def(
      "insert_register_stores",
      [](std::string ptx, const std::string& filename, const std::string& kernel, const RegisterPlan& plan,
         std::array<int64_t, 3> grid, Programs programs, bool every_iteration, uint32_t hidden,
         int64_t max_bytes) {
        return std::make_shared<RegisterStores>(unwrap(
            probe::insert_register_stores(*parsed_ptx(std::move(ptx), filename), kernel, plan,
                                          {every_iteration, std::move(programs), grid, hidden, max_bytes})));
      },
      "ptx"_a, "filename"_a, "kernel"_a, "plan"_a, "grid"_a, "programs"_a = Programs{},
      "every_iteration"_a = false, "hidden"_a = 0, "max_bytes"_a = int64_t{1} << 30,
      "RegisterStores of a plan for this text. hidden: how many of the entry's last parameters the launch "
      "fills by itself. DiagnosticError for a value that is put together from several threads, and a program "
      "that is not in the grid.");
}

void init_register_recorder(nb::module_& m) {
  nb::class_<exec::RegisterObserver>(m, "RegisterObserver",
                                     "What a launch of PTX shows registers to, under Options.recorder.");
  nb::class_<probe::RegisterRecorder, exec::RegisterObserver>(
      m, "RegisterRecorder",
      "Records registers of the launches under Options.recorder, which have to be of the plan's text.")
      .def(
          "__init__",
          [](probe::RegisterRecorder* self, const RegisterPlan& plan, bool every_iteration, Programs programs,
             int64_t max_bytes) {
            new (self)
                probe::RegisterRecorder(plan, {{}, false, every_iteration, std::move(programs), max_bytes});
          },
          "plan"_a, "every_iteration"_a = false, "programs"_a = Programs{}, "max_bytes"_a = int64_t{1} << 30)
      .def(
          "take",
          [](probe::RegisterRecorder& self) { return std::make_shared<probe::Recording>(self.take()); },
          "The Recording since the last call.");
}

nb::dict differing_copies(const probe::DifferingCopies& d) {
  nb::dict out;
  out["site"] = d.site;
  out["is_store"] = d.is_store;
  out["program"] = d.program;
  out["block"] = d.block;
  out["iterations"] = d.iterations;
  out["element"] = d.element;
  out["threads"] = d.threads;
  out["registers"] = d.registers;
  out["bits"] = d.bits;
  out["order"] = d.order;
  out["copies"] = d.copies;
  return out;
}

void init_copy_watch(nb::module_& m) {
  nb::class_<probe::CopyWatch, exec::RegisterObserver>(
      m, "CopyWatch",
      "Compares the copies of each element that a plan's values have, and what lanes of a warp store to one "
      "place of shared memory, in the launches of this text under Options.recorder. unify=\"first\" or "
      "\"last\" makes them equal: an experiment.")
      .def(
          "__init__",
          [](probe::CopyWatch* self, const RegisterPlan& plan, std::string ptx, const std::string& filename,
             const std::string& kernel, const std::string& unify) {
            if (unify != "" && unify != "first" && unify != "last")
              throw nb::value_error("unify is \"\", \"first\" or \"last\"");
            const auto how = unify == "first"  ? probe::Unify::kFirst
                             : unify == "last" ? probe::Unify::kLast
                                               : probe::Unify::kNone;
            new (self) probe::CopyWatch(plan, *parsed_ptx(std::move(ptx), filename), kernel, how);
          },
          "plan"_a, "ptx"_a, "filename"_a, "kernel"_a, "unify"_a = "")
      .def_prop_ro("values", &probe::CopyWatch::values, "How many values have copies.")
      .def_prop_ro("stores", &probe::CopyWatch::stores, "How many stores are looked at.")
      .def(
          "take",
          [](probe::CopyWatch& self) {
            nb::list out;
            for (const probe::DifferingCopies& d : self.take()) out.append(differing_copies(d));
            return out;
          },
          "What differed since the last call, the first copies of each value and store, by program and "
          "execution: dicts of site, is_store, program, block, iterations, element (its number; of a store "
          "the address), threads, registers and bits of two copies, order, copies (how many differ).");
}

}  // namespace

void init_registers(nb::module_& m) {
  init_taps(m);
  init_plans(m);
  init_waits(m);
  init_register_stores(m);
  init_register_recorder(m);
  init_copy_watch(m);
}

}  // namespace triton_runner::python
