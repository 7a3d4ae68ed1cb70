// Gives special registers their values. There are three kinds: those that depend on the thread alone are
// filled in once, those of the block and the clocks are read when an instruction wants them.
#include "front/ptx/special.h"

#include <time.h>

#include <triton_runner/num/by_size.h>

#include "ops/memory.h"

namespace triton_runner::simt {
namespace {

using ptx::Special;

uint64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t block_special(const Exec& x, Special s) {
  const Cta& cta = *x.cta;
  const Code& code = x.code();
  const auto& blocks = x.launch().blocks;
  auto i = [&](Special base) { return static_cast<size_t>(s) - static_cast<size_t>(base); };
  auto between = [&](Special low, Special high) { return s >= low && s <= high; };
  if (between(Special::kNtidX, Special::kNtidZ)) return code.block[i(Special::kNtidX)];
  if (between(Special::kCtaidX, Special::kCtaidZ)) return cta.id[i(Special::kCtaidX)];
  if (between(Special::kNctaidX, Special::kNctaidZ)) return blocks[i(Special::kNctaidX)];
  if (between(Special::kClusteridX, Special::kClusteridZ)) {
    size_t d = i(Special::kClusteridX);
    return cta.id[d] / code.cluster[d];
  }
  if (between(Special::kNclusteridX, Special::kNclusteridZ)) {
    size_t d = i(Special::kNclusteridX);
    return blocks[d] / code.cluster[d];
  }
  if (between(Special::kClusterCtaidX, Special::kClusterCtaidZ)) {
    size_t d = i(Special::kClusterCtaidX);
    return cta.id[d] % code.cluster[d];
  }
  if (between(Special::kClusterNctaidX, Special::kClusterNctaidZ))
    return code.cluster[i(Special::kClusterNctaidX)];
  switch (s) {
    case Special::kNwarpid:
      return (code.real_threads + 31) / 32;
    case Special::kNsmid:
      return 1;
    case Special::kClusterCtarank:
      return cta.rank;
    case Special::kClusterNctarank:
      return code.cluster[0] * code.cluster[1] * code.cluster[2];
    case Special::kIsExplicitCluster:
      return code.explicit_cluster ? 0xff : 0;
    case Special::kClock:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
      return nanoseconds();
    case Special::kClockHi:
    case Special::kGlobaltimerHi:
      return nanoseconds() >> 32;
    case Special::kDynamicSmemSize:
      return cta.shared_bytes - code.static_shared;
    case Special::kEnvreg1:
      return reinterpret_cast<uint64_t>(x.launch().workspace.data()) >> 32;
    case Special::kEnvreg2:
      return static_cast<uint32_t>(reinterpret_cast<uint64_t>(x.launch().workspace.data()));
    case Special::kTotalSmemSize:
    case Special::kAggrSmemSize:
      return cta.shared_bytes;
    default:  // %smid, %gridid, %pm, %envreg, reserved shared memory: zero
      return 0;
  }
}

}  // namespace

void read_block_special(Lanes& l, const Operands& in) {
  const uint64_t value = block_special(exec_of(l), static_cast<Special>(in.small));
  num::by_size(static_cast<size_t>(in.imm), [&](auto zero) { fill(l, l.reg<decltype(zero)>(in.d), value); });
}

static bool differs_by_thread(Special s) {
  return s <= Special::kTidZ || s == Special::kLaneid || s == Special::kWarpid ||
         (s >= Special::kLanemaskEq && s <= Special::kLanemaskGt);
}

static bool is_block_number(Special s) { return s >= Special::kCtaidX && s <= Special::kCtaidZ; }

// The value of a special register that differs by thread.
static uint64_t thread_special(const Code& code, Special special, uint32_t thread) {
  const uint32_t lane = thread % 32, x = std::max(1u, code.block[0]), y = std::max(1u, code.block[1]);
  switch (special) {
    case Special::kTidX:
      return thread % x;
    case Special::kTidY:
      return thread / x % y;
    case Special::kTidZ:
      return thread / x / y;
    case Special::kLaneid:
      return lane;
    case Special::kWarpid:
      return thread / 32;
    case Special::kLanemaskEq:
      return 1u << lane;
    case Special::kLanemaskLt:
      return (1u << lane) - 1;
    case Special::kLanemaskLe:
      return (2ull << lane) - 1;
    case Special::kLanemaskGe:
      return 0xffffffffu << lane;
    case Special::kLanemaskGt:
      return static_cast<uint32_t>(0xfffffffeull << lane);
    default:
      return 0;
  }
}

uint32_t filled_special(Emitter& to, Special special, uint32_t bytes) {
  if (differs_by_thread(special))
    return to.thread_constant(static_cast<uint64_t>(special), bytes,
                              [&](uint32_t thread) { return thread_special(to.code, special, thread); });
  if (!is_block_number(special)) return kNoRegister;
  return to.block_number(static_cast<uint32_t>(special) - static_cast<uint32_t>(Special::kCtaidX), bytes);
}

bool read_special(Lowering& l, Special special, uint32_t bytes, uint32_t place) {
  if (differs_by_thread(special) || is_block_number(special)) return false;
  l.code.uses_workspace |= special == Special::kEnvreg1 || special == Special::kEnvreg2;
  return l.emit(read_block_special, {.d = place, .small = static_cast<uint32_t>(special), .imm = bytes});
}

uint32_t place_special(Lowering& l, Special special, uint32_t bytes) {
  if (const uint32_t filled = filled_special(l, special, bytes); filled != kNoRegister) return filled;
  uint32_t place = l.temporary(bytes);
  read_special(l, special, bytes, place);
  return place;
}

}  // namespace triton_runner::simt
