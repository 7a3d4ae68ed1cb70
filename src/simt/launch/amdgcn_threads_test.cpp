// Tests blocks of AMD's machine code on several threads, which four threads load and launch at once: LDS that loads
// fill past the registers, its barrier, a matrix product, an atomic sum of all blocks, with and without checks.
#include <triton_runner/simt/simt.h>

#include <numeric>
#include <thread>
#include <vector>

#include "test.h"

using namespace triton_runner;

namespace {

constexpr int kThreads = 128, kWords = 4;  // of a block; that a thread stores

// y[block, thread] = 16 four times, the sums of a product of ones, plus x[of the block's thread 64 away]; total += 1 a thread.
const char* const kText = R"(	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
kernel:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshlrev_b32_e32 v1, 2, v0
	v_readfirstlane_b32 s10, v1
	s_mov_b32 m0, s10
	s_waitcnt lgkmcnt(0)
	global_load_lds_dword v1, s[8:9]
	s_waitcnt vmcnt(0)
	s_barrier
	v_xor_b32_e32 v8, 64, v0
	v_lshlrev_b32_e32 v8, 2, v8
	ds_read_b32 v2, v8
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v3, v2
	v_mov_b32_e32 v4, v2
	v_mov_b32_e32 v5, v2
	v_mov_b32_e32 v6, 0x3c003c00
	v_mov_b32_e32 v7, v6
	s_nop 1
	v_mfma_f32_16x16x16_f16 v[2:5], v[6:7], v[6:7], v[2:5]
	v_mov_b32_e32 v9, 0
	v_mov_b32_e32 v11, 1
	global_atomic_add v9, v11, s[6:7]
	v_lshlrev_b32_e32 v1, 4, v0
	s_lshl_b32 s8, s2, 11
	v_add_u32_e32 v1, s8, v1
	s_nop 7
	global_store_dwordx4 v1, v[2:5], s[4:5]
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel kernel
		.amdhsa_group_segment_fixed_size 512
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
	.end_amdhsa_kernel
	.amdgpu_metadata
amdhsa.kernels:
  - .args:
      - .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .offset:         16
        .size:           8
        .value_kind:     global_buffer
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 128
    .name:           kernel
	.end_amdgpu_metadata
)";

// How many results of a launch are wrong.
size_t wrong_results(int threads, int64_t blocks, uint32_t checks) {
  auto loaded = simt::load_amdgcn(kText, "", {}, "test.amdgcn");
  if (!loaded) {
    fprintf(stderr, "%s\n", loaded.error().str().c_str());
    return 1;
  }
  std::vector<float> y(static_cast<size_t>(blocks * kThreads * kWords));
  std::vector<float> x(kThreads);
  std::iota(x.begin(), x.end(), 0.0f);
  uint32_t total = 0;
  const exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(y.data()), {}},
                                 {exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(&total), {}},
                                 {exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data()), {}}};
  const exec::Allocation memory[] = {{reinterpret_cast<uint64_t>(y.data()), y.size() * 4, "y", true},
                                     {reinterpret_cast<uint64_t>(&total), 4, "total", true},
                                     {reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x", false}};
  exec::LaunchOptions options;
  options.grid = {blocks, 1, 1};
  options.threads = threads;
  options.checks = checks;
  if (auto error = (*loaded)->launch(options, args, memory)) {
    fprintf(stderr, "%s\n", error->str().c_str());
    return 1;
  }
  size_t wrong = total != static_cast<uint32_t>(blocks * kThreads);
  for (size_t i = 0; i < y.size(); ++i)
    wrong += y[i] != 16 + static_cast<float>((i / kWords % kThreads) ^ 64);
  return wrong;
}

}  // namespace

TEST(threads_run_blocks_of_amds_code) {
  for (uint32_t checks : {0u, exec::kCheckOutOfBounds | exec::kCheckUninitialized | exec::kCheckRace}) {
    for (int threads : {1, 2, 8}) CHECK_EQ(wrong_results(threads, 64, checks), 0u);
    std::vector<size_t> wrong(4, 1);
    std::vector<std::thread> callers;
    for (size_t& result : wrong) callers.emplace_back([&] { result = wrong_results(4, 64, checks); });
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == std::vector<size_t>(4));
  }
}
