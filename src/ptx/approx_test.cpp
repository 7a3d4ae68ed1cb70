// Tests the .approx functions against an H100: hashes of its results over whole binades
// (tests/golden/ptx-hw/approx.txt, written by tests/gpu/approx_fit.py from a measurement), on every
// instruction set.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "alu_test_support.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::ptx;

namespace {

constexpr uint32_t kStep = 61;  // every 61st float of a range

// Beside this source where its name is absolute, else above the folder that the test runs in.
std::filesystem::path golden_file() {
  const std::filesystem::path name = "tests/golden/ptx-hw/approx.txt", source = __FILE__;
  if (source.is_absolute()) return source.parent_path() / "../.." / name;
  for (auto folder = std::filesystem::current_path();; folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / name) || folder == folder.parent_path()) return folder / name;
  }
}

uint64_t hash_of(OneInstruction& i, uint32_t first, uint32_t count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t at = 0; at < count;) {
    const uint64_t begin = at;
    for (uint32_t lane = 0; lane < i.kLanes; ++lane, at += kStep) i.set(1, lane, first + at);
    i.run();
    for (uint32_t lane = 0; lane < i.kLanes && begin + uint64_t{lane} * kStep < count; ++lane)
      hash = (hash ^ i.get(0, lane)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

TEST(approx_is_an_h100s) {
  for (const char* isa : {"avx512", "avx2", "portable"}) {
    if (!num::force_isa(isa)) continue;
    std::ifstream file(golden_file());
    int ranges = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string name;
      uint32_t first = 0, count = 0;
      uint64_t expected = 0;
      words >> name >> std::hex >> first >> std::dec >> count >> std::hex >> expected;
      OneInstruction i(name + " %a0, %a1;", {Mod::kB32, Mod::kB32});
      CHECK(i.ok);
      if (!i.ok) continue;
      const uint64_t actual = hash_of(i, first, count);
      if (actual != expected) unit::record_failure(__FILE__, __LINE__, line + " on " + isa);
      ++ranges;
    }
    CHECK_EQ(ranges, 19);
  }
  num::force_isa("");
}

// A block of lanes with one divisor takes another way than one where a lane has a divisor of its own.
TEST(a_divisor_that_lanes_share_divides_as_any) {
  const uint32_t divisors[] = {0x3f800000, 0x40490fdb, 0xc2f70a3d, 0x00000000, 0x80000000,
                               0x7f800000, 0xff800000, 0x7fc00001, 0x00000001, 0x807fffff,
                               0x7f7fffff, 0x7e800001, 0x00800000, 0x3f7fffff};
  for (const char* isa : {"avx512", "avx2", "portable"}) {
    if (!num::force_isa(isa)) continue;
    for (const char* name : {"div.approx.f32", "div.approx.ftz.f32", "div.full.f32", "div.full.ftz.f32"}) {
      OneInstruction i(std::string(name) + " %a0, %a1, %a2;", {Mod::kB32, Mod::kB32, Mod::kB32});
      CHECK(i.ok);
      for (const uint32_t divisor : divisors) {
        uint64_t shared[i.kLanes];
        for (uint32_t lane = 0; lane < i.kLanes; ++lane)
          i.set(1, lane, lane < std::size(divisors) ? divisors[lane] : 0x9e3779b9u * (lane + divisor));
        for (const bool apart : {false, true}) {
          for (uint32_t lane = 0; lane < i.kLanes; ++lane)
            i.set(2, lane, apart && lane % 32 == 31 ? 0x40a00000 : divisor);
          i.run();
          for (uint32_t lane = 0; lane < i.kLanes; ++lane) {
            if (!apart) shared[lane] = i.get(0, lane);
            if (apart && lane % 32 != 31) CHECK_EQ(i.get(0, lane), shared[lane]);
          }
        }
      }
    }
  }
  num::force_isa("");
}
