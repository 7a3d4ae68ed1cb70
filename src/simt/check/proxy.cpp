// Checks products and copies that go on by themselves, and the fences between their accesses and those of
// threads.
//
// While an operation is under way its cells name its record. When it has ended its accesses count as made by
// the warp that waited for it, or by the tensor core, of which barriers tell. What a thread has written is known to
// the async proxy (wgmma, tcgen05, bulk copies) where a fence.proxy.async comes after the write and before the
// operation, on any way that leads from one to the other. See PTX ISA 8.2.
#include <triton_runner/base/text.h>

#include "check/state.h"
#include "state/tensor_memory.h"

namespace triton_runner::simt {

std::string Checks::Place::text() const {
  if (!tensor) return "shared address " + base::hex(address);
  return "lane " + std::to_string(address % kTensorLanes) + " of column " +
         std::to_string(address / kTensorLanes) + " of tensor memory";
}

bool Checks::fenced(Exec& x, State& s, const Operands& in, uint32_t lane, const Cell& cell,
                    const machine::Agent& agent, bool write, Place where) {
  const Record& other = s.records[cell.changer];
  if (!cell.changer || !s.is_warp(other.agent) || agent.is_fenced_after(other)) return true;
  x.trap(in, exec::Race::kFence,
         std::string(write ? "it writes " : "it reads ") + where.text() +
             " through the async proxy, which thread " + std::to_string(s.records.at(cell.changer).thread) +
             " wrote as threads do: no fence.proxy.async stands between the two",
         lane, 0, 0, {"the other access is " + place_text(*launch_.code, *other.in)});
  return false;
}

void Checks::proxy_fence(Exec& x) {
  State& s = of(x);
  for (uint32_t w = 0; w < x.count; w += 32)
    if (warp_bits(x, w)) {
      machine::Agent& warp = s.agent(*x.cta, x.first + w);
      warp.fence();
      s.time = std::max(s.time, warp.time);
    }
}

bool Checks::issue(Exec& x, const Operands& in, uint32_t lane, UnderWay& op) {
  if (!race_) return true;
  State& s = of(x);
  const uint32_t thread = x.first + lane;
  machine::Agent& agent = s.agent(*x.cta, thread);
  op.agent = agent.id;
  op.record = s.records.add({{agent.id, agent.time, machine::Act::kRead}, thread, &in});
  const uint32_t writes = s.records.add({{agent.id, agent.time, machine::Act::kWrite}, thread, &in});
  s.release(agent, op.known);
  bool ok = true;
  for (const Range& r : op.ranges)
    each_cell(s, r, [&](Cell& cell, Place where) {
      Cell probe = cell;
      ok = ok && touch(x, s, in, lane, probe, r.write ? writes : op.record, r.write, where) &&
           (r.tensor || r.write || fenced(x, s, in, lane, cell, agent, r.write, where));
      if (ok) (r.write ? cell.copy_in : cell.copy_out) = op.record;
    });
  return ok;
}

void Checks::undefined(Exec& x, const Operands& in, uint32_t lane, Place where) {
  x.trap(in, exec::TrapKind::kUninitialized, "it reads " + where.text() + ", where nothing was stored", lane);
}

void Checks::finish(Exec& x, const Operands& in, const UnderWay& op, bool waited) {
  State& s = of(x);
  for (const Range& r : op.ranges) {
    if (!uninit_ || !(r.tensor ? r.needs : !r.write)) continue;
    std::optional<Place> first;
    each_cell(s, r, [&](const Cell& cell, Place where) {
      if (!cell.defined && !first) first = where;
    });
    if (first) return undefined(x, in, kNoRegister, *first);
  }
  for (const Range& r : op.ranges)
    if (uninit_ && r.write) each_cell(s, r, [](Cell& cell, Place) { cell.defined = true; });
  if (op.record == 0) return;
  machine::Agent& agent = waited ? s.by_id(op.agent) : s.tensor_core();
  // Who waits for the tensor core also knows what came before the issue, as the copies of its operands.
  if (!waited) agent.seen.see(op.known), s.others = true;
  for (const Range& r : op.ranges) {
    const uint32_t mine = record(s.records, agent, r.write ? machine::Act::kWrite : machine::Act::kRead, in,
                                 s.records.at(op.record).thread, 0);
    each_cell(s, r, [&](Cell& cell, Place) {
      uint32_t& under_way = r.write ? cell.copy_in : cell.copy_out;
      if (under_way == op.record) under_way = 0;
      if (r.write) {
        cell.machine::Cell::settle(mine);
        cell.again = 0;
      } else {
        has_read(s, cell, mine);
      }
    });
  }
}

void Checks::has_read(State& s, Cell& cell, uint32_t mine) {
  const machine::Agent& agent = s.by_id(s.records[mine].agent);
  cell.add_reader(mine, [&](uint32_t r) { return r != 0 && !agent.is_after(s.records[r]); });
}

void Checks::allocated(Exec& x, Cta& cta, uint32_t column, uint32_t columns) {
  if (!uninit_) return;
  each_cell(of(x), {&cta, column * kTensorLanes, columns * kTensorLanes, true, true},
            [](Cell& cell, Place) { cell.defined = false; });
}

bool Checks::tensor(Exec& x, const Operands& in, uint32_t lane, const Range& range) {
  if (!(race_ || uninit_)) return true;
  State& s = of(x);
  const uint32_t thread = x.first + lane;
  if (range.write) each_cell(s, range, [](Cell& cell, Place) { cell.defined = true; });
  if (!race_) return true;
  const uint32_t mine = record(s.records, s.agent(*x.cta, thread),
                               range.write ? machine::Act::kWrite : machine::Act::kRead, in, thread, serial_);
  bool ok = true;
  each_cell(s, range, [&](Cell& cell, Place where) {
    ok = ok && touch(x, s, in, lane, cell, mine, range.write, where);
  });
  return ok;
}

uint32_t Checks::read_out(Exec& x, const Operands& in, const Cta& from, uint32_t offset, uint32_t bytes) {
  if (!(race_ || uninit_)) return 0;
  State& s = of(x);
  s.others = true;
  const uint32_t mine = record(s.records, s.reader(), machine::Act::kRead, in, kNoRegister, 0);
  each_cell(s, {&from, offset, bytes}, [&](Cell& cell, Place) {
    cell.copy_out = 0;
    has_read(s, cell, mine);
  });
  return s.reader().time++;
}

void Checks::saw_reads(Exec& x, uint32_t lane, uint32_t time) {
  State& s = of(x);
  s.tell_loads();
  s.agent(*x.cta, x.first + lane).seen.see(s.reader().id, time);
}

}  // namespace triton_runner::simt
