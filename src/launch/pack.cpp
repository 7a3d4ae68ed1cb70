// Packs arguments into a launch's parameter buffer, by a plan that make_plan() makes at load.
#include "pack.h"

#include <cstring>

#include <triton_runner/base/try.h>
#include <triton_runner/exec/tensor_map.h>

namespace triton_runner::launch {
namespace {

// Floats are given as doubles; the parameter has the kernel's type.
PlanEntry entry_of(const exec::Param& param) {
  if (param.type == "nvTmaDesc") return {Form::kMapBytes};
  if (param.kind != exec::ParamKind::kFloat) return {Form::kWord};
  return {Form::kFloat, exec::float_type(param)};
}

// The host's numbers for element types are the device's but for three (Triton numbers them as the PTX
// instruction does).
int host_element_type(int device_type) {
  switch (device_type) {
    case 8:
      return 10;
    case 9:
      return 8;
    case 10:
      return 9;
    default:
      return device_type;
  }
}

}  // namespace

base::Result<Plan> make_plan(const GpuKernelSpec& spec) {
  Plan plan;
  plan.descriptors = spec.descriptors;
  plan.descriptor_flags = spec.descriptor_flags;
  size_t descriptors = 0;
  for (const exec::Param& param : spec.params) {
    plan.names.push_back(param.name);
    if (param.kind == exec::ParamKind::kTensorDesc) {
      if (!spec.descriptors.empty() && descriptors >= spec.descriptors.size())
        return base::failure("kernel '" + spec.name + "' takes more tensor descriptors than the " +
                             std::to_string(spec.descriptors.size()) + " of its metadata's tensordesc_meta");
      plan.entries.push_back(spec.descriptors.empty()
                                 ? PlanEntry{Form::kPieces}
                                 : PlanEntry{Form::kTensorMap, {}, static_cast<int>(descriptors)});
      descriptors++;
    } else {
      plan.entries.push_back(entry_of(param));
    }
  }
  if (!spec.descriptors.empty() && descriptors != spec.descriptors.size())
    return base::failure("kernel '" + spec.name + "' takes " + std::to_string(descriptors) +
                         " tensor descriptors, and its metadata's tensordesc_meta has " +
                         std::to_string(spec.descriptors.size()));
  return plan;
}

base::Status Packed::fill(const Plan& plan, device::Driver& driver, std::span<const exec::Argument> args) {
  for (size_t i = 0; i < args.size(); i++) {
    const exec::Argument& arg = args[i];
    const PlanEntry& entry = plan.entries[i];
    if (!has_room(1, 8)) return base::failure("the arguments exceed what a launch can pass");
    switch (entry.form) {
      case Form::kWord:
      case Form::kFloat:
        add(word_of(entry, arg.bits));
        break;
      case Form::kMapBytes:
        if (arg.bits == 0)
          return base::failure("argument '" + plan.names[i] + "': a null pointer in place of a tensor map");
        if (!has_room(1, 256)) return base::failure("the arguments exceed what a launch can pass");
        add_map_bytes(reinterpret_cast<const void*>(arg.bits));
        break;
      case Form::kTensorMap:
      case Form::kPieces: {
        const exec::TensorDesc& desc = *arg.descriptor;
        if (desc.shape.size() != desc.strides.size() || desc.shape.empty())
          return base::failure("argument '" + plan.names[i] + "': a tensor descriptor with " +
                               std::to_string(desc.shape.size()) + " sizes and " +
                               std::to_string(desc.strides.size()) + " strides");
        auto added = entry.form == Form::kPieces
                         ? add_pieces(desc, plan.descriptor_flags)
                         : add_tensor_map(plan.descriptors[entry.descriptor], driver, desc);
        if (!added) {
          base::Diagnostic d = added.error();
          d.message = "argument '" + plan.names[i] + "': " + d.message;
          return d;
        }
        break;
      }
    }
  }
  return base::success();
}

void Packed::add_map_bytes(const void* map) {
  constexpr size_t kMapBytes = 128;
  used_ = (used_ + kMapBytes - 1) / kMapBytes * kMapBytes;
  std::memcpy(buffer_ + used_, map, kMapBytes);
  pointers_[count_++] = buffer_ + used_;
  used_ += kMapBytes;
}

base::Status Packed::add_tensor_map(const DescriptorLayout& layout, device::Driver& driver,
                                    const exec::TensorDesc& desc) {
  if (layout.im2col != desc.im2col.has_value())
    return base::failure(layout.im2col ? "expected a TensorDescriptorIm2Col, got a tiled descriptor"
                                       : "expected a tiled TensorDescriptor, got one in im2col mode");
  device::TensorMapSpec spec;
  spec.address = desc.address;
  spec.element_type = desc.round_to_tf32 ? exec::kTensorMapTf32 : host_element_type(layout.element_type);
  spec.element_bytes = layout.element_bytes;
  spec.swizzle = layout.swizzle;
  spec.box.assign(layout.block.begin(), layout.block.end());
  spec.shape.assign(desc.shape.begin(), desc.shape.end());
  spec.strides.assign(desc.strides.begin(), desc.strides.end());
  if (layout.fp4_padded)
    spec.shape.back() *= 2;  // the map counts halves of bytes; the kernel, since 3.7, does not
  spec.nan_fill = desc.nan_padding;
  if (desc.im2col) {
    if (std::string fault = exec::descriptor_fault(desc); !fault.empty()) return base::failure(fault);
    spec.im2col = true;
    spec.lower.assign(desc.im2col->lower.begin(), desc.im2col->lower.end());
    spec.upper.assign(desc.im2col->upper.begin(), desc.im2col->upper.end());
    spec.steps.assign(desc.im2col->steps.begin(), desc.im2col->steps.end());
    spec.steps.resize(desc.shape.size(), 1);
  }
  auto map = TRY(driver.encode_tensor_map(spec));
  if (!has_room(1 + 2 * desc.shape.size(), 256 + 16 * desc.shape.size()))
    return base::failure("the arguments exceed what a launch can pass");
  add_map_bytes(map.bytes.data());
  for (int64_t size : desc.shape) add(static_cast<uint64_t>(size));
  for (int64_t stride : desc.strides) add(static_cast<uint64_t>(stride));
  return base::success();
}

base::Status Packed::add_pieces(const exec::TensorDesc& desc, int flags) {
  if (!has_room(1 + 4 * desc.shape.size() + flags, 8 * (1 + 4 * desc.shape.size() + flags)))
    return base::failure("the arguments exceed what a launch can pass");
  add(desc.address);
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t size : desc.shape) add(static_cast<uint64_t>(size));
    for (int64_t stride : desc.strides) add(static_cast<uint64_t>(stride));
    if (pass == 1) break;
    const bool of_desc[] = {desc.nan_padding, desc.round_to_tf32};
    for (int i = 0; i < flags; i++) add(i < 2 && of_desc[i] ? 1 : 0);
  }
  return base::success();
}

}  // namespace triton_runner::launch
