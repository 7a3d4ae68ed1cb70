// Answers what the engine asks of an instruction (code/source.h) from PTX.
#pragma once
#include <memory>

#include <triton_runner/ptx/module.h>

#include "code/source.h"

namespace triton_runner::simt {

// Returns whether an access is one that other threads are looked at by: volatile, relaxed, acquire, ...
bool is_strong(const ptx::Instruction& in);
Source source_of(const ptx::Instruction& in);
Exact exact_of(const ptx::Instruction& in);
std::unique_ptr<Listing> listing_of(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry);

}  // namespace triton_runner::simt
