// _core.Launcher: a kernel with the signature it was compiled for, called as Triton calls its launchers.
//
// The way from a tensor to an argument is what a launch costs. Tensors whose type has DLPack's exchange table
// (torch 2.11 and later) are read without a call of Python, and their storages and labels only when a kernel
// leaves the elements of a view (LaunchOptions::whole). Other objects with data_ptr() are located each time
// (pointers.h). Whatever else a launch passes takes the general way of arguments.cpp, which also words all
// errors.
#include "launcher.h"

#include "dlpack.h"
#include "pointers.h"
#include "queue.h"

namespace triton_runner::python {
namespace {

using exec::Allocation;
using exec::Argument;
using exec::Param;
using exec::ParamKind;

// The address of a tensor on the CPU, and the bytes from its first element to its last.
bool read_tensor(PyObject* object, Argument& argument, std::vector<Allocation>& memory) {
  DlTensor t;
  if (!borrow_tensor(object, t) || t.device_type != 1) return false;
  int64_t elements = 1, last = 0, step = 1;
  for (int i = t.ndim; i-- > 0; step *= t.shape[i]) {
    elements *= t.shape[i];
    last += (t.shape[i] - 1) * (t.strides ? t.strides[i] : step);
  }
  const uint64_t address = t.address();
  if (!t.data && elements != 0) return false;  // a tensor without memory: the general way says what is wrong
  argument.bits = address;
  uint64_t size = (uint64_t{t.bits} * t.lanes + 7) / 8;
  memory.push_back({address, elements == 0 ? 0 : static_cast<uint64_t>(last + 1) * size, {}, true});
  return true;
}

// The same of an array of NumPy.
bool read_array(PyObject* object, Argument& argument, std::vector<Allocation>& memory) {
  Array array;
  if (!borrow_array(object, array) || array.is_readonly) return false;
  argument.bits = array.address;
  memory.push_back({array.address, array.bytes, {}, true});
  return true;
}

bool read_pointer(PyObject* object, Argument& argument, std::vector<Allocation>& memory,
                  std::vector<nb::object>& owners) {
  if (object == Py_None) return argument.bits = 0, true;
  if (read_tensor(object, argument, memory) || read_array(object, argument, memory)) return true;
  if (kind_of(object) != Kind::kPointer || !is_here(object, "cpu")) return false;
  static PyObject* const kBase = PyUnicode_InternFromString("base");
  nb::object base = nb::steal(PyObject_GetAttr(object, kBase));
  if (!base.is_valid()) {
    PyErr_Clear();
  } else if (!base.is_none()) {
    return false;  // a view of something else: the general way finds what it shares with that
  }
  Located found = locate(object);
  argument.bits = found.address;
  if (!found.block) return true;
  memory.push_back({found.block->address, found.block->bytes, {}, found.block->writable});
  if (found.block->owner.is_valid()) owners.push_back(std::move(found.block->owner));
  return true;
}

bool read_integer(PyObject* object, int bits, Argument& argument) {
  if (!PyLong_Check(object)) return false;
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return false;
  if (bits < 64 && (value < -(int64_t{1} << (bits - 1)) || value > (int64_t{1} << bits) - 1)) return false;
  argument.bits = static_cast<uint64_t>(value);
  return true;
}

bool read_real(PyObject* object, Argument& argument) {
  if (!PyFloat_CheckExact(object)) return false;
  argument.bits = std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object));
  return true;
}

}  // namespace

// Vectors that one launch after the other uses, so that nothing is allocated.
struct LaunchScratch {
  std::vector<Argument> arguments;
  std::vector<Allocation> memory;
  std::vector<nb::object> owners;  // of the memory, for the life of the launch
};

namespace {

class BorrowedScratch {
 public:
  BorrowedScratch() : own_(kept()), scratch_(own_ ? *own_ : fresh_) { kept() = nullptr; }
  ~BorrowedScratch() {
    std::vector<nb::object> owners = std::move(scratch_.owners);  // whose finalizers may launch
    if (own_) kept() = own_;
  }
  BorrowedScratch(const BorrowedScratch&) = delete;
  BorrowedScratch& operator=(const BorrowedScratch&) = delete;
  LaunchScratch& operator*() { return scratch_; }

 private:
  static LaunchScratch*& kept() {
    thread_local LaunchScratch scratch;
    thread_local LaunchScratch* pointer = &scratch;
    return pointer;
  }
  LaunchScratch* own_;
  LaunchScratch fresh_;  // of a launch inside of a launch: a finalizer that runs while memory is looked up
  LaunchScratch& scratch_;
};

constexpr Py_ssize_t kTritonArguments = 9;  // grid x, y, z, stream, function, metadata, metadata, two hooks

}  // namespace

