// The tensors of a torch without CUDA say that they lie on the first GPU: by torch's exchange table of DLPack (1.2,
// DLPackExchangeAPI) with one entry changed, and by the functions for compiled code, of which those found first
// count (python/bindings/torch_tensor.cpp) where this library is loaded for all. For launches on a driver that
// is not there.

#include <cstdint>

namespace {

struct Tensor {
  void* data;
  int32_t device_type, device_id, dimensions;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
};

struct Table {
  uint32_t major, minor;
  void *previous, *allocate, *from_object, *to_object;
  int (*borrow)(void*, Tensor*);
  int (*current_stream)(int, int32_t, void**);
};

int32_t gpu;  // as DLPack numbers it
Table* own;
Table changed;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int32_t aoti_torch_get_device_type(void*, int32_t* out) {
  constexpr int32_t kTorchsCuda = 1;
  return *out = kTorchsCuda, 0;
}
EXPORT int32_t aoti_torch_get_device_index(void*, int32_t* out) { return *out = 0, 0; }

EXPORT void* on_gpu(void* table, int32_t device_type) {
  gpu = device_type;
  own = static_cast<Table*>(table);
  changed = *own;
  changed.borrow = [](void* object, Tensor* tensor) {
    const int status = own->borrow(object, tensor);
    tensor->device_type = gpu;
    tensor->device_id = 0;
    return status;
  };
  changed.current_stream = [](int, int32_t, void** stream) {
    *stream = nullptr;
    return 0;
  };
  return &changed;
}
