// Makes triton_runner._core.report: where the lines of a level's text come from.
#include <triton_runner/report/layouts.h>
#include <triton_runner/report/map.h>

#include "bindings.h"

namespace triton_runner::python {

void init_report(nb::module_& parent) {
  nb::module_ m =
      parent.def_submodule("report", "What the source map and the page of a kernel are made from.");
  nb::class_<report::Map>(m, "Map", "The rows of a kernel's levels over one set of places of its source.")
      .def(nb::init<>())
      .def(
          "add",
          [](report::Map& map, const std::string& text, const std::string& level) {
            without_gil([&] { return map.add(text, level); });
          },
          "text"_a, "level"_a,
          "Reads a text of ttir, ttgir, llir, ptx, amdgcn or sass; sass after the ptx that it was made from.")
      .def(
          "rows",
          [](const report::Map& map, const std::string& level) {
            nb::list rows;
            if (const report::Level* found = map.level(level))
              for (const report::Row& row : found->rows)
                rows.append(nb::make_tuple(row.line, row.op, nb::tuple(nb::cast(row.places)), row.ptx_line));
            return rows;
          },
          "level"_a, "Of a level: (line in the text, op, places, line of the PTX).")
      .def(
          "text",
          [](const report::Map& map, const std::string& level) {
            const report::Level* found = map.level(level);
            return found ? found->text : std::string();
          },
          "level"_a, "The listing that rows of sass count; empty for other levels.")
      .def(
          "files", [](const report::Map& map) { return map.places().files(); }, "The source's files.")
      .def(
          "places",
          [](const report::Map& map, size_t first) {
            nb::list out;
            const std::vector<report::Place>& all = map.places().all();
            for (size_t i = first; i < all.size(); ++i)
              out.append(nb::make_tuple(all[i].file, all[i].line, all[i].column, all[i].caller));
            return out;
          },
          "first"_a = 0,
          "(file, line, column, the place that called it or -1) of each place from a number on.")
      .def(
          "places_of_lines",
          [](report::Map& map, const std::string& mlir) {
            return without_gil([&] { return map.places_of_lines(mlir); });
          },
          "mlir"_a, "Of each line of an IR the number of its first place, or -1. Adds new places.")
      .def("json", &report::Map::json, "Files, places and levels.");
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
      "ttgir"_a,
      "The layouts of a TTGIR's tensors and buffers. cells are int32: (register, lane, warp, holders) of "
      "each element, or its byte offset in shared memory.");
}

}  // namespace triton_runner::python
