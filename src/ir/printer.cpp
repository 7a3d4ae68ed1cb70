// Prints ops from the graph: by the assembly column of ops.def, in MLIR's generic form, or by their custom
// syntax. Types, attributes and locations are in text_writer.cpp.
#include "printer.h"

#include <algorithm>
#include <functional>

#include "parser.h"

namespace triton_runner::ir {
namespace {

constexpr std::string_view kSegments[] = {"operandSegmentSizes", "resultSegmentSizes",
                                          "operand_segment_sizes"};

// A word stands for a unit attribute; older releases have a bool of that name in the dictionary.
bool spells(const Piece& piece, const Attr* a) {
  return piece.form != AttrForm::kUnit || a->kind == AttrKind::kUnit;
}

bool has_token(const Op& op) {
  return !op.results.empty() && op.results.back().type->kind == TypeKind::kToken;
}

void for_each_block(const Region* region, const std::function<void(const Block*)>& f) {
  for (const Block* block = region->first; block; block = block->next) {
    f(block);
    for (const Op* op = block->first; op; op = op->next)
      for (const Region* inner : op->regions) for_each_block(inner, f);
  }
}

}  // namespace

// ---- names

std::string_view Printer::name_of(const Value* value) {
  if (!value->name.empty()) return value->name;
  std::string& made = made_names_[value];
  if (made.empty()) {
    if (used_names_.empty()) {
      for_each_block(m_.top, [&](const Block* block) {
        for (const Value& arg : block->args) used_names_.insert(arg.name);
        for (const Op* op = block->first; op; op = op->next)
          for (const Value& result : op->results) used_names_.insert(result.name);
      });
      used_names_.insert("");
    }
    for (size_t n = made_names_.size() - 1;; ++n) {
      made = "v" + std::to_string(n);
      if (!used_names_.count(made)) break;
    }
    used_names_.insert(made);
  }
  return made;
}

void Printer::value(const Value* value, bool with_number) {
  out += '%';
  out += name_of(value);
  if (with_number && value->group_size > 1) out += '#' + std::to_string(value->group_index);
}

void Printer::values(std::span<const Use> uses) {
  separated(out, uses, [&](const Use& use) { value(use.value); });
}

void Printer::types(std::span<const Use> uses) {
  separated(out, uses, [&](const Use& use) { type(use.value->type); });
}

void Printer::result_types(std::span<const Value> results) {
  separated(out, results, [&](const Value& result) { type(result.type); });
}

// In parentheses, unless there is one.
void Printer::function_results(std::span<const Value> results, bool always_parens) {
  const bool parens = always_parens || results.size() != 1;
  if (parens) out += '(';
  result_types(results);
  if (parens) out += ')';
}

void Printer::signature(const Op& op) {
  out += '(';
  types(op.operand_uses);
  out += ") -> ";
  function_results(op.results);
}

void Printer::block_args(std::span<const Value> args) {
  out += '(';
  separated(out, args, [&](const Value& arg) {
    value(&arg);
    out += ": ";
    type(arg.type);
    location(arg.loc);
  });
  out += ')';
}

void Printer::symbol(std::string_view name) {
  out += '@';
  bool bare = !name.empty() && !is_digit(name[0]);
  for (char c : name) bare = bare && is_word(c);
  if (bare)
    out += name;
  else
    writer_.string(name);
}

void Printer::location(const Location* loc) {
  if (!loc) return;
  out += " loc(";
  writer_.location(loc);
  out += ')';
}

void Printer::dict(std::span<const NamedAttr> entries, std::initializer_list<std::string_view> without,
                   bool keyword) {
  std::vector<NamedAttr> shown;
  for (const NamedAttr& entry : entries) {
    bool hidden = std::find(without.begin(), without.end(), entry.name) != without.end() ||
                  std::find(std::begin(kSegments), std::end(kSegments), entry.name) != std::end(kSegments);
    if (!hidden) shown.push_back(entry);
  }
  if (shown.empty()) return;
  out += keyword ? " attributes {" : " {";
  writer_.entries(shown);
  out += '}';
}

void Printer::new_line() {
  out += '\n';
  out.append(static_cast<size_t>(indent_), ' ');
}

// ---- regions

void Printer::block_name(const Block* block) {
  out += '^';
  bool labelled = block != block->region->first || !block->args.empty();
  if (!block->name.empty() && labelled)
    out += block->name;
  else
    out += "bb" + std::to_string(block->index);
}

void Printer::label_head(const Block* block) {
  block_name(block);
  if (!block->args.empty()) block_args(block->args);
  out += ':';
}

void Printer::label(const Block* block, bool entry) {
  label_head(block);
  if (entry) return;
  std::vector<const Block*> predecessors;
  for (const Block* from = block->region->first; from; from = from->next)
    if (from->last)
      for (const Block* to : from->last->successors)
        if (to == block) predecessors.push_back(from);
  if (predecessors.empty()) {
    out += "  // no predecessors";
    return;
  }
  out +=
      predecessors.size() == 1 ? "  // pred: " : "  // " + std::to_string(predecessors.size()) + " preds: ";
  separated(out, predecessors, [&](const Block* from) { block_name(from); });
}

void Printer::region(const Region* region, bool entry_args, bool implied) {
  if (keep_text_ && !region->text.empty()) return kept_region(region, entry_args);
  out += '{';
  for (const Block* block = region->first; block; block = block->next) {
    bool entry = block == region->first;
    if (!entry || (entry_args && !block->args.empty())) {
      new_line();
      label(block, entry);
    }
    indent_ += 2;
    for (const Op* o = block->first; o; o = o->next) {
      if (implied && !o->next && !block->next && o->operand_uses.empty() && o->kind == OpKind::kYield)
        continue;
      new_line();
      op(*o);
    }
    indent_ -= 2;
  }
  new_line();
  out += '}';
}

// ---- ops

void Printer::results(const Op& op) {
  bool first = true;
  for (size_t i = 0; i < op.results.size(); i += std::max<size_t>(1, op.results[i].group_size)) {
    if (!first) out += ", ";
    first = false;
    value(&op.results[i], false);
    if (op.results[i].group_size > 1) out += ':' + std::to_string(op.results[i].group_size);
  }
  if (!first) out += " = ";
}

void Printer::op(const Op& op) {
  if (keep_text_ && !op.text.empty() && !op.edited) return kept_op(op);
  results(op);
  if (op.skeleton) {
    for (const SkeletonPart& part : op.skeleton->parts) switch (part.kind) {
        case SkeletonPart::kText:
          out += part.text;
          break;
        case SkeletonPart::kOperand:
          value(op.operand(part.index));
          break;
        case SkeletonPart::kSuccessor:
          block_name(op.successors[part.index]);
          break;
        case SkeletonPart::kDict:
          out += '{';
          writer_.entries(op.attrs);
          out += '}';
          break;
        case SkeletonPart::kRegion:
          region(op.regions[part.index]);
          break;
        case SkeletonPart::kBareRegion:
          region(op.regions[part.index], false);
          break;
      }
  } else if (op.form == 0) {
    generic(op);
  } else {
    const size_t begin = out.size();
    out += op.name;
    const Assembly& form = op_syntax(op.kind).forms[op.form - 1u];
    bool outer_space = space_, outer_punctuation = punctuation_, outer_incomplete = incomplete_;
    space_ = true, punctuation_ = false, incomplete_ = false;
    pieces(form, 0, form.pieces.size(), op);
    if (incomplete_) {
      out.resize(begin);
      generic(op);
    }
    space_ = outer_space, punctuation_ = outer_punctuation, incomplete_ = outer_incomplete;
  }
  location(op.loc);
}

void Printer::generic(const Op& op) {
  writer_.string(op.name);
  out += '(';
  values(op.operand_uses);
  out += ')';
  if (!op.successors.empty()) {
    out += '[';
    separated(out, op.successors, [&](const Block* to) { block_name(to); });
    out += ']';
  }
  size_t properties = std::min<size_t>(op.num_properties, op.attrs.size());
  if (properties) {
    out += " <{";
    writer_.entries(op.attrs.first(properties));
    out += "}>";
  }
  if (!op.regions.empty()) {
    out += " (";
    separated(out, op.regions, [&](const Region* inner) { region(inner); });
    out += ')';
  }
  if (properties < op.attrs.size()) {
    out += " {";
    writer_.entries(op.attrs.subspan(properties));
    out += '}';
  }
  out += " : ";
  signature(op);
}

void Printer::space() {
  if (space_ || !punctuation_) out += ' ';
  space_ = true;
  punctuation_ = false;
}

void Printer::literal(std::string_view text) {
  auto in = [](std::string_view set, char c) { return set.find(c) != std::string_view::npos; };
  bool before = true;
  if (text.size() == 1 || text == "->")
    before = punctuation_ ? !in(">)}],", text[0]) : !in("<>(){}[],", text[0]);
  if (space_ && before) out += ' ';
  out += text;
  space_ = text.size() != 1 || !in("<({[", text[0]);
  punctuation_ = !is_letter(text[0]);
}

bool Printer::present(const Assembly& form, size_t begin, size_t end, const Op& op) const {
  for (size_t i = begin; i < end; ++i) {
    const Piece& piece = form.pieces[i];
    switch (piece.kind) {
      case PieceKind::kOperands:
        if (!op.group(piece.group).empty()) return true;
        break;
      case PieceKind::kAttr:
        if (const Attr* a = op.attr(piece.text); a && spells(piece, a)) return true;
        break;
      case PieceKind::kTypes:
        if (piece.group >= kFirstResult ? !op.results.empty() : !op.group(piece.group).empty()) return true;
        break;
      case PieceKind::kCustom:
        if (piece.text == "barriers" && !op.group("barriers").empty()) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

// In a list of alternatives, an enumeration's first keyword is what holds without it: MLIR leaves it out.
bool Printer::is_default(const Piece& piece, const Op& op) {
  const Attr* a =
      piece.kind == PieceKind::kAttr && piece.form == AttrForm::kEnum ? op.attr(piece.text) : nullptr;
  return a && a->integer == piece.values->values[0].number;
}

void Printer::attribute(const Piece& piece, const Attr* a) {
  switch (piece.form) {
    case AttrForm::kUnit:
      return;
    case AttrForm::kSymbol:
      space();
      symbol(a->string);
      return;
    case AttrForm::kEnum: {
      const EnumInfo& info = *piece.values;
      if (!info.angled) space();
      if (info.angled) out += '<';
      if (!a->string.empty()) {
        out += a->string;
      } else if (const EnumValue* known = info.find(a->integer)) {
        out += known->keyword;
      } else {
        std::string all;
        for (const EnumValue& v : info.values)
          if (v.number && (a->integer & v.number) == v.number)
            all += (all.empty() ? "" : info.angled ? "," : "|") + std::string(v.keyword);
        out += all;
      }
      if (info.angled) out += '>';
      space_ = true, punctuation_ = false;
      return;
    }
    case AttrForm::kInts:
    case AttrForm::kTypes:
      space();
      out += '[';
      separated(out, a->raw, [&](uint64_t n) { out += std::to_string(static_cast<int64_t>(n)); });
      out += ']';
      return;
    case AttrForm::kInteger:
      space();
      writer_.attr_without_type(a);
      return;
    case AttrForm::kString:
    case AttrForm::kAny:
      space();
      attr(a);
  }
}

void Printer::piece_types(const Assembly& form, const Piece& piece, const Op& op) {
  if (piece.group == kEachResult || piece.group == kEverything) {
    type(op.results[0].type);
  } else if (piece.group == kAllResults) {
    const bool token =
        has_token(op) && std::any_of(form.pieces.begin(), form.pieces.end(),
                                     [](const Piece& p) { return p.kind == PieceKind::kToken; });
    result_types(op.results.first(op.results.size() - token));
  } else if (piece.group >= kFirstResult) {
    type(op.results[piece.group - kFirstResult].type);
  } else {
    types(op.group(piece.group));
  }
}

// (operands) -> results, of all operand groups or of those that the piece names.
void Printer::functional(const Piece& piece, const Op& op) {
  out += '(';
  bool first = true;
  for (uint32_t g = 0; g < op.group_ends.size(); ++g) {
    if (piece.groups && !(piece.groups >> g & 1)) continue;
    for (const Use& use : op.group(g)) {
      if (!first) out += ", ";
      first = false;
      type(use.value->type);
    }
  }
  out += ") -> ";
  function_results(op.results);
}

// The attributes that no piece of the form spells.
void Printer::other_attributes(const Assembly& form, const Op& op, bool keyword) {
  std::vector<NamedAttr> shown;
  for (const NamedAttr& entry : op.attrs) {
    const bool spelled = std::any_of(form.pieces.begin(), form.pieces.end(), [&](const Piece& p) {
      return p.kind == PieceKind::kAttr && p.text == entry.name && spells(p, entry.value);
    });
    if (!spelled) shown.push_back(entry);
  }
  const size_t before = out.size();
  dict(shown, {}, keyword);
  if (out.size() != before) space_ = true, punctuation_ = false;
}

// Prints those of the alternatives in pieces [begin, end) that the op has.
void Printer::any_of(const Assembly& form, size_t begin, size_t end, const Op& op) {
  for (size_t i = begin; i < end; i += 1 + form.pieces[i].length) {
    const size_t last = i + 1 + form.pieces[i].length;
    if (present(form, i + 1, last, op) && !is_default(form.pieces[last - 1], op))
      pieces(form, i + 1, last, op);
  }
}

void Printer::pieces(const Assembly& form, size_t begin, size_t end, const Op& op) {
  for (size_t i = begin; i < end; ++i) {
    const Piece& piece = form.pieces[i];
    switch (piece.kind) {
      case PieceKind::kLiteral:
        literal(piece.text);
        break;
      case PieceKind::kOperands:
        space();  // an empty list still has its space
        values(op.group(piece.group));
        break;
      case PieceKind::kAttr:
        if (const Attr* a = op.attr(piece.text)) attribute(piece, a);
        break;
      case PieceKind::kTypes:
        space();
        piece_types(form, piece, op);
        break;
      case PieceKind::kShortTypes:
        space();
        writer_.type_body(piece.group >= kFirstResult ? op.results[0].type
                                                      : op.operand_of(piece.group)->type);
        break;
      case PieceKind::kFunctional:
        space();
        functional(piece, op);
        break;
      case PieceKind::kDict:
      case PieceKind::kKeywordDict:
        other_attributes(form, op, piece.kind == PieceKind::kKeywordDict);
        break;
      case PieceKind::kOptional:
        if (present(form, i + 1, i + 1 + piece.length, op)) pieces(form, i + 1, i + 1 + piece.length, op);
        i += piece.length;
        break;
      case PieceKind::kAnyOf:
        any_of(form, i + 1, i + 1 + piece.length, op);
        i += piece.length;
        break;
      case PieceKind::kAlternative:  // any_of() has gone through them
        break;
      case PieceKind::kToken:
        if (has_token(op)) {
          out += '[';
          values(op.group(piece.group));
          out += ']';
          space_ = true, punctuation_ = false;
        }
        break;
      case PieceKind::kRegion:
        out += ' ';
        region(op.regions[0]);
        break;
      case PieceKind::kNoSpace:
        space_ = false, punctuation_ = true;
        break;
      case PieceKind::kCustom:
        find_custom(piece.text)->print(*this, op);
        break;
    }
  }
}

// ---- the whole module

void Printer::aliases(bool after) {
  for (const AliasDef& alias : m_.aliases) {
    if (alias.after != after) continue;
    out += alias.name;
    out += " = ";
    if (alias.loc) {
      out += "loc(";
      writer_.location(alias.loc, false);
      out += ')';
    } else if (alias.type) {
      type(alias.type);
    } else {
      writer_.attr(alias.attr, false);
      writer_.show_alias(alias.attr);
    }
    out += '\n';
  }
}

std::string Printer::whole() {
  if (keep_text_) {
    if (!m_.edited) return m_.source;
    const char* at = m_.source.data();
    for (const Op* o = m_.top->first->first; o; o = o->next) {
      if (o->text.empty()) {
        op(*o);
        out += '\n';
        continue;
      }
      source(at, o->text.data());
      op(*o);
      at = o->text.data() + o->text.size();
    }
    source(at, m_.source.data() + m_.source.size());
    return std::move(out);
  }
  for (const AliasDef& alias : m_.aliases)
    if (alias.attr) writer_.hide_alias(alias.attr);
  aliases(false);
  for (const Op* o = m_.top->first->first; o; o = o->next) {
    op(*o);
    out += '\n';
  }
  aliases(true);
  return std::move(out);
}

std::string Module::str() const { return Printer(*impl_, true).whole(); }
std::string Module::print_canonical() const { return Printer(*impl_, false).whole(); }

}  // namespace triton_runner::ir
