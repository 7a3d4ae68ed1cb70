// Lists the functions over lanes that native code has: by operation, types and variant, as lanes::find takes them.
#include "native/rows.h"

#include <cmath>

#include <triton_runner/lanes/functions.h>

#include "ops/move.h"
#include "ops/warp.h"

namespace triton_runner::simt {
namespace {

using lanes::Operation, lanes::Type;
using enum Element;

class Rows {
 public:
  Rows() {
    floats();
    integers();
    bits();
    comparisons();
    moves();
    conversions();
  }
  std::unordered_map<Handler, NativeRow> rows;

 private:
  void add(Handler run, const NativeRow& row) {
    if (run) rows.emplace(run, row);
  }
  void add(Operation operation, Type type, uint32_t variant, const NativeRow& row) {
    add(lanes::find(operation, type, Type::kNone, variant), row);
  }

  void floats() {
    const auto two = [&](Operation o, VectorOp op) {
      add(o, Type::kF32, 0, {Form::kOp, kWord, kWord, kWord, kNone, op, 0, true});
    };
    two(Operation::kAdd, kAddPs);
    two(Operation::kSub, kSubPs);
    two(Operation::kMul, kMulPs);
    for (const Operation o : {Operation::kFma, Operation::kMad})
      add(o, Type::kF32, 0, {Form::kFma, kWord, kWord, kWord, kWord, kFma213Ps, 0, true});
    constexpr uint8_t kMin = 4, kMax = 5;  // vrangeps, with the sign of what it chooses
    for (const auto& [o, which] : {std::pair{Operation::kMin, kMin}, {Operation::kMax, kMax}}) {
      add(o, Type::kF32, 0, {Form::kExtremum, kWord, kWord, kWord, kNone, kRangePs, which, true});
      add(o, Type::kF32, lanes::kVNan,
          {Form::kExtremumNan, kWord, kWord, kWord, kNone, kRangePs, which, true});
    }
    for (const bool flush : {false, true}) {
      const uint32_t variant = lanes::kVApprox | uint32_t{flush} * lanes::kVFtz;
      const auto unit = [&](Operation o, Form form) {
        add(o, Type::kF32, variant, {form, kWord, kWord, kNone, kNone, {}, flush, true});
      };
      unit(Operation::kEx2, Form::kEx2);
      unit(Operation::kRcp, Form::kReciprocal);
    }
    add(division_factor, {Form::kDivisionFactor, kWord, kWord, kNone, kNone, {}, 0, true});
    add(Operation::kNeg, Type::kF32, 0, {Form::kSign, kWord, kWord, kNone, kNone, kXor, 0, true});
    add(Operation::kAbs, Type::kF32, 0, {Form::kSign, kWord, kWord, kNone, kNone, kAnd, 1, true});
  }

  void integers() {
    for (const bool is_signed : {false, true}) {
      const Type word = is_signed ? Type::kS32 : Type::kU32, doubled = is_signed ? Type::kS64 : Type::kU64;
      const auto words = [&](Operation o, uint32_t variant, VectorOp op) {
        add(o, word, variant, {Form::kOp, kWord, kWord, kWord, kNone, op});
      };
      const auto longs = [&](Operation o, VectorOp op) {
        add(o, doubled, 0, {Form::kOp, kLong, kLong, kLong, kNone, op});
      };
      words(Operation::kAdd, 0, kAdd);
      words(Operation::kSub, 0, kSub);
      words(Operation::kMul, lanes::kVLow, kMulLow);
      words(Operation::kMin, 0, is_signed ? kMinSigned : kMinUnsigned);
      words(Operation::kMax, 0, is_signed ? kMaxSigned : kMaxUnsigned);
      longs(Operation::kAdd, kAddWide);
      longs(Operation::kSub, kSubWide);
      longs(Operation::kMul, wide(kMulLow));
      longs(Operation::kMin, wide(is_signed ? kMinSigned : kMinUnsigned));
      longs(Operation::kMax, wide(is_signed ? kMaxSigned : kMaxUnsigned));
      add(Operation::kMad, word, lanes::kVLow, {Form::kMad, kWord, kWord, kWord, kWord, kMulLow});
      const VectorOp product = is_signed ? kMulSigned : kMulUnsigned;
      add(Operation::kMul, word, lanes::kVWide, {Form::kMulWide, kLong, kWord, kWord, kNone, product});
      add(Operation::kMad, word, lanes::kVWide, {Form::kMulWide, kLong, kWord, kWord, kLong, product});
    }
  }

