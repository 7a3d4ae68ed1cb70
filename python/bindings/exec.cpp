// Makes the executor seam in Python: _core.Kernel, its options, and the op table.
#include <bit>

#include <nanobind/stl/variant.h>

#include <triton_runner/base/try.h>
#include <triton_runner/exec/count_observer.h>
#include <triton_runner/exec/read_set.h>
#include <triton_runner/exec/scalar.h>
#include <triton_runner/exec/substitution.h>
#include <triton_runner/exec/undo.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/ir/op_table.h>
#include <triton_runner/num/isas.h>
#include <triton_runner/probe/registers.h>
#include <triton_runner/tile/tile.h>

#include "artifact_code.h"
#include "debugger.h"
#include "parameters.h"
#include "recorder.h"

namespace triton_runner::python {
namespace {

using exec::Kernel;

using Extent = std::pair<uint64_t, uint64_t>;  // address, bytes

// Neighbours as one.
std::vector<Extent> changed_parts(const exec::UndoLog& log) {
  std::vector<Extent> parts;
  for (std::span<std::byte> part : log.changed(0)) {
    const auto address = reinterpret_cast<uint64_t>(part.data());
    if (!parts.empty() && parts.back().first + parts.back().second == address)
      parts.back().second += part.size();
    else
      parts.emplace_back(address, part.size());
  }
  return parts;
}

void init_undo_log(nb::module_& m) {
  nb::class_<exec::UndoLog>(m, "UndoLog",
                            "What is written to blocks of memory, (address, bytes), from now on until end().")
      .def(
          "__init__",
          [](exec::UndoLog* log, const std::vector<Extent>& blocks) {
            std::vector<exec::Allocation> memory;
            for (const auto& [address, bytes] : blocks) memory.push_back({address, bytes, ""});
            new (log) exec::UndoLog;
            log->begin(memory);
          },
          "blocks"_a)
      .def("changed", &changed_parts,
           "(address, bytes) of the pages that are not as they were in the beginning, in order.")
      .def(
          "read",
          [](const exec::UndoLog& log, uint64_t address, uint64_t bytes) {
            nb::bytes out(nullptr, bytes);
            log.read(0, address, {reinterpret_cast<std::byte*>(PyBytes_AsString(out.ptr())), bytes});
            return out;
          },
          "address"_a, "bytes"_a, "What was there in the beginning.")
      .def(
          "put_back", [](exec::UndoLog& log) { log.put_back(0); }, "Makes all of it as it was then.")
      .def("end", &exec::UndoLog::end);
}

void init_faults(nb::module_& m) {
  m.def(
      "advice_on",
      [](const std::string& kind, const std::string& race) -> std::string {
        for (int k = 0; k <= static_cast<int>(exec::TrapKind::kInvalid); ++k)
          for (int r = 0; r <= static_cast<int>(exec::Race::kOrder); ++r)
            if (kind == exec::trap_name(static_cast<exec::TrapKind>(k)) &&
                race == exec::race_name(static_cast<exec::Race>(r)))
              return exec::advice_on(static_cast<exec::TrapKind>(k), static_cast<exec::Race>(r));
        return "";
      },
      "kind"_a, "race"_a = "",
      "The clause that says what to do about a fault, by KernelTrap.kind and KernelTrap.race; \"\" where no "
      "check "
      "reports it.");

  nb::class_<exec::ReadSet>(
      m, "ReadSet", "The bytes of global memory that launches under check=\"race\" and Options.reads read.")
      .def(nb::init<>())
      .def(
          "beyond",
          [](const exec::ReadSet& set, const exec::ReadSet& other) {
            nb::list out;
            for (const exec::ReadSet::Beyond& b : set.beyond(other))
              out.append(nb::make_tuple(b.place, b.address, b.bytes));
            return out;
          },
          "other"_a,
          "(the place that read them, the address of the first, how many) of the bytes that the other set "
          "lacks, by place.");
}

void init_options(nb::module_& m) {
  nb::enum_<exec::Check>(m, "Check", nb::is_arithmetic(), "What a launch on the CPU looks for, as bits.")
      .value("OUT_OF_BOUNDS", exec::kCheckOutOfBounds)
      .value("NAN", exec::kCheckNan)
      .value("UNINITIALIZED", exec::kCheckUninitialized)
      .value("RACE", exec::kCheckRace)
      .value("INF", exec::kCheckInf)
      .value("NAN_LOAD", exec::kCheckNanLoad)
      .value("ZERO_DIVISION", exec::kCheckZeroDivision)
      .value("HINTS", exec::kCheckHints)
      .value("OVERFLOW", exec::kCheckOverflow)
      .value("HAZARD", exec::kCheckHazard)
      .value("SURPLUS", exec::kCheckSurplus)
      .value("VIEW", exec::kCheckView);

  nb::class_<exec::Substitution>(
      m, "Substitution",
      "An experiment: what the checks of a launch report gets a number (cast to the type; an i1 its lowest "
      "bit), and the launch goes on. at: places (\"file:line:column\"); empty: anywhere.")
      .def(
          "__init__",
          [](exec::Substitution* s, double number, std::vector<std::string> at) {
            new (s) exec::Substitution{number, std::move(at), {}};
          },
          "number"_a, "at"_a = std::vector<std::string>{})
      .def(
          "take_places", [](exec::Substitution& s) { return made_faults(s.places.take()); },
          "(the fields of the first trap, how many elements or threads) of each place that was reported "
          "since the last call, in the order of the grid.");

  nb::class_<Options>(
      m, "Options",
      "How to launch: device, threads (0: all), programs (only the first so many; 0: all), program (only "
      "this one, or None), checks (bits of Check), report_faults (go on after accesses out of bounds), "
      "fast_mma, hardware (TTGIR rounds as the target does), timeout in seconds (0: none), shared (bytes, "
      "-1: as the artifact says), stream, shuffle (the seed of a pseudo-random order, or None), timing "
      "(\"\", \"eager\", \"late\" or a seed: when copies land), exact_tails (TMA stores end with the "
      "tensor), follows_undefined (under uninit, stores of undefined values make memory undefined), perturb "
      "(the seed of what moves rounded results, or None), substitution (or None), reads (a "
      "ReadSet, or None), recorder "
      "(a Recorder of values, a RegisterObserver of the launched text, a CountObserver, or None), debugger "
      "(or None).")
      .def(nb::init<>())
      .def_rw("device", &Options::device)
      .def_rw("threads", &Options::threads)
      .def_rw("programs", &Options::programs)
      .def_rw("program", &Options::program, nb::arg().none())
      .def_rw("checks", &Options::checks)
      .def_rw("report_faults", &Options::report_faults)
      .def_rw("fast_mma", &Options::fast_mma)
      .def_rw("hardware", &Options::hardware)
      .def_rw("timeout", &Options::timeout)
      .def_rw("shared", &Options::shared)
      .def_rw("stream", &Options::stream)
      .def_rw("shuffle", &Options::shuffle, nb::arg().none())
      .def_prop_rw(
          "timing",
          [](const Options& o) -> std::string {
            if (o.timing.kind == exec::Timing::kRandom) return std::to_string(o.timing.seed);
            constexpr const char* kNames[] = {"", "eager", "late"};
            return kNames[o.timing.kind];
          },
          [](Options& o, const std::string& text) {
            const auto timing = exec::parse_timing(text);
            if (!timing) throw nb::value_error("timing is \"\", \"eager\", \"late\" or a seed");
            o.timing = *timing;
          })
      .def_rw("exact_tails", &Options::exact_tails)
      .def_rw("follows_undefined", &Options::follows_undefined)
      .def_rw("perturb", &Options::perturb, nb::arg().none())
      .def_rw("substitution", &Options::substitution, nb::arg().none())
      .def_rw("reads", &Options::reads, nb::arg().none())
      .def_rw("recorder", &Options::recorder, nb::arg().none())
      .def_rw("debugger", &Options::debugger, nb::arg().none());
}

void init_kernel(nb::module_& m) {
  nb::class_<exec::Param>(m, "Param",
                          "A parameter of a kernel: name, kind and type as the artifact spells them.")
      .def_ro("name", &exec::Param::name)
      .def_ro("type", &exec::Param::type)
      .def_ro("bits", &exec::Param::bits)
      .def_prop_ro("kind", [](const exec::Param& p) { return kind_name(p.kind); })
      .def("__repr__", [](const exec::Param& p) { return p.name + ": " + p.type; });

  nb::class_<Kernel>(m, "Kernel", "A loaded kernel, on whichever engine or device executes it.")
      .def_prop_ro("name", &Kernel::name)
      .def_prop_ro("params", &Kernel::params)
      .def_prop_ro("level", &Kernel::level)
      .def_prop_ro("target", &Kernel::target)
      .def("launch", &launch_named, "grid"_a, "args"_a, "options"_a = Options(),
           "Runs the kernel and waits for it. args: (name, value) pairs of the Python function's parameters, "
           "constexprs left out; those that the artifact's compilation folded away are dropped.");
}

// tile::LoadOptions::library: what Triton compiles a function to; "" where there is none.
std::string library_in_python(const std::string& target, bool contract, const std::string& function,
                              const std::vector<std::string>& operands, const std::string& result) {
  nb::gil_scoped_acquire gil;
  try {
    nb::object text_of = nb::module_::import_("triton_runner._pipeline.target_library").attr("text_of");
    return nb::cast<std::string>(text_of(function, nb::tuple(nb::cast(operands)), result, target, contract));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("triton_runner._pipeline.target_library.text_of");
    return "";
  }
}

void init_loading(nb::module_& m) {
  m.def(
      "load_tile",
      [](std::string text, std::string filename, const std::string& name, int num_warps, bool contract,
         bool sums_in_trees, const std::string& target) {
        tile::LoadOptions options;
        options.num_warps = num_warps;
        options.contract = contract;
        options.sums_in_trees = sums_in_trees;
        if (!target.empty()) options.library = std::bind_front(library_in_python, target, contract);
        return std::shared_ptr<Kernel>(without_gil([&]() -> base::Result<std::unique_ptr<Kernel>> {
          auto module = TRY(ir::parse(std::move(text), std::move(filename)));
          return tile::load(std::make_shared<const ir::Module>(std::move(module)), name, options);
        }));
      },
      "text"_a, "filename"_a = "", "name"_a = "", "num_warps"_a = 0, "contract"_a = true,
      "sums_in_trees"_a = true, "target"_a = "",
      "Loads a kernel of a TTIR or TTGIR module into the tile engine (its only one where no name is given). "
      "num_warps: of a program, where the module does not say it (0: not known). contract: whether launches "
      "with numerics=\"hardware\" contract products and sums; sums_in_trees: how they reduce; target: where "
      "they have Triton compile functions of the target's library (empty: not).");
  m.def(
      "kernel_names",
      [](std::string text, std::string filename) {
        ir::Module module = unwrap(ir::parse(std::move(text), std::move(filename)));
        std::vector<std::string> names;
        for (ir::Op* kernel : module.kernels()) {
          const ir::Attr* name = kernel->attr("sym_name");
          if (name) names.emplace_back(name->string);
        }
        return names;
      },
      "text"_a, "filename"_a = "", "The kernels (public functions) of a TTIR or TTGIR module, in its order.");
}

void init_scalars(nb::module_& m) {
  m.def(
      "float_bits",
      [](const std::string& type, double value) {
        const auto known = num::parse_type(type);
        if (!known || !num::is_float(*known)) fail("'" + type + "' is not a type of floats");
        return exec::float_bits(*known, std::bit_cast<uint64_t>(value));
      },
      "type"_a, "value"_a,
      "The bits that a launch passes for a number to a parameter of that type, as Triton's launchers do.");
}

// These settings hold for the whole process.
void init_settings(nb::module_& m) {
  m.def(
      "isa",
      [] {
        for (const char* isa : {"avx512", "avx2"})
          if (tile::force_isa(isa)) return tile::force_isa(""), std::string(isa);
        return std::string("portable");
      },
      "The best instruction set of this machine that the engine has kernels for.");
  m.def(
      "force_isa", [](const std::string& isa) { return tile::force_isa(isa); }, "isa"_a,
      "Chooses the instruction set of the engine's kernels: avx512, avx2, portable; \"\" for the best. False "
      "if there is no such.");
  m.def(
      "limit_isa", [](const std::string& isa) { return num::limit_isa(isa) ? "" : num::why_no_isa(isa); },
      "isa"_a,
      "From here on as on a machine that has no better instruction set than this. Why that cannot be: \"\" "
      "if it can.");
  m.def("built_isas", &num::built_isas, "The instruction sets that this build has copies of its loops for.");
  m.def("name_options", &base::name_options, "by_keyword"_a,
        "What messages call the options of launches: those of the command line that runs, by keyword; {}: as "
        "Python does.");
  m.def("set_tracking", &set_tracking, "on"_a,
        "Whether launches ask triton_runner/_memory/uninit.py for memory that was never written.");
  m.def("set_pretend_cuda", &set_pretend_cuda, "on"_a,
        "Whether tensors on the CPU may say that they are on a CUDA device (--pretend-cuda).");
}

}  // namespace

void init_exec(nb::module_& m) {
  init_faults(m);
  init_options(m);
  init_undo_log(m);
  init_kernel(m);
  init_artifact_code(m);
  init_launcher(m);
  init_dispatch(m);
  init_call(m);
  init_loading(m);
  init_scalars(m);
  init_settings(m);
}

}  // namespace triton_runner::python
