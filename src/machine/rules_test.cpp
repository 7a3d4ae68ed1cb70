// Tests the rules that both engines take from this folder: what races, what a wait covers, when barriers
// open, whose trap stays.
#include <triton_runner/machine/async_queue.h>
#include <triton_runner/machine/barriers.h>
#include <triton_runner/machine/grid.h>
#include <triton_runner/machine/history.h>
#include <triton_runner/machine/released.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "test.h"

namespace triton_runner::machine {
namespace {

// One cell and agents that access it.
struct Memory {
  Cell cell;
  std::vector<Record> records = std::vector<Record>(1);
  // Returns whether the access races with an earlier one.
  bool races(const Agent& agent, Act act, bool changes) {
    records.push_back({agent.id, agent.time, act});
    return cell.touch(
               static_cast<uint32_t>(records.size() - 1), act, changes,
               [&](uint32_t r) { return r != 0 && !agent.is_after(records[r]); },
               [&](uint32_t r) { return records[r].act; }) != 0;
  }
};

TEST(two_accesses_race_if_one_changes_what_the_other_sees) {
  struct Pair {
    Act first;
    bool first_changes;
    Act second;
    bool second_changes, race;
  };
  const Pair pairs[] = {
      {Act::kRead, false, Act::kRead, false, false},
      {Act::kRead, false, Act::kWrite, true, true},
      {Act::kRead, false, Act::kWrite, false, false},  // the value that is there
      {Act::kWrite, true, Act::kRead, false, true},
      {Act::kWrite, true, Act::kWrite, false, false},  // both write the same
      {Act::kWrite, false, Act::kWrite, true, true},
      {Act::kWrite, true, Act::kAtomic, true, true},
      {Act::kAtomic, true, Act::kAtomic, true, false},
      {Act::kAtomic, true, Act::kRead, false, true},
      {Act::kAtomicRead, false, Act::kRead, false, false},
      {Act::kAtomicRead, false, Act::kWrite, true, true},
      {Act::kWrite, true, Act::kAtomicRead, false, true},
  };
  for (const Pair& p : pairs) {
    Memory unordered, ordered;
    Agent a{1}, b{2}, c{3};
    CHECK(!unordered.races(a, p.first, p.first_changes));
    CHECK_EQ(unordered.races(b, p.second, p.second_changes), p.race);
    ordered.races(a, p.first, p.first_changes);
    a.release(c.seen);
    CHECK(!ordered.races(c, p.second, p.second_changes));
  }
}

// Cells that were touched long ago are packed; they are all there when they are touched again.
TEST(a_history_keeps_every_cell) {
  constexpr uint64_t kBytes = 1024, kPages = 6000, kCells = kBytes / 4;
  using Fill = Cell (*)(uint32_t page, uint32_t i);
  const Fill fills[] = {
      [](uint32_t page, uint32_t) { return Cell{page + 1, page + 1}; },              // one record
      [](uint32_t page, uint32_t i) { return Cell{32 * page + i, 32 * page + i}; },  // one a thread
      [](uint32_t page, uint32_t i) { return Cell{7 + page + i / 3, i & 1}; },  // values that are there, too
      [](uint32_t, uint32_t i) { return Cell{i * 2654435761u, i * 40503u}; },   // in no order
      [](uint32_t page, uint32_t i) { return Cell{0, 0, {page, i % 7}, {i % 2, 9}}; },
      [](uint32_t, uint32_t i) { return i % 5 < 2 ? Cell{} : Cell{i, 3, {4, i / 2}}; },
  };
  History history;
  constexpr uint32_t kFills = std::size(fills);
  const auto expected = [&](uint64_t page, uint64_t i) {
    return fills[page % kFills](static_cast<uint32_t>(page), static_cast<uint32_t>(i));
  };
  for (uint64_t page = 0; page < kPages; ++page)
    history.each(page * kBytes, kBytes, [&](Cell& cell, uint64_t at, uint64_t size) {
      CHECK_EQ(size, uint64_t{4});
      cell = expected(page, at % kBytes / 4);
    });
  uint64_t wrong = 0, cells = 0;
  for (uint64_t page = 0; page < kPages; ++page)
    history.each(page * kBytes, kBytes, [&](const Cell& cell, uint64_t at, uint64_t) {
      ++cells;
      wrong += cell != expected(page, at % kBytes / 4);
    });
  CHECK_EQ(cells, kPages * kCells);
  CHECK_EQ(wrong, uint64_t{0});
  // Finer than words, and packed again.
  history.each(3 * kBytes + 5, 1, [](Cell& cell, uint64_t, uint64_t) { cell.settle(9); });
  for (uint64_t page = 100; page < kPages; ++page)
    history.each(page * kBytes, 1, [](Cell&, uint64_t, uint64_t) {});
  for (uint64_t byte = 0; byte < kBytes; ++byte)
    history.each(3 * kBytes + byte, 1, [&](const Cell& cell, uint64_t, uint64_t size) {
      CHECK_EQ(size, uint64_t{1});
      CHECK(cell == (byte == 5 ? Cell{9, 9} : expected(3, byte / 4)));
    });
}

// An access that begins within a word ends within one, in the next page too.
TEST(a_row_that_begins_within_a_word_goes_over_pages) {
  History history;
  uint64_t covered = 0;
  const auto row = [&](History::Row& r, uint64_t, uint64_t bytes, uint64_t size) {
    CHECK_EQ(size, uint64_t{2});
    covered += bytes;
    r.cell.settle(5);
    return true;
  };
  history.rows(2 * 1024 - 6, 16, 4, row, [](Cell&, uint64_t, uint64_t) { CHECK(false); });
  CHECK_EQ(covered, uint64_t{16});
}

// Warps lay a row together: whoever comes next finds each of them.
TEST(a_row_of_several_warps_is_one_of_each) {
  constexpr uint32_t kWarp = 32, kFirst = 7 * kWarp;
  for (const uint32_t each : {1u, 2u, 4u, 16u})
    for (const bool writes : {false, true})
      for (const uint64_t begin : {uint64_t{64}, uint64_t{1024 - 64}, uint64_t{3 * 1024 - 192}}) {
        const uint64_t bytes = uint64_t{4} * kWarp * each, unit = std::min(each, 4u);
        History history;
        CHECK(history.is_fresh(begin, bytes, unit));
        history.lay(begin, bytes, each, kWarp,
                    writes ? Cell{kFirst, each > 2 ? kFirst : 0} : Cell{0, 0, {kFirst, 0}});
        CHECK(!history.is_fresh(begin + bytes - each, each, unit));
        CHECK(!history.is_fresh(begin - 16, 32, unit));
        const auto is_right = [&](const Cell& cell, uint64_t at) {
          const auto number = kFirst + static_cast<uint32_t>((at - begin) / each);
          const auto warp = [](uint32_t n) { return n / kWarp; };
          return writes ? cell == Cell{number, each > 2 ? number : 0}
                        : warp(cell.readers[0]) == warp(number) && cell.writer == 0 && cell.changer == 0;
        };
        // The second warp's place, beginning within it; then what is left, cell by cell.
        uint64_t seen = 0;
        const uint64_t from = begin + (kWarp + 1) * each, count = uint64_t{2} * kWarp * each;
        history.rows(
            from, count, unit,
            [&](History::Row& r, uint64_t at, uint64_t size, uint64_t cell) {
              for (uint64_t i = 0; i < size / cell; ++i)
                CHECK(is_right(r.at(static_cast<uint32_t>(r.begin + i)), at + i * cell));
              CHECK_EQ(r.at(r.begin).readers[0] / kWarp,
                       r.at(static_cast<uint32_t>(r.end - 1)).readers[0] / kWarp);  // of one warp
              seen += size;
              return true;
            },
            [&](const Cell& cell, uint64_t at, uint64_t size) {
              CHECK(is_right(cell, at));
              seen += size;
            });
        CHECK_EQ(seen, count);
        history.each(begin, bytes,
                     [&](const Cell& cell, uint64_t at, uint64_t) { CHECK(is_right(cell, at)); });
      }
}

// Warps that read what they have read before are the readers from then on, unless somebody else has come to some of it.
TEST(warps_lay_what_they_have_read_again) {
  constexpr uint32_t kWarp = 32, kFirst = 7 * kWarp, kNow = 20 * kWarp;
  const auto is_same = [](uint32_t number, uint32_t now) { return now - number == kNow - kFirst; };
  const auto is_read = [](const Cell& cell) { return cell.readers[0] != 0; };
  for (const uint32_t each : {1u, 4u, 16u})
    for (const uint64_t begin : {uint64_t{64}, uint64_t{3 * 1024 - 192}}) {
      const uint64_t bytes = uint64_t{4} * kWarp * each, unit = std::min(each, 4u);
      History history;
      CHECK(!history.lay_again(begin, bytes, each, kWarp, kNow, is_same));
      CHECK(!history.all_rows(begin, bytes, unit, is_read));
      CHECK(history.is_fresh(begin, bytes, unit));
      history.lay(begin, bytes, each, kWarp, Cell{0, 0, {kFirst, 0}});
      CHECK(history.all_rows(begin, bytes, unit, is_read));
      CHECK(!history.all_rows(begin, bytes + 16, unit, is_read));
      CHECK(!history.all_rows(begin, bytes, unit, [](const Cell& cell) { return cell.writer != 0; }));
      CHECK(!history.lay_again(begin, bytes, each, kWarp, kNow, [](uint32_t, uint32_t) { return false; }));
      CHECK(!history.lay_again(begin + each, bytes - each, each, kWarp, kNow, is_same));
      CHECK(!history.lay_again(begin, bytes + each, each, kWarp, kNow, is_same));
      const auto readers_are = [&](uint32_t first) {
        history.each(begin, bytes, [&](const Cell& cell, uint64_t at, uint64_t) {
          CHECK(cell == (Cell{0, 0, {first + static_cast<uint32_t>((at - begin) / each), 0}}));
        });
      };
      CHECK(history.lay_again(begin, bytes, each, kWarp, kNow, is_same));
      readers_are(kNow);
      CHECK(!history.lay_again(begin, bytes, each, kWarp, kNow, is_same));  // it has cells of its own
    }
  // Somebody has written to the second page of it.
  History history;
  CHECK(history.is_fresh(1024 - 64, 128, 4));
  history.lay(1024 - 64, 128, 4, kWarp, Cell{0, 0, {kFirst, 0}});
  history.rows(
      1024, 64, 4, [](History::Row& r, uint64_t, uint64_t, uint64_t) { return r.cell.writer = 3, true; },
      [](Cell&, uint64_t, uint64_t) { CHECK(false); });
  CHECK(!history.lay_again(1024 - 64, 128, 4, kWarp, kNow, is_same));
  history.each(1024 - 64, 64, [&](const Cell& cell, uint64_t at, uint64_t) {
    CHECK_EQ(cell.readers[0], kFirst + static_cast<uint32_t>(at - (1024 - 64)) / 4);
  });
}

TEST(a_cleared_history_knows_nothing) {
  History history;
  const auto settle_row = [](History::Row& r, uint64_t, uint64_t, uint64_t) {
    r.cell.settle(5);
    return true;
  };
  const auto settle = [](Cell& cell, uint64_t, uint64_t) { cell.settle(6); };
  for (int turn = 0; turn < 3; ++turn) {
    int rows = 0, cells = 0;
    for (uint64_t page = 0; page < 40; ++page) {
      const uint64_t at = page * 1024;
      // Whole pages are of 16 bytes a cell again, and one row.
      history.rows(
          at, 1024, 16,
          [&](History::Row& r, uint64_t, uint64_t bytes, uint64_t) {
            CHECK(r.cell == Cell{});
            CHECK_EQ(bytes, uint64_t{1024});
            ++rows;
            return true;
          },
          settle);
      history.rows(at, 128, 4, settle_row, settle);
      if (page % 3 == 0) history.each(at + 5, 1, settle);
    }
    history.clear();
    history.each(0, 40 * 1024, [&](const Cell& cell, uint64_t, uint64_t size) {
      CHECK(cell == Cell{});
      CHECK_EQ(size, uint64_t{4});
      ++cells;
    });
    history.clear();
    CHECK_EQ(rows, 40);
    CHECK_EQ(cells, 40 * 256);
  }
}

TEST(a_clock_sees_the_later_time_of_each_agent) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 500; ++turn) {
    Times a, b;
    std::map<uint32_t, uint32_t> latest;
    for (Times* clock : {&a, &b})
      for (uint32_t n = random() % 8; n > 0; --n) {
        const uint32_t agent = random() % 12, time = 1 + random() % 5;
        clock->see(agent, time);
        latest[agent] = std::max(latest[agent], time);
      }
    a.see(b);
    for (uint32_t agent = 0; agent < 12; ++agent) CHECK_EQ(a.of(agent), latest[agent]);
    CHECK(a.includes(b));
    a.clear();
    for (uint32_t agent = 0; agent < 12; ++agent) CHECK_EQ(a.of(agent), 0u);
  }
}

