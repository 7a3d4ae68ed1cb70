// Moves a plan to a text that was edited by hand: finds which instruction of one text corresponds to which of
// the other.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include <triton_runner/probe/registers.h>

#include "ptx/registers_ptx.h"

namespace triton_runner::probe {
namespace {

using ptx::Function;
using ptx::Module;

constexpr uint32_t kNoMatch = ~uint32_t{0};
constexpr size_t kMostEdits = 2000;

std::string_view text_of(const Module& m, const Function& f, size_t i) {
  return m.text().substr(f.body[i].offset, f.body[i].length);
}

// For each instruction of `a` (and its end) the one of `b` that corresponds, or that stands where it stood.
struct Alignment {
  std::vector<uint32_t> to;
  std::vector<bool> gone;              // nothing of `b` corresponds
  std::vector<uint32_t> from, edited;  // instructions of `a` and `b` that are not written alike
};

// The shortest way of deletions and insertions from one list to the other (Myers, 1986).
std::optional<Alignment> align(const Module& ma, const Function& a, const Module& mb, const Function& b) {
  const auto n = static_cast<int64_t>(a.body.size()), m = static_cast<int64_t>(b.body.size());
  auto same = [&](int64_t x, int64_t y) {
    return text_of(ma, a, static_cast<size_t>(x)) == text_of(mb, b, static_cast<size_t>(y));
  };
  const int64_t most = std::min<int64_t>(n + m, kMostEdits);
  std::vector<std::vector<int64_t>> trail;
  std::vector<int64_t> v(static_cast<size_t>(2 * most + 3));
  const int64_t zero = most + 1;
  bool found = false;
  for (int64_t d = 0; d <= most && !found; ++d) {
    trail.push_back(v);
    for (int64_t k = -d; k <= d; k += 2) {
      auto at = [&](int64_t i) -> int64_t& { return v[static_cast<size_t>(zero + i)]; };
      int64_t x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && same(x, x - k)) ++x;
      at(k) = x;
      if (x >= n && x - k >= m) {
        found = true;
        break;
      }
    }
  }
  if (!found) return {};
  std::vector<uint32_t> match(static_cast<size_t>(n), kNoMatch);
  int64_t x = n, y = m;
  for (auto d = static_cast<int64_t>(trail.size()) - 1; d >= 0; --d) {
    const std::vector<int64_t>& w = trail[static_cast<size_t>(d)];
    auto at = [&](int64_t i) { return w[static_cast<size_t>(zero + i)]; };
    const int64_t k = x - y;
    const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
    const int64_t back = d == 0 ? 0 : down ? k + 1 : k - 1;
    const int64_t px = d == 0 ? 0 : at(back), py = px - back;
    const int64_t stop_x = d == 0 ? 0 : down ? px : px + 1;
    while (x > stop_x && y > 0) match[static_cast<size_t>(--x)] = static_cast<uint32_t>(--y);
    x = px, y = py;
  }
  Alignment out;
  out.to.resize(static_cast<size_t>(n) + 1);
  out.gone.resize(static_cast<size_t>(n) + 1);
  out.to[static_cast<size_t>(n)] = static_cast<uint32_t>(m);
  // Between two matches: what was taken out and what came in its place, one for one as far as it goes.
  size_t i = 0;
  uint32_t j = 0;
  while (i <= static_cast<size_t>(n)) {
    size_t end = i;
    while (end < static_cast<size_t>(n) && match[end] == kNoMatch) ++end;
    const uint32_t stop = end < static_cast<size_t>(n) ? match[end] : static_cast<uint32_t>(m);
    for (; i < end; ++i) {
      out.from.push_back(static_cast<uint32_t>(i));
      out.gone[i] = j >= stop;
      out.to[i] = std::min(j, stop);
      if (j < stop) out.edited.push_back(j++);
    }
    while (j < stop) out.edited.push_back(j++);
    if (i == static_cast<size_t>(n)) break;
    out.to[i] = stop;
    j = stop + 1;
    ++i;
  }
  return out;
}

}  // namespace

base::Result<RegisterPlan> move_plan(const RegisterPlan& plan, const Module& from, const Module& to) {
  RegisterPlan moved;
  moved.taps = plan.taps;
  moved.notes = plan.notes;
  struct Counterpart {
    const Function *a, *b;
    Alignment alignment;
    std::unordered_map<std::string_view, uint32_t> registers;
  };
  std::unordered_map<std::string_view, Counterpart> functions;
  for (const Function* f : from.functions()) {
    if (f->is_declaration) continue;
    const Function* g = to.find_function(f->name);
    if (!g || g->is_declaration)
      return base::failure("the edited program has no function '" + std::string(f->name) + "'");
    auto alignment = align(from, *f, to, *g);
    if (!alignment)
      return to.diagnostic(g->offset, "this is not the program that the TTGIR compiles to: more than " +
                                          std::to_string(kMostEdits) + " instructions differ");
    Counterpart c{f, g, std::move(*alignment), {}};
    for (uint32_t r = 0; r < g->registers.size(); ++r) c.registers.try_emplace(g->registers[r].name, r);
    for (size_t k = 0; k < c.alignment.edited.size() && k < 8; ++k)
      moved.notes.push_back("edited: " + to.location(g->body[c.alignment.edited[k]].offset).str() + ": " +
                            std::string(text_of(to, *g, c.alignment.edited[k])));
    if (c.alignment.edited.size() < c.alignment.from.size())
      for (size_t k = 0; k < c.alignment.from.size() && k < 8; ++k)
        moved.notes.push_back("the TTGIR compiles to: " +
                              std::string(text_of(from, *f, c.alignment.from[k])));
    functions.emplace(f->name, std::move(c));
  }
  std::vector<bool> lost(plan.taps.size());
  for (size_t i = 0; i < plan.probes.size(); ++i) {
    exec::RegisterProbe probe = plan.probes[i];
    const RegisterPlan::Part& part = plan.parts[i];
    const Counterpart& c = functions.at(probe.function);
    const bool gone = probe.after && c.alignment.gone[probe.instruction];
    probe.instruction = c.alignment.to[probe.instruction];
    bool known = !gone;
    for (uint32_t& r : probe.registers) {
      const ptx::Register& own = c.a->registers[r];
      auto found = c.registers.find(own.name);
      known = known && found != c.registers.end() && c.b->registers[found->second].type == own.type;
      if (known) r = found->second;
    }
    if (!known) {
      if (part.kind != RegisterPlan::Part::kRead)
        return base::failure("the beginning of a loop is at no place of its own in the edited program");
      lost[part.tap] = true;
      continue;
    }
    moved.probes.push_back(std::move(probe));
    moved.parts.push_back(part);
  }
  for (size_t t = 0; t < lost.size(); ++t)
    if (lost[t])
      moved.notes.push_back(plan.taps[t].site.value + ": its registers are not in the edited program");
  return without_taps(std::move(moved), lost);
}

}  // namespace triton_runner::probe
