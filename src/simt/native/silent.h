// Silent accesses to shared memory: of those at addresses that are known when a kernel is loaded (shared.h), it is known then, too,
// whether a check of races or of undefined memory can find anything in them. In a block's first run, the usual pattern of a reduction is
// silent: native code makes such a run under checks.
//
//   st.shared.b32 [%warp * 4], %r32;    one warp comes to each word; where its lanes do at once, native code compares their values
//   bar.sync 0;                         all of the block
//   ld.shared.b32 %r39, [%r38];         each word was stored before the barrier
#pragma once
#include <unordered_map>

#include "native/shared.h"

namespace triton_runner::simt {

// Follows the accesses of a block, from its beginning.
class Silence {
 public:
  // False: a check may find something.
  bool access(const SharedPart& part, uint32_t width);
  // All threads of the block meet.
  void meet();

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0}, kSeveral = kNobody - 1;
  struct Word {
    uint32_t writer = kNobody, reader = kNobody;  // lanes, since all have met
  };
  std::unordered_map<uint32_t, Word> words_;  // that have been stored, by their number
};

}  // namespace triton_runner::simt
