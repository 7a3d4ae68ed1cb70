// Reads torch tensors through their at::Tensor. Its offset in the Python object is determined from the `_cdata` of
// the first tensors.
#include "torch_tensor.h"

#include <dlfcn.h>

#include <array>
#include <set>

namespace triton_runner::python {
namespace {

struct Functions {
  int32_t (*data)(void* tensor, void** out);
  int32_t (*dtype)(void* tensor, int32_t* out);
  int32_t (*device_type)(void* tensor, int32_t* out);
  int32_t (*device_index)(void* tensor, int32_t* out);
  int32_t (*storage_bytes)(void* tensor, int64_t* out);

  // Finds the functions in the torch that the program has loaded.
  bool find() {
    void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    const auto look_up = [torch](auto& function, const char* name) {
      void* found = dlsym(RTLD_DEFAULT, name);
      if (!found && torch) found = dlsym(torch, name);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
      return found != nullptr;
    };
    return look_up(data, "aoti_torch_get_data_ptr") && look_up(dtype, "aoti_torch_get_dtype") &&
           look_up(device_type, "aoti_torch_get_device_type") &&
           look_up(device_index, "aoti_torch_get_device_index") &&
           look_up(storage_bytes, "aoti_torch_get_storage_size");
  }
};

// The classes whose objects belong entirely to torch. A subclass may use its memory differently.
struct Classes {
  std::array<PyTypeObject*, 2> known{};

  bool find() {
    PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
    if (!torch) return false;
    known[0] = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(torch, "Tensor"));
    nb::object nn = nb::steal(PyObject_GetAttrString(torch, "nn"));
    if (nn.is_valid())
      known[1] = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(nn.ptr(), "Parameter"));
    PyErr_Clear();
    return known[0] && known[1];
  }
};

// Determines which word after the head of an object holds the address of its tensor: the one that did so in every
// object so far.
class Offset {
 public:
  size_t proven() const { return proven_; }  // in bytes; 0 if not yet known, or unknown
  bool is_open() const { return proven_ == 0 && !candidates_.empty(); }

  void look_at(PyObject* object) {
    nb::object said = nb::steal(PyObject_GetAttrString(object, "_cdata"));
    const uint64_t address = said.is_valid() ? PyLong_AsUnsignedLongLong(said.ptr()) : 0;
    if (PyErr_Occurred()) return PyErr_Clear(), candidates_.clear();
    const auto* bytes = reinterpret_cast<const char*>(object);
    std::erase_if(candidates_, [&](size_t offset) {
      return *reinterpret_cast<const uint64_t*>(bytes + offset) != address;
    });
    seen_.insert(address);
    if (seen_.size() >= kEnough && candidates_.size() == 1) proven_ = *candidates_.begin();
  }

 private:
  static constexpr size_t kEnough = 4;
  // After the head, or after a word that says whether the tensor is borrowed.
  std::set<size_t> candidates_{sizeof(PyObject), sizeof(PyObject) + sizeof(void*)};
  std::set<uint64_t> seen_;
  size_t proven_ = 0;
};

struct Reader {
  Functions functions{};
  Classes classes;
  std::array<Offset, 2> offsets;
  bool is_there = false, is_refused = false;

  // Searches until the program has imported torch.
  bool is_ready() {
    if (is_there || is_refused) return is_there;
    if (!classes.find()) return false;
    is_there = functions.find();
    is_refused = !is_there;
    return is_there;
  }
};

Reader reader;

// The offset for the object's class; null for other classes.
Offset* offset_of(PyObject* object) {
  const size_t which = Py_TYPE(object) == reader.classes.known[0] ? 0 : 1;
  return Py_TYPE(object) == reader.classes.known[which] ? &reader.offsets[which] : nullptr;
}

// The at::Tensor of an object; null if its offset is not known yet.
void* tensor_of(PyObject* object) {
  const Offset* offset = offset_of(object);
  const bool is_known = offset && offset->proven() != 0;
  return is_known ? reinterpret_cast<char*>(object) + offset->proven() : nullptr;
}

}  // namespace

bool read_torch_tensor(PyObject* object, TorchTensor& out) {
  if (!reader.is_there && !reader.is_ready()) return false;
  void* tensor = tensor_of(object);
  if (!tensor) {
    if (Offset* offset = offset_of(object); offset && offset->is_open()) offset->look_at(object);
    return false;
  }
  const Functions& f = reader.functions;
  return f.data(tensor, &out.data) == 0 && f.dtype(tensor, &out.dtype) == 0 &&
         f.device_type(tensor, &out.device_type) == 0 && f.device_index(tensor, &out.device_index) == 0;
}

int64_t torch_storage_bytes(PyObject* object) {
  void* tensor = reader.is_there ? tensor_of(object) : nullptr;
  int64_t bytes = -1;
  return tensor && reader.functions.storage_bytes(tensor, &bytes) == 0 ? bytes : -1;
}

}  // namespace triton_runner::python
