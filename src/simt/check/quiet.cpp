// Notes accesses of threads to shared memory where nothing has to be asked of its cells: loads where loads are all that was done
// since a barrier of all warps (quiet words), and copies to where nobody has come since. Cells learn of what is noted before
// something else comes there, which is seldom: without a barrier in between it races, or is the same warp's.
//
//   cp.async to a tile:        fresh or quiet words are in flight, and the copies are noted
//   cp.async.wait_group:       they have landed
//   bar.sync:                  they are quiet; nobody needs to know any more who wrote them (their cells are stale)
//   ldmatrix, four times:      four loads are noted
//   bar.sync, cp.async to it:  nobody needs to know of the loads
//   st.shared to it:           its cells learn that they are defined, and are looked at
#include <bit>

#include "check/state.h"

namespace triton_runner::simt {

using machine::Act;

template <class F>
bool Checks::State::Memory::each_page(std::span<const uint32_t> at, uint32_t each, F f) {
  uint32_t number = kNoRegister;
  uint64_t all = 0;
  for (const uint32_t place : at) {
    if (place == kNoRegister) continue;
    const uint64_t one = words(place, each);
    if (place / kPage != number) {
      if (all && !f(number, all)) return false;
      number = place / kPage, all = 0;
    }
    all |= one;
  }
  return !all || f(number, all);
}

template <class F>
bool Checks::State::Memory::each_page(uint32_t at, uint32_t bytes, F f) {
  for (const uint32_t end = at + bytes; at < end;) {
    const uint32_t n = std::min(end - at, kPage - at % kPage), last = (at + n - 1) % kPage / 4;
    if (!f(at / kPage, ~uint64_t{0} << at % kPage / 4 & ~uint64_t{0} >> (63 - last))) return false;
    at += n;
  }
  return true;
}

void Checks::State::Memory::clear(uint32_t bytes) {
  cells.clear();
  pages.assign((bytes + kPage - 1) / kPage, {});
  loads.clear(), addresses.clear(), landed_pages.clear();
  spare.put_all(copies), spare.put_all(landed);
}

Checks::State::Noted& Checks::State::Memory::add(std::vector<Noted>& to, const Operands& in, uint32_t first,
                                                 uint32_t each) {
  Noted& one = spare.add(to);
  one.in = &in, one.first = first, one.each = each;
  one.records.clear();
  return one;
}

void Checks::State::Memory::land(uint32_t number, uint64_t words) {
  Page& page = pages[number];
  if (!page.landed) landed_pages.push_back(number);
  page.landed |= words;
}

bool Checks::State::takes(Page& page, uint64_t words) const {
  if (words & ~(page.fresh | (page.noted == settlings ? 0 : page.quiet))) return false;
  page.fresh &= ~words, page.quiet &= ~words;
  return true;
}

bool Checks::State::is_quiet(Memory& block, uint32_t number, uint64_t words, bool uninit) {
  Page& page = block.pages[number];
  if ((words & ~page.quiet) == 0) return true;
  if (page.looked_at != settlings) page.looked = page.quiet, page.looked_at = settlings;
  page.looked |= page.flight | page.landed;
  if ((words & ~page.looked) == 0) return false;
  const std::span<const Cell> cells = block.cells.open_cells(uint64_t{number} * kPage, kPage);
  if (cells.empty()) return false;
  const auto is_quiet = [&](const Cell& cell) {
    return !(cell.copy_in | cell.copy_out | cell.atomics[0] | cell.atomics[1]) && (cell.defined || !uninit) &&
           std::max(cell.writer, cell.changer) < settled;
  };
  // From the first word on, up and down, to one that is not quiet.
  const auto size = std::max(kPage / static_cast<uint32_t>(cells.size()), 4u);
  const size_t count = kPage / size, in_one = cells.size() / count,
               from = static_cast<size_t>(std::countr_zero(words & ~page.looked)) * 4 / size;
  const auto look = [&](size_t i) {
    const uint64_t bits = Memory::words(static_cast<uint32_t>(i) * size, size);
    if (bits & page.looked) return false;
    page.looked |= bits;
    const std::span<const Cell> here = cells.subspan(i * in_one, in_one);
    if (!std::all_of(here.begin(), here.end(), is_quiet)) return false;
    page.quiet |= bits, page.fresh &= ~bits;
    return true;
  };
  for (size_t i = from; i < count && look(i);) ++i;
  for (size_t i = from; i > 0 && look(i - 1);) --i;
  return (words & ~page.quiet) == 0;
}

bool Checks::notes_load(const Exec& x, State& s, const Operands& in, const uint32_t* address, uint32_t add,
                        uint32_t each) {
  constexpr size_t kEnough = size_t{1} << 16;  // addresses, where no barrier comes
  if (!std::has_single_bit(each)) return false;
  const uint32_t rank = x.cta->rank;
  State::Memory& block = s.memory[rank];
  if (block.addresses.size() >= kEnough) s.tell_loads(rank);
  const uint32_t n = x.mask ? 0 : repeated(address, x.count, each);
  const bool alike = n != 0 && s.width % n == 0;
  // The first warp that loads, and those after it up to the last.
  uint32_t begin = 0, end = x.count;
  while (begin < end && !mask_bits(x.mask, begin, s.width)) begin += s.width;
  while (end > begin && !mask_bits(x.mask, end - s.width, s.width)) end -= s.width;
  const uint32_t kept = alike ? s.width : end - begin;
  const size_t at = block.addresses.size();
  block.addresses.resize(at + kept);
  uint32_t* to = block.addresses.data() + at;
  for (uint32_t i = 0; i < kept; ++i) to[i] = address[begin + i] + add;
  const auto look = [&](uint32_t number, uint64_t words) {
    State::Page& page = block.pages[number];
    if ((words & ~page.quiet) && !s.is_quiet(block, number, words, uninit_)) return false;
    page.noted = s.settlings;
    return true;
  };
  if (x.mask)
    for (uint32_t i = 0; i < kept; ++i) to[i] = x.mask[begin + i] ? to[i] : kNoRegister;
  const bool is_quiet =
      n ? State::Memory::each_page(to[0], n * each, look) : State::Memory::each_page({to, kept}, each, look);
  if (is_quiet && race_)
    block.loads.push_back({&in, serial_, s.time, x.first + begin, end - begin, each, at, alike});
  else
    block.addresses.resize(at);
  return is_quiet;
}

void Checks::State::tell_loads(uint32_t rank) {
  Memory& block = memory[rank];
  if (block.loads.empty()) return;
  tell_stale(block);
  for (const Load& load : block.loads)
    for (uint32_t w = 0; w < load.count; w += width) {
      const uint32_t* address = block.addresses.data() + load.at + (load.alike ? 0 : w);
      uint64_t on = 0;
      for (uint32_t i = 0; i < width; ++i) on |= uint64_t{address[i] != kNoRegister} << i;
      if (!on) continue;
      const uint32_t thread = load.first + w;
      const machine::Agent& agent = agents[rank * warps + thread / width];
      const uint32_t mine = records.add({{agent.id, load.time, Act::kRead}, thread, load.in, load.serial});
      const auto unordered = [&](uint32_t number) {
        return number >= settled && number != 0 && !agent.is_after(records[number]);
      };
      each_loaded(block.cells, address, on, width, load.each,
                  [&](uint32_t lane, Cell& cell, uint64_t) { cell.add_reader(mine + lane, unordered); });
    }
  block.loads.clear(), block.addresses.clear();
}

bool Checks::notes_copies(const Exec& x, State& s, const Operands& in, const uint32_t* to, uint32_t each) {
  if (!race_ || has_proxy_ || each < kWord || !std::has_single_bit(each)) return false;
  State::Memory& block = s.memory[x.cta->rank];
  const std::span<const uint32_t> all(to, x.count);
  uint32_t taken = 0, parts = 0;  // words, and parts of them
  const auto take = [&](uint32_t number, uint64_t words) {
    State::Page& page = block.pages[number];
    if (!s.takes(page, words)) return false;
    page.flight |= words;
    taken += static_cast<uint32_t>(std::popcount(words));
    ++parts;
    return true;
  };
  // Each thread has words of its own.
  if (!State::Memory::each_page(all, each, take) || taken * kWord != x.count * each) {
    State::Memory::each_page(all, each, [&](uint32_t number, uint64_t words) {
      if (parts-- == 0) return false;
      block.pages[number].flight &= ~words;
      return true;
    });
    return false;
  }
  State::Noted& copy = block.add(block.copies, in, x.first, each);
  copy.to.assign(all.begin(), all.end());
  for (uint32_t i = 0; i < x.count; i += s.width)
    copy.records.push_back(
        record(s.records, s.agent(*x.cta, x.first + i), Act::kWrite, in, x.first + i, serial_));
  return true;
}

bool Checks::notes_stores(const Exec& x, State& s, std::span<const Written> written) {
  const Written& first = written[0];
  const uint32_t each = first.run.each;
  if (!race_ || has_proxy_ || first.owner != x.cta || each < kWord || !std::has_single_bit(each))
    return false;
  State::Memory& block = s.memory[x.cta->rank];
  const auto each_page = [&](auto f) {
    return std::ranges::all_of(written, [&](const Written& w) {
      return State::Memory::each_page(static_cast<uint32_t>(w.run.address), w.run.bytes, f);
    });
  };
  for (const Written& w : written)
    if (machine::all_or_none(w.owner->shared + w.run.address, old_.data() + w.before, w.run.bytes, kWord) !=
        true)
      return false;
  uint32_t parts = 0;
  const bool takes = each_page([&](uint32_t number, uint64_t words) {
    if (!s.takes(block.pages[number], words)) return false;
    block.land(number, words);
    ++parts;
    return true;
  });
  if (!takes) {
    each_page([&](uint32_t number, uint64_t words) {
      if (parts-- == 0) return false;
      block.pages[number].landed &= ~words;
      return true;
    });
    return false;
  }
  State::Noted& store = block.add(block.landed, *first.in, x.first, each);
  store.to.assign(x.count, kNoRegister);
  store.records.assign(x.count / s.width, 0);
  for (const Written& w : written) {
    const uint32_t warp = w.run.lane / s.width, thread = x.first + warp * s.width;
    store.records[warp] = record(s.records, s.agent(*x.cta, thread), Act::kWrite, *first.in, thread, serial_);
    for (uint32_t k = 0; k < w.run.bytes / each; ++k)
      store.to[w.run.lane + k] = static_cast<uint32_t>(w.run.address) + k * each;
  }
  return true;
}

bool Checks::lands_noted(State& s, uint32_t rank, const Operands& in, std::span<const uint32_t> to,
                         uint32_t first, std::span<const uint32_t> records) {
  State::Memory& block = s.memory[rank];
  const auto copy = std::ranges::find_if(block.copies, [&](const State::Noted& one) {
    return one.in == &in && one.first == first && std::ranges::equal(one.to, to);
  });
  if (copy == block.copies.end()) return false;
  State::Memory::each_page(to, copy->each, [&](uint32_t number, uint64_t words) {
    block.pages[number].flight &= ~words;
    block.land(number, words);
    return true;
  });
  copy->records.assign(records.begin(), records.end());
  block.landed.push_back(std::move(*copy));
  block.copies.erase(copy);
  return true;
}

void Checks::State::settle() {
  settled = records.next();
  ++settlings;
  for (Memory& block : memory) {
    block.loads.clear(), block.addresses.clear(), block.spare.put_all(block.landed);
    for (const uint32_t number : block.landed_pages) {
      Page& page = block.pages[number];
      page.quiet |= page.landed, page.stale |= page.landed, page.landed = 0;
    }
    block.landed_pages.clear();
  }
}

void Checks::State::tell_stale(Memory& block) {
  for (uint32_t number = 0; number < block.pages.size(); ++number)
    for (uint64_t words = std::exchange(block.pages[number].stale, 0); words;) {
      const int first = std::countr_zero(words), n = std::countr_one(words >> first);
      block.cells.each(
          number * kPage + 4u * static_cast<uint32_t>(first), 4u * static_cast<uint32_t>(n),
          [](Cell& cell, uint64_t, uint64_t) { Checks::settle(cell, 0); }, kWidest);
      words = first + n < 64 ? words & ~uint64_t{0} << (first + n) : 0;
    }
}

void Checks::State::tell(uint32_t rank) {
  Memory& block = memory[rank];
  tell_stale(block);
  tell_loads(rank);
  const auto each = [&](const std::vector<Noted>& copies, auto f) {
    for (const Noted& copy : copies)
      for (uint32_t i = 0; i < copy.to.size(); ++i)
        if (copy.to[i] != kNoRegister)
          each_of_thread(block.cells, copy.to[i], copy.each,
                         [&](Cell& cell, uint64_t) { f(cell, copy.records[i / width] + i % width); });
  };
  each(block.copies, [](Cell& cell, uint32_t mine) { cell.copy_in = mine; });
  each(block.landed, Checks::settle);
  for (Page& page : block.pages) page.flight = page.landed = 0;
  block.spare.put_all(block.copies), block.spare.put_all(block.landed), block.landed_pages.clear();
}

}  // namespace triton_runner::simt
