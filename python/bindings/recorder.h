// Records the launches of a dump, and the values that they gave.
#pragma once
#include <nanobind/ndarray.h>

#include <triton_runner/probe/insert.h>
#include <triton_runner/probe/recorder.h>
#include <triton_runner/probe/register_stores.h>
#include <triton_runner/probe/registers.h>

#include <deque>
#include <memory>
#include <set>
#include <string>

#include "bindings.h"

namespace triton_runner::python {

struct RecorderObject {
  probe::Recorder recorder;
  std::set<std::string> kernels;                             // their names; empty: all
  std::deque<std::shared_ptr<probe::Recording>> recordings;  // of each launch, until Python takes them
  bool busy = false;                                         // a launch is being recorded (under the GIL)

  bool records(const exec::Kernel& kernel) const {
    return kernels.empty() || kernels.contains(kernel.name());
  }
};

using Programs = std::vector<std::array<int64_t, 3>>;

// The values of a plan's taps, by name.
inline std::vector<std::string> tapped_values(const std::vector<probe::Tap>& taps) {
  std::vector<std::string> names;
  for (const probe::Tap& tap : taps) names.push_back(tap.site.value);
  return names;
}

// decode() of what kernels store: the Recording in the buffer.
template <class Stores>
void def_decode(nb::class_<Stores>& c) {
  c.def(
      "decode",
      [](const Stores& self, nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> buffer,
         Programs programs) {
        nb::gil_scoped_release free;
        return std::make_shared<probe::Recording>(probe::decode(
            self, {reinterpret_cast<const std::byte*>(buffer.data()), buffer.size()}, programs));
      },
      "buffer"_a, "programs"_a = Programs{},
      "The Recording in a buffer (uint8) of `bytes` bytes, which was zero before the launch.");
}

// From texts, or (variable, ["kernel.py:42", ...]).
std::vector<probe::Selector> make_selectors(nb::handle given);

}  // namespace triton_runner::python
