// Parses ops in the syntax that the assembly column of ops.def describes: it runs the pieces that
// assembly.cpp compiled. What all ops have in common (results, operands, the generic form) is in
// parse_ops.cpp.
#include <algorithm>

#include "parser.h"

namespace triton_runner::ir {

bool Parser::present(const Assembly& form, size_t at, OpState& s) {
  const Piece& first = form.pieces[at];
  switch (first.kind) {
    case PieceKind::kLiteral: {
      if (!next_is(first.text)) return false;
      // A comma before operands may belong to what follows the group.
      const Piece* second = at + 1 < form.pieces.size() ? &form.pieces[at + 1] : nullptr;
      if (first.text == "," && second && second->kind != PieceKind::kTypes) {
        const char* q = p_ + 1;
        while (is_space(*q)) ++q;
        bool value = second->kind == PieceKind::kOperands || second->kind == PieceKind::kCustom;
        return value == (*q == '%');
      }
      return true;
    }
    case PieceKind::kOperands:
      return peek() == '%';
    case PieceKind::kTypes:
      if (first.group >= kFirstResult) return peek() != '{' && peek() != '-';
      return std::any_of(operands_.begin() + static_cast<ptrdiff_t>(s.operands_base), operands_.end(),
                         [&](const Operand& o) { return o.group == first.group; });
    case PieceKind::kAttr:
      if (first.form == AttrForm::kEnum) {
        ws();
        const char* e = p_;
        while (is_word(*e)) ++e;
        return first.values->find(std::string_view(p_, static_cast<size_t>(e - p_))) != nullptr;
      }
      return peek() == '"' || is_digit(*p_);
    default:
      return true;
  }
}

void Parser::attribute(const Piece& piece) {
  switch (piece.form) {
    case AttrForm::kInteger:
      add_attr(piece.text, fast_integer(piece.width));
      break;
    case AttrForm::kEnum:
      add_attr(piece.text, keyword(*piece.values));
      break;
    case AttrForm::kUnit:
      add_attr(piece.text, m_.unit());
      break;
    case AttrForm::kString:
      add_attr(piece.text, m_.string(string_text()));
      break;
    case AttrForm::kSymbol:
      if (peek() != '@') return expected("a symbol (@name)");
      add_attr(piece.text, attr());
      break;
    case AttrForm::kAny:
      add_attr(piece.text, attr());
      break;
    case AttrForm::kTypes:
    case AttrForm::kInts:
      add_attr(piece.text, m_.numbers(m_.integer_type(piece.width), integers()));
      break;
  }
}

void Parser::piece_types(const Piece& piece, OpState& s) {
  if (piece.group == kEverything) return common_type(s);
  if (piece.group >= kFirstResult) return result_types(piece.group, s);
  if (piece.also == 0xFF) return operand_types(piece.group, s);
  // One type for two groups.
  ws();
  const char* at = p_;
  const Type* t = type();
  for (size_t o = s.operands_base; o < operands_.size() && !failed(); ++o)
    if (operands_[o].group == piece.group || operands_[o].group == piece.also)
      check_type(operands_[o], t, at);
}

// Types without their dialect's prefix: of the result, or of each operand of a group.
void Parser::short_types(const Piece& piece, OpState& s) {
  if (piece.group >= kFirstResult) return types_.push_back(short_type(piece.short_kind));
  bool first = true;
  for (size_t o = s.operands_base; o < operands_.size() && !failed(); ++o) {
    if (operands_[o].group != piece.group) continue;
    if (!first && !expect(",")) return;
    first = false;
    ws();
    const char* at = p_;
    const Type* t = short_type(piece.short_kind);
    if (!failed()) check_type(operands_[o], t, at);
  }
}

// The alternatives in pieces [begin, end), in any order, as long as one of them is next.
void Parser::any_of(const Assembly& form, size_t begin, size_t end, OpState& s) {
  for (bool again = true; again && !failed();) {
    again = false;
    for (size_t i = begin; i < end && !again; i += 1 + form.pieces[i].length) {
      if (!present(form, i + 1, s)) continue;
      pieces(form, i + 1, i + 1 + form.pieces[i].length, s);
      again = true;
    }
  }
}

void Parser::pieces(const Assembly& form, size_t begin, size_t end, OpState& s) {
  for (size_t i = begin; i < end && !failed(); ++i) {
    const Piece& piece = form.pieces[i];
    switch (piece.kind) {
      case PieceKind::kLiteral:
        if (piece.text.size() == 1) {
          if (peek() == piece.text[0]) {
            ++p_;
            break;
          }
          expected("'" + std::string(piece.text) + "'");
          return;
        }
        if (!expect(piece.text)) return;
        break;
      case PieceKind::kOperands:
        if (piece.variadic) {
          operand_list(piece.group);
        } else if (!piece.optional || peek() == '%') {
          push_operand(piece.group);
        }
        break;
      case PieceKind::kAttr:
        attribute(piece);
        break;
      case PieceKind::kTypes:
        piece_types(piece, s);
        break;
      case PieceKind::kShortTypes:
        short_types(piece, s);
        break;
      case PieceKind::kFunctional:
        functional(piece.groups, s);
        break;
      case PieceKind::kDict:
        add_dict();
        break;
      case PieceKind::kKeywordDict:
        add_keyword_dict();
        break;
      case PieceKind::kOptional:
        if (present(form, i + 1, s)) pieces(form, i + 1, i + 1 + piece.length, s);
        i += piece.length;
        break;
      case PieceKind::kAnyOf:
        any_of(form, i + 1, i + 1 + piece.length, s);
        i += piece.length;
        break;
      case PieceKind::kAlternative:  // any_of() has gone through them
        break;
      case PieceKind::kToken:
        if (eat('[')) {
          s.token_result = true;
          if (peek() == '%') push_operand(piece.group);
          expect("]");
        }
        break;
      case PieceKind::kRegion:
        regions_.push_back(region({}));
        break;
      case PieceKind::kNoSpace:
        break;
      case PieceKind::kCustom:
        custom(piece.text, s);
        break;
    }
  }
}

bool Parser::custom(std::string_view name, OpState& s) {
  find_custom(name)->parse(*this, s);
  return !failed();
}

const Type* Parser::derived(const Type* type, ResultRule rule) {
  if (!type) return no_type();
  if (rule == ResultRule::kSame) return type;
  Derived& slot = derived_[(reinterpret_cast<uintptr_t>(type) >> 4) % 64];
  if (slot.from == type && slot.rule == rule) return slot.to;
  const Type* to = nullptr;
  auto shaped = [&](const Type* element) {
    return type->kind == TypeKind::kTensor ? m_.tensor_type(element, type->shape, type->encoding) : element;
  };
  switch (rule) {
    case ResultRule::kPointee: {
      const Type* pointer = type->scalar();
      if (pointer->kind != TypeKind::kPointer) return nullptr;
      to = shaped(pointer->element);
      break;
    }
    case ResultRule::kScalar:
      to = type->scalar();
      break;
    case ResultRule::kBoolLike:
      to = shaped(m_.integer_type(1));
      break;
    default:
      to = type;
  }
  slot = {type, rule, to};
  return to;
}

void Parser::apply_rule(const Assembly& form, OpState& s) {
  const Type* token = nullptr;
  auto token_type = [&] {
    if (!token)
      token = m_.named_type(TypeKind::kToken, s.name.starts_with("triton_gpu") ? "!triton_gpu.async.token"
                                                                               : "!ttg.async.token");
    return token;
  };
  switch (form.rule) {
    case ResultRule::kWritten:
      break;
    case ResultRule::kToken:
      types_.push_back(token_type());
      break;
    case ResultRule::kNamed: {
      const char* at = p_;
      std::string_view name = form.rule_type;
      if (name == "i32" || name == "i64") types_.push_back(m_.integer_type(name == "i32" ? 32 : 64));
      if (name == "index") types_.push_back(m_.index_type());
      p_ = at;
      break;
    }
    default:
      for (size_t i = s.operands_base; i < operands_.size(); ++i) {
        if (operands_[i].group != form.rule_group) continue;
        const Type* t = derived(operands_[i].value->type, form.rule);
        if (!t) {
          std::string is;
          TextWriter(is).type(operands_[i].value->type);
          return fail(operands_[i].at, "expected a pointer or a tensor of pointers, found " + is);
        }
        types_.push_back(t);
      }
  }
  if (s.token_result) types_.push_back(token_type());
}

// Tries the forms that the op may have, the one last seen in this module first. Keeps the error of the one
// that got furthest.
bool Parser::forms(OpState& s) {
  const OpSyntax& syntax = op_syntax(s.kind);
  size_t count = syntax.forms.size();
  if (count == 0) {  // the table does not describe its text: taken as it is
    unknown(s);
    if (!failed()) assign_groups(s);
    return !failed();
  }
  uint8_t& preferred = preferred_[static_cast<size_t>(s.kind)];
  const char* start = p_;
  size_t forward_mark = forwards_.size(), typed_mark = typed_by_use_.size();
  std::optional<base::Diagnostic> best;
  const char* best_at = nullptr;
  // Older releases print two spaces where an operand is left out.
  bool wide = count > 1 && p_[0] == ' ' && p_[1] == ' ';
  size_t first = wide ? count - 1 : preferred;
  for (size_t k = 0; k < count; ++k) {
    size_t f = k == 0 ? first : k <= first ? k - 1 : k;
    const Assembly& form = syntax.forms[f];
    pieces(form, 0, form.pieces.size(), s);
    if (!failed()) apply_rule(form, s);
    if (!failed() && count > 1) {
      // A form that leaves something of its line unread is another's.
      const char* rest = p_;
      if (std::find(token_end(), rest, '\n') == rest) {
        while (*rest == ' ' || *rest == '\t') ++rest;
        bool word_follows = is_letter(*rest) && !at(rest, "loc(");
        if (word_follows || *rest == '%' || *rest == ',' || *rest == '[' || *rest == ':' || *rest == '=')
          expected("the end of " + std::string(s.name));
      }
    }
    if (!failed()) {
      s.form = static_cast<uint8_t>(f + 1);
      if (!wide) preferred = static_cast<uint8_t>(f);
      return true;
    }
    if (!best || error_at_ > best_at) best = error_, best_at = error_at_;
    if (count == 1) break;
    error_.reset();
    p_ = start;
    operands_.resize(s.operands_base);
    attrs_.resize(s.attrs_base);
    types_.resize(s.types_base);
    s.token_result = false;
    typed_by_use_.resize(typed_mark);
    while (forwards_.size() > forward_mark) {
      NameEntry& entry = entries_[forwards_.back()];
      if (entry.forwards) entry.forwards = entry.forwards->next;
      forwards_.pop_back();
    }
  }
  error_ = best;
  p_ = end_;
  return false;
}

}  // namespace triton_runner::ir
