// Implements Mbarrier: the operations on its phase, arrivals and bytes, and the messages for what a barrier
// does not allow.
#include <triton_runner/machine/mbarrier.h>

namespace triton_runner::machine {

std::string Mbarrier::arrive(const Arrival& arrival) {
  if (std::string fault = count_bytes(arrival.expect_tx); !fault.empty()) return fault;
  const auto wanted = static_cast<int64_t>(pending);
  if (arrival.count <= 0 || arrival.count > wanted)
    return "gets " + std::to_string(arrival.count) + " arrivals where it wants " + std::to_string(wanted);
  const auto count = static_cast<uint64_t>(arrival.count);
  if (arrival.drop) {
    if (count > expected) return "cannot drop more participants than it has";
    expected -= count;
  }
  pending -= count;
  if (arrival.no_complete && pending == 0) return "would be completed by an arrival with .noComplete";
  return {};
}

std::string Mbarrier::count_bytes(int64_t bytes) {
  const int64_t sum = tx + bytes;
  if (sum > int64_t{kMost} || sum < -int64_t{kMost})
    return "cannot count " + std::to_string(sum) + " bytes: the limit is " + std::to_string(kMost);
  tx = sum;
  return {};
}

std::string Mbarrier::add_pending(uint32_t count) {
  if (pending + count > kMost) return "cannot count another arrival";
  pending += count;
  return {};
}

std::string Mbarrier::text() const {
  return "phase " + std::to_string(uint64_t{phase}) + ": " + std::to_string(uint64_t{pending}) +
         (pending == 1 ? " arrival" : " arrivals") + " and " + std::to_string(int64_t{tx}) +
         " bytes are missing";
}

}  // namespace triton_runner::machine
