// Implements first_hazard(): asks sass::find_hazards, and words the first hazard with its line of PTX.
#include "front/sass/hazard.h"

#include <triton_runner/sass/hazards.h>

namespace triton_runner::simt {
namespace {

constexpr size_t kMostOthers = 8;

std::string text_of(const sass::Module& module, const sass::Instruction& in) {
  return std::string(module.text().substr(in.offset, in.length));
}

void add_ptx_line(std::vector<std::string>& notes, const sass::Module& module, const sass::Instruction& in) {
  if (in.ptx_line)
    notes.push_back("'" + text_of(module, in) + "' was made from line " + std::to_string(in.ptx_line) +
                    " of the PTX");
}

}  // namespace

std::optional<exec::Trap> first_hazard(const sass::Module& module, const sass::Function& function,
                                       const std::string& kernel) {
  const sass::HazardReport report = sass::find_hazards(module, function);
  if (report.hazards.empty()) return {};
  const sass::Hazard& first = report.hazards.front();
  exec::Trap t;
  t.kind = exec::TrapKind::kHazard;
  t.kernel = kernel;
  t.op = std::string(first.at->spelling);
  t.location = module.location(first.at->offset);
  t.message = first.message;
  if (const sass::Place* place = first.at->place()) {
    t.notes.push_back("the instruction is at " + t.location.str() + ": " + text_of(module, *first.at));
    t.location = {std::string(place->file), static_cast<int>(place->line), 0};
  }
  add_ptx_line(t.notes, module, *first.at);
  if (first.cause != first.at) {
    t.notes.push_back("the earlier instruction is at " + module.location(first.cause->offset).str() + ": " +
                      text_of(module, *first.cause));
    add_ptx_line(t.notes, module, *first.cause);
  }
  for (size_t i = 1; i < report.hazards.size() && i <= kMostOthers; ++i)
    t.notes.push_back("another one, at " + module.location(report.hazards[i].at->offset).str() + ": " +
                      report.hazards[i].message);
  if (report.hazards.size() > kMostOthers + 1)
    t.notes.push_back(std::to_string(report.hazards.size() - kMostOthers - 1) + " more");
  return t;
}

}  // namespace triton_runner::simt
