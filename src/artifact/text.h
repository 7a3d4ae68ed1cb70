// Words of a text with its comments blanked out, for the scanners that read only the outline of a file.
#pragma once
#include <cctype>
#include <string>
#include <string_view>

namespace triton_runner::artifact {

// Blanks comments (offsets stay): from `line_comment` to the end of the line, and /* */ where blocks is set.
// Quoted strings are kept.
inline std::string without_comments(std::string_view text, std::string_view line_comment, bool blocks) {
  std::string out(text);
  for (size_t i = 0; i < out.size();) {
    size_t end = i;
    if (out[i] == '"') {
      end = out.find('"', i + 1);
      i = end == std::string::npos ? out.size() : end + 1;
      continue;
    }
    if (out.compare(i, line_comment.size(), line_comment) == 0)
      end = std::min(out.find('\n', i), out.size());
    else if (blocks && out.compare(i, 2, "/*") == 0)
      end = out.find("*/", i + 2), end = end == std::string::npos ? out.size() : end + 2;
    if (end == i) {
      i++;
      continue;
    }
    for (; i < end; i++)
      if (out[i] != '\n') out[i] = ' ';
  }
  return out;
}

// Walks words (letters, digits, ._$%@#-), quoted strings and single characters.
class Words {
 public:
  explicit Words(std::string_view text, size_t at = 0) : text_(text), at_(at) {}

  bool done() {
    skip();
    return at_ >= text_.size();
  }
  size_t position() const { return at_; }
  std::string_view peek() {
    skip();
    size_t end = at_;
    if (end >= text_.size()) return {};
    if (text_[end] == '"') {
      end = text_.find('"', end + 1);
      end = end == std::string_view::npos ? text_.size() : end + 1;
    } else {
      while (end < text_.size() && is_word(text_[end])) end++;
      if (end == at_) end++;
    }
    return text_.substr(at_, end - at_);
  }
  std::string_view next() {
    std::string_view word = peek();
    at_ += word.size();
    return word;
  }
  bool take(std::string_view word) {
    if (peek() != word) return false;
    at_ += word.size();
    return true;
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '%' ||
           c == '@' || c == '#' || c == '-';
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) at_++;
  }

  std::string_view text_;
  size_t at_;
};

inline int to_int(std::string_view digits, int otherwise = -1) {
  if (digits.empty() || digits.size() > 9) return otherwise;
  int value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return otherwise;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace triton_runner::artifact
