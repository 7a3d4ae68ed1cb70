// Makes _core.Call: what kernel[grid] is for a kernel of triton_runner.jit. A call whose key is known goes
// straight to the launcher of its compiled kernel; any other goes through kernel.run, and is known afterwards.
// The first launch of a kernel goes Triton's way and is not learned: what is launched once does not pay for it.
//
// A type of CPython's own kind, as the arguments of a call are to come without a tuple or a dict of them.
#include "dispatch.h"

#include <structmember.h>

#include <utility>

namespace triton_runner::python {
namespace {

struct Call {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *dispatch, *grid;  // dispatch: null before a second launch
};

// _core.Launchable: kernel[grid] of kernels that have their known launches in `_known`; None: the class says.
struct Launchable {
  PyObject_HEAD PyObject* known;  // null: self._make_known() has not been asked
  bool was_launched;
};

PyObject* known_of(PyObject* self, void* = nullptr) {
  PyObject*& known = reinterpret_cast<Launchable*>(self)->known;
  if (!known) {
    static PyObject* const kMake = PyUnicode_InternFromString("_make_known");
    PyObject* made = PyObject_CallMethodNoArgs(self, kMake);
    if (!made) return nullptr;
    Py_XDECREF(std::exchange(known, made));
  }
  return Py_NewRef(known);
}

// self[grid] as Triton has it.
PyObject* plain_subscript(PyObject* self, PyObject* grid) {
  static PyObject* const kPlain = PyUnicode_InternFromString("_subscript");
  return PyObject_CallMethodObjArgs(self, kPlain, grid, nullptr);
}

// Gives a call its kernel's known launches; false: there are none, or this is the kernel's first launch.
bool has_dispatch(Call& call) {
  if (call.dispatch) return true;
  auto* kernel = reinterpret_cast<Launchable*>(call.function);
  if (!kernel->known && !std::exchange(kernel->was_launched, true)) return false;
  nb::object known = taken(known_of(call.function));
  if (known.is_none()) return false;
  if (!call.dispatch) call.dispatch = known.release().ptr();
  return true;
}

// The grid of a call: a tuple or list of plain integers, or a function of the arguments that gives one.
// Invalid where the general way has to read it.
nb::object grid_of(const Call& call, const Dispatch& dispatch, const Given& given) {
  nb::object grid = nb::borrow(call.grid);
  if (PyTuple_Check(call.grid) || PyList_Check(call.grid) || !PyCallable_Check(call.grid)) return grid;
  if (dispatch.is_open()) return grid;  // nothing has names
  nb::dict bound;
  for (size_t i = 0; i < given.size; i++)
    if (given.values[i]) bound[dispatch.name(i)] = nb::handle(given.values[i]);
  return taken(PyObject_CallOneArg(call.grid, bound.ptr()));
}

bool read_grid(nb::handle grid, std::array<int64_t, 3>& out) {
  const bool is_tuple = PyTuple_Check(grid.ptr());
  if (!is_tuple && !PyList_Check(grid.ptr())) return false;
  const Py_ssize_t size = is_tuple ? PyTuple_GET_SIZE(grid.ptr()) : PyList_GET_SIZE(grid.ptr());
  if (size < 1 || size > 3) return false;
  out = {1, 1, 1};
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject* extent = is_tuple ? PyTuple_GET_ITEM(grid.ptr(), i) : PyList_GET_ITEM(grid.ptr(), i);
    int overflow = 0;
    if (!PyLong_CheckExact(extent)) return false;
    out[static_cast<size_t>(i)] = PyLong_AsLongLongAndOverflow(extent, &overflow);
    if (overflow != 0 || out[static_cast<size_t>(i)] < 1) return false;
  }
  return exec::check_grid(out).ok();
}

// kernel.run(*args, grid=grid, warmup=False, **keywords)
nb::object through_python(const Call& call, const Dispatch& dispatch, nb::handle grid, PyObject* const* args,
                          size_t count, PyObject* names) {
  static PyObject* const kGrid = PyUnicode_InternFromString("grid");
  static PyObject* const kWarmup = PyUnicode_InternFromString("warmup");
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  nb::object all = nb::steal(PyTuple_New(named + 2));
  for (Py_ssize_t i = 0; i < named + 2; i++) {
    PyObject* name = i < named ? PyTuple_GET_ITEM(names, i) : i == named ? kGrid : kWarmup;
    Py_INCREF(name);
    if (PyTuple_SetItem(all.ptr(), i, name) != 0) throw nb::python_error();
  }
  std::vector<PyObject*> values{call.function};
  values.insert(values.end(), args, args + count + static_cast<size_t>(named));
  values.push_back(grid.ptr());
  values.push_back(Py_False);
  nb::object result =
      taken(PyObject_VectorcallMethod(dispatch.method(), values.data(), count + 1, all.ptr()));
  return result;
}

// relay(grid, x, y, z, *values); false: it has launched nothing.
bool relay(const KnownLaunch& known, nb::handle grid, const std::array<int64_t, 3>& axes,
           const Given& given) {
  std::array<nb::object, 3> extents;
  std::vector<PyObject*> values{grid.ptr()};
  for (size_t i = 0; i < 3; i++) {
    extents[i] = nb::steal(PyLong_FromLongLong(axes[i]));
    values.push_back(extents[i].ptr());
  }
  values.insert(values.end(), given.values.begin(), given.values.begin() + given.size);
  nb::object done = taken(PyObject_Vectorcall(known.relay.ptr(), values.data(), values.size(), nullptr));
  return done.is(Py_True);
}

nb::object run(Call& call, PyObject* const* args, size_t count, PyObject* names) {
  if (!has_dispatch(call)) {
    nb::object plain = taken(plain_subscript(call.function, call.grid));
    nb::object kernel = taken(PyObject_Vectorcall(plain.ptr(), args, count, names));
    return kernel;
  }
  Dispatch& dispatch = *nb::inst_ptr<Dispatch>(nb::handle(call.dispatch));
  const auto general = [&](nb::handle grid) {
    return through_python(call, dispatch, grid, args, count, names);
  };
  if (has_observer() || dispatch.gave_up()) return general(call.grid);
  ReadCall asked;
  const auto known = dispatch.look_up(args, count, names, asked);
  if (known && known->holds()) {
    const bool is_hooked = known->is_hooked();
    if (!known->is_plain() || (is_hooked && known->relay.is_none())) return general(call.grid);
    nb::object grid = grid_of(call, dispatch, asked.given);
    std::array<int64_t, 3> axes;
    if (!read_grid(grid, axes)) return general(grid);
    if (is_hooked) return relay(*known, grid, axes, asked.given) ? known->kernel : general(grid);
    const Launcher& launcher = *nb::inst_ptr<Launcher>(known->launcher);
    const Options& options = *nb::inst_ptr<Options>(known->options);
    if (!launcher.gpu) {
      launcher.run(axes, asked.given.values.data(), asked.given.size, options);
    } else if (!launcher.queue(axes, asked.given, options)) {
      return general(grid);
    }
    return known->kernel;
  }
  if (known) dispatch.give_key(asked, *known);
  nb::object kernel = general(call.grid);
  if (asked.has_key && !kernel.is_none()) dispatch.learn(asked, args, count, names, call.function, kernel);
  return kernel;
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t flagged, PyObject* names) {
  // The call may let go of the last reference to it.
  nb::object held = nb::borrow(self);
  try {
    return run(*reinterpret_cast<Call*>(self), args, static_cast<size_t>(PyVectorcall_NARGS(flagged)), names)
        .release()
        .ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* spare = nullptr;  // a Call that nobody has; it keeps its reference to the type

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* call = reinterpret_cast<Call*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(call->function);
  Py_VISIT(call->dispatch);
  Py_VISIT(call->grid);
  return 0;
}

int clear(PyObject* self) {
  auto* call = reinterpret_cast<Call*>(self);
  Py_CLEAR(call->function);
  Py_CLEAR(call->dispatch);
  Py_CLEAR(call->grid);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  if (!spare) {  // kernel[grid] makes one a launch, and lets it go
    spare = self;
    return;
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyTypeObject* call_type = nullptr;

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Call, vectorcall), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"triton_runner._core.Call", sizeof(Call), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

PyObject* make_call(PyObject* function, PyObject* dispatch, PyObject* grid) {
  auto* call = reinterpret_cast<Call*>(std::exchange(spare, nullptr));
  if (!call) {
    call = PyObject_GC_New(Call, call_type);
    if (!call) return nullptr;
  } else {
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(call), 1);
  }
  call->vectorcall = vectorcall;
  call->function = Py_NewRef(function);
  call->dispatch = Py_XNewRef(dispatch);
  call->grid = Py_NewRef(grid);
  PyObject_GC_Track(reinterpret_cast<PyObject*>(call));
  return reinterpret_cast<PyObject*>(call);
}

int set_known(PyObject* self, PyObject* value, void*) {
  Py_XINCREF(value);
  Py_XDECREF(std::exchange(reinterpret_cast<Launchable*>(self)->known, value));
  return 0;
}

PyObject* subscript(PyObject* self, PyObject* grid) {
  PyObject* known = reinterpret_cast<Launchable*>(self)->known;
  return known == Py_None ? plain_subscript(self, grid) : make_call(self, known, grid);
}

// Copies and pickles know no launches.
PyObject* state_of(PyObject* self, PyObject*) {
  nb::object fields = nb::steal(PyObject_GenericGetDict(self, nullptr));
  return fields.is_valid() ? PyDict_Copy(fields.ptr()) : nullptr;
}

int traverse_launchable(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Launchable*>(self)->known);
  return 0;
}

int clear_launchable(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Launchable*>(self)->known);
  return 0;
}

void dealloc_launchable(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_launchable(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyGetSetDef launchable_fields[] = {{"_known", known_of, set_known, nullptr, nullptr}, {}};
PyMethodDef launchable_methods[] = {{"__getstate__", state_of, METH_NOARGS, nullptr}, {}};
PyType_Slot launchable_slots[] = {{Py_mp_subscript, reinterpret_cast<void*>(subscript)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(traverse_launchable)},
                                  {Py_tp_clear, reinterpret_cast<void*>(clear_launchable)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_launchable)},
                                  {Py_tp_getset, launchable_fields},
                                  {Py_tp_methods, launchable_methods},
                                  {0, nullptr}};
PyType_Spec launchable_spec = {"triton_runner._core.Launchable", sizeof(Launchable), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                               launchable_slots};

}  // namespace

void init_call(nb::module_& m) {
  call_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  nb::object launchable = nb::steal(PyType_FromSpec(&launchable_spec));
  if (!call_type || !launchable.is_valid()) throw nb::python_error();
  m.attr("Launchable") = launchable;
}

}  // namespace triton_runner::python
