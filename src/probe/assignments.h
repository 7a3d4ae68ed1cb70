// Finds what statements of Python give to variables, as values of IR: in each block the last value that a line has
// under the variable's name.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/probe/recording.h>

namespace triton_runner::probe {

// A value's Site, with the variable that its printed name tells where its location tells none.
Site site_with_variable(const ir::Value& value);

// The line of the statement that a value is of: where its own location has the name, that one; else, of a result of an
// inlined function, the line of the call.
int statement_line(const ir::Value& value);

struct Assignment {
  Site site;  // its value is the name that select() takes
  const ir::Value* value;
  int line = 0;
  bool is_buffer = false;     // in shared or tensor memory
  bool is_in_flight = false;  // the tensor cores are still computing it
};

// The assignments of a kernel, in the order of its text. `above`: its TTIR, or null; then a value is an assignment
// where the variable has its type there: statements are taken apart below TTIR, and their parts bear the name, too.
std::vector<Assignment> assignments_of(const ir::Module& module, const ir::Op& func, const ir::Module* above);

// The text with a mark after some of them: a comment that find_marks() finds in what it compiles to. The module is edited.
base::Result<std::string> mark_assignments(ir::Module& module, std::span<const Assignment> assignments,
                                           std::span<const uint32_t> which);

}  // namespace triton_runner::probe
