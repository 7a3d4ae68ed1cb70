// Tests memory through the driver's symbols: pools of a place, allocations without bytes, advice about managed memory, and
// what a module's file may end with.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "test_context.h"

using namespace triton_runner;
using namespace triton_runner::driver;

namespace {

constexpr Location kDevice{1, 0}, kHost{2, 0}, kNone{0, 0};
constexpr int kPinned = 1, kManaged = 2;

std::array<int, 4> told(Address at, int attribute) {
  std::array<int, 4> out{7, 7, 7, 7};
  const size_t bytes = attribute == 3 ? sizeof out : 4;
  CHECK_EQ(cuMemRangeGetAttribute(out.data(), bytes, attribute, at, 64), 0);
  return out;
}

}  // namespace

TEST(each_place_has_a_pool) {
  Fixture f;
  Handle device = nullptr, managed = nullptr, again = nullptr, own = nullptr;
  CHECK_EQ(cuMemGetMemPool(&device, &kDevice, kPinned), 0);
  CHECK_EQ(cuDeviceGetMemPool(&again, 0), 0);
  CHECK_EQ(again, device);
  CHECK_EQ(cuMemGetMemPool(&managed, &kNone, kManaged), 0);
  CHECK(managed != device);
  CHECK_EQ(cuMemGetMemPool(&again, &kNone, kPinned), 1);
  const Location other{1, 1};
  CHECK_EQ(cuMemGetMemPool(&again, &other, kPinned), 101);
  PoolProperties properties{};
  properties.allocation_type = kPinned, properties.location = kDevice;
  CHECK_EQ(cuMemPoolCreate(&own, &properties), 0);
  CHECK_EQ(cuMemSetMemPool(&kNone, kManaged, own), 1);  // its memory is of another type
  CHECK_EQ(cuMemSetMemPool(&kDevice, kPinned, own), 0);
  CHECK_EQ(cuDeviceGetMemPool(&again, 0), 0);
  CHECK_EQ(again, own);
  CHECK_EQ(cuMemGetDefaultMemPool(&again, &kDevice, kPinned), 0);
  CHECK_EQ(again, device);
  CHECK_EQ(cuMemPoolDestroy(own), 0);
  CHECK_EQ(cuDeviceGetMemPool(&again, 0), 0);
  CHECK_EQ(again, device);
  Address at = 0;
  unsigned is_managed = 0;
  CHECK_EQ(cuMemAllocFromPoolAsync(&at, 64, managed, nullptr), 0);
  CHECK_EQ(cuPointerGetAttribute(&is_managed, 8, at), 0);
  CHECK_EQ(is_managed, 1u);
  CHECK_EQ(cuMemFreeAsync(at, nullptr), 0);
}

TEST(a_pool_of_the_host_gives_pinned_memory) {
  Fixture f;
  int has_them = 0;
  CHECK_EQ(cuDeviceGetAttribute(&has_them, 144, 0), 0);
  CHECK_EQ(has_them, 1);
  PoolProperties properties{};
  properties.allocation_type = kPinned, properties.location = {2, 0};
  Handle pool = nullptr;
  CHECK_EQ(cuMemPoolCreate(&pool, &properties), 0);
  Address at = 0;
  unsigned type = 0;
  CHECK_EQ(cuMemAllocFromPoolAsync(&at, 64, pool, nullptr), 0);
  CHECK_EQ(cuPointerGetAttribute(&type, 2, at), 0);
  CHECK_EQ(type, 1u);  // the host's
  auto* values = reinterpret_cast<float*>(at);
  for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
  CHECK_EQ(f.launch(at, 16), 0);
  CHECK_EQ(values[15], 30.0f);
  CHECK_EQ(cuMemFreeHost(values), 1);  // it belongs to its pool
  uint64_t used = 0;
  CHECK_EQ(cuMemPoolGetAttribute(pool, 7, &used), 0);
  CHECK_EQ(used, uint64_t{64});
  CHECK_EQ(cuMemFreeAsync(at, nullptr), 0);
  CHECK_EQ(cuMemPoolGetAttribute(pool, 7, &used), 0);
  CHECK_EQ(used, uint64_t{0});
  void* pinned = nullptr;
  CHECK_EQ(cuMemHostAlloc(&pinned, 64, 0), 0);
  CHECK_EQ(cuMemFree_v2(reinterpret_cast<Address>(pinned)), 1);
  CHECK_EQ(cuMemFreeHost(pinned), 0);
}