Launcher::Launcher(std::shared_ptr<exec::Kernel> k,
                   const std::vector<std::pair<std::string, nb::object>>& signature, bool loose,
                   bool as_triton)
    : kernel(std::move(k)),
      is_loose(loose),
      settings(nb::module_::import_("triton_runner._settings").attr("current")) {
  gpu = as_gpu_kernel(*kernel);
  is_hip = gpu && gpu->driver().backend() == "hip";
  is_direct = true;
  for (const auto& [name, type] : signature) {
    Slot slot = make_slot(name, type);
    if (!slot.skip) passed.push_back(static_cast<uint32_t>(slots.size()));
    is_direct &= !slot.is_tuple;
    slots.push_back(std::move(slot));
    if (!slots.back().skip) needed = slots.size();
  }
  is_direct &= passed.size() == kernel->params().size();
  for (const Param& p : kernel->params()) is_direct &= p.kind != ParamKind::kTensorDesc;
  for (size_t i = 0; is_direct && i < passed.size(); i++)
    words.push_back(word_of(kernel->params()[i], passed[i], as_triton));
}

// Triton's releases differ in what they do with a number that is not of the parameter's type: some refuse what
// others cut off. What all of them pass alike is passed here.
Launcher::Word Launcher::word_of(const Param& param, uint32_t from, bool as_triton) const {
  Word word{param.kind, static_cast<uint8_t>(param.bits), param.bits == 64, false, from};
  if (param.kind == ParamKind::kFloat) word.is_half = as_triton && param.type == "fp16";
  if (param.kind != ParamKind::kInteger) return word;
  word.least = param.bits == 64 ? INT64_MIN : -(int64_t{1} << (param.bits - 1));
  word.most = param.bits == 64 ? INT64_MAX : (int64_t{1} << param.bits) - 1;
  if (!as_triton) return word;
  const bool is_signed = param.type[0] == 'i';
  word.takes_large = param.bits == 64 && !is_signed;
  // Up to 3.6 they refuse negative bytes.
  if (!is_signed || param.bits == 1 || (param.bits == 8 && !is_loose)) word.least = 0;
  if (is_signed && param.bits > 1) word.most = INT64_MAX >> (64 - param.bits);
  return word;
}

void Launcher::wrong_count(size_t given) const {
  std::string names;
  for (const Slot& slot : slots)
    names += (names.empty() ? "" : ", ") + slot.name + (slot.skip ? ": constexpr" : "");
  const std::string range = needed == slots.size() ? "" : std::to_string(needed) + " to ";
  fail("kernel '" + kernel->name() + "' takes " + range + std::to_string(slots.size()) + " arguments, and " +
           std::to_string(given) + " were given",
       {"its parameters: " + names});
}

// The values that a launch passes, for the general way.
std::vector<NamedValue> Launcher::values(PyObject* const* args) const {
  std::vector<NamedValue> result;
  for (size_t i = 0; i < needed; i++) flatten(slots[i], args[i], result);
  return result;
}

// False: some argument is not of the plain kinds.
bool Launcher::read(PyObject* const* args, LaunchScratch& s) const {
  const std::vector<Param>& params = kernel->params();
  s.arguments.resize(params.size());
  s.memory.clear();
  for (size_t i = 0; i < params.size(); ++i) {
    PyObject* object = args[passed[i]];
    Argument& argument = s.arguments[i];
    argument.kind = params[i].kind;
    bool plain = false;
    switch (argument.kind) {
      case ParamKind::kPointer:
        plain = read_pointer(object, argument, s.memory, s.owners);
        break;
      case ParamKind::kInteger:
        plain = read_integer(object, params[i].bits, argument);
        break;
      case ParamKind::kFloat:
        plain = read_real(object, argument);
        break;
      case ParamKind::kTensorDesc:
        break;
    }
    if (!plain) return false;
  }
  return true;
}

void Launcher::run(const std::array<int64_t, 3>& grid, PyObject* const* args, size_t count,
                   const Options& options) const {
  if (count < needed || (count > slots.size() && !is_loose)) wrong_count(count);
  BorrowedScratch scratch;
  // Other checks than of bounds keep books on whole storages.
  if (is_direct && !gpu && options.checks == exec::kCheckOutOfBounds && !options.shuffle &&
      read(args, *scratch)) {
    auto whole = [this, args] {
      nb::gil_scoped_acquire gil;
      return bind_values(*kernel, values(args), "cpu", conversion()).memory;
    };
    return launch(*kernel, grid, options, (*scratch).arguments, (*scratch).memory, whole);
  }
  BoundArguments bound =
      bind_values(*kernel, values(args), options.device, conversion(), false, options.checks);
  launch(*kernel, grid, options, bound.arguments, bound.memory);
}

void call_hook(PyObject* hook, PyObject* metadata) {
  if (hook == Py_None) return;
  static PyObject* const kCalls = PyUnicode_InternFromString("calls");
  nb::object calls = nb::steal(PyObject_GetAttr(hook, kCalls));
  PyErr_Clear();
  if (calls.is_valid() && PyList_Check(calls.ptr()) && PyList_GET_SIZE(calls.ptr()) == 0) return;
  taken(PyObject_CallOneArg(hook, metadata));
}

