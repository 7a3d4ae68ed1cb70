// Lowers vector instructions that take more than a function over lanes: choices by a mask, carries, lanes that read each other,
// steps of a division, mixed precision, conversions of bytes.
#include <array>
#include <bit>
#include <cmath>

#include <triton_runner/num/types.h>

#include "front/amdgcn/handlers.h"
#include "front/amdgcn/lower.h"
#include "ops/move.h"

namespace triton_runner::simt::amd {
namespace {

using enum lanes::Type;
using Op = lanes::Operation;
using amdgcn::Operand;
using amdgcn::Slot;

// Signs of operands that a choice has; its slots are of bits.
uint32_t signed_source(AmdLowering& l, size_t k) {
  const uint8_t bits = l.in().row->slots[k].bits;
  return l.source(*l.slot(k), Slot{.kind = 'F', .bits = bits}, k - 1);
}

}  // namespace

bool lower_choose(AmdLowering& l) {
  const bool half = l.in().row->slots[0].kind == 'H';
  const bool has_sign =
      l.slot(1)->negated || l.slot(1)->absolute || l.slot(2)->negated || l.slot(2)->absolute;
  const uint32_t a = has_sign ? signed_source(l, 1) : l.source(1),
                 b = has_sign ? signed_source(l, 2) : l.source(2);
  const Operand vcc{.kind = amdgcn::OperandKind::kScalar, .index = amdgcn::kVccLo};
  const uint32_t p = l.slot(3) ? l.mask(3) : l.mask_of(vcc);  // v_dual_cndmask reads it without a word
  l.lanes(Op::kSelp, half ? kB16 : kB32, {.d = l.result(), .a = b, .b = a, .c = p});
  return l.give();
}

// A table of 8 bits says what comes of each three bits.
bool lower_any_logic(AmdLowering& l) {
  const auto table = static_cast<uint32_t>(l.in().number("bitop3"));
  uint32_t from[3];
  const bool half = l.in().row->slots[0].kind == 'H';
  for (size_t k = 0; k < 3; ++k) {
    from[k] = l.source(k + 1);
    if (!half) continue;
    const uint32_t wide = l.scratch(4);
    l.emit(each_handler(amdgcn::Opcode::k_v_cvt_u32_u16), {.d = wide, .a = from[k]});
    from[k] = wide;
  }
  const uint32_t out = half ? l.scratch(4) : l.result();
  l.emit(lanes::find(Op::kLop3, kB32), {.d = out, .a = from[0], .b = from[1], .c = from[2], .small = table});
  if (half) l.emit(steps().take_half, {.d = l.result(), .a = out, .small = 0});
  return l.give();
}

bool lower_read_first(AmdLowering& l) {
  const uint32_t a = l.source(1);
  l.unguarded();
  l.emit(give_all, {.d = l.register_at(*l.slot(0), 0), .a = a, .b = l.exec()});
  return true;
}
bool lower_read_lane(AmdLowering& l) {
  const uint32_t a = l.source(1), lane = l.source(2);
  l.unguarded();
  return l.emit(give_lane, {.d = l.register_at(*l.slot(0), 0), .a = a, .b = lane});
}
bool lower_write_lane(AmdLowering& l) {
  const uint32_t a = l.source(1), lane = l.source(2);
  l.unguarded();
  return l.emit(put_lane, {.d = l.register_at(*l.slot(0), 0), .a = a, .b = lane});
}

namespace {

// v_permlane16: lane i of a row of 16 reads the lane of its row (x: of the row beside it) that nibble i of b and c says.
struct Rows {
  bool other = false, fetches_inactive = false, bound = false;
};
void run_rows(Exec& x, const Operands& in, const Rows& plan) {
  const uint32_t *a = x.reg<uint32_t>(in.a), *b = x.reg<uint32_t>(in.b), *c = x.reg<uint32_t>(in.c);
  const int8_t* on = x.reg<int8_t>(in.e);
  uint32_t* d = x.reg<uint32_t>(in.d);
  std::vector<uint32_t> kept(a, a + x.count);
  for (uint32_t i : x.lanes()) {
    const uint32_t lane = i & 15, select = (lane < 8 ? b[i] >> (4 * lane) : c[i] >> (4 * (lane - 8))) & 15;
    const uint32_t from = ((i & ~15u) ^ (plan.other ? 16 : 0)) | select;
    if (on[from] || plan.fetches_inactive)
      d[i] = kept[from];
    else if (plan.bound)
      d[i] = 0;
  }
}
void run_halves(Exec& x, const Operands& in) {  // lane i and lane i + 32 of a wavefront of 64
  const uint32_t* a = x.reg<uint32_t>(in.a);
  uint32_t* d = x.reg<uint32_t>(in.d);
  std::vector<uint32_t> kept(a, a + x.count);
  for (uint32_t i : x.lanes()) d[i] = kept[i ^ 32];
}
// The odd rows of d and the even ones of e are exchanged; a row has `small` lanes.
void run_swap_rows(Exec& x, const Operands& in) {
  uint32_t *d = x.reg<uint32_t>(in.d), *e = x.reg<uint32_t>(in.e);
  for (uint32_t i : x.lanes())
    if (i & in.small) std::swap(d[i], e[i ^ in.small]);
}
void run_swap(Exec& x, const Operands& in) {
  uint32_t *d = x.reg<uint32_t>(in.d), *e = x.reg<uint32_t>(in.e);
  for (uint32_t i : x.lanes()) std::swap(d[i], e[i]);
}

}  // namespace

bool lower_permute_rows(AmdLowering& l) {
  const Rows plan{l.name() == "v_permlanex16_b32", l.in().number_at("op_sel", 0, 0) != 0,
                  l.in().number_at("op_sel", 1, 0) != 0};
  const uint32_t a = l.source(1), b = l.source(2), c = l.source(3);
  return l.emit(handler<run_rows>, {.d = l.register_at(*l.slot(0), 0), .a = a, .b = b, .c = c, .e = l.exec()},
                plan);
}
bool lower_permute_halves(AmdLowering& l) {
  if (l.code.width == 32)
    return l.emit(copy_register(4), {.d = l.register_at(*l.slot(0), 0), .a = l.source(1)});
  return l.emit<run_halves>({.d = l.register_at(*l.slot(0), 0), .a = l.source(1)});
}
bool lower_swap_rows(AmdLowering& l) {
  const uint32_t row = l.name() == "v_permlane32_swap_b32" ? 32 : 16;
  return l.emit<run_swap_rows>(
      {.d = l.register_at(*l.slot(0), 0), .e = l.register_at(*l.slot(1), 0), .small = row});
}
bool lower_swap(AmdLowering& l) {
  return l.emit<run_swap>({.d = l.register_at(*l.slot(0), 0), .e = l.register_at(*l.slot(1), 0)});
}

bool lower_swap_halves(AmdLowering& l) {
  const Operand &a = *l.slot(0), &b = *l.slot(1);
  const uint32_t of_a = l.source(a, Slot{.kind = 'B', .bits = 16}, 0),
                 of_b = l.source(b, Slot{.kind = 'B', .bits = 16}, 1);
  return l.emit(steps().put_half,
                {.d = l.register_at(a, 0), .a = of_b, .small = static_cast<uint32_t>(a.half)}) &&
         l.emit(steps().put_half,
                {.d = l.register_at(b, 0), .a = of_a, .small = static_cast<uint32_t>(b.half)});
}

bool lower_permute(AmdLowering& l) {
  const uint32_t at = l.source(1), value = l.source(2);
  return l.emit<run_permute>({.d = l.register_at(*l.slot(0), 0),
                              .a = value,
                              .b = at,
                              .c = l.exec(),
                              .small = l.name() == "ds_permute_b32",
                              .imm = l.in().number("offset")});
}
bool lower_swizzle(AmdLowering& l) {
  const std::string_view text = l.in().text("offset");
  int64_t offset = l.in().number("offset");
  // swizzle(QUAD_PERM,1,0,3,2), swizzle(BITMASK_PERM,"01pip"), swizzle(SWAP,16), swizzle(REVERSE,8), swizzle(BROADCAST,32,0)
  if (text.starts_with("swizzle(")) {
    std::string_view rest = text.substr(8, text.size() - 9);
    const std::string_view kind = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(kind.size() + 1, rest.size()));
    int64_t n[4] = {};
    if (kind == "BITMASK_PERM") {
      int64_t and_mask = 0, or_mask = 0, xor_mask = 0;
      for (const char c : rest) {
        if (c == '"') continue;
        and_mask = and_mask << 1 | (c == 'p' || c == 'i');
        or_mask = or_mask << 1 | (c == '1');
        xor_mask = xor_mask << 1 | (c == 'i');
      }
      offset = and_mask | or_mask << 5 | xor_mask << 10;
    } else {
      for (int64_t& value : n) {
        while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
          value = 10 * value + (rest[0] - '0'), rest.remove_prefix(1);
        if (!rest.empty()) rest.remove_prefix(1);
      }
      if (kind == "QUAD_PERM")
        offset = 0x8000 | n[0] | n[1] << 2 | n[2] << 4 | n[3] << 6;
      else if (kind == "SWAP")
        offset = 31 | n[0] << 10;
      else if (kind == "REVERSE")
        offset = 31 | (n[0] - 1) << 10;
      else if (kind == "BROADCAST")
        offset = (32 - n[0]) | n[1] << 5;
      else
        return false;
    }
  }
  return l.emit<run_swizzle>(
      {.d = l.register_at(*l.slot(0), 0), .a = l.source(1), .c = l.exec(), .imm = offset});
}

