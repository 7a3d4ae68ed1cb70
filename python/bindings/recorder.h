// What records the launches of a dump, and what they gave.
#pragma once
#include <triton_runner/probe/recorder.h>

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

// From texts, or (variable, ["kernel.py:42", ...]).
std::vector<probe::Selector> make_selectors(nb::handle given);

}  // namespace triton_runner::python
