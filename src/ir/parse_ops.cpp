// Parses ops: their operands and types, the generic form, and the op that is made of them. The syntax of an
// op with a row is in parse_assembly.cpp, that of an op without one in parse_unknown.cpp.
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

void Parser::read_type(const Operand& operand) {
  ws();
  const char* at = p_;
  const Type* t = type();
  if (!failed()) check_type(operand, t, at);
}

void Parser::operand_types(uint8_t group, OpState& s) {
  bool first = true;
  for (size_t i = s.operands_base; i < operands_.size(); ++i) {
    if (operands_[i].group != group) continue;
    if (!first && !expect(",")) return;
    first = false;
    read_type(operands_[i]);
    if (failed()) return;
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
      read_type(operands_[i]);
      if (failed()) return;
    }
  }
  if (expect(")") && expect("->")) type_list(types_);
}

// ---- the generic form: "name"(operands) [successors] <{properties}> ({regions}) {attributes} : type

void Parser::generic(OpState& s) {
  expect("(");
  operand_list(0);
  expect(")");
  if (eat('[')) list("]", [&] { successor(0); });
  if (peek() == '<' && !failed()) {
    ++p_;
    if (peek() != '{') return expected("'{'");
    add_dict();
    s.num_properties = static_cast<uint16_t>(attrs_.size() - s.attrs_base);
    expect(">");
  }
  if (!failed() && peek() == '(') {
    ++p_;
    do regions_.push_back(region({}));
    while (!failed() && eat(','));
    expect(")");
  }
  if (!failed()) add_dict();
  if (!failed() && expect(":")) functional(0, s);
  if (!failed() && s.kind != OpKind::kUnknown) assign_groups(s);
}

// Assigns the operands to their groups: as operandSegmentSizes says, or as the counts allow.
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
      BlockArg result{};
      if (!argument_name(result, "a result's name")) break;
      const auto [name, at, type, loc] = result;
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

// The operands by group, each as a use of its value.
void Parser::give_operands(const OpState& s, Op* made) {
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
  // In a text that is taken as it is, this places what its row has no group for.
  for (size_t i = 0; i < count; ++i)
    if (operands[i].group >= group_count) place(operands[i]);
  made->operand_uses = uses;
  made->group_ends = ends;
}

// The results with their types and names.
void Parser::give_results(const OpState& s, Op* made) {
  size_t results = types_.size() - s.types_base;
  made->results = m_.arena.array<Value>(results);
  for (size_t i = 0; i < results; ++i) {
    Value& value = made->results[i];
    value.type = types_[s.types_base + i];
    value.defining_op = made;
    value.index = static_cast<uint32_t>(i);
    value.loc = made->loc;
  }
  if (!s.names) return;
  if (s.name_count != results)
    return fail(names_[s.names_base].at, std::string(s.name) + " has " + std::to_string(results) +
                                             " results, but " + std::to_string(s.name_count) +
                                             " are named here");
  size_t first = 0;
  for (size_t n = s.names_base; n < names_.size() && !failed(); ++n) {
    define(names_[n].name, made->results.subspan(first, names_[n].count), names_[n].at);
    first += names_[n].count;
  }
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
  if (failed()) return drop(s), made;
  made->kind = s.kind;
  made->name = s.name;
  made->form = s.form;
  made->num_properties = s.num_properties;
  made->skeleton = s.skeleton;
  made->loc = loc;
  made->text = {s.start, static_cast<size_t>(end - s.start)};

  give_operands(s, made);
  made->attrs = m_.arena.copy(attrs_.data() + s.attrs_base, attrs_.size() - s.attrs_base);
  made->kind = variant_of(*made);
  made->regions = m_.arena.copy(regions_.data() + s.regions_base, regions_.size() - s.regions_base);
  for (Region* region : made->regions) region->parent = made;
  made->successors =
      m_.arena.copy(successors_.data() + s.successors_base, successors_.size() - s.successors_base);

  give_results(s, made);
  drop(s);
  return made;
}

void Parser::drop(const OpState& s) {
  operands_.resize(s.operands_base);
  attrs_.resize(s.attrs_base);
  types_.resize(s.types_base);
  regions_.resize(s.regions_base);
  successors_.resize(s.successors_base);
  names_.resize(s.names_base);
}

}  // namespace triton_runner::ir
