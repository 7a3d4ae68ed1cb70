// torch's exchange table of DLPack (1.2, DLPackExchangeAPI) with one entry changed: the tensors of a torch without CUDA
// say that they lie on a GPU. For launch_share.py, which launches on a driver that is not there.

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

extern "C" __attribute__((visibility("default"))) void* on_gpu(void* table, int32_t device_type) {
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