bool lower_count_below(AmdLowering& l) {
  const uint32_t a = l.source(1), b = l.source(2);
  return l.emit(
      count_below,
      {.d = l.register_at(*l.slot(0), 0), .a = a, .b = b, .small = l.name() == "v_mbcnt_hi_u32_b32"});
}

// --- carries -----------------------------------------------------------------------------------------------------------------
namespace {

enum class Sum : uint8_t { kAdds, kSubs, kSubsReversed };
bool carry(AmdLowering& l, Sum sum) {
  uint32_t a = l.source(2), b = l.source(3);
  if (sum == Sum::kSubsReversed) std::swap(a, b);
  const bool subtracts = sum != Sum::kAdds;
  const uint32_t wide[2] = {l.scratch(8), l.scratch(8)}, zero = l.constant(0, 4), out = l.scratch(8);
  l.emit(steps().join, {.d = wide[0], .a = a, .b = zero});
  l.emit(steps().join, {.d = wide[1], .a = b, .b = zero});
  l.lanes(subtracts ? Op::kSub : Op::kAdd, kU64, {.d = out, .a = wide[0], .b = wide[1]});
  if (l.slot(4)) {
    const uint32_t in = l.scratch(8);
    l.lanes(Op::kSelp, kB64, {.d = in, .a = l.constant(1, 8), .b = l.constant(0, 8), .c = l.mask(4)});
    l.lanes(subtracts ? Op::kSub : Op::kAdd, kU64, {.d = out, .a = out, .b = in});
  }
  const uint32_t low = l.scratch(4), high = l.scratch(4);
  l.emit(steps().part, {.d = low, .a = out, .e = high});
  l.compare(num::kCmpNe, kU32, l.result(1), high, zero);
  l.emit(copy_register(4), {.d = l.register_at(*l.slot(0), 0), .a = low});
  return l.give();
}

}  // namespace

