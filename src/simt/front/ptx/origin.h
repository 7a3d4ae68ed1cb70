// parameter_of() finds which of the kernel's parameters an address was made from, when a message wants to
// name it.
#pragma once
#include <optional>

#include <triton_runner/ptx/module.h>

namespace triton_runner::simt {

// The number of the only parameter in `candidates` (a bit each, up to 64) that the address of an access of
// `entry` was made from; none where there are several, or where it was read from memory.
std::optional<uint32_t> parameter_of(const ptx::Function& entry, const ptx::Instruction& access,
                                     uint64_t candidates);

}  // namespace triton_runner::simt
