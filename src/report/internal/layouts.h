// draw_layouts() gives the layouts of a kernel's tensors and buffers, element by element, for drawing.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::report {

// One layout that values of a TTGIR have. Of a tensor with more than two dimensions the first slice is drawn,
// and of a large one its first 128 rows and columns.
struct Drawing {
  std::string name;      // "#mma", or the encoding's text where the module gives it no name
  std::string encoding;  // as written: "#ttg.blocked<{...}>"
  std::string type;      // "f16"
  bool is_shared = false;
  std::vector<int64_t> shape;
  uint32_t line = 0;   // of the first op that makes such a value
  uint32_t count = 0;  // of such values
  uint32_t rows = 0, columns = 0;
  // Row by row. Of tensors in registers (register, lane, warp, holders): the first thread that holds the
  // element, and how many do. Of shared memory the byte offset.
  std::vector<int32_t> cells;
};

// In the order of the text. Layouts that cannot be computed (and tensor memory) are left out. Errors: a text
// that does not parse.
base::Result<std::vector<Drawing>> draw_layouts(std::string_view ttgir);

}  // namespace triton_runner::report
