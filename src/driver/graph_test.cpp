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

TEST(nodes_say_what_they_do_and_change) {
  Fixture f;
  const Address x = f.floats({1, 2, 3}), y = f.floats({0, 0, 0});
  Handle graph = nullptr, kernel = nullptr, fill = nullptr, copy = nullptr, event = nullptr, record = nullptr;
  CHECK_EQ(cuGraphCreate(&graph, 0), 0);
  Address at = x;
  int n = 3;
  void* values[] = {&at, &n};
  KernelParams launch{f.scale, 1, 1, 1, 32, 1, 1, 0, values, nullptr, nullptr, nullptr}, told{};
  CHECK_EQ(cuGraphAddKernelNode_v2(&kernel, graph, nullptr, 0, &launch), 0);
  CHECK_EQ(cuGraphKernelNodeGetParams_v2(kernel, &told), 0);
  CHECK(told.function == f.scale && told.block_x == 32 && told.kernel != nullptr);
  CHECK(*static_cast<Address*>(told.params[0]) == x && *static_cast<int*>(told.params[1]) == 3);
  *static_cast<int*>(told.params[1]) = 2;
  CHECK_EQ(cuGraphKernelNodeSetParams_v2(kernel, &told), 0);
  FillParams zeros{y, 0, 0, 4, 1, 1}, filled{};
  CHECK_EQ(cuGraphAddMemsetNode(&fill, graph, &kernel, 1, &zeros, nullptr), 0);
  CHECK_EQ(cuGraphMemsetNodeGetParams(fill, &filled), 0);
  CHECK(filled.to == y && filled.width == 1);
  CHECK_EQ(cuGraphMemsetNodeGetParams(kernel, &filled), 1);
  filled.to = x;
  CHECK_EQ(cuGraphMemsetNodeSetParams(fill, &filled), 0);
  filled.width = 100;
  CHECK_EQ(cuGraphMemsetNodeSetParams(fill, &filled), 1);
  Copy3D move{}, moved{};
  move.from_type = move.to_type = kDeviceMemory, move.from_device = x, move.to_device = y;
  move.width = 12, move.height = move.depth = 1;
  CHECK_EQ(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &move, nullptr), 0);
  CHECK_EQ(cuGraphMemcpyNodeGetParams(copy, &moved), 0);
  CHECK(moved.to_device == y && moved.width == 12);
  // The copy comes after the fill instead.
  CHECK_EQ(cuGraphRemoveDependencies(graph, &kernel, &copy, 1), 0);
  CHECK_EQ(cuGraphRemoveDependencies(graph, &kernel, &copy, 1), 1);
  CHECK_EQ(cuGraphAddDependencies(graph, &fill, &copy, 1), 0);
  CHECK_EQ(cuEventCreate(&event, 0), 0);
  CHECK_EQ(cuGraphAddEventRecordNode(&record, graph, &copy, 1, event), 0);
  Handle which = nullptr;
  CHECK_EQ(cuGraphEventRecordNodeGetEvent(record, &which), 0);
  CHECK_EQ(which, event);
  CHECK_EQ(cuGraphEventWaitNodeGetEvent(record, &which), 1);
  CHECK_EQ(cuGraphEventRecordNodeSetEvent(record, graph), 400);
  Handle exec = nullptr;
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  CHECK_EQ(cuGraphLaunch(exec, nullptr), 0);
  CHECK(f.read(y, 3) == (std::vector<float>{0, 4, 3}));
}

