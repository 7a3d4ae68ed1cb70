// Declares the values that callers give for parameters, before anything is converted: tuples taken apart, and
// for each value what decides how it is passed.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/launch/settle.h>

#include "bindings.h"

namespace triton_runner::python {

// One value that the caller gave, tuples taken apart: "x", "strides.1". The caller keeps it alive.
struct NamedValue {
  std::string name;
  nb::handle value;
};

// One parameter of the Python function: left out of the launch (constexpr), a tuple, or a value.
struct Slot {
  std::string name;
  bool skip = false;
  bool is_tuple = false;
  std::vector<Slot> children;
};

// From ("x", "*fp32"), ("n", "constexpr"), ("strides", ("i32", "constexpr")).
Slot make_slot(std::string name, nb::handle type);

// The values that a launch passes: constexprs dropped, tuples (where a slot says so: sequences) taken apart.
void flatten(const Slot& slot, nb::handle value, std::vector<NamedValue>& out);
using Named = std::vector<std::pair<std::string, nb::object>>;
std::vector<NamedValue> flatten(const Named& named);

launch::ValueShape shape_of(nb::handle value);
std::vector<launch::Value> shapes_of(const std::vector<NamedValue>& values);

// A value as Python prints it, shortened.
std::string text_of(nb::handle value);

}  // namespace triton_runner::python
