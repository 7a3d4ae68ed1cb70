// Adding a front end with wavefronts of 64 lanes: its folder, and nothing else of the tree knows of it.
#include "wave.h"

#include <vector>

#include "test.h"

using namespace triton_runner;

namespace {

std::optional<exec::LaunchError> run(const std::string& text, std::vector<uint32_t>& x, uint32_t threads,
                                     std::optional<uint64_t> shuffle = {}) {
  auto kernel = simt::load_wave(text, threads);
  if (!kernel) return exec::LaunchError{{kernel.error()}, {}};
  const auto address = reinterpret_cast<uint64_t>(x.data());
  const exec::Argument argument{exec::ParamKind::kPointer, address, {}};
  const exec::Allocation allocation{address, x.size() * sizeof(uint32_t), "x", true};
  exec::LaunchOptions options;
  options.shuffle = shuffle;
  options.threads = 1;
  return (*kernel)->launch(options, {&argument, 1}, {&allocation, 1});
}

std::vector<uint32_t> numbers(uint32_t n) {
  std::vector<uint32_t> x(n);
  for (uint32_t i = 0; i < n; ++i) x[i] = 1000 + i;
  return x;
}

}  // namespace

TEST(wave_scalars_and_lanes) {
  std::vector<uint32_t> x = numbers(128);
  CHECK(!run("s_add s1, s0, 5\nv_add v1, v0, s1\nstore v0, v1", x, 128));
  for (uint32_t i = 0; i < 128; ++i) CHECK_EQ(x[i], i + 5);
}

// EXEC holds 40 lanes of the first wavefront of 64 and none of the second, whose scalars still count.
TEST(wave_exec_is_of_64_lanes) {
  std::vector<uint32_t> x = numbers(128);
  CHECK(!run("v_cmpx_gt 40, v0\ns_count s1\nstore v0, s1", x, 128));
  for (uint32_t i = 0; i < 128; ++i) CHECK_EQ(x[i], i < 40 ? 40 : 1000 + i);
}

// The rest of a wavefront that the block does not fill is off from the start.
TEST(wave_block_ends_within_a_wavefront) {
  std::vector<uint32_t> x = numbers(128);
  CHECK(!run("s_count s1\nstore v0, s1", x, 100));
  for (uint32_t i = 0; i < 128; ++i) CHECK_EQ(x[i], i < 64 ? 64 : i < 100 ? 36 : 1000 + i);
}

// Loads come back in their order, and the counter says how many may be missing: of two, the older one is there.
TEST(wave_counts_loads_under_way) {
  const std::string loads = "v_add v1, v0, v0\nload v2, v0\nload v3, v1\n",
                    stores = "v_add v4, v2, v3\nstore v0, v4";
  const auto x0 = numbers(128);
  for (const auto& [wait, first, second] : {std::tuple("", 0, 0), std::tuple("s_wait 2\n", 0, 0),
                                            std::tuple("s_wait 1\n", 1, 0), std::tuple("s_wait 0\n", 1, 1)}) {
    std::vector<uint32_t> x = x0;
    CHECK(!run(loads + wait + stores, x, 64));
    for (uint32_t i = 0; i < 64; ++i)
      CHECK_EQ(x[i], static_cast<uint32_t>(first) * x0[i] + static_cast<uint32_t>(second) * x0[2 * i]);
  }
}

// In a shuffled launch each wavefront goes its own way, with a counter of its own.
TEST(wave_shuffled_by_wavefront) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<uint32_t> x = numbers(256);
    CHECK(!run("load v1, v0\ns_add s1, s0, 7\ns_wait 0\nv_add v2, v1, s1\nstore v0, v2", x, 256, seed));
    for (uint32_t i = 0; i < 256; ++i) CHECK_EQ(x[i], 1007 + i);
  }
}

TEST(wave_faults_name_the_instruction) {
  std::vector<uint32_t> x = numbers(70);
  const auto error = run("v_cmpx_gt 100, v0\nload v1, v0", x, 128);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kOutOfBounds);
  if (!error || !error->trap) return;
  CHECK_EQ(error->trap->instruction, std::string("load v1, v0"));
  CHECK_EQ(error->trap->artifact_line, 2u);
}
