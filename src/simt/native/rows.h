// native_rows() says what functions over lanes become in native code, and of which kind their operands are.
#pragma once
#include <unordered_map>

#include "code/code.h"
#include "native/assembler.h"

namespace triton_runner::simt {

// The values of a register: in 16 lanes, two times 8, or a mask.
enum class Element : uint8_t { kNone, kWord, kLong, kPredicate };

// How an instruction is written.
enum class Form : uint8_t {
  kOp,           // d = op(a, b), or op(a)
  kFma,          // d = a * b + c
  kExtremum,     // of floats; `imm` chooses; a number wins
  kExtremumNan,  // a NaN wins
  kSign,         // d = op(a, word) of a float, `word` being imm
  kNot,
  kMad,        // d = a * b + c of integers
  kShiftLong,  // of 64 bits, by words
  kWiden,      // op(a) of each half
  kNarrow,
  kMulWide,  // op(a, b) of halves widened, + c
  kCompare,  // d = a imm b
  kSelect,   // d = c ? a : b
  kMove,
  kSwap,  // d = a of the lane whose number has another bit, up to 8, by op with imm
  kSwapHalves,
  kMoveUp,  // of a warp (shuffle.h): d = a of lane ^ 16; of the lane Operands::small below, or its own
  kMasks,   // d = mask_op(a, b)
  kTable,   // d = a, b and c looked up in a table of 8 bits, Operands::small
  kPack,    // d = b above a
  kUpper,   // d = the upper word of a
  kEx2,     // .approx of a float, of .ftz if `imm`
  kReciprocal,
  kDivisionFactor,  // what a divisor and its reciprocal are multiplied with
};

struct NativeRow {
  Form form;
  Element d, a, b = Element::kNone, c = Element::kNone;
  VectorOp op{};
  uint8_t imm = 0;
  // NaNs of operands may be any, as that of the result is then (of kMove and kSwap, if that of the operand is), until somebody
  // else reads it.
  bool any_nan = false;
  MaskOp mask_op{};
};

// d = the upper word of a.
void upper_word(Lanes& lanes, const Operands& in);
// d = what a division multiplies with its divisor, the float a, and with the reciprocal of it (lanes/simd/approx.cpp).
void division_factor(Lanes& lanes, const Operands& in);

// Handlers that native code has a row of, for the current instruction set.
const std::unordered_map<Handler, NativeRow>& native_rows();
// The row of a handler; null: native code has none.
const NativeRow* native_row(Handler run);

}  // namespace triton_runner::simt
