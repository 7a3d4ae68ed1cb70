// Checks races and uninitialised bytes of shared and global memory: each byte has a cell with its last
// accesses, and the clocks of warps and blocks tell which accesses are ordered. What is particular to global
// memory is in global.cpp, asynchronous operations are in proxy.cpp.
#include <triton_runner/base/text.h>

#include "check/state.h"
#include "state/refuse.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace triton_runner::simt {

using base::hex;
using machine::Act;

namespace {

using Kind = Source::Access;

Kind kind_of(const Operands& in) { return source_of(in).access; }
bool is_store(const Operands& in) { return source_of(in).stores; }
bool is_reduction(const Operands& in) { return source_of(in).reduces; }
bool is_tensor_core(const Operands& in) { return source_of(in).in_turn; }
bool by_async_proxy(const Operands& in) { return source_of(in).by_async_proxy; }

Act act_of(bool atomic, bool write) {
  if (atomic) return write ? Act::kAtomic : Act::kAtomicRead;
  return write ? Act::kWrite : Act::kRead;
}

}  // namespace

// Returns whether an access uses the old contents of memory: loads and atomics do, but not volatile or
// releasing stores.
bool Checks::reads_memory(const Operands& in, bool write) {
  return !write || (kind_of(in) == Kind::kAtomic && !is_store(in));
}

std::string place_text(const Code& code, const Operands& in) {
  const Source* source = instr_of(in).source;
  if (!source) return "an instruction of the engine";
  const std::string here = instruction_location(code, *source);
  const auto program = code.listing->program_location(*source);
  return std::string(source->name) + " at " + (program ? program->str() + " (" + here + ")" : here);
}

Checks::Checks(const Launch& launch)
    : launch_(launch),
      uninit_(launch.options->checks & exec::kCheckUninitialized),
      race_((launch.options->checks & exec::kCheckRace) && !launch.other_order),
      nan_(launch.options->checks & (exec::kCheckNan | exec::kCheckInf)),
      inf_(launch.options->checks & exec::kCheckInf),
      zero_division_(launch.options->checks & exec::kCheckZeroDivision),
      overflow_(launch.options->checks & exec::kCheckOverflow),
      asks_numbers_(nan_ || inf_ || zero_division_ || overflow_),
      has_proxy_(std::ranges::any_of(launch.code->sources,
                                     [](const Source& source) { return source.by_async_proxy; })),
      has_narrow_(race_ && std::ranges::any_of(
                               launch.code->sources,
                               [](const Source& source) { return source.scope != Source::Scope::kAll; })),
      global_records_(launch.code->width),
      told_(0, launch.log ? 0 : ~uint64_t{0}),
      unwritten_(*launch.memory) {}
Checks::~Checks() { give_back(); }

void Checks::State::begin(const Cluster& next, const Code& code, uint32_t first) {
  const size_t ctas = next.ctas.size();
  cluster = next.number;
  first_id = first, time = 1, published = false;
  width = code.width;
  warps = code.threads / width;
  all_warps = warps * static_cast<uint32_t>(ctas);
  agents.resize(all_warps + 2);
  for (machine::Agent& agent : agents) agent.begin(first++);
  relaxed.resize(all_warps);
  for (uint32_t a = 0; a < all_warps; ++a) {
    relaxed[a].met.begin(agents[a].id | kOfRelaxed);
    relaxed[a].fenced.clear();
    relaxed[a].fence = 0;
  }
  memory.resize(ctas), tensor.resize(ctas);
  for (size_t i = 0; i < ctas; ++i) memory[i].clear(next.ctas[i]->shared_bytes), tensor[i].clear();
  records.clear();
  settled = settlings = 1, others = false;
  named.resize(16 * ctas);
  for (const uint32_t at : met_at) named[at].known.clear(), named[at].arrived.clear();
  met_at.clear();
  for (machine::Clock& one : met) one.clear();
  const auto empty = [](auto&... all) { ((all.empty() ? void() : all.clear()), ...); };
  empty(barriers, copiers, marks, uniform, callers, divisions, missing, stored, origins);
}