bool lower_carry_add(AmdLowering& l) { return carry(l, Sum::kAdds); }
bool lower_carry_sub(AmdLowering& l) { return carry(l, Sum::kSubs); }
bool lower_carry_subrev(AmdLowering& l) { return carry(l, Sum::kSubsReversed); }

bool lower_mad_wide(AmdLowering& l) {
  const bool is_signed = l.name() == "v_mad_i64_i32";
  const uint32_t a = l.source(2), b = l.source(3), c = l.source(4), d = l.result(0), product = l.scratch(8);
  l.lanes(Op::kMul, is_signed ? kS32 : kU32, {.d = product, .a = a, .b = b}, lanes::kVWide);
  l.lanes(Op::kAdd, kU64, {.d = d, .a = product, .b = c});
  // The carry is bit 64 of the exact sum: of signed numbers its sign.
  if (is_signed)
    l.emit(amd::sum_is_negative, {.d = l.result(1), .a = product, .b = c});
  else
    l.compare(num::kCmpLt, kU64, l.result(1), d, product);
  return l.give();
}

// --- floats --------------------------------------------------------------------------------------------------------------------
namespace {

lanes::Type float_of(const Slot& s) { return s.bits == 16 ? kF16 : s.bits == 64 ? kF64 : kF32; }

}  // namespace

