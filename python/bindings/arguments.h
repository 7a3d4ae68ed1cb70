// Turns Python values into arguments of a kernel whose parameters are known, one by one.
#pragma once
#include <string_view>
#include <vector>

#include "bindings.h"
#include "values.h"

namespace triton_runner::python {

// Arguments and the memory that they may touch, for the life of one launch.
struct BoundArguments {
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  std::vector<nb::object> keep_alive;
};

// Says what is taken as a number. kStrict: numbers in the parameter's range. kTriton: as Triton's launchers,
// whatever has __index__ or __float__, tensors of one element too, and True as an address. kWrapping: as
// those from 3.8 on, which pass the low bits of an integer.
enum class Conversion { kStrict, kTriton, kWrapping };

// The values for the kernel's parameters, in order; check_elements: tensors have to be of the parameters'
// element types; checks: under kCheckView the memory of a view is its elements, for its own pointer alone. Errors: too many
// or too few values; a value of the wrong type, out of range, not contiguous, or on another device than `device` ("cpu",
// "cuda", "hip").
BoundArguments bind_values(const exec::Kernel& kernel, const std::vector<NamedValue>& values,
                           std::string_view device, Conversion conversion, bool check_elements = false,
                           uint32_t checks = 0);

// Scripts whose CPU tensors say that they are CUDA tensors (--pretend-cuda): devices of tensors are not
// compared.
void set_pretend_cuda(bool on);

// Whether an object may be passed to kernels on `device`: it says that device, or none.
bool is_here(nb::handle object, std::string_view device);

}  // namespace triton_runner::python
