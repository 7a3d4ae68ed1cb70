// Implements CopyWatch (copies.h): finds the registers that hold copies of one element, compares them while
// the launch runs, and puts one value in all of them if asked.
#include <triton_runner/probe/copies.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include <triton_runner/num/types.h>

#include "paths.h"
#include "ptx/registers_ptx.h"

namespace triton_runner::probe {
namespace {

using ptx::Function;
using ptx::Instruction;

constexpr uint32_t kWarp = 32;

bool is_nan(num::Type type, uint64_t bits) {
  switch (type) {
    case num::Type::kF64:
      return (bits & ~(uint64_t{1} << 63)) > 0x7ff0000000000000;
    case num::Type::kF32:
    case num::Type::kTF32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case num::Type::kF16:
      return (bits & 0x7fff) > 0x7c00;
    case num::Type::kBF16:
      return (bits & 0x7fff) > 0x7f80;
    default:
      return false;
  }
}

uint64_t bits_of(num::Type type, const std::byte* at, uint32_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, width);
  return type == num::Type::kI1 ? bits & 1 : bits;
}

// Finds the write of what a register holds before instruction `before`: after the instruction that did, on the
// way without jumps; the place itself where there is none, or where the register comes later or is guarded.
exec::RegisterProbe written(const Function& f, const std::vector<bool>& targets, exec::RegisterProbe place,
                            const std::vector<uint32_t>& registers) {
  const uint32_t before = place.instruction + (place.after ? 1 : 0);
  for (uint32_t i = before; i-- > 0 && !targets[i + 1];) {
    const Instruction& in = f.body[i];
    if (is_control(in)) break;
    if (std::none_of(registers.begin(), registers.end(), [&](uint32_t r) { return writes(in, r); })) continue;
    if (in.guard >= 0 || in.does(ptx::Effect::kLater)) break;
    place.instruction = i, place.after = true;
    break;
  }
  return place;
}

// Registers of a part (their places in it) that have an element in common, in groups.
std::vector<std::vector<size_t>> groups_of(const Tap& tap, const std::vector<uint32_t>& registers) {
  std::vector<size_t> group(registers.size());
  std::iota(group.begin(), group.end(), size_t{0});
  std::map<int32_t, size_t> holder;  // of an element of block 0
  for (size_t k = 0; k < registers.size(); ++k)
    for (uint32_t t = 0; t < tap.threads; ++t) {
      const size_t first =
          holder.try_emplace(tap.elements[size_t{registers[k]} * tap.threads + t], group[k]).first->second;
      const size_t old = group[k];
      if (group[first] == old) continue;
      for (size_t& g : group)
        if (g == old) g = group[first];
    }
  std::map<size_t, std::vector<size_t>> by_group;
  for (size_t k = 0; k < registers.size(); ++k) by_group[group[k]].push_back(k);
  std::vector<std::vector<size_t>> out;
  for (auto& [g, members] : by_group) out.push_back(std::move(members));
  return out;
}

// Returns whether an element of these registers has several holders in a block.
bool has_copies(const Tap& tap, const std::vector<uint32_t>& registers) {
  std::vector<bool> held(static_cast<size_t>(tap.site.num_elements()));
  for (uint32_t r : registers)
    for (uint32_t t = 0; t < tap.threads; ++t) {
      auto seen = held[static_cast<size_t>(tap.elements[size_t{r} * tap.threads + t])];
      if (seen) return true;
      seen = true;
    }
  return false;
}

bool stores_to_shared(const Instruction& in) {
  return in.opcode == ptx::Opcode::kSt && (in.has(ptx::Mod::kShared) || in.has(ptx::Mod::kSharedCta)) &&
         !in.has(ptx::Mod::kAsync) && !in.has(ptx::Mod::kBulk) && in.operands.size() >= 2;
}

Site site_of_store(const Instruction& in, const Function& f, const ptx::Module& ptx) {
  Site site;
  site.kernel = f.name;
  site.level = "ptx";
  site.op = std::string(ptx.text().substr(in.offset, in.length));
  site.location = ptx.location(in.offset).str();
  for (const ptx::SourceLine* s = in.source; s; s = s->inlined_at) {
    set_place(site, *s);  // in the end that of the kernel: sums are of Triton's own library
    add_to_stack(site, *s);
  }
  return site;
}

}  // namespace

bool has_copies(const Tap& tap) {
  std::vector<uint32_t> all(tap.registers);
  std::iota(all.begin(), all.end(), 0u);
  return has_copies(tap, all);
}

CopyWatch::CopyWatch(const RegisterPlan& plan, const ptx::Module& ptx, std::string_view kernel, Unify unify)
    : unify_(unify), taps_(plan.taps) {
  for (const Tap& tap : taps_) sites_.push_back(tap.site);
  for (const Function* f : ptx.functions())
    if (!f->is_declaration) add_values(plan, *f);
  std::vector<bool> watched(taps_.size());
  for (const Part& part : parts_)
    if (part.kind == Kind::kValue) watched[part.number] = true;
  values_ = static_cast<size_t>(std::count(watched.begin(), watched.end(), true));
  if (const Function* f = ptx.find_function(kernel); f && !f->is_declaration) add_stores(*f, ptx);
}

