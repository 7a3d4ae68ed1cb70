// Compiles the assembly column of the op table (the language of assembly.h) into pieces that parser and
// printer run: once, on first use.
#include "assembly.h"

#include <cassert>
#include <charconv>

namespace triton_runner::ir {
namespace {

enum Style { kPlain, kFlags, kAngled };

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = text.find(at);
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

EnumInfo make_enum(std::string_view name, unsigned width, Style style, std::string_view values) {
  EnumInfo info{name, style != kPlain, style == kAngled, width, {}};
  for (std::string_view pair : split(values, ' ')) {
    size_t equals = pair.find('=');
    int64_t number = 0;
    std::from_chars(pair.data() + equals + 1, pair.data() + pair.size(), number);
    info.values.push_back({pair.substr(0, equals), number});
  }
  return info;
}

const std::vector<EnumInfo>& enums() {
  static const std::vector<EnumInfo> all = {
#define ENUM(name, width, style, values) make_enum(#name, width, style, values),
#define VALUE(keyword, Enumerator, number) #keyword "=" #number " "
#include <triton_runner/ir/enums.def>
  };
  return all;
}

class Compiler {
 public:
  Compiler(const OpSyntax& syntax, std::string_view text) : syntax_(syntax) {
    std::string_view body = text, rule;
    if (size_t semicolon = text.find(" ; "); semicolon != std::string_view::npos) {
      body = text.substr(0, semicolon);
      rule = text.substr(semicolon + 3);
    } else if (text.starts_with("; ")) {
      body = {};
      rule = text.substr(2);
    }
    words_ = split(body, ' ');
    sequence();
    if (!rule.empty()) compile_rule(split(rule, ' '));
  }
  Assembly take() { return std::move(out_); }

 private:
  uint8_t group(std::string_view name) const {
    for (size_t i = 0; i < syntax_.groups.size(); ++i)
      if (syntax_.groups[i].name == name) return static_cast<uint8_t>(i);
    assert(!"assembly names an operand that the row lacks");
    return 0;
  }
  uint8_t group_or_result(std::string_view name) const {
    if (name == ">") return kAllResults;
    if (name == "=") return kEverything;
    if (name == ">*") return kEachResult;
    if (name[0] == '>') return static_cast<uint8_t>(kFirstResult + (name[1] - '0'));
    return group(name);
  }
  Piece& add(PieceKind kind, std::string_view text = {}) {
    out_.pieces.push_back({kind});
    out_.pieces.back().text = text;
    return out_.pieces.back();
  }
  // Pieces until `]?`, `|`, `]*` or the end.
  void sequence() {
    while (at_ < words_.size()) {
      std::string_view word = words_[at_];
      if (word == "]?" || word == "]*" || word == "|") return;
      ++at_;
      if (word == "?[") {
        nested(PieceKind::kOptional);
        ++at_;
      } else if (word == "*[") {
        size_t index = out_.pieces.size();
        add(PieceKind::kAnyOf);
        do {
          nested(PieceKind::kAlternative);
        } while (words_[at_++] == "|");
        out_.pieces[index].length = static_cast<uint16_t>(out_.pieces.size() - index - 1);
      } else {
        one(word);
      }
    }
  }
  void nested(PieceKind kind) {
    size_t index = out_.pieces.size();
    add(kind);
    sequence();
    out_.pieces[index].length = static_cast<uint16_t>(out_.pieces.size() - index - 1);
  }
  void one(std::string_view word) {
    if (word[0] == '%' && word.size() > 1) {
      uint8_t g = group(word.substr(1));
      Piece& piece = add(PieceKind::kOperands);
      piece.group = g;
      piece.variadic = syntax_.groups[g].variadic;
      piece.optional = syntax_.groups[g].optional;
    } else if (word[0] == '$') {
      attribute(word.substr(1));
    } else if (word.starts_with("T(")) {
      std::string_view name = word.substr(2, word.size() - 3);
      size_t equals = name.size() > 1 ? name.find('=') : std::string_view::npos;
      uint8_t g = group_or_result(name.substr(0, equals));
      Piece& piece = add(PieceKind::kTypes);
      piece.group = g;
      if (equals != std::string_view::npos) piece.also = group(name.substr(equals + 1));
    } else if (word.starts_with("S(")) {
      size_t colon = word.find(':');
      uint8_t g = group_or_result(word.substr(2, colon - 2));
      std::string_view kind = word.substr(colon + 1, word.size() - colon - 2);
      Piece& piece = add(PieceKind::kShortTypes);
      piece.group = g;
      piece.short_kind = kind == "ptr"       ? TypeKind::kPointer
                         : kind == "memdesc" ? TypeKind::kMemDesc
                                             : TypeKind::kTensorDesc;
    } else if (word == "F" || word.starts_with("F(")) {
      uint64_t groups = 0;
      if (word.size() > 1)
        for (std::string_view name : split(word.substr(2, word.size() - 3), ','))
          groups |= uint64_t{1} << group(name);
      add(PieceKind::kFunctional).groups = groups;
    } else if (word == "{}") {
      add(PieceKind::kDict);
    } else if (word == "attrs{}") {
      add(PieceKind::kKeywordDict);
    } else if (word[0] == '@' && word.size() > 1) {
      add(PieceKind::kToken).group = group(word.substr(1));
    } else if (word == "R") {
      add(PieceKind::kRegion);
    } else if (word == "_") {
      add(PieceKind::kNoSpace);
    } else if (word[0] == '!' && word.size() > 1) {
      add(PieceKind::kCustom, word.substr(1));
    } else {
      add(PieceKind::kLiteral, word);
    }
  }
  void attribute(std::string_view word) {
    size_t colon = word.find(':');
    std::string_view kind = word.substr(colon + 1);
    Piece& piece = add(PieceKind::kAttr, word.substr(0, colon));
    if (kind[0] == 'i' && kind.size() > 1 && kind[1] >= '0' && kind[1] <= '9') {
      piece.form = AttrForm::kInteger;
      std::from_chars(kind.data() + 1, kind.data() + kind.size(), piece.width);
    } else if (kind == "str") {
      piece.form = AttrForm::kString;
    } else if (kind == "sym") {
      piece.form = AttrForm::kSymbol;
    } else if (kind == "any") {
      piece.form = AttrForm::kAny;
    } else if (kind == "ints" || kind == "longs") {
      piece.form = AttrForm::kInts;
      piece.width = kind == "ints" ? 32 : 64;
    } else if (kind == "types") {
      piece.form = AttrForm::kTypes;
    } else if (kind == "unit") {
      piece.form = AttrForm::kUnit;
    } else {
      piece.form = AttrForm::kEnum;
      piece.values = find_enum(kind);
      assert(piece.values && "no such enumeration");
      piece.width = piece.values->width;
    }
  }
  void compile_rule(const std::vector<std::string_view>& words) {
    static constexpr std::pair<std::string_view, ResultRule> kRules[] = {
        {"same", ResultRule::kSame},   {"pointee", ResultRule::kPointee}, {"scalar", ResultRule::kScalar},
        {"i1", ResultRule::kBoolLike}, {"twice", ResultRule::kTwice},
    };
    if (words[0] == "token") {
      out_.rule = ResultRule::kToken;
      return;
    }
    if (words.size() == 1) {
      out_.rule = ResultRule::kNamed;
      out_.rule_type = words[0];
      return;
    }
    for (auto [word, rule] : kRules)
      if (words[0] == word) out_.rule = rule;
    out_.rule_group = group(words[1]);
  }

