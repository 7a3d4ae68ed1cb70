// Python values as kernel arguments: tensors, arrays, pointers, numbers, tuples and host tensor descriptors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bindings.h"

namespace triton_runner::python {

// One value that the caller gave, tuples taken apart: "x", "strides.1".
struct NamedValue {
  std::string name;
  nb::handle value;
};

// One parameter of the Python function: left out of the launch (constexpr), a tuple, or a value.
struct Slot {
  std::string name;
  bool skip = false;
  bool is_tuple = false;
  std::vector<Slot> children;
};

// From ("x", "*fp32"), ("n", "constexpr"), ("strides", ("i32", "constexpr")).
Slot make_slot(std::string name, nb::handle type);

// The values that a launch passes: constexprs dropped, tuples taken apart.
void flatten(const Slot& slot, nb::handle value, std::vector<NamedValue>& out);
void flatten(const std::string& name, nb::handle value, std::vector<NamedValue>& out);

// Arguments and the memory that they may touch, for the life of one launch.
struct BoundArguments {
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  std::vector<nb::object> keep_alive;
};

// What is taken as a number. kStrict: numbers in the parameter's range. kTriton: as Triton's launchers,
// whatever has __index__ or __float__, tensors of one element too, and True as an address. kWrapping: as
// those from 3.8 on, which pass the low bits of an integer.
enum class Conversion { kStrict, kTriton, kWrapping };

// The values for the kernel's parameters, in order. Errors: too many or too few values; a value of the wrong
// type, out of range, not contiguous, or on another device than `device` ("cpu", "cuda", "hip").
BoundArguments bind_exact(const exec::Kernel& kernel, const std::vector<NamedValue>& values,
                          std::string_view device, Conversion conversion);

// The same for an artifact that may lack parameters which its compilation folded away (an integer 1, None):
// matched by name where the artifact names its parameters, else by count. Also checks the element types of
// tensors.
BoundArguments bind_artifact(const exec::Kernel& kernel, const std::vector<NamedValue>& values,
                             std::string_view device);

// Scripts whose CPU tensors say that they are CUDA tensors (--pretend-cuda): devices of tensors are not
// compared.
void set_pretend_cuda(bool on);

// Whether an object may be passed to kernels on `device`: it says that device, or none.
bool is_here(nb::handle object, std::string_view device);

}  // namespace triton_runner::python
