// Makes mutations that know how IR is written, but not what it means: tokens, types, lines.
#include <cctype>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "mutate.h"

namespace triton_runner::fuzz {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%' || c == '#' ||
         c == '$';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// [begin, end) of the line, or of the run of name characters, around a random place.
Span piece(const std::string& text, bool line, Random& random) {
  auto is_part = [&](char c) { return line ? c != '\n' : is_word(c); };
  size_t at = below(random, text.size()), begin = at, end = at;
  while (begin > 0 && is_part(text[begin - 1])) --begin;
  while (end < text.size() && is_part(text[end])) ++end;
  if (line && end < text.size()) ++end;
  return {begin, end};
}

// The tokens that `accept` takes, found in at most a few thousand steps from a random place.
template <class Accept>
std::vector<Span> tokens(const std::string& text, const Accept& accept) {
  std::vector<Span> found;
  for (size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (accept(std::string_view(text).substr(i, end - i), i)) found.push_back({i, end});
    i = end;
  }
  return found;
}

// Every place of `from` as a word of its own, or all but a few.
void replace_words(std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  size_t last = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + from.size())) {
    size_t end = at + from.size();
    bool whole = (at == 0 || !is_word(text[at - 1]) || text[at - 1] == 'x') &&
                 (end == text.size() || !is_word(text[end]) || (is_digit(from.back()) && text[end] == 'x'));
    if (!whole) continue;
    out.append(text, last, at - last).append(to);
    last = end;
  }
  text = out.append(text, last, std::string::npos);
}

const char* const kElements[] = {"i1",  "i8",  "i16",  "i32",      "i64",    "f16",         "bf16",
                                 "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "!tt.ptr<f32>"};
const char* const kSizes[] = {"1",  "2",   "3",   "4",    "8",    "16",     "32",
                              "64", "128", "256", "1024", "4096", "1048576"};

// "<64x32xf32": the sizes of tensors and memdescs, where each begins.
std::vector<Span> sizes(const std::string& text) {
  std::vector<Span> found;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (!is_digit(text[i]) || (text[i - 1] != '<' && text[i - 1] != 'x')) continue;
    size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end < text.size() && text[end] == 'x') found.push_back({i, end});
    i = end;
  }
  return found;
}

// A size of a tensor becomes another: everywhere (the module may stay valid) or in one place.
bool change_size(std::string& text, Random& random) {
  std::vector<Span> found = sizes(text);
  if (found.empty()) return false;
  std::string from = cut(text, found[below(random, found.size())]);
  const char* to = kSizes[below(random, std::size(kSizes))];
  if (below(random, 4) == 0) {
    put(text, found[below(random, found.size())], to);
    return true;
  }
  for (size_t i = found.size(); i-- > 0;)
    if (cut(text, found[i]) == from) put(text, found[i], to);
  if (below(random, 2) == 0) replace_words(text, "end = " + from, "end = " + std::string(to));
  return true;
}

bool change_element(std::string& text, Random& random) {
  std::string from = kElements[below(random, std::size(kElements))];
  std::string to = kElements[below(random, std::size(kElements))];
  size_t at = text.find(from);
  if (at == std::string::npos) return false;
  if (below(random, 3) != 0) {
    replace_words(text, from, to);
  } else {  // from a random line on, once
    at = text.find(from, below(random, text.size()));
    if (at == std::string::npos) return false;
    text.replace(at, from.size(), to);
  }
  return true;
}

bool change_number(std::string& text, Random& random) {
  std::vector<Span> found = tokens(text, [&](std::string_view word, size_t at) {
    return is_digit(word[0]) && (at == 0 || text[at - 1] != '<');
  });
  if (found.empty()) return false;
  put(text, found[below(random, found.size())], odd_number(random));
  return true;
}

// In a line that names an encoding: a number, or the whole encoding for another's.
bool change_encoding(std::string& text, Random& random) {
  std::vector<Span> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    if (text[at] == '#' && text.compare(at, 4, "#loc") != 0 && text.find(" = #", at) < end)
      lines.push_back({at, end});
    at = end + 1;
  }
  if (lines.empty()) return false;
  Span line = lines[below(random, lines.size())];
  if (below(random, 4) == 0) {
    Span from = lines[below(random, lines.size())];
    std::string body = cut(text, from);
    body = body.substr(body.find(" = ") + 3);
    size_t begin = text.find(" = ", line.begin) + 3;
    put(text, {begin, line.end}, body);
    return true;
  }
  std::vector<Span> digits;
  for (size_t i = line.begin; i < line.end; ++i) {
    if (!is_digit(text[i]) || is_word(text[i - 1])) continue;
    size_t end = i;
    while (end < line.end && is_digit(text[end])) ++end;
    digits.push_back({i, end});
    i = end;
  }
  if (digits.empty()) return false;
  static const char* const kValues[] = {"0",  "1",  "2", "4",  "8",   "16",
                                        "32", "64", "3", "-1", "128", "2147483648"};
  put(text, digits[below(random, digits.size())], kValues[below(random, std::size(kValues))]);
  return true;
}