TEST(a_graph_inside_of_another_ends_with_its_node) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  Handle inner = nullptr, outer = nullptr, child = nullptr, fill = nullptr, same = nullptr, again = nullptr;
  CHECK_EQ(cuGraphCreate(&inner, 0), 0);
  CHECK_EQ(cuGraphCreate(&outer, 0), 0);
  CHECK_EQ(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner), 0);
  CHECK_EQ(cuGraphChildGraphNodeGetGraph(child, &same), 0);
  CHECK(same != inner);  // the node has a copy
  CHECK_EQ(cuGraphChildGraphNodeGetGraph(child, &again), 0);
  CHECK_EQ(again, same);
  CHECK_EQ(cuGraphDestroy(same), 1);
  const FillParams zeros{x, 0, 0, 4, 2, 1};
  CHECK_EQ(cuGraphAddMemsetNode(&fill, same, nullptr, 0, &zeros, nullptr), 0);
  Handle exec = nullptr;
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, outer, 0), 0);
  CHECK_EQ(cuGraphLaunch(exec, nullptr), 0);
  CHECK(f.read(x, 3) == (std::vector<float>{0, 0, 3}));
  CHECK_EQ(cuGraphDestroyNode(child), 0);
  size_t count = 0;
  CHECK_EQ(cuGraphGetNodes(same, nullptr, &count), 400);
  int type = 0;
  CHECK_EQ(cuGraphNodeGetType(fill, &type), 400);
}

namespace {

// down: sets the condition to what is left in x[0] when 1 is taken from it, and adds 1 to x[1]; set: to a value.
constexpr char kConditions[] = R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry down(.param .u64 handle, .param .u64 x)
{
 .reg .b32 %r<3>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1,[handle]; ld.param.u64 %rd2,[x];
 ld.global.u32 %r1,[%rd2]; sub.u32 %r1,%r1,1; st.global.u32 [%rd2],%r1;
 ld.global.u32 %r2,[%rd2+4]; add.u32 %r2,%r2,1; st.global.u32 [%rd2+4],%r2;
 { .param .b64 h; .param .b32 v; st.param.b64 [h],%rd1; st.param.b32 [v],%r1; call.uni cudaGraphSetConditional, (h, v); }
 ret;
}
.visible .entry set(.param .u64 handle, .param .u32 value)
{
 .reg .b32 %r<2>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1,[handle]; ld.param.u32 %r1,[value];
 { .param .b64 h; .param .b32 v; st.param.b64 [h],%rd1; st.param.b32 [v],%r1; call.uni cudaGraphSetConditional, (h, v); }
 ret;
}
)";

// Returns x after a graph whose kernel sets the condition to `value`, and whose node of the kind fills x[i] in body i.
std::vector<uint32_t> chosen(unsigned type, unsigned bodies, unsigned value) {
  Fixture f;
  const Address x = f.floats({0, 0, 0});
  Handle module = nullptr, set = nullptr, graph = nullptr, first = nullptr, node = nullptr, exec = nullptr;
  Address condition = 0;
  CHECK_EQ(cuModuleLoadData(&module, kConditions), 0);
  CHECK_EQ(cuModuleGetFunction(&set, module, "set"), 0);
  CHECK_EQ(cuGraphCreate(&graph, 0), 0);
  CHECK_EQ(cuGraphConditionalHandleCreate(&condition, graph, f.context, 0, 0), 0);
  void* values[] = {&condition, &value};
  const KernelParams launch{set, 1, 1, 1, 1, 1, 1, 0, values, nullptr, nullptr, nullptr};
  CHECK_EQ(cuGraphAddKernelNode_v2(&first, graph, nullptr, 0, &launch), 0);
  NodeParams params{};
  params.type = 13, params.conditional = {condition, type, bodies, nullptr, f.context};
  CHECK_EQ(cuGraphAddNode_v2(&node, graph, &first, nullptr, 1, &params), 0);
  for (unsigned i = 0; i < bodies; ++i) {
    const FillParams fill{x + 4 * i, 0, i + 1, 4, 1, 1};
    Handle inside = nullptr;
    CHECK_EQ(cuGraphAddMemsetNode(&inside, params.conditional.bodies[i], nullptr, 0, &fill, nullptr), 0);
  }
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  CHECK_EQ(cuGraphLaunch(exec, nullptr), 0);
  std::vector<uint32_t> out(3);
  CHECK_EQ(cuMemcpyDtoH_v2(out.data(), x, 12), 0);
  return out;
}

}  // namespace

