// Declares a debugger of launches: the core's part, and the front end in Python that it calls.
#pragma once
#include <triton_runner/probe/debugger.h>

#include <functional>
#include <optional>

#include "bindings.h"

namespace triton_runner::python {

struct DebuggerObject {
  DebuggerObject(nb::object begin, nb::object stop);

  exec::Stopper* begin(const exec::Kernel& kernel, std::span<const exec::Allocation> memory);
  void end();  // raises what the front end raised
  bool ask(const std::function<nb::object()>& front);

  nb::object on_begin, on_stop;  // on_begin(level, kernel); on_stop(place, why, hits): False ends the launch
  probe::Debugger debugger;
  exec::Stopped* stopped = nullptr;  // while the front end is called
  bool repeats = false;  // the next run is of the same launch: it is recorded in the place of the last one
  std::optional<nb::python_error> error;
};

void init_variables(nb::class_<DebuggerObject>& c);

}  // namespace triton_runner::python
