// Makes mutations that know how a listing is written: instructions, their suffixes, operands, guards; and
// bytes of the cubin.
#include <array>
#include <cctype>
#include <vector>

#include "mutate.h"
#include "sass_input.h"

namespace triton_runner::fuzz {
namespace {

// Each instruction, from the end of its address to its ';'.
std::vector<Span> instructions(const std::string& text) {
  std::vector<Span> found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t after = text.find("*/", begin), stop = text.find(';', begin);
    if (after < stop && stop < end) found.push_back({after + 2, stop});
    begin = end + 1;
  }
  return found;
}

// Runs of what `in` says, in the span.
template <class Is>
std::vector<Span> words(const std::string& text, Span within, Is is) {
  std::vector<Span> found;
  for (size_t i = within.begin; i < within.end; ++i) {
    if (!is(text[i])) continue;
    size_t end = i;
    while (end < within.end && is(text[end])) ++end;
    found.push_back({i, end});
    i = end;
  }
  return found;
}
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool in_operand(char c) { return c != ',' && c != ' ' && c != '\t'; }

void mutate_listing(std::string& text, const std::string& other, Random& random) {
  const std::vector<Span> here = instructions(text), there = instructions(other);
  if (here.empty() || there.empty()) return;
  const Span mine = here[below(random, here.size())];
  const Span from = random() % 2 ? here[below(random, here.size())] : mine;
  switch (random() % 8) {
    case 0:
      return put(text, mine, cut(other, there[below(random, there.size())]));
    case 1:
      return put(text, mine, cut(text, from));
    case 2:
      return put(text, mine, " NOP ");
    case 3: {
      static constexpr std::array<std::string_view, 6> kGuards = {" @P0 ",  " @!P1 ", " @PT ",
                                                                  " @!PT ", " @UP0 ", " @!P6 "};
      return text.insert(mine.begin, kGuards[random() % kGuards.size()]), void();
    }
    case 4:
    case 5: {  // an operand of another
      const auto a = words(text, mine, in_operand), b = words(text, from, in_operand);
      if (!a.empty() && !b.empty())
        put(text, a[below(random, a.size())], cut(text, b[below(random, b.size())]));
      return;
    }
    default: {  // a word, a register's number or a suffix
      const auto a = words(text, mine, in_word), b = words(text, from, in_word);
      if (a.empty() || b.empty()) return;
      const Span at = a[below(random, a.size())];
      if (random() % 2) return put(text, at, cut(text, b[below(random, b.size())]));
      if (std::isdigit(static_cast<unsigned char>(text[at.end - 1])))
        return put(text, {at.end - 1, at.end}, std::to_string(random() % 300));
      return put(text, at, std::string(1, "RPUB"[random() % 4]) + std::to_string(random() % 9));
    }
  }
}

}  // namespace

void mutate(std::string& text, const std::string& other, Random& random) {
  auto [listing, cubin] = split_sass(text);
  std::string code(listing), bytes(cubin);
  if (random() % 5 == 0 && !bytes.empty()) {
    for (size_t n = 1 + below(random, 3); n > 0; --n)
      bytes[below(random, bytes.size())] = static_cast<char>(random() % 3 ? random() : 0xff);
  } else {
    mutate_listing(code, std::string(split_sass(other).first), random);
  }
  text = code + std::string(kCubinFollows) + bytes;
}

}  // namespace triton_runner::fuzz
