// Implements Delivery: places are checked when the copy is issued; the bytes come when somebody waits for
// them.
#include "async/delivery.h"

#include "async/mbarrier.h"
#include "check/check.h"
#include "check/count.h"

namespace triton_runner::simt {

bool Delivery::add(Exec& x, uint32_t address, uint32_t barrier, uint32_t bytes, uint32_t counted,
                   std::optional<uint32_t> blocks, bool pair) {
  bytes_ = bytes, counted_ = counted;
  if (x.worker->checks) reading_ = x.worker->checks->reading();
  auto add = [&](uint32_t to, uint32_t signal) {
    std::byte* at = x.shared(*instr, lane_, to, bytes, true);
    if (!at || !mbarrier_valid(x, *instr, lane_, signal)) return false;
    if (x.worker->counting)
      x.worker->counting->barrier(x, *instr, lane_, exec::TraceEvent::kComplete, signal, counted);
    to_.push_back({at, x.cta->cluster->cta_of(to), to & kOffsetMask, signal});
    return true;
  };
  if (!blocks) return add(address, barrier);
  for (uint32_t rank = 0; rank < 16; rank++) {
    if (!(*blocks >> rank & 1)) continue;
    const uint32_t owner = pair ? (rank & ~1u) | (barrier >> kRankShift & 1) : rank;
    if (!add((address & kOffsetMask) | rank << kRankShift, (barrier & kOffsetMask) | owner << kRankShift))
      return false;
  }
  return true;
}

std::string Delivery::text() const {
  std::string out = "copy of " + std::to_string(bytes_) + " bytes to ";
  for (const Place& p : to_)
    out +=
        (&p == to_.data() ? "" : ", ") + shared_text(p.cta ? p.cta->rank << kRankShift | p.offset : p.offset);
  return to_.empty() ? out + "nothing"
                     : out + ", which signals the mbarrier at " + shared_text(to_[0].barrier);
}

void Delivery::complete(Cluster&) {
  if (cta->alive_count == 0) return;
  Exec x = late_exec(*cta);
  for (const Place& place : to_) {
    write(place.at - place.offset, place.offset);
    if (Checks* checks = x.worker->checks; checks && place.cta)
      checks->landed(x, *instr, *place.cta, place.offset, bytes_, place.barrier, reading_);
    if (!mbarrier_complete_tx(x, *instr, thread_, place.barrier, counted_)) return;
  }
}

}  // namespace triton_runner::simt
