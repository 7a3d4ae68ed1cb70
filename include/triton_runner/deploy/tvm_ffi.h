// Makes a kernel of an exported folder as a function of TVM-FFI, which Python, C++ and Rust load from one
// shared library (examples/tvm_ffi), with neither Python nor Triton behind it:
//
//   TRITON_RUNNER_TVM_FFI(add, "kernels", "add_kernel",
//                         [](const deploy::Variant& variant, const auto& arguments) {
//     const auto n = static_cast<int64_t>(arguments[3].value.bits()), block = variant.number("BLOCK");
//     return deploy::Grid{(n + block - 1) / block};
//   })
//
// exports `add`. Its arguments are the kernel's, in order: tensors, numbers, bools, None; texts choose among
// variants. It runs where its tensors are, on a GPU on the stream that TVM-FFI has for it. What is wrong with a
// call becomes TVM-FFI's error. The folder lies beside the library, unless its path is absolute.
//
// The part of TVM-FFI's stable C ABI that is used is declared here: compiling needs none of its headers, and the
// library is linked to libtvm_ffi.
#pragma once
#include <dlfcn.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <triton_runner/deploy/deploy.h>

extern "C" {
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
void* TVMFFIEnvGetStream(int32_t device_type, int32_t device);
}

namespace triton_runner::deploy::tvm_ffi {

// Numbers of types (TVMFFITypeIndex).
enum : int32_t {
  kNone = 0,
  kInteger = 1,
  kBool = 2,
  kReal = 3,
  kPointer = 4,
  kTensorPointer = 7,
  kRawText = 8,
  kSmallText = 11,
  kText = 65,
  kTensor = 70
};
constexpr int32_t kCpu = 1, kCuda = 2, kRocm = 10;  // devices, as DLPack numbers them

struct Tensor {  // DLTensor
  void* data;
  int32_t device_type, device;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;

  // Bytes from its first element to its last.
  size_t bytes() const {
    int64_t last = 0, step = 1;
    for (int i = rank; i-- > 0; step *= shape[i]) {
      if (shape[i] == 0) return 0;
      last += (shape[i] - 1) * (strides ? strides[i] : step);
    }
    return static_cast<size_t>(last + 1) * element_bytes();
  }
  size_t element_bytes() const { return (size_t{bits} * lanes + 7) / 8; }
};

struct Any {  // TVMFFIAny
  int32_t type;
  uint32_t padding;
  union {
    int64_t integer;
    double real;
    void* pointer;
    const char* text;
    char small[8];
  };
};
constexpr size_t kObjectHeader = 24;  // sizeof(TVMFFIObject)

// A kernel, loaded once a device.
class Function {
 public:
  using GridOf = std::function<Grid(const Variant&, const std::vector<Argument>&)>;

  // symbol: of the library that the folder lies beside.
  Function(const void* symbol, std::string folder, std::string kernel, GridOf grid)
      : folder_(std::move(folder)), kernel_(std::move(kernel)), grid_(std::move(grid)) {
    Dl_info library;
    if (!folder_.starts_with('/') && dladdr(symbol, &library) != 0) {
      const std::string path = library.dli_fname;
      folder_ = path.substr(0, path.rfind('/') + 1) + folder_;
    }
  }

