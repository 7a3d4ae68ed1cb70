// Reads the rows of encodings.def, and finds one by format, chip and number.
#include <triton_runner/amdgcn/encodings.h>

#include <unordered_map>

namespace triton_runner::amdgcn {
namespace {

constexpr int16_t _ = -1;
struct Code {
  Format format;
  std::string_view name;
  std::array<int16_t, kChips> numbers;
  std::string_view operands;
};
constexpr Code kCodes[] = {
#define CODE(format, name, a, b, c, d, e, operands) {Format::format, #name, {a, b, c, d, e}, operands},
#include <triton_runner/amdgcn/encodings.def>
#undef CODE
};

Word word_of(std::string_view text) {
  Word w;
  w.letter = text[0];
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == 'x' || text[0] == 'g')) {
    w.mark = text[0];
    text.remove_prefix(1);
  }
  w.is_half = text == "h";
  w.is_mask = text == "m";
  if (text.empty() || w.is_half || w.is_mask) return w;
  w.count = 0;
  for (const char c : text) w.count = static_cast<uint8_t>(w.count * 10 + (c - '0'));
  return w;
}

constexpr std::string_view kNames[kChips] = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};

uint32_t key(Chip chip, Format format, uint32_t number) {
  return static_cast<uint32_t>(chip) << 24 | static_cast<uint32_t>(format) << 16 | number;
}

}  // namespace

std::optional<Chip> chip_of(std::string_view target) {
  for (size_t i = 0; i < kChips; ++i)
    if (kNames[i] == target) return static_cast<Chip>(i);
  return {};
}

std::string_view name_of(Chip chip) { return kNames[static_cast<size_t>(chip)]; }

std::optional<Chip> chip_of_flags(uint32_t flags) {
  switch (flags & 0xff) {
    case 0x3f:
      return Chip::gfx90a;
    case 0x4c:
      return Chip::gfx942;
    case 0x4f:
      return Chip::gfx950;
    case 0x41:
      return Chip::gfx1100;
    case 0x4e:
      return Chip::gfx1201;
    default:
      return {};
  }
}

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> all = [] {
    std::vector<Encoding> out;
    for (const Code& t : kCodes) {
      Encoding e{t.format, t.name, t.operands, t.numbers, {}};
      for (std::string_view rest = t.operands; !rest.empty();) {
        const size_t end = std::min(rest.find(' '), rest.size());
        e.words.push_back(word_of(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      out.push_back(std::move(e));
    }
    return out;
  }();
  return all;
}

const Encoding* encoding_of(Chip chip, Format format, uint32_t number) {
  static const auto kByNumber = [] {
    std::unordered_map<uint32_t, const Encoding*> out;
    for (const Encoding& e : encodings())
      for (size_t i = 0; i < kChips; ++i)
        if (e.numbers[i] >= 0)
          out.emplace(key(static_cast<Chip>(i), e.format, static_cast<uint32_t>(e.numbers[i])), &e);
    return out;
  }();
  const auto found = kByNumber.find(key(chip, format, number));
  return found == kByNumber.end() ? nullptr : found->second;
}

}  // namespace triton_runner::amdgcn
