// Tests Races through the driver's symbols: programs with several streams that are ordered, and the same programs with
// one thing less.
#include <functional>
#include <thread>

#include "test_context.h"

using namespace triton_runner;
using namespace triton_runner::driver;

namespace {

// add: x[i] += 1; read: y[i] = x[i], for the 32 threads of its block; count: adds 1 to x[0] with an atomic
const char kRaceText[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x)
{
 .reg .b32 %r<3>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1,[x]; mov.u32 %r1,%tid.x; mul.wide.u32 %rd2,%r1,4; add.s64 %rd3,%rd1,%rd2;
 ld.global.u32 %r2,[%rd3]; add.u32 %r2,%r2,1; st.global.u32 [%rd3],%r2;
 ret;
}
.visible .entry read(.param .u64 x, .param .u64 y)
{
 .reg .b32 %r<3>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1,[x]; ld.param.u64 %rd4,[y]; mov.u32 %r1,%tid.x; mul.wide.u32 %rd2,%r1,4; add.s64 %rd3,%rd1,%rd2;
 ld.global.u32 %r2,[%rd3]; add.s64 %rd5,%rd4,%rd2; st.global.u32 [%rd5],%r2;
 ret;
}
.visible .entry count(.param .u64 x)
{
 .reg .b32 %r<2>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1,[x]; atom.global.add.u32 %r1,[%rd1],1;
 ret;
}
)";

struct Program : Primary {
  Handle module = nullptr, s = nullptr, t = nullptr, event = nullptr;
  Address x = 0, y = 0, z = 0;
  std::vector<uint32_t> host = std::vector<uint32_t>(64);
  int error = 0;  // the first one
  explicit Program(unsigned flags = 1) {
    state().races = std::make_unique<Races>();
    state().checks |= exec::kCheckRace;
    ok(cuModuleLoadData(&module, kRaceText));
    for (Handle* stream : {&s, &t}) ok(cuStreamCreate(stream, flags));
    ok(cuEventCreate(&event, 2));
    for (Address* at : {&x, &y, &z}) ok(cuMemAlloc_v2(at, 256)), ok(cuMemcpyHtoD_v2(*at, host.data(), 256));
    CHECK_EQ(error, 0);
  }
  ~Program() {
    state().races = nullptr;
    state().checks = exec::kCheckOutOfBounds;
  }
  void ok(int result) { error = error ? error : result; }
  void launch(const char* name, Handle stream, Address a, Address b = 0) {
    Handle function = nullptr;
    ok(cuModuleGetFunction(&function, module, name));
    void* params[] = {&a, &b};
    ok(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params, nullptr));
  }
  void order(Handle from, Handle to) { ok(cuEventRecord(event, from)), ok(cuStreamWaitEvent(to, event, 0)); }
};

using Steps = std::function<void(Program&)>;
int outcome(const Steps& steps, unsigned flags = 1) {
  Program p(flags);
  steps(p);
  return p.error;
}
constexpr int kRaces = kLaunchFailed;

TEST(an_event_orders_two_streams) {
  CHECK_EQ(outcome([](Program& p) {
             p.launch("add", p.s, p.x), p.order(p.s, p.t), p.launch("read", p.t, p.x, p.y);
             p.order(p.t, p.s), p.launch("add", p.s, p.x);
           }),
           0);
  CHECK_EQ(outcome([](Program& p) { p.launch("add", p.s, p.x), p.launch("read", p.t, p.x, p.y); }), kRaces);
  // A write after a read, which nobody waits for; and an event that was recorded too early.
  CHECK_EQ(outcome([](Program& p) { p.launch("read", p.t, p.x, p.y), p.launch("add", p.s, p.x); }), kRaces);
  CHECK_EQ(outcome([](Program& p) {
             p.ok(cuEventRecord(p.event, p.s)), p.launch("add", p.s, p.x);
             p.ok(cuStreamWaitEvent(p.t, p.event, 0)), p.launch("read", p.t, p.x, p.y);
           }),
           kRaces);
}

TEST(an_event_goes_on_through_a_third_stream) {
  const auto chain = [](bool is_whole) {
    return outcome([&](Program& p) {
      Handle third = nullptr;
      p.ok(cuStreamCreate(&third, 1));
      p.launch("add", p.s, p.x), p.order(p.s, p.t);
      if (is_whole) p.order(p.t, third);
      p.launch("read", third, p.x, p.y);
    });
  };
  CHECK_EQ(chain(true), 0);
  CHECK_EQ(chain(false), kRaces);
}

TEST(what_the_host_waits_for_is_ordered) {
  for (int how = 0; how < 6; ++how) {
    const int error = outcome([&](Program& p) {
      p.launch("add", p.s, p.x), p.ok(cuEventRecord(p.event, p.s));
      if (how == 0) p.ok(cuStreamSynchronize(p.s));
      if (how == 1) p.ok(cuEventSynchronize(p.event));
      if (how == 2) p.ok(cuCtxSynchronize());
      if (how == 3) p.ok(cuMemcpyDtoHAsync_v2(p.host.data(), p.x, 128, p.s));  // memory that is not pinned
      if (how == 4) p.ok(cuStreamSynchronize(p.t));
      p.launch("read", p.t, p.x, p.y);
    });
    CHECK_EQ(error, how < 4 ? 0 : kRaces);
  }
}

