// Checks the C++ values of a call against the parameters of a kernel (misfit) and launches it with them
// (run).
#include <bit>
#include <cstdio>

#include <triton_runner/exec/scalar.h>

#include "kernel.h"

namespace triton_runner::deploy {

using exec::ParamKind;

std::string Value::str() const {
  char text[40];
  switch (kind_) {
    case ValueClass::kNone:
      return "None";
    case ValueClass::kPointer:
      std::snprintf(text, sizeof text, "memory at %#llx", static_cast<unsigned long long>(bits_));
      return text;
    case ValueClass::kInteger:
      return is_unsigned_ ? std::to_string(bits_) : std::to_string(static_cast<int64_t>(bits_));
    case ValueClass::kFloat:
      std::snprintf(text, sizeof text, "%.9g", real_);
      return text;
    case ValueClass::kText:
      return "\"" + std::string(text_) + "\"";
    case ValueClass::kDescriptor:
      return "a tensor descriptor";
  }
  return "?";
}

namespace {

bool fits_bits(const exec::Param& param, const Value& value) {
  if (param.bits < 64 && value.is_unsigned() && value.bits() >> 63) return false;
  return exec::takes(param, value.bits());
}

std::string misfit_of_memory(const exec::Param& param, const Value& value, const Device& device) {
  const Element element = element_of(param.type);
  const int bits = 8 * value.element_bytes();
  if (element.bits && bits && (bits != element.bits || (value.holds_reals() && !element.is_float)))
    return "it points to elements of " + std::to_string(bits) + " bits" +
           (value.holds_reals() ? " (floats)" : "");
  if (device.is_cpu() && value.bytes() == 0 && value.bits() != 0)
    return "a bare pointer: on the CPU the size has to be known, give a std::span or a Buffer";
  return "";
}

}  // namespace

std::string misfit(const exec::Param& param, const Value& value, const Device& device) {
  const ValueClass kind = value.kind();
  switch (param.kind) {
    case ParamKind::kPointer:
      if (kind == ValueClass::kPointer) return misfit_of_memory(param, value, device);
      // CUdeviceptr is an integer; None is a null pointer.
      if (kind == ValueClass::kInteger && value.is_unsigned() && !device.is_cpu()) return "";
      return kind == ValueClass::kNone ? "" : "it is " + value.str() + ", and a pointer is needed";
    case ParamKind::kInteger:
      if (kind != ValueClass::kInteger) return "it is " + value.str() + ", and an integer is needed";
      return fits_bits(param, value)
                 ? ""
                 : value.str() + " does not fit into " + std::to_string(param.bits) + " bits";
    case ParamKind::kFloat:
      if (kind == ValueClass::kFloat || kind == ValueClass::kInteger) return "";
      return "it is " + value.str() + ", and a number is needed";
    case ParamKind::kTensorDesc:
      if (kind != ValueClass::kDescriptor)
        return "it is " + value.str() + ", and a tensor descriptor is needed";
      return exec::descriptor_fault(*value.descriptor());
  }
  return "";
}

namespace {

exec::Argument argument_of(const exec::Param& param, const Value& value) {
  if (param.kind == ParamKind::kTensorDesc) return {param.kind, 0, *value.descriptor()};
  if (param.kind != ParamKind::kFloat) return {param.kind, value.bits(), {}};
  const double real = value.kind() == ValueClass::kFloat ? value.real()
                      : value.is_unsigned() ? static_cast<double>(value.bits())
                                            : static_cast<double>(static_cast<int64_t>(value.bits()));
  return {param.kind, std::bit_cast<uint64_t>(real), {}};
}

// A descriptor says no size of its memory: what it can address.
exec::Allocation reached_by(const exec::TensorDesc& desc, const std::string& type) {
  const size_t begin = type.find('<') + 1;  // tensordesc<fp16[64,64]>
  const Element element = element_of("*" + type.substr(begin, type.find('[') - begin));
  int64_t last = 1;
  for (size_t i = 0; i < desc.shape.size(); i++) last += (desc.shape[i] - 1) * desc.strides[i];
  return {desc.address, static_cast<uint64_t>(last) * element.bits / 8, ""};
}

}  // namespace

exec::LaunchResult run(exec::Kernel& kernel, const Device& device, Grid grid,
                       std::span<const exec::Param* const> params, std::span<const Value* const> values,
                       const LaunchOptions& options) {
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  arguments.reserve(params.size());
  for (size_t i = 0; i < params.size(); i++) {
    arguments.push_back(argument_of(*params[i], *values[i]));
    if (!device.is_cpu()) continue;
    const Value& value = *values[i];
    exec::Allocation block{value.bits(), value.bytes(), "", value.is_writable()};
    if (value.descriptor()) block = reached_by(*value.descriptor(), params[i]->type);
    if (block.bytes == 0) continue;
    block.label = "argument '" + params[i]->name + "' (" + std::to_string(block.bytes) + " bytes)";
    memory.push_back(std::move(block));
  }
  exec::LaunchOptions given;
  given.grid = {grid.x, grid.y, grid.z};
  given.stream = options.stream;
  given.threads = options.threads;
  if (!options.check_pointers && !device.is_cpu()) given.checks = 0;
  return kernel.launch(given, arguments, memory);
}

}  // namespace triton_runner::deploy
