// Tests libcuda.so.1 through its symbols: a launch from end to end, streams, graphs, handles and pointers that are wrong; and every
// function in random order with random arguments, after which the process and the driver still stand.
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>

#include "symbols.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::driver;

namespace {

// scale: x[i] *= 2 for i < n, and counts its threads in `counter`; last: writes the n-th element; shape: a structure by value.
const char kText[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 5;
.visible .entry scale(.param .u64 x, .param .u32 n)
{
 .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<3>;
 ld.param.u64 %rd1,[x]; ld.param.u32 %r1,[n];
 mov.u32 %r2,%ctaid.x; mov.u32 %r3,%ntid.x; mov.u32 %r4,%tid.x; mad.lo.s32 %r5,%r2,%r3,%r4;
 setp.ge.s32 %p1,%r5,%r1; @%p1 ret;
 mul.wide.s32 %rd2,%r5,4; add.s64 %rd3,%rd1,%rd2; ld.global.f32 %f1,[%rd3]; add.f32 %f2,%f1,%f1; st.global.f32 [%rd3],%f2;
 atom.global.add.u32 %r6, [counter], 1;
 ret;
}
.visible .entry shape(.param .align 4 .b8 s[12], .param .u64 out)
{
 .reg .b32 %r<4>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1,[out]; ld.param.u32 %r1,[s]; ld.param.u32 %r2,[s+8]; add.u32 %r3,%r1,%r2; st.global.u32 [%rd1],%r3;
 ret;
}
)";

struct Fixture {
  Handle context = nullptr, module = nullptr, scale = nullptr, shape = nullptr;
  Fixture() {
    setenv("TRITON_RUNNER_CUDA_CHIP", "h100 90 132 1.98e9 3.35e12 52428800", 1);
    CHECK_EQ(cuInit(0), 0);
    CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), 0);
    CHECK_EQ(cuCtxSetCurrent(context), 0);
    CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), 0);
    CHECK_EQ(cuModuleLoadData(&module, kText), 0);
    CHECK_EQ(cuModuleGetFunction(&scale, module, "scale"), 0);
    CHECK_EQ(cuModuleGetFunction(&shape, module, "shape"), 0);
  }
  ~Fixture() { cuDevicePrimaryCtxRelease_v2(0); }
  Address floats(const std::vector<float>& values) {
    Address out = 0;
    CHECK_EQ(cuMemAlloc_v2(&out, values.size() * 4), 0);
    CHECK_EQ(cuMemcpyHtoD_v2(out, values.data(), values.size() * 4), 0);
    return out;
  }
  std::vector<float> read(Address from, size_t n) {
    std::vector<float> out(n);
    CHECK_EQ(cuMemcpyDtoH_v2(out.data(), from, n * 4), 0);
    return out;
  }
  int launch(Address x, int n, Handle stream = nullptr, unsigned blocks = 1) {
    void* params[] = {&x, &n};
    return cuLaunchKernel(scale, blocks, 1, 1, 32, 1, 1, 0, stream, params, nullptr);
  }
};

}  // namespace

TEST(launch_copies_and_variables) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  CHECK_EQ(f.launch(x, 3), 0);
  CHECK(f.read(x, 3) == std::vector<float>({2, 4, 6}));
  Address counter = 0;
  size_t bytes = 0;
  uint32_t count = 0;
  CHECK_EQ(cuModuleGetGlobal_v2(&counter, &bytes, f.module, "counter"), 0);
  CHECK_EQ(cuMemcpyDtoH_v2(&count, counter, 4), 0);
  CHECK_EQ(count, 8u);
  const uint32_t values[] = {30, 7, 12};
  void* params[] = {const_cast<uint32_t*>(values), const_cast<Address*>(&x)};
  CHECK_EQ(cuLaunchKernel(f.shape, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), 0);
  CHECK_EQ(cuMemcpyDtoH_v2(&count, x, 4), 0);
  CHECK_EQ(count, 42u);
  size_t offset = 0;
  CHECK_EQ(cuFuncGetParamInfo(f.shape, 1, &offset, &bytes), 0);
  CHECK_EQ(offset, size_t{16});
  CHECK_EQ(cuFuncGetParamInfo(f.shape, 2, &offset, &bytes), 1);
}