TEST(two_streams_may_read_and_update_and_write_elsewhere) {
  CHECK_EQ(outcome([](Program& p) {
             p.launch("read", p.s, p.x, p.y), p.launch("read", p.t, p.x, p.z);
             p.launch("add", p.s, p.y), p.launch("add", p.t, p.y + 128);
             p.launch("count", p.s, p.z + 128), p.launch("count", p.t, p.z + 128);
           }),
           0);
  CHECK_EQ(outcome([](Program& p) { p.launch("add", p.s, p.y), p.launch("add", p.t, p.y + 124); }), kRaces);
  CHECK_EQ(outcome([](Program& p) { p.launch("count", p.s, p.x), p.launch("add", p.t, p.x); }), kRaces);
  CHECK_EQ(outcome([](Program&) {}), 0);
}

TEST(the_legacy_stream_waits_for_streams_that_block) {
  const Steps through = [](Program& p) {
    p.launch("add", p.s, p.x), p.launch("add", nullptr, p.x), p.launch("add", p.t, p.x);
  };
  CHECK_EQ(outcome(through, 0), 0);
  CHECK_EQ(outcome(through, 1), kRaces);
  // Two of them do not wait for each other.
  CHECK_EQ(outcome([](Program& p) { p.launch("add", p.s, p.x), p.launch("add", p.t, p.x); }, 0), kRaces);
}

TEST(threads_have_default_streams_of_their_own) {
  const auto two = [](bool is_own) {
    return outcome([&](Program& p) {
      const Handle stream = is_own ? to_handle(2) : nullptr;
      p.launch("add", stream, p.x);
      std::thread([&] {
        p.ok(cuCtxSetCurrent(p.context));
        p.launch("add", stream, p.x);
      }).join();
    });
  };
  CHECK_EQ(two(false), 0);
  CHECK_EQ(two(true), kRaces);
  CHECK_EQ(outcome([](Program& p) { p.launch("add", to_handle(2), p.x), p.launch("add", nullptr, p.x); }), 0);
}

TEST(copies_and_fills_are_accesses) {
  CHECK_EQ(
      outcome([](Program& p) { p.ok(cuMemsetD8Async(p.x, 1, 128, p.s)), p.launch("read", p.t, p.x, p.y); }),
      kRaces);
  CHECK_EQ(
      outcome([](Program& p) { p.launch("add", p.s, p.x), p.ok(cuMemcpyDtoDAsync_v2(p.y, p.x, 128, p.t)); }),
      kRaces);
  CHECK_EQ(outcome([](Program& p) {
             p.launch("add", p.s, p.x), p.order(p.s, p.t), p.ok(cuMemcpyDtoDAsync_v2(p.y, p.x, 128, p.t));
           }),
           0);
  // Copies by way of pinned memory, which the host does not wait for.
  const auto pinned = [](bool waits) {
    return outcome([&](Program& p) {
      void* host = nullptr;
      p.ok(cuMemAllocHost_v2(&host, 128));
      p.ok(cuMemcpyDtoHAsync_v2(host, p.x, 128, p.s));
      if (waits) p.ok(cuStreamSynchronize(p.s));
      p.ok(cuMemcpyHtoDAsync_v2(p.y, host, 128, p.t));
      p.ok(cuMemcpyDtoHAsync_v2(host, p.y, 128, p.t));
    });
  };
  CHECK_EQ(pinned(true), 0);
  CHECK_EQ(pinned(false), kRaces);
}

TEST(memory_of_a_pool_is_there_for_streams_that_wait_for_it) {
  for (int missing = 0; missing < 3; ++missing) {
    const int error = outcome([&](Program& p) {
      Address block = 0;
      p.ok(cuMemAllocAsync(&block, 128, p.s));
      if (missing != 1) p.order(p.s, p.t);
      p.ok(cuMemsetD8Async(block, 0, 128, p.t));
      if (missing != 2) p.order(p.t, p.s);
      p.ok(cuMemFreeAsync(block, p.s));
    });
    CHECK_EQ(error, missing ? kRaces : 0);
  }
}

TEST(branches_of_a_graph_are_ordered_by_its_edges) {
  for (const bool has_edge : {true, false}) {
    Program p;
    Handle graph = nullptr, exec = nullptr, first = nullptr, second = nullptr, function = nullptr;
    p.ok(cuModuleGetFunction(&function, p.module, "add"));
    p.ok(cuGraphCreate(&graph, 0));
    void* params[] = {&p.x};
    const KernelParams node{function, 1, 1, 1, 32, 1, 1, 0, params, nullptr, nullptr, nullptr};
    p.ok(cuGraphAddKernelNode_v2(&first, graph, nullptr, 0, &node));
    p.ok(cuGraphAddKernelNode_v2(&second, graph, &first, has_edge ? 1 : 0, &node));
    p.ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    // A graph is one piece of work of its stream, and is no second time under way at once.
    for (Handle stream : {p.s, p.s, p.t}) p.ok(cuGraphLaunch(exec, stream));
    CHECK_EQ(p.error, has_edge ? 0 : kRaces);
  }
}

TEST(a_value_in_memory_orders_who_waits_for_it) {
  for (const bool waits : {true, false})
    CHECK_EQ(outcome([&](Program& p) {
               p.launch("add", p.s, p.x), p.ok(cuStreamWriteValue32_v2(p.s, p.z, 7, 0));
               if (waits) p.ok(cuStreamWaitValue32_v2(p.t, p.z, 7, 1));
               p.launch("add", p.t, p.x);
             }),
             waits ? 0 : kRaces);
}

TEST(a_function_of_the_program_tells_it_how_far_the_stream_came) {
  for (const bool is_told : {true, false})
    CHECK_EQ(outcome([&](Program& p) {
               p.launch("add", p.s, p.x);
               if (is_told) p.ok(cuLaunchHostFunc(p.s, [](void*) {}, nullptr));
               p.launch("add", p.t, p.x);
             }),
             is_told ? 0 : kRaces);
}

}  // namespace
