// Plans reads of registers of machine code by name, address, opcode and line. Values are found in place.cpp
// and run.cpp.
#include <triton_runner/base/try.h>
#include <triton_runner/probe/sass_run.h>

#include <algorithm>
#include <charconv>

#include <triton_runner/base/text.h>
#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/registers.h>

#include "paths.h"

namespace triton_runner::probe {
namespace {

bool names(const sass::Instruction& in, std::string_view name) {
  return name == "*" || in.spelling == name ||
         (in.spelling.starts_with(name) && in.spelling[name.size()] == '.');
}

class SassNamer {
 public:
  SassNamer(const sass::Module& module, const sass::Function& f, uint32_t threads)
      : module_(module), f_(f), threads_(threads) {}

  base::Status add(const std::string& name) {
    const std::optional<uint32_t> reg = sass::register_named(name);
    std::string_view file;
    int line = 0;
    const bool is_line = !reg && split_line(name, file, line);
    uint64_t address = 0;
    std::string_view at_reg;
    const bool is_address = name.starts_with("0x");
    if (is_address) {
      const size_t colon = std::min(name.find(':'), name.size());
      std::from_chars(name.data() + 2, name.data() + colon, address, 16);
      at_reg = std::string_view(name).substr(std::min(colon + 1, name.size()));
    }
    size_t found = 0;
    for (uint32_t i = 0; i < f_.body.size(); ++i) {
      const sass::Instruction& in = f_.body[i];
      const bool meant = reg          ? true
                         : is_address ? in.address == address
                         : is_line    ? in.place() && static_cast<int>(in.place()->line) == line &&
                                            ends_in(in.place()->file, file)
                                      : names(in, name);
      if (!meant) continue;
      for (const uint32_t r : sass::results_of(module_, in)) {
        if ((reg && r != *reg) || (!at_reg.empty() && sass::register_name(r) != at_reg)) continue;
        add_tap(i, r);
        ++found;
      }
    }
    if (found) return base::success();
    std::vector<std::string> known;
    for (const sass::Instruction& in : f_.body) known.emplace_back(in.spelling);
    std::vector<std::string> notes;
    for (const std::string& n : base::nearest_names(name, known))
      notes.push_back("did you mean '" + n + "'?");
    return base::failure("nothing in the machine code of '" + std::string(f_.name) + "' that is named '" +
                             name + "' writes a register",
                         std::move(notes));
  }

  RegisterPlan plan;

 private:
  void add_tap(uint32_t i, uint32_t reg) {
    const sass::Instruction& in = f_.body[i];
    Tap tap;
    Site& site = tap.site;
    site.kernel = f_.name;
    site.level = "cubin";
    site.value = sass::register_name(reg) + "#" + base::hex(in.address);
    site.op = in.spelling;
    const base::Location here = module_.location(in.offset);
    site.location = here.str();
    const sass::Place* place = in.place();
    site.file = place ? std::string(place->file) : here.file;
    site.line = place ? static_cast<int>(place->line) : here.line;
    site.type = sass::is_predicate(reg)  ? num::Type::kI1
                : sass::gives_floats(in) ? num::Type::kF32
                                         : num::Type::kI32;
    site.shape = {static_cast<int64_t>(threads_)};
    site.loops = 1;
    tap.threads = threads_;
    tap.per_thread = true;
    for (uint32_t t = 0; t < threads_; ++t) tap.elements.push_back(static_cast<int32_t>(t));
    plan.probes.push_back({std::string(f_.name), i, true, {reg}});
    plan.parts.push_back({RegisterPlan::Part::kRead,
                          static_cast<uint32_t>(plan.taps.size()),
                          {0},
                          {0},
                          {sass::is_predicate(reg) ? 1u : 4u}});
    plan.taps.push_back(std::move(tap));
  }

  const sass::Module& module_;
  const sass::Function& f_;
  const uint32_t threads_;
};

}  // namespace

base::Result<RegisterPlan> plan_sass_registers(const sass::Module& module, std::string_view kernel,
                                               std::span<const std::string> names, uint32_t threads) {
  const sass::Function* f = module.find(kernel);
  if (!f) return base::failure("the disassembly has no kernel '" + std::string(kernel) + "'");
  SassNamer namer(module, *f, threads);
  for (const std::string& name : names) TRY(namer.add(name));
  return std::move(namer.plan);
}

}  // namespace triton_runner::probe
