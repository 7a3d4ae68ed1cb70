// Tests the lookup of addresses in memory, and the worker threads.
#include "test.h"

#include <triton_runner/base/diagnostic.h>
#include <triton_runner/exec/memory.h>
#include <triton_runner/exec/order.h>
#include <triton_runner/exec/pool.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <vector>

using namespace triton_runner::exec;

namespace {
const Memory::Resolve kNobody;
}

TEST(memory_finds_what_holds_the_whole_access) {
  Allocation list[] = {{1000, 100, "a", true}, {2000, 50, "b", false}, {1020, 10, "view of a", true}};
  Memory memory(list, kNobody);
  CHECK_EQ(memory.find(1000, 100)->label, std::string("a"));
  CHECK(memory.find(1000, 101) == nullptr);
  CHECK(memory.find(999, 1) == nullptr);
  CHECK(memory.find(1025, 20) != nullptr);  // past the view, inside of a
  CHECK(memory.find(2049, 1) != nullptr);
  CHECK(memory.find(2049, 2) == nullptr);
  MemoryView view(memory);
  CHECK(view.readable(2000, 50));
  CHECK(!view.writable(2000, 50));
  CHECK(view.writable(1000, 4));
  CHECK(!view.readable(0, 4));
}

TEST(memory_describes_the_nearest) {
  Allocation list[] = {{1000, 100, "argument 'x' (f32[25])", true}};
  Memory memory(list, kNobody);
  CHECK_EQ(memory.describe(1104, 4), std::string("4 bytes past the end of argument 'x' (f32[25])"));
  CHECK_EQ(memory.describe(1100, 4), std::string("right at the end of argument 'x' (f32[25])"));
  CHECK_EQ(memory.describe(999, 1), std::string("1 byte before the start of argument 'x' (f32[25])"));
  CHECK_EQ(memory.describe(1098, 4), std::string("runs 2 bytes past the end of argument 'x' (f32[25])"));
  CHECK_EQ(memory.describe(uint64_t{1} << 45, 4), std::string());  // what lies far away says nothing of it
  Memory none({}, kNobody);
  CHECK_EQ(none.describe(1, 1), std::string(""));
  Allocation empty[] = {{1000, 0, "argument 'x' (f32[0])", true}};
  CHECK_EQ(Memory(empty, kNobody).describe(1000, 4), std::string("argument 'x' (f32[0])"));
}

TEST(memory_of_an_argument_is_its_pointer_s_alone) {
  // Two views of one storage of 100 bytes, and memory without an owner.
  std::vector<Allocation> list{{1000, 40, "argument 'x' (f32[10])"},
                               {1020, 40, "argument 'y' (f32[10])"},
                               {4000, 8, "the parameters of the kernel"}};
  for (uint32_t i = 0; i < 2; ++i) list[i].storage = 1000, list[i].storage_bytes = 100, list[i].owner = i + 1;
  Memory memory(list, kNobody);
  MemoryView view(memory);
  CHECK(view.readable(1056, 4) && view.readable(4000, 8));
  view.keep_to(1);
  CHECK(view.readable(1036, 4) && !view.readable(1056, 4) && !view.readable(4000, 8));
  CHECK(memory.hides(1056, 1) && !memory.hides(1100, 1) && !memory.hides(4000, 1));
  CHECK_EQ(memory.describe(1056, 4, 1020, 1),
           std::string("which lies in the storage of argument 'x' (f32[10]) and is no element of it"));
  view.keep_to(3);  // which has no memory that is known: any
  CHECK(view.owner() == 0 && view.readable(1056, 4));
}

