// Finds the exchange tables of tensor types, once a type.
#include "dlpack.h"

#include <cstring>
#include <vector>

namespace triton_runner::python {
namespace {

struct DlExchange {
  uint32_t major, minor;
  void* previous;
  void *allocate, *from_object, *to_object;
  int (*borrow)(void* object, DlTensor* out);  // 0, or a Python exception
  int (*current_stream)(int device_type, int32_t device, void** out);
};

// The table of a type of tensors, null where it has none; found out once a type, under the GIL.
const DlExchange* exchange_of(PyTypeObject* type) {
  struct Known {
    PyTypeObject* type;
    const DlExchange* exchange;
  };
  static std::vector<Known> known;
  for (const Known& k : known)
    if (k.type == type) return k.exchange;
  const DlExchange* exchange = nullptr;
  auto* object = reinterpret_cast<PyObject*>(type);
  if (PyObject_HasAttrString(object, "untyped_storage")) {
    PyObject* table = PyObject_GetAttrString(object, "__dlpack_c_exchange_api__");
    if (table && PyCapsule_IsValid(table, "dlpack_exchange_api"))
      exchange = static_cast<const DlExchange*>(PyCapsule_GetPointer(table, "dlpack_exchange_api"));
    PyErr_Clear();
    if (exchange && exchange->major != 1) exchange = nullptr;
    Py_INCREF(object);  // the table and the address stay this type's
    known.push_back({type, exchange});
    Py_XDECREF(table);
  }
  return exchange;
}

}  // namespace

bool borrow_tensor(PyObject* object, DlTensor& out) {
  const DlExchange* exchange = exchange_of(Py_TYPE(object));
  if (!exchange) return false;
  if (exchange->borrow(object, &out) != 0) return PyErr_Clear(), false;
  return true;
}

bool borrow_array(PyObject* object, Array& out) {
  static PyTypeObject* type = nullptr;
  if (!type) {
    PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    type = numpy ? reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(numpy, "ndarray")) : nullptr;
    PyErr_Clear();
  }
  if (!type || Py_TYPE(object) != type) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_ND | PyBUF_FORMAT) != 0) return PyErr_Clear(), false;
  out = {reinterpret_cast<uint64_t>(view.buf), static_cast<uint64_t>(view.len), view.readonly != 0, {}};
  const bool is_known = view.format && std::strlen(view.format) < sizeof out.format;
  if (is_known) std::strcpy(out.format, view.format);
  PyBuffer_Release(&view);
  return is_known;
}

uint64_t current_stream(bool is_hip, int device) {
  static const DlExchange* exchange = nullptr;
  static PyObject* raw_stream = nullptr;  // torch._C._cuda_getCurrentRawStream(device)
  if (!exchange && !raw_stream) {
    PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
    if (!torch) return 0;
    nb::object tensor = nb::steal(PyObject_GetAttrString(torch, "Tensor"));
    if (tensor.is_valid()) exchange = exchange_of(reinterpret_cast<PyTypeObject*>(tensor.ptr()));
    if (exchange && !exchange->current_stream) exchange = nullptr;
    nb::object core = nb::steal(PyObject_GetAttrString(torch, "_C"));
    if (!exchange && core.is_valid())
      raw_stream = PyObject_GetAttrString(core.ptr(), "_cuda_getCurrentRawStream");
    PyErr_Clear();
  }
  if (exchange) {
    constexpr int kCuda = 2, kRocm = 10;
    void* stream = nullptr;
    if (exchange->current_stream(is_hip ? kRocm : kCuda, device, &stream) != 0) throw nb::python_error();
    return reinterpret_cast<uint64_t>(stream);
  }
  if (!raw_stream) return 0;
  nb::object number = nb::steal(PyLong_FromLong(device));
  nb::object stream = taken(PyObject_CallOneArg(raw_stream, number.ptr()));
  return PyLong_AsUnsignedLongLong(stream.ptr());
}

}  // namespace triton_runner::python
