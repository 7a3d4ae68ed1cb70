// Answers what the engine asks of an instruction (code/source.h) from machine code.
#pragma once
#include <triton_runner/sass/opcode.h>

#include "code/source.h"

namespace triton_runner::simt {

Source source_of(const sass::Instruction& in, const sass::Row& row);
// Fences of machine code are instructions of their own, which nobody follows: an atomic access counts as acquire and release.
inline void order_around(Source& s, const sass::Instruction& in) {
  s.acquires = s.releases = s.access == Source::Access::kAtomic;
  s.scope = in.has("SM") || in.has("CTA") ? Source::Scope::kBlock : Source::Scope::kAll;
}
std::unique_ptr<Listing> sass_listing(std::shared_ptr<const sass::Module> module);

}  // namespace triton_runner::simt
