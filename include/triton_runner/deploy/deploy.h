// Launches kernels that are shipped with a C++ program, by their names: no Python, no Triton, no compiler on
// the machine.
//
// `triton-runner export` writes a folder: binaries of a kernel for several architectures and
// specialisations, and index.json, which says what each was compiled for. A program opens the folder, and
// each launch takes the variant that fits the device and the arguments.
//
//   using namespace triton_runner;
//   auto package = deploy::Package::open("kernels");
//   if (!package) return fail(package.error().str());
//   auto device = deploy::Device::gpu();                       // or deploy::Device::cpu()
//   if (!device) return fail(device.error().str());
//   auto add = package->kernel("add_kernel", *device);
//   if (!add) return fail(add.error().str());
//
//   auto grid = [&](const deploy::Variant& v) { return deploy::Grid{(n + v.number("BLOCK") - 1) / v.number("BLOCK")}; };
//   if (auto error = add->launch(grid, {{"x_ptr", x}, {"y_ptr", y}, {"out_ptr", out}, {"n", n}}))
//     return fail(error->str());
//
// A launch is queued on options.stream and returns; on the CPU it runs to its end. Everything may be used
// from several threads at once. Nothing prints, exits or throws on bad input.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <triton_runner/artifact/json.h>
#include <triton_runner/base/result.h>
#include <triton_runner/device/driver.h>
#include <triton_runner/exec/kernel.h>

namespace triton_runner::deploy {

using base::Result;
using base::Status;

class Device;

// Memory on a device, for programs that have no allocator of their own. Freed when it goes.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  // Copies of whole buffers; they wait for what was queued on the default stream.
  Status write(const void* from);
  Status read(void* to) const;

 private:
  friend class Device;
  device::Driver* driver_ = nullptr;  // null: memory of the host
  void* address_ = nullptr;
  size_t bytes_ = 0;
};

enum class ValueClass : uint8_t { kNone, kPointer, kInteger, kFloat, kText, kDescriptor };

// A launch gives one of these for a parameter: a number, memory, a host-side tensor descriptor, or, to choose
// among variants, the value of a constexpr. What it refers to has to live until launch() returns.
class Value {
 public:
  Value(std::nullptr_t) {}  // Python's None
  template <class T>
    requires std::is_arithmetic_v<T>
  Value(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = ValueClass::kFloat;
      real_ = static_cast<double>(number);
    } else {
      kind_ = ValueClass::kInteger;
      bits_ = static_cast<uint64_t>(static_cast<int64_t>(number));
      is_unsigned_ = std::is_unsigned_v<T> && sizeof(T) == 8;
    }
  }
  template <class T>
  Value(T* memory) : Value(memory, 0) {}  // on the CPU the size has to be known: give a span or a Buffer
  template <class T, size_t N>
  Value(std::span<T, N> memory) : Value(memory.data(), memory.size_bytes()) {}
  Value(const Buffer& memory) : Value(memory.address(), memory.bytes()) {}
  // Memory whose elements are known by their size only: numbers of a tensor that another library describes.
  Value(void* memory, size_t bytes, uint8_t element_bytes, bool holds_reals) : Value(memory, bytes) {
    element_bytes_ = element_bytes, element_is_real_ = holds_reals;
  }
  Value(const char* text) : kind_(ValueClass::kText), text_(text) {}
  Value(const exec::TensorDesc& descriptor) : kind_(ValueClass::kDescriptor), descriptor_(&descriptor) {}

  ValueClass kind() const { return kind_; }
  uint64_t bits() const { return bits_; }  // of kInteger two's complement, of kPointer the address
  double real() const { return real_; }    // of kFloat
  const char* text() const { return text_; }
  const exec::TensorDesc* descriptor() const { return descriptor_; }
  size_t bytes() const { return bytes_; }  // of the memory; 0: not known
  bool is_unsigned() const { return is_unsigned_; }
  int element_bytes() const { return element_bytes_; }   // of the memory; 0: not known
  bool holds_reals() const { return element_is_real_; }  // float and double
  bool is_writable() const { return is_writable_; }
  std::string str() const;  // for messages: "100", "0.5", "memory at 0x1000"

 private:
  template <class T>
  Value(T* memory, size_t bytes) : kind_(ValueClass::kPointer), bytes_(bytes) {
    bits_ = reinterpret_cast<uint64_t>(memory);
    is_writable_ = !std::is_const_v<T>;
    if constexpr (!std::is_void_v<T>) element_bytes_ = sizeof(T);
    element_is_real_ = std::is_floating_point_v<T>;
  }

  ValueClass kind_ = ValueClass::kNone;
  bool is_unsigned_ = false, element_is_real_ = false, is_writable_ = true;
  uint8_t element_bytes_ = 0;
  uint64_t bits_ = 0;
  size_t bytes_ = 0;
  double real_ = 0;
  const char* text_ = nullptr;
  const exec::TensorDesc* descriptor_ = nullptr;
};

// An argument by the name of its parameter, or, without a name, by its place.
struct Argument {
  template <class T>
    requires std::convertible_to<T&&, Value>
  Argument(T&& given) : value(std::forward<T>(given)) {}
  template <class T>
    requires std::convertible_to<T&&, Value>
  Argument(std::string_view parameter, T&& given) : name(parameter), value(std::forward<T>(given)) {}
  std::string_view name;
  Value value;
};

