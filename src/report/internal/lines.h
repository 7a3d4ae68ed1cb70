// Finds where each line of a level's text comes from: debug information, in one form for all levels.
//
// A row is a line of the text that does something: an op, an instruction. A place is a line and column of the
// kernel's source, with the place that called it where a function was inlined, and so on outwards. Rows of
// different levels that have one place are counterparts of each other: loops that were unrolled or pipelined
// have several rows of one place, and ops that were merged have several places in one row.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::report {

class Places;

struct Row {
  uint32_t line;                // in the text, from 1
  std::string op;               // "tt.load", "fmul", "ld.global.v4.b32", "LDG.E.128"
  std::vector<int32_t> places;  // numbers of Places; none where nothing says it
  uint32_t ptx_line = 0;        // of SASS: the line of the PTX that it was made from; 0: not said
  uint32_t too_far = 0;         // of PTX: by how many lines its .loc, which SASS has, is below the place
};

struct Level {
  std::string name;
  std::vector<Row> rows;  // by line
  std::string text;       // of SASS: the listing without what nvdisasm notes in it; rows count its lines
};

// The rows of a text of `level`: ttir, ttgir, llir, ptx, amdgcn, or sass, which is what nvdisasm prints of a
// cubin with -gi -gp -c. MLIR of LLVM's dialect is read as ttgir. Errors: a text that cannot be parsed.
base::Result<Level> read_level(std::string_view text, std::string_view level, Places& places);

}  // namespace triton_runner::report
