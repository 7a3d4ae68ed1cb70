// Checks races of global memory, whose agents are the warps of all blocks.
//
// Copies from it are under way from where they are issued to where somebody has waited for them. Several warps may read
// the same bytes in one instruction, as where a layout holds an element in several of them: that is one access of all
// of them.
#include <algorithm>
#include <bit>
#include <cstring>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/read_set.h>
#include <triton_runner/exec/undo.h>

#include "check/doubts.h"
#include "check/state.h"

namespace triton_runner::simt {

using machine::Act;

namespace {

// Calls f with the number of each bit that is set.
template <class F>
void each_set(uint32_t bits, F f) {
  for (; bits; bits &= bits - 1) f(static_cast<uint32_t>(std::countr_zero(bits)));
}

std::string ordinal(uint32_t n) {
  const char* end = n % 100 / 10 == 1 ? "th"
                    : n % 10 == 1     ? "st"
                    : n % 10 == 2     ? "nd"
                    : n % 10 == 3     ? "rd"
                                      : "th";
  return std::to_string(n) + end;
}

}  // namespace

std::string Checks::byte_text(uint64_t address) const {
  const exec::Allocation* a = launch_.memory->find(address, 1);
  if (!a) return "address " + base::hex(address);
  return "byte " + std::to_string(address - a->address) + " of " + a->label;
}

uint32_t Checks::reading() const {
  return reading_ && global_records_[reading_].serial == serial_ ? reading_ : 0;
}

// An access by lane `lane`, or by `warps`, a bit each from its own warp on.
uint32_t Checks::global_record(const Exec& x, State& s, Act act, const Operands& in, uint32_t lane,
                               uint32_t warps) {
  const uint32_t thread = x.first + lane;
  const machine::Agent& warp = s.agent(*x.cta, thread);
  const Record& last = global_records_.last();
  if (last.agent != warp.id || last.serial != serial_ || last.in != &in || last.act != act ||
      last.warps != warps || (last.time != warp.time && last.time != kUnderWay))
    global_records_.add({{warp.id, warp.time, act}, thread, &in, serial_, warps, s.cluster});
  // Those of a warp's reads are not told apart.
  return global_records_.number_of(
      act == Act::kWrite || act == Act::kAtomic ? thread : thread - thread % x.code().width);
}

std::pair<uint32_t, uint32_t> Checks::unordered_warps(State& s, const Record& me, const Record& other) const {
  uint32_t mine = 0, others = 0;
  each_set(me.warps, [&](uint32_t a) {
    const machine::Agent& warp = s.by_id(me.agent + a);
    each_set(other.warps, [&](uint32_t b) {
      if (other.time != kUnderWay && warp.is_after({other.agent + b, other.time, other.act})) return;
      mine |= 1u << a, others |= 1u << b;
    });
  });
  return {mine, others};
}

// `before`: the contents before a store; null for a load, or an atomic, which counts as a change.
bool Checks::touch_global(Exec& x, State& s, const Operands& in, uint32_t mine, const Run& run,
                          const std::byte* before) {
  const Record& me = global_records_[mine];
  const bool is_read = me.act == Act::kRead || me.act == Act::kAtomicRead, stores = source_of(in).stores;
  if (known_serial_ != serial_ || known_of_ != global_records_.record_of(mine))
    known_ = {}, known_serial_ = serial_, known_of_ = global_records_.record_of(mine);
  const auto of_record = [&](uint32_t number) -> const Known& {
    const uint32_t record = global_records_.record_of(number);
    Known& k = known_[record % known_.size()];
    if (k.record != record && !orders_ && global_records_[number].cluster != s.cluster) {
      k = {record, true, false};
    } else if (k.record != record) {
      const auto [a, b] = unordered_warps(s, me, global_records_[number]);
      k = {record, a != 0, a != 0 && (a != me.warps || b != global_records_[number].warps)};
    }
    return k;
  };
  const auto is_doubtful = [&](uint32_t number) { return number != 0 && of_record(number).is_doubtful; };
  const auto uncovered = [&](uint32_t number) { return number != 0 && of_record(number).is_uncovered; };
  const auto unordered = [&](uint32_t number) {
    return number != 0 && of_record(number).is_uncovered && !of_record(number).is_doubtful;
  };
  const auto act_of = [&](uint32_t r) { return global_records_[r].act; };
  const auto number_at = [&](uint64_t at) { return is_read ? mine : mine + (run.lane_of(at) - run.lane); };
  const auto differs = [&](uint64_t at, uint64_t bytes) {
    const auto *now = reinterpret_cast<const std::byte*>(at), *then = before + (at - run.address);
    if (bytes != sizeof(uint32_t)) return std::memcmp(now, then, bytes) != 0;
    uint32_t a, b;
    std::memcpy(&a, now, sizeof a), std::memcpy(&b, then, sizeof b);
    return a != b;
  };
  uint32_t race_with = 0, collides_with = 0;
  uint64_t where = 0;
  const auto touch_cell = [&](machine::Cell& cell, uint64_t at, uint64_t size) {
    if (race_with || collides_with) return;
    where = std::max(at, run.address);
    const uint64_t end = std::min(at + size, run.address + run.bytes), begin = where;
    const uint32_t number = number_at(begin);
    bool changes = me.act == Act::kAtomic;
    if (before && (changes = differs(begin, end - begin)))
      while (!differs(where, 1)) ++where;
    const bool now_too = global_records_[cell.writer].serial == serial_;
    if (changes && stores && now_too &&
        global_records_.at(cell.writer).thread != global_records_.at(number).thread) {
      collides_with = cell.writer;
      return;
    }
    if (me.act == Act::kRead)
      for (const uint32_t writer : {cell.changer, cell.atomics[0], cell.atomics[1]})
        if (is_doubtful(writer) && global_records_[writer].writes())
          doubt(x, s, in, run.lane_of(where), number, writer, begin, end - begin);
    if (me.act == Act::kWrite && changes)
      for (const uint32_t reader : cell.readers)
        if (is_doubtful(reader)) doubt(x, s, in, run.lane_of(where), number, reader, begin, end - begin);
    race_with = cell.touch(number, me.act, changes, unordered, act_of, uncovered);
  };
  // A row is touched as its first cell, unless its cells have something to be said of one by one.
  const auto touch_row = [&](machine::History::Row& row, uint64_t at, uint64_t bytes, uint64_t size) {
    if (race_with || collides_with) return true;
    machine::Cell cell = row.cell;
    if ((at - run.address) % run.each || global_records_[cell.writer].serial == serial_) return false;
    for (const uint32_t r :
         {cell.changer, cell.atomics[0], cell.atomics[1], cell.readers[0], cell.readers[1]})
      if (is_doubtful(r)) return false;
    bool changes = false;
    if (before) {
      const auto is_changed = machine::all_or_none(reinterpret_cast<const std::byte*>(at),
                                                   before + (at - run.address), bytes, size);
      if (!is_changed) return false;
      changes = *is_changed;
    }
    if (cell.touch(number_at(at), me.act, changes, unordered, act_of, uncovered)) return false;
    row.cell = cell;
    const auto step = static_cast<uint16_t>(bytes > run.each ? run.each / size : 0);
    if (!is_read) row.writer_step = step;
    if (changes) row.changer_step = step;
    return true;
  };
  const bool is_plain = me.act == Act::kRead || me.act == Act::kWrite;
  if (is_plain && run.bytes > run.each)
    global_.rows(run.address, run.bytes, std::min(run.each, uint32_t{kWord}), touch_row, touch_cell);
  else
    global_.each(run.address, run.bytes, touch_cell);
  const uint32_t lane = run.lane_of(where), number = number_at(where);
  if (collides_with) return collision(x, in, lane, global_records_.at(collides_with), byte_text(where));
  if (!race_with) return true;
  x.trap(global_race(x, s, in, lane, global_records_.at(number), global_records_.at(race_with),
                     byte_text(where)));
  return false;
}

bool Checks::touch_together(const Exec& x, State& s, Act act, const Operands& in, const Run& run,
                            uint32_t warps, const std::byte* before) {
  const uint32_t unit = std::min(run.each, uint32_t{kWord}), bytes = run.bytes * warps;
  if (run.address % run.each) return false;
  const bool is_fresh = global_.is_fresh(run.address, bytes, unit);
  if (!is_fresh && act != Act::kRead) return false;
  if (!is_fresh && is_one_more(s, run.address, bytes, run.each)) return true;
  std::optional<bool> changes = false;
  if (before)
    changes = machine::all_or_none(reinterpret_cast<const std::byte*>(run.address), before, bytes, unit);
  if (!changes) return false;
  const auto width = static_cast<uint16_t>(x.code().width);
  const uint32_t agent = s.agent(*x.cta, x.first + run.lane).id, next = global_records_.next();
  const auto is_same = [&](uint32_t number, uint32_t now) {
    return (number - now) % width == 0 && global_records_[number].agent == agent + (now - next) / width;
  };
  if (!is_fresh && !global_.lay_again(run.address, bytes, run.each, width, next, is_same)) return false;
  for (uint32_t w = 0; w < warps; ++w)
    global_records_.add(
        {{agent + w, s.time, act}, x.first + run.lane + w * width, &in, serial_, 1, s.cluster});
  if (!is_fresh) return true;
  machine::Cell cell;
  (before ? cell.writer : cell.readers[0]) = next;
  if (*changes) cell.changer = next;
  global_.lay(run.address, bytes, run.each, width, cell);
  return true;
}

bool Checks::is_one_more(const State& s, uint64_t address, uint64_t bytes, uint32_t each) {
  if (orders_ || address % each) return false;
  return global_.all_rows(address, bytes, std::min(each, uint32_t{kWord}), [&](const machine::Cell& cell) {
    return !(cell.writer | cell.changer | cell.atomics[0] | cell.atomics[1]) && cell.readers[0] != 0 &&
           cell.readers[1] != 0 && std::max(cell.readers[0], cell.readers[1]) < s.first_global;
  });
}

void Checks::doubt(const Exec& x, State& s, const Operands& in, uint32_t lane, uint32_t mine, uint32_t other,
                   uint64_t at, uint64_t bytes) {
  constexpr size_t kEnough = size_t{1} << 16;
  const Record me = global_records_.at(mine), then = global_records_.at(other);
  if (then.cluster != s.cluster) return;
  const Record &reader = me.act == Act::kRead ? me : then, &writer = me.act == Act::kRead ? then : me;
  std::vector<Doubt>* doubts = x.worker->launch->doubts;
  if (!doubts) return;
  auto known = std::find_if(doubts->begin(), doubts->end(),
                            [&](const Doubt& d) { return d.reader == reader.in && d.writer == writer.in; });
  if (known == doubts->end())
    known = doubts->insert(known,
                           {reader.in, writer.in, global_race(x, s, in, lane, me, then, byte_text(at)), {}});
  if (known->reads.size() == kEnough) return;
  const auto [a, b] = unordered_warps(s, me, then);
  const uint32_t first = (reader.agent - s.first_id) % s.warps, warps = &reader == &me ? a : b;
  DoubtfulRead read{reader.serial,
                    at,
                    static_cast<uint32_t>(bytes),
                    warps << first,
                    s.cluster,
                    (reader.agent - s.first_id) / s.warps,
                    &reader == &me ? writer.serial : 0,
                    {}};
  if (!read.written) std::memcpy(read.value.data(), reinterpret_cast<const void*>(at), bytes);
  known->reads.push_back(read);
}

exec::Trap Checks::global_race(const Exec& x, State& s, const Operands& in, uint32_t lane, const Record& me,
                               const Record& other, const std::string& what) const {
  std::vector<std::string> notes;
  std::string message = std::string(me.writes() ? "it writes " : "it reads ") + what + ", which ";
  if (other.time == kUnderWay) {
    message += "a copy that no thread has waited for may still read";
    notes.push_back("the copy is " + place_text(*launch_.code, *other.in) + ", the " +
                    ordinal(global_records_.times_of(other)) +
                    " time that its warp came there; the store is the " +
                    ordinal(global_records_.times_of(me)) + " time of its warp");
  } else {
    const bool near = other.cluster == s.cluster;
    const auto first = static_cast<uint32_t>(std::countr_zero(unordered_warps(s, me, other).second));
    if (!near)
      message += "block " + std::to_string(other.cluster);
    else  // the warps of a read have one record
      message += other.writes() ? "thread " + std::to_string(other.thread)
                                : std::string(x.code().warp_word()) + " " +
                                      std::to_string(other.thread / x.code().width + first);
    message += std::string(other.writes() ? " wrote" : " read") +
               (near ? ": no barrier orders the two" : ": no atomics order the two blocks");
    message += ", so that the result depends on which is first";
    notes.push_back("the other access is " + place_text(*launch_.code, *other.in));
  }
  const auto ahead = static_cast<uint32_t>(std::countr_zero(unordered_warps(s, me, other).first));
  if (ahead != 0)
    lane = ((x.first + lane) / x.code().width + ahead) * x.code().width -
           x.first;  // of the first warp that nothing orders
  return x.made_trap(in, other.time == kUnderWay ? exec::Race::kInFlight : exec::Race::kGlobal,
                     std::move(message), lane, 0, 0, std::move(notes));
}

template <class F>
void Checks::each_released(const Exec& x, State& s, Source::Scope scope, F f) {
  if (scope == Source::Scope::kAll) f(released_);
  if (s.narrow.empty()) return;
  if (scope != Source::Scope::kBlock) f(s.narrow[0]);
  f(s.narrow[1 + x.cta->rank]);
}

exec::ReadSet::How how_of(const Source& source, bool write) {
  using How = exec::ReadSet::How;
  if (source.access == Source::Access::kAtomic || source.reduces)
    return write ? How::kAtomic : How::kAtomicRead;
  return write ? How::kWrite : How::kRead;
}

void Checks::tell(uint64_t address, uint64_t bytes) {
  if (address < told_.first || address + bytes > told_.second) told_ = launch_.log->writes(address, bytes);
}

bool Checks::global(Exec& x, const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes,
                    bool write) {
  if (write) tell(address, bytes);
  if (!x.path) return true;
  if (OtherOrder* other = x.worker->launch->other_order) {
    give_back();
    if (write) other->writes(serial_, address, bytes);
    auto* at = reinterpret_cast<std::byte*>(address);
    if (!write && source_of(in).access == Source::Access::kPlain)
      other->reads(serial_, *x.cta, (x.first + lane) / x.code().width, address, bytes,
                   [&](const DoubtfulRead& r) {
                     std::byte* place = at + (r.address - address);
                     borrowed_.push_back({place, {place, place + r.bytes}});
                     std::memcpy(place, r.value.data(), r.bytes);
                   });
    return true;
  }
  if (!(race_ || uninit_ || unwritten_.any())) return true;
  const Source& source = source_of(in);
  const Source::Access kind = source.access;
  if (source.stores) flush(x);
  if (launch_.stops(*x.cta->cluster)) return false;
  State& s = of(x);
  if (exec::ReadSet* reads = launch_.options->reads;
      reads && (!write || reads->keeps_all()) && kind != Source::Access::kObject)
    reads->note(&in, address, bytes, [&] { return place_text(*launch_.code, in); }, how_of(source, write));
  if (uninit_ && reads_memory(in, write)) {
    std::vector<std::byte*> undefined_bytes;
    const uint64_t end = address + bytes;
    for (auto at = unwritten_.first(address, bytes); at; at = unwritten_.first(*at + 1, end - *at - 1))
      undefined_bytes.push_back(reinterpret_cast<std::byte*>(*at));
    if (!undefined_bytes.empty() &&
        !reads_undefined(x, in, lane,
                         "it reads " + byte_text(reinterpret_cast<uint64_t>(undefined_bytes[0])) +
                             ", which was never written",
                         undefined_bytes))
      return false;
  }
  if (write) unwritten_.write(address, bytes);
  if (!race_ || kind == Source::Access::kObject) return true;
  if (write && kind == Source::Access::kPlain) {
    put_off(in, nullptr, {address, bytes, bytes, lane}, reinterpret_cast<const std::byte*>(address));
    return true;
  }
  if (kind == Source::Access::kPlain) {
    reads_.push_back({address, bytes, bytes, lane});
    return true;
  }
  const bool is_strong = kind == Source::Access::kAtomic;
  orders_ |= is_strong;
  machine::Agent& warp = s.agent(*x.cta, x.first + lane);
  if (is_strong) {
    s.tell_loads();
    each_released(x, s, source.scope, [&](machine::Released& released) {
      released.acquire(address, source.acquires ? warp : s.relaxed[warp.id - s.first_id].met);
    });
  }
  // Reductions of the copy engine are relaxed atomics on each element (PTX ISA, cp.reduce.async.bulk).
  const bool atomic = is_strong || source.reduces;
  const Act act = atomic ? (write ? Act::kAtomic : Act::kAtomicRead) : write ? Act::kWrite : Act::kRead;
  const uint32_t mine = global_record(x, s, act, in, lane, 1);
  if (!touch_global(x, s, in, mine, {address, bytes, bytes, lane}, nullptr)) return false;
  if (source.releases) {  // who acquires at this address comes after what this warp did so far
    each_released(x, s, source.scope,
                  [&](machine::Released& released) { released.publish(address, warp, serial_); });
    s.published = publishes_ = true;
  } else if (is_strong) {
    if (write) {
      const machine::Agent fenced = s.fenced_of(warp);
      each_released(x, s, source.scope,
                    [&](machine::Released& released) { released.publish(address, fenced, serial_); });
    }
  } else if (!write) {
    global_records_[mine].time = kUnderWay;
    reading_ = mine;
  }
  return true;
}

// Makes known to each warp what was released where it has made relaxed accesses; the warp's later ones release what it did so far.
void Checks::memory_fence(Exec& x) {
  State& s = of(x);
  s.tell_loads();
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (!warp_bits(x, w)) continue;
    machine::Agent& warp = s.agent(*x.cta, x.first + w);
    State::Relaxed& relaxed = s.relaxed[warp.id - s.first_id];
    warp.seen.see(relaxed.met.seen);
    relaxed.fence = warp.time;
    s.release(warp, relaxed.fenced);
  }
}

