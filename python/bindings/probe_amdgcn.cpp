// Makes _core.probe: registers of AMD's machine code.
#include <triton_runner/probe/amdgcn.h>

#include "recorder.h"

namespace triton_runner::python {
namespace {

using AmdModule = std::shared_ptr<const amdgcn::Module>;

AmdModule amd_module(std::string text, const std::string& filename) {
  return unwrap(amdgcn::parse(std::move(text), filename));
}

}  // namespace

void init_probe_amdgcn(nb::module_& m) {
  m.def(
      "plan_amd_registers",
      [](std::string text, const std::string& filename, const std::string& kernel,
         const std::vector<std::string>& names, uint32_t threads) {
        return unwrap(
            probe::plan_amd_registers(*amd_module(std::move(text), filename), kernel, names, threads));
      },
      "amdgcn"_a, "filename"_a, "kernel"_a, "names"_a, "threads"_a,
      "The plan for \"v5\", \"v[2:3]\", \"s4\", \"vcc\", \"exec\", \"v_add_f32\", \"kernel.amdgcn:120\", "
      "\"kernel.py:42\", \"*\" of AMD's machine code.");
  m.def(
      "plan_amd_taps",
      [](const probe::Tapped& tapped, std::string twin, const std::string& filename,
         const std::string& kernel, bool partial, bool keeps_copies) {
        probe::RegisterPlan plan = unwrap(probe::plan_amd_taps(
            tapped.taps, *amd_module(std::move(twin), filename), kernel, partial, keeps_copies));
        plan.notes.insert(plan.notes.begin(), tapped.notes.begin(), tapped.notes.end());
        return plan;
      },
      "tapped"_a, "twin"_a, "filename"_a, "kernel"_a, "partial"_a = false, "keeps_copies"_a = false,
      "The plan for a text that was compiled with taps. DiagnosticError: a value is in no register.");
  m.def(
      "move_amd_plan",
      [](const probe::RegisterPlan& plan, std::string twin, std::string own, const std::string& filename,
         const std::string& kernel) {
        return unwrap(probe::move_amd_plan(plan, *amd_module(std::move(twin), filename),
                                           *amd_module(std::move(own), filename), kernel));
      },
      "plan"_a, "twin"_a, "amdgcn"_a, "filename"_a, "kernel"_a,
      "The plan for the text without taps. DiagnosticError: the two have other instructions.");
}

}  // namespace triton_runner::python