bool lower_fmac(AmdLowering& l) {
  const Slot from = l.in().row->slots[1];
  const uint32_t a = l.source(1), b = l.source(2), c = l.source(*l.slot(0), from, 2), d = l.result();
  l.lanes(Op::kFma, float_of(from), {.d = d, .a = a, .b = b, .c = c});
  if (from.bits == 16) l.keep_finite(d, a, b, c, 2);
  return l.give();
}
// d += a * b, rounded twice
bool lower_mac(AmdLowering& l) {
  const Slot from = l.in().row->slots[1];
  const uint32_t a = l.source(1), b = l.source(2), c = l.source(*l.slot(0), from, 2);
  l.emit(each_handler(amdgcn::Opcode::k_v_mad_f32), {.d = l.result(), .a = a, .b = b, .c = c});
  return l.give();
}
// d = a * number + b
bool lower_fmamk(AmdLowering& l) {
  const Slot from = l.in().row->slots[1];
  const uint32_t a = l.source(1), k = l.source(2), b = l.source(3), d = l.result();
  l.lanes(Op::kFma, float_of(from), {.d = d, .a = a, .b = k, .c = b});
  if (from.bits == 16) l.keep_finite(d, a, k, b, 2);
  return l.give();
}

bool lower_div_scale(AmdLowering& l) {
  const bool wide = l.in().row->slots[0].bits == 64;
  const uint32_t a = l.source(2), b = l.source(3), c = l.source(4);
  const uint32_t d = l.result(0), flag = l.result(1);
  l.emit(wide ? steps().div_scale_f64 : steps().div_scale_f32, {.d = d, .a = a, .b = b, .c = c, .e = flag});
  return l.give();
}
bool lower_div_fmas(AmdLowering& l) {
  const bool wide = l.in().row->slots[0].bits == 64;
  const Operand vcc{.kind = amdgcn::OperandKind::kScalar, .index = amdgcn::kVccLo};
  const uint32_t a = l.source(1), b = l.source(2), c = l.source(3), p = l.mask_of(vcc);
  l.emit(wide ? steps().div_fmas_f64 : steps().div_fmas_f32,
         {.d = l.result(), .a = a, .b = b, .c = c, .e = p});
  return l.give();
}

// v_fma_mix: op_sel_hi says whether an operand is a half, op_sel which one.
bool lower_mix(AmdLowering& l) {
  uint32_t from[3];
  for (size_t k = 0; k < 3; ++k) {
    const Operand& o = *l.slot(k + 1);
    const bool is_half = l.in().number_at("op_sel_hi", k, 0) != 0;
    from[k] = l.source(o, Slot{.kind = 'F', .bits = static_cast<uint8_t>(is_half ? 16 : 32)}, k);
    if (!is_half) continue;
    const uint32_t wide = l.scratch(4);
    l.emit(each_handler(amdgcn::Opcode::k_v_cvt_f32_f16), {.d = wide, .a = from[k]});
    from[k] = wide;
  }
  if (l.name() == "v_fma_mix_f32") {
    l.lanes(Op::kFma, kF32, {.d = l.result(), .a = from[0], .b = from[1], .c = from[2]});
    return l.give();
  }
  const uint32_t sum = l.scratch(4), out = l.scratch(2);
  l.lanes(Op::kFma, kF32, {.d = sum, .a = from[0], .b = from[1], .c = from[2]});
  if (l.in().has("clamp")) return false;
  l.emit(each_handler(amdgcn::Opcode::k_v_cvt_f16_f32), {.d = out, .a = sum});
  l.keep_finite(out, from[0], from[1], from[2], 4);
  return l.emit(steps().put_half,
                {.d = l.register_at(*l.slot(0), 0), .a = out, .small = l.name() == "v_fma_mixhi_f16"});
}

