// Keys of calls, and the table of what they launch.
#include "dispatch.h"

#include <nanobind/stl/string.h>

#include <bit>
#include <optional>

#include "dlpack.h"

namespace triton_runner::python {
namespace {

using launch::Key;
using launch::KeyRule;

// A class of a Python module that the program has loaded; null where it has not.
PyTypeObject* class_of(const char* module, const char* name) {
  PyObject* loaded = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  PyObject* found = loaded ? PyObject_GetAttrString(loaded, name) : nullptr;
  PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(found);
}

// torch's element types are one object each, which lives on.
bool is_torch_dtype(PyObject* object) {
  static PyTypeObject* type = nullptr;
  if (!type) type = class_of("torch", "dtype");
  return type && Py_TYPE(object) == type;
}

bool is_descriptor(PyObject* object) {
  static PyTypeObject* type = nullptr;
  if (!type) type = class_of("triton.tools.tensor_descriptor", "TensorDescriptor");
  return type && Py_TYPE(object) == type;
}

struct Tensor {
  uint64_t type, address;  // one number for one element type
};

std::optional<Tensor> read_tensor(PyObject* object) {
  DlTensor t;
  if (borrow_tensor(object, t))
    return Tensor{uint64_t{t.code} | uint64_t{t.bits} << 8 | uint64_t{t.lanes} << 16, t.address()};
  static PyObject* const kDtype = PyUnicode_InternFromString("dtype");
  static PyObject* const kAddress = PyUnicode_InternFromString("data_ptr");
  nb::object dtype = nb::steal(PyObject_GetAttr(object, kDtype));
  if (!dtype.is_valid() || !is_torch_dtype(dtype.ptr())) return PyErr_Clear(), std::nullopt;
  nb::object address = nb::steal(PyObject_CallMethodNoArgs(object, kAddress));
  if (!address.is_valid() || !PyLong_Check(address.ptr())) return PyErr_Clear(), std::nullopt;
  const uint64_t at = PyLong_AsUnsignedLongLong(address.ptr());
  if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
  return Tensor{reinterpret_cast<uint64_t>(dtype.ptr()), at};
}

// A host-side descriptor counts by its element type and the shape of its blocks.
bool add_descriptor(const KeyRule& rule, PyObject* object, Key& key) {
  static PyObject* const kBase = PyUnicode_InternFromString("base");
  static PyObject* const kBlock = PyUnicode_InternFromString("block_shape");
  if (rule.is_typed) return false;
  nb::object base = nb::steal(PyObject_GetAttr(object, kBase));
  nb::object block = nb::steal(PyObject_GetAttr(object, kBlock));
  if (!base.is_valid() || !block.is_valid()) return PyErr_Clear(), false;
  const auto tensor = read_tensor(base.ptr());
  nb::object sizes = nb::steal(PySequence_Fast(block.ptr(), ""));
  if (!tensor || !sizes.is_valid()) return PyErr_Clear(), false;
  key.tag('d'), key.word(tensor->type);
  const Py_ssize_t rank = PySequence_Fast_GET_SIZE(sizes.ptr());
  key.word(static_cast<uint64_t>(rank));
  for (Py_ssize_t i = 0; i < rank; i++) {
    PyObject* size = PySequence_Fast_GET_ITEM(sizes.ptr(), i);
    if (!PyLong_CheckExact(size)) return false;
    int overflow = 0;
    key.word(static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(size, &overflow)));
    if (overflow != 0) return false;
  }
  return true;
}

bool add_value(const KeyRule& rule, PyObject* object, Key& key) {
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return key.integer(rule, value), true;
    const uint64_t large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) return PyErr_Clear(), false;
    return key.large_integer(rule, large), true;
  }
  if (PyFloat_CheckExact(object)) return key.real(rule), true;
  if (object == Py_None) return key.none(rule), true;
  if (PyBool_Check(object)) return key.boolean(rule), true;
  if (PyTuple_CheckExact(object)) {  // its elements are specialised by the usual rule
    if (rule.is_typed) return false;
    const Py_ssize_t size = PyTuple_GET_SIZE(object);
    key.tag('(');
    for (Py_ssize_t i = 0; i < size; i++)
      if (!add_value({}, PyTuple_GET_ITEM(object, i), key)) return false;
    return key.tag(')'), true;
  }
  if (is_descriptor(object)) return add_descriptor(rule, object, key);
  const auto tensor = read_tensor(object);
  if (tensor) key.pointer(rule, tensor->type, tensor->address);
  return tensor.has_value();
}

