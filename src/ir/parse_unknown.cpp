// Parses ops that the table lacks, and those whose row describes no text: they are kept as literal text with
// holes for what the graph must know (operands, attributes, regions).
//
// Nothing says where such an op ends, so lines do: it goes on while brackets are open, after a comma, colon,
// arrow or equals sign, and otherwise ends where the next line starts something new.
#include <algorithm>

#include "parser.h"

namespace triton_runner::ir {
namespace {

bool dictionary_like(const char* p) {  // at '{': {name = ...}, {name, ...}, {"name" = ...}, {}
  ++p;
  while (is_space(*p)) ++p;
  if (*p == '}') return true;
  const char* q = p;
  if (*q == '"') {
    ++q;
    while (*q && *q != '"' && *q != '\n') ++q;
    if (*q == '"') ++q;
  } else if (is_letter(*q)) {
    while (is_word(*q)) ++q;
  } else {
    return false;
  }
  const char* end = q;
  while (*q == ' ') ++q;
  if (*q == '=' && q[1] != '=') return true;
  return end != p && (*q == ',' || *q == '}');
}

}  // namespace

// Types in the text between begin and end, as far as they are types: the last `count` of them after the last
// arrow or colon outside brackets. Guesses: a use that says otherwise is right.
std::vector<const Type*> Parser::guess_types(const char* begin, const char* end, size_t count) {
  const char* from = nullptr;
  for (const char* q = begin; q < end;) {
    if (*q == '<' || *q == '[' || *q == '{' || *q == '"' || (*q == '(' && from != q)) {
      if (*q == '"') {
        ++q;
        while (q < end && *q != '"') ++q;
        ++q;
        continue;
      }
      const char* past = balanced(q);
      if (!past || past > end) break;
      q = past;
    } else if (*q == '-' && q[1] == '>') {
      q += 2;
      from = q;
      while (q < end && is_space(*q)) ++q;
    } else if (*q == ':' && q[1] != ':' && q[-1] != ':') {
      ++q;
      from = q;
    } else {
      ++q;
    }
  }
  std::vector<const Type*> types;
  const Type* unknown = m_.named_type(TypeKind::kOpaque, "!unknown");
  if (from && count) {
    const char* back = p_;
    p_ = from;
    eat('(');
    while (p_ < end && !failed()) {
      ws();
      const char* stop = *p_ == '(' ? p_ : type_end(p_);
      if (stop == p_ || (*p_ != '!' && !is_letter(*p_))) break;
      types.push_back(type());
      if (!eat(',')) break;
    }
    if (failed()) {
      error_.reset();
      types.clear();
    }
    p_ = back;
  }
  if (types.size() == 1 && count > 1) types.resize(count, types[0]);
  if (types.size() > count) types.erase(types.begin(), types.end() - static_cast<ptrdiff_t>(count));
  while (types.size() < count) types.push_back(unknown);
  return types;
}

// One such op while it is read.
class Parser::UnknownOp {
 public:
  UnknownOp(Parser& parser, OpState& state)
      : p_(parser), s_(state), run_(state.name.data()), from_(parser.p_), last_(parser.p_) {}

  void read() {
    while (!p_.failed() && token()) last_ = p_.p_;
    if (!p_.failed()) finish();
  }

 private:
  // The next token; false: the op ends before it.
  bool token() {
    const char* before = p_.p_;
    p_.ws();
    const char* at = p_.p_;
    if (at >= p_.end_) {
      if (!open_.empty()) missing_bracket();
      return false;
    }
    const bool new_line = std::find(before, at, '\n') != at || std::find(last_, at, '\n') != at;
    if (ends_before(at, new_line)) return false;
    continues_ = false;
    switch (*at) {
      case '%':
        value(at);
        break;
      case '^':
        successor(at);
        break;
      case '"':
        p_.string_text();
        break;
      case '{':
        if (open_.empty()) {
          dictionary_or_region(at);
          break;
        }
        [[fallthrough]];
      case '<':
      case '(':
      case '[':
        ++p_.p_;
        open_.push_back(*at);
        break;
      case '>':
      case ')':
      case ']':
      case '}':
        return close(*at);
      default:
        plain(at);
    }
    return !p_.failed();
  }

  // Tells whether another op, a block, an alias, or this op's location begins here.
  bool ends_before(const char* at, bool new_line) {
    const char* word_end = at;
    if (is_letter(*at))
      while (is_word(*word_end)) ++word_end;
    const std::string_view word(at, static_cast<size_t>(word_end - at));
    if (!open_.empty()) {
      if (!new_line || find_op(word) == OpKind::kUnknown) return false;
      missing_bracket();
      return true;
    }
    if (new_line && !continues_) {
      if (*at == '%' || *at == '}' || *at == '^' || *at == '#' || *at == '!' || *at == '"') return true;
      if (word.find('.') != std::string_view::npos || word == "module") return true;
    }
    return *at == 'l' && p_.next_is("loc") && at[3] == '(';
  }