bool lower_pack_moves(AmdLowering& l) {
  const uint32_t a = l.source(1), b = l.source(2),
                 words[4] = {l.scratch(4), l.scratch(4), l.scratch(4), l.scratch(4)};
  l.emit(steps().part, {.d = words[0], .a = a, .e = words[1]});
  l.emit(steps().part, {.d = words[2], .a = b, .e = words[3]});
  const auto low = static_cast<size_t>(l.in().number_at("op_sel", 0, 0)),
             high = static_cast<size_t>(l.in().number_at("op_sel", 1, 0));
  l.emit(steps().join, {.d = l.result(), .a = words[low & 1], .b = words[2 + (high & 1)]});
  return l.give();
}

// --- bytes: fp8 and bf8, FNUZ in gfx940 to gfx942, OCP's from gfx950 and gfx12 on. What is too large is a NaN or an infinity, or the
// largest number where FP16_OVFL is set and the value is finite --------------------
namespace {

num::Type byte_type(AmdLowering& l, bool is_bf8) {
  const bool fnuz = l.module().target().starts_with("gfx94");
  if (is_bf8) return fnuz ? num::Type::kF8E5M2FNUZ : num::Type::kF8E5M2;
  return fnuz ? num::Type::kF8E4M3FNUZ : num::Type::kF8E4M3FN;
}

// A finite value within the range of a type of bytes: infinities and NaN stay.
double within(double value, num::Type type) {
  const uint64_t largest = type == num::Type::kF8E4M3FN ? 0x7e : type == num::Type::kF8E5M2 ? 0x7b : 0x7f;
  const double most = num::to_double(largest, type);
  return std::isfinite(value) ? std::clamp(value, -most, most) : value;
}

struct Bytes {
  num::Type type;
  uint32_t at = 0;  // the first byte
  bool pair = false, saturates = false;
};
void read_bytes(Exec& x, const Operands& in, const Bytes& plan) {
  const uint32_t* a = x.reg<uint32_t>(in.a);
  for (uint32_t i : x.lanes()) {
    const uint32_t bytes = a[i];  // a result may be the same register
    for (uint32_t k = 0; k <= static_cast<uint32_t>(plan.pair); ++k)
      x.reg<uint32_t>(k ? in.e : in.d)[i] = static_cast<uint32_t>(
          num::convert_float(bytes >> (8 * (plan.at + k)) & 255, plan.type, num::Type::kF32));
  }
}
void write_bytes(Exec& x, const Operands& in, const Bytes& plan) {
  uint32_t* d = x.reg<uint32_t>(in.d);
  for (uint32_t i : x.lanes()) {
    const float values[2] = {x.reg<float>(in.a)[i], x.reg<float>(in.b)[i]};
    for (uint32_t k = 0; k < 2; ++k) {
      const float value = values[k];
      const auto byte =
          static_cast<uint32_t>(num::from_double(plan.saturates ? within(value, plan.type) : value, plan.type,
                                                 num::Rounding::kNearestEven, num::Overflow::kNonSaturating));
      const uint32_t shift = 8 * (plan.at + k);
      d[i] = (d[i] & ~(255u << shift)) | byte << shift;
    }
  }
}

}  // namespace

bool lower_from_bytes(AmdLowering& l) {
  const std::string_view name = l.name(), select = l.in().text("src0_sel");
  Bytes plan{byte_type(l, name.ends_with("bf8")), 0, name.starts_with("v_cvt_pk_")};
  const Operand& o = *l.slot(1);
  const uint32_t a = o.is_register() ? l.register_at(o, 0) : l.source(1);
  if (select.starts_with("BYTE_")) plan.at = static_cast<uint32_t>(select[5] - '0');
  if (select == "WORD_1") plan.at = 2;
  if (l.in().has("byte_sel")) plan.at = static_cast<uint32_t>(l.in().number("byte_sel")) & 3;
  if (l.in().has("op_sel")) {
    const auto low = static_cast<uint32_t>(l.in().number_at("op_sel", 0, 0)),
               high = static_cast<uint32_t>(l.in().number_at("op_sel", 1, 0));
    plan.at = plan.pair ? 2 * (low & 1) : (low & 1) + 2 * (high & 1);
  }
  const Operand& d = *l.slot(0);
  return l.emit(handler<read_bytes>,
                {.d = l.register_at(d, 0), .a = a, .e = plan.pair ? l.register_at(d, 1) : kNoRegister}, plan);
}
bool lower_to_bytes(AmdLowering& l) {
  if (l.name().starts_with("v_cvt_sr_")) return l.fail("stochastic rounding to fp8 is not executed");
  const Bytes plan{byte_type(l, l.name().find("bf8") != std::string_view::npos),
                   l.in().number_at("op_sel", 2, 0) || l.slot(0)->half > 0 ? 2u : 0u, true, l.saturates};
  const uint32_t a = l.source(1), b = l.source(2);
  return l.emit(handler<write_bytes>, {.d = l.register_at(*l.slot(0), 0), .a = a, .b = b}, plan);
}