// Constants are told apart by type and value.
bool add_constant(PyObject* object, Key& key) {
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return false;
    return key.tag('I'), key.word(static_cast<uint64_t>(value)), true;
  }
  if (PyBool_Check(object)) return key.tag(object == Py_True ? 'T' : 'F'), true;
  if (object == Py_None) return key.tag('N'), true;
  if (PyFloat_CheckExact(object))
    return key.tag('R'), key.word(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object))), true;
  if (PyUnicode_CheckExact(object)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) return PyErr_Clear(), false;
    return key.tag('S'), key.text({text, static_cast<size_t>(size)}), true;
  }
  if (PyTuple_CheckExact(object)) {
    key.tag('(');
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
      if (!add_constant(PyTuple_GET_ITEM(object, i), key)) return false;
    return key.tag(')'), true;
  }
  if (is_torch_dtype(object)) return key.tag('t'), key.word(reinterpret_cast<uint64_t>(object)), true;
  // Triton's element types (tl.float32): by name, as many objects may be one type.
  static PyObject* const kDtype = [] {
    nb::object type = nb::module_::import_("triton.language.core").attr("dtype");
    return type.release().ptr();
  }();
  static PyObject* const kName = PyUnicode_InternFromString("name");
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != kDtype) return false;
  nb::object name = nb::steal(PyObject_GetAttr(object, kName));
  if (!name.is_valid()) return PyErr_Clear(), false;
  key.tag('D');
  return PyUnicode_CheckExact(name.ptr()) && add_constant(name.ptr(), key);
}

}  // namespace

bool Guard::holds() const {
  PyObject* now = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (!now) PyErr_Clear();
  return now == value.ptr();
}

bool KnownLaunch::holds() const {
  for (const Guard& guard : guards)
    if (!guard.holds()) return false;
  return true;
}

bool KnownLaunch::is_unhooked() const {
  for (const nb::object& list : empty)
    if (PyList_GET_SIZE(list.ptr()) != 0) return false;
  return true;
}

Dispatch::Dispatch(const nb::list& parameters, nb::object reserved, nb::object settings, nb::object learn)
    : reserved_(std::move(reserved)), settings_(std::move(settings)), learn_(std::move(learn)) {
  for (nb::handle entry : parameters) {
    const nb::tuple p = nb::cast<nb::tuple>(entry);
    PyObject* name = nb::object(p[0]).release().ptr();
    PyUnicode_InternInPlace(&name);
    parameters_.push_back({nb::steal(name),
                           {nb::cast<bool>(p[1]), nb::cast<bool>(p[2]), nb::cast<bool>(p[3]),
                            nb::cast<bool>(p[4]), nb::cast<bool>(p[5])},
                           p.size() > 6 ? nb::object(p[6]) : nb::object()});
  }
}

bool Dispatch::key_of(PyObject* const* args, size_t count, PyObject* names, Key& key, Values& values,
                      nb::object& settings) const {
  const size_t total = parameters_.size();
  if (total > kMaxParams || count > total) return false;
  settings = nb::steal(PyObject_CallNoArgs(settings_.ptr()));
  if (!settings.is_valid()) return PyErr_Clear(), false;
  key.word(reinterpret_cast<uint64_t>(settings.ptr()));
  for (size_t i = 0; i < total; i++) values[i] = i < count ? args[i] : nullptr;
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  std::array<Py_ssize_t, 32> options;
  size_t n_options = 0;
  for (Py_ssize_t k = 0; k < named; k++) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    size_t i = 0;
    while (i < total && parameters_[i].name.ptr() != name) i++;
    if (i == total)  // a name that was made at run time
      for (i = 0; i < total && PyUnicode_Compare(parameters_[i].name.ptr(), name) != 0;) i++;
    if (i < total) {
      if (values[i]) return false;  // given twice
      values[i] = args[count + static_cast<size_t>(k)];
    } else if (n_options == options.size() || PySet_Contains(reserved_.ptr(), name) != 0) {
      return PyErr_Clear(), false;
    } else {
      options[n_options++] = k;
    }
  }
  for (size_t i = 0; i < total; i++) {
    const Parameter& p = parameters_[i];
    if (!values[i]) values[i] = p.otherwise.ptr();
    if (!values[i]) return false;  // missing
    if (!(p.rule.is_constexpr ? add_constant(values[i], key) : add_value(p.rule, values[i], key)))
      return false;
  }
  for (size_t i = 0; i < n_options; i++) {
    if (!add_constant(PyTuple_GET_ITEM(names, options[i]), key)) return false;
    if (!add_constant(args[count + static_cast<size_t>(options[i])], key)) return false;
  }
  return key.fits();
}

