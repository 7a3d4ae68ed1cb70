// Finds registers of AMD's machine code by name, opcode and line.
#include <algorithm>

#include <triton_runner/amdgcn/facts.h>
#include <triton_runner/amdgcn/opcode.h>
#include <triton_runner/base/text.h>
#include <triton_runner/base/try.h>

#include <triton_runner/probe/amdgcn.h>

#include "amdgcn/kernel.h"
#include "paths.h"

namespace triton_runner::probe {

base::Result<const amdgcn::Kernel*> amd_kernel(const amdgcn::Module& module, std::string_view name) {
  for (const amdgcn::Kernel& k : module.kernels())
    if (k.name == name) return &k;
  return base::failure("the machine code has no kernel '" + std::string(name) + "'");
}

namespace {

class AmdNamer {
 public:
  AmdNamer(const amdgcn::Module& module, const amdgcn::Kernel& kernel, uint32_t threads)
      : module_(module), kernel_(kernel), threads_(threads) {}

  base::Status add(const std::string& name) {
    const std::vector<uint32_t> registers = amdgcn::registers_named(name);
    std::string_view file;
    int line = 0;
    const bool is_line = registers.empty() && split_line(name, file, line);
    const std::string_view own = module_.filename();
    size_t found = 0;
    for (uint32_t i = 0; i < kernel_.body.size(); ++i) {
      const amdgcn::Instruction& in = kernel_.body[i];
      const bool meant =
          !registers.empty() || name == "*" ||
          (is_line ? (static_cast<int>(in.place.line) == line && ends_in(in.place.file, file)) ||
                         (ends_in(own, file) && module_.location(in.offset).line == line)
                   : in.name == name || in.spelling == name || (in.row && in.row->name == name) ||
                         (in.name.starts_with(name) && in.name.substr(name.size()).starts_with("_")));
      if (!meant) continue;
      for (const uint32_t r : amdgcn::results_of(in)) {
        if (!registers.empty() && std::ranges::find(registers, r) == registers.end()) continue;
        add_tap(i, r);
        ++found;
      }
    }
    if (found) return base::success();
    std::vector<std::string> known, notes;
    for (const amdgcn::Instruction& in : kernel_.body)
      if (std::ranges::find(known, in.name) == known.end()) known.emplace_back(in.name);
    for (const std::string& n : base::nearest_names(name, known))
      notes.push_back("did you mean '" + n + "'?");
    notes.push_back("a register is v5, s3 or vcc, an opcode v_add_f32, a line kernel.py:42");
    return base::failure("nothing in the machine code of '" + std::string(kernel_.name) +
                             "' that is named '" + name + "' writes a register",
                         std::move(notes));
  }

  RegisterPlan plan;

 private:
  void add_tap(uint32_t i, uint32_t reg) {
    const amdgcn::Instruction& in = kernel_.body[i];
    Tap tap;
    Site& site = tap.site;
    site.kernel = kernel_.name;
    site.level = "amdgcn";
    const base::Location here = module_.location(in.offset);
    site.value = amdgcn::register_name(reg) + "#" + std::to_string(here.line);
    site.op = in.name;
    site.location = here.str();
    site.file = in.place.line ? std::string(in.place.file) : here.file;
    site.line = in.place.line ? static_cast<int>(in.place.line) : here.line;
    site.column = in.place.line ? static_cast<int>(in.place.column) : here.column;
    site.type = amdgcn::gives_floats(in) && !amdgcn::is_scalar(reg) ? num::Type::kF32 : num::Type::kI32;
    site.shape = {static_cast<int64_t>(threads_)};
    site.loops = 1;
    tap.threads = threads_;
    tap.per_thread = true;
    for (uint32_t t = 0; t < threads_; ++t) tap.elements.push_back(static_cast<int32_t>(t));
    plan.probes.push_back({std::string(kernel_.name), i, true, {reg}});
    plan.parts.push_back({RegisterPlan::Part::kRead, static_cast<uint32_t>(plan.taps.size()), {0}, {0}, {4}});
    plan.taps.push_back(std::move(tap));
  }

  const amdgcn::Module& module_;
  const amdgcn::Kernel& kernel_;
  const uint32_t threads_;
};

}  // namespace

base::Result<RegisterPlan> plan_amd_registers(const amdgcn::Module& module, std::string_view kernel,
                                              std::span<const std::string> names, uint32_t threads) {
  const amdgcn::Kernel& found = *TRY(amd_kernel(module, kernel));
  AmdNamer namer(module, found, threads ? threads : found.threads);
  for (const std::string& name : names) TRY(namer.add(name));
  return std::move(namer.plan);
}

}  // namespace triton_runner::probe