// As if each address had a clock of its own.
TEST(clocks_of_atomics_are_those_of_each_address) {
  constexpr uint32_t kAgents = 6, kAddresses = 40;
  std::vector<Agent> agents(kAgents), plain_agents;
  for (uint32_t a = 0; a < kAgents; ++a) agents[a].id = a + 1;
  plain_agents = agents;
  Released released;
  std::vector<Clock> plain(kAddresses);
  uint32_t random = 1;
  const auto below = [&](uint32_t n) { return (random = random * 1664525 + 1013904223) / 65536 % n; };
  for (uint64_t serial = 1; serial < 3000; ++serial) {
    const uint32_t a = below(kAgents), first = below(kAddresses), count = 1 + below(kAddresses - first);
    const bool acquires = below(3) != 0, publishes = below(4) != 0, together = below(2) != 0;
    const uint64_t step = 2 * (1 + below(2));  // halves of words, too
    const auto each = [&](bool acquire, bool publish) {
      for (uint64_t i = first; i < first + count; i += step / 2) {
        if (acquire) released.acquire(4096 + 2 * i, agents[a]), plain_agents[a].seen.see(plain[i]);
        if (publish) released.publish(4096 + 2 * i, agents[a], serial), plain_agents[a].publish(plain[i]);
      }
    };
    if (together) {
      each(acquires, publishes);
    } else {
      each(acquires, false);
      each(false, publishes);
    }
    if (below(5) == 0) agents[a].fence(), plain_agents[a].fence();
    ++agents[a].time, ++plain_agents[a].time;
    for (uint32_t b = 0; b < kAgents; ++b) {
      CHECK(agents[b].seen.includes(plain_agents[b].seen));
      CHECK(plain_agents[b].seen.includes(agents[b].seen));
    }
  }
}

