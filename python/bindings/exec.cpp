// The executor seam in Python: _core.Kernel, and how a launch is interrupted.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <signal.h>

#include <array>
#include <atomic>
#include <mutex>

#include <triton_runner/exec/tensor_map.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/ir/op_table.h>
#include <triton_runner/tile/tile.h>

#include "arguments.h"

namespace triton_runner::python {
namespace {

using exec::Kernel;

// ---- Ctrl-C
// --------------------------------------------------------------------------------------------------- While a
// kernel runs, nobody executes Python, so Python's own handler would only note the signal. Ours raises the
// stop tokens of all running launches and then calls the handler that was there.

struct Launch {
  std::atomic<bool> used{false};
  exec::StopToken stop;
};
std::array<Launch, 64> launches;
struct sigaction previous_action;
std::mutex install_mutex;

void on_interrupt(int signal, siginfo_t* info, void* context) {
  for (Launch& launch : launches)
    if (launch.used.load(std::memory_order_acquire)) launch.stop.request_stop();
  if (previous_action.sa_flags & SA_SIGINFO) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_IGN && previous_action.sa_handler != SIG_DFL) {
    previous_action.sa_handler(signal);
  }
}

void install_interrupt_handler() {
  struct sigaction current;
  if (sigaction(SIGINT, nullptr, &current) != 0) return;
  if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_interrupt) return;
  if (!(current.sa_flags & SA_SIGINFO) && (current.sa_handler == SIG_IGN || current.sa_handler == SIG_DFL))
    return;
  std::lock_guard lock(install_mutex);
  previous_action = current;
  struct sigaction ours = {};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = SA_SIGINFO | (current.sa_flags & (SA_ONSTACK | SA_RESTART));
  ours.sa_mask = current.sa_mask;
  sigaction(SIGINT, &ours, nullptr);
}

// A stop token that Ctrl-C raises; none when more than 64 threads launch at once.
class Interruptible {
 public:
  Interruptible() {
    install_interrupt_handler();
    for (Launch& launch : launches) {
      bool expected = false;
      if (!launch.used.load(std::memory_order_relaxed) &&
          launch.used.compare_exchange_strong(expected, true)) {
        launch.stop.reset();
        launch_ = &launch;
        return;
      }
    }
  }
  ~Interruptible() {
    if (launch_) launch_->used.store(false, std::memory_order_release);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  exec::StopToken* token() { return launch_ ? &launch_->stop : nullptr; }

 private:
  Launch* launch_ = nullptr;
};

// ---- launching
// ------------------------------------------------------------------------------------------------

// Memory that no argument holds: asked of triton_runner/_memory.py, which knows live tensors and registered
// blocks.
std::optional<exec::Allocation> resolve_in_python(uint64_t address) {
  nb::gil_scoped_acquire gil;
  try {
    nb::object found = nb::module_::import_("triton_runner._memory").attr("resolve")(address);
    if (found.is_none()) return std::nullopt;
    return exec::Allocation{nb::cast<uint64_t>(found[0]), nb::cast<uint64_t>(found[1]),
                            nb::cast<std::string>(found[2]), nb::cast<bool>(found[3])};
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("triton_runner._memory.resolve");
    return std::nullopt;
  }
}

std::array<int64_t, 3> make_grid(nb::handle grid) {
  auto bad = [&](const std::string& why) {
    raise(base::failure(
        "bad grid " + nb::cast<std::string>(nb::repr(grid)) + ": " + why,
        {"a grid is a tuple of 1 to 3 positive integers, x up to 2147483647, y and z up to 65535"}));
  };
  std::array<int64_t, 3> result{1, 1, 1};
  if (!PyTuple_Check(grid.ptr()) && !PyList_Check(grid.ptr())) bad("it is no tuple");
  size_t n = nb::len(grid);
  if (n < 1 || n > 3) bad("it has " + std::to_string(n) + " axes");
  for (size_t i = 0; i < n; i++) {
    nb::object extent = grid[i];
    if (!PyIndex_Check(extent.ptr())) bad("axis " + std::to_string(i) + " is no integer");
    nb::object index = nb::steal(PyNumber_Index(extent.ptr()));
    int overflow = 0;
    result[i] = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow != 0) bad("axis " + std::to_string(i) + " is out of range");
  }
  unwrap(exec::check_grid(result));
  return result;
}

