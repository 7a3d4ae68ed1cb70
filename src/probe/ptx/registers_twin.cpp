// Makes the plan of reads that a twin gives for the PTX of a launch, and merges plans.
#include <algorithm>
#include <bit>

#include <triton_runner/base/try.h>
#include <triton_runner/num/types.h>

#include "ptx/registers_pair.h"

namespace triton_runner::probe {
namespace {

using base::failure;
using ptx::Function;

// Releases of Triton differ in whether registers that are copies of others are tapped too. If it is not known
// of this one, they are where copies show the same register.
bool shows_copies(const Tap& tap, std::span<const std::string_view> shown, bool keeps_copies) {
  const uint32_t comments = tap.registers / tap.pack;
  if (shown.empty() || shown.size() % comments != 0) return false;
  if (keeps_copies) return true;
  for (size_t i = 0; i < shown.size(); ++i)
    for (uint32_t bit = tap.pack; bit < tap.registers; bit <<= 1)
      if ((tap.copies & bit) && shown[i] != shown[i ^ (bit / tap.pack)]) return false;
  return true;
}

// A run of comments at one place becomes one probe.
void append(RegisterPlan& plan, const Function& f, const exec::RegisterProbe& place,
            RegisterPlan::Part::Kind kind, uint32_t number, uint32_t which, const Source& source) {
  auto add = [&](exec::RegisterProbe& probe, RegisterPlan::Part& part) {
    probe.registers.push_back(source.reg);
    part.registers.push_back(which);
    part.offsets.push_back(source.offset);
    part.widths.push_back(width_of(f, source.reg));
  };
  if (kind == RegisterPlan::Part::kRead && !plan.probes.empty()) {
    exec::RegisterProbe& last = plan.probes.back();
    RegisterPlan::Part& part = plan.parts.back();
    if (part.kind == kind && part.tap == number && last.function == place.function &&
        last.instruction == place.instruction && last.after == place.after && part.registers.back() < which)
      return add(last, part);
  }
  plan.probes.push_back(place);
  plan.parts.push_back({kind, number, {}, {}, {}});
  if (kind == RegisterPlan::Part::kRead) add(plan.probes.back(), plan.parts.back());
}

}  // namespace

Tap without_copies(const Tap& tap) {
  Tap out = tap;
  out.elements.clear();
  out.registers = tap.registers >> std::popcount(tap.copies);
  out.copies = 0;
  for (uint32_t b = 0; b < tap.blocks; ++b)
    for (uint32_t r = 0; r < tap.registers; ++r) {
      if (r & tap.copies) continue;
      const auto row =
          tap.elements.begin() + static_cast<ptrdiff_t>((b * tap.registers + r) * size_t{tap.threads});
      out.elements.insert(out.elements.end(), row, row + tap.threads);
    }
  return out;
}

base::Result<RegisterPlan> plan_registers(std::span<const Tap> given, const ptx::Module& twin,
                                          const ptx::Module& ptx, bool partial, bool keeps_copies) {
  RegisterPlan plan;
  std::vector<std::vector<std::string_view>> shown(given.size());
  for (const Function* f : twin.functions())
    for (const Comment& c : comments_of(twin.text(), *f))
      if (c.kind == Comment::kTap && c.number < given.size()) shown[c.number].push_back(c.reg);
  for (size_t t = 0; t < given.size(); ++t) {
    const bool whole = !given[t].copies || shows_copies(given[t], shown[t], keeps_copies);
    plan.taps.push_back(whole ? given[t] : without_copies(given[t]));
  }
  const std::span<const Tap> taps = plan.taps;
  std::vector<uint32_t> seen(taps.size());
  std::vector<bool> lost(taps.size());
  for (const Function* f : twin.functions()) {
    if (f->is_declaration) continue;
    const Function* own = ptx.find_function(f->name);
    if (!own || own->is_declaration)
      return failure("the program has no function '" + std::string(f->name) + "', which it has with taps");
    const std::vector<Comment> comments = comments_of(twin.text(), *f);
    Pair pair(twin, *f, ptx, *own, comments);
    TRY(pair.compare());
    for (const Comment& c : comments) {
      if (c.kind == Comment::kTap && c.number >= taps.size()) continue;
      if (c.kind != Comment::kTap) {
        const auto place = pair.place(c, nullptr);
        if (!place)
          return failure("the beginning of a loop is at no place of its own in the program without taps");
        append(plan, *own, *place,
               c.kind == Comment::kEnter ? RegisterPlan::Part::kLoopEnters : RegisterPlan::Part::kLoopTurns,
               c.number, 0, {});
        continue;
      }
      const Tap& tap = taps[c.number];
      const uint32_t first = seen[c.number] % tap.registers;
      seen[c.number] += tap.pack;
      for (uint32_t k = 0; k < tap.pack; ++k) {
        const auto source = pair.source(c, k * static_cast<uint32_t>(num::size_of(tap.site.type)));
        const auto place = source ? pair.place(c, &*source) : std::nullopt;
        if (place)
          append(plan, *own, *place, RegisterPlan::Part::kRead, c.number, first + k, *source);
        else
          lost[c.number] = true;
      }
    }
  }
  std::string names;
  for (size_t t = 0; t < taps.size(); ++t) {
    if (seen[t] == 0 || seen[t] % taps[t].registers != 0) lost[t] = true;
    if (lost[t]) names += (names.empty() ? "" : ", ") + taps[t].site.value;
  }
  if (names.empty()) return plan;
  if (!partial) return failure("no register of the program holds " + names + " as it is");
  plan.notes.push_back("no register of the program holds " + names + " as it is");
  return without_taps(std::move(plan), lost);
}

RegisterPlan without_taps(RegisterPlan plan, const std::vector<bool>& lost) {
  RegisterPlan kept;
  kept.notes = std::move(plan.notes);
  std::vector<uint32_t> number(plan.taps.size());
  for (size_t t = 0; t < plan.taps.size(); ++t) {
    number[t] = static_cast<uint32_t>(kept.taps.size());
    if (!lost[t]) kept.taps.push_back(std::move(plan.taps[t]));
  }
  for (size_t i = 0; i < plan.probes.size(); ++i) {
    RegisterPlan::Part& part = plan.parts[i];
    if (part.kind == RegisterPlan::Part::kRead) {
      if (lost[part.tap]) continue;
      part.tap = number[part.tap];
    }
    kept.probes.push_back(std::move(plan.probes[i]));
    kept.parts.push_back(std::move(part));
  }
  return kept;
}

RegisterPlan merge_plans(std::span<const RegisterPlan> plans) {
  RegisterPlan all;
  uint32_t loops = 0;
  for (const RegisterPlan& plan : plans) {
    const auto first = static_cast<uint32_t>(all.taps.size());
    uint32_t most = 0;
    for (Tap tap : plan.taps) {
      for (uint32_t& loop : tap.loops) most = std::max(most, (loop += loops) + 1 - loops);
      all.taps.push_back(std::move(tap));
    }
    for (size_t i = 0; i < plan.probes.size(); ++i) {
      all.probes.push_back(plan.probes[i]);
      all.parts.push_back(plan.parts[i]);
      RegisterPlan::Part& part = all.parts.back();
      if (part.kind != RegisterPlan::Part::kRead) most = std::max(most, part.tap + 1);
      part.tap += part.kind == RegisterPlan::Part::kRead ? first : loops;
    }
    loops += most;
    all.notes.insert(all.notes.end(), plan.notes.begin(), plan.notes.end());
  }
  return all;
}

}  // namespace triton_runner::probe
