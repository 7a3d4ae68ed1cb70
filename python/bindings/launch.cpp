// How a launch from Python runs, waits, and asks for memory that it was not told of.
#include "launch.h"

#include <triton_runner/exec/count_observer.h>
#include <triton_runner/exec/faults.h>
#include <triton_runner/exec/interruptible.h>
#include <triton_runner/exec/observer.h>
#include <triton_runner/exec/substitution.h>
#include <triton_runner/probe/registers.h>
#include <triton_runner/tile/tile.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "debugger.h"
#include "recorder.h"

namespace triton_runner::python {
namespace {

// Memory that no argument holds: asked of triton_runner/_memory/registry.py, which knows live tensors and registered
// blocks. Nobody makes a tensor that a launch could reach while it runs: one walk over all that lives, which takes up to a
// second, is enough for all the addresses that nobody knows.
class LiveMemory {
 public:
  std::optional<exec::Allocation> find(uint64_t address) {
    nb::gil_scoped_acquire gil;
    try {
      nb::object found =
          nb::module_::import_("triton_runner._memory.registry").attr("resolve")(address, !has_walked_);
      has_walked_ = has_walked_ || found.is_none();
      if (found.is_none()) return std::nullopt;
      return exec::Allocation{nb::cast<uint64_t>(found[0]), nb::cast<uint64_t>(found[1]),
                              nb::cast<std::string>(found[2]), nb::cast<bool>(found[3])};
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("triton_runner._memory.registry.resolve");
      return std::nullopt;
    }
  }

 private:
  bool has_walked_ = false;
};

void hand_over(const std::vector<exec::Fault>& faults) {
  if (!faults.empty())
    nb::module_::import_("triton_runner._memory.fault_log").attr("add")(made_faults(faults));
}

}  // namespace

nb::list made_faults(const std::vector<exec::Fault>& faults) {
  nb::list list;
  for (const exec::Fault& fault : faults) {
    exec::Trap first = fault.first;
    nb::dict fields = fields_of(first);
    fields["text"] = first.str();
    list.append(nb::make_tuple(fields, fault.count));
  }
  return list;
}

std::array<int64_t, 3> make_grid(nb::handle grid) {
  auto bad = [&](const std::string& why) {
    fail("bad grid " + nb::cast<std::string>(nb::repr(grid)) + ": " + why,
         {"a grid is a tuple of 1 to 3 positive integers, x up to 2147483647, y and z up to 65535"});
  };
  std::array<int64_t, 3> result{1, 1, 1};
  if (!PyTuple_Check(grid.ptr()) && !PyList_Check(grid.ptr())) bad("it is not a tuple");
  size_t n = nb::len(grid);
  if (n < 1 || n > 3) bad("it has " + std::to_string(n) + " axes");
  for (size_t i = 0; i < n; i++) {
    nb::object extent = grid[i];
    if (!PyIndex_Check(extent.ptr())) bad("axis " + std::to_string(i) + " is not an integer");
    nb::object index = nb::steal(PyNumber_Index(extent.ptr()));
    int overflow = 0;
    result[i] = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow != 0) bad("axis " + std::to_string(i) + " is out of range");
  }
  unwrap(exec::check_grid(result));
  return result;
}

namespace {

std::atomic<bool> tracking{false};  // triton_runner/_memory/uninit.py knows of memory that was never written

// No check has this bit. It makes a launch run where checks see what is stored, which clears marks of memory that was never written.
constexpr uint32_t kNoteWrites = 1u << 31;

// The launch's memory with marks where it was never written; empty: all of it was, or nobody wants to know.
// noted: its ended() is called after the launch.
std::vector<exec::Allocation> with_undefined(const exec::Kernel& kernel,
                                             std::span<const exec::Argument> arguments,
                                             std::span<const exec::Allocation> memory, bool looks,
                                             nb::object& noted) {
  nb::list pointers;  // (name, address)
  const std::vector<exec::Param>& params = kernel.params();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const exec::Argument& a = arguments[i];
    const std::string name = i < params.size() ? params[i].name : "";
    if (a.kind == exec::ParamKind::kPointer) pointers.append(nb::make_tuple(name, a.bits));
    if (a.descriptor) pointers.append(nb::make_tuple(name, a.descriptor->address));
  }
  noted = nb::module_::import_("triton_runner._memory.uninit")
              .attr("begin")(kernel.name(), kernel.level(), pointers, looks);
  if (noted.is_none()) return {};
  std::vector<exec::Allocation> marked(memory.begin(), memory.end());
  for (nb::handle block : noted.attr("blocks")()) {
    const auto address = nb::cast<uint64_t>(block[0]), bytes = nb::cast<uint64_t>(block[1]);
    for (exec::Allocation& a : marked)
      if (a.address >= address && a.address - address <= bytes && a.bytes <= bytes - (a.address - address))
        a.undefined =
            reinterpret_cast<uint8_t*>(nb::cast<uint64_t>(block[2]) + (a.address / 8 - address / 8));
  }
  return marked;
}

