// Ops of the text: the generic form, and what the assembly column describes.
#include <algorithm>

#include "parser.h"

namespace triton_runner::ir {

// ---- operands

void Parser::push_operand(uint8_t group) {
  ws();
  const char* at;
  Value* value = use(&at);
  operands_.push_back({value, at, group});
}

void Parser::operand_list(uint8_t group) {
  if (peek() != '%') return;
  for (;;) {
    push_operand(group);
    if (peek() != ',') return;
    const char* comma = p_++;
    if (peek() != '%') {
      p_ = comma;
      return;
    }
  }
}

void Parser::operand_types(uint8_t group, OpState& s) {
  bool first = true;
  for (size_t i = s.operands_base; i < operands_.size(); ++i) {
    if (operands_[i].group != group) continue;
    if (!first && !expect(",")) return;
    first = false;
    ws();
    const char* at = p_;
    const Type* t = type();
    if (failed()) return;
    check_type(operands_[i], t, at);
  }
}

// One type for all operands and the result.
void Parser::common_type(OpState& s) {
  ws();
  const char* at = p_;
  const Type* t = type();
  for (size_t i = s.operands_base; i < operands_.size() && !failed(); ++i) check_type(operands_[i], t, at);
  types_.push_back(t);
}

void Parser::result_types(uint8_t which, OpState& s) {
  if (which == kEachResult) {
    const Type* t = type();
    types_.resize(s.types_base + std::max<uint32_t>(s.name_count, s.names ? 1 : 2), t);
    return;
  }
  uint32_t count = 1;
  if (which == kAllResults)
    count = std::max<uint32_t>(1, s.name_count - (s.token_result && s.name_count ? 1 : 0));
  for (uint32_t i = 0; i < count; ++i) {
    if (i && !(which == kAllResults && eat(','))) break;
    types_.push_back(type());
  }
}

void Parser::functional(uint64_t groups, OpState& s) {
  if (!expect("(")) return;
  // In the order of the groups, which need not be the text's.
  size_t count = 0;
  int last_group = -1;
  for (size_t i = s.operands_base; i < operands_.size(); ++i)
    last_group = std::max<int>(last_group, operands_[i].group);
  for (int g = 0; g <= last_group; ++g) {
    if (groups && !(groups >> g & 1)) continue;
    for (size_t i = s.operands_base; i < operands_.size(); ++i) {
      if (operands_[i].group != g) continue;
      if (count++ && !expect(",")) return;
      ws();
      const char* at = p_;
      const Type* t = type();
      if (failed()) return;
      check_type(operands_[i], t, at);
    }
  }
  if (!expect(")") || !expect("->")) return;
  if (eat('(')) {
    if (peek() != ')') do
        types_.push_back(type());
      while (!failed() && eat(','));
    expect(")");
  } else {
    types_.push_back(type());
  }
}

// ---- the assembly column

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
    case AttrForm::kString: {
      Attr a{.kind = AttrKind::kString};
      a.string = string_text();
      add_attr(piece.text, m_.intern(a));
      break;
    }
    case AttrForm::kSymbol:
      if (peek() != '@') return expected("a symbol (@name)");
      add_attr(piece.text, attr());
      break;
    case AttrForm::kAny:
      add_attr(piece.text, attr());
      break;
    case AttrForm::kTypes:
    case AttrForm::kInts: {
      if (!expect("[")) return;
      std::vector<uint64_t> raw;
      if (peek() != ']') do
          raw.push_back(static_cast<uint64_t>(integer()));
        while (!failed() && eat(','));
      expect("]");
      Attr a{.kind = AttrKind::kDenseArray};
      a.type = m_.integer_type(piece.width);
      a.raw = m_.arena.copy(raw.data(), raw.size());
      add_attr(piece.text, m_.intern(a));
      break;
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
        if (piece.group == kEverything) {
          common_type(s);
        } else if (piece.group >= kFirstResult) {
          result_types(piece.group, s);
        } else if (piece.also != 0xFF) {
          ws();
          const char* at = p_;
          const Type* t = type();
          for (size_t o = s.operands_base; o < operands_.size() && !failed(); ++o)
            if (operands_[o].group == piece.group || operands_[o].group == piece.also)
              check_type(operands_[o], t, at);
        } else {
          operand_types(piece.group, s);
        }
        break;
      case PieceKind::kShortTypes:
        if (piece.group >= kFirstResult) {
          types_.push_back(short_type(piece.short_kind));
        } else {
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
        break;
      case PieceKind::kFunctional:
        functional(piece.groups, s);
        break;
      case PieceKind::kDict:
        if (peek() == '{')
          for (const NamedAttr& entry : dict()) attrs_.push_back(entry);
        break;
      case PieceKind::kKeywordDict:
        if (eat("attributes")) {
          if (peek() != '{') return expected("'{'");
          for (const NamedAttr& entry : dict()) attrs_.push_back(entry);
        }
        break;
      case PieceKind::kOptional:
        if (present(form, i + 1, s)) pieces(form, i + 1, i + 1 + piece.length, s);
        i += piece.length;
        break;
      case PieceKind::kAnyOf: {
        size_t stop = i + 1 + piece.length;
        for (bool again = true; again && !failed();) {
          again = false;
          for (size_t a = i + 1; a < stop; a += 1 + form.pieces[a].length) {
            if (!present(form, a + 1, s)) continue;
            pieces(form, a + 1, a + 1 + form.pieces[a].length, s);
            again = true;
            break;
          }
        }
        i = stop - 1;
        break;
      }
      case PieceKind::kAlternative:
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
  if (!type) return m_.named_type(TypeKind::kNone, "none");
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

// ---- the generic form: "name"(operands) [successors] <{properties}> ({regions}) {attributes} : type

void Parser::generic(OpState& s) {
  expect("(");
  operand_list(0);
  expect(")");
  if (eat('[')) {
    if (peek() != ']') do
        successor(0);
      while (!failed() && eat(','));
    expect("]");
  }
  if (peek() == '<' && !failed()) {
    ++p_;
    if (peek() != '{') return expected("'{'");
    for (const NamedAttr& entry : dict()) attrs_.push_back(entry);
    s.num_properties = static_cast<uint16_t>(attrs_.size() - s.attrs_base);
    expect(">");
  }
  if (!failed() && peek() == '(') {
    ++p_;
    do regions_.push_back(region({}));
    while (!failed() && eat(','));
    expect(")");
  }
  if (!failed() && peek() == '{')
    for (const NamedAttr& entry : dict()) attrs_.push_back(entry);
  if (!failed() && expect(":")) functional(0, s);
  if (!failed() && s.kind != OpKind::kUnknown) assign_groups(s);
}

// Which operands belong to which group: as operandSegmentSizes says, or as the counts allow.
void Parser::assign_groups(OpState& s) {
  const auto& groups = op_syntax(s.kind).groups;
  size_t count = operands_.size() - s.operands_base;
  const Attr* segments = nullptr;
  for (size_t i = s.attrs_base; i < attrs_.size(); ++i)
    if (attrs_[i].name == "operandSegmentSizes" || attrs_[i].name == "operand_segment_sizes")
      segments = attrs_[i].value;
  std::vector<size_t> sizes(groups.size(), 0);
  if (segments && segments->kind == AttrKind::kDenseArray && segments->raw.size() == groups.size()) {
    for (size_t i = 0; i < groups.size(); ++i) sizes[i] = static_cast<size_t>(segments->raw[i]);
  } else {
    size_t fixed = 0;
    for (size_t i = 0; i < groups.size(); ++i)
      if (!groups[i].optional && !groups[i].variadic) sizes[i] = 1, ++fixed;
    size_t spare = count >= fixed ? count - fixed : 0;
    for (size_t i = 0; i < groups.size() && spare; ++i) {
      if (groups[i].optional)
        sizes[i] = 1, --spare;
      else if (groups[i].variadic)
        sizes[i] = spare, spare = 0;
    }
  }
  size_t total = 0;
  for (size_t n : sizes) total = n > count ? count + 1 : total + n;
  if (total != count && s.skeleton) return;  // its text does not say which is which
  if (total != count)
    return fail(s.start, std::string(s.name) + " has " + std::to_string(count) +
                             " operands, its operands are (" + std::string(op_info(s.kind).operands) + ")");
  size_t at = s.operands_base;
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i = 0; i < sizes[g]; ++i) operands_[at++].group = static_cast<uint8_t>(g);
}

// ---- an op

Op* Parser::op() {
  OpState s;
  ws();
  s.start = p_;
  s.names_base = names_.size();
  if (*p_ == '%') {
    do {
      ws();
      const char* at = p_;
      if (*p_ != '%') {
        expected("a result's name");
        break;
      }
      ++p_;
      std::string_view name = suffix_id();
      if (name.empty()) {
        expected("a result's name after '%'");
        break;
      }
      uint32_t count = 1;
      if (*p_ == ':') {
        ++p_;
        int64_t n = integer();
        if (!failed() && (n < 1 || n > 1 << 16)) fail(at, "a group of results has 1 to 65536 of them");
        count = static_cast<uint32_t>(n);
      }
      names_.push_back({name, count, at});
      s.name_count += count;
    } while (eat(','));
    s.names = static_cast<uint32_t>(names_.size() - s.names_base);
    expect("=");
  }
  s.operands_base = operands_.size();
  s.attrs_base = attrs_.size();
  s.types_base = types_.size();
  s.regions_base = regions_.size();
  s.successors_base = successors_.size();
  if (peek() == '"') {
    s.name = string_text();
    s.kind = find_op(s.name);
    if (!failed()) generic(s);
  } else {
    const char* at = p_;
    s.name = word();
    if (s.name.empty()) {
      expected("an op");
    } else {
      s.kind = find_op(s.name);
      if (s.kind != OpKind::kUnknown) {
        forms(s);
      } else if (s.name.find('.') == std::string_view::npos && s.name != "func") {
        std::vector<std::string> known, notes;
        for (const OpInfo& row : op_table()) known.emplace_back(row.name);
        for (const std::string& n : base::nearest_names(std::string(s.name), known))
          notes.push_back("did you mean " + n + "?");
        fail(at, "expected an op, found '" + std::string(s.name) + "'", notes);
      } else {
        unknown(s);
      }
    }
  }
  Op* made = finish(s);
  if (failed()) recover(s);
  return made;
}

// After a fault in an op of one line: keep it, name its results as values of any type, and go on with the
// next line.
void Parser::recover(const OpState& s) {
  if (errors_.size() >= kMaxErrors || block_names_.empty()) return;
  const char* line_end = std::max(error_at_, s.start);
  while (line_end < end_ && *line_end != '\n') ++line_end;
  const char* last = line_end;
  while (last > s.start && is_space(last[-1])) --last;
  const char* next = line_end;
  while (next < end_ && is_space(*next)) ++next;
  bool op_follows = *next == '%' || *next == '}' || *next == '"';
  if (is_letter(*next)) {
    const char* e = next;
    while (is_word(*e)) ++e;
    op_follows = find_op({next, static_cast<size_t>(e - next)}) != OpKind::kUnknown;
  }
  if (last > s.start && (last[-1] == '{' || last[-1] == '(')) return;  // its region would be taken for ours
  if (!op_follows || std::find(s.start, error_at_, '\n') != error_at_) return;
  errors_.push_back(std::move(*error_));
  error_.reset();
  p_ = next;
  const Type* any = m_.named_type(TypeKind::kOpaque, kAnyType);
  for (const char* q = s.start; *q == '%';) {
    p_ = q + 1;
    std::string_view name = suffix_id();
    uint32_t count = 1;
    if (*p_ == ':') ++p_, count = static_cast<uint32_t>(std::clamp<int64_t>(integer(), 1, 1 << 16));
    std::span<Value> values = m_.arena.array<Value>(count);
    for (Value& value : values) value.type = any;
    NameEntry& entry = entries_[name_id(name)];
    if (!name.empty() && !(entry.value && entry.isolation == isolation_) && !failed())
      define(name, values, q);
    while (*p_ == ' ') ++p_;
    if (*p_ != ',') break;
    ++p_;
    while (*p_ == ' ') ++p_;
    q = p_;
  }
  error_.reset();
  p_ = next;
}

Op* Parser::finish(OpState& s) {
  Op* made = m_.arena.make<Op>();
  const Location* loc = nullptr;
  const char* end = token_end();
  if (!failed()) {
    if (peek() == 'l' &&
        std::string_view(p_, std::min<size_t>(4, static_cast<size_t>(end_ - p_))) == "loc(") {
      loc = location();
      end = p_;
    } else {
      p_ = end;
      gap_end_ = nullptr;
    }
  }
  if (failed()) {
    operands_.resize(s.operands_base);
    attrs_.resize(s.attrs_base);
    types_.resize(s.types_base);
    regions_.resize(s.regions_base);
    successors_.resize(s.successors_base);
    names_.resize(s.names_base);
    return made;
  }
  made->kind = s.kind;
  made->name = s.name;
  made->form = s.form;
  made->num_properties = s.num_properties;
  made->skeleton = s.skeleton;
  made->loc = loc;
  made->text = {s.start, static_cast<size_t>(end - s.start)};

  size_t count = operands_.size() - s.operands_base;
  const Operand* operands = operands_.data() + s.operands_base;
  size_t group_count = s.kind == OpKind::kUnknown ? 1 : op_syntax(s.kind).groups.size();
  auto ends = m_.arena.array<uint32_t>(group_count);
  auto uses = m_.arena.array<Use>(count);
  uint32_t at = 0;
  auto place = [&](const Operand& operand) {
    Use& u = uses[at];
    u = {operand.value, made, at, operand.value->first_use, &operand.value->first_use};
    if (u.next) u.next->prev = &u.next;
    operand.value->first_use = &u;
    ++at;
  };
  bool sorted = true;
  for (size_t i = 1; i < count; ++i) sorted = sorted && operands[i - 1].group <= operands[i].group;
  if (sorted) {
    size_t i = 0;
    for (size_t g = 0; g < group_count; ++g) {
      while (i < count && operands[i].group == g) place(operands[i++]);
      ends[g] = at;
    }
  } else {
    for (size_t g = 0; g < group_count; ++g) {
      for (size_t i = 0; i < count; ++i)
        if (operands[i].group == g) place(operands[i]);
      ends[g] = at;
    }
  }
  made->operand_uses = uses;
  made->group_ends = ends;
  made->attrs = m_.arena.copy(attrs_.data() + s.attrs_base, attrs_.size() - s.attrs_base);
  made->regions = m_.arena.copy(regions_.data() + s.regions_base, regions_.size() - s.regions_base);
  for (Region* region : made->regions) region->parent = made;
  made->successors =
      m_.arena.copy(successors_.data() + s.successors_base, successors_.size() - s.successors_base);

  size_t results = types_.size() - s.types_base;
  made->results = m_.arena.array<Value>(results);
  for (size_t i = 0; i < results; ++i) {
    Value& value = made->results[i];
    value.type = types_[s.types_base + i];
    value.defining_op = made;
    value.index = static_cast<uint32_t>(i);
    value.loc = loc;
  }
  if (s.names) {
    if (s.name_count != results) {
      fail(names_[s.names_base].at, std::string(s.name) + " has " + std::to_string(results) +
                                        " results, but " + std::to_string(s.name_count) + " are named here");
    } else {
      size_t first = 0;
      for (size_t n = s.names_base; n < names_.size() && !failed(); ++n) {
        define(names_[n].name, made->results.subspan(first, names_[n].count), names_[n].at);
        first += names_[n].count;
      }
    }
  }
  operands_.resize(s.operands_base);
  attrs_.resize(s.attrs_base);
  types_.resize(s.types_base);
  regions_.resize(s.regions_base);
  successors_.resize(s.successors_base);
  names_.resize(s.names_base);
  return made;
}

}  // namespace triton_runner::ir
