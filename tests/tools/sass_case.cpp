// Finds the results of PTX instructions in the machine code that ptxas made of them, and prints where they are.
#include "sass_case.h"

#include <cstdio>

#include <triton_runner/probe/sass.h>
#include <triton_runner/sass/registers.h>

namespace triton_runner::cases {
namespace {

int failed(const base::Diagnostic& error) {
  std::fputs(error.str().c_str(), stdout);
  return 0;
}

std::string listing_of(const std::string& source) {
  std::string out;
  constexpr std::string_view kMark = "//S ";
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size());
    const std::string_view line = std::string_view(source).substr(at, end - at);
    if (line.starts_with(kMark)) out += std::string(line.substr(kMark.size())) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

int run_sass(const CaseFile& file) {
  const auto module = ptx::parse(file.source, file.filename);
  if (!module) return failed(module.error());
  const std::string kernel =
      file.kernel.empty() ? std::string((*module)->entries().at(0)->name) : file.kernel;
  const auto code = sass::parse(listing_of(file.source));
  if (!code) return failed(code.error());
  if (file.dump.empty()) {
    const auto description = probe::describe_sass(**module, kernel, **code);
    if (!description) return failed(description.error());
    std::fputs(description->c_str(), stdout);
    return 0;
  }
  const auto plan = probe::plan_named_registers(**module, kernel, file.dump, "ptx", 32, 1);
  if (!plan) return failed(plan.error());
  const auto placed = probe::place_in_sass(*plan, **module, kernel, **code);
  if (!placed) return failed(placed.error());
  for (const probe::SassRead& r : placed->reads)
    std::printf("%s [%u, %u): at 0x%llx %s from byte %u, given at 0x%llx\n",
                placed->taps[r.tap].site.value.c_str(), r.to, r.to + r.bytes,
                static_cast<unsigned long long>(r.stop), sass::register_name(r.reg).c_str(), r.from,
                static_cast<unsigned long long>(r.definition));
  for (const uint64_t at : placed->fences)
    std::printf("second stop: 0x%llx\n", static_cast<unsigned long long>(at));
  for (const std::string& note : placed->notes) std::printf("note: %s\n", note.c_str());
  return 0;
}

}  // namespace triton_runner::cases
