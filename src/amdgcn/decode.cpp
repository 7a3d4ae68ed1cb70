// Finds the format of an instruction, and decodes the scalar formats. Every bit that is set must have been read by the end: an
// encoding that the rows do not describe is an error.
#include <triton_runner/base/text.h>

#include "decoder.h"

namespace triton_runner::amdgcn {

uint32_t Decoder::word(size_t at) {
  if (at >= code_.size()) {
    is_cut_off_ = true;
    return 0;
  }
  if (at < read_.size()) read_[at] = ~0u;
  return code_[at];
}

uint32_t Decoder::bits(uint32_t last, uint32_t first) {
  const uint32_t at = first / 32, from = first % 32, count = last - first + 1;
  if (at >= code_.size()) {
    is_cut_off_ = true;
    return 0;
  }
  const uint32_t all = count >= 32 ? ~0u : (1u << count) - 1;
  read_[at] |= all << from;
  return code_[at] >> from & all;
}

int64_t Decoder::signed_bits(uint32_t last, uint32_t first) {
  const uint32_t shift = 31 - (last - first);
  return static_cast<int32_t>(bits(last, first) << shift) >> shift;
}

bool Decoder::fail(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  return false;
}

bool Decoder::find(Format format, uint32_t number) {
  row_ = encoding_of(chip_, format, number);
  if (row_) return true;
  constexpr std::string_view kNames[] = {"SOP1", "SOP2",   "SOPC",    "SOPK",  "SOPP",  "SMEM",   "VOP1",
                                         "VOP2", "VOPC",   "VOP3",    "VOP3",  "VOP3P", "VOP3PX", "DS",
                                         "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "VOPD",  "VINTERP"};
  return fail("the opcode " + std::to_string(number) + " of " +
              std::string(kNames[static_cast<size_t>(format)]) + " is not in the table");
}

void Decoder::put(std::string_view operand) {
  if (!operands_.empty()) operands_ += ", ";
  operands_ += operand;
}

Decoded Decoder::run() {
  Decoded out;
  if (code_.empty()) return out.error = "the code ends", out;
  const bool done = dispatch();
  const uint32_t total = words_ + has_literal_;
  if (done && total > code_.size()) is_cut_off_ = true;
  if (is_cut_off_) return out.error = "the code ends within the instruction", out;
  if (done)
    for (uint32_t i = 0; i < words_ && error_.empty(); ++i)
      if (const uint32_t rest = code_[i] & ~read_[i])
        fail("bits " + base::hex(rest) + " of word " + std::to_string(i) + " are set, which '" +
             std::string(row_->name) + "' does not have");
  if (!error_.empty()) return out.error = error_, out;
  out.text = first_ + (name_.empty() ? std::string(row_->name) : name_);
  if (!operands_.empty()) out.text += " " + operands_;
  out.text += modifiers_;
  if (jump_) out.text += operands_.empty() ? " " : ", ";
  out.jump = jump_;
  out.words = total;
  return out;
}

bool Decoder::dispatch() {
  const uint32_t first = code_[0], six = first >> 26, eight = first >> 24;
  if (first >> 31 == 0) {
    bits(31, 31);
    const uint32_t number = bits(30, 25);
    if (number == 0x3f) return find(Format::VOP1, bits(16, 9)) && short_vector_format(Format::VOP1);
    if (number == 0x3e) return find(Format::VOPC, bits(24, 17)) && short_vector_format(Format::VOPC);
    return find(Format::VOP2, number) && short_vector_format(Format::VOP2);
  }
  if (first >> 30 == 2) return scalar_format();
  words_ = 2;
  if (six == 0x36) return shared_memory();
  if (cdna()) {
    if (six == 0x30) return scalar_memory();
    if (first >> 23 == 0x1a7) return packed_format();
    if (six == 0x34) return long_vector_format();
    if (six == 0x37) return flat_memory();
    if (six == 0x38) return buffer_memory();
  } else {
    if (six == 0x3d) return scalar_memory();
    if (six == 0x35) return long_vector_format();
    if (eight == 0xcc) return packed_format();
    if (eight == 0xcd) return interpolation();
    if (six == 0x32) return dual_format();
    if (rdna4() ? eight >= 0xec && eight <= 0xee : six == 0x37) return flat_memory();
    if (six == (rdna4() ? 0x31u : 0x38u)) return buffer_memory();
  }
  return fail(
      "its first bits name an encoding that is not decoded (images, exports and typed buffers are not)");
}

bool Decoder::scalar_format() {
  const uint32_t nine = code_[0] >> 23;
  Format format = Format::SOP2;
  bool found = false;
  bits(31, 30);
  if (nine == 0x17d) {
    bits(29, 23);
    found = find(format = Format::SOP1, bits(15, 8));
  } else if (nine == 0x17e) {
    bits(29, 23);
    found = find(format = Format::SOPC, bits(22, 16));
  } else if (nine == 0x17f) {
    bits(29, 23);
    found = find(format = Format::SOPP, bits(22, 16));
  } else if (code_[0] >> 28 == 0xb) {
    bits(29, 28);
    found = find(format = Format::SOPK, bits(27, 23));
  } else {
    found = find(format, bits(29, 23));
  }
  if (!found) return false;
  for (const Word& w : row_->words) {
    if (w.letter == 'd')
      put(scalar(bits(22, 16), w.count));
    else if (w.letter == 'a')
      put(source(bits(7, 0), w));
    else if (w.letter == 'b')
      put(source(bits(15, 8), w));
    else if (!immediate(w))
      return false;
  }
  return true;
}

bool Decoder::immediate(const Word& w) {
  const auto of = [&](uint32_t value) { return put(base::hex(value)), true; };
  switch (w.letter) {
    case 'l':
      if (row_->format == Format::SOPK) return put(small_literal()), true;
      return put(literal()), true;
    case 'q':
      return put(message(row_->format == Format::SOP1 ? bits(7, 0) : bits(15, 0))), true;
    case 'k':
      return of(bits(15, 0));
    case 'n':
      return put(std::to_string(says(row_->name, "barrier") ? signed_bits(15, 0) : int64_t{bits(15, 0)})),
             true;
    case 'r':
      return put(hardware_register(bits(15, 0))), true;
    case 'i':
      return put(wait_counts(bits(15, 0))), true;
    case 'p':
      return put(dependency_counters(bits(15, 0))), true;
    case 'e':
      return put(delay(bits(15, 0))), true;
    case 'j':
      jump_ = signed_bits(15, 0) * 4;
      return true;
    default:
      return fail("an operand that the decoder does not know");
  }
}

Decoded decode(Chip chip, bool is_wave32, std::span<const uint32_t> code) {
  return Decoder(chip, is_wave32, code).run();
}

}  // namespace triton_runner::amdgcn
