// Code is a kernel's code with what its metadata and its index say of it; load_on_gpu() makes a kernel of it,
// and on_cpu.cpp does so for the engines.
#pragma once
#include <string>
#include <vector>

#include <triton_runner/artifact/artifact.h>
#include <triton_runner/deploy/deploy.h>
#include <triton_runner/exec/parameters.h>
#include <triton_runner/launch/settle.h>

namespace triton_runner::deploy {

struct Device::Code {
  std::string bytes, path;
  artifact::Description description;
  std::vector<exec::Param> params;  // what a launch passes
  int hidden_pointers = 0;          // after them
  int descriptor_flags = 0;

  const std::string& level() const { return description.level; }
  // The metadata's account of Triton's own buffers and of tensor descriptors.
  exec::Scratch global_scratch() const;
  exec::Scratch profile_scratch() const;
  Result<std::vector<exec::DescriptorLayout>> descriptors() const;
};

// The artifact at `path` and its metadata file ("": none), its parameters not settled yet.
Result<Device::Code> read_code(const std::string& path, const std::string& level, const std::string& symbol,
                               const std::string& metadata);
launch::Interface interface_of(const artifact::Description& description);

// Device::Load of a GPU. That of the CPU stands in on_cpu.cpp, which only Device::cpu() needs.
Result<std::unique_ptr<exec::Kernel>> load_on_gpu(const Device& device, const Device::Code& code);

}  // namespace triton_runner::deploy
