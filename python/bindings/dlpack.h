// Tensors read without a call of Python: through DLPack's exchange table, version 1 (dlpack.h of
// DLPack 1.2), which types of torch 2.11 and later have.
#pragma once
#include <cstdint>

#include "bindings.h"

namespace triton_runner::python {

struct DlTensor {
  void* data;
  int32_t device_type, device_id;  // 1: CPU, 2: CUDA, 10: ROCm
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;  // strides in elements; may be null: row-major
  uint64_t byte_offset;

  uint64_t address() const { return reinterpret_cast<uint64_t>(data) + byte_offset; }
};

// False where the object's type has no table. What `out` points to lives as long as the object.
bool borrow_tensor(PyObject* object, DlTensor& out);

// An array of NumPy in one piece, by the buffer protocol; its memory lives as long as the object. False: it is
// another object, is not contiguous, or has an element type that the protocol does not know.
struct Array {
  uint64_t address = 0, bytes = 0;
  bool is_readonly = false;
  char format[8] = {};
};
bool borrow_array(PyObject* object, Array& out);

// The stream of a GPU that torch would launch on, as a handle; 0, the default stream, where the program has not
// loaded torch, or one without that GPU.
uint64_t current_stream(bool is_hip, int device);

}  // namespace triton_runner::python
