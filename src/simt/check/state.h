// Declares the state of the checks for a running cluster: its agents, and the last accesses to each byte.
#pragma once
#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <triton_runner/base/spare.h>
#include <triton_runner/exec/read_set.h>
#include <triton_runner/machine/history.h>

#include "check/check.h"

namespace triton_runner::simt {

// A cell is of 1 to 16 bytes of shared memory, or words of tensor memory.
struct Checks::Cell : machine::Cell {
  uint32_t copy_in = 0, copy_out = 0;  // records of copies and products in flight
  uint64_t again = 0;                  // a bit for each warp that stored the current value
  uint64_t defined = false;
};

// The time of a copy from global memory until somebody has waited for it.
inline constexpr uint32_t kUnderWay = ~uint32_t{0};

// Is set in the ids of agents that no access is recorded of: a warp's, for what it has not acquired.
inline constexpr uint32_t kOfRelaxed = uint32_t{1} << 31;

struct Checks::State {
  using Cells = machine::Cells<Cell, 256>;  // of kPage
  int64_t cluster = 0;                      // its number in the grid
  // No two clusters have agents with the same ids: global memory is one for all. The time of warps is that of the cluster, so
  // that one record can be of several warps.
  uint32_t first_id = 0, time = 1;
  // Atomics of any scope release to the cluster (the first) and to their block; empty where the code has the widest scope alone.
  std::vector<machine::Released> narrow;
  bool published = false;  // an atomic of this instruction has; what comes after it is of a later time
  // The warps of all blocks; the engine that reads the sources of bulk stores, which signal no barrier; and the
  // tensor core. Then one agent per mbarrier whose copies it tracks, in the order in which they are first seen:
  // copies land in any order, so a wait for one barrier says nothing about the copies of another.
  std::vector<machine::Agent> agents;
  // The fences of a warp make known to it what was released where it has made relaxed accesses (met), and to others what came
  // before them (fenced).
  struct Relaxed {
    machine::Agent met;
    machine::Clock fenced;
    uint32_t fence = 0;  // the time of it
  };
  std::vector<Relaxed> relaxed;   // by warp
  uint32_t warps = 0, width = 0;  // of a block; of a warp
  uint32_t all_warps = 0;         // of all blocks
  // A page of shared memory has a bit for each word, by which its cells need not be asked (quiet.cpp). Quiet words are defined,
  // and all accesses to them but loads come before whatever is done now, so that another load of them races with nothing.
  struct Page {
    uint64_t fresh = ~uint64_t{0};   // nobody has come there
    uint64_t quiet = 0, looked = 0;  // looked: whether they are quiet was asked of their cells
    uint64_t flight = 0, landed = 0,
             stale = 0;      // in a noted copy, written by one, and the same before a barrier of all warps
    uint32_t looked_at = 0;  // State::settlings when they were looked at
    uint32_t noted = 0;      // the same of the last load that was noted
    uint64_t noted_words(uint32_t settlings) const {
      return flight | landed | stale | (noted == settlings ? quiet : 0);
    }
  };
  // An access that is noted, and its cells learn of it when something else comes there (tell).
  struct Load {
    const Operands* in;
    uint64_t serial;
    uint32_t time, first, count, each;  // its time, its threads, and the bytes of each
    size_t at;                          // in addresses
    bool alike;                         // the addresses are those of a warp: all load the same
  };
  struct Noted {  // copies or stores
    const Operands* in;
    uint32_t first, each;
    std::vector<uint32_t> to, records;  // by thread, kNoRegister: it is off; by warp
  };
  struct Memory {
    Cells cells;
    std::vector<Page> pages;
    std::vector<Load> loads;
    std::vector<uint32_t> addresses;    // by thread; kNoRegister: it is off
    std::vector<Noted> copies, landed;  // landed: stores too
    base::Spare<Noted> spare;
    std::vector<uint32_t> landed_pages;
    // The words of a thread's `bytes`, which are a power of two, in its page.
    static uint64_t words(uint32_t at, uint32_t bytes) {
      return (bytes < 4 ? uint64_t{1} : (uint64_t{1} << bytes / 4) - 1) << at % kPage / 4;
    }
    Page& page(uint32_t at) { return pages[at / kPage]; }
    // f(number of a page, words of it) for what threads access, until it gives false. False: it did.
    template <class F>
    static bool each_page(std::span<const uint32_t> at, uint32_t each, F f);
    template <class F>
    static bool each_page(uint32_t at, uint32_t bytes, F f);  // the same of a range
    void clear(uint32_t bytes);
    Noted& add(std::vector<Noted>& to, const Operands& in, uint32_t first, uint32_t each);
    void land(uint32_t number, uint64_t words);
  };
  static constexpr uint32_t kPage = 256;
  std::vector<Memory> memory;  // by block
  std::vector<Cells> tensor;   // tensor memory, by block
  // Gives the cells of a block; those of some bytes know of all accesses. touched(): somebody is about to change them.
  Cells& known(uint32_t rank, uint32_t at, uint32_t bytes) { return known(rank, at, bytes, false); }
  Cells& touched(uint32_t rank, uint32_t at, uint32_t bytes) { return known(rank, at, bytes, true); }
  Cells& known(uint32_t rank, uint32_t at, uint32_t bytes, bool change);
  // Something else than a load comes to words of a page. False: somebody has come to them since a barrier of all warps.
  bool takes(Page& page, uint64_t words) const;
  // Returns whether the words of a page are quiet.
  bool is_quiet(Memory& block, uint32_t number, uint64_t words, bool uninit);
  void tell(uint32_t rank);  // the cells of a block of all that is noted
  void tell_loads(uint32_t rank);
  static void tell_stale(Memory& block);
  void tell_loads() {
    for (uint32_t rank = 0; rank < memory.size(); ++rank) tell_loads(rank);
  }
  // All that was done comes before whatever is done from now on.
  void settle();
  // f(lane, cell, address) for the cells that the threads of a warp load that are in `on`.
  template <class F>
  static void each_loaded(Cells& cells, const uint32_t* address, uint64_t on, uint32_t width, uint32_t each,
                          F f);
  Records records;
  uint32_t first_global = 0;  // the numbers of its accesses to global memory begin here
  // Accesses with lower numbers come before whatever any warp does from now on, as at a barrier of all warps; kept as long as no
  // others have accessed the memory.
  uint32_t settled = 1, settlings = 1;  // how often that was so
  bool others = false;
  struct Named {
    machine::Clock known;
    std::vector<uint32_t> arrived;  // agents
  };
  std::vector<Named> named;      // 16 a block
  std::vector<uint32_t> met_at;  // those of them that somebody has come to
  std::unordered_map<uint32_t, machine::Clock> barriers;
  std::unordered_map<uint32_t, uint32_t> copiers;  // agents, by mbarrier
  // NaNs that may be a step of one instruction of the program, by block, place of the register and thread.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Mark> marks;
  // A uniform register of a warp that has parted (block, place, warp): what each lane's own path has written to it.
  struct Uniform {
    std::array<uint32_t, 32> own{};
    uint32_t writers = 0;  // a bit a lane
    bool several = false;  // groups without a common thread wrote to it
    const Instr* writer = nullptr;
  };
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Uniform> uniform;
  using Thread = std::pair<uint32_t, uint32_t>;  // its block and number
  std::map<Thread, const Instr*> callers;
  std::map<std::pair<Thread, uint32_t>, Mark> divisions;                // by zero, by line of the PTX
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Missing> missing;  // by block, place and thread
  const Missing* missing_of(const Exec& x, uint32_t place, uint32_t lane) const {
    const auto found = missing.find({x.cta->rank, place, x.first + lane});
    return found == missing.end() ? nullptr : &found->second;
  }
  struct Stored {
    Missing missing;
    uint32_t bytes;
  };
  std::map<uint64_t, Stored> stored;  // of integers in shared memory, by shared_place()
  std::vector<Origin> origins;
  machine::Clock met[2];  // of the cluster's barrier, by parity of the phase: warps differ by at most one

