// Decodes instructions of memory: scalar loads, LDS, flat, global, scratch and buffers, with the policies of
// their caches.
#include <triton_runner/base/text.h>

#include "decoder.h"

namespace triton_runner::amdgcn {
namespace {

std::string signed_hex(int64_t value) {
  return value < 0 ? "-" + base::hex(static_cast<uint64_t>(-value)) : base::hex(static_cast<uint64_t>(value));
}

}  // namespace

// The four bits before RDNA 4: glc, slc, dlc and scc, which gfx942 calls sc0, nt and sc1.
void Decoder::policy_of_bits(bool first, bool second, bool third, bool fourth) {
  const bool is_new = chip_ == Chip::gfx942 || chip_ == Chip::gfx950;
  if (first) say(is_new && row_->format != Format::SMEM ? " sc0" : " glc");
  if (second) say(is_new ? " nt" : " slc");
  if (third) say(" dlc");
  if (fourth) say(is_new ? " sc1" : " scc");
}

void Decoder::policy(uint32_t th, uint32_t scope) {
  const std::string_view name = row_->name;
  const bool is_store = says(name, "store"), is_atomic = says(name, "atomic");
  if (th) {
    constexpr std::string_view kHints[] = {"RT", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
    std::string out = " th:";
    if (is_atomic) {
      if (th & 4 && scope >= 2)
        out += th & 2 ? "TH_ATOMIC_CASCADE_NT" : "TH_ATOMIC_CASCADE_RT";
      else if (th & 4)
        out += base::hex(th);
      else if (th & 2)
        out += th & 1 ? "TH_ATOMIC_NT_RETURN" : "TH_ATOMIC_NT";
      else
        out += "TH_ATOMIC_RETURN";
    } else if (!is_store && th == 7) {
      out += base::hex(th);
    } else {
      out += is_store ? "TH_STORE_" : "TH_LOAD_";
      out += th != 3 ? kHints[th] : scope == 3 ? "BYPASS" : is_store ? "RT_WB" : "LU";
    }
    say(out);
  }
  if (scope) say(scope == 1 ? " scope:SCOPE_SE" : scope == 2 ? " scope:SCOPE_DEV" : " scope:SCOPE_SYS");
}

bool Decoder::scalar_memory() {
  bits(31, 26);
  if (!find(Format::SMEM, rdna4() ? bits(18, 13) : bits(25, 18))) return false;
  for (const Word& w : row_->words) {
    if (w.letter == 'd') {
      put(scalar(bits(12, 6), w.count));
    } else if (w.letter == 'b') {
      put(scalar(bits(5, 0) * 2, w.count));
    } else if (w.letter == 'f') {
      put(signed_hex(signed_bits(55, 32)));
      put(scalar(bits(63, 57), 1));
      put(std::to_string(bits(10, 6)));
    } else if (w.letter == 'o') {
      const int64_t offset = rdna4() ? signed_bits(55, 32) : signed_bits(52, 32);
      if (cdna()) {
        const bool is_constant = bits(17, 17), has_register = bits(14, 14);
        if (has_register) {
          put(scalar(bits(63, 57), 1));
          if (is_constant) say(" offset:" + signed_hex(offset));
        } else if (is_constant) {
          put(signed_hex(offset));
        } else {
          put(scalar(static_cast<uint32_t>(offset) & 0x7f, 1));
        }
      } else {
        const uint32_t added = bits(63, 57);
        put(added == 124 ? signed_hex(offset) : scalar(added, 1));
        if (added != 124) say(" offset:" + signed_hex(offset));
      }
    }
  }
  if (!cdna() && row_->words.empty()) {
    if (bits(63, 57) != 124 && bits(63, 57) != 0) return fail("an offset that it does not take");
  } else if (!cdna() && !row_->word('o') && !row_->word('f') && bits(63, 57) != 124 && bits(63, 57) != 0) {
    return fail("an offset that it does not take");
  }
  if (rdna4())
    policy(bits(24, 23), bits(22, 21));
  else if (cdna())
    policy_of_bits(bits(16, 16), false, false);
  else
    policy_of_bits(bits(14, 14), false, bits(13, 13));
  return true;
}

bool Decoder::shared_memory() {
  bits(31, 26);
  if (!find(Format::DS, cdna() ? bits(24, 17) : bits(25, 18))) return false;
  const bool is_accumulator = cdna() && bits(25, 25);
  for (const Word& w : row_->words) {
    if (w.letter == 'd')
      put(vector(bits(63, 56), w, -1, is_accumulator));
    else if (w.letter == 'v')
      put(vector(bits(39, 32), w));
    else if (w.letter == 't')
      put(vector(bits(47, 40), w, -1, is_accumulator));
    else if (w.letter == 'u')
      put(vector(bits(55, 48), w, -1, is_accumulator));
  }
  const std::string_view name = row_->name;
  if (says(name, "read2") || says(name, "write2") || says(name, "2addr") || says(name, "xchg2")) {
    if (const uint32_t offset = bits(7, 0)) say(" offset0:" + std::to_string(offset));
    if (const uint32_t offset = bits(15, 8)) say(" offset1:" + std::to_string(offset));
  } else if (says(name, "swizzle")) {
    say(swizzle(bits(15, 0)));
  } else if (const uint32_t offset = bits(15, 0)) {
    say(" offset:" + std::to_string(offset));
  }
  if (!rdna4() && (cdna() ? bits(16, 16) : bits(17, 17))) say(" gds");
  return true;
}

bool Decoder::flat_memory() {
  uint32_t segment, number;
  if (rdna4()) {
    words_ = 3;
    segment = bits(31, 24) - 0xec;
    number = bits(21, 14);
  } else {
    bits(31, 26);
    segment = cdna() ? bits(15, 14) : bits(17, 16);
    number = bits(24, 18);
  }
  constexpr Format kSegments[] = {Format::FLAT, Format::SCRATCH, Format::GLOBAL};
  if (segment > 2) return fail("no memory has the segment 3");
  const Format format = kSegments[segment];
  if (!find(format, number)) return false;
  const bool is_plain = row_->words.empty();
  const uint32_t th = rdna4() ? bits(54, 52) : 0;
  const bool returns = rdna4() ? th & 1 : cdna() ? bits(16, 16) : bits(14, 14);
  const bool is_atomic = says(row_->name, "atomic");
  const bool is_accumulator = cdna() && bits(55, 55) && !is_plain;
  const bool has_base = format != Format::FLAT;
  const uint32_t base_code = rdna4() ? bits(6, 0) : has_base || !cdna() ? bits(54, 48) : 127;
  const uint32_t none = cdna() ? 127 : 124;
  const bool is_based = !is_plain && base_code != none && format != Format::FLAT;
  if (format == Format::FLAT && !is_plain && base_code != none && base_code != 0)
    return fail("a flat address with a scalar base");
  // gfx90a's scratch has one of both addresses; later ones say whether the vector's is there.
  const bool says_vector = chip_ != Chip::gfx90a && format == Format::SCRATCH;
  bool is_indexed = format != Format::SCRATCH || !is_based;
  if (says_vector) is_indexed = rdna4() ? bits(49, 49) : cdna() ? bits(13, 13) : bits(55, 55);
  std::string address;
  const auto vector_address = [&](uint32_t count) {
    const uint32_t index = rdna4() ? bits(71, 64) : bits(39, 32);
    return vector(index, Word{.letter = 'v', .count = static_cast<uint8_t>(count)});
  };
  for (const Word& w : row_->words) {
    if (w.letter == 'd' && (!is_atomic || returns))
      put(vector(rdna4() ? bits(39, 32) : bits(63, 56), w, -1, is_accumulator));
    else if (w.letter == 'v')
      put(!is_indexed ? "off" : vector_address(format == Format::SCRATCH || is_based ? 1 : 2));
    else if (w.letter == 't')
      put(vector(rdna4() ? bits(62, 55) : bits(47, 40), w, -1, is_accumulator));
  }
  if (!is_plain && has_base) put(is_based ? scalar(base_code, format == Format::SCRATCH ? 1 : 2) : "off");
  const bool is_unsigned = format == Format::FLAT && !rdna4();
  const int64_t offset = is_plain && !rdna4() ? 0
                         : rdna4()            ? signed_bits(95, 72)
                         : is_unsigned        ? int64_t{bits(11, 0)}
                                              : signed_bits(12, 0);
  if (offset) say(" offset:" + std::to_string(offset));
  if (rdna4())
    policy(th, bits(51, 50));
  else if (cdna())
    policy_of_bits(bits(16, 16), bits(17, 17), false, bits(25, 25));
  else
    policy_of_bits(bits(14, 14), bits(15, 15), bits(13, 13));
  return true;
}

bool Decoder::buffer_memory() {
  bits(31, 26);
  if (rdna4()) words_ = 3;
  if (!find(Format::MUBUF, rdna4() ? bits(21, 14) : cdna() ? bits(24, 18) : bits(25, 18))) return false;
  const bool is_plain = row_->words.empty();
  const uint32_t th = rdna4() ? bits(54, 52) : 0;
  const bool to_shared = cdna() && !is_plain && bits(16, 16);
  if (!is_plain) {
    const Word& w = row_->words[0];
    const bool is_accumulator = cdna() && bits(55, 55);
    if (!to_shared) put(vector(rdna4() ? bits(39, 32) : bits(47, 40), w, -1, is_accumulator));
    const bool by_offset = rdna4() ? bits(62, 62) : cdna() ? bits(12, 12) : bits(54, 54);
    const bool by_index = rdna4() ? bits(63, 63) : cdna() ? bits(13, 13) : bits(55, 55);
    const Word address{.letter = 'v', .count = static_cast<uint8_t>(by_offset + by_index)};
    put(address.count == 0 ? "off" : vector(rdna4() ? bits(71, 64) : bits(39, 32), address));
    if (rdna4()) {
      if (bits(61, 55) != 1) return fail("a format of elements in a buffer without types");
      put(scalar(bits(49, 41), 4));
      put(scalar(bits(6, 0), 1));
    } else {
      put(scalar(bits(52, 48) * 4, 4));
      put(source(bits(63, 56), Word{}));
    }
    if (by_index) say(" idxen");
    if (by_offset) say(" offen");
    if (const int64_t offset = rdna4() ? signed_bits(95, 72) : bits(11, 0))
      say(" offset:" + std::to_string(offset));
  }
  if (rdna4())
    policy(th, bits(51, 50));
  else if (cdna())
    policy_of_bits(bits(14, 14), bits(17, 17), false, bits(15, 15));
  else
    policy_of_bits(bits(14, 14), bits(12, 12), bits(13, 13));
  if (to_shared) say(" lds");
  return true;
}

}  // namespace triton_runner::amdgcn
