// The tool "insert": what a dump puts into a kernel, and what it records when the tile engine runs that.
#pragma once
#include "case_file.h"

namespace triton_runner::cases {

// Prints the instrumented module, runs it with the case's arguments and a buffer, and prints the records.
int run_insert(const CaseFile& file);

}  // namespace triton_runner::cases