// --- gfx950: conversions with a scale, the exponent of an f32 ---------------------------------------------------------------------
namespace {

num::Type element_type(std::string_view name) {
  if (name == "fp8") return num::Type::kF8E4M3FN;
  if (name == "bf8") return num::Type::kF8E5M2;
  if (name == "fp4") return num::Type::kF4E2M1FN;
  if (name == "f16") return num::Type::kF16;
  if (name == "bf16") return num::Type::kBF16;
  return num::Type::kF32;
}
struct Scaled {
  num::Type narrow, wide;
  uint32_t at = 0;  // the first bit
  bool saturates = false;
};
double scale_of(uint32_t bits) {
  const uint32_t exponent = bits >> 23 & 255;
  return exponent == 255 ? std::numeric_limits<double>::quiet_NaN()
                         : std::ldexp(1.0, static_cast<int>(exponent) - 127);
}
void read_scaled(Exec& x, const Operands& in, const Scaled& plan) {
  const uint32_t *a = x.reg<uint32_t>(in.a), *b = x.reg<uint32_t>(in.b);
  const auto bits = static_cast<uint32_t>(num::width_of(plan.narrow));
  for (uint32_t i : x.lanes()) {
    uint64_t out[2];
    for (uint32_t k = 0; k < 2; ++k)
      out[k] = num::from_double(
          num::to_double(a[i] >> (plan.at + bits * k) & ((1u << bits) - 1), plan.narrow) * scale_of(b[i]),
          plan.wide);
    if (plan.wide == num::Type::kF32) {
      x.reg<uint32_t>(in.d)[i] = static_cast<uint32_t>(out[0]);
      x.reg<uint32_t>(in.e)[i] = static_cast<uint32_t>(out[1]);
    } else {
      x.reg<uint32_t>(in.d)[i] = static_cast<uint32_t>(out[0] | out[1] << 16);
    }
  }
}
void write_scaled(Exec& x, const Operands& in, const Scaled& plan) {
  uint32_t* d = x.reg<uint32_t>(in.d);
  const bool wide = plan.wide == num::Type::kF32;
  const uint32_t *a = x.reg<uint32_t>(in.a), *b = wide ? x.reg<uint32_t>(in.b) : nullptr,
                 *scale = x.reg<uint32_t>(in.c);
  const auto bits = static_cast<uint32_t>(num::width_of(plan.narrow));
  for (uint32_t i : x.lanes()) {
    const uint64_t values[2] = {wide ? a[i] : a[i] & 0xffff, wide ? b[i] : a[i] >> 16};
    for (uint32_t k = 0; k < 2; ++k) {
      const uint64_t value = values[k];
      const double scaled = num::to_double(value, plan.wide) / scale_of(scale[i]);
      const auto code = static_cast<uint32_t>(
          num::from_double(plan.saturates && bits == 8 ? within(scaled, plan.narrow) : scaled, plan.narrow,
                           num::Rounding::kNearestEven, num::Overflow::kNonSaturating));
      const uint32_t shift = plan.at + bits * k, field = ((1u << bits) - 1) << shift;
      d[i] = (d[i] & ~field) | (code << shift & field);
    }
  }
}
// "v_cvt_scalef32_pk_f32_fp8": to, from.
std::array<std::string_view, 2> types_of(std::string_view name) {
  const std::string_view both = name.substr(std::string_view("v_cvt_scalef32_pk_").size());
  const size_t at = both.find('_');
  return {both.substr(0, at), both.substr(at + 1)};
}

}  // namespace

