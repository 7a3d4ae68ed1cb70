// Reads the .amdgpu_metadata block that LLVM writes about the kernels of AMDGCN: YAML of one fixed shape, a key a line.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace triton_runner::artifact {

struct AmdArgument {
  std::string_view name, kind;  // "x_ptr", "global_buffer"
  uint32_t offset = 0, bytes = 0;
};
struct AmdMetadata {
  std::string_view name;
  std::map<std::string_view, int64_t> numbers;  // ".vgpr_count": 12
  std::vector<AmdArgument> arguments;
};
struct AmdMetadataBlock {
  std::string_view target;  // as it is written: "amdgcn-amd-amdhsa--gfx942"
  std::vector<AmdMetadata> kernels;
  std::string_view
      unfit;  // the first number of a kernel that is none of its key, as it is written; empty: there is none
  std::string fault;  // what it is
};

// Why a number cannot be what the key says of a kernel; empty: it can. null: it is not a number of 64 bits.
std::string why_unfit(std::string_view key, const int64_t* number);

// block: the lines between the two directives. What is no such line is passed over.
AmdMetadataBlock read_amdgcn_metadata(std::string_view block);

}  // namespace triton_runner::artifact
