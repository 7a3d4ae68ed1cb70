// Makes mutations that know how PTX is written: instructions, their suffixes, registers, immediates, guards.
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>
#include <vector>

#include "mutate.h"

namespace triton_runner::fuzz {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The lines of the text that end in ';' and are no declarations: most of them instructions.
std::vector<Span> instructions(const std::string& text) {
  std::vector<Span> found;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    end = end == std::string::npos ? text.size() : end + 1;
    size_t first = text.find_first_not_of(" \t", begin);
    if (first < end && text[first] != '.' && text[first] != '/' && text.find(';', first) < end)
      found.push_back({begin, end});
    begin = end;
  }
  return found;
}

// Registers within a span: %r12, %rd3, %p1.
std::vector<Span> registers(const std::string& text, Span within) {
  std::vector<Span> found;
  for (size_t i = within.begin; i < within.end; ++i) {
    if (text[i] != '%') continue;
    size_t end = i + 1;
    while (end < within.end && is_name(text[end])) ++end;
    found.push_back({i, end});
    i = end - 1;
  }
  return found;
}

std::vector<Span> numbers(const std::string& text, Span within) {
  std::vector<Span> found;
  for (size_t i = within.begin + 1; i < within.end; ++i) {
    if (!is_digit(text[i]) || is_name(text[i - 1]) || text[i - 1] == '%' || text[i - 1] == '.') continue;
    size_t end = i;
    while (end < within.end && is_name(text[end])) ++end;
    found.push_back({i, end});
    i = end;
  }
  return found;
}

// ".f32", ".global", ".v2" of an instruction.
std::vector<Span> suffixes(const std::string& text, Span within) {
  std::vector<Span> found;
  for (size_t i = within.begin + 1; i < within.end; ++i) {
    if (text[i] != '.' || !is_name(text[i - 1])) continue;
    size_t end = i + 1;
    while (end < within.end && (is_name(text[end]) || text[end] == ':')) ++end;
    found.push_back({i, end});
    i = end - 1;
  }
  return found;
}

std::string letters(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  return std::string(name.substr(0, end));
}

const char* const kSuffixes[] = {".b8",
                                 ".b16",
                                 ".b32",
                                 ".b64",
                                 ".u8",
                                 ".u16",
                                 ".u32",
                                 ".u64",
                                 ".s16",
                                 ".s32",
                                 ".s64",
                                 ".f16",
                                 ".f16x2",
                                 ".bf16",
                                 ".bf16x2",
                                 ".f32",
                                 ".f64",
                                 ".pred",
                                 ".v2",
                                 ".v4",
                                 ".global",
                                 ".shared",
                                 ".local",
                                 ".param",
                                 ".rn",
                                 ".rz",
                                 ".ftz",
                                 ".sat",
                                 ".wide",
                                 ".hi",
                                 ".lo",
                                 ".approx",
                                 ".lt",
                                 ".ge",
                                 ".relu",
                                 ".sync",
                                 ".aligned",
                                 ".bfly",
                                 ".up",
                                 ".idx",
                                 ".x4",
                                 ".trans",
                                 ".acquire",
                                 ".gpu",
                                 ".cg",
                                 ".and",
                                 ".add",
                                 ".cas",
                                 ".exch",
                                 ".max",
                                 ".noinc",
                                 ".cluster",
                                 ".row",
                                 ".col",
                                 ".b128",
                                 ".e4m3x2",
                                 ".tf32",
                                 ".shared::cta",
                                 ".shared::cluster",
                                 ".volatile",
                                 ".satfinite"};

template <class T>
const T& any_of(const std::vector<T>& list, Random& random) {
  return list[below(random, list.size())];
}

bool change(std::string& text, const std::string& other, Random& random) {
  std::vector<Span> lines = instructions(text);
  if (lines.empty()) return false;
  const Span line = any_of(lines, random);
  switch (below(random, 12)) {
    case 0: {  // a suffix
      auto found = suffixes(text, line);
      if (found.empty()) return false;
      put(text, any_of(found, random), kSuffixes[below(random, std::size(kSuffixes))]);
      return true;
    }
    case 1: {  // a suffix less, or one more
      auto found = suffixes(text, line);
      if (found.empty()) return false;
      Span at = any_of(found, random);
      if (below(random, 2)) at.begin = at.end;
      put(text, at, at.begin == at.end ? kSuffixes[below(random, std::size(kSuffixes))] : "");
      return true;
    }
    case 2:
    case 3:
    case 4: {  // a register of the same kind, from anywhere
      auto here = registers(text, line);
      auto there = registers(text, any_of(lines, random));
      if (here.empty() || there.empty()) return false;
      Span at = any_of(here, random), from = any_of(there, random);
      if (letters(cut(text, at)) != letters(cut(text, from)) && below(random, 8) != 0) return false;
      put(text, at, cut(text, from));
      return true;
    }
    case 5:
    case 6: {  // a number
      auto found = numbers(text, line);
      if (found.empty()) return false;
      static const char* const kOdd[] = {"0",          "1",
                                         "2",          "-1",
                                         "3",          "4",
                                         "7",          "8",
                                         "16",         "31",
                                         "32",         "33",
                                         "64",         "255",
                                         "4096",       "65535",
                                         "2147483647", "-2147483648",
                                         "0xffffffff", "0f7FC00000",
                                         "0fFF800000", "0x7fffffffffffffff",
                                         "1048576"};
      put(text, any_of(found, random), kOdd[below(random, std::size(kOdd))]);
      return true;
    }
    case 7:  // leave it out
      put(text, line, "");
      return true;
    case 8:  // double it, or put it elsewhere
      text.insert(any_of(lines, random).begin, cut(text, line));
      return true;
    case 9: {  // one of another text
      auto theirs = instructions(other);
      if (theirs.empty()) return false;
      text.insert(line.begin, cut(other, any_of(theirs, random)));
      return true;
    }
    case 10: {  // a guard
      size_t at = text.find_first_not_of(" \t", line.begin);
      if (text[at] == '@') {
        size_t end = text.find(' ', at);
        if (end != std::string::npos && end < line.end) put(text, {at, end}, "");
        return true;
      }
      text.insert(at, "@" + std::string(below(random, 2) ? "!" : "") + "%p" +
                          std::to_string(1 + below(random, 3)) + " ");
      return true;
    }
    default: {  // two lines swapped
      Span second = any_of(lines, random), first = line;
      if (second.begin < first.begin) std::swap(first, second);
      if (first.begin == second.begin) return false;
      std::string a = cut(text, first), b = cut(text, second);
      put(text, second, a);
      put(text, first, b);
      return true;
    }
  }
}

}  // namespace

void mutate(std::string& text, const std::string& other, Random& random) {
  if (text.empty()) text = other;
  if (below(random, 16) == 0) {  // plain damage
    size_t at = below(random, text.size());
    if (below(random, 2)) {
      text[at] = static_cast<char>(random());
    } else {
      text.erase(at, 1 + below(random, 16));
    }
    return;
  }
  for (int attempt = 0; attempt < 8; ++attempt)
    if (change(text, other, random)) return;
}

}  // namespace triton_runner::fuzz
