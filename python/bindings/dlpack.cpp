// The exchange tables of tensor types, found once a type.
#include "dlpack.h"

#include <vector>

namespace triton_runner::python {
namespace {

struct DlExchange {
  uint32_t major, minor;
  void* previous;
  void *allocate, *from_object, *to_object;
  int (*borrow)(void* object, DlTensor* out);  // 0, or a Python exception
  void* current_stream;
};

// Of a type of tensors, null where it has no table; found out once a type, under the GIL.
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
  return out.device_type == 1;
}

}  // namespace triton_runner::python
