// encoding_of() reads an encoding of the IR (#ttg.blocked<...> of any release) as a layout::Encoding.
#pragma once
#include <triton_runner/base/result.h>
#include <triton_runner/ir/graph.h>
#include <triton_runner/layout/encoding.h>

namespace triton_runner::tile {

// Errors: an encoding that is not known, or one that lacks a parameter.
base::Result<layout::Encoding> encoding_of(const ir::Attr& attr);

}  // namespace triton_runner::tile
