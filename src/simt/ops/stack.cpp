// Implements the calls of stack.h, thread by thread.
#include "ops/stack.h"

#include <cstring>

namespace triton_runner::simt {
namespace {

// The memory and the registers of one thread.
struct ThreadSpots {
  std::byte *local, *regs;
  uint32_t thread;
  ThreadSpots(const Exec& x, uint32_t lane)
      : local(x.cta->local + uint64_t{x.first + lane} * x.code().local_bytes),
        regs(x.cta->regs),
        thread(x.first + lane) {}
  std::byte* reg(uint32_t place, uint32_t bytes) const { return regs + place + uint64_t{bytes} * thread; }
  std::byte* of(const PassedValue::Spot& spot, uint64_t frame, uint32_t bytes) const {
    return spot.in_memory ? local + frame + spot.at : reg(spot.at, bytes);
  }
};

template <class T>
void add_to_frame(Lanes& l, const Operands& in) {
  const uint64_t* frame = l.reg<uint64_t>(in.a);
  T* d = l.reg<T>(in.d);
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) d[i] = static_cast<T>(frame[i] + static_cast<uint64_t>(in.imm));
}

}  // namespace

void enter_routine(Exec& x, const Operands& in, const StackCall& call) {
  uint64_t* frame = x.reg<uint64_t>(call.frame);
  uint32_t* link = x.reg<uint32_t>(call.link);
  const uint64_t size = x.code().local_bytes;
  for (uint32_t i : x.lanes()) {
    const uint64_t above = frame[i] + call.caller->bytes;
    if (above + call.callee->bytes > size)
      return x.trap(in, exec::TrapKind::kOutOfMemory,
                    "the stack overflows: the frames up to that of '" + call.name + "' take " +
                        std::to_string(above + call.callee->bytes) + " bytes, and a thread has " +
                        std::to_string(size),
                    i);
    const ThreadSpots spots(x, i);
    if (call.saves)
      for (const SavedRegister& r : call.caller->saved)
        std::memcpy(spots.local + frame[i] + r.offset, spots.reg(r.place, r.bytes), r.bytes);
    for (const PassedValue& v : call.arguments)
      std::memcpy(spots.of(v.callee, above, v.bytes), spots.of(v.caller, frame[i], v.bytes), v.bytes);
    link[i] = call.number;
    frame[i] = above;
  }
}

void leave_routine(Exec& x, const Operands&, const StackCall& call) {
  uint64_t* frame = x.reg<uint64_t>(call.frame);
  for (uint32_t i : x.lanes()) {
    const uint64_t above = frame[i];
    frame[i] -= call.caller->bytes;
    const ThreadSpots spots(x, i);
    if (call.saves)
      for (const SavedRegister& r : call.caller->saved)
        std::memcpy(spots.reg(r.place, r.bytes), spots.local + frame[i] + r.offset, r.bytes);
    for (const PassedValue& v : call.results)
      std::memcpy(spots.of(v.caller, frame[i], v.bytes), spots.of(v.callee, above, v.bytes), v.bytes);
  }
}

Handler address_in_frame(uint32_t bytes) {
  return bytes == 8 ? add_to_frame<uint64_t> : add_to_frame<uint32_t>;
}

}  // namespace triton_runner::simt