void CopyWatch::add_values(const RegisterPlan& plan, const Function& f) {
  const std::vector<bool> targets = ptx::jump_targets(f);
  for (size_t i = 0; i < plan.probes.size(); ++i) {
    const exec::RegisterProbe& probe = plan.probes[i];
    if (probe.function != f.name) continue;
    const RegisterPlan::Part& part = plan.parts[i];
    if (part.kind != RegisterPlan::Part::kRead) {
      const bool enters = part.kind == RegisterPlan::Part::kLoopEnters;
      probes_.push_back(probe);
      parts_.push_back({enters ? Kind::kLoopEnters : Kind::kLoopTurns, part.tap, {}, {}, {}});
      continue;
    }
    const Tap& tap = plan.taps[part.tap];
    if (tap.per_thread) continue;
    for (const std::vector<size_t>& group : groups_of(tap, part.registers)) {
      Part mine{Kind::kValue, part.tap, {}, {}, {}};
      exec::RegisterProbe place{probe.function, probe.instruction, probe.after, {}};
      for (size_t k : group) {
        mine.registers.push_back(part.registers[k]);
        mine.offsets.push_back(part.offsets[k]);
        mine.widths.push_back(part.widths[k]);
        place.registers.push_back(probe.registers[k]);
      }
      if (!has_copies(tap, mine.registers)) continue;
      probes_.push_back(written(f, targets, place, place.registers));
      parts_.push_back(std::move(mine));
    }
  }
}

void CopyWatch::add_stores(const Function& f, const ptx::Module& ptx) {
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    const Instruction& in = f.body[i];
    if (!stores_to_shared(in) || in.operands[0].kind != ptx::OperandKind::kAddress ||
        in.operands[0].parts.size() != 1)
      continue;
    const ptx::Operand &to = in.operands[0], &base = to.parts[0], &value = in.operands[1];
    Part part{Kind::kStore, static_cast<uint32_t>(sites_.size()), {}, {}, {}};
    exec::RegisterProbe probe{std::string(f.name), i, false, {}};
    auto add = [&](uint32_t reg) {
      probe.registers.push_back(reg);
      part.widths.push_back(width_of(f, reg));
    };
    part.has_address = base.kind == ptx::OperandKind::kRegister;
    part.address = to.integer;
    if (part.has_address) add(base.reg);
    part.has_guard = in.guard >= 0;
    part.guard_negated = in.guard_negated;
    if (part.has_guard) add(static_cast<uint32_t>(in.guard));
    const size_t before = probe.registers.size();
    if (value.kind == ptx::OperandKind::kRegister) add(value.reg);
    for (const ptx::Operand& p : value.parts)
      if (value.kind == ptx::OperandKind::kVector && p.kind == ptx::OperandKind::kRegister) add(p.reg);
    if (probe.registers.size() == before) continue;
    sites_.push_back(site_of_store(in, f, ptx));
    probes_.push_back(std::move(probe));
    parts_.push_back(std::move(part));
    ++stores_;
  }
}

void CopyWatch::on_registers(const exec::RegisterEvent& event) {
  const Part& part = parts_[event.probe];
  std::lock_guard lock(mutex_);
  Program& program = programs_[event.program];
  if (part.kind == Kind::kValue) return read(event, program, part);
  if (part.kind == Kind::kStore) return store(event, program, part);
  std::vector<int64_t>& turns = program.turns[part.number];
  turns.resize(std::max<size_t>(turns.size(), size_t{event.block + 1} * kMostThreads), -1);
  for (uint32_t i = 0; i < event.count; ++i) {
    if (!event.on(i)) continue;
    int64_t& n = turns[event.block * kMostThreads + event.first + i];
    n = part.kind == Kind::kLoopEnters ? -1 : n + 1;
  }
}

// The finding to fill in, where this is the first of its value or store in the order of programs; else null.
DifferingCopies* CopyWatch::differing(uint32_t number, const exec::RegisterEvent& event,
                                      const Program& program) {
  auto [at, fresh] = found_.try_emplace(number);
  DifferingCopies& d = at->second;
  ++d.copies;
  const std::array<int64_t, 3>&a = event.program, &b = d.program;
  if (!fresh && std::array{a[2], a[1], a[0]} >= std::array{b[2], b[1], b[0]}) return nullptr;
  d.site = sites_[number];
  d.is_store = number >= taps_.size();
  d.program = event.program;
  d.block = event.block;
  d.order = program.reads;
  d.iterations.clear();
  d.bits = {};
  return &d;
}

