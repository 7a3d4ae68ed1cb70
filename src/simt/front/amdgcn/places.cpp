// Finds where operands of AMD's machine code are in the frame: registers, numbers, masks, halves, pairs; and brings results to
// their registers.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include <triton_runner/num/types.h>

#include "front/amdgcn/handlers.h"
#include "front/amdgcn/lower.h"

namespace triton_runner::simt {

using amdgcn::Operand;
using amdgcn::Slot;

uint32_t AmdLowering::scalar(uint32_t index) {
  if (index == amdgcn::kNull) return constant(0, 4);
  auto [it, is_new] = registers_.try_emplace({static_cast<int>(amdgcn::OperandKind::kScalar), index}, 0);
  if (is_new) it->second = temporary(4);
  return it->second;
}

uint32_t AmdLowering::vector(uint32_t index, bool accumulates) {
  const amdgcn::OperandKind kind =
      accumulates ? amdgcn::OperandKind::kAccumulator : amdgcn::OperandKind::kVector;
  auto [it, is_new] = registers_.try_emplace({static_cast<int>(kind), index}, 0);
  if (is_new) it->second = temporary(4);
  return it->second;
}

uint32_t AmdLowering::register_at(const Operand& o, uint32_t k) {
  if (o.kind == amdgcn::OperandKind::kScalar) return scalar(o.is(amdgcn::kNull) ? o.index : o.index + k);
  return vector(o.index + k, o.kind == amdgcn::OperandKind::kAccumulator);
}

uint32_t AmdLowering::scratch(uint32_t bytes) {
  const auto free = free_.find(bytes);
  uint32_t place = kNoRegister;
  if (free == free_.end()) {
    place = temporary(bytes);
  } else {
    place = free->second;
    free_.erase(free);
  }
  used_.emplace_back(bytes, place);
  return place;
}

// Nobody reads texts that are printed before a call to the host, which ends in a trap.
constexpr uint64_t kDataWindow = 0x73000000;  // the upper word of an address

// The 16 of "x@rel32@lo+20": what the text adds is from the address that s_getpc_b64 gave to the number in the instruction. Those
// with such a number have 8 bytes, others between them 4.
uint64_t AmdLowering::addend(std::string_view text) const {
  const size_t plus = text.rfind('+');
  uint64_t n = 0, own = 4;
  if (plus != std::string_view::npos) std::from_chars(text.data() + plus + 1, text.data() + text.size(), n);
  for (uint32_t i = number_; i-- > 0 && kernel.body[i].name != "s_getpc_b64";) {
    const bool has_number = std::ranges::any_of(kernel.body[i].operands, [](const Operand& o) {
      return o.text.find("@rel32@") != std::string_view::npos;
    });
    own += has_number ? 8 : 4;
  }
  return n >= own ? n - own : 0;
}

// f@rel32@lo+4 of a function: a code address is the number of an instruction, and s_getpc gives 0, so that the sum is that number.
uint64_t AmdLowering::address_of(std::string_view object) {
  for (const Code::Global& g : code.globals)
    if (g.name == object) return g.address;
  const amdgcn::Object& from = *module_->object(object);
  const uint64_t align = std::max(from.align, 16u);
  Code::Global& g = code.globals.emplace_back();
  g.name = object, g.size = from.bytes.size(), g.writable = false;
  g.bytes = std::make_unique<std::byte[]>(from.bytes.size() + align);
  g.address = (reinterpret_cast<uintptr_t>(g.bytes.get()) + align - 1) / align * align;
  std::copy(from.bytes.begin(), from.bytes.end(), reinterpret_cast<char*>(g.address));
  return g.address;
}

uint64_t AmdLowering::symbol(const Operand& o) {
  const std::string_view name = o.text.substr(0, o.text.find('@'));
  const auto found = kernel.labels.find(name);
  if (kernel.data.contains(name)) return o.text.find("@lo") != std::string_view::npos ? 0 : kDataWindow;
  if (found == kernel.labels.end() && module_->object(name) && module_->object(name)->is_known) {
    const uint64_t address = address_of(name) + addend(o.text);
    return o.text.find("@lo") != std::string_view::npos ? address & 0xffffffff : address >> 32;
  }
  if (found == kernel.labels.end()) {
    fail("'" + std::string(name) + "' is neither a function of this text nor numbers in memory",
         {"level 'ttgir' executes the IR that this was compiled from"});
    return 0;
  }
  return o.text.find("@lo") != std::string_view::npos ? found->second : 0;
}

// A number as the instruction reads it. One that is written as a float is of the slot's width, also where the slot is of
// integers: 1.0 for 64 bits is a double (ISA, "Scalar ALU operands": inline constants 240 to 248).
uint32_t AmdLowering::number(const Operand& o, const Slot& s) {
  if (o.kind == amdgcn::OperandKind::kWord) return constant(symbol(o), 4);
  uint64_t bits = static_cast<uint64_t>(o.integer);
  // Pairs of integers read a number of 32 bits, of which op_sel takes a half.
  const bool is_half = (s.bits == 16 || s.kind == 'H') && (s.kind != 'P' || s.is_pair);
  if (o.kind == amdgcn::OperandKind::kFloat) {
    if (is_half)
      bits = num::from_double(o.number, num::Type::kF16);
    else if (s.bits == 64 && s.kind != 'P')
      bits = std::bit_cast<uint64_t>(o.number);
    else
      bits = std::bit_cast<uint32_t>(static_cast<float>(o.number));
  } else if (s.bits == 64 && s.kind == 'F' && (o.integer > 64 || o.integer < -16)) {
    bits <<= 32;  // a literal is the upper half of a double
  } else if (s.bits == 64 && s.kind == 'B' && o.integer < 0 && o.integer < -16) {
    bits &= 0xffffffff;  // a literal of 32 bits has no sign
  }
  if (s.kind == 'P') {
    if (s.bits == 16) {
      // op_sel_hi says which half the upper lane reads: of a small number the upper half is 0.
      return constant(bits & 0xffffffff, 4);
    }
    return constant((bits & 0xffffffff) | bits << 32, 8);
  }
  return constant(bits, is_half ? 2 : s.bits == 64 ? 8 : 4);
}

// SDWA's selections: src0_sel:BYTE_0, src1_sel:WORD_1, ...
uint32_t AmdLowering::selected(const Operand& o, uint32_t place, size_t number) {
  const std::string_view text = in_->text(number == 0 ? "src0_sel" : "src1_sel");
  uint32_t bits = 32, from = 0;
  if (text.starts_with("BYTE_")) bits = 8, from = 8 * static_cast<uint32_t>(text[5] - '0');
  if (text.starts_with("WORD_")) bits = 16, from = 16 * static_cast<uint32_t>(text[5] - '0');
  if (bits == 32) return place;
  const uint32_t out = scratch(4);
  emit(amd::steps().take_bytes, {.d = out,
                                 .a = place,
                                 .small = from,
                                 .imm = static_cast<int64_t>(bits | (o.extends_sign ? 256u : 0u))});
  return out;
}

uint32_t AmdLowering::from_other_lanes(uint32_t place) {
  struct Name {
    std::string_view name;
    amd::Dpp::Kind kind;
  };
  using amd::Dpp;
  static constexpr Name kNames[] = {
      {"row_shl", Dpp::kRowShl},    {"row_shr", Dpp::kRowShr},    {"row_ror", Dpp::kRowRor},
      {"wave_shl", Dpp::kWaveShl1}, {"wave_rol", Dpp::kWaveRol1}, {"wave_shr", Dpp::kWaveShr1},
      {"wave_ror", Dpp::kWaveRor1}, {"row_mirror", Dpp::kMirror}, {"row_half_mirror", Dpp::kHalfMirror},
      {"row_share", Dpp::kShare},   {"row_xmask", Dpp::kXmask},   {"row_newbcast", Dpp::kNewBroadcast}};
  Dpp plan{};
  bool known = false;
  for (const auto& [name, kind] : kNames)
    if (in_->has(name)) plan.kind = kind, plan.value = static_cast<uint32_t>(in_->number(name)), known = true;
  if (in_->has("row_bcast")) {
    plan.kind = in_->number("row_bcast") == 15 ? Dpp::kBroadcast15 : Dpp::kBroadcast31;
    known = true;
  }
  const std::string_view list = in_->has("quad_perm") ? "quad_perm" : "dpp8";
  if (in_->has(list)) {
    const uint32_t n = list == "dpp8" ? 8 : 4, step = list == "dpp8" ? 3 : 2;
    plan.kind = list == "dpp8" ? Dpp::kEight : Dpp::kQuad;
    for (uint32_t k = 0; k < n; ++k)
      plan.value |= (static_cast<uint32_t>(in_->number_at(list, k, k)) & ((1u << step) - 1)) << (step * k);
    known = true;
  }
  if (!known) {
    fail("the engine does not execute '" + std::string(in_->spelling) + "' with this exchange between lanes");
    return place;
  }
  plan.rows = static_cast<uint32_t>(in_->number("row_mask", 15));
  plan.banks = static_cast<uint32_t>(in_->number("bank_mask", 15));
  plan.bound = in_->has("bound_ctrl") || in_->has("dpp8");
  plan.fill(code.width);
  // With bound_ctrl every lane of the rows and banks is written.
  const bool all = plan.bound && plan.rows == 15 && plan.banks == 15;
  const uint32_t out = scratch(4), valid = all ? kNoRegister : scratch(1);
  unguarded();
  emit(handler<amd::run_dpp>, {.d = out, .a = place, .c = exec_, .e = valid}, plan);
  if (all)
    guarded();
  else
    guard_by(valid);
  return out;
}

uint32_t AmdLowering::pair_at(const Operand& o, uint32_t k) {
  if (!o.is_register()) return number(o, Slot{.kind = 'B', .bits = 64});
  const uint32_t out = scratch(8);
  if (o.kind == amdgcn::OperandKind::kScalar) {
    const uint32_t saved = guard_;
    unguarded();
    emit(amd::steps().join, {.d = out, .a = register_at(o, k), .b = register_at(o, k + 1)});
    guard_ = saved;
  } else {
    emit(amd::steps().join, {.d = out, .a = register_at(o, k), .b = register_at(o, k + 1)});
  }
  return out;
}

uint32_t AmdLowering::source(size_t k) {
  size_t number = 0;  // among those that are read
  for (size_t i = 0; i < k; ++i) number += !in_->row->slots[i].written && matched_[i];
  return source(*matched_[k], in_->row->slots[k], number);
}

uint32_t AmdLowering::source(const Operand& o, const Slot& s, size_t at) {
  const bool is_half = s.bits == 16 && (s.kind == 'F' || s.kind == 'B');
  const bool is_float = s.kind == 'F';
  uint32_t place = kNoRegister;
  if (!o.is_register()) {
    place = s.kind == 'I' && s.bits == 16
                ? constant(static_cast<uint64_t>(static_cast<int16_t>(o.integer)), 4)
            : s.kind == 'U' && s.bits == 16 ? constant(static_cast<uint64_t>(o.integer) & 0xffff, 4)
                                            : number(o, s);
  } else if (s.kind == 'P' ? s.bits == 32 : s.bits == 64) {
    place = pair_at(o);
  } else {
    place = o.kind == amdgcn::OperandKind::kVector && o.index == before_.first ? before_.second
                                                                               : register_at(o, 0);
    if (in_->encoding == amdgcn::Instruction::kSdwa) place = selected(o, place, at);
    if (in_->encoding == amdgcn::Instruction::kDpp && at == 0) place = from_other_lanes(place);
    if (is_half) {
      const int64_t half = o.half >= 0 ? o.half : in_->number_at("op_sel", at, 0);
      const uint32_t out = scratch(2);
      emit(amd::steps().take_half, {.d = out, .a = place, .small = static_cast<uint32_t>(half)});
      place = out;
    }
  }
  if (s.kind == 'P') return packed(place, s, at);
  if (!is_float || (!o.negated && !o.absolute)) return place;
  const uint32_t bytes = is_half ? 2 : s.bits == 64 ? 8 : 4;
  const lanes::Type type = is_half ? lanes::Type::kB16 : bytes == 8 ? lanes::Type::kB64 : lanes::Type::kB32;
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  auto step = [&](lanes::Operation op, uint64_t bits) {
    const uint32_t out = scratch(bytes);
    emit(lanes::find(op, type), {.d = out, .a = place, .b = constant(bits, bytes)});
    place = out;
  };
  if (o.absolute) step(lanes::Operation::kAnd, sign - 1);
  if (o.negated) step(lanes::Operation::kXor, sign);
  return place;
}

// A pair of halves or floats: op_sel and op_sel_hi say which of the two each result reads, neg_lo and neg_hi its sign.
uint32_t AmdLowering::packed(uint32_t place, const Slot& s, size_t at) {
  const bool low = in_->number_at("op_sel", at, 0) != 0, high = in_->number_at("op_sel_hi", at, 1) != 0;
  const bool minus_low = in_->number_at("neg_lo", at, 0) != 0,
             minus_high = in_->number_at("neg_hi", at, 0) != 0;
  const bool wide = s.bits == 32;
  const uint32_t bytes = wide ? 8 : 4;
  if (low || !high) {
    const uint32_t out = scratch(bytes);
    if (wide) {
      const uint32_t words[2] = {scratch(4), scratch(4)};
      emit(amd::steps().part, {.d = words[0], .a = place, .e = words[1]});
      emit(amd::steps().join, {.d = out, .a = words[low], .b = words[high]});
    } else {
      const uint64_t select = (low ? 0x0302u : 0x0100u) | (high ? 0x03020000u : 0x01000000u);
      emit(each_handler(amdgcn::Opcode::k_v_perm_b32),
           {.d = out, .a = place, .b = place, .c = constant(select, 4)});
    }
    place = out;
  }
  if (!minus_low && !minus_high) return place;
  const uint32_t out = scratch(bytes), half = wide ? 32 : 16;
  const uint64_t signs =
      (minus_low ? uint64_t{1} << (half - 1) : 0) | (minus_high ? uint64_t{1} << (2 * half - 1) : 0);
  emit(lanes::find(lanes::Operation::kXor, wide ? lanes::Type::kB64 : lanes::Type::kB32),
       {.d = out, .a = place, .b = constant(signs, bytes)});
  return out;
}

uint32_t AmdLowering::mask(size_t k) { return mask_of(*matched_[k]); }

uint32_t AmdLowering::mask_of(const Operand& o) {
  if (!o.is_register()) return constant(o.integer ? 0xff : 0, 1);
  if (o.is(amdgcn::kExecLo)) return exec_;
  if (known_masks_.contains(o.index)) return kept_masks_.at(o.index);
  const uint32_t out = scratch(1), saved = guard_;
  unguarded();
  emit(amd::steps().unpack_mask, {.d = out,
                                  .a = scalar(o.index),
                                  .b = code.width == 64 ? scalar(o.index + 1) : kNoRegister,
                                  .small = code.width});
  guard_ = saved;
  return out;
}

uint32_t AmdLowering::result(size_t k) {
  const Slot& s = in_->row->slots[k];
  const Operand* o = matched_[k];
  const uint32_t bytes = s.kind == 'M' ? 1 : s.kind == 'H' ? 2 : s.bits == 64 ? 8 : 4;
  const bool direct = bytes == 4 && o && o->is_register() && !o->is(amdgcn::kNull) &&
                      in_->encoding != amdgcn::Instruction::kSdwa;
  const uint32_t place = direct ? register_at(*o, 0) : scratch(bytes);
  given_.push_back({k, place});
  return place;
}

bool AmdLowering::give_pair(const Operand& o, uint32_t wide, uint32_t k) {
  return emit(amd::steps().part, {.d = register_at(o, k), .a = wide, .e = register_at(o, k + 1)});
}

bool AmdLowering::give_mask(const Operand& o, uint32_t predicate) {
  if (o.is(amdgcn::kNull)) return true;
  const uint32_t saved = guard_;
  unguarded();
  // Instructions that read the mask before anyone else writes it find the predicate.
  uint32_t kept = kNoRegister;
  if (!stopper_ && !o.is(amdgcn::kExecLo)) {
    const auto [it, is_new] = kept_masks_.try_emplace(o.index, 0);
    if (is_new) it->second = temporary(1);
    kept = it->second;
    made_masks_.push_back(o.index);
  }
  emit(amd::steps().pack_mask, {.d = scalar(o.index),
                                .a = predicate,
                                .b = exec_,
                                .c = kept,
                                .e = code.width == 64 ? scalar(o.index + 1) : kNoRegister,
                                .small = code.width});
  if (o.is(amdgcn::kExecLo)) exec_changed();
  guard_ = saved;
  return true;
}

void AmdLowering::exec_changed() {
  const uint32_t saved = guard_;
  unguarded();
  emit(amd::steps().unpack_mask, {.d = exec_,
                                  .a = scalar(amdgcn::kExecLo),
                                  .b = code.width == 64 ? scalar(amdgcn::kExecHi) : kNoRegister,
                                  .small = code.width});
  guard_ = saved;
}

// Modifiers of the result of floats: clamp to [0, 1], and the factor of omod.
uint32_t AmdLowering::clamped(uint32_t place, const Slot& s) {
  const bool is_double = s.bits == 64, is_half = s.kind == 'H';
  const lanes::Type type = is_half ? lanes::Type::kF16 : is_double ? lanes::Type::kF64 : lanes::Type::kF32;
  auto constant_of = [&](double value) {
    return number(Operand{.kind = amdgcn::OperandKind::kFloat, .number = value},
                  Slot{.kind = 'F',
                       .bits = static_cast<uint8_t>(is_half     ? 16
                                                    : is_double ? 64
                                                                : 32)});
  };
  const int64_t factor = in_->number("mul", in_->number("div") == 2 ? -2 : 0);
  if (factor) {
    const double by = factor < 0 ? 0.5 : static_cast<double>(factor);
    emit(lanes::find(lanes::Operation::kMul, type), {.d = place, .a = place, .b = constant_of(by)});
  }
  if (!in_->has("clamp")) return place;
  emit(lanes::find(lanes::Operation::kMax, type), {.d = place, .a = place, .b = constant_of(0)});
  emit(lanes::find(lanes::Operation::kMin, type), {.d = place, .a = place, .b = constant_of(1)});
  return place;
}

// SDWA's dst_sel and dst_unused: bits of the result go to their place in the register, and the register's others stay or are 0.
bool AmdLowering::give_selected(const Operand& o, uint32_t place) {
  const std::string_view to = in_->text("dst_sel");
  const uint32_t d = register_at(o, 0);
  if (to == "" || to == "DWORD")
    return lanes(lanes::Operation::kMov, lanes::Type::kB32, {.d = d, .a = place});
  if (in_->text("dst_unused") == "UNUSED_SEXT") return false;
  const uint32_t bits = to.starts_with("BYTE_") ? 8 : 16, from = bits * static_cast<uint32_t>(to[5] - '0');
  const uint32_t kept = in_->text("dst_unused") == "UNUSED_PRESERVE" ? d : constant(0, 4);
  return emit(lanes::find(lanes::Operation::kBfi, lanes::Type::kB32),
              {.d = d, .a = place, .b = kept, .c = constant(from, 4), .e = constant(bits, 4)});
}

bool AmdLowering::give() {
  const std::vector<Given> all = std::move(given_);
  given_.clear();
  bool is_float = false;
  for (const Slot& s : in_->row->slots) is_float |= s.kind == 'F' && !s.written;
  for (const Given& g : all) {
    const Slot& s = in_->row->slots[g.slot];
    const Operand* o = matched_[g.slot];
    if (!o) continue;
    if (s.kind == 'M') {
      give_mask(*o, g.place);
      continue;
    }
    if (is_float && (in_->has("clamp") || in_->has("mul") || in_->has("div"))) clamped(g.place, s);
    if (o->is(amdgcn::kNull)) continue;
    if (s.bits == 64) {
      give_pair(*o, g.place);
    } else if (s.kind == 'H') {
      // The number of operands that are read is the place of the result's bit in op_sel.
      size_t read = 0;
      for (const Slot& other : in_->row->slots) read += !other.written;
      const int64_t half =
          o->half >= 0 ? o->half : in_->number_at("op_sel", read, in_->text("dst_sel") == "WORD_1");
      const bool is_sdwa = in_->encoding == amdgcn::Instruction::kSdwa;
      if (is_sdwa && in_->text("dst_sel").starts_with("BYTE")) {
        const uint32_t word = scratch(4);
        emit(amd::steps().put_half, {.d = word, .a = g.place, .small = 0, .imm = 1});
        if (!give_selected(*o, word)) return false;
        continue;
      }
      const bool keeps = is_sdwa ? in_->text("dst_unused") == "UNUSED_PRESERVE"
                                 : is_rdna || half || in_->has("op_sel") || name().starts_with("v_cvt_pk_");
      emit(amd::steps().put_half,
           {.d = register_at(*o, 0), .a = g.place, .small = static_cast<uint32_t>(half), .imm = !keeps});
    } else if (in_->encoding == amdgcn::Instruction::kSdwa) {
      if (!give_selected(*o, g.place)) return false;
    }
  }
  return true;
}

}  // namespace triton_runner::simt