  const OpSyntax& syntax_;
  std::vector<std::string_view> words_;
  size_t at_ = 0;
  Assembly out_;
};

struct OldAssembly {
  OpKind kind;
  Release since, until;
  std::string_view assembly;
};
#define V(major, minor) release(major, minor)
#define NOW kNow
#define FORK kFork
constexpr OldAssembly kOld[] = {
#define OP(...)
#define OLD_ASSEMBLY(kind, since, until, assembly) {OpKind::k##kind, since, until, assembly},
#include <triton_runner/ir/ops.def>
#undef OP
    {OpKind::kUnknown, 0, 0, ""},
};

std::vector<OpSyntax> compile_all() {
  std::vector<OpSyntax> all(op_table().size() + 1);
  for (const OpInfo& row : op_table()) {
    OpSyntax& syntax = all[static_cast<size_t>(row.kind)];
    for (std::string_view name : split(row.operands, ',')) {
      OpSyntax::Group group{name};
      group.optional = name.back() == '?';
      group.variadic = name.back() == '*';
      if (group.optional || group.variadic) group.name.remove_suffix(1);
      syntax.groups.push_back(group);
    }
    if (!row.assembly.empty()) syntax.forms.push_back(Compiler(syntax, row.assembly).take());
  }
  for (const OldAssembly& old : kOld) {
    if (old.kind == OpKind::kUnknown) continue;
    OpSyntax& syntax = all[static_cast<size_t>(old.kind)];
    syntax.forms.push_back(Compiler(syntax, old.assembly).take());
    syntax.forms.back().since = old.since;
    syntax.forms.back().until = old.until;
  }
  return all;
}

}  // namespace

const EnumValue* EnumInfo::find(std::string_view keyword) const {
  for (const EnumValue& v : values)
    if (v.keyword == keyword) return &v;
  return nullptr;
}
const EnumValue* EnumInfo::find(int64_t number) const {
  for (const EnumValue& v : values)
    if (v.number == number) return &v;
  return nullptr;
}

const EnumInfo* find_enum(std::string_view name) {
  for (const EnumInfo& info : enums())
    if (info.name == name) return &info;
  return nullptr;
}

std::span<Use> Op::group(GroupName name) const {
  if (kind == OpKind::kUnknown) return {};
  const std::vector<OpSyntax::Group>& groups = op_syntax(kind).groups;
  for (uint32_t i = 0; i < groups.size(); ++i)
    if (groups[i].name == name.text) return group(i);
  return {};
}

const OpSyntax& op_syntax(OpKind kind) {
  static const std::vector<OpSyntax> all = compile_all();
  return all[static_cast<size_t>(kind)];
}

}  // namespace triton_runner::ir