TEST(a_fence_makes_known_what_came_before_it) {
  Agent writer{1}, reader{2};
  const Record write{writer.id, writer.time, Act::kWrite};
  Agent early = writer;
  early.release(reader.seen);
  CHECK(reader.is_after(write));
  CHECK(!reader.is_fenced_after(write));
  writer.fence();
  writer.release(reader.seen);
  CHECK(reader.is_fenced_after(write));
}

TEST(a_wait_covers_all_but_the_newest_groups) {
  AsyncQueue<int> copies;
  std::vector<int> landed;
  const auto land = [&](int copy) { landed.push_back(copy); };
  copies.issue(1, 0);
  copies.issue(9, 1);  // of another agent
  copies.issue(2, 0);
  copies.commit(0);
  copies.issue(3, 0);
  copies.commit(0);
  copies.issue(4, 0);  // in no group
  copies.issue(8);     // a barrier tells of it
  copies.wait(0, 2, land);
  CHECK_EQ(landed, std::vector<int>{});
  copies.wait(0, 1, land);
  CHECK_EQ(landed, (std::vector<int>{1, 2}));
  copies.wait(0, 0, land);
  CHECK_EQ(landed, (std::vector<int>{1, 2, 3}));
  copies.take_all(0, land);
  CHECK_EQ(landed, (std::vector<int>{1, 2, 3, 4}));
  while (copies.take_oldest(land)) {
  }
  CHECK_EQ(landed, (std::vector<int>{1, 2, 3, 4, 9, 8}));
}

