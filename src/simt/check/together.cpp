// Checks what the threads of a path access in one instruction together: a warp's threads that go through memory in order make
// one run, whose cells are touched as one (machine::Cells::rows).
//
//   ld.global.v4.b32 of 64 threads, 16 bytes each: two runs of 512 bytes, two records
//
// Checks::global and shared look at each thread by itself, where something has to be said of it: undefined bytes, threads that
// write the same bytes with other values, experiments. Both say the same (together_test.cpp).
#include <algorithm>
#include <bit>
#include <cstring>

#include "check/state.h"
#include "state/operand_data.h"

namespace triton_runner::simt {

using machine::Act;
using Kind = Source::Access;

template <class F>
void Checks::find_row(const Exec& x, uint64_t address, uint32_t each, F on_of) {
  const uint32_t width = x.code().width;
  runs_.clear();
  for (uint32_t w = 0; w < x.count; w += width)
    for (uint64_t on = on_of(w) & (~uint64_t{0} >> (64 - width)); on;) {
      const auto first = static_cast<uint32_t>(std::countr_zero(on)),
                 n = static_cast<uint32_t>(std::countr_one(on >> first));
      runs_.push_back({address + uint64_t{w + first} * each, n * each, each, w + first});
      on &= first + n < 64 ? ~uint64_t{0} << (first + n) : 0;
    }
}

template <class T>
bool Checks::find_runs(const Exec& x, const T* address, T add, const Together& access) {
  const uint32_t width = x.code().width, each = access.each;
  if (access.in_a_row) {
    const uint32_t first = *x.lanes().begin();
    const uint64_t begin = static_cast<T>(address[first] + add) - uint64_t{first} * each;
    find_row(x, begin, each, [&](uint32_t w) { return mask_bits(x.mask, w, width); });
    return true;
  }
  runs_.clear();
  // Whether `n` threads from i on store the same as those from `other` on.
  const auto has_value_of = [&](uint32_t i, uint32_t other, uint32_t n = 1) {
    const Access& a = *access.store;
    const uint64_t size = a.reg_bytes;
    for (uint32_t k = 0; k < a.words; ++k)
      if (const std::byte* reg = x.regs + a.regs[k] + size * x.first;
          a.regs[k] != kNoRegister && std::memcmp(reg + size * i, reg + size * other, size * n) != 0)
        return false;
    return true;
  };
  bool rises = true;
  const auto add_run = [&](uint32_t i, uint32_t bytes) {
    const uint64_t at = static_cast<T>(address[i] + add);
    rises = rises && (runs_.empty() || at >= runs_.back().address + runs_.back().bytes);
    runs_.push_back({at, bytes, each, i});
  };
  for (uint32_t w = 0; w < x.count; w += width) {
    uint64_t on = mask_bits(x.mask, w, width) & (~uint64_t{0} >> (64 - width));
    if (std::popcount(on) == static_cast<int>(width))
      if (const uint32_t n = repeated(address + w, width, each);
          n == width || (n && !access.store) || (n == 1 && has_value_of(w + 1, w, width - 1))) {
        add_run(w, n * each);
        continue;
      }
    for (const size_t first = runs_.size(); on; on &= on - 1) {
      const uint32_t i = w + static_cast<uint32_t>(std::countr_zero(on));
      const uint64_t at = static_cast<T>(address[i] + add);
      if (first < runs_.size()) {
        Run& run = runs_.back();
        const uint64_t end = run.address + run.bytes;
        if (at == end && run.lane_of(at) == i) {
          run.bytes += each;
          continue;
        }
        if (at == run.address && run.bytes == each && (!access.store || has_value_of(i, run.lane)))
          continue;  // the warp does it once
        // Its threads read what some before them read.
        if (!access.store && runs_.size() - 1 > first && run.address == runs_[first].address &&
            run.bytes == runs_[first].bytes)
          runs_.pop_back();
      }
      add_run(i, each);
    }
  }
  return !access.store || rises || !meet(each);
}

bool Checks::meet(uint32_t each) {
  const auto is_place = [&](const Run& run) {
    return run.address % each == 0 && run.address + run.bytes <= uint64_t{kOffsetMask} + 1;
  };
  if (!std::ranges::all_of(runs_, is_place)) {
    std::vector<std::pair<uint64_t, uint64_t>> ends;
    for (const Run& run : runs_) ends.emplace_back(run.address, run.address + run.bytes);
    std::sort(ends.begin(), ends.end());
    return std::adjacent_find(ends.begin(), ends.end(),
                              [](const auto& a, const auto& b) { return a.second > b.first; }) != ends.end();
  }
  bool met = false;
  const auto each_bit = [&](const auto& f) {
    for (const Run& run : runs_)
      for (uint64_t place = run.address / each; place < (run.address + run.bytes) / each; ++place) {
        if (place / 64 >= stored_.size()) stored_.resize(place / 64 + 1);
        f(stored_[place / 64], uint64_t{1} << place % 64);
      }
  };
  each_bit([&](uint64_t& word, uint64_t bit) { met = met || word & bit, word |= bit; });
  each_bit([](uint64_t& word, uint64_t bit) { word &= ~bit; });
  return met;
}

bool Checks::looks_together(const Exec& x, const Operands& in, Kind access) const {
  return x.path && !overflow_ && !x.worker->launch->other_order && !launch_.options->substitution &&
         source_of(in).access == access && !launch_.stops(*x.cta->cluster);
}

template <class T>
bool Checks::at_once(Exec& x, const Operands& in, const T* address, T add, const Together& access) {
  const uint32_t each = access.each;
  const bool write = access.store;
  constexpr bool kGlobal = sizeof(T) == sizeof(uint64_t);
  const Source& source = source_of(in);
  if (!looks_together(x, in, Kind::kPlain)) return false;
  if (!race_ && !uninit_ && !(kGlobal && unwritten_.any())) return true;
  State& s = of(x);
  if constexpr (!kGlobal)
    if (!write) return reads_shared(x, s, in, address, add, each);
  if (!find_runs(x, address, add, access)) return false;
  if constexpr (kGlobal) {
    if (uninit_ && !write && unwritten_.any())
      for (const Run& run : runs_)
        if (unwritten_.first(run.address, run.bytes)) return false;
    exec::ReadSet* reads = launch_.options->reads;
    if (reads && (!write || reads->keeps_all()))
      for (const Run& run : runs_)
        reads->note(
            &in, run.address, run.bytes, [&] { return place_text(*launch_.code, in); },
            how_of(source, write));
    if (write && unwritten_.any())
      for (const Run& run : runs_) unwritten_.write(run.address, run.bytes);
    if (!race_) return true;
    if (!write) {
      reads_.insert(reads_.end(), runs_.begin(), runs_.end());
      return true;
    }
    for (const Run& run : runs_) {
      tell(run.address, run.bytes);
      put_off(in, nullptr, run, reinterpret_cast<const std::byte*>(run.address));
    }
    return true;
  } else {
    for (const Run& run : runs_) put_off(in, x.cta, run, x.cta->shared + run.address);
    return true;
  }
}

bool Checks::may_make_rows(Exec& x, std::span<const RowAccess> rows) {
  if (launch_.options->reads) return false;
  const auto bytes_of = [&](const RowAccess& row) { return uint64_t{row.each} * x.count; };
  for (const RowAccess& row : rows) {
    if (row.each == 0) continue;
    const uint64_t bytes = bytes_of(row);
    if (!looks_together(x, *row.in, Kind::kPlain)) return false;
    if (uninit_ && !row.store && unwritten_.any() && unwritten_.first(row.address, bytes)) return false;
    // Nobody has come there, or only for reads.
    if (race_ && !global_.only_rows(
                     row.address, bytes, std::min(row.each, uint32_t{kWord}), [&](const machine::Cell& cell) {
                       return !row.store && !(cell.writer | cell.changer | cell.atomics[0] | cell.atomics[1]);
                     }))
      return false;
    // Nobody could tell afterwards what the first of two stores to one place has changed.
    for (const RowAccess* other = rows.data(); row.store && other < &row; ++other)
      if (other->store && other->address < row.address + bytes &&
          row.address < other->address + bytes_of(*other))
        return false;
  }
  if (race_)
    for (const RowAccess& row : rows) {
      if (!row.store) continue;
      const uint64_t bytes = bytes_of(row);
      tell(row.address, bytes);
      const auto* at = reinterpret_cast<const std::byte*>(row.address);
      old_.insert(old_.end(), at, at + bytes);
    }
  return true;
}

void Checks::made_rows(Exec& x, std::span<const RowAccess> rows) {
  State& s = of(x);
  const uint64_t serial = serial_;  // of the run's first instruction
  const uint32_t width = x.code().width, warps = x.count / width;
  size_t before = 0;
  for (const RowAccess& row : rows) {
    if (row.each == 0) {
      before_other(x, instr_of(*row.in));
      after_other(x, instr_of(*row.in));
      continue;
    }
    const size_t old = before;
    if (row.store) before += size_t{row.each} * x.count;
    const auto on_of = [&](uint32_t w) {
      const uint64_t on = mask_bits(row.guard, w, width);
      return row.guard_flip ? ~on : on;
    };
    serial_ = serial + row.at;
    bool all = race_ && warps > 1 && !unwritten_.any();
    for (uint32_t w = 0; w < x.count && all; w += width) all = !(~on_of(w) & (~uint64_t{0} >> (64 - width)));
    const std::byte* was = row.store ? old_.data() + old : nullptr;
    if (all && touch_together(x, s, row.store ? Act::kWrite : Act::kRead, *row.in,
                              {row.address, width * row.each, row.each, 0}, warps, was))
      continue;
    find_row(x, row.address, row.each, on_of);
    if (row.store && unwritten_.any())
      for (const Run& run : runs_) unwritten_.write(run.address, run.bytes);
    if (!race_) continue;
    if (!row.store) {
      reads_.swap(runs_);
      flush_reads(x, *row.in);
      continue;
    }
    for (const Run& run : runs_)
      written_.push_back({row.in, nullptr, run, old + static_cast<size_t>(run.address - row.address)});
    examine(x, written_);
    written_.clear();
  }
  serial_ = serial;
  old_.clear();
}

// If something is not defined, the threads are looked at one by one, and what they access is touched once more.
bool Checks::reads_shared(Exec& x, State& s, const Operands& in, const uint32_t* address, uint32_t add,
                          uint32_t each) {
  if (notes_load(x, s, in, address, add, each)) return true;
  const Cta& cta = *x.cta;
  const uint32_t width = cta.code->width;
  for (const uint32_t i : x.lanes()) s.known(cta.rank, address[i] + add, each);
  State::Cells& cells = s.memory[cta.rank].cells;
  std::array<uint32_t, 64> at_lane;
  bool ok = true;
  for (uint32_t w = 0; w < x.count && ok; w += width) {
    const uint64_t on = mask_bits(x.mask, w, width) & (~uint64_t{0} >> (64 - width));
    if (!on) continue;
    const uint32_t first = x.first + w;
    if (race_) record(s.records, s.agent(cta, first), Act::kRead, in, first, serial_);
    const uint32_t mine = s.records.number_of(first);
    const Record& me = s.records[mine];
    for (uint32_t i = 0; i < width; ++i) at_lane[i] = address[w + i] + add;
    State::each_loaded(cells, at_lane.data(), on, width, each, [&](uint32_t lane, Cell& cell, uint64_t at) {
      ok = ok && (!uninit_ || cell.defined || cell.copy_in);
      ok = ok && (!race_ || touch(x, s, in, w + lane, cell, me, mine + lane, false,
                                  Place{cta.shared_base | static_cast<uint32_t>(at)}));
    });
  }
  return ok;
}

bool Checks::copies_at_once(Exec& x, const Operands& in, const uint32_t* to, const uint64_t* from,
                            uint32_t each, std::vector<uint32_t>& reading) {
  if (!looks_together(x, in, Kind::kCopy)) return false;
  if (!race_ && !uninit_) return true;
  State& s = of(x);
  const Cta& cta = *x.cta;
  if (from) {
    find_runs(x, from, uint64_t{0}, {each});
    if (uninit_ && unwritten_.any())
      for (const Run& run : runs_)
        if (unwritten_.first(run.address, run.bytes)) return false;
  }
  bool ok = true;
  if (!notes_copies(x, s, in, to, each)) {
    State::Cells& cells = s.memory[cta.rank].cells;
    uint32_t mine = 0;
    for (uint32_t i = 0; i < x.count; ++i) s.touched(cta.rank, to[i], each);
    for (uint32_t i = 0; i < x.count && ok; ++i, ++mine) {
      const uint32_t thread = x.first + i;
      if (i % cta.code->width == 0)
        mine = record(s.records, s.agent(cta, thread), Act::kWrite, in, thread, serial_);
      const Record& me = s.records[mine];
      each_of_thread(cells, to[i], each, [&](Cell& cell, uint64_t at) {
        if (race_ && !(is_plain(s, cell, me, mine) &&
                       (is_settled(s, cell) || key_of(s, cell, me, mine, true) == same_.key))) {
          Cell probe = cell;
          ok = ok &&
               touch(x, s, in, i, probe, me, mine, true, Place{cta.shared_base | static_cast<uint32_t>(at)});
        }
        if (ok) cell.copy_in = mine;
      });
    }
  }
  if (!from || !ok) return ok;
  reading.resize(x.count / cta.code->width);
  for (const Run& run : runs_) {
    if (exec::ReadSet* reads = launch_.options->reads)
      reads->note(
          &in, run.address, run.bytes, [&] { return place_text(*launch_.code, in); },
          exec::ReadSet::How::kRead);
    if (!race_) continue;
    const uint32_t read = global_record(x, s, Act::kRead, in, run.lane, 1);
    if (!is_one_more(s, run.address, run.bytes, run.each) && !touch_global(x, s, in, read, run, nullptr))
      return false;
    global_records_[read].time = kUnderWay;
    reading[run.lane / cta.code->width] = read;
  }
  return true;
}

template bool Checks::at_once(Exec&, const Operands&, const uint32_t*, uint32_t, const Together&);
template bool Checks::at_once(Exec&, const Operands&, const uint64_t*, uint64_t, const Together&);

}  // namespace triton_runner::simt
