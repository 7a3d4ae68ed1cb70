// Reads what a code object of AMD's says of its kernels: the metadata in its note.
#pragma once
#include <string>

#include <triton_runner/artifact/elf.h>
#include <triton_runner/artifact/json.h>

namespace triton_runner::artifact {

// The map of the AMDGPU note; its "amdhsa.kernels" is a list. Errors: another machine's code, no note, no MessagePack.
base::Result<Json> hsaco_metadata(const Elf& elf, const std::string& filename);

}  // namespace triton_runner::artifact
