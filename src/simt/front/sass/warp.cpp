// Lowers what threads of a warp and of a block do together. Machine code names no members: those that are on
// take part, and WARPSYNC and BSYNC before it have brought them together.
#include "ops/warp.h"

#include "front/sass/lower.h"
#include "ops/barrier.h"
#include "ops/control.h"

namespace triton_runner::simt {
namespace {

// A BAR.RED leaves these for B2R, after the barrier registers of the code.
constexpr uint32_t kCountPlace = 0x100, kHoldsPlace = 0x101;

std::optional<uint32_t> number(const sass::Operand& o) {
  if (o.kind == sass::OperandKind::kInteger) return static_cast<uint32_t>(o.integer);
  if (o.kind == sass::OperandKind::kRegister && o.index == sass::kZero) return 0;
  return std::nullopt;
}

bool lower_shuffle(SassLowering& l) {
  const ShuffleKind kind = l.has("UP")     ? ShuffleKind::kUp
                           : l.has("DOWN") ? ShuffleKind::kDown
                           : l.has("BFLY") ? ShuffleKind::kBfly
                                           : ShuffleKind::kIdx;
  const uint32_t members = l.is_exclusive() ? l.active() : kNoRegister;  // those that are on
  const uint32_t a = l.word(2), b = l.word(3), c = l.word(4), d = l.result(1);
  const uint32_t in_range = l.slot(0)->index == sass::kTrue ? kNoRegister : l.predicate_result(0);
  Instr& i = l.emit(nullptr);
  i.d = d, i.e = in_range, i.a = a, i.b = b, i.c = c, i.imm = members;
  set_shuffle(i, l.code, kind, number(*l.slot(3)), number(*l.slot(4)));
  return true;
}

bool is_read(const sass::Operand* o, uint32_t none) { return o && o->index != none; }

// Shape 0: the ballot, maybe with a predicate; 1: a predicate alone.
template <bool uniform>
bool lower_vote(SassLowering& l) {
  const bool has_ballot = l.shape() == 0;
  const uint32_t members = l.active(), holds = l.predicate(has_ballot ? 2 : 1);
  auto vote = [&](Vote kind, uint32_t d, uint32_t bytes) {
    const uint32_t at = uniform ? l.temporary(bytes) : d;
    l.emit<run_vote>({.d = at, .a = holds, .b = members, .small = static_cast<uint32_t>(kind)});
    if (uniform) l.give_threads(d, at, bytes);
  };
  const Vote kind = l.has("ALL") ? Vote::kAll : l.has("ANY") ? Vote::kAny : Vote::kUni;
  const uint32_t d = l.predicate_result(has_ballot ? 1 : 0);
  if (has_ballot && is_read(l.slot(0), sass::kZero)) vote(Vote::kBallot, l.result(0), 4);
  if (!has_ballot || is_read(l.slot(1), sass::kTrue)) vote(kind, d, 1);
  return true;
}

bool lower_match(SassLowering& l) {
  const bool all = l.has("ALL"), wide = l.has("U64");
  const uint32_t members = l.active(), d = l.result(all ? 1 : 0), value = l.shape();
  const uint32_t a = wide ? l.pair(value + 1) : l.word(value + 1);
  const uint32_t same = all ? l.predicate_result(0) : kNoRegister;
  return l.emit(match_handler(all, wide), {.d = d, .a = a, .b = members, .e = same});
}

bool lower_redux(SassLowering& l) {
  const bool is_signed = l.has("S32"), is_float = l.has("F32"), least = l.has("MIN") || l.has("MINABS");
  const Redux op = l.has("SUM")                      ? Redux::kAdd
                   : l.has("OR")                     ? Redux::kOr
                   : l.has("XOR")                    ? Redux::kXor
                   : least                           ? is_float    ? Redux::kMinF
                                                       : is_signed ? Redux::kMinS
                                                                   : Redux::kMinU
                   : l.has("MAX") || l.has("MAXABS") ? is_float    ? Redux::kMaxF
                                                       : is_signed ? Redux::kMaxS
                                                                   : Redux::kMaxU
                                                     : Redux::kAnd;
  const uint32_t members = l.active(), a = l.word(1), at = l.temporary(4);
  const uint32_t how = (l.has("MINABS") || l.has("MAXABS") ? kReduxAbs : 0) | (l.has("NAN") ? kReduxNan : 0);
  l.emit(redux_handler(op), {.d = at, .a = a, .b = members, .small = how});
  return l.give_threads(l.result(0), at, 4);
}

// Shape 1, of ptxas 12.4, names members: those of them that are on take part.
bool lower_elect(SassLowering& l) {
  const bool named = l.shape() == 1;
  if (!named && (l.slot(2)->index != sass::kTrue || l.slot(2)->inverted)) return false;
  uint32_t members = l.active();
  if (named) l.ptx("and.b32 %r0, %r1, %r2", {members = l.temporary(4), l.active(), l.word(2)});
  const uint32_t is_leader = l.predicate_result(0), leader = l.temporary(4);
  l.emit<run_elect>({.d = leader, .b = members, .e = is_leader});
  return l.give_threads(l.result(1), leader, 4);
}

// BAR: the barrier and, where it is written, how many threads; of RED a predicate after them.
bool lower_block_barrier(SassLowering& l) {
  uint32_t barrier = l.word(0), threads = l.slot(1) ? l.word(1) : kNoRegister;
  auto is_register = [&](size_t k) {
    return l.slot(k) && l.slot(k)->kind == sass::OperandKind::kRegister && l.slot(k)->index != sass::kZero;
  };
  if (is_register(0) && is_register(1)) {  // one register: the threads above the barrier's number
    const uint32_t number = l.temporary(4), count = l.temporary(4);
    l.ptx("and.b32 %r0, %r1, 0xf", {number, barrier});
    l.ptx("bfe.u32 %r0, %r1, 16, 12", {count, threads});
    barrier = number, threads = count;
  }
  if (!l.has("RED")) {
    if (l.slot(2) || (l.has("ARV") && !l.slot(1))) return false;
    return l.emit(l.has("ARV") ? handler<bar_arrive> : handler<bar_sync>, {.a = barrier, .b = threads});
  }
  if (!l.slot(2)) return false;
  const uint32_t holds = l.predicate(2), d = l.barrier(l.has("POPC") ? kCountPlace : kHoldsPlace);
  const int64_t vote = l.has("POPC") ? kCount : l.has("AND") ? kAll : kAny;
  return l.emit<bar_red>({.d = d, .a = barrier, .b = threads, .c = holds, .imm = vote});
}

// Shape 0: a predicate; 1: a count.
bool lower_block_result(SassLowering& l) {
  if (l.shape() == 1) {
    return l.copy(l.result(0), l.barrier(kCountPlace), 4);
  }
  if (is_read(l.slot(0), sass::kZero)) return false;
  return l.copy(l.predicate_result(1), l.barrier(kHoldsPlace), 1);
}

}  // namespace

bool lower_warp(SassLowering& l) {
  using enum sass::Opcode;
  // Memory is coherent here, in program order.
  static constexpr auto kNothing = [](SassLowering& l) { return l.emit(nothing, {}); };
  static constexpr SassRow kRows[] = {
      {lower_block_result, {kB2R_RESULT}},
      {lower_block_barrier, {kBAR}},
      {[](SassLowering& l) { return l.emit<trap_here>(); }, {kBPT}},
      {lower_redux, {kCREDUX, kREDUX}},
      {lower_elect, {kELECT}},
      {lower_match, {kMATCH, kMATCH_U64}},
      {lower_shuffle, {kSHFL}},
      {[](SassLowering& l) { return l.emit<cluster_arrive>(); }, {kUCGABAR_ARV}},
      {[](SassLowering& l) { return l.emit<cluster_wait>(); }, {kUCGABAR_WAIT}},
      {lower_vote<false>, {kVOTE}},
      {lower_vote<true>, {kVOTEU}},
      {kNothing, {kCCTL, kCGAERRBAR, kERRBAR, kMEMBAR, kNANOSLEEP, kPMTRIG}}};
  return lower_by(l, kRows);
}

}  // namespace triton_runner::simt
