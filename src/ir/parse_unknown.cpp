// Ops that the table lacks: literal text with holes for what the graph must know (operands, attributes,
// regions).
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

void Parser::unknown(OpState& s) {
  std::vector<SkeletonPart> parts;
  const char* run = s.name.data();  // literal text not yet put into a part
  const char* from = p_;
  const char* last = p_;  // end of the last token
  std::vector<char> open;
  bool continues = false;      // the last token asks for more
  std::vector<BlockArg> args;  // names that the op itself gives to its first region
  auto flush = [&](const char* to) {
    if (to > run) parts.push_back({SkeletonPart::kText, 0, {run, static_cast<size_t>(to - run)}});
  };
  while (!failed()) {
    const char* before = p_;
    ws();
    const char* at = p_;
    if (p_ >= end_) {
      if (!open.empty()) expected("the bracket that closes '" + std::string(1, open.back()) + "'");
      break;
    }
    bool new_line = std::find(before, at, '\n') != at || std::find(last, at, '\n') != at;
    if (open.empty() && new_line && !continues) {
      if (*at == '%' || *at == '}' || *at == '^' || *at == '#' || *at == '!') break;
      if (*at == '"') break;
      if (is_letter(*at)) {
        const char* e = at;
        while (is_word(*e)) ++e;
        std::string_view w(at, static_cast<size_t>(e - at));
        if (w.find('.') != std::string_view::npos || w == "module") break;
      }
    }
    if (!open.empty() && new_line && is_letter(*at)) {
      const char* e = at;
      while (is_word(*e)) ++e;
      if (find_op({at, static_cast<size_t>(e - at)}) != OpKind::kUnknown) {
        expected("the bracket that closes '" + std::string(1, open.back()) + "'");
        break;
      }
    }
    if (open.empty() && *at == 'l' && next_is("loc") && at[3] == '(') break;
    continues = false;
    char c = *at;
    if (c == '%') {
      ++p_;
      std::string_view name = suffix_id();
      if (name.empty()) {
        p_ = at;
        expected("a value's name after '%'");
        break;
      }
      uint32_t id = name_id(name);
      bool known = entries_[id].value && entries_[id].isolation == isolation_;
      ws();
      bool typed = *p_ == ':' && !open.empty() && open.back() == '(' && p_[1] != ':';
      if (!known && (typed || *p_ == '=')) {
        // %i: type or %i = ...: an argument of the region that follows.
        const Type* t = m_.named_type(TypeKind::kOpaque, "!unknown");
        if (typed) {
          ++p_;
          t = type();
        } else {
          ++p_;
        }
        const Location* loc = nullptr;
        if (typed && !failed() && next_is("loc")) loc = location();
        args.push_back({name, at, t, loc});
      } else {
        p_ = at;
        flush(at);
        parts.push_back(
            {SkeletonPart::kOperand, static_cast<uint32_t>(operands_.size() - s.operands_base), {}});
        push_operand(0);
        run = p_;
      }
    } else if (c == '^') {
      flush(at);
      ++p_;
      std::string_view name = suffix_id();
      if (name.empty() || block_names_.empty()) {
        p_ = at;
        expected("a block that exists");
        break;
      }
      parts.push_back(
          {SkeletonPart::kSuccessor, static_cast<uint32_t>(successors_.size() - s.successors_base), {}});
      successors_.push_back(find_block(name, at));
      run = p_;
    } else if (c == '{' && open.empty()) {
      if (dictionary_like(at)) {
        const char* close = balanced(at);
        if (!close) {
          expected("the '}' that closes this dictionary");
          break;
        }
        auto entries = dict();
        if (failed()) break;
        bool first = attrs_.size() == s.attrs_base;
        if (first && !entries.empty()) {  // a second dictionary stays text
          flush(at);
          parts.push_back({SkeletonPart::kDict, 0, {}});
          run = p_;
          for (const NamedAttr& entry : entries) attrs_.push_back(entry);
        }
      } else {
        flush(at);
        parts.push_back({args.empty() ? SkeletonPart::kRegion : SkeletonPart::kBareRegion,
                         static_cast<uint32_t>(regions_.size() - s.regions_base),
                         {}});
        regions_.push_back(region(args));
        args.clear();
        run = p_;
      }
    } else if (c == '"') {
      string_text();
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      ++p_;
      open.push_back(c);
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      char want = c == '>' ? '<' : c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open.empty() || open.back() != want) {
        if (c == '}') break;
        expected("the end of " + std::string(s.name));
        break;
      }
      open.pop_back();
      ++p_;
    } else if (c == '-' && at[1] == '>') {
      p_ += 2;
      continues = true;
    } else if (c == ',' || c == ':' || c == '=') {
      ++p_;
      continues = true;
    } else if (is_suffix(c) || c == '@' || c == '#' || c == '!' || c == '$') {
      ++p_;
      while (is_suffix(*p_)) ++p_;
    } else if (c == '\0') {
      expected("the rest of " + std::string(s.name));
    } else {
      ++p_;
    }
    last = p_;
  }
  if (failed()) return;
  while (last > run && is_space(last[-1])) --last;  // of a type that never ends
  p_ = last;
  flush(last);
  Skeleton* skeleton = m_.arena.make<Skeleton>();
  skeleton->parts = m_.arena.copy(parts.data(), parts.size());
  s.skeleton = skeleton;
  std::vector<const Type*> results = guess_types(from, last, s.name_count);
  types_.insert(types_.end(), results.begin(), results.end());
  p_ = last;
  // An operand that the text types in a use of its own keeps the type that it has; forward ones are typed
  // later.
}

}  // namespace triton_runner::ir
