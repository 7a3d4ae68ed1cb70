// Implements the parser's names of a function: scopes that hide each other, registers made when they are
// first used, labels that stand further down than those who branch to them. See PTX ISA 4.4, 5.4.
#include <algorithm>

#include "parser.h"

namespace triton_runner::ptx {
namespace {

constexpr size_t kDenseRegisters = 4096;  // of a family, found by their number alone
constexpr size_t kNamesToCompare = 4096;  // of a text, for "did you mean"
constexpr size_t kLongestCompared = 80;

}  // namespace

void Parser::begin_function() {
  symbols_.clear();
  families_.clear();
  family_registers_.clear();
  far_registers_.clear();
  scopes_.clear();
  pending_.clear();
  registers_.clear();
  locals_.clear();
  body_.clear();
  branch_targets_.clear();
  call_targets_.clear();
  numbered_names_ = digit_families_ = false;
  source_ = nullptr;
  open_scope();
}

bool Parser::finish_function(Function& f) {
  // A name that no scope could resolve is an error; the first in the text is told of.
  if (!close_scope()) return false;
  if (!pending_.empty()) {
    const auto first = std::ranges::min_element(pending_, {}, &Pending::offset);
    return fail(first->offset, "label '" + std::string(first->name) + "' is not declared", label_notes_);
  }
  f.registers = arena_.copy(registers_.data(), registers_.size());
  f.variables = VariableList(arena_.copy(locals_.data(), locals_.size()));
  f.body = arena_.copy(body_.data(), body_.size());
  return true;
}

bool Parser::declare(Symbol symbol) {
  const bool family = symbol.kind == SymbolKind::kFamily;
  std::vector<Symbol>& list = family ? families_ : symbols_;
  int32_t& head = (family ? family_heads_ : name_heads_).at(symbol.name);
  symbol.depth = depth();
  symbol.hides = head;
  if (head && list[static_cast<size_t>(head) - 1].depth == symbol.depth)
    return fail(symbol.offset, "'" + std::string(symbol.name) + "' is declared twice",
                {"the first is at " + module_.location(list[static_cast<size_t>(head) - 1].offset).str()});
  if (!family && symbol.name[0] == '%' && is_digit(symbol.name.back())) numbered_names_ = true;
  list.push_back(symbol);
  head = static_cast<int32_t>(list.size());
  return true;
}

Parser::Symbol* Parser::find_name(std::string_view name) {
  const int32_t* head = name_heads_.find(name);
  return head && *head ? &symbols_[static_cast<size_t>(*head) - 1] : nullptr;
}

// The family that declares `name`: %r17 by %r<33>. Where a prefix ends in a digit itself, the innermost.
Parser::Symbol* Parser::find_family(std::string_view name, uint64_t* number) {
  size_t split = name.size();
  uint64_t value = 0, unit = 1;
  Symbol* best = nullptr;
  while (split > 1 && is_digit(name[split - 1]) &&
         name.size() - split < 10) {  // the most that a count of 32 bits has
    value += static_cast<uint64_t>(name[--split] - '0') * unit;
    unit *= 10;
    const bool all = !is_digit(name[split - 1]);
    if ((!all && !digit_families_) || (name[split] == '0' && split + 1 < name.size())) continue;
    const int32_t* head = family_heads_.find(name.substr(0, split));
    if (!head || !*head) continue;
    Symbol* family = &families_[static_cast<size_t>(*head) - 1];
    while (value >= family->count && family->hides)
      family = &families_[static_cast<size_t>(family->hides) - 1];
    if (value >= family->count || (best && best->depth >= family->depth)) continue;
    best = family;
    *number = value;
  }
  return best;
}

// The register of a family's number, + 1; 0 before its first use. Large numbers cost what is used of them.
uint32_t& Parser::family_register(const Symbol& family, uint64_t number) {
  if (number >= kDenseRegisters) return far_registers_[uint64_t{family.index} << 34 | number];
  std::vector<uint32_t>& made = family_registers_[family.index];
  if (number >= made.size())
    made.resize(std::max<size_t>(number + 1, std::min(made.size() * 2, kDenseRegisters)));
  return made[number];
}

uint32_t Parser::make_register(std::string_view name, Mod type) {
  registers_.push_back({name, type});
  return static_cast<uint32_t>(registers_.size()) - 1;
}

bool Parser::close_scope() {
  const Scope scope = scopes_.back();
  const uint32_t inside = depth();
  size_t kept = scope.pending;
  for (size_t i = scope.pending; i < pending_.size(); ++i) {
    const Symbol* symbol = find_name(pending_[i].name);
    if (symbol && symbol->depth == inside) {
      if (!resolve(pending_[i], *symbol)) return false;
    } else {
      pending_[kept++] = pending_[i];
    }
  }
  pending_.resize(kept);
  if (scopes_.size() == 1 && kept) note_labels();
  while (symbols_.size() > scope.symbols) {
    name_heads_.at(symbols_.back().name) = symbols_.back().hides;
    symbols_.pop_back();
  }
  while (families_.size() > scope.families) {
    family_heads_.at(families_.back().name) = families_.back().hides;
    families_.pop_back();
  }
  scopes_.pop_back();
  return true;
}

bool Parser::resolve(const Pending& pending, const Symbol& symbol) {
  const std::string name = "'" + std::string(pending.name) + "'";
  const bool label = symbol.kind == SymbolKind::kLabel;
  if (pending.target) {
    if (!label) return fail(pending.offset, name + " is not a label");
    *pending.target = symbol.index;
    return true;
  }
  Instruction& in = body_[pending.at];
  const bool fits = in.opcode == Opcode::kBra ? label
                    : in.opcode == Opcode::kBrx
                        ? symbol.kind == SymbolKind::kBranchTargets
                        : symbol.kind == SymbolKind::kCallTargets || symbol.kind == SymbolKind::kPrototype;
  if (!fits)
    return fail(pending.offset,
                name + (in.opcode == Opcode::kBra   ? " is not a label"
                        : in.opcode == Opcode::kBrx ? " is not a list of .branchtargets"
                                                    : " is not a .calltargets or .callprototype"));
  if (label) pending.operand->integer = symbol.index;
  if (symbol.kind == SymbolKind::kBranchTargets) in.targets = branch_targets_[symbol.index];
  if (symbol.kind == SymbolKind::kCallTargets) in.callees = call_targets_[symbol.index];
  in.prototype = symbol.prototype;
  return true;
}

// The labels that are there, for the message about one that is not.
void Parser::note_labels() {
  std::vector<std::string> names;
  for (const Symbol& s : symbols_)
    if (s.kind == SymbolKind::kLabel && s.name.size() < kLongestCompared && names.size() < kNamesToCompare)
      names.emplace_back(s.name);
  const auto first = std::ranges::min_element(pending_, {}, &Pending::offset);
  label_notes_.clear();
  if (first->name.size() < kLongestCompared)
    for (const std::string& near : base::nearest_names(first->name, names))
      label_notes_.push_back("did you mean '" + near + "'?");
}

bool Parser::unknown_name(std::string_view name, uint32_t offset, const char* what) {
  std::vector<std::string> names, notes;
  const auto add = [&](std::string_view known) {
    if (known.size() < kLongestCompared && names.size() < kNamesToCompare) names.emplace_back(known);
  };
  const bool function = std::string_view(what) == "function";
  if (!function)
    for (const Symbol& s : symbols_) add(s.name);
  globals_.for_each([&](std::string_view known, const Global& global) {
    if (global.function || (global.variable && !function)) add(known);
  });
  if (name.starts_with('%')) what = "register";
  if (name.starts_with('%'))
    for (std::string_view special : special_names()) add(special);
  std::string_view prefix = name;
  while (!prefix.empty() && is_digit(prefix.back())) prefix.remove_suffix(1);
  for (const Symbol& family : families_)
    if (family.name == prefix && prefix.size() < name.size())
      notes.push_back("." + std::string(text(family.type)) + " " + std::string(prefix) + "<" +
                      std::to_string(family.count) + "> declares " + std::string(prefix) + "0 to " +
                      std::string(prefix) + std::to_string(family.count - (family.count ? 1 : 0)));
  if (notes.empty() && name.size() < kLongestCompared)
    for (const std::string& near : base::nearest_names(name, names))
      notes.push_back("did you mean '" + near + "'?");
  return fail(offset, std::string(what) + " '" + std::string(name) + "' is not declared", notes);
}

}  // namespace triton_runner::ptx
