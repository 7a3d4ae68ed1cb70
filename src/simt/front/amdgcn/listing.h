// Answers what messages and checks ask of an instruction of AMD's machine code.
#pragma once
#include <memory>

#include <triton_runner/amdgcn/text.h>

#include "code/source.h"

namespace triton_runner::simt {

Source source_of(const amdgcn::Instruction& in);
std::unique_ptr<Listing> amdgcn_listing(std::shared_ptr<const amdgcn::Module> module);

}  // namespace triton_runner::simt