TEST(fault_is_the_error_of_its_launch_and_of_all_that_follow) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  CHECK_EQ(f.launch(x, 4), 700);
  CHECK_EQ(cuCtxSynchronize(), 700);
  CHECK_EQ(f.launch(x, 3), 700);
  CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), 0);
  CHECK_EQ(cuCtxSynchronize(), 0);
  CHECK_EQ(cuMemFree_v2(x), 1);  // it went with the context
}

TEST(freed_memory_is_out_of_bounds) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  CHECK_EQ(cuMemFree_v2(x), 0);
  CHECK_EQ(cuMemFree_v2(x), 1);
  CHECK_EQ(f.launch(x, 1), 700);
}

TEST(wrong_handles_sizes_and_pointers) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  const Handle wrong = reinterpret_cast<Handle>(0x1234);
  void* params[] = {const_cast<Address*>(&x), nullptr};
  CHECK_EQ(cuLaunchKernel(wrong, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), 400);
  CHECK_EQ(cuLaunchKernel(f.scale, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr), 1);
  CHECK_EQ(cuLaunchKernel(f.scale, 0, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr), 1);
  params[1] = reinterpret_cast<void*>(16);  // a value that is not there
  CHECK_EQ(cuLaunchKernel(f.scale, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr), 1);
  CHECK_EQ(cuLaunchKernel(f.scale, 1, 1, 1, 32, 1, 1, 0, nullptr, reinterpret_cast<void**>(16), nullptr), 1);
  int n = 3;
  params[1] = &n;
  CHECK_EQ(cuLaunchKernel(f.scale, 1, 1, 1, 1025, 1, 1, 0, nullptr, params, nullptr), 1);
  CHECK_EQ(cuLaunchKernel(f.scale, 1, 1, 1, 32, 1, 1, 1 << 20, nullptr, params, nullptr), 1);
  CHECK_EQ(cuLaunchKernel(f.scale, 1, 1, 1, 32, 1, 1, 0, wrong, params, nullptr), 400);
  CHECK_EQ(cuStreamSynchronize(wrong), 400);
  CHECK_EQ(cuModuleUnload(wrong), 400);
  Handle none = nullptr;
  CHECK_EQ(cuModuleGetFunction(&none, f.module, "none"), 500);
  CHECK_EQ(cuModuleLoadData(&none, ".version 8.0\n.target sm_80\n.entry x("), 218);
  CHECK_EQ(cuModuleLoadData(&none, "nothing"), 200);
  std::vector<char> host(64);
  CHECK_EQ(cuMemcpyHtoD_v2(x, host.data(), 13), 1);
  CHECK_EQ(cuMemcpyDtoH_v2(host.data(), x + 8, 5), 1);
  CHECK_EQ(cuMemcpyHtoD_v2(x, reinterpret_cast<void*>(16), 4), 1);  // memory of the host that is not there
  CHECK_EQ(cuMemcpyHtoD_v2(x, nullptr, 4), 1);
  CHECK_EQ(cuMemsetD32_v2(x + 2, 0, 1), 1);
  Address far = 0;
  CHECK_EQ(cuMemAlloc_v2(&far, size_t{1} << 50), 2);
  CHECK_EQ(cuMemAlloc_v2(&far, 0), 1);
  CHECK_EQ(cuMemAlloc_v2(nullptr, 4), 1);
  CHECK_EQ(cuCtxSynchronize(), 0);
}

TEST(destroyed_handles_are_not_given_again) {
  Fixture f;
  Handle first = nullptr, second = nullptr;
  CHECK_EQ(cuStreamCreate(&first, 0), 0);
  CHECK_EQ(cuStreamDestroy_v2(first), 0);
  CHECK_EQ(cuStreamCreate(&second, 0), 0);
  CHECK(first != second);
  CHECK_EQ(cuStreamSynchronize(first), 400);
  CHECK_EQ(cuStreamDestroy_v2(first), 400);
  CHECK_EQ(cuStreamDestroy_v2(second), 0);
}

