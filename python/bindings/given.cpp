// Values of calls, read without a Python object made where their types allow it.
#include "given.h"

#include <bit>
#include <cstring>
#include <optional>

#include "dlpack.h"
#include "torch_tensor.h"

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

// NumPy's, where it lies in one piece; its element types are told by the letters of the buffer protocol.
bool read_array(PyObject* object, Value& out) {
  Array array;
  if (!borrow_array(object, array)) return false;
  uint64_t type = 0;
  std::memcpy(&type, array.format, strnlen(array.format, sizeof type - 1));
  out.type = type | uint64_t{1} << 63, out.bits = array.address, out.mark = Mark::kAddress;
  return true;
}

// Devices as DLPack numbers them.
constexpr int kCuda = 2, kRocm = 10;

// The address of a tensor, and one number for one element type. False: it is none, or nobody can tell.
bool read_any_tensor(PyObject* object, int device, Value& out) {
  DlTensor t;
  if (borrow_tensor(object, t)) {
    const bool on_gpu = t.device_type == kCuda || t.device_type == kRocm;
    out.type = uint64_t{t.code} | uint64_t{t.bits} << 8 | uint64_t{t.lanes} << 16;
    out.bits = t.address(), out.mark = on_gpu && t.device_id == device ? Mark::kHere : Mark::kAddress;
    return true;
  }
  if (read_array(object, out)) return true;
  static PyObject* const kDtype = PyUnicode_InternFromString("dtype");
  static PyObject* const kAddress = PyUnicode_InternFromString("data_ptr");
  nb::object dtype = nb::steal(PyObject_GetAttr(object, kDtype));
  if (!dtype.is_valid() || !is_torch_dtype(dtype.ptr())) return PyErr_Clear(), false;
  nb::object address = nb::steal(PyObject_CallMethodNoArgs(object, kAddress));
  if (!address.is_valid() || !PyLong_Check(address.ptr())) return PyErr_Clear(), false;
  const uint64_t at = PyLong_AsUnsignedLongLong(address.ptr());
  if (PyErr_Occurred()) return PyErr_Clear(), false;
  out.type = reinterpret_cast<uint64_t>(dtype.ptr()), out.bits = at, out.mark = Mark::kAddress;
  return true;
}

// The same, faster for torch's own. Their element types have the numbers that other tensors have for them.
bool read_tensor(PyObject* object, int device, Value& out) {
  static std::array<std::optional<uint64_t>, 64> numbers;
  TorchTensor t;
  if (!read_torch_tensor(object, t) || t.dtype < 0 || t.dtype >= static_cast<int32_t>(numbers.size()))
    return read_any_tensor(object, device, out);
  std::optional<uint64_t>& number = numbers[static_cast<size_t>(t.dtype)];
  if (!number) {
    if (!read_any_tensor(object, device, out)) return false;
    number = out.type;
  }
  out.type = *number, out.bits = reinterpret_cast<uint64_t>(t.data);
  out.mark = t.device_type == TorchTensor::kCuda && t.device_index == device ? Mark::kHere : Mark::kAddress;
  return true;
}

// Whether a tensor's storage is within 2 GiB: of torch's own tensors what Triton asks of them, without Python.
// -1: an error.
int is_small(PyObject* tensor, PyObject* within) {
  static PyObject* const kRange = PyUnicode_InternFromString("ptr_range");
  static PyTypeObject* type = nullptr;
  if (!type) type = class_of("torch", "Tensor");
  if (Py_TYPE(tensor) == type && !PyObject_HasAttr(tensor, kRange))
    if (const int64_t bytes = torch_storage_bytes(tensor); bytes >= 0) return bytes <= INT32_MAX;
  nb::object answer = nb::steal(PyObject_CallOneArg(within, tensor));
  return answer.is_valid() ? PyObject_IsTrue(answer.ptr()) : -1;
}

void add_storage(PyObject* tensor, PyObject* within, Value& out) {
  const int small = is_small(tensor, within);
  if (small < 0) {
    PyErr_Clear();
    out.mark = Mark::kOther;  // which has no key: Triton says what is wrong
  }
  if (small == 1) out.type |= Value::kSmall;
}

// A host-side descriptor counts by its element type and the shape of its blocks.
bool add_descriptor(const KeyRule& rule, PyObject* object, Key& key) {
  static PyObject* const kBase = PyUnicode_InternFromString("base");
  static PyObject* const kBlock = PyUnicode_InternFromString("block_shape");
  if (rule.is_typed) return false;
  nb::object base = nb::steal(PyObject_GetAttr(object, kBase));
  nb::object block = nb::steal(PyObject_GetAttr(object, kBlock));
  if (!base.is_valid() || !block.is_valid()) return PyErr_Clear(), false;
  Value tensor;
  const bool is_tensor = read_tensor(base.ptr(), -1, tensor);  // its storage does not count
  nb::object sizes = nb::steal(PySequence_Fast(block.ptr(), ""));
  if (!is_tensor || !sizes.is_valid()) return PyErr_Clear(), false;
  key.tag('d'), key.word(tensor.type);
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

void read_integer(PyObject* object, Value& out) {
  int overflow = 0;
  out.bits = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(object, &overflow));
  out.mark = Mark::kInteger;
  if (overflow == 0) return;
  out.bits = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
  out.mark = overflow < 0 || PyErr_Occurred() ? Mark::kOther : Mark::kLarge;
  PyErr_Clear();
}

// Adds a value that is more than its bits: a tuple, a descriptor.
bool add_other(const KeyRule& rule, PyObject* object, const Given& given, Key& key) {
  if (is_descriptor(object)) return add_descriptor(rule, object, key);
  if (!PyTuple_CheckExact(object) || rule.is_typed) return false;
  key.tag('(');
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {  // elements are specialised by the usual rule
    PyObject* element = PyTuple_GET_ITEM(object, i);
    Value value;
    read_value(element, given.device, given.within.ptr(), value);
    if (!add_value({}, element, value, given, key)) return false;
  }
  return key.tag(')'), true;
}

}  // namespace

void read_value(PyObject* object, int device, PyObject* within, Value& out) {
  out.type = 0, out.mark = Mark::kOther;
  if (PyLong_CheckExact(object)) {
    read_integer(object, out);
  } else if (PyFloat_CheckExact(object)) {
    out.mark = Mark::kReal, out.bits = std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(object));
  } else if (object == Py_None) {
    out.mark = Mark::kNone, out.bits = 0;
  } else if (PyBool_Check(object)) {
    out.mark = Mark::kInteger, out.type = 1, out.bits = object == Py_True;
  } else if (!PyTuple_CheckExact(object) && !is_descriptor(object)) {
    if (read_tensor(object, device, out) && within) add_storage(object, within, out);
  }
}

bool add_value(const KeyRule& rule, PyObject* object, const Value& value, const Given& given, Key& key) {
  switch (value.mark) {
    case Mark::kInteger:
      if (value.type == 1) return key.boolean(rule, value.bits != 0), true;
      return key.integer(rule, static_cast<int64_t>(value.bits)), true;
    case Mark::kLarge:
      return key.large_integer(rule, value.bits), true;
    case Mark::kReal:
      return key.real(rule), true;
    case Mark::kNone:
      return key.none(rule), true;
    case Mark::kHere:
    case Mark::kAddress:
      return key.pointer(rule, value.element(), value.bits, value.is_small()), true;
    case Mark::kMissing:
    case Mark::kOther:
      break;
  }
  return add_other(rule, object, given, key);
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
