// shape_fault() says what is wrong with an op by itself, without what is around it; verify.cpp checks what is
// around it.
#pragma once
#include <string>

#include <triton_runner/ir/graph.h>

namespace triton_runner::ir {

// Why the shapes and element types of the op's operands and results cannot belong together; empty where
// they can.
std::string shape_fault(const Op& op);

}  // namespace triton_runner::ir