TEST(a_handle_is_of_one_kind) {
  Fixture f;
  Handle stream = nullptr, event = nullptr, graph = nullptr;
  CHECK_EQ(cuStreamCreate(&stream, 0), 0);
  CHECK_EQ(cuEventCreate(&event, 0), 0);
  CHECK_EQ(cuGraphCreate(&graph, 0), 0);
  for (const Handle one : {stream, event, f.module}) {
    CHECK_EQ(cuGraphDestroy(one), 400);
    if (one != event) CHECK_EQ(cuEventQuery(one), 400);
    if (one != stream) CHECK_EQ(cuStreamQuery(one), 400);
  }
}

TEST(functions_of_a_context_that_ended_are_no_handles) {
  Fixture f;
  const Handle kernel = state().functions.find(f.scale)->kernel;
  size_t offset = 0, bytes = 0;
  CHECK_EQ(cuFuncGetParamInfo(kernel, 0, &offset, &bytes), 0);
  CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), 0);
  CHECK_EQ(cuFuncGetParamInfo(kernel, 0, &offset, &bytes), 400);
  CHECK_EQ(f.launch(0, 1), 400);
}

TEST(a_function_keeps_what_the_first_interface_launches_it_with) {
  Fixture f;
  const Address x = f.floats({1, 2, 3});
  CHECK_EQ(cuFuncSetBlockShape(f.scale, 4, 1, 1), 0);
  CHECK_EQ(cuFuncSetBlockShape(f.scale, 0, 1, 1), 1);
  CHECK_EQ(cuFuncSetSharedSize(f.scale, 16), 0);
  CHECK_EQ(cuLaunchGrid(f.scale, 1, 1), 1);  // without parameters
  CHECK_EQ(cuParamSetv(f.scale, 0, const_cast<Address*>(&x), 8), 0);
  CHECK_EQ(cuParamSetv(f.scale, 0, reinterpret_cast<void*>(16), 8), 1);  // memory that is not there
  CHECK_EQ(cuParamSeti(f.scale, 8, 3), 0);
  CHECK_EQ(cuParamSeti(f.scale, -4, 3), 1);
  CHECK_EQ(cuParamSetSize(f.scale, 1u << 20), 1);
  CHECK_EQ(cuParamSetSize(f.scale, 12), 0);
  CHECK_EQ(cuLaunch(f.scale), 0);
  CHECK_EQ(cuLaunchGridAsync(f.scale, 2, 1, reinterpret_cast<Handle>(0x1234)), 400);
  CHECK(f.read(x, 3) == (std::vector<float>{2, 4, 6}));
  CHECK_EQ(cuParamSetSize(f.scale, 8), 0);  // the second one is missing again
  CHECK_EQ(cuLaunchGrid(f.scale, 1, 1), 1);
  CHECK_EQ(cuLaunch(reinterpret_cast<Handle>(0x1234)), 400);
}

TEST(a_context_ends_with_its_last_detachment) {
  Fixture f;
  Handle context = nullptr, again = nullptr;
  CHECK_EQ(cuCtxAttach(&again, 0), 201);  // the primary one is retained and released
  CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
  CHECK_EQ(cuCtxAttach(&again, 0), 0);
  CHECK_EQ(again, context);
  CHECK_EQ(cuCtxDetach(context), 0);
  CHECK_EQ(cuCtxDetach(context), 0);
  CHECK_EQ(cuCtxDetach(context), 201);
}

TEST(a_tensor_map_lies_anywhere_in_the_hosts_memory) {
  Fixture f;
  const Address x = f.floats({1, 2, 3, 4, 5, 6, 7, 8});
  alignas(64) std::array<std::byte, 256> memory{};
  const uint64_t shape[] = {8};
  const uint32_t box[] = {4}, steps[] = {1};
  const auto at = reinterpret_cast<void*>(x);
  constexpr int kF32 = 7;
  CHECK_EQ(cuTensorMapEncodeTiled(&memory[8], kF32, 1, at, shape, nullptr, box, steps, 0, 0, 0, 0), 0);
  CHECK_EQ(cuTensorMapReplaceAddress(&memory[8], at), 0);
  CHECK_EQ(cuTensorMapReplaceAddress(&memory[8], reinterpret_cast<void*>(x + 4)), 1);
}