// Writes what kernels print to where Python's print() writes. A stdout that cannot be written to is no fault
// of the kernel.
class Printer final : public exec::Observer {
 public:
  bool wants(const exec::ValueSite&) override { return false; }
  void on_value(const exec::ValueEvent&) override {}
  void on_print(std::string_view text, const std::array<int64_t, 3>&) override {
    nb::gil_scoped_acquire gil;
    try {
      nb::object out = nb::module_::import_("sys").attr("stdout");
      if (!out.is_none()) out.attr("write")(nb::str(text.data(), text.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("a kernel's print");
    }
  }
};
Printer printer;

// Options::recorder, where it is one of these.
template <class T>
T* held_by(const Options& options) {
  const auto* held = std::get_if<std::shared_ptr<T>>(&options.recorder);
  return held ? held->get() : nullptr;
}

// The launch's probes: chosen before it, their recording kept after it, a trap or not.
class Recorded {
 public:
  Recorded(RecorderObject* object, const exec::Kernel& kernel, const std::array<int64_t, 3>& grid) {
    if (!object || !object->records(kernel)) return;
    std::shared_ptr<const ir::Module> module = tile::module_of(kernel);
    if (!module) return;  // other levels have ways of their own
    if (object->busy)
      fail("two launches at once cannot be recorded by one dump",
           {"launch from one thread, or give each thread its own dump"});
    unwrap(object->recorder.begin(std::move(module), kernel.name(), kernel.level(), grid));
    object_ = object;
    object_->busy = true;
  }
  ~Recorded() {
    if (!object_) return;
    object_->recordings.push_back(std::make_shared<probe::Recording>(object_->recorder.take()));
    object_->busy = false;
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  exec::Observer* observer() { return object_ ? &object_->recorder : nullptr; }

 private:
  RecorderObject* object_ = nullptr;
};

}  // namespace

void set_tracking(bool on) { tracking = on; }

void launch(exec::Kernel& kernel, const std::array<int64_t, 3>& grid, const Options& options,
            std::span<const exec::Argument> arguments, std::span<const exec::Allocation> memory,
            std::function<std::vector<exec::Allocation>()> whole) {
  exec::LaunchOptions launch_options;
  launch_options.grid = grid;
  launch_options.threads = options.threads;
  launch_options.max_programs = options.programs;
  launch_options.only = options.program;
  launch_options.checks = options.checks;
  launch_options.mma = options.fast_mma ? exec::Mma::kFast : exec::Mma::kExact;
  launch_options.numerics = options.hardware ? exec::Numerics::kHardware : exec::Numerics::kExact;
  launch_options.timeout_seconds = options.timeout;
  launch_options.shared_bytes = options.shared;
  launch_options.stream = options.stream;
  launch_options.shuffle = options.shuffle;
  launch_options.timing = options.timing;
  launch_options.exact_tails = options.exact_tails;
  launch_options.follows_undefined = options.follows_undefined;
  launch_options.perturb = options.perturb;
  launch_options.substitution = options.substitution.get();
  launch_options.reads = options.reads.get();
  launch_options.printer = &printer;
  LiveMemory live;
  launch_options.resolve = [&live](uint64_t address) { return live.find(address); };
  launch_options.whole = std::move(whole);
  std::vector<exec::Allocation> marked;
  nb::object noted = nb::none();
  if (tracking.load(std::memory_order_relaxed)) [[unlikely]] {
    marked =
        with_undefined(kernel, arguments, memory, (options.checks & exec::kCheckUninitialized) != 0, noted);
    if (!marked.empty()) {
      memory = marked;
      launch_options.checks |= kNoteWrites;
    }
  }
  DebuggerObject* debugger = options.debugger.get();
  auto* recorder = held_by<RecorderObject>(options);
  if (debugger && std::exchange(debugger->repeats, false) && recorder && recorder->records(kernel) &&
      !recorder->recordings.empty())
    recorder->recordings.pop_back();
  Recorded recorded(recorder, kernel, grid);
  launch_options.observer = recorded.observer();
  exec::Interruptible interruptible;
  launch_options.stop = interruptible.token();
  if (debugger) {
    debugger->debugger.begin_with_all(recorded.observer() != nullptr);
    launch_options.stopper = debugger->begin(kernel, memory);
    launch_options.stop = &debugger->debugger.token();  // Ctrl-C is the debugger's
  } else {
    launch_options.registers = held_by<exec::RegisterObserver>(options);
    launch_options.counter = held_by<exec::CountObserver>(options);
  }
  exec::LaunchResult result;
  exec::Faults faults;
  if (options.report_faults) launch_options.faults = &faults;
  {
    nb::gil_scoped_release no_gil;
    result = kernel.launch(launch_options, arguments, memory);
  }
  if (!noted.is_none()) noted.attr("ended")(result && result->trap);
  if (options.report_faults) hand_over(faults.take());
  if (debugger) debugger->end();
  if (!result) return;
  if (result->trap && result->trap->kind == exec::TrapKind::kInterrupted && PyErr_CheckSignals() != 0)
    throw nb::python_error();  // KeyboardInterrupt
  raise(*result);
}

}  // namespace triton_runner::python
