// Runs a fused instruction in the shortest way: a tile of one dimension, one step, whose loads and store are
// whole runs of memory, as in all programs of a grid but the last. Nothing is laid out, nothing copied. Where
// a program is not so, fused_line.cpp does it.
#include <algorithm>

#include "fuse/fused.h"
#include "ops/access.h"
#include "task.h"

namespace triton_runner::tile {
namespace {

using From = Fused::Register::From;

// The tile's memory, all of it readable, or writable; null where it is anything else.
const exec::Allocation* whole_run(Task& t, const Fused& f, const Fused::Access& a, bool write,
                                  uint64_t* address) {
  const Value& p = t.value(a.pointers);
  const int64_t n = f.tile->n, size = f.registers[a.reg].size;
  if (p.form != Form::kAffine || p.stride[0] != size || (p.base & (size - 1))) return nullptr;
  if (a.mask != kNoSlot) {
    const Value& m = t.value(static_cast<Slot>(a.mask));
    if (m.form != Form::kUniform || !m.bits) return nullptr;  // a box that holds for all is made uniform
  }
  *address = static_cast<uint64_t>(p.base);
  const exec::Allocation* in = t.worker->memory.find(*address, static_cast<uint64_t>(n * size));
  return in && (in->writable || !write) ? in : nullptr;
}

}  // namespace

bool only_reduces(const Fused& f) {
  return !f.store && !f.whole_tiles && f.loads.size() == 1 && f.steps.size() == 1 && f.steps[0].reduce &&
         !f.steps[0].part && f.steps[0].links.empty() && f.steps[0].in[0] == f.loads[0].reg &&
         f.row == f.tile->n;
}

const Instr* run_fused_row(Task& t, const Instr& in) {
  const auto& f = in.as<Fused>();
  const Fused::Access& load = f.loads[0];
  uint64_t row, result = 0;
  if (!whole_run(t, f, load, false, &row)) return run_fused_line(t, in);
  f.steps[0].reduce(&result, reinterpret_cast<const void*>(row), 1, f.tile->n, 1);
  t.set_uniform_from(in.result(), &result);
  return next(in);
}

bool fits_whole(const Fused& f) {
  if (!f.store || f.whole_tiles || f.reduces || f.steps.size() != 1 || f.loads.empty()) return false;
  const Fused::Step& s = f.steps[0];
  if (s.out != f.store->reg) return false;
  for (const Fused::Register& reg : f.registers) {
    if (reg.from == From::kOperand && !reg.single) return false;
    if (f.tile->n * reg.size >= kForeseenBytes) return false;  // longer ones are fetched ahead
  }
  return f.registers.size() <= Fused::kMostOfWhole;
}

const Instr* run_fused_whole(Task& t, const Instr& in) {
  const auto& f = in.as<Fused>();
  const Fused::Step& s = f.steps[0];
  const int64_t n = f.tile->n;
  std::byte* at[Fused::kMostOfWhole];
  uint64_t ones[Fused::kMostOfWhole];
  uint64_t out;
  const auto out_bytes = static_cast<uint64_t>(n * f.registers[s.out].size);
  const exec::Allocation* array = whole_run(t, f, *f.store, true, &out);
  if (!array || (out_bytes >= static_cast<uint64_t>(kFarRowBytes) && array->bytes >= kFarArrayBytes))
    return run_fused_line(t, in);
  at[s.out] = reinterpret_cast<std::byte*>(out);
  for (const Fused::Access& load : f.loads) {
    uint64_t address;
    if (!whole_run(t, f, load, false, &address)) return run_fused_line(t, in);
    const auto bytes = static_cast<uint64_t>(n * f.registers[load.reg].size);
    if (address < out + out_bytes && out < address + bytes) return run_fused_line(t, in);
    at[load.reg] = reinterpret_cast<std::byte*>(address);
  }
  for (size_t r = 0; r < f.registers.size(); ++r) {
    if (f.registers[r].from != From::kOperand) continue;
    const Value& v = t.value(in.operand(f.registers[r].index));
    if (v.form != Form::kUniform) return run_fused_line(t, in);
    ones[r] = static_cast<uint64_t>(v.bits);
    at[r] = reinterpret_cast<std::byte*>(&ones[r]);
  }
  t.worker->launch->made_progress();
  auto is_one = [&](uint16_t r) { return f.registers[r].single; };
  if (s.loop) {
    (s.by_one && is_one(s.in[1]) ? s.by_one : s.loop)(at[s.out], at[s.in[0]], at[s.in[1]], at[s.in[2]], n);
  } else {
    num::Link links[num::kMostLinks];
    num::map_links(reinterpret_cast<float*>(at[s.out]), reinterpret_cast<const float*>(at[s.in[0]]), links,
                   links_of(s, at, is_one, links), n);
  }
  return next(in);
}

}  // namespace triton_runner::tile