TEST(an_allocation_without_bytes_is_no_memory) {
  Fixture f;
  Address at = 1;
  CHECK_EQ(cuMemAllocAsync(&at, 0, nullptr), 0);
  CHECK_EQ(at, Address{0});
  CHECK_EQ(cuMemFreeAsync(at, nullptr), 0);
  Handle stream = nullptr, graph = nullptr;
  CHECK_EQ(cuStreamCreate(&stream, 0), 0);
  CHECK_EQ(cuStreamBeginCapture_v2(stream, 0), 0);
  CHECK_EQ(cuMemAllocAsync(&at, 0, stream), 0);
  CHECK_EQ(cuMemFreeAsync(at, stream), 0);
  CHECK_EQ(cuStreamEndCapture(stream, &graph), 0);
  size_t count = 7;
  CHECK_EQ(cuGraphGetNodes(graph, nullptr, &count), 0);
  CHECK_EQ(count, size_t{0});
}

TEST(advice_is_kept_for_those_who_ask) {
  Fixture f;
  Address at = 0;
  CHECK_EQ(cuMemAllocManaged(&at, 64, 1), 0);
  CHECK_EQ(told(at, 1)[0], 0);
  CHECK_EQ(told(at, 2)[0], -2);
  CHECK_EQ(told(at, 3), (std::array<int, 4>{-2, -2, -2, -2}));
  CHECK_EQ(cuMemAdvise_v2(at, 64, 1, kHost), 0);
  CHECK_EQ(cuMemAdvise_v2(at, 64, 3, kHost), 0);
  CHECK_EQ(cuMemAdvise_v2(at, 64, 5, kHost), 0);
  CHECK_EQ(cuMemAdvise(at, 64, 5, 0), 0);
  CHECK_EQ(cuMemPrefetchAsync(at, 64, 0, nullptr), 0);
  CHECK_EQ(told(at, 1)[0], 1);
  CHECK_EQ(told(at, 2)[0], -1);
  CHECK_EQ(told(at, 3), (std::array<int, 4>{0, -1, -2, -2}));
  CHECK_EQ(told(at, 4)[0], 0);
  CHECK_EQ(told(at, 5)[0], 2);
  CHECK_EQ(cuMemAdvise(at, 64, 2, 0), 0);
  CHECK_EQ(cuMemAdvise(at, 64, 6, 0), 0);
  CHECK_EQ(told(at, 1)[0], 0);
  CHECK_EQ(told(at, 3), (std::array<int, 4>{-1, -2, -2, -2}));
  CHECK_EQ(cuMemAdvise(at, 64, 3, 1), 101);
  CHECK_EQ(cuMemAdvise(at, 65, 1, 0), 1);
  CHECK_EQ(cuMemAdvise(f.floats({1}), 4, 1, 0), 1);  // it is not managed
  int value = 0;
  CHECK_EQ(cuMemRangeGetAttribute(&value, 3, 1, at, 64), 1);
}

TEST(a_batch_goes_to_several_places) {
  Fixture f;
  std::array<Address, 3> at{};
  std::array<size_t, 3> bytes{64, 64, 64};
  for (Address& one : at) CHECK_EQ(cuMemAllocManaged(&one, 64, 1), 0);
  std::array<Location, 2> places{kDevice, kHost};
  std::array<size_t, 2> first{0, 2};
  CHECK_EQ(cuMemPrefetchBatchAsync(at.data(), bytes.data(), 3, places.data(), first.data(), 2, 0, nullptr),
           0);
  for (size_t i = 0; i < 3; ++i) CHECK_EQ(told(at[i], 4)[0], i < 2 ? 0 : -1);
  CHECK_EQ(cuMemDiscardBatchAsync(at.data(), bytes.data(), 3, 0, nullptr), 0);
  first[1] = 3;
  CHECK_EQ(cuMemPrefetchBatchAsync(at.data(), bytes.data(), 3, places.data(), first.data(), 2, 0, nullptr),
           1);
  bytes[1] = 65;
  CHECK_EQ(cuMemDiscardBatchAsync(at.data(), bytes.data(), 3, 0, nullptr), 1);
}

TEST(a_file_of_ptx_may_end_with_a_zero) {
  Fixture f;
  std::string path = std::filesystem::temp_directory_path() / "triton-runner-test-XXXXXX";
  close(mkstemp(path.data()));
  std::ofstream(path, std::ios::binary).write(kText, sizeof kText);
  Handle module = nullptr;
  CHECK_EQ(cuModuleLoad(&module, path.c_str()), 0);
  CHECK_EQ(std::remove(path.c_str()), 0);
}

TEST(shared_memory_that_is_free_is_what_a_launch_may_ask_for) {
  Fixture f;
  size_t bytes = 0;
  CHECK_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f.scale, 1, 32), 0);
  CHECK_EQ(bytes, size_t{48 << 10});
  CHECK_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f.scale, 16, 32), 0);
  CHECK(bytes < size_t{16 << 10});
  constexpr int kDynamic = 8;
  CHECK_EQ(cuFuncSetAttribute(f.scale, kDynamic, 100 << 10), 0);
  CHECK_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f.scale, 1, 32), 0);
  CHECK_EQ(bytes, size_t{100 << 10});
  size_t count = 0;
  CHECK_EQ(cuFuncGetParamCount(f.scale, &count), 0);
  CHECK_EQ(count, size_t{2});
}
