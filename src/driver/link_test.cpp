// Tests cuLinkComplete: texts that become one module, and the device's runtime beside them.
#include <string>

#include "test_context.h"

using namespace triton_runner;
using namespace triton_runner::driver;

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
