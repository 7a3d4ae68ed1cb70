// What the engine asks about PTX.
#pragma once
#include <memory>

#include <triton_runner/ptx/module.h>

#include "source.h"

namespace triton_runner::simt {

Source source_of(const ptx::Instruction& in);
Exact exact_of(const ptx::Instruction& in);
std::unique_ptr<Listing> listing_of(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry);

}  // namespace triton_runner::simt
