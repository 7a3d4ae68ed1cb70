// Parses locations. Nearly all are aliases, which the text uses before it defines them: they are resolved at
// its end.
#include <unordered_map>

#include "parser.h"

namespace triton_runner::ir {
// The location that an alias stands for; nearly all are #loc and #loc12.
Location* Parser::loc_alias(std::string_view name, const char* at) {
  size_t number = 0;
  bool numbered =
      name.size() < 11 && name.starts_with("#loc") && (name.size() == 5 || name[4 % name.size()] != '0');
  for (size_t i = 4; numbered && i < name.size(); ++i) {
    numbered = is_digit(name[i]);
    number = number * 10 + static_cast<size_t>(name[i] - '0');
  }
  if (numbered) {
    if (name.size() > 4) ++number;
    if (number < numbered_locs_.size() && numbered_locs_[number]) return numbered_locs_[number];
    if (number >= numbered_locs_.size()) numbered_locs_.resize(number + number / 2 + 16);
    Location* made = m_.arena.make(Location{.kind = LocKind::kOpaque});  // until it is defined
    made->alias = name;
    loc_uses_.push_back({made, at});
    return numbered_locs_[number] = made;
  }
  bool fresh = false;
  Location*& slot = m_.loc_aliases.at(name, &fresh);
  if (fresh) {
    slot = m_.arena.make(Location{.kind = LocKind::kOpaque});
    slot->alias = name;
    loc_uses_.push_back({slot, at});
  }
  return slot;
}

// At `loc(`.
const Location* Parser::location() {
  if (end_ - p_ < 4 || p_[3] != '(') {
    p_ += 3;
    expected("'(' after loc");
    return m_.arena.make(Location{.kind = LocKind::kUnknown});
  }
  const char* b = p_ + 4;
  if (b[0] == '#') {
    const char* q = b + 1;
    while (is_suffix(*q)) ++q;
    if (*q == ')' && q > b + 1) {
      p_ = q + 1;
      return loc_alias({b, static_cast<size_t>(q - b)}, b);
    }
  }
  const char* e = balanced(p_ + 3);
  if (!e) {
    expected("the ')' that closes this location");
    return m_.arena.make(Location{.kind = LocKind::kUnknown});
  }
  std::string_view text(b, static_cast<size_t>(e - b));
  if (const Location** known = loc_texts_.find(text)) {
    p_ = e;
    return *known;
  }
  p_ = b;
  const Location* loc = parse_location();
  expect(")");
  if (!failed()) loc_texts_.insert(text, loc);
  return loc;
}

const Location* Parser::parse_location() {
  Location l{.kind = LocKind::kUnknown};
  if (depth_ > kMaxDepth) return fail(p_, "locations are nested too deep"), m_.arena.make(l);
  Nesting nesting(depth_);
  ws();
  const char* at = p_;
  switch (*p_) {
    case '#': {
      ++p_;
      std::string_view name = suffix_id();
      const Location* to = loc_alias({at, name.size() + 1}, at);
      if (to->kind == LocKind::kOpaque) loc_forward_ = true;
      return to;
    }
    case '"': {
      std::string_view text = string_text();
      if (eat(':')) {
        l.kind = LocKind::kFile;
        l.file = text;
        l.line = static_cast<int32_t>(integer());
        expect(":");
        l.column = static_cast<int32_t>(integer());
        if (peek() == 't' && eat("to")) {
          l.end_line = l.line;
          if (peek() != ':') l.end_line = static_cast<int32_t>(integer());
          expect(":");
          l.end_column = static_cast<int32_t>(integer());
        }
      } else {
        l.kind = LocKind::kName;
        l.name = text;
        if (eat('(')) {
          l.child = parse_location();
          expect(")");
        }
      }
      break;
    }
    default: {
      std::string_view w = word();
      if (w == "unknown") break;
      if (w == "callsite") {
        l.kind = LocKind::kCallSite;
        expect("(");
        l.child = parse_location();
        expect("at");
        l.caller = parse_location();
        expect(")");
      } else if (w == "fused") {
        l.kind = LocKind::kFused;
        if (eat('<')) {
          l.metadata = attr();
          expect(">");
        }
        expect("[");
        std::vector<const Location*> children;
        if (peek() != ']') do
            children.push_back(parse_location());
          while (!failed() && eat(','));
        expect("]");
        l.children = m_.arena.copy(children.data(), children.size());
      } else {
        p_ = at;
        expected(
            "a location: \"file\":line:column, \"name\"(...), callsite(...), fused[...], unknown or #alias");
      }
    }
  }
  return m_.arena.make(l);
}

// Aliases are used before they are defined; at the end all must be, and none may lead to itself.
void Parser::resolve_locations() {
  for (auto [loc, at] : loc_uses_)
    if (loc->kind == LocKind::kOpaque)
      return fail(at, "the location alias '" + std::string(loc->alias) + "' is not defined",
                  {"is the end of the text missing? Triton writes most #loc lines there"});
  // Only what refers to later aliases can go round. Depth-first by hand: chains of aliases may be long.
  if (!loc_forward_) return;
  enum : uint8_t { kOpen = 1, kDone = 2 };
  std::unordered_map<const Location*, uint8_t> state;
  std::vector<const Location*> stack;
  for (const auto& use : loc_uses_) {
    const Location* loc = use.first;
    const char* at = use.second;
    stack.push_back(loc);
    while (!stack.empty()) {
      const Location* l = stack.back();
      uint8_t& s = state[l];
      if (s) {
        stack.pop_back();
        s = kDone;
        continue;
      }
      s = kOpen;
      auto visit = [&](const Location* next) {
        if (!next) return;
        uint8_t seen = state[next];
        if (seen == kOpen)
          fail(at, "the location alias '" + std::string(loc->alias) + "' leads back to itself");
        if (!seen) stack.push_back(next);
      };
      visit(l->child);
      visit(l->caller);
      for (const Location* child : l->children) visit(child);
      if (failed()) return;
    }
  }
}

}  // namespace triton_runner::ir
