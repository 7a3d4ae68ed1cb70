// Any cubin and listing: loading them ends in a kernel or in an error with its place; a launch within its limits of steps
// and memory in a result or a trap, and touches nothing but its arrays. An input is a listing and, after a line of its
// own, the bytes of the cubin.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <triton_runner/simt/simt.h>

#include "launch.h"
#include "sass_input.h"

using namespace triton_runner;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto [listing, cubin] = fuzz::split_sass(input);
  simt::LoadOptions load;
  load.block = {64, 1, 1};
  auto kernel = simt::load_cubin(cubin, std::string(listing), "", load, "fuzz.sass");
  if (!kernel) {
    fuzz::require(!kernel.error().str().empty(), "load failed without a word");
    return 0;
  }
  fuzz::Arrays arrays((*kernel)->params().size());
  fuzz::run(**kernel, arrays, std::hash<std::string_view>()(input));
  return 0;
}