void Checks::begin(const Cluster& cluster) {
  auto& state = states_[&cluster];
  if (!state) state = std::make_unique<State>();
  cluster_ = nullptr;
  State& s = *state;
  s.begin(cluster, *launch_.code, agents_);
  agents_ += static_cast<uint32_t>(s.agents.size());
  s.first_global = global_records_.next();
  for (const auto& cta : cluster.ctas)  // what the system has in shared memory is not the kernel's to write
    each_cell(s, {cta.get(), 0, std::min(launch_.code->reserved_shared, cta->shared_bytes)},
              [](Cell& cell, Place) { cell.defined = true; });
  if (has_narrow_) s.narrow = std::vector<machine::Released>(1 + cluster.ctas.size());
}

machine::Agent& Checks::copier(State& s, uint32_t barrier) {
  s.others = true;
  const auto [it, fresh] = s.copiers.try_emplace(barrier, static_cast<uint32_t>(s.agents.size()));
  if (fresh) s.agents.push_back({agents_++});
  return s.agents[it->second];
}

uint32_t Checks::record(Records& records, const machine::Agent& agent, Act act, const Operands& in,
                        uint32_t thread, uint64_t serial) {
  const Record& last = records.last();
  if (last.agent != agent.id || last.time != agent.time || last.act != act || last.in != &in ||
      !records.last_is_near(thread) || last.serial != serial)
    return records.add({{agent.id, agent.time, act}, thread, &in, serial});
  return records.number_of(thread);
}

bool Checks::race(Exec& x, const Operands& in, uint32_t lane, const Record& other, bool write,
                  const std::string& what) {
  const std::string who = other.thread == kNoRegister ? std::string("an asynchronous copy")
                                                      : "thread " + std::to_string(other.thread);
  std::vector<std::string> notes = {"the other access is " + place_text(*launch_.code, *other.in)};
  if (source_of(in).is_late || source_of(*other.in).is_late)
    notes.push_back(
        "the read is issued before the barrier and waited for after it, so that it may come after the "
        "write");
  x.trap(in, exec::Race::kShared,
         std::string(write ? "it writes " : "it reads ") + what + ", which " + who +
             (other.writes() ? " wrote" : " read") +
             ": no barrier orders the two, so that the result depends on which is first",
         lane, 0, 0, std::move(notes));
  return false;
}

bool Checks::in_flight(Exec& x, const Operands& in, uint32_t lane, const Record& copy, bool write,
                       bool copy_writes, const std::string& place) {
  const std::string what = source_of(*copy.in).multiplies ? "product" : "copy";
  x.trap(in, exec::Race::kInFlight,
         std::string(write ? "it writes " : "it reads ") + place + ", which a " + what +
             (copy_writes ? " that no thread has waited for may still write"
                          : " that no thread has waited for may still read"),
         lane, 0, 0, {"the " + what + " is " + place_text(*launch_.code, *copy.in)});
  return false;
}

bool Checks::collision(Exec& x, const Operands& in, uint32_t lane, const Record& other,
                       const std::string& what) {
  return refuse(x, in, exec::Race::kCopies,
                "it writes " + what + ", where the same instruction puts another value for thread " +
                    std::to_string(other.thread) + ": which of the two stays is not defined",
                lane);
}

bool Checks::touch_other(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, uint32_t mine,
                         const Same::Key* key, bool changes, Place where) {
  const Record& me = s.records[mine];
  // Reductions of the copy engine may be performed in any order.
  const bool reductions = cell.copy_in && is_reduction(in) && is_reduction(*s.records[cell.copy_in].in);
  const bool in_turn = is_tensor_core(in);  // the tensor core performs its operations in order
  if (cell.copy_in && !reductions && !(in_turn && is_tensor_core(*s.records[cell.copy_in].in)))
    return in_flight(x, in, lane, s.records[cell.copy_in], me.writes(), true, where.text());
  if (me.writes() && cell.copy_out && !(in_turn && is_tensor_core(*s.records[cell.copy_out].in)))
    return in_flight(x, in, lane, s.records[cell.copy_out], true, false, where.text());
  const bool stores = is_store(in);
  if (changes && stores && s.records[cell.writer].serial == serial_ &&
      s.records.at(cell.writer).thread != s.records.at(mine).thread &&
      s.by_id(me.agent).is_after(s.records[cell.writer]))
    return collision(x, in, lane, s.records.at(cell.writer), where.text());
  const bool stored_too = !me.writes() && (cell.again >> (me.agent - s.first_id) % 64 & 1);
  const auto unordered = [&](uint32_t number) {
    if (number < s.settled || number == 0 ||
        before_ == Before{serial_, me.agent, s.records.record_of(number)})
      return false;
    const Record& other = s.records[number];
    if (s.by_id(me.agent).is_after(other)) {
      before_ = {serial_, me.agent, s.records.record_of(number)};
      return false;
    }
    if (in_turn && other.agent == s.tensor_core().id) return false;
    if (stored_too && number == cell.changer) return false;
    // Writes of one instruction by several warps (stmatrix) are not distinguished, and store the same value.
    return stores || !other.writes() || other.serial != serial_;
  };
  const uint32_t other =
      cell.touch(mine, me.act, changes, unordered, [&](uint32_t r) { return s.records[r].act; });
  if (other) return race(x, in, lane, s.records.at(other), me.writes(), where.text());
  if (changes) cell.again = 0;
  if (key && !stored_too) {
    same_.key = *key;
    for (int i = 0; i < 2; ++i)
      same_.readers[i] = cell.readers[i] == mine ? Same::Reader::kMine
                         : cell.readers[i] == 0  ? Same::Reader::kGoes
                                                 : Same::Reader::kStays;
  }
  return true;
}

