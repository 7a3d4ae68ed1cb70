// Shows what a debugger sees around threads that stand: other paths, barriers, copies, memory.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/exec/stopper.h>

#include "state/exec.h"

namespace triton_runner::simt {

std::string what_it_does(Cta& cta, const Path& path);  // empty: it waits for an event
std::vector<std::string> paths_of(Exec& x);
std::vector<exec::StoppedBarrier> barriers_of(Exec& x);
std::vector<std::string> copies_of(Exec& x);
std::vector<exec::StoppedBuffer> buffers_of(const Cta& cta);
// Tensor maps among the parameters, and where they point to.
std::vector<std::pair<std::string, std::string>> descriptors_of(Exec& x);
// The contents of tensor memory: its words, and the columns [first, last) that are allocated.
std::span<const uint32_t> tensor_words(const Cta& cta);
std::vector<std::pair<uint32_t, uint32_t>> allocated_columns(const Cta& cta);

}  // namespace triton_runner::simt
