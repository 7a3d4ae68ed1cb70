// torch's tensors read without a call of Python or of DLPack: by the C functions that torch keeps for code
// compiled ahead of time (torch/csrc/inductor/aoti_torch/c/shim.h), a few nanoseconds each.
#pragma once
#include <cstdint>

#include "bindings.h"

namespace triton_runner::python {

struct TorchTensor {
  void* data;  // as data_ptr() gives it
  int32_t dtype, device_type, device_index;
  static constexpr int32_t kCuda = 1;  // AMD's devices too
};

// False where the object is not of the class torch.Tensor or torch.nn.Parameter, has no memory, or is among the
// first of its class: these functions take what such an object holds at an offset that torch does not tell, and
// which some tensors have to confirm first.
bool read_torch_tensor(PyObject* object, TorchTensor& out);

// The bytes of what such a tensor is a view of; -1 where that cannot be read so.
int64_t torch_storage_bytes(PyObject* object);

}  // namespace triton_runner::python