bool Checks::shared(Exec& x, const Operands& in, uint32_t lane, const Cta& owner, uint32_t offset,
                    uint32_t bytes, bool write) {
  if (overflow_ && write) forget(x, owner, offset, bytes);
  if (!x.path || !(race_ || uninit_)) return true;  // no path: an asynchronous copy or product
  if (is_store(in)) flush(x);
  if (launch_.stops(*x.cta->cluster)) return false;
  State& s = of(x);
  const Kind kind = kind_of(in);
  const Range range{&owner, offset, bytes};
  const auto define = [&] { each_cell(s, range, [](Cell& cell, Place) { cell.defined = true; }); };
  if (kind == Kind::kObject) {
    if (write) define();
    return true;
  }
  const uint32_t thread = x.first + lane;
  const machine::Agent& agent = s.agent(*x.cta, thread);
  State::Cells& cells = s.known(owner.rank, offset, bytes);
  if (uninit_ && reads_memory(in, write)) {
    std::vector<std::byte*> undefined_bytes;
    cells.each(
        offset, bytes,
        [&](const Cell& cell, uint64_t at, uint64_t size) {
          if (cell.defined || cell.copy_in) return;
          for (uint64_t i = std::max<uint64_t>(at, offset); i < std::min<uint64_t>(at + size, offset + bytes);
               ++i)
            undefined_bytes.push_back(owner.shared + i);
        },
        kWidest);
    if (!undefined_bytes.empty()) {
      const Place first{owner.shared_base | static_cast<uint32_t>(undefined_bytes[0] - owner.shared)};
      if (!launch_.options->substitution) {
        undefined(x, in, lane, first);
        return false;
      }
      if (!reads_undefined(x, in, lane, "it reads " + first.text() + ", where nothing was stored",
                           undefined_bytes))
        return false;
    }
  }
  if (write && kind == Kind::kPlain) {
    put_off(in, &owner, {offset, bytes, bytes, lane}, owner.shared + offset);
    return true;
  }
  const uint32_t mine = record(s.records, agent, act_of(kind == Kind::kAtomic, write), in, thread, serial_);
  bool ok = true;
  if (kind == Kind::kCopy) {
    // The copy is issued: earlier accesses must be complete, and later ones must wait for it.
    each_cell(s, range, [&](Cell& cell, Place where) {
      if (race_ && ok) {
        Cell probe = cell;
        ok = touch(x, s, in, lane, probe, mine, write, where) &&
             (!by_async_proxy(in) || write || fenced(x, s, in, lane, cell, agent, write, where));
        if (ok && !write) cell = probe;
      }
      if (ok) (write ? cell.copy_in : cell.copy_out) = mine;
    });
    return ok;
  }
  if (race_)
    each_cell(s, range,
              [&](Cell& cell, Place where) { ok = ok && touch(x, s, in, lane, cell, mine, write, where); });
  if (ok && write) define();
  return ok;
}

// A store is examined when it has been made.
void Checks::put_off(const Operands& in, const Cta* owner, const Run& run, const std::byte* at) {
  written_.push_back({&in, owner, run, old_.size()});
  old_.insert(old_.end(), at, at + run.bytes);
}

