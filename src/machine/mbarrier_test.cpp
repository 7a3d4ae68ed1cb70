// Tests what an mbarrier keeps in its 64 bits, and when its phases end.
#include <triton_runner/machine/mbarrier.h>

#include <bit>

#include "test.h"

namespace triton_runner::machine {
namespace {

TEST(mbarriers_keep_what_they_count) {
  constexpr uint64_t kMost = Mbarrier::kMost;
  for (uint64_t pending : {uint64_t{0}, uint64_t{1}, uint64_t{128}, kMost})
    for (int64_t tx : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{65536}, int64_t{kMost}, -int64_t{kMost}})
      for (uint64_t phase : {0, 1}) {
        const Mbarrier made{pending, kMost - pending, tx, phase, Mbarrier::kMark};
        const auto m = std::bit_cast<Mbarrier>(std::bit_cast<uint64_t>(made));
        CHECK(m.is_there());
        CHECK_EQ(uint64_t{m.pending}, pending);
        CHECK_EQ(uint64_t{m.expected}, kMost - pending);
        CHECK_EQ(int64_t{m.tx}, tx);
        CHECK_EQ(uint64_t{m.phase}, phase);
      }
  CHECK(!std::bit_cast<Mbarrier>(uint64_t{0}).is_there());
  CHECK(!std::bit_cast<Mbarrier>(~uint64_t{0}).is_there());
}

TEST(a_phase_ends_when_nothing_is_missing) {
  Mbarrier m = Mbarrier::of(2);
  CHECK_EQ(m.arrive({.expect_tx = 16}), "");
  CHECK(!m.settle());
  CHECK_EQ(m.arrive({.drop = true}), "");
  CHECK(!m.settle());
  CHECK_EQ(m.text(), "phase 0: 0 arrivals and 16 bytes are missing");
  CHECK_EQ(m.count_bytes(-16), "");
  CHECK(m.settle());
  CHECK(m.has_ended(false));
  CHECK(!m.has_ended(true));
  CHECK_EQ(m.text(), "phase 1: 1 arrival and 0 bytes are missing");  // one dropped out
  CHECK_EQ(m.arrive({.count = 2}), "gets 2 arrivals where it wants 1");
}

}  // namespace
}  // namespace triton_runner::machine