TEST(boxes_are_copied_by_rows) {
  Fixture f;
  std::vector<float> values(12);
  for (size_t i = 0; i < 12; ++i) values[i] = static_cast<float>(i);
  Address to = 0;
  size_t pitch = 0;
  CHECK_EQ(cuMemAllocPitch_v2(&to, &pitch, 16, 3, 4), 0);
  CHECK_EQ(pitch, size_t{512});
  Copy2D copy{};
  copy.from_type = kHostMemory, copy.from_host = values.data(), copy.from_pitch = 16;
  copy.to_type = kDeviceMemory, copy.to_device = to, copy.to_pitch = pitch;
  copy.width = 16, copy.height = 3;
  CHECK_EQ(cuMemcpy2D_v2(&copy), 0);
  CHECK(f.read(to + pitch, 4) == std::vector<float>({4, 5, 6, 7}));
  copy.height = 4;
  CHECK_EQ(cuMemcpy2D_v2(&copy), 1);
  CHECK_EQ(cuMemsetD2D32_v2(to, pitch, 0, 2, 3), 0);
  CHECK(f.read(to + 2 * pitch, 4) == std::vector<float>({0, 0, 10, 11}));
}

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

TEST(modules_are_linked_of_texts) {
  Fixture f;
  // The variables and the function are one in both.
  const std::string head =
      ".version 8.0\n.target sm_80\n.address_size 64\n.common .global .align 8 .u64 environment;\n"
      ".weak .global .align 4 .u32 table[2] =\n {1, 2};\n.weak .const .align 1 .u8 value;\n"
      ".weak .func (.param .b32 r) same(.param .b32 v)\n{\n { ret; }\n}\n";
  // A variable and a function of each text's own.
  const auto own = [](int value) {
    return ".global .align 4 .u32 $own = " + std::to_string(value) +
           ";\n.func (.param .b32 r) get()\n{\n .reg .b32 %r<2>;\n ld.global.u32 %r1,[$own];\n"
           " st.param.b32 [r],%r1; ret;\n}\n";
  };
  const std::string add_own = "{ .param .b32 c; call.uni (c), get, (); ld.param.b32 %r1,[c]; }\n";
  std::string user =
      head + own(5) +
      ".extern .func (.param .b32 r) twice(.param .b32 v);\n"
      ".extern .func (.param .b32 r) void_in_c(.param .b32 v);\n.visible .entry k(.param .u64 out)\n{\n"
      ".reg .b32 %r<3>; .reg .b64 %rd<2>;\n ld.param.u64 %rd1,[out]; mov.u32 %r1, 21;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), twice, (a); ld.param.b32 "
      "%r2,[b]; }\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), void_in_c, (a); }\n" +
      add_own + " add.u32 %r2,%r2,%r1; st.global.u32 [%rd1],%r2; ret;\n}\n";
  std::string helper =
      head + own(700) +
      ".visible .func (.param .b32 r) twice(.param .b32 v)\n{\n .reg .b32 %r<3>; ld.param.b32 %r1,[v];\n"
      " add.u32 %r2,%r1,%r1;\n" +
      add_own +
      " add.u32 %r2,%r2,%r1; st.param.b32 [r],%r2; ret;\n}\n"
      ".visible .func void_in_c(.param .b32 v)\n{\n ret;\n}\n";
  Handle link = nullptr, module = nullptr, k = nullptr;
  CHECK_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), 0);
  CHECK_EQ(cuLinkAddData_v2(link, 1, user.data(), user.size() + 1, "user", 0, nullptr, nullptr), 0);
  CHECK_EQ(cuLinkAddData_v2(link, 1, helper.data(), helper.size() + 1, "helper", 0, nullptr, nullptr), 0);
  void* cubin = nullptr;
  size_t bytes = 0;
  CHECK_EQ(cuLinkComplete(link, &cubin, &bytes), 0);
  CHECK_EQ(cuModuleLoadData(&module, cubin), 0);
  CHECK_EQ(cuLinkDestroy(link), 0);
  CHECK_EQ(cuModuleGetFunction(&k, module, "k"), 0);
  Address out = f.floats({0});
  void* params[] = {&out};
  CHECK_EQ(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), 0);
  uint32_t result = 0;
  CHECK_EQ(cuMemcpyDtoH_v2(&result, out, 4), 0);
  CHECK_EQ(result, 42u + 700u + 5u);
}

