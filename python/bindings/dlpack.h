// Tensors on the CPU read without a call of Python: through DLPack's exchange table, version 1 (dlpack.h of
// DLPack 1.2), which types of torch 2.11 and later have.
#pragma once
#include <cstdint>

#include "bindings.h"

namespace triton_runner::python {

struct DlTensor {
  void* data;
  int32_t device_type, device_id;  // 1: CPU
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;  // strides in elements; may be null: row-major
  uint64_t byte_offset;

  uint64_t address() const { return reinterpret_cast<uint64_t>(data) + byte_offset; }
};

// False where the object's type has no table, or the object is no tensor on the CPU. What `out` points to
// lives as long as the object.
bool borrow_tensor(PyObject* object, DlTensor& out);

}  // namespace triton_runner::python