// Returns whether the values that two lanes store are f32 numbers that differ by rounding only. Such are the
// copies of a sum in the lanes of a reduction, if LLVM contracts a product into the addition of one lane and
// not of the other.
static bool differ_by_rounding(const std::byte* a, const std::byte* b, uint32_t bytes) {
  constexpr float kRounding = 0x1p-12f;
  constexpr float kSmallest = 1e-30f;  // above what integers and pointers look like
  if (bytes % sizeof(float) != 0) return false;
  for (uint32_t i = 0; i < bytes; i += sizeof(float)) {
    float x, y;
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    const float larger = std::max(std::fabs(x), std::fabs(y));
    if (std::memcmp(&x, &y, sizeof x) == 0) continue;
    if (!std::isfinite(larger) || larger < kSmallest || std::fabs(x - y) > kRounding * larger) return false;
  }
  return true;
}

// Returns whether some words of what each thread has stored differ from what was there, and others do not.
static bool changes_in_part(const std::byte* now, const std::byte* before, uint32_t bytes, uint32_t each,
                            uint32_t word) {
  for (uint32_t k = 0; k < bytes; k += each) {
    const bool first = std::memcmp(now + k, before + k, word) != 0;
    for (uint32_t i = k + word; i < k + each; i += word)
      if ((std::memcmp(now + i, before + i, word) != 0) != first) return true;
  }
  return false;
}

// Examines the stores of the last instruction, now that their values are in memory.
void Checks::flush(Exec& x) {
  if (written_.empty()) return;
  std::vector<Written> written;
  written.swap(written_);
  examine(x, written);
  old_.clear();
  written.clear();
  written_.swap(written);  // its memory, for the next instruction
}

void Checks::examine(Exec& x, std::span<const Written> written) {
  State& s = of(x);
  for (size_t i = 0; i < written.size(); ++i) {
    const Written& w = written[i];
    const Run& run = w.run;
    const std::byte* before = old_.data() + w.before;
    if (!w.owner) {
      const size_t n = in_a_row(x, written.subspan(i), [](const Written& one) { return one.run; });
      if (n > 1 && touch_together(x, s, Act::kWrite, *w.in, run, static_cast<uint32_t>(n), before)) {
        i += n - 1;
        continue;
      }
      const uint32_t mine = global_record(x, s, Act::kWrite, *w.in, run.lane, 1);
      if (!touch_global(x, s, *w.in, mine, run, before)) break;
      continue;
    }
    size_t n = 1;
    while (i + n < written.size() && written[i + n].owner == w.owner && written[i + n].run.each == run.each)
      ++n;
    if (notes_stores(x, s, written.subspan(i, n))) {
      i += n - 1;
      continue;
    }
    const uint32_t thread = x.first + run.lane;
    const uint32_t mine = record(s.records, s.agent(*x.cta, thread), Act::kWrite, *w.in, thread, serial_);
    const uint32_t warp = (s.records[mine].agent - s.first_id) % 64;
    const std::byte* now = w.owner->shared + run.address;
    // A word is changed or it is not: cells are no larger where that is not so of all that a thread stores.
    const bool in_words = run.each > kWord && changes_in_part(now, before, run.bytes, run.each, kWord);
    bool ok = true;
    s.touched(w.owner->rank, static_cast<uint32_t>(run.address), run.bytes)
        .each(
            run.address, run.bytes,
            [&](Cell& cell, uint64_t at, uint64_t size) {
              cell.defined = true;
              if (!race_ || !ok) return;
              const uint64_t begin = std::max(at, run.address),
                             end = std::min(at + size, run.address + run.bytes);
              const uint32_t k = run.lane_of(begin) - run.lane;
              const auto* was = before + (begin - run.address);
              const std::byte* differs =
                  std::mismatch(was, was + (end - begin), now + (begin - run.address)).first;
              const bool same = differs == was + (end - begin) ||
                                (s.records[cell.writer].serial == serial_ && is_store(*w.in) &&
                                 differ_by_rounding(now + k * run.each, before + k * run.each, run.each));
              const bool in_flight = cell.copy_in || cell.copy_out, changes = !same || in_flight;
              const uint64_t first = same || in_flight ? begin : begin + static_cast<uint64_t>(differs - was);
              if (!changes) cell.again |= uint64_t{1} << warp;
              ok = touch(x, s, *w.in, run.lane + k, cell, mine + k, changes,
                         Place{w.owner->shared_base | static_cast<uint32_t>(first)});
            },
            in_words ? kWord : run.each);
    if (!ok) break;
  }
}

