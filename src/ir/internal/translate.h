// Rewrites TTIR and TTGIR of one Triton release to what another release reads.
//
// Names and texts of ops follow the columns of ops.def; encodings, types and the few ops that were replaced
// by others follow src/ir/translate*.cpp. What a module means stays as it is: what has no counterpart is an
// error that names the op.
#pragma once
#include <string>
#include <vector>

#include <triton_runner/ir/module.h>
#include <triton_runner/ir/op_table.h>

namespace triton_runner::ir {

struct Translation {
  std::string text;
  std::vector<std::string>
      changes;  // what was rewritten, each kind once: "ttg.memdesc_subview: ttg.memdesc_index"
};

// to: the release that is to read it. The module is changed. Without changes the text
// is the source, byte for byte.
base::Result<Translation> translate(Module& module, Release to);

// The known releases that can have printed the module, by the names of its ops, oldest first, then the distributions.
std::vector<Release> written_by(const Module& module);

}  // namespace triton_runner::ir