  int call(const Any* given, int32_t count, Any* result) {
    std::vector<Argument> arguments;
    const Tensor* first = nullptr;
    for (int32_t i = 0; i < count; i++) {
      const std::string who = kernel_ + ": argument " + std::to_string(i);
      const Any& any = given[i];
      if (any.type == kNone) {
        arguments.emplace_back(nullptr);
      } else if (any.type == kInteger || any.type == kBool) {
        arguments.emplace_back(any.integer);
      } else if (any.type == kReal) {
        arguments.emplace_back(any.real);
      } else if (any.type == kPointer) {
        arguments.emplace_back(any.pointer);
      } else if (any.type == kRawText) {
        arguments.emplace_back(any.text);
      } else if (any.type == kSmallText) {
        arguments.emplace_back(static_cast<const char*>(any.small));
      } else if (any.type == kText) {
        arguments.emplace_back(*reinterpret_cast<const char* const*>(inside(any)));
      } else if (any.type == kTensorPointer || any.type == kTensor) {
        const auto* tensor = reinterpret_cast<const Tensor*>(any.type == kTensor ? inside(any) : any.pointer);
        if (!first) first = tensor;
        if (tensor->device_type != first->device_type || tensor->device != first->device)
          return refuse("ValueError", who + " is a tensor on another device than those before it");
        constexpr uint8_t kFloats = 2;
        arguments.emplace_back(Value(static_cast<char*>(tensor->data) + tensor->offset, tensor->bytes(),
                                     static_cast<uint8_t>(tensor->element_bytes()),
                                     tensor->code == kFloats && tensor->bits >= 32));
      } else {
        return refuse("TypeError", who + " is of TVM-FFI's type " + std::to_string(any.type) +
                                       "; a kernel takes tensors, numbers, bools, texts and None");
      }
    }
    const int32_t type = first ? first->device_type : kCpu, device = first ? first->device : 0;
    auto kernel = on(type, device);
    if (!kernel) return refuse("RuntimeError", kernel.error().str());
    auto variant = kernel->pick(arguments);
    if (!variant) return refuse("TypeError", variant.error().str());
    LaunchOptions options;
    if (type != kCpu) options.stream = reinterpret_cast<uint64_t>(TVMFFIEnvGetStream(type, device));
    if (auto fault = kernel->launch(**variant, grid_(**variant, arguments), arguments, options))
      return refuse("RuntimeError", fault->str());
    *result = {kNone, 0, {0}};
    return 0;
  }

 private:
  static const char* inside(const Any& any) { return static_cast<const char*>(any.pointer) + kObjectHeader; }
  static int refuse(const char* kind, const std::string& message) {
    TVMFFIErrorSetRaisedFromCStr(kind, message.c_str());
    return -1;
  }

  Result<Kernel> on(int32_t type, int32_t number) {
    std::lock_guard lock(mutex_);
    if (auto found = kernels_.find({type, number}); found != kernels_.end()) return found->second;
    if (type != kCpu && type != kCuda && type != kRocm)
      return base::failure("kernel '" + kernel_ + "': tensors of DLPack's device type " +
                           std::to_string(type) + " are on no device that kernels run on");
    auto package = Package::open(folder_);
    if (!package) return package.error();
    Result<Device> device =
        type == kCpu ? Device::cpu() : Device::gpu(number, type == kRocm ? "hip" : "cuda");
    if (!device) return device.error();
    auto kernel = package->kernel(kernel_, *device);
    if (kernel) kernels_.emplace(std::pair(type, number), *kernel);
    return kernel;
  }

  std::string folder_, kernel_;
  GridOf grid_;
  std::mutex mutex_;
  std::map<std::pair<int32_t, int32_t>, Kernel> kernels_;
};

}  // namespace triton_runner::deploy::tvm_ffi

// Exports the kernel as the function `name` of this library. The grid is a function of the variant and the
// arguments. What was loaded stays to the end of the process, at which the driver may be gone already.
#define TRITON_RUNNER_TVM_FFI(name, folder, kernel, ...)                                \
  extern "C" __attribute__((visibility("default"))) int __tvm_ffi_##name(               \
      void*, const triton_runner::deploy::tvm_ffi::Any* arguments, int32_t count,       \
      triton_runner::deploy::tvm_ffi::Any* result) {                                    \
    static auto& function = *new triton_runner::deploy::tvm_ffi::Function(              \
        reinterpret_cast<const void*>(&__tvm_ffi_##name), folder, kernel, __VA_ARGS__); \
    return function.call(arguments, count, result);                                     \
  }
