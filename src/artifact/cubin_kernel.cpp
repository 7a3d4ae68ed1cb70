// A kernel's parameters in constant bank 0, its own constants, its block: what an engine needs beside the code.
#include <triton_runner/artifact/cubin.h>

#include <algorithm>

#include <triton_runner/artifact/artifact.h>

#include "cubin_attributes.h"

namespace triton_runner::artifact {
namespace {

std::array<uint32_t, 3> axes_of(std::string_view payload) {
  Bytes in(payload);
  std::array<uint32_t, 3> axes{in.take<uint32_t>(), in.take<uint32_t>(), in.take<uint32_t>()};
  return in.ok() ? axes : std::array<uint32_t, 3>{};
}

bool read_layout(std::string_view content, CubinKernel& k) {
  return each_attribute(content, [&](uint8_t attribute, std::string_view payload, uint16_t) {
    Bytes in(payload);
    if (attribute == kParameter) {
      in.take<uint32_t>();
      const size_t number = in.take<uint16_t>();
      const uint32_t offset = in.take<uint16_t>(), bytes = in.take<uint32_t>() >> 18;
      if (!in.ok()) return;
      k.params.resize(std::max(k.params.size(), number + 1));
      k.params[number] = {offset, bytes};
    } else if (attribute == kParameterBank) {
      in.take<uint32_t>();
      k.param_base = in.take<uint16_t>();
    } else if (attribute == kRequiredThreads) {
      k.block = axes_of(payload);
    } else if (attribute == kCtasPerCluster) {
      k.cluster = axes_of(payload);
    }
  });
}

}  // namespace

base::Result<CubinKernel> read_cubin_kernel(std::string_view bytes, std::string_view name,
                                            const std::string& filename) {
  auto described = describe(bytes, "cubin", name, "", filename);
  if (!described) return described.error();
  auto elf = read_elf(bytes, "cubin", filename);
  if (!elf) return elf.error();
  CubinKernel k;
  k.name = described->name;
  if (described->target.starts_with("cuda:")) k.capability = std::stoi(described->target.substr(5));
  k.shared_bytes = static_cast<uint32_t>(described->static_shared.value_or(0));
  k.local_bytes = static_cast<uint32_t>(described->local_bytes.value_or(0));
  if (const Section* info = elf->section(".nv.info." + k.name); info && !read_layout(info->content, k)) {
    base::Diagnostic d = base::failure("malformed cubin: its .nv.info." + k.name + " is cut off");
    d.location.file = filename;
    return d;
  }
  for (int bank = 1; bank < 8; ++bank) {
    const std::string section = ".nv.constant" + std::to_string(bank);
    const Section* own = elf->section(section + "." + k.name);
    if (!own) own = elf->section(section);
    if (own) k.banks[bank] = std::string(own->content);
  }
  return k;
}

}  // namespace triton_runner::artifact
