// Implements the tool "insert": what a dump puts into a kernel, and what it records when an engine runs that.
#pragma once
#include "case_file.h"

namespace triton_runner::cases {

// Prints the instrumented module, runs it with the case's arguments and a buffer, and prints the records.
int run_insert(const CaseFile& file);

// The same for registers of PTX on the SIMT engine, and whether the engine's own observer records the same of
// the kernel as it was.
int run_insert_registers(const CaseFile& file);

void print_recording(const probe::Recording& recording, int64_t bytes);

}  // namespace triton_runner::cases
