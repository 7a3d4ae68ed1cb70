// Checks uniform registers of a parted warp. A warp has one uniform datapath: where two groups of its threads
// write the same register, the value that either reads afterwards depends on which of them ran last, and that
// is the hardware's choice (turns.h).
//
//   loop: UIADD3 UR4, UR4, -0x1     lanes 0 to 4 come here first, lanes 5 to 31 when those have left the loop
//
// While a warp has parted, each lane's own value is kept beside the register: the one that it would have if its path alone had
// written it. A read of another value is reported, as a warning: the PTX has no such register, so the program is not at fault.
// Once the groups have met again, what a single one of them wrote is no choice any more.
#include <cstring>

#include "check/state.h"

namespace triton_runner::simt {
namespace {

uint32_t value_at(const Exec& x, uint32_t place, uint32_t bytes, uint32_t lane) {
  return bytes == 4 ? x.reg<uint32_t>(place)[lane] : static_cast<uint32_t>(x.reg<int8_t>(place)[lane] != 0);
}

const Part* part_of(const Exec& x, const Instr& in) {
  return x.code().warp_turns && in.source ? in.source->part : nullptr;
}

}  // namespace

// The registers of a path whose warps are whole are its own.
bool Checks::asks_accesses_alone(const Exec& x) const {
  if (nan_ || inf_ || zero_division_ || overflow_) return false;
  return !race_ || !x.code().warp_turns || (!x.mask && states_.at(x.cta->cluster)->uniform.empty());
}

// An instruction writes its registers by several of the engine's, so that their values are read when the next one comes.
void Checks::uniform_settle(const Exec& x) {
  State& s = of(x);
  for (const UniformWrite& w : uniform_written_) {
    auto found = s.uniform.find({w.rank, w.place, w.warp});
    if (found == s.uniform.end()) continue;
    const std::byte* at = w.regs + w.place + size_t{w.bytes} * 32 * w.warp;
    for (uint32_t i = 0; i < 32; ++i) {
      if (!(w.lanes >> i & 1)) continue;
      uint32_t value = 0;
      std::memcpy(&value, at + size_t{w.bytes} * i, w.bytes);
      found->second.own[i] = w.bytes == 4 ? value : value != 0;
    }
  }
  uniform_written_.clear();
}

void Checks::uniform_before(Exec& x, const Instr& in) {
  const Part* part = part_of(x, in);
  if (!part) return;
  if (part != uniform_part_ || x.path != uniform_path_) uniform_settle(x);
  uniform_part_ = part;
  uniform_path_ = x.path;
  State& s = of(x);
  if (!s.uniform.empty())
    for (const auto& [place, bytes] : part->uniform_reads)
      for (uint32_t i : x.lanes()) {
        auto found = s.uniform.find({x.cta->rank, place, (x.first + i) / 32});
        if (found == s.uniform.end() || found->second.own[i % 32] == value_at(x, place, bytes, i)) continue;
        const bool wrote_itself = found->second.writers >> (i % 32) & 1;
        if (!found->second.several && (wrote_itself || !is_parted(*x.cta, *x.path))) continue;
        x.warn(in, exec::Race::kOrder, "assembler",
               "it reads a uniform register that another group of the warp's threads has written: the "
               "machine code leaves open which group runs first",
               i, 0, 0, {"the other access is " + place_text(x.code(), *found->second.writer)});
        return;
      }
  if (!x.mask || !is_parted(*x.cta, *x.path)) return;
  for (const auto& [place, bytes] : part->uniform_writes)
    for (uint32_t w = 0; w < x.count; w += 32) {
      if (warp_bits(x, w) == 0) continue;
      auto [entry, is_new] = s.uniform.try_emplace({x.cta->rank, place, (x.first + w) / 32});
      for (uint32_t i = 0; is_new && i < 32; ++i) entry->second.own[i] = value_at(x, place, bytes, w + i);
    }
}

void Checks::uniform_after(const Exec& x, const Instr& in) {
  const Part* part = part_of(x, in);
  State& s = of(x);
  if (!part || s.uniform.empty() || !x.path) return;
  const bool parted = x.mask && is_parted(*x.cta, *x.path);
  for (const auto& [place, bytes] : part->uniform_writes)
    for (uint32_t w = 0; w < x.count; w += 32) {
      const uint32_t on = warp_bits(x, w), warp = (x.first + w) / 32;
      auto found = s.uniform.find({x.cta->rank, place, warp});
      if (found == s.uniform.end() || on == 0) continue;
      if (!parted) {
        s.uniform.erase(found);
        continue;
      }
      State::Uniform& u = found->second;
      u.writer = &in;
      u.several |= u.writers != 0 && (u.writers & on) == 0;
      u.writers |= on;
      uniform_written_.push_back({x.cta->rank, place, bytes, warp, on, x.regs});
    }
}

}  // namespace triton_runner::simt