// The grid's barrier, which cooperative kernels call from libcudadevrt.a: each block reads what the next one wrote.
TEST(blocks_meet_by_the_device_runtime) {
  Fixture f;
  constexpr char kGrid[] = R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry pass(.param .u64 x)
{
 .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1,[x]; mov.u32 %r1,%ctaid.x; mov.u32 %r2,%tid.x; mad.lo.u32 %r3,%r1,32,%r2;
 mul.wide.u32 %rd2,%r3,4; add.s64 %rd3,%rd1,%rd2; add.u32 %r4,%r3,32; and.b32 %r4,%r4,127; mul.wide.u32 %rd4,%r4,4; add.s64 %rd4,%rd1,%rd4;
 mov.u32 %r5, 0;
 {.param .b32 s; st.param.b32 [s], 1; .param .b64 h; call.uni (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %rd5,[h];}
$again:
 ld.volatile.global.u32 %r6,[%rd4];
 {.param .b64 h; st.param.b64 [h], %rd5; .param .b32 g; st.param.b32 [g], 0; .param .b32 e; call.uni (e), cudaCGSynchronize, (h, g);}
 add.u32 %r6,%r6,1; st.volatile.global.u32 [%rd3],%r6;
 {.param .b64 h; st.param.b64 [h], %rd5; .param .b32 g; st.param.b32 [g], 0; .param .b32 e; call.uni (e), cudaCGSynchronize, (h, g);}
 add.u32 %r5,%r5,1; setp.lt.u32 %p1,%r5,3; @%p1 bra $again;
 ret;
}
)";
  const std::string library = "!<arch>\ncuda_device_runtime.o/";
  Handle link = nullptr, module = nullptr, pass = nullptr;
  void* image = nullptr;
  size_t bytes = 0;
  CHECK_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), 0);
  CHECK_EQ(
      cuLinkAddData_v2(link, 4, const_cast<char*>(library.data()), library.size(), "", 0, nullptr, nullptr),
      0);
  CHECK_EQ(cuLinkAddData_v2(link, 1, const_cast<char*>(kGrid), sizeof kGrid, "grid", 0, nullptr, nullptr), 0);
  CHECK_EQ(cuLinkAddData_v2(link, 4, const_cast<char*>("!<arch>"), 7, "other.a", 0, nullptr, nullptr),
           int{kNotSupported});
  CHECK_EQ(cuLinkComplete(link, &image, &bytes), 0);
  CHECK_EQ(cuModuleLoadData(&module, image), 0);
  CHECK_EQ(cuModuleGetFunction(&pass, module, "pass"), 0);
  const Address x = f.floats(std::vector<float>(128));
  void* params[] = {const_cast<Address*>(&x)};
  CHECK_EQ(cuLaunchCooperativeKernel(pass, 4, 1, 1, 32, 1, 1, 0, nullptr, params), 0);
  std::vector<int> out(128);
  CHECK_EQ(cuMemcpyDtoH_v2(out.data(), x, 512), 0);
  CHECK_EQ(out, std::vector<int>(128, 3));
  CHECK_EQ(cuLinkDestroy(link), 0);
}

