// Declares the symbols of libcuda.so.1 as programs link them, for the tests: one for each row of functions.def.
#pragma once
#include "state.h"

#define FUNCTION(name, suffix, since, needs, params) extern "C" int name##suffix params;
#define STREAM(name, suffix, since, needs, variant, params) \
  extern "C" int name##suffix params;                       \
  extern "C" int name##suffix##variant params;
#define MISSING(name) extern "C" int name();
namespace triton_runner::driver {
#include "functions.def"
}  // namespace triton_runner::driver
#undef FUNCTION
#undef STREAM
#undef MISSING
