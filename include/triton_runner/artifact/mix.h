// Counts how often each instruction stands in a kernel's machine code.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triton_runner::artifact {

// Opcodes with their modifiers ("LDG.E.128", "v_mfma_f32_32x32x8_f16") and counts, the most frequent first.
using Mix = std::vector<std::pair<std::string, int64_t>>;

// The mix of a kernel in what `nvdisasm -c` prints of a cubin (is_sass), or in AMD assembly. Empty where the
// text has no such kernel.
Mix instruction_mix(std::string_view text, bool is_sass, std::string_view kernel);

}  // namespace triton_runner::artifact
