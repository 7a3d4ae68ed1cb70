// Keeps sets of threads as ranges of whole warps with a byte mask, as small as they can be: a set of whole
// warps side by side needs no mask, and then runs the fast form of every instruction.
#include "state/divergence.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace triton_runner::simt {
namespace {

Path& fresh_path(Cta& cta) {
  if (cta.spare.empty()) {
    cta.paths.push_back(std::make_unique<Path>());
  } else {
    cta.paths.push_back(std::move(cta.spare.back()));
    cta.spare.pop_back();
    Path& s = *cta.paths.back();
    s.state = PathState::kReady;
    s.penalty = 0;
    s.turn = s.since = 0;
    s.members = kNoRegister;
    s.runs = s.has_turn = s.frozen = false;
  }
  return *cta.paths.back();
}

void remove_path(Cta& cta, const Path& path) {
  for (auto& s : cta.paths)
    if (s.get() == &path) {
      cta.spare.push_back(std::move(s));
      s = std::move(cta.paths.back());
      cta.paths.pop_back();
      return;
    }
}

// Sets the path's threads to those of mask[i], i < count, from thread `first`; false if there are none.
bool assign(const Cta& cta, Path& s, uint32_t first, uint32_t count, const int8_t* mask) {
  const uint32_t width = cta.code->width;
  auto any = [&](uint32_t w) {
    return std::any_of(mask + w, mask + w + width, [](int8_t m) { return m != 0; });
  };
  uint32_t low = 0, high = count;
  while (low < high && !any(low)) low += width;
  while (high > low && !any(high - width)) high -= width;
  if (low == high) return false;
  const int8_t* begin = mask + low;
  s.full = std::all_of(begin, mask + high, [](int8_t m) { return m != 0; });
  if (!s.full) {
    std::vector<int8_t> kept(begin, mask + high);  // `mask` may be s.mask itself
    s.mask.swap(kept);
  }
  s.first = first + low;
  s.count = high - low;
  return true;
}

}  // namespace

void recheck(Cta& cta) {
  for (auto& s : cta.paths)
    if (s->state == PathState::kWarpSync) {
      s->state = PathState::kReady;
      s->turn = ++cta.turns;
    }
  for (uint32_t b = 0; b < cta.barriers.size(); ++b) {
    Barrier& barrier = cta.barriers[b];
    if (barrier.arrived > 0 && barrier.expected == 0) arrive(cta, b, 0, 0);
  }
}

uint32_t count_on(const Lanes& l) {
  if (!l.mask) return l.count;
  uint32_t n = 0;
  for (uint32_t i = 0; i < l.count; ++i) n += l.mask[i] != 0;
  return n;
}

uint32_t first_on(const Lanes& l) {
  uint32_t i = 0;
  while (!l.on(i)) ++i;
  return i;
}

Path& add_path(Exec& x, const int8_t* mask, const Instr* pc) {
  Path& s = fresh_path(*x.cta);
  assign(*x.cta, s, x.first, x.count, mask);
  s.pc = pc;
  s.penalty = x.path->penalty;
  return s;
}

void keep_others(Exec& x) {
  std::vector<int8_t> rest(x.count);
  const int8_t* own = x.path_mask();
  const int8_t* on = x.mask;
  for (uint32_t i = 0; i < x.count; ++i)
    rest[i] = static_cast<int8_t>((own ? own[i] : -1) & ~(on ? on[i] : -1));
  if (!assign(*x.cta, *x.path, x.first, x.count, rest.data())) {
    remove_path(*x.cta, *x.path);
    x.path = nullptr;
  }
  x.leave();
}

void split(Exec& x, const Instr* pc) {
  add_path(x, x.mask, pc);
  keep_others(x);
}

void pass_guarded(Exec& x, const Instr& in) {
  const int8_t* own = x.path_mask();
  if (x.mask == own) return;
  std::vector<int8_t> others(x.count), mine(x.mask, x.mask + x.count);
  bool any = false;
  for (uint32_t i = 0; i < x.count; ++i) {
    others[i] = (!own || own[i]) && !mine[i] ? -1 : 0;
    any = any || others[i];
  }
  if (!any) return;
  add_path(x, others.data(), &in + 1);
  assign(*x.cta, *x.path, x.first, x.count, mine.data());
}

void park(Exec& x, const Instr& in, PathState state) {
  pass_guarded(x, in);
  if (x.path->since == 0) x.path->since = ++x.cta->turns;
  x.path->state = state;
  x.pc = &in;
  x.leave();
}

void Exec::retry_later(const Instr& in) {
  park(*this, in, PathState::kPoll);
  path->seen_event = cta->cluster->events;
}

