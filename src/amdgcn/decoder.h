// Declares the decoder of decode.h: its state and what its files share.
#pragma once
#include <triton_runner/amdgcn/decode.h>

namespace triton_runner::amdgcn {

inline bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Decoder {
 public:
  Decoder(Chip chip, bool is_wave32, std::span<const uint32_t> code)
      : chip_(chip), masks_(is_wave32 ? 1 : 2), code_(code) {}
  Decoded run();

 private:
  // decode.cpp
  bool dispatch();
  uint32_t word(size_t at);
  uint32_t bits(uint32_t last, uint32_t first);  // of the first 128 bits, as AMD's documents number them
  int64_t signed_bits(uint32_t last, uint32_t first);  // in two's complement
  bool find(Format format, uint32_t number);
  bool fail(std::string why);
  bool scalar_format();
  bool immediate(const Word& w);

  // operands.cpp
  std::string scalar(uint32_t code, uint32_t count);
  std::string source(uint32_t code, const Word& w, int half = -1, bool is_accumulator = false);
  std::string vector(uint32_t index, const Word& w, int half = -1, bool is_accumulator = false);
  std::string short_vector(uint32_t index,
                           const Word& w);  // of an encoding of 32 bits: a half is its highest bit
  std::string literal();
  std::string small_literal();
  std::string mask(uint32_t code) { return scalar(code, masks_); }
  std::string vcc() const { return masks_ == 2 ? "vcc" : "vcc_lo"; }
  void put(std::string_view operand);
  void say(std::string_view modifier) { modifiers_ += modifier; }
  std::string negated(std::string operand, bool negative, bool absolute, bool is_constant) const;

  // vector.cpp
  bool short_vector_format(Format format);
  bool sdwa(Format format);
  bool long_vector_format();
  bool has_no_more_sources();
  bool packed_format();
  bool product(uint32_t base);
  bool scaled_product();
  bool dual_format();
  bool interpolation();
  bool permuted(uint32_t at, bool is_eight, bool fetches);
  void list(std::string_view name, uint32_t values, uint32_t count, bool otherwise);
  void rename(std::string_view from, std::string_view to);

  // memory.cpp
  bool scalar_memory();
  bool shared_memory();
  bool flat_memory();
  bool buffer_memory();
  void policy_of_bits(bool first, bool second, bool third, bool fourth = false);
  void policy(uint32_t th, uint32_t scope);

  // immediates.cpp
  std::string wait_counts(uint32_t value) const;
  std::string dependency_counters(uint32_t value) const;
  std::string delay(uint32_t value) const;
  std::string message(uint32_t value) const;
  std::string hardware_register(uint32_t value) const;
  static std::string swizzle(uint32_t value);

  bool cdna() const { return chip_ <= Chip::gfx950; }
  bool rdna4() const { return chip_ == Chip::gfx1201; }

  Chip chip_;
  uint32_t masks_;  // registers of a lane mask
  std::span<const uint32_t> code_;
  const Encoding* row_ = nullptr;
  std::array<uint32_t, 4> read_{};  // the bits that were read
  uint32_t words_ = 1;              // without the literal
  bool has_literal_ = false, is_cut_off_ = false;
  std::string name_, operands_, modifiers_, error_;
  std::string first_;  // the first of two that are done at once
  std::optional<int64_t> jump_;
};

}  // namespace triton_runner::amdgcn