void CopyWatch::read(const exec::RegisterEvent& event, Program& program, const Part& part) {
  const Tap& tap = taps_[part.number];
  const num::Type type = tap.site.type;
  const auto width = static_cast<uint32_t>(num::size_of(type));
  ++program.reads;
  ++stamp_;
  holders_.resize(std::max(holders_.size(), static_cast<size_t>(tap.site.num_elements())));
  std::vector<int64_t>* times = nullptr;  // executions, where nothing else tells the iteration
  if (tap.loops.empty() && tap.site.loops == 1) {
    times = &program.times[{part.number, part.registers[0]}];
    times->resize(size_t{tap.blocks} * kMostThreads, -1);
  }
  // Each copy: its element, thread, number in the part, bits, and where it is.
  auto each = [&](auto&& see) {
    for (uint32_t i = 0; i < event.count; ++i) {
      const uint32_t thread = event.first + i;
      if (!event.on(i) || thread < tap.first_thread || thread >= tap.first_thread + tap.threads) continue;
      for (size_t k = 0; k < part.registers.size(); ++k) {
        const size_t row = size_t{event.block} * tap.registers + part.registers[k];
        const auto element = static_cast<size_t>(tap.elements[row * tap.threads + thread - tap.first_thread]);
        see(element, thread, k, event.values[k] + size_t{part.widths[k]} * i + part.offsets[k]);
      }
    }
  };
  auto same = [&](uint64_t a, uint64_t b) { return a == b || (is_nan(type, a) && is_nan(type, b)); };
  bool differs = false;
  each([&](size_t element, uint32_t thread, size_t k, std::byte* at) {
    const uint32_t r = part.registers[k];
    if (times && k == 0) ++(*times)[event.block * kMostThreads + thread];
    const uint64_t bits = bits_of(type, at, width);
    Holder& h = holders_[element];
    if (h.stamp != stamp_) h = {stamp_, bits, thread, r, at};
    if (unify_ == Unify::kLast) h.at = at;
    if (same(h.bits, bits)) return;
    differs = true;
    DifferingCopies* d = differing(part.number, event, program);
    if (!d) return;
    d->element = static_cast<int64_t>(element);
    d->threads = {h.thread, thread};
    d->registers = {h.reg, r};
    d->bits = {h.bits, bits};
    for (uint32_t loop : tap.loops)
      d->iterations.push_back(
          program.turns[loop].empty() ? 0 : program.turns[loop][event.block * kMostThreads + thread]);
    if (times) d->iterations.push_back((*times)[event.block * kMostThreads + thread]);
  });
  if (!differs || unify_ == Unify::kNone) return;
  each([&](size_t element, uint32_t, size_t, std::byte* at) {
    const std::byte* from = holders_[element].at;
    if (!same(bits_of(type, from, width), bits_of(type, at, width))) std::memcpy(at, from, width);
  });
}

void CopyWatch::store(const exec::RegisterEvent& event, Program& program, const Part& part) {
  const size_t guard = part.has_address ? 1 : 0, data = guard + (part.has_guard ? 1 : 0);
  ++program.reads;
  std::array<std::pair<uint64_t, uint32_t>, kWarp> lanes;  // address, and place in the event
  for (uint32_t begin = 0; begin < event.count;) {
    const uint32_t end = std::min(event.count, (event.first + begin) / kWarp * kWarp + kWarp - event.first);
    size_t n = 0;
    for (uint32_t i = begin; i < end; ++i) {
      if (!event.on(i)) continue;
      if (part.has_guard && (event.values[guard][i] != std::byte{0}) == part.guard_negated) continue;
      uint64_t address = 0;
      if (part.has_address)
        std::memcpy(&address, event.values[0] + size_t{part.widths[0]} * i, part.widths[0]);
      lanes[n++] = {address, i};
    }
    begin = end;
    std::sort(lanes.begin(), lanes.begin() + static_cast<ptrdiff_t>(n));
    for (size_t a = 0, b = 0; a < n; a = b) {
      while (b < n && lanes[b].first == lanes[a].first) ++b;
      for (size_t k = data; k < part.widths.size(); ++k) {
        const size_t width = part.widths[k];
        auto at = [&](size_t lane) { return event.values[k] + width * lanes[lane].second; };
        for (size_t other = a + 1; other < b; ++other) {
          if (std::memcmp(at(a), at(other), width) == 0) continue;
          if (DifferingCopies* d = differing(part.number, event, program)) {
            d->element = static_cast<int64_t>(lanes[a].first) + part.address;
            d->threads = {event.first + lanes[a].second, event.first + lanes[other].second};
            std::memcpy(&d->bits[0], at(a), width);
            std::memcpy(&d->bits[1], at(other), width);
          }
        }
        const size_t from = unify_ == Unify::kLast ? b - 1 : a;
        for (size_t other = a; unify_ != Unify::kNone && other < b; ++other)
          std::memmove(at(other), at(from), width);
      }
    }
  }
}

std::vector<DifferingCopies> CopyWatch::take() {
  std::lock_guard lock(mutex_);
  std::vector<DifferingCopies> out;
  for (auto& [number, d] : found_) out.push_back(std::move(d));
  std::sort(out.begin(), out.end(), [](const DifferingCopies& a, const DifferingCopies& b) {
    return std::tuple(a.program[2], a.program[1], a.program[0], a.order) <
           std::tuple(b.program[2], b.program[1], b.program[0], b.order);
  });
  found_.clear();
  programs_.clear();
  return out;
}

}  // namespace triton_runner::probe