TEST(timing_says_what_takes_effect_after_an_issue) {
  for (const exec::Timing::Kind kind : {exec::Timing::kUsual, exec::Timing::kEager, exec::Timing::kRandom}) {
    AsyncQueue<int> queue;
    exec::Timing timing;
    timing.kind = kind;
    queue.begin(timing, 0);
    std::vector<int> landed;
    size_t late = 0;
    for (int i = 0; i < 64; ++i) {
      queue.issue(i);
      queue.settle([](const auto&) { return true; }, [&](int op) { landed.push_back(op); });
      late += queue.ops().size();
    }
    CHECK(std::is_sorted(landed.begin(), landed.end()));
    CHECK_EQ(landed.empty(), kind == exec::Timing::kUsual);
    CHECK_EQ(late == 0, kind == exec::Timing::kEager);
  }
}

TEST(barriers_open_when_all_have_arrived) {
  NamedBarrier named;
  CHECK(!named.arrive(32, 64, 128));
  CHECK(named.arrive(32, 64, 128));
  CHECK(!named.arrive(96, 0, 128));
  CHECK(named.arrive(0, 0, 96));  // the others have ended
  CHECK_EQ(named.passed, uint64_t{2});
  ClusterBarrier cluster;
  const uint64_t ticket = cluster.ticket();
  CHECK(!cluster.arrive(1, 2));
  CHECK(!cluster.is_open(ticket));
  CHECK(cluster.settle(1));
  CHECK(cluster.is_open(ticket));
}

