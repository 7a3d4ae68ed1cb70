// Gives words of a text with its comments blanked out, for the scanners that read only the outline of a file.
#pragma once
#include <cctype>
#include <string>
#include <string_view>

#include <triton_runner/base/diagnostic.h>

namespace triton_runner::artifact {

// Blanks comments (offsets stay): from `line_comment` to the end of the line. Quoted strings are kept.
std::string without_comments(std::string_view text, std::string_view line_comment);

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

// A number of digits alone; `otherwise` for anything else.
int to_int(std::string_view digits, int otherwise = -1);

// An error at a byte of a text.
base::Diagnostic text_error(std::string_view text, size_t at, const std::string& filename,
                            std::string message);

}  // namespace triton_runner::artifact
