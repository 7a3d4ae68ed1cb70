// Reads the registers that taps name in the text of AMD's machine code:
//
//     ;;#ASMSTART
//     ; triton_runner.tap 0 v[2:3]
//     ;;#ASMEND
#include <algorithm>
#include <bit>

#include <triton_runner/amdgcn/facts.h>
#include <triton_runner/base/text.h>
#include <triton_runner/base/try.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/amdgcn.h>

#include "amdgcn/kernel.h"
#include "ptx/registers_pair.h"

namespace triton_runner::probe {
namespace {

using base::failure;

struct AmdComment {
  enum Kind : uint8_t { kTap, kEnter, kTurn } kind = kTap;
  uint32_t number = 0;
  uint32_t before = 0;              // the instruction that follows
  std::vector<uint32_t> registers;  // of a tap
};

// In the order of the text. Comments stand within the kernel's body.
std::vector<AmdComment> amd_comments(const amdgcn::Module& module, const amdgcn::Kernel& kernel) {
  constexpr std::string_view kSign = "; triton_runner.";
  std::vector<AmdComment> out;
  const std::string_view text = module.text();
  if (kernel.body.empty()) return out;
  const size_t first = text.rfind("\n" + std::string(kernel.name) + ":", kernel.body[0].offset);
  for (size_t at = text.find(kSign, first == std::string_view::npos ? 0 : first);
       at != std::string_view::npos && at < kernel.body.back().offset; at = text.find(kSign, at + 1)) {
    std::string_view line = text.substr(at + kSign.size());
    line = line.substr(0, line.find('\n'));
    AmdComment c;
    if (base::take(line, "enter "))
      c.kind = AmdComment::kEnter;
    else if (base::take(line, "turn "))
      c.kind = AmdComment::kTurn;
    else if (!base::take(line, "tap "))
      continue;
    int64_t number = 0;
    if (!base::take_number(line, &number)) continue;
    c.number = static_cast<uint32_t>(number);
    c.registers = amdgcn::registers_named(base::trimmed(line));
    const auto next = std::ranges::upper_bound(kernel.body, at, {}, &amdgcn::Instruction::offset);
    c.before = static_cast<uint32_t>(next - kernel.body.begin());
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace

base::Result<RegisterPlan> plan_amd_taps(std::span<const Tap> given, const amdgcn::Module& twin,
                                         std::string_view name, bool partial, bool keeps_copies) {
  const amdgcn::Kernel& kernel = *TRY(amd_kernel(twin, name));
  const std::vector<AmdComment> comments = amd_comments(twin, kernel);
  RegisterPlan plan;
  std::vector<uint32_t> shown(given.size()), seen(given.size());
  for (const AmdComment& c : comments)
    if (c.kind == AmdComment::kTap && c.number < given.size()) ++shown[c.number];
  // Releases of Triton differ in whether registers that are copies of others are tapped too.
  for (size_t t = 0; t < given.size(); ++t)
    plan.taps.push_back(!given[t].copies || (keeps_copies && shown[t] % given[t].registers == 0)
                            ? given[t]
                            : without_copies(given[t]));
  std::vector<bool> lost(plan.taps.size());
  for (const AmdComment& c : comments) {
    if (c.kind != AmdComment::kTap) {
      plan.probes.push_back({std::string(name), c.before, false, {}});
      plan.parts.push_back(
          {c.kind == AmdComment::kEnter ? RegisterPlan::Part::kLoopEnters : RegisterPlan::Part::kLoopTurns,
           c.number,
           {},
           {},
           {}});
      continue;
    }
    if (c.number >= plan.taps.size()) continue;
    const Tap& tap = plan.taps[c.number];
    const uint32_t which = seen[c.number]++ % tap.registers;
    const auto bytes = static_cast<uint32_t>(num::size_of(tap.site.type));
    if (c.registers.size() * 4 < bytes) {
      lost[c.number] = true;
      continue;
    }
    const uint32_t code = c.registers[0] | (bytes == 8 ? amdgcn::kPair : 0);
    plan.probes.push_back({std::string(name), c.before, false, {code}});
    plan.parts.push_back({RegisterPlan::Part::kRead, c.number, {which}, {0}, {bytes == 8 ? 8u : 4u}});
  }
  std::string names;
  for (size_t t = 0; t < plan.taps.size(); ++t) {
    if (seen[t] == 0 || seen[t] % plan.taps[t].registers != 0) lost[t] = true;
    if (lost[t]) names += (names.empty() ? "" : ", ") + plan.taps[t].site.value;
  }
  if (names.empty()) return plan;
  plan.notes.push_back("no register of the program holds " + names + " as it is");
  if (!partial) return failure(plan.notes.back());
  return without_taps(std::move(plan), lost);
}

base::Result<RegisterPlan> move_amd_plan(const RegisterPlan& plan, const amdgcn::Module& twin,
                                         const amdgcn::Module& own, std::string_view name) {
  const amdgcn::Kernel &from = *TRY(amd_kernel(twin, name)), &to = *TRY(amd_kernel(own, name));
  const auto text = [](const amdgcn::Module& m, const amdgcn::Instruction& in) {
    return m.text().substr(in.offset, in.length);
  };
  const size_t n = std::min(from.body.size(), to.body.size());
  for (size_t i = 0; i < n; ++i)
    if (text(twin, from.body[i]) != text(own, to.body[i]))
      return own.diagnostic(to.body[i].offset, "with taps this is another instruction: " +
                                                   std::string(text(twin, from.body[i])));
  if (from.body.size() != to.body.size())
    return failure("with taps the program has another number of instructions");
  return plan;
}

}  // namespace triton_runner::probe
