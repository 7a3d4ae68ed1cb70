// Values of calls, read without a Python object made where their types allow it.
#include "given.h"

#include <bit>
#include <cstring>
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
  bool is_here = false;    // on the GPU that launches go to
};

// NumPy's, where it lies in one piece; its element types are told by the letters of the buffer protocol.
std::optional<Tensor> read_array(PyObject* object) {
  Array array;
  if (!borrow_array(object, array)) return std::nullopt;
  uint64_t type = 0;
  std::memcpy(&type, array.format, strnlen(array.format, sizeof type - 1));
  return Tensor{type | uint64_t{1} << 63, array.address};
}

// Devices as DLPack numbers them.
constexpr int kCuda = 2, kRocm = 10;

std::optional<Tensor> read_tensor(PyObject* object, int device) {
  DlTensor t;
  if (borrow_tensor(object, t)) {
    const uint64_t type = uint64_t{t.code} | uint64_t{t.bits} << 8 | uint64_t{t.lanes} << 16;
    const bool on_gpu = t.device_type == kCuda || t.device_type == kRocm;
    return Tensor{type, t.address(), on_gpu && t.device_id == device};
  }
  if (auto array = read_array(object)) return array;
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
  const auto tensor = read_tensor(base.ptr(), -1);
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

// An integer as key and bits; false: it has more than 64 of them.
bool add_integer(const KeyRule& rule, PyObject* object, Key& key, Mark& mark, uint64_t& bits) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    mark = Mark::kInteger, bits = static_cast<uint64_t>(value);
    return key.integer(rule, value), true;
  }
  bits = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
  if (overflow < 0 || PyErr_Occurred()) return PyErr_Clear(), false;
  mark = Mark::kLarge;
  return key.large_integer(rule, bits), true;
}

bool add_value(const KeyRule& rule, PyObject* object, int device, Key& key, Mark& mark, uint64_t& bits) {
  mark = Mark::kOther, bits = 0;
  if (PyLong_CheckExact(object)) return add_integer(rule, object, key, mark, bits);
  if (PyFloat_CheckExact(object)) {
    mark = Mark::kReal, bits = std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object));
    return key.real(rule), true;
  }
  if (object == Py_None) return mark = Mark::kNone, key.none(rule), true;
  if (PyBool_Check(object)) {
    mark = Mark::kInteger, bits = object == Py_True;
    return key.boolean(rule, object == Py_True), true;
  }
  if (PyTuple_CheckExact(object)) {  // its elements are specialised by the usual rule
    if (rule.is_typed) return false;
    const Py_ssize_t size = PyTuple_GET_SIZE(object);
    Mark inner;
    key.tag('(');
    for (Py_ssize_t i = 0; i < size; i++)
      if (!add_value({}, PyTuple_GET_ITEM(object, i), device, key, inner, bits)) return false;
    return key.tag(')'), true;
  }
  if (is_descriptor(object)) return add_descriptor(rule, object, key);
  const auto tensor = read_tensor(object, device);
  if (!tensor) return false;
  mark = tensor->is_here ? Mark::kHere : Mark::kAddress, bits = tensor->address;
  return key.pointer(rule, tensor->type, tensor->address), true;
}

}  // namespace

bool read_value(const KeyRule& rule, size_t i, Given& given, Key& key) {
  return add_value(rule, given.values[i], given.device, key, given.marks[i], given.bits[i]);
}

bool add_text(PyObject* object, Given& given, Key& key) {
  constexpr Py_ssize_t kShort = 256;
  if (!PyUnicode_CheckExact(object)) return false;
  if (PyUnicode_GetLength(object) <= kShort) return add_constant(object, key);
  if (given.n_texts == given.texts.size()) return false;
  given.texts[given.n_texts++] = object;
  return key.tag('@'), key.word(reinterpret_cast<uint64_t>(object)), true;
}

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
  static PyTypeObject* dtype = nullptr;
  if (!dtype) dtype = class_of("triton.language.core", "dtype");
  static PyObject* const kName = PyUnicode_InternFromString("name");
  if (!dtype || Py_TYPE(object) != dtype) return false;
  nb::object name = nb::steal(PyObject_GetAttr(object, kName));
  if (!name.is_valid()) return PyErr_Clear(), false;
  key.tag('D');
  return PyUnicode_CheckExact(name.ptr()) && add_constant(name.ptr(), key);
}

}  // namespace triton_runner::python
