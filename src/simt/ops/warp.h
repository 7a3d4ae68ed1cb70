// Declares what the threads of a warp do together: shuffles, votes, matches, reductions, elections.
#pragma once
#include <optional>

#include "ops/redux.h"
#include "state/operand_data.h"

namespace triton_runner::simt {

// Returns whether every thread that is on has all the threads of its membermask (a register of 32 bits)
// beside it. If not, the path waits or splits, and the handler has to return.
bool warps_converged(Exec& x, const Instr& in, uint32_t members);

// The handler of an instruction with the places d: result, a: value, b: lane or distance, c: clamp and segments, e: the
// predicate or none, imm: the place of the membermask. Where b and c are constants of the code, their values.
void set_shuffle(Instr& i, Code& code, ShuffleKind kind, std::optional<uint32_t> b,
                 std::optional<uint32_t> c);

// The handler of a shuffle d = a of lane i ^ `by`, a power of 2 below 32; null for others.
Handler xor_handler(uint32_t by);
// The handler of other shuffles whose lanes are known: data is a ShuffleTable, e the predicate or none.
Handler table_shuffle();

// Runs the instruction to which `data` points, with all threads of each warp that has one on.
void run_for_warp(Lanes& l, const Operands& in);

enum class Vote : uint8_t { kAll, kAny, kUni, kBallot };
// d: predicate or ballot, a: predicate, b: membermask; small: Vote, c: 1 if the predicate is negated.
void run_vote(Exec& x, const Operands& in);
void run_activemask(Exec& x, const Operands& in);  // d
// d, a, b: membermask; all: d is the members where all have one value, else 0, and e whether they have.
Handler match_handler(bool all, bool wide);
inline constexpr uint32_t kReduxAbs = 16, kReduxNan = 32;
// d, a, b: membermask; small: kReduxAbs | kReduxNan.
Handler redux_handler(Redux op);
// d: the lowest of the members b, e: whether it is this thread.
void run_elect(Exec& x, const Operands& in);

}  // namespace triton_runner::simt