TEST(symbols_are_found_by_version) {
  Fixture f;
  void* found = nullptr;
  int status = -1;
  CHECK_EQ(cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status), 0);
  CHECK(found == reinterpret_cast<void*>(&cuMemAlloc_v2));
  CHECK_EQ(cuGetProcAddress_v2("cuCtxGetDevice", &found, 12000, 0, &status), 0);
  CHECK(found == reinterpret_cast<void*>(&cuCtxGetDevice));
  CHECK_EQ(cuGetProcAddress_v2("cuCtxGetDevice", &found, 13000, 0, &status), 0);
  CHECK(found == reinterpret_cast<void*>(&cuCtxGetDevice_v2));
  CHECK_EQ(cuGetProcAddress_v2("cuLibraryLoadData", &found, 11000, 0, &status), 500);
  CHECK_EQ(status, 2);
  CHECK_EQ(cuGetProcAddress_v2("cuNothing", &found, 13000, 0, &status), 500);
  CHECK_EQ(status, 1);
  CHECK_EQ(cuGetProcAddress_v2("cuTexObjectCreate", &found, 13000, 0, &status), 0);
  CHECK_EQ(reinterpret_cast<int (*)()>(found)(), 801);
  Uuid id{};
  const void* table = nullptr;
  CHECK_EQ(cuGetExportTable(&table, &id), 801);
}

