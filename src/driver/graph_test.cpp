// Tests graphs through the driver's symbols: what streams capture, what programs build, and the memory of nodes.
#include <array>
#include <cstring>

#include "test_context.h"

using namespace triton_runner;
using namespace triton_runner::driver;

TEST(a_captured_graph_runs_when_it_is_launched) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  Handle stream = nullptr, graph = nullptr, exec = nullptr;
  CHECK_EQ(cuStreamCreate(&stream, 0), 0);
  CHECK_EQ(cuStreamBeginCapture_v2(stream, 0), 0);
  CHECK_EQ(f.launch(x, 3, stream), 0);
  CHECK_EQ(f.launch(x, 2, stream), 0);
  CHECK_EQ(cuStreamSynchronize(stream), 900);
  CHECK_EQ(cuStreamEndCapture(stream, &graph), 0);
  CHECK(f.read(x, 3) == std::vector<float>({1, 2, 3}));
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  CHECK_EQ(cuGraphDestroy(graph), 0);
  CHECK_EQ(cuGraphLaunch(exec, stream), 0);
  CHECK_EQ(cuGraphLaunch(exec, stream), 0);
  CHECK(f.read(x, 3) == std::vector<float>({16, 32, 12}));
  CHECK_EQ(cuGraphExecDestroy(exec), 0);
  CHECK_EQ(cuGraphLaunch(exec, stream), 400);
}

TEST(a_program_adds_to_the_graph_that_a_stream_captures) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  Handle stream = nullptr, graph = nullptr, node = nullptr, exec = nullptr;
  const Handle* last = nullptr;
  const void* edges = nullptr;
  int status = 0;
  uint64_t id = 0;
  size_t count = 0;
  CHECK_EQ(cuStreamCreate(&stream, 0), 0);
  CHECK_EQ(cuStreamUpdateCaptureDependencies(stream, &node, 1, 1), 401);
  CHECK_EQ(cuStreamBeginCapture_v2(stream, 0), 0);
  CHECK_EQ(f.launch(x, 3, stream), 0);
  CHECK_EQ(cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &last, &edges, &count), 0);
  CHECK_EQ(count, 1u);
  const std::array<char, 8> none{};
  CHECK(edges && std::memcmp(edges, none.data(), 8) == 0);  // whoever reads the nodes reads their edges' data
  const Handle first = last[0];
  const FillParams fill{x, 0, 0, 4, 1, 1};
  CHECK_EQ(cuGraphAddMemsetNode(&node, graph, last, count, &fill, nullptr), 0);
  CHECK_EQ(cuStreamUpdateCaptureDependencies_v2(stream, &node, nullptr, 1, 1), 0);
  CHECK_EQ(cuStreamUpdateCaptureDependencies(stream, &stream, 1, 0), 1);
  CHECK_EQ(f.launch(x, 3, stream), 0);
  CHECK_EQ(cuStreamEndCapture(stream, &graph), 0);
  Handle after[4] = {};
  count = 4;
  CHECK_EQ(cuGraphNodeGetDependentNodes(first, after, &count), 0);
  CHECK_EQ(count, 1u);
  CHECK_EQ(after[0], node);
  uint64_t data[4] = {1, 1, 1, 1};
  CHECK_EQ(cuGraphNodeGetDependencies_v2(node, after, data, &count), 0);
  CHECK_EQ(after[0], first);
  CHECK_EQ(data[0], 0u);
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  CHECK_EQ(cuGraphLaunch(exec, stream), 0);
  CHECK(f.read(x, 3) == (std::vector<float>{0, 8, 12}));
}

TEST(a_graph_allocates_and_frees_each_time_it_runs) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  Handle stream = nullptr, graph = nullptr, exec = nullptr;
  Address own = 0;
  CHECK_EQ(cuStreamCreate(&stream, 0), 0);
  CHECK_EQ(cuStreamBeginCapture_v2(stream, 0), 0);
  CHECK_EQ(cuMemAllocAsync(&own, 12, stream), 0);
  CHECK_EQ(cuMemcpyDtoDAsync_v2(own, x, 12, stream), 0);
  CHECK_EQ(f.launch(own, 3, stream), 0);
  CHECK_EQ(cuMemcpyDtoDAsync_v2(x, own, 12, stream), 0);
  CHECK_EQ(cuMemFreeAsync(own, stream), 0);
  CHECK_EQ(cuStreamEndCapture(stream, &graph), 0);
  CHECK_EQ(cuMemFree_v2(own), 1);  // no run has allocated it
  size_t count = 5;
  std::array<Handle, 5> nodes{};
  CHECK_EQ(cuGraphGetNodes(graph, nodes.data(), &count), 0);
  int first = 0, last = 0;
  CHECK_EQ(cuGraphNodeGetType(nodes[0], &first), 0);
  CHECK_EQ(cuGraphNodeGetType(nodes[4], &last), 0);
  CHECK(first == 10 && last == 11);
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  CHECK_EQ(cuGraphLaunch(exec, stream), 0);
  CHECK_EQ(cuGraphLaunch(exec, stream), 0);
  CHECK(f.read(x, 3) == std::vector<float>({4, 8, 12}));
  CHECK_EQ(f.launch(own, 3, nullptr), 700);  // it was freed
}

TEST(memory_that_a_graph_does_not_free_is_the_programs) {
  Fixture f;
  AllocParams params{};
  params.pool.allocation_type = 1, params.pool.location = {1, 0}, params.bytes = 12;
  Handle graph = nullptr, node = nullptr, plain = nullptr, freeing = nullptr;
  CHECK_EQ(cuGraphCreate(&graph, 0), 0);
  CHECK_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), 0);
  AllocParams again{};
  CHECK_EQ(cuGraphMemAllocNodeGetParams(node, &again), 0);
  CHECK(again.address == params.address && again.bytes == 12);
  CHECK_EQ(cuGraphAddMemFreeNode(&node, graph, &node, 1, f.floats({1})), 1);  // no graph's
  CHECK_EQ(cuGraphInstantiateWithFlags(&plain, graph, 0), 0);
  CHECK_EQ(cuGraphInstantiateWithFlags(&freeing, graph, 1), 0);
  CHECK_EQ(cuGraphLaunch(plain, nullptr), 0);
  CHECK_EQ(f.launch(params.address, 3, nullptr), 0);
  CHECK_EQ(cuGraphLaunch(plain, nullptr), 1);  // it is still there
  CHECK_EQ(cuGraphLaunch(freeing, nullptr), 0);
  CHECK_EQ(cuGraphExecDestroy(plain), 0);
  CHECK_EQ(cuGraphExecDestroy(freeing), 0);
  CHECK_EQ(cuGraphDestroy(graph), 0);
  CHECK_EQ(f.launch(params.address, 3, nullptr), 0);
  CHECK_EQ(cuMemFree_v2(params.address), 0);
  CHECK_EQ(cuMemFree_v2(params.address), 1);
}

TEST(a_circle_of_nodes_is_refused) {
  Fixture f;
  Handle graph = nullptr, a = nullptr, b = nullptr, exec = nullptr;
  CHECK_EQ(cuGraphCreate(&graph, 0), 0);
  CHECK_EQ(cuGraphAddEmptyNode(&a, graph, nullptr, 0), 0);
  CHECK_EQ(cuGraphAddEmptyNode(&b, graph, &a, 1), 0);
  CHECK_EQ(cuGraphAddDependencies(graph, &b, &a, 1), 0);
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 1);
  CHECK_EQ(cuGraphDestroy(graph), 0);
}