namespace {

// Returns whether each thread that is on has those beside it that wanted(first of its warp)(lane) names, as far as they live,
// and (`same`) these name the same ones: where a function calls itself, threads wait at one instruction for different
// regions. If not, those that have become a path that goes on, the others wait.
template <class Wanted>
bool gather_wanted(Exec& x, const Instr& in, bool same, Wanted wanted) {
  Cta& cta = *x.cta;
  const uint32_t width = cta.code->width;
  // `ready`, if given, is set for the threads of the warp that begins at `from` and has the mask `m`.
  auto look = [&](const int8_t* m, uint32_t from, int8_t* ready) {
    const uint64_t on = mask_bits(m, 0, width), missing = mask_bits(cta.alive.data(), from, width) & ~on;
    const auto each = [on](auto f) {
      for (uint64_t rest = on; rest; rest &= rest - 1) f(static_cast<uint32_t>(std::countr_zero(rest)));
    };
    if (ready) std::fill_n(ready, width, 0);
    if (on == 0) return true;
    std::array<uint64_t, 64> mine{};
    if (missing != 0 || same) {
      const auto of_lane = wanted(from);
      each([&](uint32_t i) { mine[i] = of_lane(i); });
    }
    const uint64_t first = mine[static_cast<uint32_t>(std::countr_zero(on))];
    bool is_one = true, all = true;  // all want the same
    each([&](uint32_t i) { is_one = is_one && mine[i] == first; });
    each([&](uint32_t i) {
      bool ok = (mine[i] & missing) == 0;
      for (uint64_t rest = same && ok && !is_one ? mine[i] & on : 0; rest; rest &= rest - 1)
        ok = ok && mine[static_cast<uint32_t>(std::countr_zero(rest))] == mine[i];
      if (ready) ready[i] = ok ? -1 : 0;
      all = all && ok;
    });
    return all;
  };
  bool whole = true;
  for (uint32_t w = 0; w < x.count; w += width)
    whole = whole && look(x.mask ? x.mask + w : nullptr, x.first + w, nullptr);
  if (whole) return true;
  park(x, in, PathState::kWarpSync);
  for (size_t i = 0; i < cta.paths.size();) {
    Path& other = *cta.paths[i];
    if (&other != x.path && other.state == PathState::kWarpSync && other.pc == &in &&
        may_merge(cta, *x.path, other))
      merge(cta, *x.path, other);
    else
      ++i;
  }
  Path& s = *x.path;
  const int8_t* own = x.path_mask();
  std::vector<int8_t> ready(s.count);
  bool all = true;
  for (uint32_t w = 0; w < s.count; w += width)
    all = look(own ? own + w : nullptr, s.first + w, &ready[w]) && all;
  if (all) {
    s.state = PathState::kReady;
  } else if (std::any_of(ready.begin(), ready.end(), [](int8_t m) { return m != 0; })) {
    x.first = s.first;
    x.count = s.count;
    x.mask = ready.data();
    add_path(x, ready.data(), &in);
    keep_others(x);
    x.mask = nullptr;
  }
  return false;
}

}  // namespace

bool Exec::converged(const Instr& in, uint64_t members) {
  if (!mask) return true;
  path->members = kNoRegister;
  return gather_wanted(*this, in, false,
                       [members](uint32_t) { return [members](uint32_t) { return members; }; }) &&
         (!worker->checks || whole_warps(in, members));
}

bool Exec::converged_by(const Instr& in, uint32_t place, bool same) {
  const auto* members = reinterpret_cast<const uint32_t*>(regs + place);
  if (!mask && (!same || std::equal(members + first + 1, members + first + count, members + first)))
    return true;
  path->members = place;
  return gather_wanted(*this, in, same, [&](uint32_t from) {
    return [own = members + from, away = yielded(*cta, from)](uint32_t lane) { return own[lane] & ~away; };
  });
}

void end_lanes(Exec& x) {
  Cta& cta = *x.cta;
  if (x.worker->checks && x.mask)
    for (uint32_t i : x.lanes()) cta.ended_at[x.first + i] = x.pc - 1;
  if (!x.mask) {
    if (x.worker->checks) std::fill_n(cta.ended_at.begin() + x.first, x.count, x.pc - 1);
    std::fill_n(cta.alive.begin() + x.first, x.count, 0);
    cta.alive_count -= x.count;
  } else {
    constexpr uint64_t kOnes = 0x0101010101010101;
    for (uint32_t i = 0; i < x.count; i += sizeof(uint64_t)) {  // whole warps: eight threads at once
      uint64_t ends, alive;
      std::memcpy(&ends, x.mask + i, sizeof ends);
      std::memcpy(&alive, &cta.alive[x.first + i], sizeof alive);
      alive &= ~ends;
      std::memcpy(&cta.alive[x.first + i], &alive, sizeof alive);
      cta.alive_count -= static_cast<uint32_t>((ends & kOnes) * kOnes >> 56);
    }
  }
  if (x.mask == x.path_mask()) {
    remove_path(cta, *x.path);
    x.path = nullptr;
    x.leave();
  } else {
    keep_others(x);
  }
  if (cta.alive_count > 0) recheck(cta);
  ++cta.cluster->events;
}