std::shared_ptr<const KnownLaunch> Dispatch::find(const Key& key) const {
  auto found = known_.find(key.view());
  return found == known_.end() ? nullptr : found->second;
}

void Dispatch::learn(const Key& key, nb::handle function, nb::handle kernel, const nb::object& settings) {
  auto before = find(key);
  if (refusals_ >= kMaxRefusals || (before && before->renewed >= kMaxRenewed)) return;
  nb::object told = learn_(function, kernel);
  if (told.is_none()) {
    refusals_++;
    return;
  }
  auto known = std::make_shared<KnownLaunch>();
  known->kernel = nb::borrow(kernel);
  known->launcher = told[0];
  known->options = settings.attr("strict").attr("core_options");
  known->settings = settings;
  for (nb::handle entry : nb::cast<nb::list>(nb::object(told[1]))) {
    Guard guard{nb::object(entry[0]), nb::object(entry[1]), {}};
    PyObject* now = PyDict_GetItemWithError(guard.dict.ptr(), guard.key.ptr());
    if (!now) PyErr_Clear();
    guard.value = nb::borrow(now);
    known->guards.push_back(std::move(guard));
  }
  for (nb::handle list : nb::cast<nb::list>(nb::object(told[2]))) known->empty.push_back(nb::borrow(list));
  if (known_.size() >= kMaxKnown) known_.clear();
  if (before) known->renewed = before->renewed + 1;
  known_.insert_or_assign(std::string(key.view()), std::move(known));
}

int Dispatch::traverse(visitproc visit, void* arg) {
  for (const Parameter& p : parameters_) Py_VISIT(p.otherwise.ptr());
  Py_VISIT(learn_.ptr());
  for (const auto& [key, known] : known_) {
    if (known.use_count() > 1) continue;  // a launch holds it
    for (nb::handle object : {known->kernel, known->launcher, known->options, known->settings})
      Py_VISIT(object.ptr());
    for (const Guard& guard : known->guards) {
      Py_VISIT(guard.dict.ptr());
      Py_VISIT(guard.key.ptr());
      Py_VISIT(guard.value.ptr());
    }
    for (const nb::object& list : known->empty) Py_VISIT(list.ptr());
  }
  return 0;
}

void Dispatch::drop() {
  auto known = std::move(known_);
  known_.clear();
  for (Parameter& p : parameters_) p.otherwise.reset();
  learn_.reset();
}

namespace {

int traverse_dispatch(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<Dispatch>(self)->traverse(visit, arg);
}

int clear_dispatch(PyObject* self) {
  nb::inst_ptr<Dispatch>(self)->drop();
  return 0;
}

PyType_Slot dispatch_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_dispatch)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_dispatch)},
                                {0, nullptr}};

}  // namespace

void init_dispatch(nb::module_& m) {
  nb::class_<Dispatch>(m, "Dispatch", nb::type_slots(dispatch_slots),
                       "The launches of one kernel that were seen before: calls with equal keys run the "
                       "same code (triton_runner/_dispatch.py).")
      .def(nb::init<const nb::list&, nb::object, nb::object, nb::object>(), nb::arg("parameters"),
           nb::arg("reserved"), nb::arg("settings"), nb::arg("learn"))
      .def(
          "key",
          [](const Dispatch& self, const nb::args& args, const nb::kwargs& kwargs) -> nb::object {
            std::vector<PyObject*> given;
            for (nb::handle value : args) given.push_back(value.ptr());
            nb::list names;
            for (auto [name, value] : kwargs) {
              names.append(name);
              given.push_back(value.ptr());
            }
            Key key;
            Dispatch::Values values;
            nb::object settings;
            if (!self.key_of(given.data(), args.size(), nb::tuple(names).ptr(), key, values, settings))
              return nb::none();
            return nb::bytes(key.view().data(), key.view().size());
          },
          "The bytes by which a call with these arguments is found; None: Python looks at each such call.")
      .def("forget", &Dispatch::forget, "Every call goes through Python again, once.");
}

}  // namespace triton_runner::python
