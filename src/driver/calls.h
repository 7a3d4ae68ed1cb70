// Declares the handlers of the rows of functions.def: call::cuMemAlloc_v2(Address*, size_t) answers the symbol of that name. Each runs
// with the mutex of State held, in a context as its row demands.
#pragma once
#include "state.h"

namespace triton_runner::driver::call {

#define FUNCTION(name, suffix, since, needs, params) Error name##suffix params;
#define STREAM(name, suffix, since, needs, variant, params) Error name##suffix params;
#define MISSING(name)
#include "functions.def"
#undef FUNCTION
#undef STREAM
#undef MISSING

}  // namespace triton_runner::driver::call
