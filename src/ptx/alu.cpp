// Implements find_alu(): chooses an instruction's function over lanes, which operand goes where, and what
// else it is told. The meanings of modifiers are in alu_rules.cpp.
#include <triton_runner/ptx/alu.h>

#include <initializer_list>

#include <triton_runner/lanes/oob.h>
#include <triton_runner/lanes/stochastic.h>
#include <triton_runner/lanes/video.h>
#include <triton_runner/num/elementwise.h>

#include "alu_rules.h"

namespace triton_runner::ptx {
namespace {

class Finder {
 public:
  Finder(const Module& module, const Function& function, const Instruction& in)
      : module_(module), function_(function), in_(in), operands_(flattened(in)), spec_(spec_of(in)) {}

  base::Result<LaneFunction> find_function() {
    choose();
    if (!error_.empty()) return module_.diagnostic(error_offset_, error_, notes_);
    if (!alu_.run) return refusal();
    if (!check_widths()) return module_.diagnostic(error_offset_, error_, notes_);
    return alu_;
  }

 private:
  Mod type(size_t i) const { return spec_.types[i]; }
  const Operand* operand(size_t i) const { return i < operands_.size() ? operands_[i] : nullptr; }
  bool is_pair(size_t i) const {
    return i < in_.operands.size() && in_.operands[i].kind == OperandKind::kPair;
  }

  // Operands in order: the result of type `result`, then those of `types`.
  void take(Mod result, std::initializer_list<Mod> types) {
    alu_.operands[0] = 0;
    widths_[0] = result;
    size_t k = 1;
    for (Mod t : types) {
      put(k, static_cast<int8_t>(k), t);
      ++k;
    }
  }
  void put(size_t place, int8_t which, Mod type) {
    alu_.operands[place] = which;
    alu_.types[place] = type_of(type), widths_[place] = type;
  }
  Handler function_of(Mod type, Mod type2, uint32_t variant) const {
    return find(operation_of(in_.opcode), type_of(type), type_of(type2), variant);
  }
  void row(Mod type, Mod type2 = Mod::kNone) { row_variant(type, type2, spec_.variant); }
  void row_variant(Mod type, Mod type2, uint32_t variant) {
    row_type_ = type, row_type2_ = type2, row_variant_ = variant;
    alu_.run = function_of(type, type2, variant);
  }
  void fail(const Operand& at, std::string message, std::vector<std::string> notes = {}) {
    if (!error_.empty()) return;
    error_ = std::move(message), error_offset_ = at.offset, notes_ = std::move(notes);
  }
  // An operand that must be a number of the text.
  int64_t constant(size_t i, const char* what) {
    const Operand* o = operand(i);
    if (!o || o->kind != OperandKind::kInteger) {
      if (o) fail(*o, std::string(what) + " must be an integer constant");
      return 0;
    }
    return o->integer;
  }

  void choose();
  void binary();
  void ternary();
  void extremum();
  void logic_table();
  void permute();
  void set();
  void set_predicate();
  void conversion();
  void stochastic();
  void move();
  void exp2() { function(num::elementwise_exp2); }
  void log2() { function(num::elementwise_log2); }
  void sin() { function(num::elementwise_sin); }
  void cos() { function(num::elementwise_cos); }
  void tanh() { function(num::elementwise_tanh); }
  void count() { take(Mod::kU32, {type(0)}), row(type(0)); }
  void shift() { take(type(0), {type(0), Mod::kU32}), row(type(0)); }
  void funnel_shift() { take(type(0), {type(0), type(0), Mod::kU32}), row(type(0)); }
  void extract() { take(type(0), {type(0), Mod::kU32, Mod::kU32}), row(type(0)); }
  void insert() { take(type(0), {type(0), type(0), Mod::kU32, Mod::kU32}), row(type(0)); }
  void find_nth_set() { take(Mod::kU32, {Mod::kB32, Mod::kU32, Mod::kS32}), row(type(0)); }
  void dot_product() { take(Mod::kB32, {Mod::kB32, Mod::kB32, Mod::kB32}), row(type(0), type(1)); }
  void select() { take(type(0), {type(0), type(0), Mod::kPred}), row(bits_type(bits(type(0)))); }
  void select_by_sign() {
    take(type(0), {type(0), type(0), type(1)}), row(bits_type(bits(type(0))), type(1));
  }
  void classify() { take(Mod::kPred, {type(0)}), alu_.small = spec_.test, row(type(0)); }
  void unary() { take(type(0), {type(0)}), alu_.small = spec_.direction, row(type(0)); }
  void video();
  void video_halves() { video_lanes(2); }
  void video_bytes() { video_lanes(4); }
  void none() {}  // no arithmetic

