// The path that runs is, of those that are ready, the one with the largest Path::turn; of those that wait, the one
// with the smallest Path::since.
#include "turns.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "divergence.h"

namespace triton_runner::simt {
namespace {

bool runs_before(const Path& a, const Path& b) {
  return std::tuple(b.penalty, a.runs, a.turn, b.pc) > std::tuple(a.penalty, b.runs, b.turn, a.pc);
}

// The threads that the path waits for in BSYNC, of one warp; all of them elsewhere.
uint32_t missing(const Cta& cta, const Path& path) {
  const uint32_t warp = path.first / 32, own = lanes_of(path, warp);
  if (path.state != PathState::kWarpSync || path.members == kNoRegister || path.count != 32) return ~own;
  const auto* members = reinterpret_cast<const uint32_t*>(cta.regs + path.members);
  uint32_t here = 0;
  for (const auto& other : cta.paths)
    if (other->state == PathState::kWarpSync && other->pc == path.pc) here |= lanes_of(*other, warp);
  return members[path.first + static_cast<uint32_t>(std::countr_zero(own))] & alive_of(cta, warp) & ~here;
}

// A path of the threads of `lanes`, a bit a lane, of the warp that begins at thread `first` of x.
Path& path_of(Exec& x, uint32_t first, uint32_t lanes, const Instr* pc) {
  std::vector<int8_t> mask(x.count);
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    mask[first + static_cast<uint32_t>(std::countr_zero(rest))] = -1;
  Path& path = add_path(x, mask.data(), pc);
  path.turn = ++x.cta->turns;
  return path;
}

}  // namespace

void part_warps(Exec& x, const Instr* target) {
  const int8_t* own = x.path_mask();
  const Instr* next = x.pc;
  std::vector<int8_t> jump(x.count), gone(x.mask, x.mask + x.count);
  bool any = false;
  for (uint32_t w = 0; w < x.count; w += 32) {
    const uint32_t all = mask_bits(own, w), on = warp_bits(x, w), off = all & ~on;
    if (on == 0 || off == 0) {
      std::copy_n(x.mask + w, 32, &jump[w]);
      any = any || on != 0;
      continue;
    }
    std::fill_n(&gone[w], 32, 0);
    for (uint32_t rest = all; rest; rest &= rest - 1)
      gone[w + static_cast<uint32_t>(std::countr_zero(rest))] = -1;
    if (std::popcount(on) < std::popcount(off)) {
      path_of(x, w, off, next);
      path_of(x, w, on, target);
    } else {
      path_of(x, w, on, target);
      path_of(x, w, off, next);
    }
  }
  if (any) add_path(x, jump.data(), target);
  x.mask = gone.data();
  keep_others(x);
  x.mask = nullptr;
}

void yield_turn(Exec& x, const Operands&) {
  if (x.count != 32 || !x.mask || !is_parted(*x.cta, *x.path)) return;
  x.path->state = PathState::kYield;
  x.path->since = ++x.cta->turns;
  x.leave();
}

void give_turns(Cta& cta, bool (*is_ready)(const Cta&, const Path&)) {
  const uint32_t warps = cta.code->threads / 32;
  std::vector<Path*> first(warps);
  for (auto& path : cta.paths) {
    path->has_turn = false;
    if (!is_ready(cta, *path)) continue;
    for (uint32_t w = path->first / 32; w < (path->first + path->count) / 32; ++w)
      if (lanes_of(*path, w) && (!first[w] || runs_before(*path, *first[w]))) first[w] = path.get();
  }
  for (auto& path : cta.paths) {  // where nobody of a warp is ready: who waits longest
    const bool waits = path->state == PathState::kYield || path->state == PathState::kWarpSync;
    Path*& best = first[path->first / 32];
    if (!waits || path->frozen || path->count != 32 || (best && is_ready(cta, *best))) continue;
    if (path->state == PathState::kWarpSync && (missing(cta, *path) & ~yielded(cta, path->first)) != 0)
      continue;
    if (!best || path->since < best->since) best = path.get();
  }
  for (auto& path : cta.paths) {
    bool all = false;
    for (uint32_t w = path->first / 32; w < (path->first + path->count) / 32; ++w)
      if (lanes_of(*path, w)) {
        all = first[w] == path.get();
        if (!all) break;
      }
    path->has_turn = all;
  }
}

}  // namespace triton_runner::simt
