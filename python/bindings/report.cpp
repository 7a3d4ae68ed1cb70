// triton_runner._core.report: where the lines of a level's text come from.
#include <triton_runner/report/layouts.h>
#include <triton_runner/report/lines.h>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace triton_runner::python {

void init_report(nb::module_& parent) {
  nb::module_ m =
      parent.def_submodule("report", "What the source map and the page of a kernel are made from.");
  m.def(
      "read_lines",
      [](const std::string& text, const std::string& level) {
        const report::Lines found = unwrap([&] {
          nb::gil_scoped_release release;
          return report::read_lines(text, level);
        }());
        nb::list places, rows;
        for (const report::Place& p : found.places)
          places.append(nb::make_tuple(p.file, p.line, p.column, p.caller));
        for (const report::Row& row : found.rows) {
          nb::list at;
          for (int32_t place : row.places) at.append(place);
          rows.append(nb::make_tuple(row.line, row.op, at, row.ptx_line));
        }
        return nb::make_tuple(found.files, places, rows, found.text);
      },
      nb::arg("text"), nb::arg("level"),
      "(files, places, rows, text) of a text of ttir, ttgir, llir, ptx, amdgcn or sass. A place is (file, "
      "line, column, the place that called it or -1); a row (line in the text, op, places, line of the PTX); "
      "text is the listing that rows of sass count.");
  m.def(
      "draw_layouts",
      [](const std::string& ttgir) {
        nb::list out;
        for (const report::Drawing& d : unwrap(report::draw_layouts(ttgir))) {
          nb::dict made;
          made["name"] = nb::cast(d.name);
          made["encoding"] = nb::cast(d.encoding);
          made["type"] = nb::cast(d.type);
          made["shared"] = nb::bool_(d.is_shared);
          made["shape"] = nb::cast(d.shape);
          made["line"] = nb::int_(d.line);
          made["count"] = nb::int_(d.count);
          made["rows"] = nb::int_(d.rows);
          made["columns"] = nb::int_(d.columns);
          made["cells"] = nb::bytes(reinterpret_cast<const char*>(d.cells.data()), d.cells.size() * 4);
          out.append(made);
        }
        return out;
      },
      nb::arg("ttgir"),
      "The layouts of a TTGIR's tensors and buffers. cells are int32: (register, lane, warp, holders) of "
      "each "
      "element, or its byte offset in shared memory.");
}

}  // namespace triton_runner::python