struct Options {
  std::string device = "cpu";
  int threads = 0;
  uint32_t checks = exec::kCheckOutOfBounds;
  bool fast_mma = false;
  double timeout = 0;
  int64_t shared = -1;
  uint64_t stream = 0;
  std::optional<uint64_t> shuffle;
};

void launch(Kernel& kernel, nb::handle grid, const Options& options, BoundArguments bound) {
  exec::LaunchOptions launch_options;
  launch_options.grid = make_grid(grid);
  launch_options.threads = options.threads;
  launch_options.checks = options.checks;
  launch_options.mma = options.fast_mma ? exec::Mma::kFast : exec::Mma::kExact;
  launch_options.timeout_seconds = options.timeout;
  launch_options.shared_bytes = options.shared;
  launch_options.stream = options.stream;
  launch_options.shuffle = options.shuffle;
  launch_options.resolve = resolve_in_python;
  Interruptible interruptible;
  launch_options.stop = interruptible.token();
  exec::LaunchResult result;
  {
    nb::gil_scoped_release no_gil;
    result = kernel.launch(launch_options, bound.arguments, bound.memory);
  }
  if (!result) return;
  if (result->trap && result->trap->kind == exec::TrapKind::kInterrupted && PyErr_CheckSignals() != 0)
    throw nb::python_error();  // KeyboardInterrupt
  raise(*result);
}

// A kernel with the signature that it was compiled for: what Triton's driver calls.
struct Launcher {
  std::shared_ptr<Kernel> kernel;
  std::vector<Slot> slots;

  void operator()(nb::handle grid, nb::sequence args, const Options& options) const {
    std::vector<NamedValue> values;
    size_t count = nb::len(args);
    if (count != slots.size())
      raise(base::failure("kernel '" + kernel->name() + "' takes " + std::to_string(slots.size()) +
                          " arguments, and " + std::to_string(count) + " were given"));
    for (size_t i = 0; i < count; i++) {
      nb::object value = args[i];
      flatten(slots[i], value, values);
    }
    launch(*kernel, grid, options, bind_exact(*kernel, values, options.device));
  }
};

}  // namespace

