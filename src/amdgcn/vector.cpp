// Implements vector instructions: the formats of 32 and 64 bits with what may follow (SDWA, DPP, a literal),
// packed ones, products of matrices, and two at once.
#include <bit>

#include <triton_runner/amdgcn/text.h>

#include "decoder.h"

namespace triton_runner::amdgcn {
namespace {

constexpr uint32_t kSdwa = 249, kDpp16 = 250, kDpp8 = 233, kDpp8Fetches = 234;

uint32_t place_of(const Word& w) { return static_cast<uint32_t>(w.letter - 'a'); }  // of a source: 0, 1, 2
bool is_source(const Word& w) { return w.letter >= 'a' && w.letter <= 'c'; }

uint32_t sources_of(const Encoding& row) {
  uint32_t n = 0;
  for (const Word& w : row.words) n += is_source(w);
  return n;
}

}  // namespace

// The name with the suffix of another encoding: v_add_f32_e32 as _dpp.
void Decoder::rename(std::string_view from, std::string_view to) {
  name_ = row_->name;
  if (name_.ends_with(from)) name_.resize(name_.size() - from.size());
  name_ += to;
}

void Decoder::list(std::string_view name, uint32_t values, uint32_t count, bool otherwise) {
  const uint32_t all = (1u << count) - 1;
  if ((values & all) == (otherwise ? all : 0)) return;
  modifiers_ += " " + std::string(name) + ":[";
  for (uint32_t k = 0; k < count; ++k) {
    modifiers_ += k ? "," : "";
    modifiers_ += values >> k & 1 ? '1' : '0';
  }
  modifiers_ += "]";
}

// Prints which lanes are read, of the word that begins at bit `at` (its first eight bits are the register).
bool Decoder::permuted(uint32_t at, bool is_eight, bool fetches) {
  if (is_eight) {
    std::string out = " dpp8:[";
    for (uint32_t k = 0; k < 8; ++k)
      out += (k ? "," : "") + std::to_string(bits(at + 10 + 3 * k, at + 8 + 3 * k));
    say(out + (fetches ? "] fi:1" : "]"));
    return true;
  }
  const uint32_t control = bits(at + 16, at + 8), low = control & 15;
  const auto shift = [&](std::string_view name) { say(" " + std::string(name) + ":" + std::to_string(low)); };
  if (control < 0x100) {
    std::string out = " quad_perm:[";
    for (uint32_t k = 0; k < 4; ++k) out += (k ? "," : "") + std::to_string(control >> (2 * k) & 3);
    say(out + "]");
  } else if (control > 0x100 && control < 0x110) {
    shift("row_shl");
  } else if (control > 0x110 && control < 0x120) {
    shift("row_shr");
  } else if (control > 0x120 && control < 0x130) {
    shift("row_ror");
  } else if (control == 0x140) {
    say(" row_mirror");
  } else if (control == 0x141) {
    say(" row_half_mirror");
  } else if (cdna() && control == 0x130) {
    say(" wave_shl:1");
  } else if (cdna() && control == 0x134) {
    say(" wave_rol:1");
  } else if (cdna() && control == 0x138) {
    say(" wave_shr:1");
  } else if (cdna() && control == 0x13c) {
    say(" wave_ror:1");
  } else if (cdna() && control == 0x142) {
    say(" row_bcast:15");
  } else if (cdna() && control == 0x143) {
    say(" row_bcast:31");
  } else if (control >= 0x150 && control < 0x160) {
    shift(cdna() ? "row_newbcast" : "row_share");
  } else if (!cdna() && control >= 0x160 && control < 0x170) {
    shift("row_xmask");
  } else {
    return fail("no permutation of lanes has the number " + std::to_string(control));
  }
  constexpr char kDigits[] = "0123456789abcdef";
  say(std::string(" row_mask:0x") + kDigits[bits(at + 31, at + 28)]);
  say(std::string(" bank_mask:0x") + kDigits[bits(at + 27, at + 24)]);
  if (bits(at + 19, at + 19)) say(" bound_ctrl:1");
  if (!cdna() && bits(at + 18, at + 18)) say(" fi:1");
  return true;
}

bool Decoder::short_vector_format(Format format) {
  bits(31, format == Format::VOP2 ? 31 : 25);
  const uint32_t code = bits(8, 0);
  if (cdna() && code == kSdwa) return sdwa(format);
  const bool is_eight = !cdna() && (code == kDpp8 || code == kDpp8Fetches);
  const bool is_permuted = code == kDpp16 || is_eight;
  uint32_t negative = 0, absolute = 0;
  if (is_permuted) {
    words_ = 2;
    rename("_e32", "_dpp");
    if (!is_eight) {
      negative = bits(52, 52) | bits(54, 54) << 1;
      absolute = bits(53, 53) | bits(55, 55) << 1;
    }
  }
  for (const Word& w : row_->words) {
    std::string operand;
    if (w.letter == 'v')
      put(vcc());
    else if (w.letter == 'l')
      put(literal());
    else if (w.letter == 'd')
      put(w.mark == 'g' ? scalar(bits(24, 17), w.count) : short_vector(bits(24, 17), w));
    else if (w.letter == 'a' && is_permuted)
      put(negated(short_vector(bits(39, 32), w), negative & 1, absolute & 1, false));
    else if (w.letter == 'a')
      put(code >= 256 ? short_vector(code - 256, w) : source(code, w));
    else if (w.letter == 'b')
      put(negated(short_vector(bits(16, 9), w), negative & 2, absolute & 2, false));
  }
  return !is_permuted || permuted(32, is_eight, code == kDpp8Fetches);
}

bool Decoder::sdwa(Format format) {
  words_ = 2;
  rename("_e32", "_sdwa");
  const bool compares = format == Format::VOPC;
  uint32_t parts[2] = {6, 6};
  const Word* d = row_->word('d');
  for (const Word& w : row_->words) {
    const bool second = w.letter == 'b';
    if (w.letter == 'v') {
      put(compares && bits(47, 47) ? scalar(bits(46, 40), masks_) : vcc());
    } else if (w.letter == 'd') {
      put(w.mark == 'g' ? scalar(bits(24, 17), w.count) : vector(bits(24, 17), w));
    } else if (is_source(w)) {
      const uint32_t at = second ? 56 : 48, index = second ? bits(16, 9) : bits(39, 32);
      const bool is_scalar = bits(at + 7, at + 7);
      std::string operand = is_scalar ? source(index, w) : vector(index, w);
      if (bits(at + 3, at + 3)) operand = "sext(" + operand + ")";
      const bool negative = bits(at + 4, at + 4), absolute = bits(at + 5, at + 5);
      put(negated(std::move(operand), negative, absolute, false));
      parts[second] = bits(at + 2, at);
      if (parts[second] > 6) return fail("a part of a register with the number 7");
    } else {
      return fail("SDWA of an instruction that has none");
    }
  }
  if (!compares) {
    const uint32_t part = bits(42, 40), unused = bits(44, 43);
    if (bits(45, 45)) say(" clamp");
    constexpr std::string_view kFactors[] = {"", " mul:2", " mul:4", " div:2"};
    say(kFactors[bits(47, 46)]);
    if (part > 6 || unused > 2) return fail("a part of the result that there is not");
    if (d && d->count == 1)
      say(" dst_sel:" + std::string(kSdwaParts[part]) + " dst_unused:" + std::string(kSdwaUnused[unused]));
    else if (d && (unused || (part != 0 && part != 6)))
      return fail("a part of a result of 64 bits");
  }
  for (const Word& w : row_->words)
    if (is_source(w))
      say(std::string(w.letter == 'a' ? " src0_sel:" : " src1_sel:") +
          std::string(kSdwaParts[parts[place_of(w)]]));
  return true;
}

// The fields of sources that an instruction lacks hold 0, or on RDNA the code of the number 0.
bool Decoder::has_no_more_sources() {
  constexpr uint32_t kZero = 128;
  for (const auto& [letter, last] : {std::pair('a', 40u), std::pair('b', 49u), std::pair('c', 58u)}) {
    const uint32_t code = row_->word(letter) ? 0 : bits(last, last - 8);
    if (code != 0 && (cdna() || code != kZero)) return fail("a source that it does not have");
  }
  return true;
}

bool Decoder::long_vector_format() {
  bits(31, 26);
  const uint32_t number = bits(25, 16);
  const bool has_mask = encoding_of(chip_, Format::VOP3SD, number) != nullptr;
  if (!find(has_mask ? Format::VOP3SD : Format::VOP3, number)) return false;
  const std::string_view name = row_->name;
  const uint32_t first = bits(40, 32);
  const bool is_eight = !cdna() && (first == kDpp8 || first == kDpp8Fetches);
  const bool is_permuted = !cdna() && (first == kDpp16 || is_eight);
  if (is_permuted) {
    words_ = 3;
    rename("_e64", "_e64_dpp");
  }
  const bool is_table = says(name, "bitop3");  // its truth table lies where signs and factors do
  const uint32_t negative = bits(63, 61), factor = bits(60, 59);
  const uint32_t absolute = has_mask ? 0 : bits(10, 8);
  uint32_t selected = has_mask ? 0 : bits(14, 11), halves = 0;
  for (const Word& w : row_->words) {
    if (w.is_half) halves |= 1u << (w.letter == 'd' ? 3 : place_of(w));
    if (w.letter == 'd') {
      const uint32_t code = bits(7, 0);
      put(w.is_mask       ? mask(code)
          : w.mark == 'g' ? scalar(code, w.count)
                          : vector(code, w, selected >> 3 & 1));
    } else if (w.letter == 's') {
      put(mask(bits(14, 8)));
    } else if (is_source(w)) {
      const uint32_t k = place_of(w), code = k == 0 ? first : k == 1 ? bits(49, 41) : bits(58, 50);
      const int half = selected >> k & 1;
      std::string operand = k == 0 && is_permuted ? vector(bits(71, 64), w, half) : source(code, w, half);
      if (w.is_half && half && code < 256 && !(k == 0 && is_permuted))
        return fail("the upper half of what is not a vector register");
      if (!is_table)
        operand = negated(std::move(operand), negative >> k & 1, absolute >> k & 1,
                          code < 256 && code >= 128 && !(k == 0 && is_permuted));
      put(operand);
    }
  }
  if (!row_->word('d')) {
    const uint32_t code = bits(7, 0);
    if (code != (says(name, "cmpx") ? 126u : 0u)) return fail("a result that it does not have");
  }
  const uint32_t count = sources_of(*row_);
  if (!has_no_more_sources()) return false;
  if (halves) {
    if (selected & ~halves) return fail("a half of a whole register");
  } else if (says(name, "_swap_")) {
    if (selected) return fail("a swap of lanes with conditions");
  } else if (says(name, "permlane")) {
    list("op_sel", selected, 2, false);
  } else if (says(name, "byte_sel")) {
    return fail("a byte of a register");
  } else if (selected) {
    if ((name.starts_with("v_cvt_f32_fp8") || name.starts_with("v_cvt_f32_bf8")) && !cdna()) {
      // The two bits are in the other order.
      say(" byte_sel:" + std::to_string((selected & 1) << 1 | (selected >> 1 & 1)));
    } else if (!cdna() && (name.starts_with("v_cvt_sr_fp8") || name.starts_with("v_cvt_sr_bf8"))) {
      if (selected & 3) return fail("a half of an operand that it does not have");
      say(" byte_sel:" + std::to_string(selected >> 2));
    } else if (name.starts_with("v_cvt_sr_fp8") || name.starts_with("v_cvt_sr_bf8") ||
               name.starts_with("v_cvt_scalef32_pk_fp4_")) {
      list("op_sel", selected, 4, false);  // the last two say which byte is written
    } else {
      const uint32_t order = (selected & ((1u << count) - 1)) | (selected >> 3 & 1) << count;
      if (selected & 7 & ~((1u << count) - 1)) return fail("a half of an operand that it does not have");
      list("op_sel", order, count + 1, false);
    }
  }
  if (bits(15, 15)) say(" clamp");
  if (is_table) {
    constexpr char kDigits[] = "0123456789abcdef";
    const uint32_t table = negative | absolute << 3 | factor << 6;
    if (table)
      say(std::string(" bitop3:0x") + (table > 15 ? std::string(1, kDigits[table >> 4]) : "") +
          kDigits[table & 15]);
  } else {
    constexpr std::string_view kFactors[] = {"", " mul:2", " mul:4", " div:2"};
    say(kFactors[factor]);
    if ((negative | absolute) >> count) return fail("a sign of an operand that it does not have");
  }
  return !is_permuted || permuted(64, is_eight, first == kDpp8Fetches);
}

bool Decoder::packed_format() {
  bits(31, cdna() ? 23 : 24);
  const uint32_t number = bits(22, 16);
  if (chip_ == Chip::gfx950 && number == 0x2c) return scaled_product();
  if (!find(Format::VOP3P, number)) return false;
  const std::string_view name = row_->name;
  if (name.starts_with("v_mfma") || name.starts_with("v_smfmac")) return product(0);
  const uint32_t first = bits(40, 32);
  const bool is_eight = !cdna() && (first == kDpp8 || first == kDpp8Fetches);
  const bool is_permuted = !cdna() && (first == kDpp16 || is_eight);
  if (is_permuted) {
    words_ = 3;
    rename("", "_e64_dpp");
  }
  const bool is_mixed = says(name, "fma_mix");  // of halves and floats: signs, and absolute values
  const uint32_t low = bits(63, 61), high = bits(10, 8);
  for (const Word& w : row_->words) {
    if (w.letter == 'd') {
      put(vector(bits(7, 0), w));
    } else if (is_source(w)) {
      const uint32_t k = place_of(w), code = k == 0 ? first : k == 1 ? bits(49, 41) : bits(58, 50);
      const bool from_lane = k == 0 && is_permuted;
      std::string operand = from_lane ? vector(bits(71, 64), w) : source(code, w);
      if (is_mixed)
        operand =
            negated(std::move(operand), low >> k & 1, high >> k & 1, code < 256 && code >= 128 && !from_lane);
      put(operand);
    }
  }
  if (!has_no_more_sources()) return false;
  const uint32_t count = sources_of(*row_), selected = bits(13, 11), upper = bits(60, 59) | bits(14, 14) << 2;
  if (name.starts_with("v_swmmac")) {
    if (selected) say(" index_key:" + std::to_string(selected));
  } else if (!name.starts_with("v_accvgpr")) {
    if (selected >> count) return fail("a half of an operand that it does not have");
    list("op_sel", selected, count, false);
    list("op_sel_hi", upper, count, !is_mixed);
  } else if (selected || low || high) {
    return fail("a sign or half of a move");
  }
  if (!is_mixed) {
    if ((low | high) >> count) return fail("a sign of an operand that it does not have");
    list("neg_lo", low, count, false);
    list("neg_hi", high, count, false);
  }
  if (bits(15, 15)) say(" clamp");
  return !is_permuted || permuted(64, is_eight, first == kDpp8Fetches);
}

// A product of matrices, whose 64 bits begin at bit `base`.
bool Decoder::product(uint32_t base) {
  const auto at = [&](uint32_t last, uint32_t first) { return bits(base + last, base + first); };
  const std::string_view name = row_->name;
  const uint32_t first_format = at(10, 8), second_format = at(63, 61), accumulators = at(60, 59),
                 block = at(14, 11);
  const bool result_accumulates = at(15, 15), is_narrow = says(name, "f8f6f4");
  for (Word w : row_->words) {
    if (is_narrow && (w.letter == 'a' || w.letter == 'b')) {  // 32 numbers of eight, six or four bits
      const uint32_t of = w.letter == 'a' ? first_format : second_format;
      if (of > 4) return fail("a format of numbers with the number " + std::to_string(of));
      w.count = of < 2 ? 8 : of < 4 ? 6 : 4;
    }
    if (w.letter == 'd')
      put(vector(at(7, 0), w, -1, result_accumulates));
    else if (w.letter == 'a')
      put(source(at(40, 32), w, -1, accumulators & 1));
    else if (w.letter == 'b')
      put(source(at(49, 41), w, -1, accumulators & 2));
    else if (w.letter == 'c')
      put(source(at(58, 50), w, -1, result_accumulates && !name.starts_with("v_smfmac")));
  }
  if (base && block != 1) return fail("scales without their mark");
  if (base) {
    put(source(bits(40, 32), Word{}));
    put(source(bits(49, 41), Word{}));
    list("op_sel", bits(13, 11), 3, false);
    list("op_sel_hi", bits(60, 59) | bits(14, 14) << 2, 3, true);
  }
  if (first_format) say(" cbsz:" + std::to_string(first_format));
  if (block && !base) say(" abid:" + std::to_string(block));
  if (says(name, "_f64_") && chip_ != Chip::gfx90a)
    list("neg", second_format, 3, false);
  else if (second_format)
    say(" blgp:" + std::to_string(second_format));
  return true;
}

bool Decoder::scaled_product() {
  words_ = 4;
  if (bits(95, 87) != 0x1a7) return fail("scales without a product");
  return find(Format::VOP3PX, bits(86, 80)) && product(64);
}

bool Decoder::dual_format() {
  bits(31, 26);
  const uint32_t to = bits(63, 56);
  for (const bool second : {false, true}) {
    if (!find(Format::VOPD, second ? bits(21, 17) : bits(25, 22))) return false;
    for (const Word& w : row_->words) {
      if (w.letter == 'd')
        put(vector(second ? bits(55, 49) << 1 | !(to & 1) : to, w));
      else if (w.letter == 'a')
        put(source(second ? bits(40, 32) : bits(8, 0), w));
      else if (w.letter == 'b')
        put(vector(second ? bits(48, 41) : bits(16, 9), w));
      else if (w.letter == 'l')
        put(literal());
    }
    if (second) continue;
    first_ = std::string(row_->name) + " " + operands_ + " :: ";
    operands_.clear();
  }
  return true;
}

bool Decoder::interpolation() {
  bits(31, 24);
  if (!find(Format::VINTERP, bits(22, 16))) return false;
  const uint32_t negative = bits(63, 61), selected = bits(14, 11);
  uint32_t halves = 0;
  for (const Word& w : row_->words) {
    if (w.is_half) halves |= 1u << (w.letter == 'd' ? 3 : place_of(w));
    if (w.letter == 'd') {
      put(vector(bits(7, 0), w, selected >> 3 & 1));
    } else {
      const uint32_t k = place_of(w), code = k == 0 ? bits(40, 32) : k == 1 ? bits(49, 41) : bits(58, 50);
      put(negated(source(code, w, selected >> k & 1), negative >> k & 1, false, false));
    }
  }
  if (selected & ~halves) return fail("a half of a whole register");
  if (bits(15, 15)) say(" clamp");
  say(" wait_exp:" + std::to_string(bits(10, 8)));
  return true;
}

}  // namespace triton_runner::amdgcn