void Checks::copied(Exec& x, const Operands& in, const Cta& to, uint32_t offset, uint32_t bytes,
                    uint32_t thread, uint32_t reading) {
  if (overflow_) forget(x, to, offset, bytes);
  if (!(race_ || uninit_)) return;
  State& s = of(x);
  const machine::Agent& warp = s.agent(*x.cta, thread);
  if (reading) global_records_[reading].time = warp.time;
  const uint32_t mine = record(s.records, warp, Act::kWrite, in, thread, 0);
  each_cell(s, {&to, offset, bytes}, [&](Cell& cell, Place) {
    if (cell.copy_in && s.records[cell.copy_in].in != &in)
      cell.defined = true;  // a later copy to the same bytes is still in flight
    else
      settle(cell, mine);
  });
}

void Checks::copied_at_once(Exec& x, const Operands& in, std::span<const uint32_t> to, uint32_t each,
                            uint32_t first, std::span<const uint32_t> reading) {
  const uint32_t width = x.cta->code->width, rank = x.cta->rank;
  if (overflow_)
    for (const uint32_t at : to) forget(x, *x.cta, at, each);
  if (!(race_ || uninit_)) return;
  State& s = of(x);
  std::vector<uint32_t> records;
  for (uint32_t i = 0; i < to.size(); i += width) {
    const machine::Agent& warp = s.agent(*x.cta, first + i);
    if (const uint32_t read = reading.empty() ? 0 : reading[i / width])
      global_records_[read].time = warp.time;
    records.push_back(record(s.records, warp, Act::kWrite, in, first + i, 0));
  }
  if (lands_noted(s, rank, in, to, first, records)) return;
  for (const uint32_t at : to) s.touched(rank, at, each);
  uint32_t known = 0;  // a record of a copy in flight
  bool is_this = true;
  for (uint32_t i = 0; i < to.size(); ++i)
    each_of_thread(s.memory[rank].cells, to[i], each, [&](Cell& cell, uint64_t) {
      if (const uint32_t copy = s.records.record_of(cell.copy_in); copy != known)
        known = copy, is_this = copy == 0 || s.records[cell.copy_in].in == &in;
      if (is_this)
        settle(cell, records[i / width] + i % width);
      else
        cell.defined = true;  // as in copied()
    });
}

void Checks::landed(Exec& x, const Operands& in, const Cta& to, uint32_t offset, uint32_t bytes,
                    uint32_t barrier, uint32_t reading) {
  if (overflow_) forget(x, to, offset, bytes);
  if (!(race_ || uninit_)) return;
  State& s = of(x);
  const machine::Agent& engine = copier(s, barrier);
  if (reading) {
    Record& read = global_records_[reading];
    read.agent = engine.id, read.time = engine.time, read.warps = 1;
  }
  const uint32_t mine = record(s.records, engine, Act::kWrite, in, kNoRegister, 0);
  each_cell(s, {&to, offset, bytes}, [&](Cell& cell, Place) { settle(cell, mine); });
}

void Checks::settle(Cell& cell, uint32_t mine) {
  cell.machine::Cell::settle(mine);
  cell.copy_in = 0;
  cell.defined = true;
  cell.again = 0;
}

void Checks::release(Exec& x, uint32_t lane, uint32_t barrier) {
  State& s = of(x);
  machine::Clock& into = s.barriers[barrier];
  if (lane == kNoRegister) return s.tensor_core().release(into);  // tcgen05.commit
  if (!x.path && s.copiers.contains(barrier)) copier(s, barrier).release(into);
  s.release(s.agent(*x.cta, x.first + lane), into);
}

void Checks::acquire(Exec& x, uint32_t lane, uint32_t barrier) {
  State& s = of(x);
  s.tell_loads();
  s.agent(*x.cta, x.first + lane).seen.see(s.barriers[barrier]);
}

void Checks::before_other(Exec& x, const Instr& in) {
  if (race_) of(x).begin_instruction();
  if (nan_ || zero_division_) part_before(x, in);
  if (nan_) nan_before(x, in);
  if (zero_division_) division_before(x, in);
  if (overflow_) overflow_before(x, in);
  if (race_) uniform_before(x, in);
  const Source::Meets meets = source_of(in).meets;
  if (race_ && source_of(in).fences_proxy) proxy_fence(x);
  if (race_ && source_of(in).fences_memory) memory_fence(x);
  if (!race_ || meets == Source::Meets::kNobody || meets == Source::Meets::kClusterWaits) return;
  State& s = of(x);
  for (uint32_t w = 0; w < x.count; w += 32) {
    const uint32_t on = warp_bits(x, w), lane = w + static_cast<uint32_t>(std::countr_zero(on));
    if (!on) continue;
    machine::Agent& agent = s.agent(*x.cta, x.first + w);
    if (meets == Source::Meets::kClusterArrives) {
      s.release(agent, s.met[x.cta->cluster->barrier.phase & 1]);
      continue;
    }
    const uint32_t barrier = x.reg<uint32_t>(in.a)[lane] & 15;
    const uint32_t at = 16 * x.cta->rank + barrier;
    if (std::ranges::find(s.met_at, at) == s.met_at.end()) s.met_at.push_back(at);
    State::Named& named = s.named[at];
    s.release(agent, named.known);
    named.arrived.push_back(agent.id);
  }
}

