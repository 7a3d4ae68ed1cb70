// Implements the parser's reading of characters: blanks and comments, names, strings, and the messages for a
// text that has none of them where one has to be. See PTX ISA 4.1 to 4.4.
#include <array>

#include "parser.h"

namespace triton_runner::ptx {
namespace {

// The bytes after the first one of a name. Names that begin with % $ or _ have at least one of these.
constexpr std::array<bool, 256> kNameBytes = [] {
  std::array<bool, 256> out{};
  for (int c = '0'; c <= '9'; ++c) out[c] = true;
  for (int c = 'a'; c <= 'z'; ++c) out[c] = out[c - 'a' + 'A'] = true;
  out['_'] = out['$'] = true;
  return out;
}();

}  // namespace

void Parser::skip() {
  while (true) {
    while (*p_ == ' ' || *p_ == '\t' || *p_ == '\n' || *p_ == '\r' || *p_ == '\f' || *p_ == '\v') ++p_;
    if (*p_ == '#' && line_directive()) continue;
    if (*p_ != '/') return;
    if (p_[1] == '/') {
      note_comment();
      const void* line = std::memchr(p_, '\n', static_cast<size_t>(end_ - p_));
      p_ = line ? static_cast<const char*>(line) : end_;
    } else if (p_[1] == '*') {
      const size_t close = std::string_view(p_, static_cast<size_t>(end_ - p_)).find("*/", 2);
      if (close == std::string_view::npos) open_comment_ = p_;
      p_ = close == std::string_view::npos ? end_ : p_ + close + 2;
    } else {
      return;
    }
  }
}

// LLVM says where the text of inline assembly begins and ends.
void Parser::note_comment() {
  const std::string_view text(p_, static_cast<size_t>(end_ - p_));
  if (text.starts_with("// begin inline asm")) in_assembly_ = true;
  if (text.starts_with("// end inline asm")) in_assembly_ = false;
}

// Skips what cpp leaves behind: # 12 "file" or #line 12 "file" as a line of its own, with numbers after it.
bool Parser::line_directive() {
  const char* q = p_;
  while (q > start_ && (q[-1] == ' ' || q[-1] == '\t')) --q;
  if (q > start_ && q[-1] != '\n') return false;
  const auto blanks = [&] {
    const char* before = q;
    while (*q == ' ' || *q == '\t') ++q;
    return q > before;
  };
  const auto digits = [&] {
    const char* before = q;
    while (is_digit(*q)) ++q;
    return q > before;
  };
  q = p_ + 1;
  if (std::string_view(q, static_cast<size_t>(end_ - q)).starts_with("line")) q += 4;
  blanks();
  if (!digits() || !blanks() || *q != '"') return false;
  do ++q;
  while (q < end_ && *q != '"' && *q != '\n');
  if (*q != '"') return false;
  ++q;
  while (blanks() && digits()) {
  }
  if (*q == '\r') ++q;
  if (q < end_ && *q != '\n') return false;
  p_ = q;
  return true;
}

std::string_view Parser::identifier() {
  const char* begin = p_;
  if (is_digit(*p_)) return {};
  if (*p_ == '%' || *p_ == '$') {
    if (!kNameBytes[static_cast<uint8_t>(p_[1])]) return {};
    ++p_;
  }
  while (kNameBytes[static_cast<uint8_t>(*p_)]) ++p_;
  return {begin, static_cast<size_t>(p_ - begin)};
}

std::string_view Parser::name_at(uint32_t offset) const {
  const char* q = start_ + offset;
  if (*q == '%') ++q;
  while (kNameBytes[static_cast<uint8_t>(*q)] || (*q == '.' && start_[offset] == '%')) ++q;
  return {start_ + offset, static_cast<size_t>(q - start_ - offset)};
}

bool Parser::fail(size_t offset, std::string message, std::vector<std::string> notes) {
  if (open_comment_) {  // it has swallowed what was expected
    offset = static_cast<size_t>(open_comment_ - start_);
    message = "this comment does not end";
    notes.clear();
  }
  error_ = module_.diagnostic(static_cast<uint32_t>(offset), std::move(message), std::move(notes));
  return false;
}

std::string Parser::found() const {
  if (p_ == end_) return "the end of the text";
  const char* q = p_;
  if (*q == '%') ++q;
  while (kNameBytes[static_cast<uint8_t>(*q)] && q - p_ < 40) ++q;
  if (q > p_) return "'" + std::string(p_, q) + "'";
  const unsigned char c = static_cast<unsigned char>(*p_);
  if (c > ' ' && c < 127) return std::string("'") + *p_ + "'";
  static constexpr char kHex[] = "0123456789abcdef";
  return std::string("byte 0x") + kHex[c >> 4] + kHex[c & 15];
}

bool Parser::fail_here(const std::string& expected) {
  return fail(here(), "expected " + expected + ", found " + found());
}

bool Parser::expect(char c, const char* after) {
  if (take(c)) return true;
  return fail_here(std::string("'") + c + "' after " + after);
}

bool Parser::string(std::string_view* out) {
  skip();
  if (*p_ != '"') return fail_here("a string");
  const char* begin = ++p_;
  while (p_ < end_ && *p_ != '"' && *p_ != '\n') p_ += *p_ == '\\' && p_[1] != '\n' && p_ + 1 < end_ ? 2 : 1;
  if (p_ == end_ || *p_ != '"')
    return fail(static_cast<size_t>(begin - 1 - start_), "this string does not end");
  *out = {begin, static_cast<size_t>(p_ - begin)};
  ++p_;
  return true;
}

}  // namespace triton_runner::ptx