bool lower_from_scaled(AmdLowering& l) {
  const auto [to, from] = types_of(l.name());
  Scaled plan{element_type(from), element_type(to)};
  const auto low = static_cast<uint32_t>(l.in().number_at("op_sel", 0, 0)),
             high = static_cast<uint32_t>(l.in().number_at("op_sel", 1, 0));
  plan.at = from == "fp4" ? 8 * ((low & 1) + 2 * (high & 1)) : 16 * (low & 1);
  const uint32_t a = l.source(1), b = l.source(2);
  const Operand& d = *l.slot(0);
  return l.emit(
      handler<read_scaled>,
      {.d = l.register_at(d, 0), .a = a, .b = b, .e = to == "f32" ? l.register_at(d, 1) : kNoRegister}, plan);
}
bool lower_to_scaled(AmdLowering& l) {
  const auto [to, from] = types_of(l.name());
  Scaled plan{element_type(to), element_type(from), 0, l.saturates};
  const size_t last =
      from == "f32" ? 3 : 2;  // the operand of the scale, and its bit of op_sel for the result
  const auto low = static_cast<uint32_t>(l.in().number_at("op_sel", to == "fp4" ? 2 : last, 0)),
             high = static_cast<uint32_t>(l.in().number_at("op_sel", 3, 0));
  plan.at = to == "fp4" ? 8 * ((low & 1) + 2 * (high & 1)) : 16 * (low & 1);
  const uint32_t a = l.source(1), b = from == "f32" ? l.source(2) : kNoRegister, c = l.source(last);
  return l.emit(handler<write_scaled>, {.d = l.register_at(*l.slot(0), 0), .a = a, .b = b, .c = c}, plan);
}

// --- small dot products ------------------------------------------------------------------------------------------------------------
namespace {

struct Dot {
  uint32_t bits;      // of an element
  bool is_signed[2];  // integers: of which side
  num::Type type;     // kI32: integers
};
uint32_t element(uint32_t word, uint32_t at, uint32_t bits, bool is_signed) {
  const uint32_t moved = word << (32 - bits - at);
  return is_signed ? static_cast<uint32_t>(static_cast<int32_t>(moved) >> (32 - bits)) : moved >> (32 - bits);
}
void run_dot(Exec& x, const Operands& in, const Dot& plan) {
  const uint32_t *a = x.reg<uint32_t>(in.a), *b = x.reg<uint32_t>(in.b), *c = x.reg<uint32_t>(in.c);
  uint32_t* d = x.reg<uint32_t>(in.d);
  for (uint32_t i : x.lanes()) {
    if (plan.type == num::Type::kI32) {
      uint32_t sum = c[i];
      for (uint32_t k = 0; k < 32; k += plan.bits)
        sum +=
            element(a[i], k, plan.bits, plan.is_signed[0]) * element(b[i], k, plan.bits, plan.is_signed[1]);
      d[i] = sum;
      continue;
    }
    float sum = std::bit_cast<float>(c[i]);
    for (uint32_t k = 0; k < 32; k += 16)
      sum = static_cast<float>(std::fma(num::to_double(a[i] >> k & 0xffff, plan.type),
                                        num::to_double(b[i] >> k & 0xffff, plan.type),
                                        static_cast<double>(sum)));
    d[i] = std::bit_cast<uint32_t>(sum);
  }
}

}  // namespace

// v_dot4_i32_i8, v_dot2c_f32_f16, v_dot8_i32_iu4 (neg_lo says which side has a sign), ...
bool lower_dot(AmdLowering& l) {
  const std::string_view name = l.name(), of = name.substr(name.rfind('_') + 1);
  Dot plan{32u / static_cast<uint32_t>(name[5] - '0'), {of[0] == 'i', of[0] == 'i'}, num::Type::kI32};
  if (of == "f16") plan.type = num::Type::kF16;
  if (of == "bf16") plan.type = num::Type::kBF16;
  if (of.starts_with("iu"))
    for (size_t side = 0; side < 2; ++side) plan.is_signed[side] = l.in().number_at("neg_lo", side, 0) != 0;
  if (l.in().has("clamp")) return false;
  const uint32_t d = l.register_at(*l.slot(0), 0), a = l.source(1), b = l.source(2),
                 c = l.slot(3) ? l.source(3) : d;
  return l.emit(handler<run_dot>, {.d = d, .a = a, .b = b, .c = c}, plan);
}

}  // namespace triton_runner::simt::amd