bool may_merge(const Cta& cta, const Path& a, const Path& b) {
  if (cta.code->warp_turns && !share_warp(a, b, cta.code->width) && (is_parted(cta, a) || is_parted(cta, b)))
    return false;
  return !cta.worker->launch->shuffle || a.first == b.first;
}

void merge(Cta& cta, Path& a, Path& b) {
  const uint32_t low = std::min(a.first, b.first), high = std::max(a.first + a.count, b.first + b.count);
  std::vector<int8_t> mask(high - low);
  for (const Path* s : {&a, &b})
    for (uint32_t i = 0; i < s->count; ++i)
      if (s->full || s->mask[i]) mask[s->first - low + i] = -1;
  a.penalty = std::min(a.penalty, b.penalty);
  a.since = std::min(a.since, b.since);
  a.timed_out |= b.timed_out;
  assign(cta, a, low, high - low, mask.data());
  remove_path(cta, b);
}

bool freeze_warp(Cta& cta, uint32_t warp, bool on) {
  const uint32_t width = cta.code->width, first = warp * width;
  std::vector<Path*> all;
  for (auto& s : cta.paths)
    if (s->first <= first && first < s->first + s->count) all.push_back(s.get());
  bool any = false;
  for (Path* s : all) {
    std::vector<int8_t> ours(s->count), others(s->count);
    for (uint32_t i = 0; i < s->count; ++i)
      if (s->full || s->mask[i]) ((s->first + i) / width == warp ? ours : others)[i] = -1;
    const auto is_on = [](int8_t m) { return m != 0; };
    if (std::none_of(ours.begin(), ours.end(), is_on)) continue;
    any = true;
    if (std::none_of(others.begin(), others.end(), is_on) || s->frozen == on) {
      s->frozen = on;
      continue;
    }
    Path& own = fresh_path(cta);
    own = *s;
    own.frozen = on;
    assign(cta, own, s->first, s->count, ours.data());
    assign(cta, *s, s->first, s->count, others.data());
  }
  return any;
}

bool arrive(Cta& cta, uint32_t barrier, uint32_t threads, uint32_t expected) {
  Barrier& b = cta.barriers[barrier];
  if (!b.arrive(threads, expected, cta.alive_count)) return false;
  for (auto& s : cta.paths) {
    if (s->state != PathState::kBarrier || s->barrier != barrier) continue;
    s->state = PathState::kReady;
    ++s->pc;
  }
  b.red_count = 0;
  return true;
}

void begin_paths(Cta& cta) {
  while (!cta.paths.empty()) {
    cta.spare.push_back(std::move(cta.paths.back()));
    cta.paths.pop_back();
  }
  const Code& code = *cta.code;
  const uint32_t width = cta.worker->launch->shuffle ? code.width : code.threads;
  for (uint32_t first = 0; first < code.threads; first += width) {
    Path& s = fresh_path(cta);
    s.timed_out = false;
    s.pc = code.instrs.data();
    s.first = first;
    s.count = width;
    s.full = code.real_threads >= first + width;
    if (s.full) continue;
    s.mask.assign(width, 0);
    std::fill_n(s.mask.begin(), code.real_threads - first, -1);
  }
  std::fill(cta.alive.begin(), cta.alive.end(), 0);
  std::fill_n(cta.alive.begin(), code.real_threads, -1);
  cta.alive_count = code.real_threads;
  if (cta.worker->checks) cta.ended_at.resize(code.threads);
  cta.barriers = {};
  cta.turns = 0;
}

std::string threads_of(const Path& s, const Code& code) {
  const uint32_t width = code.width;
  uint32_t on = s.count;
  if (!s.full)
    on = static_cast<uint32_t>(std::count_if(s.mask.begin(), s.mask.end(), [](int8_t m) { return m; }));
  std::string out = code.warp_word();
  out += (s.count == width ? " " : "s ") + std::to_string(s.first / width);
  if (s.count != width) out += " to " + std::to_string((s.first + s.count) / width - 1);
  if (!s.full) out += " (" + std::to_string(on) + " threads)";
  return out;
}

}  // namespace triton_runner::simt