  bool take_mixed(bool three);
  bool combines(bool pair) const { return operands_.size() > (pair ? 4u : 3u); }
  bool has_order(Mod t) const;
  void begin_comparison(Mod result, Mod type, bool pair);
  void begin_video();
  void video_lanes(int lanes);
  void function(const num::Elementwise& f);
  base::Diagnostic refusal() const;
  bool check_widths();

  const Module& module_;
  const Function& function_;
  const Instruction& in_;
  const std::vector<const Operand*> operands_;
  const Spec spec_;
  LaneFunction alu_;
  Mod widths_[5] = {Mod::kNone, Mod::kNone, Mod::kNone, Mod::kNone, Mod::kNone};  // kNone: any
  Mod row_type_ = Mod::kNone, row_type2_ = Mod::kNone;
  uint32_t row_variant_ = 0;
  std::string error_;
  uint32_t error_offset_ = 0;
  std::vector<std::string> notes_;
};

bool is_half_pair(Mod type) { return type == Mod::kF16x2 || type == Mod::kBf16x2; }

Mod doubled(Mod type) {
  switch (type) {
    case Mod::kU16:
      return Mod::kU32;
    case Mod::kS16:
      return Mod::kS32;
    case Mod::kU32:
      return Mod::kU64;
    default:
      return Mod::kS64;
  }
}

// Pairs with a type for each operand: only a's may be another than the result's. False where there is one
// type.
bool Finder::take_mixed(bool three) {
  const Mod t = type(0), narrow = type(1);
  alu_.small = spec_.direction;
  if (type(2) == Mod::kNone) return false;
  if (type(2) != t || (three && type(3) != t)) return true;
  three ? take(t, {narrow, t, t}) : take(t, {narrow, t});
  row(t, narrow);
  return true;
}

void Finder::binary() {
  if (take_mixed(false)) return;
  const Mod t = type(0), narrow = type(1);
  if (narrow == Mod::kNone)
    take(spec_.variant & kVWide ? doubled(t) : t, {t, t});
  else
    take(t, {narrow, t});
  if (spec_.variant & (kVCarryIn | kVCarryOut)) alu_.operands[4] = LaneFunction::kCarry;
  row(t, narrow);
}

void Finder::ternary() {
  if (take_mixed(true)) return;
  const Mod t = type(0), narrow = type(1);
  const Mod wide = spec_.variant & kVWide ? doubled(t) : t;
  if (narrow == Mod::kNone)
    take(wide, {t, t, wide});
  else
    take(t, {narrow, narrow, t});
  if (spec_.variant & kVOob) {
    row_variant(t, narrow, spec_.variant & ~kVOob);
    const bool pair = is_half_pair(t);
    if (!alu_.run || !(pair || t == Mod::kF16 || t == Mod::kBf16)) return void(alu_.run = nullptr);
    alu_.imm = static_cast<int64_t>(reinterpret_cast<intptr_t>(alu_.run));
    alu_.run = fma_oob(pair ? 2 : 1);
    return;
  }
  if (spec_.variant & (kVCarryIn | kVCarryOut)) alu_.operands[4] = LaneFunction::kCarry;
  row(t, narrow);
}

void Finder::extremum() {
  const Mod t = type(0);
  if (operands_.size() != 4) return binary();
  if (take_mixed(true)) return;
  take(t, {t, t, t});
  row_variant(t, type(1), spec_.variant | kVThree);
}

void Finder::logic_table() {
  const Mod t = type(0);
  const bool pair = is_pair(0);
  const int8_t a = pair ? 2 : 1;
  take(t, {});
  for (int8_t k = 0; k < 3; ++k) put(static_cast<size_t>(k) + 1, static_cast<int8_t>(a + k), t);
  alu_.small = static_cast<uint32_t>(constant(static_cast<size_t>(a) + 3, "the table of lop3")) & 0xff;
  if (!pair) return row_variant(t, Mod::kNone, 0);
  alu_.operands[4] = 1, widths_[4] = Mod::kPred;
  alu_.extra = static_cast<int8_t>(a + 4);
  if (in_.has(Mod::kOr)) alu_.small |= kLop3Or;
  row_variant(t, Mod::kNone, kVPair);
}

void Finder::permute() {
  const Mod t = type(0);
  take(t, {t, t, t});
  alu_.small = spec_.permutation;
  const Operand* control = operand(3);
  const bool uniform = control && control->kind == OperandKind::kInteger;
  if (uniform) alu_.imm = control->integer;
  row_variant(t, Mod::kNone, uniform ? uint32_t(kVGeneral) : 0u);
}

// The result, the two that are compared, and a predicate that the comparison is combined with.
void Finder::begin_comparison(Mod result, Mod type, bool pair) {
  const auto a = static_cast<int8_t>(pair ? 2 : 1);
  alu_.operands[0] = 0;
  widths_[0] = result;
  put(1, a, type);
  put(2, static_cast<int8_t>(a + 1), type);
  if (combines(pair)) put(3, static_cast<int8_t>(a + 2), Mod::kPred);
  alu_.small = spec_.comparison | spec_.combine << kBoolShift | (spec_.variant & kVFtz ? kCmpFtz : 0);
}

// Returns whether values of `t` are compared so: only floats are unordered, and .b32 has no order.
bool Finder::has_order(Mod t) const {
  if (!is_float(t) && spec_.comparison >= kCmpEqu) return false;
  return bits_type(bits(t)) != t || spec_.comparison <= kCmpNe;
}

// Returns what set gives where the comparison holds: 1.0, or all bits.
int64_t truth_of(Mod type) {
  switch (type) {
    case Mod::kF32:
      return 0x3f800000;
    case Mod::kF16:
    case Mod::kF16x2:
      return 0x3c00;
    case Mod::kBf16:
    case Mod::kBf16x2:
      return 0x3f80;
    default:
      return -1;
  }
}

void Finder::set() {
  const Mod result = type(0), t = type(1);
  begin_comparison(result, t, false);
  if (!has_order(t)) return;
  const bool pair = is_half_pair(t);  // its result is a pair too, or 32 bits with half for each
  if (pair ? is_float(result) && !is_half_pair(result) : is_half_pair(result)) return;
  alu_.imm = truth_of(result);
  row_variant(t, pair ? Mod::kB16 : bits_type(bits(result)), 0);
}

void Finder::set_predicate() {
  const Mod t = type(0);
  const bool pair = is_pair(0);
  begin_comparison(Mod::kPred, t, pair);
  if (!has_order(t)) return;
  if (pair) alu_.operands[4] = 1, widths_[4] = Mod::kPred;
  const bool general = pair || combines(pair) || (spec_.variant & kVFtz) || is_half_pair(t);
  row_variant(t, Mod::kNone, general ? uint32_t(kVGeneral) : spec_.comparison << kComparisonShift);
}

void Finder::conversion() {
  const Mod to = type(0), from = type(1);
  if (spec_.is_pack) {
    const Mod target = to, source = from;
    const bool third = operands_.size() > 3;
    take(Mod::kB32, {source, source});
    if (third) put(3, 3, Mod::kB32);
    alu_.small = static_cast<uint32_t>(bits(target)) | (is_signed(target) ? kPackToSigned : 0) |
                 (is_signed(source) ? kPackFromSigned : 0);
    return row_variant(Mod::kB32, Mod::kNone, third ? uint32_t(kVThree) : 0u);
  }
  if (spec_.stochastic) return stochastic();
  if (spec_.scaled || type(2) != Mod::kNone) return;
  auto bytes_of = [&](size_t which, Mod t) {
    const Operand* o = operand(which);
    const int natural = bits(t) < 8 ? 8 : bits(t);
    if (!o || o->kind != OperandKind::kRegister) return static_cast<uint32_t>(natural / 8);
    return static_cast<uint32_t>(bits(function_.registers[o->reg].type) / 8);
  };
  CvtKey key{type_of(to),
             type_of(from),
             bytes_of(0, to),
             bytes_of(1, from),
             spec_.direction,
             spec_.integral,
             (spec_.variant & kVFtz) != 0,
             (spec_.variant & kVSat) != 0,
             spec_.satfinite,
             (spec_.variant & kVRelu) != 0};
  const bool two = operands_.size() > 2;
  // Integers may lie in wider registers; floats may not.
  take(is_float(to) ? to : Mod::kNone, {from});
  alu_.types[1] = type_of(from);
  widths_[1] = is_float(from) ? from : Mod::kNone;
  if (two) put(2, 2, from);
  for (size_t k = 0; k < 2; ++k) {
    const Mod t = k == 0 ? to : from;
    if (is_float(t) || (k == 0 ? key.to_bytes : key.from_bytes) * 8 >= static_cast<uint32_t>(bits(t)))
      continue;
    return fail(*operands_[k], "the register is narrower than ." + std::string(text(t)));
  }
  const CvtChoice choice = find_cvt(key);
  alu_.run = choice.run, alu_.small = choice.small, alu_.imm = choice.imm;
}

// d, a, b, rbits or d, {a, b, e, f}, rbits.
void Finder::stochastic() {
  bool four = false;
  const Handler run = stochastic_conversion(type_of(type(0)), &four);
  if (!run || type(1) != Mod::kF32 || type(2) != Mod::kNone) return;
  alu_.small = (spec_.satfinite ? kStochasticSatfinite : 0) | (spec_.variant & kVRelu ? kStochasticRelu : 0);
  if (four) {
    take(type(0), {Mod::kF32, Mod::kF32, Mod::kF32, Mod::kF32});
    alu_.extra = 5, alu_.extra_type = Type::kB32;
  } else {
    take(type(0), {Mod::kF32, Mod::kF32, Mod::kB32});
  }
  if (operands_.size() != (four ? 6u : 4u))
    return fail(*operands_.back(), four ? "four values and the random bits are wanted"
                                        : "two values and the random bits are wanted");
  alu_.run = run;
}

void Finder::move() {
  const Mod whole = bits_type(bits(type(0)));
  auto is_vector = [&](size_t i) { return in_.operands[i].kind == OperandKind::kVector; };
  if (is_vector(0) == is_vector(1)) {
    take(whole, {type(0)});
    if (!is_vector(0)) row_variant(whole, Mod::kNone, 0);
    return;
  }
  const size_t parts = in_.operands[is_vector(0) ? 0 : 1].parts.size();
  const Mod part = parts == 0 ? Mod::kNone : bits_type(bits(whole) / static_cast<int>(parts));
  if (is_vector(1)) {
    constexpr size_t kPlaces[4] = {1, 2, 3, 4};
    alu_.operands[0] = 0, widths_[0] = whole;
    for (size_t k = 0; k < parts && k < 4; ++k) put(kPlaces[k], static_cast<int8_t>(k + 1), part);
    return row_variant(whole, part, kVLeft);
  }
  for (size_t k = 0; k < parts && k < 4; ++k) alu_.operands[k] = static_cast<int8_t>(k), widths_[k] = part;
  put(4, static_cast<int8_t>(parts), type(0));
  row_variant(whole, part, kVHi);
}

void Finder::function(const num::Elementwise& f) {
  const Mod t = type(0);
  take(t, {t});
  row(t);
  const num::Kernel kernel = f.kernel(num::Type::kF32, num::Type::kF32);
  alu_.imm = static_cast<int64_t>(reinterpret_cast<intptr_t>(kernel.loop));
}

// d, a, b, c: their signs, the comparison, and what is done with c.
void Finder::begin_video() {
  const bool sets = spec_.comparison != kComparisons;
  const Mod a = type(sets ? 0 : 1), b = type(sets ? 1 : 2);
  take(Mod::kB32, {Mod::kB32, Mod::kB32});
  if (operands_.size() > 3) put(3, 3, Mod::kB32);
  const VideoSecondary secondary = in_.has(Mod::kAdd)   ? kVideoAdd
                                   : in_.has(Mod::kMin) ? kVideoMin
                                   : in_.has(Mod::kMax) ? kVideoMax
                                                        : kVideoNoSecondary;
  alu_.small = (is_signed(a) ? kVideoASigned : 0) | (is_signed(b) ? kVideoBSigned : 0) |
               (!sets && is_signed(type(0)) ? kVideoResultSigned : 0) |
               (spec_.variant & kVSat ? kVideoSaturate : 0) | (spec_.variant & kVClamp ? kVideoClamp : 0) |
               (in_.has(Mod::kPo) ? kVideoPlusOne : 0) | (in_.has(Mod::kShr7) ? kVideoShift7 : 0) |
               (in_.has(Mod::kShr15) ? kVideoShift15 : 0) | secondary << kVideoSecondaryShift |
               (sets ? spec_.comparison : 0u) << kVideoComparisonShift;
}

// d{.part}, a{.part}, b{.part}, c. The parts go into imm, see video.cpp.
void Finder::video() {
  begin_video();
  for (size_t k = 0; k < 3 && k < operands_.size(); ++k) {
    const auto& part = operands_[k]->selector;  // d, a, b
    const int64_t code = part.unit == 0 ? 0 : (part.unit == 'b' ? 1 : 5) + (part.lanes & 15);
    alu_.imm |= code << (k == 0 ? 16 : 8 * (k - 1));
  }
  row_variant(Mod::kNone, Mod::kNone, 0);
}

void Finder::video_lanes(int lanes) {
  begin_video();
  if (operands_.size() <= 3) return;
  const bool bytes = lanes == 4;
  const auto &d = operands_[0]->selector, &pa = operands_[1]->selector, &pb = operands_[2]->selector;
  int64_t written = 0;
  for (int k = 0; k < d.count; ++k) written |= int64_t{1} << (d.lanes >> 4 * k & 3);
  if (d.unit == 0) written = bytes ? 15 : 3;
  const int64_t from_a = pa.unit != 0 ? pa.lanes : bytes ? 0x3210 : 0x10;
  const int64_t from_b = pb.unit != 0 ? pb.lanes : bytes ? 0x7654 : 0x32;
  alu_.imm = from_a | from_b << 16 | written << 32;
  row_variant(Mod::kNone, Mod::kNone, 0);
}

// By the column `operands` of opcodes.def.
void Finder::choose() {
  static constexpr void (Finder::* kChoices[])() = {
#define OP(name, text, forms, handler, operands, ...) &Finder::operands,
#include <triton_runner/ptx/opcodes.def>
  };
  (this->*kChoices[static_cast<size_t>(in_.opcode)])();
}

base::Diagnostic Finder::refusal() const {
  std::vector<std::string> notes;
  // Which modifier it is, if leaving one out helps.
  for (Mod m : in_.mods) {
    if (is_type(m)) continue;
    std::vector<Mod> fewer;
    for (Mod other : in_.mods)
      if (other != m) fewer.push_back(other);
    Instruction without = in_;
    without.mods = fewer;
    const Spec spec = spec_of(without);
    uint32_t difference = spec_.variant & ~spec.variant;
    if (difference && function_of(row_type_, row_type2_, row_variant_ & ~difference))
      notes.push_back("it is the modifier ." + std::string(text(m)) +
                      " that is not executed with these types");
  }
  return module_.diagnostic(in_.offset, "'" + std::string(in_.spelling) + "' is not executed",
                            std::move(notes));
}

bool Finder::check_widths() {
  for (size_t k = 0; k < 5; ++k) {
    if (alu_.operands[k] < 0) continue;
    const Operand* o = operand(static_cast<size_t>(alu_.operands[k]));
    if (!o) {
      error_ = "'" + std::string(in_.spelling) + "' needs more operands", error_offset_ = in_.offset;
      return false;
    }
    if (o->kind != OperandKind::kRegister || widths_[k] == Mod::kNone) continue;
    const Register& r = function_.registers[o->reg];
    const int want = bits(widths_[k]) == 4 || bits(widths_[k]) == 6 ? 8 : bits(widths_[k]);
    if (bits(r.type) == want) continue;
    error_ = std::string(r.name) + " has " + std::to_string(bits(r.type)) + " bits, and '" +
             std::string(in_.spelling) + "' wants " + std::to_string(want) + " there";
    error_offset_ = o->offset;
    return false;
  }
  return true;
}

}  // namespace

std::vector<const Operand*> flattened(const Instruction& in) {
  std::vector<const Operand*> out;
  for (const Operand& o : in.operands) {
    if (o.kind != OperandKind::kVector && o.kind != OperandKind::kPair) {
      out.push_back(&o);
      continue;
    }
    for (const Operand& part : o.parts) out.push_back(&part);
  }
  return out;
}

base::Result<LaneFunction> find_alu(const Module& module, const Function& function, const Instruction& in) {
  return Finder(module, function, in).find_function();
}

}  // namespace triton_runner::ptx