// A warp's relaxed accesses release what came before its last fence, and before those of warps that it has met since.
machine::Agent Checks::State::fenced_of(const machine::Agent& warp) const {
  machine::Agent all{warp.id, 0};
  for (uint32_t w = 0; w < all_warps; ++w) {
    const uint32_t fence = relaxed[w].fence, id = first_id + w;
    if (fence != 0 && (id == warp.id || warp.seen.of(id) > fence)) all.seen.see(relaxed[w].fenced);
  }
  return all;
}

// Records the reads of an instruction, each place once: warps that read the same make one access.
void Checks::flush_reads(Exec& x, const Operands& in) {
  if (reads_.empty()) return;
  std::vector<Run> reads;
  reads.swap(reads_);
  if (launch_.stops(*x.cta->cluster)) return;
  State& s = of(x);
  const auto meet = [](const Run& a, const Run& b) { return b.address < a.address + a.bytes; };
  if (std::adjacent_find(reads.begin(), reads.end(), meet) != reads.end()) {
    std::sort(reads.begin(), reads.end());
    const auto in_part = [&](const Run& a, const Run& b) {
      return meet(a, b) && (a.address != b.address || a.bytes != b.bytes);
    };
    if (std::adjacent_find(reads.begin(), reads.end(), in_part) != reads.end()) {
      std::vector<Run> parts;
      for (const Run& r : reads)
        for (uint32_t k = 0; k < r.bytes; k += r.each)
          parts.push_back({r.address + k, r.each, r.each, r.lane_of(r.address + k)});
      reads = std::move(parts);
      std::sort(reads.begin(), reads.end());
    }
    size_t n = 0;
    for (const Run& r : reads) {
      Run& last = reads[n ? n - 1 : 0];
      if (n && last.address == r.address && last.bytes == r.bytes)
        last.warps |= 1u << ((x.first + r.lane) / x.code().width - (x.first + last.lane) / x.code().width);
      else
        reads[n++] = r;
    }
    reads.resize(n);
  }
  for (size_t i = 0; i < reads.size(); ++i) {
    const Run& r = reads[i];
    const size_t n = in_a_row(x, std::span<const Run>(reads).subspan(i), [](const Run& one) { return one; });
    if (n > 1 ? touch_together(x, s, Act::kRead, in, r, static_cast<uint32_t>(n), nullptr)
              : is_one_more(s, r.address, r.bytes, r.each)) {
      i += std::max<size_t>(n, 1) - 1;
      continue;
    }
    const uint32_t mine = global_record(x, s, Act::kRead, in, r.lane, r.warps);
    if (!touch_global(x, s, in, mine, r, nullptr)) return;
  }
  reads.clear();
  reads_.swap(reads);  // its memory, for the next instruction
}

}  // namespace triton_runner::simt