namespace {

bool is_true(nb::handle object) {
  if (object.is(Py_True)) return true;
  if (object.is(Py_False)) return false;
  int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

void call(const Launcher& launcher, PyObject* args) {
  if (PyTuple_GET_SIZE(args) < kTritonArguments)
    raise(
        base::failure("a launcher takes a grid's three axes, stream, function, two kinds of metadata, two "
                      "hooks and the kernel's arguments"));
  std::array<int64_t, 3> grid;
  for (Py_ssize_t i = 0; i < 3; ++i) {
    PyObject* extent = PyTuple_GET_ITEM(args, i);
    int overflow = 0;
    if (!PyLong_Check(extent) || (grid[i] = PyLong_AsLongLongAndOverflow(extent, &overflow), overflow != 0)) {
      grid = make_grid(nb::steal(PyTuple_GetSlice(args, 0, 3)));
      break;
    }
  }
  static PyObject* const kStrict = PyUnicode_InternFromString("strict_grid");
  static PyObject* const kOptions = PyUnicode_InternFromString("core_options");
  nb::object settings = taken(PyObject_CallNoArgs(launcher.settings.ptr()));
  bool empty = grid[0] == 0 || grid[1] == 0 || grid[2] == 0;
  if (empty) {
    // Nothing to do for Triton, which still calls its hooks; strict launches (triton_runner.jit) are told.
    nb::object strict = taken(PyObject_GetAttr(settings.ptr(), kStrict));
    empty = !is_true(strict);
  }
  if (!empty && (grid[0] < 1 || grid[1] < 1 || grid[2] < 1)) unwrap(exec::check_grid(grid));
  nb::object options = taken(PyObject_GetAttr(settings.ptr(), kOptions));
  PyObject* metadata = PyTuple_GET_ITEM(args, 6);
  call_hook(PyTuple_GET_ITEM(args, 7), metadata);
  if (!empty) {
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(args) - kTritonArguments);
    std::array<PyObject*, 64> few;
    std::vector<PyObject*> many(count > few.size() ? count : 0);
    PyObject** values = many.empty() ? few.data() : many.data();
    for (size_t i = 0; i < count; i++)
      values[i] = PyTuple_GET_ITEM(args, kTritonArguments + static_cast<Py_ssize_t>(i));
    launcher.run(grid, values, count, *nb::inst_ptr<Options>(options));
  }
  call_hook(PyTuple_GET_ITEM(args, 8), metadata);
}

PyObject* observer = nullptr;  // owned

// Whether the observer, where there is one, has done the launch.
bool is_observed(PyObject* self, PyObject* args) {
  if (!observer) return false;
  nb::object held = nb::borrow(observer);  // it may take itself away
  nb::object done = taken(PyObject_CallFunctionObjArgs(held.ptr(), self, args, nullptr));
  return is_true(done);
}

// As tp_call: Triton calls with a tuple of all arguments, which then is not copied.
PyObject* call_slot(PyObject* self, PyObject* args, PyObject* keywords) {
  try {
    if (keywords && PyDict_Size(keywords) > 0) {
      PyErr_SetString(PyExc_TypeError, "a launcher takes no keyword arguments");
      return nullptr;
    }
    if (!is_observed(self, args)) call(*nb::inst_ptr<Launcher>(nb::handle(self)), args);
    Py_RETURN_NONE;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyType_Slot launcher_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_slot)}, {0, nullptr}};

}  // namespace

bool has_observer() { return observer != nullptr; }

void init_launcher(nb::module_& m) {
  m.def(
      "set_observer",
      [](nb::object function) {
        PyObject* before = std::exchange(observer, function.is_none() ? nullptr : function.release().ptr());
        Py_XDECREF(before);
      },
      "function"_a.none(),
      "What sees every launch through a Launcher before it runs: function(launcher, arguments), which gives "
      "True where it has done the launch itself; None: nothing.");
  nb::class_<Launcher>(
      m, "Launcher", nb::type_slots(launcher_slots),
      "A kernel with the signature it was compiled for, called as Triton calls its launchers: "
      "launcher(grid_x, grid_y, grid_z, stream, function, metadata, launch_metadata, enter_hook, exit_hook, "
      "*args). Runs under the settings in force and waits for the kernel.")
      .def(nb::init<std::shared_ptr<exec::Kernel>, const std::vector<std::pair<std::string, nb::object>>&,
                    bool, bool>(),
           "kernel"_a, "signature"_a, "loose"_a = false, "as_triton"_a = false,
           "signature: (name, type) a parameter; \"constexpr\" is left out of the launch, a tuple of types "
           "takes a tuple apart. loose: as Triton's launchers from 3.8 on, more arguments are ignored and "
           "integers wrap. as_triton: on a GPU, what one of Triton's launchers might refuse is left to it.");
}

}  // namespace triton_runner::python