  // A cluster starts, whose agents have numbers from `first` on. What the one before had space for stays.
  void begin(const Cluster& next, const Code& code, uint32_t first);

  machine::Agent& reader() { return agents[all_warps]; }
  machine::Agent& tensor_core() { return agents[all_warps + 1]; }
  machine::Agent& by_id(uint32_t id) { return agents[id - first_id]; }  // no copier
  bool is_warp(uint32_t id) const { return id - first_id < all_warps; }
  machine::Agent& agent(const Cta& cta, uint32_t thread) {
    machine::Agent& warp = agents[cta.rank * warps + thread / cta.code->width];
    warp.time = time;
    return warp;
  }
  void begin_instruction() {
    time += published;
    published = false;
  }
  machine::Agent fenced_of(const machine::Agent& warp) const;
  void release(machine::Agent& warp, machine::Clock& into) {
    warp.release(into);
    time = std::max(time, warp.time);
  }
};

inline Checks::State& Checks::of(const Exec& x) {
  if (x.cta->cluster != cluster_) cluster_ = x.cta->cluster, state_ = states_[cluster_].get();
  return *state_;
}

inline bool Checks::is_plain(const State& s, const Cell& cell, const Record& me, uint32_t mine) {
  return (me.act == machine::Act::kRead || (me.act == machine::Act::kWrite &&
                                            s.records.record_of(cell.writer) != s.records.record_of(mine))) &&
         !(cell.copy_in | cell.copy_out | cell.atomics[0] | cell.atomics[1]);
}

// All accesses to it come before whatever is done now.
inline bool Checks::is_settled(const State& s, const Cell& cell) {
  return std::max({cell.writer, cell.changer, cell.readers[0], cell.readers[1]}) < s.settled;
}

inline Checks::Same::Key Checks::key_of(const State& s, const Cell& cell, const Record& me, uint32_t mine,
                                        bool changes) const {
  const auto record_of = [&](uint32_t number) {
    return number < s.settled ? 0 : s.records.record_of(number);
  };
  return {serial_,
          2 * s.records.record_of(mine) + changes,
          me.act == machine::Act::kWrite ? record_of(cell.writer) : 0,
          record_of(cell.changer),
          {record_of(cell.readers[0]), record_of(cell.readers[1])}};
}

// Checks an access to a cell of shared memory. `changes`: it writes a value that differs from the old one.
inline bool Checks::touch(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, uint32_t mine,
                          bool changes, Place where) {
  return touch(x, s, in, lane, cell, s.records[mine], mine, changes, where);
}

inline bool Checks::touch(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, const Record& me,
                          uint32_t mine, bool changes, Place where) {
  if (!is_plain(s, cell, me, mine)) return touch_other(x, s, in, lane, cell, mine, nullptr, changes, where);
  if (is_settled(s, cell)) {
    if (me.act == machine::Act::kRead) {
      cell.readers[0] = mine;
      cell.readers[1] = 0;
    } else if (changes) {
      cell.settle(mine);
      cell.again = 0;
    } else {
      cell.writer = mine;
    }
    return true;
  }
  if (const Same::Key key = key_of(s, cell, me, mine, changes); key != same_.key)
    return touch_other(x, s, in, lane, cell, mine, &key, changes, where);
  if (changes) {
    cell.settle(mine);
    cell.again = 0;
  } else if (me.act == machine::Act::kWrite) {
    cell.writer = mine;
  } else {
    for (int i = 0; i < 2; ++i)
      if (same_.readers[i] != Same::Reader::kStays)
        cell.readers[i] = same_.readers[i] == Same::Reader::kMine ? mine : 0;
  }
  return true;
}

template <class T, class F>
size_t Checks::in_a_row(const Exec& x, std::span<const T> all, F run_of) {
  const uint32_t width = x.code().width;
  const Run first = run_of(all[0]);
  size_t n = 0;
  for (; n < all.size(); ++n) {
    const Run run = run_of(all[n]);
    if (run.bytes != width * first.each || run.each != first.each || run.warps != 1 ||
        run.lane != first.lane + n * width || run.address != first.address + n * first.bytes)
      break;
  }
  return n;
}

inline Checks::State::Cells& Checks::State::known(uint32_t rank, uint32_t at, uint32_t bytes, bool change) {
  Memory& block = memory[rank];
  for (const uint32_t end = at + bytes; at < end;) {
    const uint32_t n = std::min(end - at, kPage - at % kPage), last = (at + n - 1) % kPage / 4;
    Page& page = block.page(at);
    const uint64_t words = ~uint64_t{0} << at % kPage / 4 & ~uint64_t{0} >> (63 - last);
    if (page.noted_words(settlings) & words) tell(rank);
    page.fresh &= ~words;
    if (change)
      page.quiet &= ~words;
    else if (page.quiet & words)
      page.noted = settlings;
    at += n;
  }
  return block.cells;
}

// f(cell, its address) for the cells of what a thread accesses.
template <class Cells, class F>
void Checks::each_of_thread(Cells& cells, uint32_t at, uint32_t bytes, F f) {
  const auto open = cells.open_cells(at, bytes);
  if (open.empty())
    return cells.each(at, bytes, [&](Cell& cell, uint64_t begin, uint64_t) { f(cell, begin); }, bytes);
  const auto size = static_cast<uint32_t>(bytes / open.size());
  for (Cell& cell : open) f(cell, at), at += size;
}

// f(cell, its place) for the cells of a range.
template <class F>
void Checks::each_cell(State& s, const Range& range, F f) {
  const uint32_t base = range.tensor ? 0 : range.owner->shared_base;
  const uint32_t rank = range.owner->rank;
  (range.tensor ? s.tensor[rank] : s.touched(rank, range.at, range.count))
      .each(
          range.at, range.count,
          [&](Cell& cell, uint64_t at, uint64_t) {
            f(cell, Place{base | static_cast<uint32_t>(at), range.tensor});
          },
          kWidest);
}

// The facts that are known of an access; nothing for one of the engine's own.
inline const Source& source_of(const Operands& in) {
  static constexpr Source kNone;
  const Source* source = instr_of(in).source;
  return source ? *source : kNone;
}

// The threads that access memory in order before others access the same again: 32 (all), 1 (all the same) or fewer; 0: it is not so.
template <class T>
uint32_t repeated(const T* address, uint32_t width, uint32_t each) {
  uint32_t n = 1;
  while (n < width && address[n] == static_cast<T>(address[n - 1] + each)) ++n;
  return std::memcmp(address + n, address, sizeof(T) * (width - n)) == 0 ? n : 0;
}

template <class F>
void Checks::State::each_loaded(Cells& cells, const uint32_t* address, uint64_t on, uint32_t width,
                                uint32_t each, F f) {
  if (std::popcount(on) == static_cast<int>(width))
    if (const uint32_t n = repeated(address, width, each)) {
      const uint32_t begin = address[0];
      return cells.each(
          begin, n * each,
          [&](Cell& cell, uint64_t at, uint64_t) {
            at = std::max<uint64_t>(at, begin);
            f(static_cast<uint32_t>(at - begin) / each, cell, at);
          },
          each);
    }
  for (; on; on &= on - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(on));
    each_of_thread(cells, address[lane], each,
                   [&](Cell& cell, uint64_t at) { f(lane, cell, std::max<uint64_t>(at, address[lane])); });
  }
}

exec::ReadSet::How how_of(const Source& source, bool write);

// The op and location of an access: "ld.shared.b32 at k.py:7:5 (k.ptx:26:3)".
std::string place_text(const Code& code, const Operands& in);

}  // namespace triton_runner::simt
