// Map is the source map of a kernel: the rows of all its levels over one set of places, as JSON.
#pragma once
#include <triton_runner/report/lines.h>
#include <triton_runner/report/places.h>

namespace triton_runner::report {

class Map {
 public:
  // Reads a text of a level (see read_level) beside those that are there. SASS is told the places of the PTX
  // that it was made from, where that was added before it. Errors: a text that cannot be parsed.
  base::Status add(std::string_view text, std::string_view level);

  // For each line of an MLIR text its first place, or kNone. Errors: a text that cannot be parsed.
  base::Result<std::vector<int32_t>> places_of_lines(std::string_view mlir);

  const Places& places() const { return places_; }
  const std::vector<Level>& levels() const { return levels_; }
  const Level* level(std::string_view name) const;

  // {"files": [...], "places": [[file, line, column, caller], ...],
  //  "levels": {name: [[line, op, places, line of the PTX], ...], ...}}
  std::string json() const;

 private:
  Places places_;
  std::vector<Level> levels_;  // in the order in which they were added
};

}  // namespace triton_runner::report
