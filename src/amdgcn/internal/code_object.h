// Gives a code object of AMD's (hsaco) as the text that LLVM writes for it: its kernels' instructions decoded
// from .text, what its kernel descriptors and its metadata say, and the program's lines where it has them.
#pragma once
#include <string>
#include <string_view>

#include <triton_runner/base/result.h>

namespace triton_runner::amdgcn {

// The AMDGCN of all its kernels, which parse() reads. Errors: no code object, another chip's, a kernel without a descriptor, an
// instruction that the table lacks (with its section, offset and words). Never crashes, whatever the bytes.
base::Result<std::string> listing(std::string_view bytes, const std::string& filename = "<hsaco>");

}  // namespace triton_runner::amdgcn