struct Grid {  // programs along each axis
  int64_t x = 1, y = 1, z = 1;
};

struct LaunchOptions {
  uint64_t stream = 0;  // of the driver; 0: the default stream
  // Asks the driver of each pointer whether the device reaches it. Without it a wrong pointer is the kernel's
  // fault, which ends the context.
  bool check_pointers = true;
  int threads = 0;  // of the CPU; 0: one a core
};

// A device that runs kernels: a GPU through its driver, which is opened here, or the engines of the CPU.
class Device {
 public:
  // The CUDA device, or the HIP device where there is no CUDA; ordinal -1 is the thread's current one.
  // `backend` asks for one of the two, `library` names the driver's file.
  static Result<Device> gpu(int ordinal = -1, std::string_view backend = "", const std::string& library = "");
  static Result<Device> gpu(device::Driver& driver, int ordinal = -1);
  // The kernels' TTIR, TTGIR or PTX on the CPU, every access checked. A program that never asks for it links
  // no engine.
  static Device cpu();

  bool is_cpu() const { return driver_ == nullptr; }
  const std::string& target() const { return target_; }  // "cuda:90", "hip:gfx942", "cpu"
  int ordinal() const { return ordinal_; }
  device::Driver* driver() const { return driver_; }  // null on the CPU
  Result<Buffer> allocate(size_t bytes) const;
  Status synchronize(uint64_t stream = 0) const;

  // How code becomes a kernel on this device (src/deploy/code.h).
  struct Code;
  using Load = Result<std::unique_ptr<exec::Kernel>> (*)(const Device&, const Code&);
  Load load() const { return load_; }

 private:
  Device() = default;
  device::Driver* driver_ = nullptr;
  std::string target_;
  int ordinal_ = 0;
  Load load_ = nullptr;
};

// One compilation of a kernel, as the index tells it.
class Variant {
 public:
  const std::string& target() const { return target_; }  // "cuda:90"
  const std::string& level() const { return level_; }    // what is loaded of it: "cubin", "ptx", ...
  // A compiled-in value: a constexpr, or an argument that is 1 or None. Null where there is no such name.
  const artifact::Json* constant(std::string_view name) const { return constants_.get(name); }
  // The constant as a number; 0 where there is none.
  int64_t number(std::string_view name) const;
  std::string str() const;  // "cubin for cuda:90, BLOCK=1024, n a multiple of 16"

 protected:
  std::string target_, level_;
  artifact::Json constants_;
  std::vector<std::string> multiples_;  // parameters that are multiples of 16
};

class Kernel {
 public:
  const std::string& name() const;
  std::vector<std::string> parameters() const;  // of the Python function; of a single artifact its own
  // Those that run on the device, in the order in which they are tried: the device's own code first, then the
  // most specialised.
  std::vector<const Variant*> variants() const;
  // The variant that a launch with these arguments takes. Errors: an unknown or repeated name, a missing
  // argument, and for each variant what does not fit.
  Result<const Variant*> pick(std::span<const Argument> arguments) const;
  Result<const Variant*> pick(std::initializer_list<Argument> arguments) const {
    return pick(std::span(arguments.begin(), arguments.size()));
  }
  // Loads a variant before its first launch does.
  Status prepare(const Variant& variant) const;

  exec::LaunchResult launch(Grid grid, std::span<const Argument> arguments,
                            const LaunchOptions& options = {}) const;
  exec::LaunchResult launch(Grid grid, std::initializer_list<Argument> arguments,
                            const LaunchOptions& options = {}) const {
    return launch(grid, std::span(arguments.begin(), arguments.size()), options);
  }
  // With a grid that depends on what was compiled in, as Triton's `lambda meta:`.
  template <class GridOf>
    requires std::is_invocable_r_v<Grid, GridOf, const Variant&>
  exec::LaunchResult launch(GridOf&& grid, std::initializer_list<Argument> arguments,
                            const LaunchOptions& options = {}) const {
    const std::span given(arguments.begin(), arguments.size());
    auto variant = pick(given);
    if (!variant) return exec::LaunchError{variant.error(), std::nullopt};
    return launch(**variant, grid(**variant), given, options);
  }
  // A variant that pick() gave for these arguments.
  exec::LaunchResult launch(const Variant& variant, Grid grid, std::span<const Argument> arguments,
                            const LaunchOptions& options = {}) const;

  struct State;
  explicit Kernel(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// A folder that `triton-runner export` wrote.
class Package {
 public:
  // Reads index.json; binaries are read when a launch needs them. Errors: no folder, no index, a malformed
  // one, one of a newer format.
  static Result<Package> open(const std::string& folder);
  std::vector<std::string> kernels() const;
  // Errors: no such kernel (with the nearest names), no variant that runs on the device (with those that there
  // are).
  Result<Kernel> kernel(std::string_view name, const Device& device) const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

// A single artifact, <kernel>.cubin, .hsaco, .ptx, .ttir or .ttgir, with <kernel>.json beside it (or
// `metadata`, a path). Its arguments are given in the order of its parameters, without constexprs; those that
// are 1 or None may have been compiled in. Names work where the artifact has them.
Result<Kernel> load(const std::string& path, const Device& device, const std::string& metadata = "");

}  // namespace triton_runner::deploy
