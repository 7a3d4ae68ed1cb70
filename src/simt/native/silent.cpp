// Implements Silence. It knows the order of one thread's accesses, and that of those before and after a barrier; any other order it
// takes for none.
#include "native/silent.h"

#include <algorithm>

namespace triton_runner::simt {

bool Silence::access(const SharedPart& part, uint32_t width) {
  for (const auto& [lane, last] : part.others)
    if (lane / width != last / width) return false;
  for (const SharedPart::Lane& one : part.lanes) {
    const bool together =
        std::ranges::any_of(part.others, [&](const auto& other) { return other.second == one.lane; });
    const uint32_t who = together ? kSeveral : one.lane;
    for (uint32_t at = one.at / 4; at < one.at / 4 + part.words; ++at) {
      const bool is_new = !words_.contains(at);
      if (is_new && !part.store) return false;
      Word& word = words_[at];
      const bool is_alone =
          (word.writer == kNobody || (word.writer == who && who != kSeveral)) &&
          (!part.store || word.reader == kNobody || (word.reader == who && who != kSeveral));
      if (!is_alone) return false;
      if (part.store)
        word.writer = who;
      else
        word.reader = word.reader == kNobody || word.reader == who ? who : kSeveral;
    }
  }
  return true;
}

void Silence::meet() {
  for (auto& [at, word] : words_) word = {};
}

}  // namespace triton_runner::simt