  void bits() {
    const auto all = [&](Operation o, VectorOp op, MaskOp of_masks) {
      add(o, Type::kB32, 0, {Form::kOp, kWord, kWord, kWord, kNone, op});
      add(o, Type::kB64, 0, {Form::kOp, kLong, kLong, kLong, kNone, op});
      add(o, Type::kPred, 0,
          {Form::kMasks, kPredicate, kPredicate, kPredicate, kNone, {}, 0, false, of_masks});
    };
    all(Operation::kAnd, kAnd, MaskOp::kAnd);
    all(Operation::kOr, kOr, MaskOp::kOr);
    all(Operation::kXor, kXor, MaskOp::kXor);
    add(Operation::kNot, Type::kB32, 0, {Form::kNot, kWord, kWord});
    add(Operation::kNot, Type::kB64, 0, {Form::kNot, kLong, kLong});
    add(Operation::kNot, Type::kPred, 0,
        {Form::kMasks, kPredicate, kPredicate, kNone, kNone, {}, 0, false, MaskOp::kNot});
    add(Operation::kLop3, Type::kB32, 0, {Form::kTable, kWord, kWord, kWord, kWord, kTernary});
    add(lanes::find(Operation::kMov, Type::kB64, Type::kB32, lanes::kVLeft),
        {Form::kPack, kLong, kWord, kWord});
    add(upper_word, {Form::kUpper, kWord, kLong});
    const auto shift = [&](Operation o, Type word, Type doubled, VectorOp op) {
      add(o, word, 0, {Form::kOp, kWord, kWord, kWord, kNone, op});
      add(o, doubled, 0, {Form::kShiftLong, kLong, kLong, kWord, kNone, wide(op)});
    };
    shift(Operation::kShl, Type::kB32, Type::kB64, kShiftLeft);
    shift(Operation::kShr, Type::kB32, Type::kB64, kShiftRight);
    shift(Operation::kShr, Type::kU32, Type::kU64, kShiftRight);
    shift(Operation::kShr, Type::kS32, Type::kS64, kShiftRightSigned);
  }

  void comparisons() {
    using enum lanes::Comparison;
    constexpr std::pair<lanes::Comparison, uint8_t> kOfIntegers[] = {{kCmpEq, 0}, {kCmpNe, 4}, {kCmpLt, 1},
                                                                     {kCmpLe, 2}, {kCmpGt, 6}, {kCmpGe, 5}};
    constexpr std::pair<lanes::Comparison, uint8_t> kOfFloats[] = {
        {kCmpEq, 0},  {kCmpNe, 12}, {kCmpLt, 1},   {kCmpLe, 2},  {kCmpGt, 14}, {kCmpGe, 13}, {kCmpEqu, 8},
        {kCmpNeu, 4}, {kCmpLtu, 9}, {kCmpLeu, 10}, {kCmpGtu, 6}, {kCmpGeu, 5}, {kCmpNum, 7}, {kCmpNan, 3}};
    const auto compare = [&](Type type, lanes::Comparison c, Element e, VectorOp op, uint8_t imm) {
      add(Operation::kSetp, type, uint32_t{c} << lanes::kComparisonShift,
          {Form::kCompare, kPredicate, e, e, kNone, op, imm, e == kWord && op.table == VectorOp::k0F});
    };
    for (const auto& [c, imm] : kOfIntegers) {
      for (const Type t : {Type::kB32, Type::kU32}) compare(t, c, kWord, kCompareUnsigned, imm);
      for (const Type t : {Type::kB64, Type::kU64}) compare(t, c, kLong, wide(kCompareUnsigned), imm);
      compare(Type::kS32, c, kWord, kCompareSigned, imm);
      compare(Type::kS64, c, kLong, wide(kCompareSigned), imm);
    }
    for (const auto& [c, imm] : kOfFloats) compare(Type::kF32, c, kWord, kComparePs, imm);
    add(Operation::kSelp, Type::kB32, 0, {Form::kSelect, kWord, kWord, kWord, kPredicate, kBlend});
    add(Operation::kSelp, Type::kB64, 0, {Form::kSelect, kLong, kLong, kLong, kPredicate, wide(kBlend)});
  }

