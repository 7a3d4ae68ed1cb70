// Turns an artifact's description and its metadata into what the GPU's launch path takes: hidden parameters,
// scratch memory, tensor descriptors.
#include "code.h"

#include <triton_runner/base/try.h>
#include <triton_runner/launch/gpu_kernel.h>

namespace triton_runner::deploy {
namespace {

using artifact::Json;
using base::failure;

int64_t number(const Json& object, std::string_view key) {
  const Json* found = object.get(key);
  return found && found->as_int() ? *found->as_int() : 0;
}

bool flag(const Json& object, std::string_view key) {
  const Json* found = object.get(key);
  return found && found->as_bool() && *found->as_bool();
}

constexpr const char* kWrong = "tensordesc_meta is not a list of descriptors with their block_size";

}  // namespace

exec::Scratch Device::Code::global_scratch() const {
  return {description.global_scratch_size.value_or(0), description.global_scratch_align.value_or(1)};
}

exec::Scratch Device::Code::profile_scratch() const {
  return {description.profile_scratch_size.value_or(0), description.profile_scratch_align.value_or(1)};
}

Result<std::vector<exec::DescriptorLayout>> Device::Code::descriptors() const {
  std::vector<exec::DescriptorLayout> out;
  bool has_any = false;
  for (const exec::Param& p : params) has_any |= p.kind == exec::ParamKind::kTensorDesc;
  const Json::Array* said = description.tensordesc_meta.as_array();
  if (!has_any || !said) return out;
  for (const Json& meta : *said) {
    exec::DescriptorLayout layout;
    layout.swizzle = static_cast<int>(number(meta, "swizzle"));
    layout.element_bytes = static_cast<int>(number(meta, "elem_size"));
    layout.element_type = static_cast<int>(number(meta, "elem_type"));
    layout.fp4_padded = flag(meta, "fp4_padded");
    layout.im2col = flag(meta, "is_im2col");
    const Json* block = meta.get("block_size");
    if (!block || !block->as_array()) return failure(path + ": " + kWrong);
    for (const Json& extent : *block->as_array()) {
      if (!extent.as_int()) return failure(path + ": " + kWrong);
      layout.block.push_back(*extent.as_int());
    }
    out.push_back(std::move(layout));
  }
  return out;
}

Result<Device::Code> read_code(const std::string& path, const std::string& level, const std::string& symbol,
                               const std::string& metadata) {
  Device::Code code;
  code.path = path;
  code.bytes = TRY(artifact::read_file(path));
  std::string said;
  if (!metadata.empty()) {
    said = TRY(artifact::read_file(metadata));
  }
  auto description = TRY(artifact::describe(code.bytes, level, symbol, said, path));
  code.description = std::move(description);
  return code;
}

launch::Interface interface_of(const artifact::Description& description) {
  launch::Interface out{description.name, description.level, {}, description.hidden_pointers};
  for (const artifact::Param& p : description.params)
    out.params.push_back({p.name, p.type, p.bytes, p.unused});
  const Json::Array* descriptors = description.tensordesc_meta.as_array();
  out.descriptors_as_maps = descriptors && !descriptors->empty();
  return out;
}

Result<std::unique_ptr<exec::Kernel>> load_on_gpu(const Device& device, const Device::Code& code) {
  const artifact::Description& d = code.description;
  if (code.level() != "cubin" && code.level() != "ptx" && code.level() != "hsaco")
    return failure(code.path + ": a GPU's driver loads cubin, ptx and hsaco, not " + code.level(),
                   {"compile it first: triton-runner compile, or triton-runner export"});
  if (!d.num_warps)
    return failure(code.path + ": the " + code.level() + " does not say how many threads a block has",
                   {"keep its metadata file, " + d.name + ".json, beside it"});
  auto layouts = TRY(code.descriptors());
  launch::GpuKernelSpec spec;
  spec.image = code.bytes;
  spec.name = d.name;
  spec.level = code.level();
  spec.target = d.target;
  spec.params = code.params;
  spec.descriptors = std::move(layouts);
  spec.descriptor_flags = code.descriptor_flags;
  spec.block = {static_cast<uint32_t>(*d.num_warps * d.threads_per_warp.value_or(32)), 1, 1};
  spec.cluster = {static_cast<uint32_t>(d.num_ctas.value_or(1)), 1, 1};
  if (d.cluster)
    for (int i = 0; i < 3; i++) spec.cluster[i] = static_cast<uint32_t>((*d.cluster)[i]);
  spec.grid_of_blocks = d.grid_of_blocks;
  spec.shared_bytes = d.shared.value_or(-1);
  spec.cooperative = d.cooperative.value_or(false);
  spec.pdl = d.pdl.value_or(false);
  spec.hidden_pointers = code.hidden_pointers;
  spec.global_scratch = code.global_scratch();
  spec.profile_scratch = code.profile_scratch();
  auto kernel = TRY(launch::load(*device.driver(), std::move(spec), device.ordinal()));
  return std::unique_ptr<exec::Kernel>(std::move(kernel));
}

}  // namespace triton_runner::deploy