  // An operand; or %i: type, %i = ...: an argument of the region that follows.
  void value(const char* at) {
    ++p_.p_;
    const std::string_view name = p_.suffix_id();
    if (name.empty()) return expected_at(at, "a value's name after '%'");
    const NameEntry& entry = p_.entries_[p_.name_id(name)];
    const bool known = entry.value && entry.isolation == p_.isolation_;
    p_.ws();
    const bool typed = *p_.p_ == ':' && !open_.empty() && open_.back() == '(' && p_.p_[1] != ':';
    if (known || (!typed && *p_.p_ != '=')) {
      p_.p_ = at;
      flush(at);
      parts_.push_back(
          {SkeletonPart::kOperand, static_cast<uint32_t>(p_.operands_.size() - s_.operands_base), {}});
      p_.push_operand(0);
      run_ = p_.p_;
      return;
    }
    ++p_.p_;
    const Type* type = typed ? p_.type() : p_.m_.named_type(TypeKind::kOpaque, "!unknown");
    const Location* loc = typed && !p_.failed() && p_.next_is("loc") ? p_.location() : nullptr;
    args_.push_back({name, at, type, loc});
  }

  void successor(const char* at) {
    flush(at);
    ++p_.p_;
    const std::string_view name = p_.suffix_id();
    if (name.empty() || p_.block_names_.empty()) return expected_at(at, "a block that exists");
    parts_.push_back(
        {SkeletonPart::kSuccessor, static_cast<uint32_t>(p_.successors_.size() - s_.successors_base), {}});
    p_.successors_.push_back(p_.find_block(name, at));
    run_ = p_.p_;
  }

  void dictionary_or_region(const char* at) {
    if (!dictionary_like(at)) {
      flush(at);
      parts_.push_back({args_.empty() ? SkeletonPart::kRegion : SkeletonPart::kBareRegion,
                        static_cast<uint32_t>(p_.regions_.size() - s_.regions_base),
                        {}});
      p_.regions_.push_back(p_.region(args_));
      args_.clear();
      run_ = p_.p_;
      return;
    }
    if (!p_.balanced(at)) {
      p_.expected("the '}' that closes this dictionary");
      return;
    }
    const auto entries = p_.dict();
    if (p_.failed() || entries.empty() || p_.attrs_.size() != s_.attrs_base)
      return;  // a second one stays text
    flush(at);
    parts_.push_back({SkeletonPart::kDict, 0, {}});
    run_ = p_.p_;
    for (const NamedAttr& entry : entries) p_.attrs_.push_back(entry);
  }

  // False: the bracket is one of what the op stands in.
  bool close(char c) {
    const char want = c == '>' ? '<' : c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open_.empty() || open_.back() != want) {
      if (c != '}') p_.expected("the end of " + std::string(s_.name));
      return false;
    }
    open_.pop_back();
    ++p_.p_;
    return true;
  }

  void plain(const char* at) {
    const char c = *at;
    if (c == '-' && at[1] == '>') {
      p_.p_ += 2;
      continues_ = true;
    } else if (c == ',' || c == ':' || c == '=') {
      ++p_.p_;
      continues_ = true;
    } else if (is_suffix(c) || c == '@' || c == '#' || c == '!' || c == '$') {
      ++p_.p_;
      while (is_suffix(*p_.p_)) ++p_.p_;
    } else if (c == '\0') {
      p_.expected("the rest of " + std::string(s_.name));
    } else {
      ++p_.p_;
    }
  }

  // An operand that the text types in a use of its own keeps the type that it has; forward ones are typed
  // later.
  void finish() {
    while (last_ > run_ && is_space(last_[-1])) --last_;  // of a type that never ends
    flush(last_);
    Skeleton* skeleton = p_.m_.arena.make<Skeleton>();
    skeleton->parts = p_.m_.arena.copy(parts_.data(), parts_.size());
    s_.skeleton = skeleton;
    p_.p_ = last_;
    const std::vector<const Type*> results = p_.guess_types(from_, last_, s_.name_count);
    p_.types_.insert(p_.types_.end(), results.begin(), results.end());
    p_.p_ = last_;
  }

  void flush(const char* to) {
    if (to > run_) parts_.push_back({SkeletonPart::kText, 0, {run_, static_cast<size_t>(to - run_)}});
  }
  void missing_bracket() { p_.expected("the bracket that closes '" + std::string(1, open_.back()) + "'"); }
  void expected_at(const char* at, const char* what) {
    p_.p_ = at;
    p_.expected(what);
  }

  Parser& p_;
  OpState& s_;
  std::vector<SkeletonPart> parts_;
  const char* run_;   // literal text not yet put into a part
  const char* from_;  // where the text after the name begins
  const char* last_;  // end of the last token
  std::vector<char> open_;
  bool continues_ = false;      // the last token asks for more
  std::vector<BlockArg> args_;  // names that the op itself gives to its first region
};

void Parser::unknown(OpState& s) { UnknownOp(*this, s).read(); }

}  // namespace triton_runner::ir
