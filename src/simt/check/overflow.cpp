// Checks overflow: integers that do not fit their register, where an address, a guard or a branch depends on
// them (machine/exact.h). Of most registers and places in shared memory nothing is missing; the others stand
// in maps. Of what lies in global memory nothing is known to be missing.
#include <algorithm>
#include <array>

#include <triton_runner/num/types.h>

#include "check/state.h"
#include "state/operand_data.h"

namespace triton_runner::simt {

using machine::Integer;

namespace {

constexpr size_t kOrigins = 4096;  // of a cluster
constexpr uint64_t kNowhere = UINT64_MAX;
constexpr uint64_t kOfThread = uint64_t{1} << 62;
constexpr uint32_t kWidest = 16;  // bytes of a number in memory

uint64_t bits_at(const Exec& x, uint32_t place, uint32_t width, uint32_t lane) {
  const uint32_t bytes = (width + 7) / 8;
  uint64_t bits = 0;
  const std::byte* at = x.regs + place + size_t{bytes} * (x.first + lane);
  std::copy(at, at + bytes, reinterpret_cast<std::byte*>(&bits));
  return width == 1 ? bits & 1 : bits;
}

}  // namespace

Integer Checks::integer(const Exec& x, State& s, uint32_t place, uint32_t width, uint32_t lane) const {
  Integer out{bits_at(x, place, width, lane), width, 0};
  if (const Missing* missing = s.missing_of(x, place, lane))
    out.wraps = missing->wraps, out.surplus = missing->surplus;
  return out;
}

bool Checks::exact_where(Exec& x, const Instr& in, uint32_t place, const char* what) {
  State& s = of(x);
  for (uint32_t i : x.lanes()) {
    const Missing* missing = s.missing_of(x, place, i);
    if (!missing || missing->wraps == 0) continue;
    std::vector<std::string> notes;
    std::string path;
    for (const Origin* o = &s.origins[missing->origin];; o = &s.origins[o->from]) {
      if (!o->what.empty()) {
        notes.push_back("it overflowed in " + place_text(*launch_.code, *o->in) + ", thread " +
                        std::to_string(o->thread) + ": " + o->what);
        break;
      }
      path = place_text(*launch_.code, *o->in) + (path.empty() ? "" : ", ") + path;
    }
    if (!path.empty()) notes.push_back("it came here through " + path);
    x.trap(in, exec::TrapKind::kOverflow, std::string(what) + " depends on an integer that overflowed", i, 0,
           0, notes);
    return false;
  }
  return true;
}

const Exact& Checks::exact_of(const Instr& in) {
  const auto [found, is_new] = exact_.try_emplace(in.source);
  Exact& e = found->second;
  if (!is_new) return e;
  const Listing& listing = *launch_.code->listing;
  e = listing.exact(*in.source);
  if (const auto line = e.rule ? listing.program_location(*in.source) : std::nullopt;
      line && meant_.at(*line))
    e.rule = nullptr;
  return e;
}

bool Checks::guarded(Exec& x, const Instr& in) {
  if (!overflow_ || of(x).missing.empty() || !in.source ||
      (in.source->addresses.empty() && !exact_of(in).jumps))
    return true;
  return exact_where(x, in, in.guard, exact_of(in).jumps ? "the branch" : "the mask");
}

void Checks::overflow_before(Exec& x, const Instr& in) {
  integers_.clear();
  places_.clear();
  if (!in.source) return;
  State& s = of(x);
  if (!s.missing.empty())
    for (const uint32_t place : in.source->addresses)
      if (!exact_where(x, in, place, "the address")) return;
  const Exact& e = exact_of(in);
  if (e.moves != Exact::Moves::kNothing && !e.rule) return moves_before(x, in, e);
  const bool may_lack = e.then || machine::makes(e.rule) || e.surplus != std::array<__int128, 3>{};
  if (!e.rule || in.a == kNoRegister || in.d == kNoRegister || (s.missing.empty() && !may_lack)) return;
  const uint32_t places[] = {in.a, in.b, in.c};
  integers_.resize(size_t{x.count} * 3);
  for (uint32_t i : x.lanes())
    for (uint32_t k = 0; k < 3; k++)
      if (places[k] != kNoRegister && e.widths[k]) {
        Integer& operand = integers_[size_t{i} * 3 + k] = integer(x, s, places[k], e.widths[k], i);
        if (e.surplus[k] != 0) operand.surplus = e.surplus[k];
      }
}

static uint64_t shared_place(uint32_t rank, uint32_t offset) { return uint64_t{rank} << 32 | offset; }

void Checks::moves_before(Exec& x, const Instr& in, const Exact& e) {
  const State& s = of(x);
  if ((s.missing.empty() && s.stored.empty()) || in.a == kNoRegister) return;
  places_.assign(x.count, kNowhere);
  for (uint32_t i : x.lanes()) {
    if (e.moves == Exact::Moves::kShuffle) {
      places_[i] = shuffle_source(x, in, i);
      continue;
    }
    const Access& a = *static_cast<const Access*>(in.data);
    const uint64_t address = accessed_address(x, in, a, i);
    if (a.space == Space::kLocal || a.space == Space::kParam) {  // of the thread: what a call passes on
      places_[i] =
          kOfThread | uint64_t{x.cta->rank} << 48 | uint64_t{x.first + i} << 32 | (address & UINT32_MAX);
      continue;
    }
    if (a.space != Space::kShared && (a.space != Space::kGeneric || (address & kWindowMask) != kSharedWindow))
      continue;
    if (const Cta* owner = x.cta->cluster->cta_of(static_cast<uint32_t>(address)))
      places_[i] = shared_place(owner->rank, static_cast<uint32_t>(address) & kOffsetMask);
  }
}

void Checks::put_missing(const Exec& x, State& s, uint32_t place, uint32_t lane, const Missing* missing) {
  const std::tuple at{x.cta->rank, place, x.first + lane};
  if (missing)
    s.missing.insert_or_assign(at, *missing);
  else
    s.missing.erase(at);
}

void Checks::put_missing(const Exec& x, State& s, uint32_t place,
                         const std::vector<std::optional<Missing>>& by_lane) {
  for (uint32_t i : x.lanes()) put_missing(x, s, place, i, by_lane[i] ? &*by_lane[i] : nullptr);
}

void Checks::forget(const Exec& x, const Cta& owner, uint32_t offset, uint32_t bytes) {
  auto& stored = of(x).stored;
  if (stored.empty()) return;
  const uint64_t begin = shared_place(owner.rank, offset), end = begin + bytes;
  for (auto it = stored.lower_bound(begin - std::min<uint64_t>(offset, kWidest));
       it != stored.end() && it->first < end;)
    it = it->first + it->second.bytes > begin ? stored.erase(it) : std::next(it);
}

void Checks::moves_after(Exec& x, const Instr& in, const Exact& e) {
  State& s = of(x);
  if (x.pc == &in) return;  // it waits for other threads of its warp
  if (e.moves == Exact::Moves::kShuffle) {
    std::vector<std::optional<Missing>> moved(x.count);
    for (uint32_t i = 0; i < x.count; i++)
      if (const Missing* missing =
              x.on(i) ? s.missing_of(x, in.a, static_cast<uint32_t>(places_[i])) : nullptr)
        moved[i] = *missing;
    if (in.d != kNoRegister) put_missing(x, s, in.d, moved);
    return;
  }
  const Access& a = *static_cast<const Access*>(in.data);
  const bool whole = a.reg_bytes == a.word_bytes, stores = e.moves == Exact::Moves::kStore;
  for (uint32_t i : x.lanes())
    for (uint32_t k = 0; k < a.words; k++) {
      if (a.regs[k] == kNoRegister) continue;
      const uint64_t at = places_[i] == kNowhere ? kNowhere : places_[i] + uint64_t{k} * a.word_bytes;
      if (!stores) {
        const auto found = s.stored.find(at);
        const bool same = whole && found != s.stored.end() && found->second.bytes == a.word_bytes;
        put_missing(x, s, a.regs[k], i, same ? &found->second.missing : nullptr);
      } else if (const Missing* missing = s.missing_of(x, a.regs[k], i); whole && at != kNowhere && missing) {
        s.stored.insert_or_assign(at, State::Stored{*missing, a.word_bytes});
      } else {
        s.stored.erase(at);
      }
    }
}

// Computes what the rule makes of the numbers of a warp's members.
void Checks::combines_after(Exec& x, const Instr& in, const Exact& e) {
  State& s = of(x);
  if (x.pc == &in) return;
  const uint32_t* members = x.reg<uint32_t>(in.b);
  std::vector<std::optional<Missing>> results(x.count);
  for (uint32_t i : x.lanes()) {
    std::optional<Integer> all;
    std::optional<uint32_t> from;
    for (uint32_t other = i & ~31u; other < (i | 31u) + 1 && other < x.count; other++) {
      if (!x.on(other) || !(members[i] >> (other & 31) & 1)) continue;
      const Integer& next = integers_[size_t{other} * 3];
      all = all ? machine::combined(e.rule, *all, next) : next;
      if (const Missing* missing = from ? nullptr : s.missing_of(x, in.a, other)) from = missing->origin;
    }
    if (all && all->wraps != 0)
      results[i] = Missing{
          all->wraps, 0,
          origin_of(s, in, x.first + i, from, "the numbers of a warp give " + machine::overflow_text(*all))};
  }
  put_missing(x, s, in.d, results);
}

void Checks::overflow_after(Exec& x, const Instr& in) {
  State& s = of(x);
  if (!places_.empty()) return moves_after(x, in, exact_of(in));
  if (!integers_.empty() && exact_of(in).moves == Exact::Moves::kCombine)
    return combines_after(x, in, exact_of(in));
  if (integers_.empty()) {
    if (s.missing.empty() || in.d == kNoRegister) return;
    for (uint32_t i : x.lanes()) s.missing.erase({x.cta->rank, in.d, x.first + i});
    return;
  }
  const Exact& e = exact_of(in);
  const size_t arity = in.c != kNoRegister ? 3 : in.b != kNoRegister ? 2 : 1;
  for (uint32_t i : x.lanes()) {
    const std::span<const Integer> of(&integers_[size_t{i} * 3], e.then ? 3 : arity);
    Integer out{bits_at(x, in.d, e.width, i), e.width};
    if (e.then) {  // the product by itself, of which the sum is
      const Integer product = machine::with_rule(e.rule, {of.first(2), {out.bits - of[2].bits, e.width}});
      out = machine::with_rule(e.then, {std::array{product, of[2]}, out});
    } else {
      out = machine::with_rule(e.rule, {of, out, e.predicate});
    }
    put_result(x, s, in, i, out, of);
  }
}

void Checks::put_result(const Exec& x, State& s, const Instr& in, uint32_t lane, const Integer& out,
                        std::span<const Integer> of) {
  if (out.wraps == 0 && out.surplus == 0) {
    if (!s.missing.empty()) s.missing.erase({x.cta->rank, in.d, x.first + lane});
    return;
  }
  Missing missing{out.wraps, out.surplus};
  if (out.wraps != 0) {
    const uint32_t places[] = {in.a, in.b, in.c};
    std::optional<uint32_t> from;
    std::string what;
    for (size_t k = 0; k < of.size(); k++) {
      what += (k ? " and " : "") + std::to_string(of[k].as_signed());
      const Missing* found = from ? nullptr : s.missing_of(x, places[k], lane);
      if (found && found->wraps != 0) from = found->origin;
    }
    missing.origin = origin_of(s, in, x.first + lane, from, what + " give " + machine::overflow_text(out));
  }
  put_missing(x, s, in.d, lane, &missing);
}

uint32_t Checks::origin_of(State& s, const Instr& in, uint32_t thread, std::optional<uint32_t> from,
                           const std::string& what) {
  if (s.origins.size() >= kOrigins) return static_cast<uint32_t>(s.origins.size() - 1);
  // The threads of an instruction share what was computed from one origin.
  if (from && !s.origins.empty() && s.origins.back().in == &in && s.origins.back().what.empty())
    return static_cast<uint32_t>(s.origins.size() - 1);
  s.origins.push_back({&in, from ? "" : what, from.value_or(0), thread});
  return static_cast<uint32_t>(s.origins.size() - 1);
}

}  // namespace triton_runner::simt
