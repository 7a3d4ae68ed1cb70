// Implements the tool "sass": where the results of PTX instructions are in the machine code that ptxas made
// of them.
#pragma once
#include "case_file.h"

namespace triton_runner::cases {

// The case is PTX with the listing of its cubin in comments: lines "//S ...", as make_sass_case.py writes
// them. Prints where each result is, or why it is not kept, and the reads of the registers that the case
// dumps.
int run_sass(const CaseFile& file);

}  // namespace triton_runner::cases