TEST(a_forked_child_is_not_initialized) {
  Fixture f;
  const pid_t child = fork();
  if (child == 0) {
    int n = 0;
    _exit(cuDeviceGetCount(&n) == 3 && cuInit(0) == 3 ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK_EQ(WEXITSTATUS(status), 7);
  int n = 0;
  CHECK_EQ(cuDeviceGetCount(&n), 0);
  CHECK_EQ(n, 1);
}

// --- all functions, in random order

namespace {

void do_nothing(void*) {}
void answer_nothing(Handle, int, void*) {}
size_t no_bytes(int) { return 0; }

// Makes arguments: mostly such as earlier calls gave.
class Arguments {
 public:
  explicit Arguments(uint64_t seed) : random_(seed) {
    unmapped_ = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (auto& buffer : buffers_) buffer.resize(4096);
  }
  ~Arguments() { munmap(unmapped_, 4096); }

  uint64_t below(uint64_t n) { return random_() % n; }
  char* buffer() { return buffers_[below(std::size(buffers_))].data(); }

  // Keeps what pointers to results hold now: it may be a handle or an address of the driver's blocks, and no pointer to other
  // memory of the process (a name, a buffer), which a copy would overwrite as NVIDIA's would.
  void learn() {
    for (auto& buffer : buffers_) {
      Handle value;
      std::memcpy(&value, buffer.data(), sizeof value);
      if (value && (is_block(value) || !is_mapped(value))) words_.push_back(value);
      std::fill(buffer.begin(), buffer.end(), '\0');
    }
    if (words_.size() > 64) words_.erase(words_.begin(), words_.begin() + 16);
  }

  uint64_t number() {
    const uint64_t choices[] = {0,   1,    2,    4,     8,        32,           64,
                                100, 1000, 4096, 12000, 1u << 20, ~uint64_t{0}, uint64_t{1} << 40};
    return below(4) ? below(5) : choices[below(std::size(choices))];
  }
  Handle word() {
    if (words_.empty() || below(5) == 0) return reinterpret_cast<Handle>(below(2) ? below(4) : 0x1230);
    return words_[below(words_.size())];
  }

  template <class T>
  T make() {
    if constexpr (std::is_same_v<T, const char*>) {
      const char* names[] = {"scale", "counter", "cuMemAlloc", "", "/nowhere", "0000:01:00.0"};
      return below(8) ? names[below(std::size(names))] : nullptr;
    } else if constexpr (std::is_same_v<T, HostFunction>) {
      return below(8) ? do_nothing : nullptr;
    } else if constexpr (std::is_same_v<T, StreamCallback>) {
      return below(8) ? answer_nothing : nullptr;
    } else if constexpr (std::is_same_v<T, size_t (*)(int)>) {
      return below(2) ? no_bytes : nullptr;
    } else if constexpr (std::is_same_v<T, Handle>) {
      return word();  // also a pointer to memory, which functions read or write: these are left out
    } else if constexpr (std::is_same_v<T, Address>) {
      const Address address = reinterpret_cast<Address>(word()) + (below(4) ? 0 : number());
      const auto at = reinterpret_cast<Handle>(address);
      return is_block(at) || !is_mapped(at) ? address : reinterpret_cast<Address>(unmapped_);
    } else if constexpr (std::is_same_v<T, Location>) {
      return Location{static_cast<int>(below(4)), static_cast<int>(below(2))};
    } else if constexpr (std::is_pointer_v<T>) {
      if (below(10) == 0) return nullptr;
      // No other argument overwrites how many places an array has, and no later call writes to the driver's own memory.
      using To = std::remove_const_t<std::remove_pointer_t<T>>;
      constexpr bool is_apart =
          std::is_same_v<To, size_t> || (std::is_pointer_v<To> && std::is_const_v<std::remove_pointer_t<To>>);
      char* at = is_apart ? apart_ : buffer();
      fill(static_cast<std::remove_const_t<std::remove_pointer_t<T>>*>(nullptr), at);
      return reinterpret_cast<T>(at);
    } else {
      return static_cast<T>(number());
    }
  }

 private:
  static bool is_block(Handle at) { return state().blocks.find(reinterpret_cast<Address>(at)) != nullptr; }
  static bool is_mapped(Handle at) {
    char byte;
    iovec here{&byte, 1}, there{at, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
  }

  template <class T>
  void fill(T*, char* at) {
    if constexpr (std::is_same_v<
                      T, Handle>) {  // handles, pointers to parameters: each points to memory, or is a handle
      auto* to = reinterpret_cast<Handle*>(at);
      const bool are_handles = below(2);
      for (int i = 0; i < 16; ++i)
        to[i] = are_handles ? word() : static_cast<Handle>(buffers_[0].data() + 1024);
    } else if constexpr (std::is_same_v<T, Copy2D>) {
      Copy2D c{};
      c.from_type = static_cast<unsigned>(below(6)), c.to_type = static_cast<unsigned>(below(6));
      c.from_host = below(4) ? buffer() : unmapped_,
      c.to_host = below(4) ? static_cast<void*>(buffer()) : unmapped_;
      c.from_device = make<Address>(), c.to_device = make<Address>(), c.from_pitch = number(),
      c.to_pitch = number();
      c.width = small(), c.height = small();
      if (std::max({c.from_pitch, c.to_pitch, c.width}) * c.height > buffers_[0].size())
        c.from_host = c.to_host = unmapped_;
      std::memcpy(at, &c, sizeof c);
    } else if constexpr (std::is_same_v<T, Copy3D>) {
      Copy3D c{};
      c.from_type = static_cast<unsigned>(below(6)), c.to_type = static_cast<unsigned>(below(6));
      c.from_host = below(4) ? buffer() : unmapped_,
      c.to_host = below(4) ? static_cast<void*>(buffer()) : unmapped_;
      c.from_device = make<Address>(), c.to_device = make<Address>(), c.from_pitch = small(),
      c.to_pitch = small();
      c.width = small(), c.height = small(), c.depth = small();
      if (std::max({c.from_pitch, c.to_pitch, c.width}) * c.height * c.depth > buffers_[0].size())
        c.from_host = c.to_host = unmapped_;
      std::memcpy(at, &c, sizeof c);
    } else if constexpr (std::is_same_v<T, LaunchConfig>) {
      LaunchConfig c{1, 1, 1, 32, 1, 1, 0, word(), nullptr, static_cast<unsigned>(below(2))};
      std::memcpy(at, &c, sizeof c);
    } else if constexpr (std::is_same_v<T, KernelParams>) {
      KernelParams p{word(), 1, 1, 1, 32, 1, 1, 0, make<void**>(), nullptr, nullptr, nullptr};
      std::memcpy(at, &p, sizeof p);
    } else if constexpr (std::is_same_v<T, size_t>) {  // how many places an array has
      const size_t n = below(64);
      std::memcpy(at, &n, sizeof n);
    } else if constexpr (std::is_same_v<T, HostParams>) {
      HostParams p{do_nothing, nullptr};
      std::memcpy(at, &p, sizeof p);
    } else {
      for (int i = 0; i < 256; ++i) at[i] = below(4) ? '\0' : static_cast<char>(below(9));
    }
  }
  size_t small() { return below(8) ? below(5) : below(300); }

  std::mt19937_64 random_;
  std::vector<Handle> words_;
  std::vector<char> buffers_[6];
  char apart_[4096] = {};
  void* unmapped_;
};

template <class... Args>
void call_randomly(int (*function)(Args...), Arguments& arguments) {
  function(arguments.make<Args>()...);
}

using Caller = void (*)(Arguments&);
struct Row {
  std::string_view name;
  Caller caller;
};
const Row kAll[] = {
#define FUNCTION(name, suffix, since, needs, params) \
  {#name, [](Arguments& a) { call_randomly(&name##suffix, a); }},
#define STREAM(name, suffix, since, needs, variant, params) FUNCTION(name, suffix, since, needs, params)
#define MISSING(name)
#include "functions.def"
#undef FUNCTION
#undef STREAM
#undef MISSING
};

// These read or write what a void* points to, for which a random word does not do, as it would not with NVIDIA's.
bool takes_memory(std::string_view name) {
  for (const char* one : {"cuModuleLoadData",
                          "cuModuleLoadDataEx",
                          "cuModuleLoadFatBinary",
                          "cuLibraryLoadData",
                          "cuLinkAddData",
                          "cuPointerGetAttribute",
                          "cuPointerGetAttributes",
                          "cuPointerSetAttribute",
                          "cuMemRangeGetAttribute",
                          "cuMemPoolSetAttribute",
                          "cuMemPoolSetAccess",
                          "cuMemPoolGetAttribute",
                          "cuStreamGetAttribute",
                          "cuStreamSetAttribute",
                          "cuTensorMapEncodeTiled",
                          "cuTensorMapEncodeIm2col",
                          "cuTensorMapReplaceAddress",
                          "cuGraphInstantiateWithParams",
                          "cuGraphExecUpdate",
                          "cuLinkCreate",
                          "cuLinkComplete"})
    if (name == one) return true;
  return false;
}

}  // namespace

// FUZZ_SEEDS=1000 begins at another seed, and FUZZ_COUNT=5000 tries more of them; FUZZ_SAYS=1 prints the calls.
uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(random_calls_are_answered) {
  const uint64_t first = setting("FUZZ_SEEDS", 1), count = setting("FUZZ_COUNT", 40);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::fflush(nullptr);
    const pid_t child = fork();  // forgets what other tests left; the child has a driver of its own
    if (child == 0) {
      new (&state()) State;
      if (seed % 4 == 0) state().races = std::make_unique<Races>();
      if (!std::getenv("FUZZ_SAYS")) freopen("/dev/null", "w", stderr);
      Fixture f;
      Arguments arguments(seed);
      for (int i = 0; i < 1500; ++i) {
        const Row& row = kAll[arguments.below(std::size(kAll))];
        if (takes_memory(row.name) || row.name == "cuMemHostRegister") continue;
        if (std::getenv("FUZZ_SAYS")) std::fprintf(stderr, "%s\n", std::string(row.name).c_str());
        row.caller(arguments);
        arguments.learn();
      }
      // The driver still launches, in a context of its own.
      Handle context = nullptr;
      cuCtxCreate_v2(&context, 0, 0);
      Handle module = nullptr, scale = nullptr;
      cuModuleLoadData(&module, kText);
      cuModuleGetFunction(&scale, module, "scale");
      Address x = f.floats({1, 2, 3});
      int n = 3;
      void* params[] = {&x, &n};
      const bool is_right =
          cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr) == 0 && f.read(x, 3)[2] == 6;
      _exit(is_right ? 7 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
      unit::record_failure(__FILE__, __LINE__,
                           "seed " + std::to_string(seed) + ": status " + std::to_string(status));
  }
}
