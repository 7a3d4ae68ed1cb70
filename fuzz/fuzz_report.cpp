// Any text as each level of the source map: reading ends in rows or a diagnostic; rows stand in order on lines
// that the text has, every number in them exists, and callers stand before those whom they call.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <triton_runner/report/layouts.h>
#include <triton_runner/report/map.h>

namespace {

namespace report = triton_runner::report;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_report: %s\n", what.c_str());
  std::abort();
}

void check(const report::Map& map, const report::Level& level, const std::string& text) {
  const std::string& counted = level.name == "sass" ? level.text : text;
  const auto lines = static_cast<uint32_t>(std::count(counted.begin(), counted.end(), '\n')) + 1;
  const auto places = static_cast<int32_t>(map.places().all().size());
  uint32_t last = 1;
  for (const report::Row& row : level.rows) {
    require(row.line >= last && row.line <= lines, level.name + ": a row's line");
    for (int32_t place : row.places) require(place >= 0 && place < places, level.name + ": a row's place");
    last = row.line;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  report::Map map;
  for (const char* level : {"ttgir", "llir", "ptx", "amdgcn", "sass"}) {
    const auto done = map.add(text, level);
    require((map.level(level) != nullptr) == done.ok(), "a level that was not read, or no level");
    if (done)
      check(map, *map.level(level), text);
    else
      require(!done.error().str().empty(), "a failed reading reported nothing");
  }
  const auto& places = map.places();
  for (size_t i = 0; i < places.all().size(); ++i) {
    const report::Place& place = places.all()[i];
    require(place.line > 0, "a place without a line");
    require(place.file >= 0 && static_cast<size_t>(place.file) < places.files().size(), "a place's file");
    require(place.caller >= report::kNone && place.caller < static_cast<int32_t>(i), "a place's caller");
  }
  const std::string json = map.json();
  require(std::none_of(json.begin(), json.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
          "JSON with a control character");
  if (const auto drawn = report::draw_layouts(text))
    for (const report::Drawing& one : *drawn)
      require(one.cells.size() == size_t{one.is_shared ? 1u : 4u} * one.rows * one.columns,
              "a drawing's cells");
  return 0;
}