bool Checks::reads_undefined(Exec& x, const Operands& in, uint32_t lane, const std::string& message,
                             std::span<std::byte* const> bytes) {
  if (is_reduction(in) || kind_of(in) != Kind::kPlain ||
      !substituted(x, in, lane, exec::TrapKind::kUninitialized, message))
    return refuse(x, in, exec::TrapKind::kUninitialized, message, lane);
  if (!replaces_here_) return true;
  for (std::byte* at : bytes) {  // those beside them keep their values: it may be these alone that matter
    borrowed_.push_back({at, {*at}});
    put_number(*at);
  }
  return true;
}

void Checks::give_back() {
  for (; !borrowed_.empty(); borrowed_.pop_back())
    std::copy(borrowed_.back().before.begin(), borrowed_.back().before.end(), borrowed_.back().at);
}

void Checks::after_accesses(Exec& x, const Instr& in) {
  if (!borrowed_.empty()) give_back();
  flush_reads(x, in);
  flush(x);
}

void Checks::after_other(Exec& x, const Instr& in) {
  if (part_uses(x, in)) return;
  if (nan_) nan_after(x, in);
  if (zero_division_) division_after(x, in);
  if (overflow_) overflow_after(x, in);
  if (nan_ || zero_division_) part_after(x, in);
  if (race_) uniform_after(x, in);
  const Source::Meets meets = source_of(in).meets;
  if (!race_ || meets == Source::Meets::kNobody || meets == Source::Meets::kClusterArrives) return;
  State& s = of(x);
  if (meets == Source::Meets::kClusterWaits) {
    if (x.pc == &in) return;
    s.tell_loads();
    for (uint32_t w = 0; w < x.count; w += 32) {
      const uint32_t on = warp_bits(x, w), lane = w + static_cast<uint32_t>(std::countr_zero(on));
      if (!on) continue;
      const uint64_t phase = x.cta->cluster_tickets[x.first + lane] - 1;
      s.agent(*x.cta, x.first + w).seen.see(s.met[phase & 1]);
    }
    return;
  }
  // A barrier without arrivals has completed.
  for (const uint32_t at : s.met_at) {
    State::Named& named = s.named[at];
    if (at / 16 != x.cta->rank || named.arrived.empty() || x.cta->barriers[at % 16].arrived != 0) continue;
    const bool all = !x.mask && x.count == x.code().threads && named.arrived.size() == s.all_warps;
    if (!all || s.others) s.tell_loads();
    for (uint32_t id : named.arrived) {
      machine::Clock& seen = s.by_id(id).seen;
      if (all)  // all arrived by this instruction, and have seen nothing since
        seen = named.known;
      else
        seen.see(named.known);
    }
    if (all && !s.others) s.settle();
    named.arrived.clear();
  }
}

bool Checks::whole_warps(Exec& x, const Instr& in, uint64_t members) {
  if (!race_) return true;
  const uint32_t width = x.code().width;
  for (uint32_t i = 0; i < x.count; i++) {
    const uint32_t lane = i % width;
    if (x.cta->alive[x.first + i] || x.first + i >= x.code().real_threads ||
        !mask_bits(x.mask, i - lane, width) || !(members >> lane & 1))
      continue;
    const Instr* end = x.cta->ended_at[x.first + i];
    if (!end) continue;
    x.trap(in, exec::TrapKind::kInvalid,
           "only part of warp " + std::to_string((x.first + i) / width) +
               " reaches this warp-wide instruction: thread " + std::to_string(x.first + i) + " has ended",
           kNoRegister, 0, 0, {"it ended in " + place_text(*launch_.code, *end)});
    return false;
  }
  return true;
}

}  // namespace triton_runner::simt