TEST(memory_asks_for_unknown_addresses_once) {
  int asked = 0;
  Memory::Resolve resolve = [&](uint64_t address) -> std::optional<Allocation> {
    ++asked;
    if (address < 5000 || address >= 5100) return std::nullopt;
    return Allocation{5000, 100, "found", true};
  };
  Memory memory({}, resolve);
  CHECK_EQ(memory.find(5010, 4)->label, std::string("found"));
  CHECK(memory.find(5090, 4) != nullptr);
  CHECK_EQ(asked, 1);
  CHECK(memory.find(5098, 4) == nullptr);  // reaches past what was found
  CHECK(memory.find(6000, 4) == nullptr);
}

TEST(memory_asks_for_whole_storages_when_a_view_is_left) {
  int asked = 0;
  Memory::Whole whole = [&] {
    ++asked;
    return std::vector<Allocation>{{1000, 400, "argument 'x' (f32[100])", true}};
  };
  Allocation view[] = {{1100, 100, "", true}};
  Memory memory(view, kNobody, whole);
  CHECK(memory.find(1196, 4) != nullptr);
  CHECK_EQ(asked, 0);
  CHECK_EQ(memory.find(1196, 8)->label, std::string("argument 'x' (f32[100])"));
  CHECK(memory.find(1000, 4) != nullptr);
  CHECK(memory.find(1400, 4) == nullptr);
  CHECK_EQ(asked, 1);
  CHECK_EQ(memory.describe(1404, 4), std::string("4 bytes past the end of argument 'x' (f32[100])"));
}

TEST(orders_are_permutations_that_the_seed_picks) {
  for (uint64_t n : {1, 2, 3, 7, 32, 33, 1000}) {
    std::set<std::vector<uint64_t>> seen;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Permutation order(seed, n);
      std::vector<uint64_t> places;
      for (uint64_t i = 0; i < n; ++i) places.push_back(order(i));
      seen.insert(places);
      std::sort(places.begin(), places.end());
      for (uint64_t i = 0; i < n; ++i) CHECK_EQ(places[i], i);
    }
    CHECK(n < 7 || seen.size() == 8);
  }
  Random random(7);  // splitmix64, on every machine
  CHECK_EQ(random.next(), uint64_t{0x63cbe1e459320dd7});
}

TEST(every_worker_runs_once) {
  for (int workers : {1, 2, 5}) {
    std::atomic<int> sum{0};
    run_workers(workers, [&](int i) { sum += 1 << i; });
    CHECK_EQ(sum.load(), (1 << workers) - 1);
  }
}

TEST(grids_are_checked) {
  CHECK(check_grid({1, 1, 1}).ok());
  CHECK(check_grid({2147483647, 65535, 65535}).ok());
  CHECK(!check_grid({0, 1, 1}).ok());
  CHECK(!check_grid({1, 65536, 1}).ok());
  CHECK(!check_grid({1, 1, -1}).ok());
}

TEST(nearest_names_are_near) {
  using triton_runner::base::nearest_names;
  const std::vector<std::string> names = {"add_kernel", "mul", "--level", "--device", "--check"};
  CHECK_EQ(nearest_names("--levl", names).size(), size_t{1});
  CHECK_EQ(nearest_names("--levl", names)[0], std::string("--level"));
  CHECK_EQ(nearest_names("kernel", names)[0], std::string("add_kernel"));  // a part of it
  CHECK(nearest_names("softmax", names).empty());
  CHECK(nearest_names("x", names).empty());
}

TEST(options_are_named_as_their_reader_has_them) {
  using triton_runner::base::name_options;
  using triton_runner::base::option;
  CHECK_EQ(option("device", "cpu"), std::string("device=\"cpu\""));
  CHECK_EQ(option("programs", "0,5", "[0, 5]"), std::string("programs=[0, 5]"));
  CHECK_EQ(option("block"), std::string("block="));
  name_options({{"device", "--device"}, {"programs", "--programs"}});
  CHECK_EQ(option("device", "cpu"), std::string("--device cpu"));
  CHECK_EQ(option("programs", "0,5", "[0, 5]"), std::string("--programs 0,5"));
  CHECK_EQ(option("block"), std::string("block="));  // the command line lacks it
  name_options({});
}
