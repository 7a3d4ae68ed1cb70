// Implements a JSON parser: recursive descent with a depth limit, errors with line and column.
#include <triton_runner/artifact/json.h>

#include <charconv>
#include <limits>

namespace triton_runner::artifact {

const Json* Json::get(std::string_view key) const {
  const Object* object = as_object();
  if (!object) return nullptr;
  for (size_t i = object->size(); i-- > 0;)
    if ((*object)[i].first == key) return &(*object)[i].second;
  return nullptr;
}

namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& filename) : text_(text), filename_(filename) {}

  base::Result<Json> parse() {
    Json value = parse_value(0);
    skip_space();
    if (!failed_ && at_ != text_.size()) fail("expected the end of the file");
    if (failed_) return error_;
    return value;
  }

 private:
  static constexpr int kMaxDepth = 200;

  void fail(std::string message) {
    if (failed_) return;
    failed_ = true;
    error_.location = base::locate(text_, at_, filename_);
    error_.message = "malformed JSON: " + std::move(message);
    error_.source_line = base::line_at(text_, at_);
    // A caret under a line of kilobytes helps nobody.
    if (error_.source_line.size() > 200) error_.source_line.clear();
  }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      at_++;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json parse_value(int depth) {
    skip_space();
    if (depth > kMaxDepth) return fail("nested deeper than 200"), Json();
    if (at_ >= text_.size()) return fail("expected a value, found the end"), Json();
    char c = text_[at_];
    if (c == '{') return parse_object(depth);
    if (c == '[') return parse_array(depth);
    if (c == '"') return Json(parse_string());
    if (take_word("true")) return Json(true);
    if (take_word("false")) return Json(false);
    if (take_word("null")) return Json();
    if (take_word("NaN")) return Json(std::numeric_limits<double>::quiet_NaN());
    if (take_word("Infinity")) return Json(std::numeric_limits<double>::infinity());
    if (take_word("-Infinity")) return Json(-std::numeric_limits<double>::infinity());
    return parse_number();
  }

  Json parse_number() {
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    int64_t integer = 0;
    auto [after, code] = std::from_chars(begin, end, integer);
    bool whole = code == std::errc() && (after == end || (*after != '.' && *after != 'e' && *after != 'E'));
    if (whole) {
      at_ += after - begin;
      return Json(integer);
    }
    double real = 0;
    auto [stop, status] = std::from_chars(begin, end, real);
    if (status == std::errc::invalid_argument) return fail("expected a value"), Json();
    at_ += stop - begin;
    return Json(real);
  }

  Json parse_object(int depth) {
    at_++;
    Json::Object object;
    if (take('}')) return Json(std::move(object));
    do {
      skip_space();
      if (at_ >= text_.size() || text_[at_] != '"') return fail("expected a key in quotes"), Json();
      std::string key = parse_string();
      if (!take(':')) return fail("expected ':'"), Json();
      Json value = parse_value(depth + 1);
      if (failed_) return Json();
      object.emplace_back(std::move(key), std::move(value));
    } while (take(','));
    if (!take('}')) fail("expected ',' or '}'");
    return Json(std::move(object));
  }

  Json parse_array(int depth) {
    at_++;
    Json::Array array;
    if (take(']')) return Json(std::move(array));
    do {
      array.push_back(parse_value(depth + 1));
      if (failed_) return Json();
    } while (take(','));
    if (!take(']')) fail("expected ',' or ']'");
    return Json(std::move(array));
  }

  std::string parse_string() {
    at_++;
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) break;
      switch (char escape = text_[at_++]) {
        case 'n':
          out += '\n';
          break;
        case 't':
          out += '\t';
          break;
        case 'r':
          out += '\r';
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case '"':
        case '\\':
        case '/':
          out += escape;
          break;
        case 'u':
          append_utf8(out, parse_code_point());
          break;
        default:
          return fail("unknown escape"), out;
      }
      if (failed_) return out;
    }
    if (at_ >= text_.size()) return fail("a string does not end"), out;
    at_++;
    return out;
  }

  uint32_t parse_hex4() {
    uint32_t value = 0;
    if (at_ + 4 > text_.size()) return fail("\\u needs four hexadecimal digits"), 0;
    auto [after, code] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, value, 16);
    if (code != std::errc() || after != text_.data() + at_ + 4)
      return fail("\\u needs four hexadecimal digits"), 0;
    at_ += 4;
    return value;
  }
  uint32_t parse_code_point() {
    uint32_t high = parse_hex4();
    if (high < 0xd800 || high > 0xdbff || failed_) return high;
    if (!take_word("\\u")) return 0xfffd;
    uint32_t low = parse_hex4();
    if (low < 0xdc00 || low > 0xdfff) return 0xfffd;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  }
  static void append_utf8(std::string& out, uint32_t c) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xc0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xe0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (c & 0x3f));
    } else {
      out += static_cast<char>(0xf0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
      out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (c & 0x3f));
    }
  }

  std::string_view text_;
  const std::string& filename_;
  size_t at_ = 0;
  bool failed_ = false;
  base::Diagnostic error_;
};

}  // namespace

base::Result<Json> parse_json(std::string_view text, const std::string& filename) {
  return Parser(text, filename).parse();
}

}  // namespace triton_runner::artifact