  void moves() {
    const auto move = [&](Handler run, Element e) {
      add(run, {Form::kMove, e, e, kNone, kNone, {}, 0, e == kWord});
    };
    move(copy_register(4), kWord);
    move(copy_register(8), kLong);
    move(copy_register(1), kPredicate);
    move(lanes::find(Operation::kMov, Type::kB32), kWord);
    move(lanes::find(Operation::kMov, Type::kB64), kLong);
    move(lanes::find(Operation::kMov, Type::kPred), kPredicate);
    const auto swap = [&](uint32_t by, VectorOp op, uint8_t imm) {
      add(xor_handler(by), {Form::kSwap, kWord, kWord, kNone, kNone, op, imm, true});
    };
    swap(1, kShuffleWords, 0xb1);
    swap(2, kShuffleWords, 0x4e);
    swap(4, kShuffleQuarters, 0xb1);
    if (num::current_isa() == num::Isa::kAvx512) swap(8, kShuffleQuarters, 0x4e);  // a turn has 8 lanes else
  }

  void conversions() {
    const auto convert = [&](Type to, Type from, uint32_t to_bytes, uint32_t from_bytes,
                             const NativeRow& row) {
      lanes::CvtKey key{};
      key.to = to, key.from = from, key.to_bytes = to_bytes, key.from_bytes = from_bytes;
      add(lanes::find_cvt(key).run, row);
    };
    for (const Type to : {Type::kU64, Type::kS64}) {
      convert(to, Type::kS32, 8, 4, {Form::kWiden, kLong, kWord, kNone, kNone, kExtendSigned});
      convert(to, Type::kU32, 8, 4, {Form::kWiden, kLong, kWord, kNone, kNone, kExtendUnsigned});
    }
    for (const Type to : {Type::kU32, Type::kS32})
      for (const Type from : {Type::kU64, Type::kS64}) convert(to, from, 4, 8, {Form::kNarrow, kWord, kLong});
    convert(Type::kF32, Type::kS32, 4, 4, {Form::kOp, kWord, kWord, kNone, kNone, kFloatOfSigned});
    convert(Type::kF32, Type::kU32, 4, 4, {Form::kOp, kWord, kWord, kNone, kNone, kFloatOfUnsigned});
  }
};

}  // namespace

void upper_word(Lanes& lanes, const Operands& in) {
  const uint64_t* a = lanes.reg<uint64_t>(in.a);
  uint32_t* d = lanes.reg<uint32_t>(in.d);
  for (uint32_t i = 0; i < lanes.count; ++i)
    if (lanes.on(i)) d[i] = static_cast<uint32_t>(a[i] >> 32);
}

void division_factor(Lanes& lanes, const Operands& in) {
  const float* a = lanes.reg<float>(in.a);
  float* d = lanes.reg<float>(in.d);
  for (uint32_t i = 0; i < lanes.count; ++i) {
    const float size = std::fabs(a[i]);
    if (lanes.on(i)) d[i] = size < 0x1p-126f ? 0x1p24f : size > 0x1p126f ? 0x1p-2f : 1.0f;
  }
}

const std::unordered_map<Handler, NativeRow>& native_rows() {
  static const Rows table;
  return table.rows;
}

const NativeRow* native_row(Handler run) {
  const auto found = native_rows().find(run);
  return found == native_rows().end() ? nullptr : &found->second;
}

}  // namespace triton_runner::simt
