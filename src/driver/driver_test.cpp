// Tests libcuda.so.1 through its symbols: launches, faults, copies, contexts, and handles and pointers that are wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "test_context.h"

using namespace triton_runner;
using namespace triton_runner::driver;

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

TEST(a_buffer_of_parameters_has_their_size) {  // the errors of more bytes are an H200's
  Fixture f;
  Address x = f.floats({1, 2, 3});
  struct {
    Address x;
    int n;
  } values{x, 3};
  const auto launch = [&](size_t bytes) {
    void* extra[] = {reinterpret_cast<void*>(1), &values, reinterpret_cast<void*>(2), &bytes, nullptr};
    return cuLaunchKernel(f.scale, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra);
  };
  CHECK_EQ(launch(12), 0);
  CHECK_EQ(launch(8), kInvalidValue);
  CHECK_EQ(launch(sizeof values), kLaunchOutOfResources);  // with the padding of the structure
  CHECK_EQ(launch(13), kLaunchOutOfResources);
  CHECK(f.read(x, 3) == (std::vector<float>{2, 4, 6}));
}

TEST(a_block_above_the_launch_bounds_is_an_invalid_value) {
  Fixture f;
  Handle module = nullptr, k = nullptr;
  CHECK_EQ(cuModuleLoadData(&module,
                            ".version 8.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry k() .maxntid 32, 2, 1 { ret; }\n"),
           0);
  CHECK_EQ(cuModuleGetFunction(&k, module, "k"), 0);
  CHECK_EQ(cuLaunchKernel(k, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), 0);
  CHECK_EQ(cuLaunchKernel(k, 1, 1, 1, 65, 1, 1, 0, nullptr, nullptr, nullptr), 1);
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