bool is_op_name(std::string_view word) {
  size_t dot = word.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < word.size() &&
         std::islower(static_cast<unsigned char>(word[0]));
}

// One op becomes another op of this text or of the other.
bool change_op(std::string& text, const std::string& other, Random& random) {
  auto is_name = [](std::string_view word, size_t) { return is_op_name(word); };
  std::vector<Span> mine = tokens(text, is_name), theirs = tokens(other, is_name);
  if (mine.empty()) return false;
  Span place = mine[below(random, mine.size())];
  bool from_other = !theirs.empty() && below(random, 2) == 0;
  std::string name = from_other ? cut(other, theirs[below(random, theirs.size())])
                                : cut(text, mine[below(random, mine.size())]);
  put(text, place, name);
  return true;
}

bool swap_names(std::string& text, Random& random) {
  std::vector<Span> names = tokens(text, [](std::string_view word, size_t) { return word[0] == '%'; });
  if (names.size() < 2) return false;
  Span a = names[below(random, names.size())], b = names[below(random, names.size())];
  std::string name = cut(text, b);
  put(text, a, name);
  return true;
}

// Words that stand where an attribute's value does.
bool change_keyword(std::string& text, const std::string& other, Random& random) {
  auto is_keyword = [](std::string_view word, size_t) {
    return std::isalpha(static_cast<unsigned char>(word[0])) && word.find('.') == std::string_view::npos &&
           word.size() > 1;
  };
  std::vector<Span> mine = tokens(text, is_keyword), theirs = tokens(other, is_keyword);
  if (mine.empty()) return false;
  const bool from_other = !theirs.empty() && below(random, 2) == 0;
  std::string word = from_other ? cut(other, theirs[below(random, theirs.size())])
                                : cut(text, mine[below(random, mine.size())]);
  put(text, mine[below(random, mine.size())], word);
  return true;
}

void damage(std::string& text, const std::string& other, Random& random) {
  static const char* const kWords[] = {"0",
                                       "-1",
                                       "1.0e400",
                                       "0xFFFFFFFFFFFFFFFF",
                                       "tensor<64x?xf32>",
                                       "tensor<1x",
                                       "%arg0",
                                       "{",
                                       "}",
                                       "(",
                                       ")",
                                       "<",
                                       ">",
                                       "[",
                                       "]",
                                       "\"",
                                       "loc(",
                                       "#loc",
                                       "dense<",
                                       "tt.call @f",
                                       "^bb0",
                                       "\xff",
                                       "->",
                                       "array<i32:",
                                       "!tt.ptr<",
                                       "0 : i0",
                                       ",",
                                       ":"};
  switch (below(random, 8)) {
    case 0:
      text.resize(below(random, text.size()));
      return;
    case 1:
      text[below(random, text.size())] = static_cast<char>(random());
      return;
    case 2:
      put(text, piece(text, true, random), "");
      return;
    case 3: {
      std::string line = cut(text, piece(text, true, random));
      text.insert(piece(text, true, random).begin, line);
      return;
    }
    case 4:  // a line of another file
      if (!other.empty())
        text.insert(piece(text, true, random).begin, cut(other, piece(other, true, random)));
      return;
    case 5:
      put(text, piece(text, false, random), kWords[below(random, std::size(kWords))]);
      return;
    case 6: {  // one word becomes another of the same text
      std::string word = cut(text, piece(text, false, random));
      put(text, piece(text, false, random), word);
      return;
    }
    default:
      put(text, piece(text, false, random), "");
      return;
  }
}

}  // namespace

std::string odd_number(Random& random) {
  static const char* const kNumbers[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "5",
                                         "7",
                                         "8",
                                         "16",
                                         "31",
                                         "32",
                                         "33",
                                         "63",
                                         "64",
                                         "65",
                                         "128",
                                         "255",
                                         "256",
                                         "1024",
                                         "65535",
                                         "1048576",
                                         "2147483647",
                                         "-1",
                                         "-2",
                                         "-128",
                                         "2147483648",
                                         "-2147483648",
                                         "4294967296",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "0x7FC00000",
                                         "1.000000e+00",
                                         "-0.000000e+00"};
  return kNumbers[below(random, std::size(kNumbers))];
}

void mutate_text(std::string& text, const std::string& other, Random& random) {
  if (text.empty()) text = "module {}";
  bool done = false;
  switch (below(random, 10)) {
    case 0:
    case 1:
      done = change_size(text, random);
      break;
    case 2:
      done = change_element(text, random);
      break;
    case 3:
    case 4:
      done = change_number(text, random);
      break;
    case 5:
      done = change_encoding(text, random);
      break;
    case 6:
      done = change_op(text, other, random);
      break;
    case 7:
      done = swap_names(text, random);
      break;
    case 8:
      done = change_keyword(text, other, random);
      break;
    default:
      break;
  }
  if (!done) damage(text, other, random);
}

void mutate(std::string& text, const std::string& other, Random& random) {
  if (below(random, 2) == 0 && mutate_graph(text, other, random)) return;
  mutate_text(text, other, random);
}

}  // namespace triton_runner::fuzz
