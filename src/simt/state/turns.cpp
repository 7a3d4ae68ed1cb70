// Implements turns.h. Of the paths that are ready the one with the largest Path::turn runs; of those that
// wait, the one with the smallest Path::since.
#include "state/turns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "state/divergence.h"

namespace triton_runner::simt {
namespace {

constexpr uint32_t kWidth = 32;  // of NVIDIA's warps, whose turns these are

bool runs_before(const Path& a, const Path& b) {
  return std::tuple(b.penalty, a.runs, a.turn, b.pc) > std::tuple(a.penalty, b.runs, b.turn, a.pc);
}

// The threads that the path waits for in BSYNC, of one warp; all of them elsewhere.
uint32_t missing(const Cta& cta, const Path& path) {
  const uint32_t warp = path.first / kWidth;
  const auto own = static_cast<uint32_t>(lanes_of(path, warp, kWidth));
  if (path.state != PathState::kWarpSync || path.members == kNoRegister || path.count != kWidth) return ~own;
  const auto* members = reinterpret_cast<const uint32_t*>(cta.regs + path.members);
  members += warp * kWidth;
  const uint32_t wanted = members[std::countr_zero(own)];
  uint32_t here = 0;
  for (const auto& other : cta.paths)
    if (other->state == PathState::kWarpSync && other->pc == path.pc)
      here |= static_cast<uint32_t>(lanes_of(*other, warp, kWidth));
  for (uint32_t rest = here; rest; rest &= rest - 1)  // of other regions, where a function calls itself
    if (const int i = std::countr_zero(rest); members[i] != wanted) here &= ~(1u << i);
  return wanted & static_cast<uint32_t>(alive_of(cta, warp)) & ~here;
}

// In a mask, the threads of the warp that begins at `first`: those of `lanes`, a bit each.
void put_lanes(std::vector<int8_t>& mask, uint32_t first, uint32_t lanes) {
  for (uint32_t i = 0; i < kWidth; ++i) mask[first + i] = lanes >> i & 1 ? -1 : 0;
}

void add_turn(Exec& x, uint32_t first, uint32_t lanes, const Instr* pc) {
  std::vector<int8_t> mask(x.count);
  put_lanes(mask, first, lanes);
  add_path(x, mask.data(), pc).turn = ++x.cta->turns;
}

}  // namespace

void part_warps(Exec& x, const Instr* target) {
  const int8_t* own = x.path_mask();
  const auto parts = [&](uint32_t w) {
    const uint32_t on = warp_bits(x, w);
    return on != 0 && on != mask_bits(own, w);
  };
  bool any = false;
  for (uint32_t w = 0; w < x.count && !any; w += kWidth) any = parts(w);
  if (!any) return split(x, target);
  const Instr* next = x.pc;
  std::vector<int8_t> jump(x.count), gone(x.count);
  bool jumps = false;  // some warps as a whole
  for (uint32_t w = 0; w < x.count; w += kWidth) {
    const uint32_t all = mask_bits(own, w), on = warp_bits(x, w), off = all & ~on;
    if (!parts(w)) {
      put_lanes(jump, w, on);
      put_lanes(gone, w, on);
      jumps |= on != 0;
      continue;
    }
    put_lanes(gone, w, all);
    const bool jumps_first = std::popcount(on) < std::popcount(off);
    add_turn(x, w, jumps_first ? off : on, jumps_first ? next : target);
    add_turn(x, w, jumps_first ? on : off, jumps_first ? target : next);
  }
  if (jumps) add_path(x, jump.data(), target);
  x.mask = gone.data();
  keep_others(x);
  x.mask = nullptr;
}

void yield_turn(Exec& x, const Operands&) {
  if (x.count != kWidth || !x.mask || !is_parted(*x.cta, *x.path)) return;
  x.path->state = PathState::kYield;
  x.path->since = ++x.cta->turns;
  x.leave();
}

void give_turns(Cta& cta, bool (*is_ready)(const Cta&, const Path&)) {
  std::array<Path*, 32> first{};  // by warp: a block has 1,024 threads at most
  for (auto& path : cta.paths) {
    path->has_turn = false;
    if (!is_ready(cta, *path)) continue;
    for (uint32_t w = path->first / kWidth; w < (path->first + path->count) / kWidth; ++w)
      if (lanes_of(*path, w, kWidth) && (!first[w] || runs_before(*path, *first[w]))) first[w] = path.get();
  }
  for (auto& path : cta.paths) {  // where nobody of a warp is ready: who waits longest
    const bool waits = path->state == PathState::kYield || path->state == PathState::kWarpSync;
    Path*& best = first[path->first / kWidth];
    if (!waits || path->frozen || path->count != kWidth || (best && is_ready(cta, *best))) continue;
    // Only BSYNC does not wait for threads that have given their turn away.
    const uint64_t away = path->members == kNoRegister ? 0 : yielded(cta, path->first);
    if (path->state == PathState::kWarpSync && (missing(cta, *path) & ~away) != 0) continue;
    if (!best || path->since < best->since) best = path.get();
  }
  for (auto& path : cta.paths) {
    bool all = false;
    for (uint32_t w = path->first / kWidth; w < (path->first + path->count) / kWidth; ++w)
      if (lanes_of(*path, w, kWidth)) {
        all = first[w] == path.get();
        if (!all) break;
      }
    path->has_turn = all;
  }
}

}  // namespace triton_runner::simt
