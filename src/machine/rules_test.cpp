// The rules that both engines have from here: what races, what a wait covers, when barriers open, whose trap stays.
#include <triton_runner/machine/async_queue.h>
#include <triton_runner/machine/barriers.h>
#include <triton_runner/machine/grid.h>
#include <triton_runner/machine/history.h>

#include <set>
#include <vector>

#include "test.h"

namespace triton_runner::machine {
namespace {

// One cell and agents that access it.
struct Memory {
  Cell cell;
  std::vector<Record> records = std::vector<Record>(1);
  // Whether the access races with an earlier one.
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