void init_exec(nb::module_& m) {
  nb::enum_<exec::Check>(m, "Check", nb::is_arithmetic(), "What a launch on the CPU looks for, as bits.")
      .value("OUT_OF_BOUNDS", exec::kCheckOutOfBounds)
      .value("NAN", exec::kCheckNan)
      .value("UNINITIALIZED", exec::kCheckUninitialized)
      .value("RACE", exec::kCheckRace)
      .value("INF", exec::kCheckInf)
      .value("NAN_LOAD", exec::kCheckNanLoad);

  nb::class_<Options>(m, "Options",
                      "How to launch: device, threads (0: all), checks (bits of Check), fast_mma, timeout in "
                      "seconds (0: none), shared (bytes, -1: as the artifact says), stream, shuffle (the seed of a "
                      "pseudo-random order, or None).")
      .def(nb::init<>())
      .def_rw("device", &Options::device)
      .def_rw("threads", &Options::threads)
      .def_rw("checks", &Options::checks)
      .def_rw("fast_mma", &Options::fast_mma)
      .def_rw("timeout", &Options::timeout)
      .def_rw("shared", &Options::shared)
      .def_rw("stream", &Options::stream)
      .def_rw("shuffle", &Options::shuffle, nb::arg().none());

  nb::class_<exec::Param>(m, "Param",
                          "A parameter of a kernel: name, kind and type as the artifact spells them.")
      .def_ro("name", &exec::Param::name)
      .def_ro("type", &exec::Param::type)
      .def_ro("bits", &exec::Param::bits)
      .def_prop_ro("kind",
                   [](const exec::Param& p) {
                     const char* names[] = {"pointer", "integer", "float", "tensordesc"};
                     return names[static_cast<int>(p.kind)];
                   })
      .def("__repr__", [](const exec::Param& p) { return p.name + ": " + p.type; });

  nb::class_<Kernel>(m, "Kernel", "A loaded kernel, on whichever engine or device executes it.")
      .def_prop_ro("name", &Kernel::name)
      .def_prop_ro("params", &Kernel::params)
      .def_prop_ro("level", &Kernel::level)
      .def_prop_ro("target", &Kernel::target)
      .def(
          "launch",
          [](Kernel& self, nb::handle grid, const std::vector<std::pair<std::string, nb::object>>& named,
             const Options& options) {
            std::vector<NamedValue> values;
            for (const auto& [name, value] : named) flatten(name, value, values);
            launch(self, grid, options, bind_artifact(self, values, options.device));
          },
          nb::arg("grid"), nb::arg("args"), nb::arg("options") = Options(),
          "Runs the kernel and waits for it. args: (name, value) pairs of the Python function's parameters, "
          "constexprs left "
          "out; those that the artifact's compilation folded away are dropped.");

  nb::class_<Launcher>(m, "Launcher",
                       "A kernel with the signature it was compiled for: launcher(grid, args, options).")
      .def(
          "__init__",
          [](Launcher* self, std::shared_ptr<Kernel> kernel,
             const std::vector<std::pair<std::string, nb::object>>& signature) {
            new (self) Launcher{std::move(kernel), {}};
            for (const auto& [name, type] : signature) self->slots.push_back(make_slot(name, type));
          },
          nb::arg("kernel"), nb::arg("signature"),
          "signature: (name, type) a parameter; \"constexpr\" is left out of the launch, a tuple of types "
          "takes a tuple apart.")
      .def("__call__", &Launcher::operator(), nb::arg("grid"), nb::arg("args"), nb::arg("options"));

  m.def(
      "load_tile",
      [](std::string text, std::string filename, const std::string& name) {
        nb::gil_scoped_release no_gil;
        base::Result<ir::Module> module = ir::parse(std::move(text), std::move(filename));
        std::optional<base::Diagnostic> error;
        std::shared_ptr<Kernel> kernel;
        if (module) {
          auto loaded = tile::load(std::make_shared<const ir::Module>(std::move(module).value()), name);
          if (loaded) {
            kernel = std::move(loaded).value();
          } else {
            error = loaded.error();
          }
        } else {
          error = module.error();
        }
        if (error) {
          nb::gil_scoped_acquire gil;
          raise(*error);
        }
        return kernel;
      },
      nb::arg("text"), nb::arg("filename") = "", nb::arg("name") = "",
      "Loads a kernel of a TTIR or TTGIR module into the tile engine (its only one where no name is given).");
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
      nb::arg("text"), nb::arg("filename") = "",
      "The kernels (public functions) of a TTIR or TTGIR module, in its order.");
  m.def(
      "ops",
      [] {
        auto release = [](int minor) { return "3." + std::to_string(minor - 30); };
        nb::list table;
        for (const ir::OpInfo& op : ir::op_table()) {
          nb::dict row;
          row["name"] = nb::str(op.name.data(), op.name.size());
          row["operands"] = nb::str(op.operands.data(), op.operands.size());
          row["executed"] = op.exec != "UNSUPPORTED";
          row["releases"] = release(op.since) + (op.until == 99 ? " on" : " to " + release(op.until));
          table.append(row);
        }
        return table;
      },
      "The op table: name, operands, whether the tile engine executes it, and the releases that have it.");
  m.def(
      "write_tensor_map",
      [](uint64_t out, uint64_t address, std::vector<int64_t> shape) {
        exec::TensorDesc desc{address, std::move(shape), {}, false};
        desc.strides.assign(desc.shape.size(), 1);
        for (size_t i = desc.shape.size(); i-- > 1;) desc.strides[i - 1] = desc.strides[i] * desc.shape[i];
        exec::encode_tensor_map(desc, reinterpret_cast<std::byte*>(out));
      },
      nb::arg("out"), nb::arg("address"), nb::arg("shape"),
      "Writes the 128 bytes of a tensor descriptor (row major, shape in elements) to the address out.");
  m.def(
      "isa",
      [] {
        for (const char* isa : {"avx512", "avx2"})
          if (tile::force_isa(isa)) return tile::force_isa(""), std::string(isa);
        return std::string("portable");
      },
      "The best instruction set of this machine that the engine has kernels for.");
  m.def(
      "force_isa", [](const std::string& isa) { return tile::force_isa(isa); }, nb::arg("isa"),
      "Chooses the instruction set of the engine's kernels: avx512, avx2, portable; \"\" for the best. False "
      "if there is no such.");
  m.def("set_pretend_cuda", &set_pretend_cuda, nb::arg("on"),
        "Whether tensors on the CPU may say that they are on a CUDA device (--pretend-cuda).");
}

}  // namespace triton_runner::python