TEST(a_kernel_chooses_the_graph_that_runs) {
  using Words = std::vector<uint32_t>;
  constexpr unsigned kIf = 0, kSwitch = 2;
  CHECK(chosen(kIf, 1, 1) == Words({1, 0, 0}));
  CHECK(chosen(kIf, 1, 0) == Words({0, 0, 0}));
  CHECK(chosen(kIf, 2, 7) == Words({1, 0, 0}));
  CHECK(chosen(kIf, 2, 0) == Words({0, 2, 0}));
  CHECK(chosen(kSwitch, 3, 0) == Words({1, 0, 0}));
  CHECK(chosen(kSwitch, 3, 2) == Words({0, 0, 3}));
  CHECK(chosen(kSwitch, 3, 3) == Words({0, 0, 0}));
}

TEST(a_graph_is_repeated_while_its_kernel_says_so) {
  Fixture f;
  Address x = f.floats({0, 0});
  Handle module = nullptr, down = nullptr, graph = nullptr, node = nullptr, exec = nullptr, inside = nullptr;
  Handle stream = nullptr;
  Address condition = 0, other = 0;
  CHECK_EQ(cuModuleLoadData(&module, kConditions), 0);
  CHECK_EQ(cuModuleGetFunction(&down, module, "down"), 0);
  CHECK_EQ(cuGraphCreate(&graph, 0), 0);
  CHECK_EQ(cuGraphCreate(&inside, 0), 0);
  CHECK_EQ(cuGraphConditionalHandleCreate(&condition, graph, f.context, 1, 1), 0);
  CHECK_EQ(cuGraphConditionalHandleCreate(&other, inside, f.context, 1, 1), 0);
  NodeParams params{};
  params.type = 13, params.conditional = {other, 1, 1, nullptr, f.context};
  CHECK_EQ(cuGraphAddNode(&node, graph, nullptr, 0, &params), 1);  // another graph's condition
  params.conditional = {condition, 1, 2, nullptr, f.context};
  CHECK_EQ(cuGraphAddNode(&node, graph, nullptr, 0, &params), 1);  // a loop has one body
  params.conditional.size = 1;
  CHECK_EQ(cuGraphAddNode(&node, graph, nullptr, 0, &params), 0);
  NodeParams told{};
  CHECK_EQ(cuGraphNodeGetParams(node, &told), 0);
  CHECK(told.type == 13 && told.conditional.handle == condition && told.conditional.type == 1);
  CHECK_EQ(told.conditional.bodies[0], params.conditional.bodies[0]);
  // The body is captured.
  CHECK_EQ(cuStreamCreate(&stream, 1), 0);
  CHECK_EQ(cuStreamBeginCaptureToGraph(stream, params.conditional.bodies[0], nullptr, nullptr, 0, 0), 0);
  void* values[] = {&condition, &x};
  CHECK_EQ(cuLaunchKernel(down, 1, 1, 1, 1, 1, 1, 0, stream, values, nullptr), 0);
  Handle body = nullptr;
  CHECK_EQ(cuStreamEndCapture(stream, &body), 0);
  CHECK_EQ(body, params.conditional.bodies[0]);
  CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  std::vector<uint32_t> words{5, 0};
  for (const uint32_t all : {5u, 10u}) {  // the condition is 1 again when the graph is launched
    words[0] = 5;
    CHECK_EQ(cuMemcpyHtoD_v2(x, words.data(), 4), 0);
    CHECK_EQ(cuGraphLaunch(exec, nullptr), 0);
    CHECK_EQ(cuMemcpyDtoH_v2(words.data(), x, 8), 0);
    CHECK(words == (std::vector<uint32_t>{0, all}));
  }
  // A handle that is none is an access out of bounds, in the kernel.
  Address wrong = 0x1230;
  values[0] = &wrong;
  CHECK_EQ(cuLaunchKernel(down, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr), 700);
}