TEST(each_unit_is_taken_once_and_the_lowest_trap_stays) {
  exec::LaunchOptions options;
  const exec::Memory memory({}, {}, {});
  Grid grid;
  grid.begin(options, memory, 100);
  grid.workers = 2;
  Taker first(grid), second(grid);
  std::set<int64_t> taken;
  for (Taker* taker : {&first, &second, &first, &second})
    for (int64_t unit = 0, n = 0; n < 30 && (unit = taker->take()) >= 0; ++n)
      CHECK(taken.insert(unit).second);
  CHECK_EQ(taken.size(), size_t{100});
  for (int64_t number : {70, 20, 50}) {
    exec::Trap trap;
    trap.message = std::to_string(number);
    grid.record(trap, number);
  }
  CHECK_EQ(grid.trap->message, "20");
  CHECK(grid.stops(20));
  CHECK(!grid.stops(19));
}

TEST(blocks_of_a_cluster_are_neighbours) {
  CHECK_EQ(block_in({4, 4, 1}, {2, 2, 1}, 1, 0), (std::array<int64_t, 3>{2, 0, 0}));
  CHECK_EQ(block_in({4, 4, 1}, {2, 2, 1}, 2, 3), (std::array<int64_t, 3>{1, 3, 0}));
}

}  // namespace
}  // namespace triton_runner::machine
