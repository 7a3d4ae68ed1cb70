// Translates a module to another release: first ops are replaced (translate_ops.cpp), then types and
// attributes (translate_types.cpp), and then each op gets the name and the text that the release has for it.
#include "translate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <triton_runner/ir/walk.h>

#include "assembly.h"
#include "printer.h"

namespace triton_runner::ir {
namespace {

bool covers(Release since, Release until, Release of) { return since <= left(of) && left(of) <= until; }

// Returns whether a distribution has an op by its own row; none where it is as in the release that it left.
std::optional<bool> own_answer(Release of, std::string_view name) {
  const ReleaseInfo* other = distribution(of);
  if (!other || (!other->adds(name) && !other->drops(name))) return std::nullopt;
  return other->adds(name);
}

// Returns whether a release or a distribution has an op, by any name.
bool has(Release of, OpKind kind) {
  if (kind == OpKind::kUnknown) return true;  // what we do not know we do not judge
  const OpInfo& row = op_info(kind);
  if (auto own = own_answer(of, row.name)) return *own;
  return covers(row.since, row.until, of) || std::ranges::any_of(old_names(), [&](const OldName& old) {
           return old.kind == kind && covers(old.since, old.until, of);
         });
}

// Returns whether it prints the op by the name that the op has in this text.
bool prints(Release of, const Op& op) {
  if (op.kind == OpKind::kUnknown) return true;
  if (auto own = own_answer(of, op.name)) return *own;
  for (const OldName& old : old_names())
    if (old.kind == op.kind && old.name == op.name) return covers(old.since, old.until, of);
  const OpInfo& row = op_info(op.kind);
  if (row.since == kFork)  // of a fork without a row it says nothing
    return std::ranges::none_of(distribution_table(), [&](auto& other) { return other.adds(row.name); });
  return covers(row.since, row.until, of) &&
         std::ranges::all_of(kDialectPrefixes, [&](const DialectPrefix& dialect) {
           return (!op.name.starts_with(dialect.old_prefix) || left(of) <= dialect.until) &&
                  (!op.name.starts_with(dialect.prefix) || left(of) > dialect.until);
         });
}

}  // namespace

void Translator::each_op(const std::function<void(Op*)>& f) {
  for (Block* block = m_.top->first; block; block = block->next)
    for (Op *op = block->first, *next; op; op = next) {
      next = op->next;
      for_each_op(op, f);
    }
}

void Translator::note(std::string from, std::string to) {
  std::string change = std::move(from) + ": " + std::move(to);
  if (std::ranges::find(changes_, change) == changes_.end()) changes_.push_back(std::move(change));
}

void Translator::fail(const Op* op, std::string message, std::vector<std::string> notes) {
  errors_.push_back(op->text.empty() ? base::failure(std::move(message), std::move(notes))
                                     : m_.error_at(op->text.data(), std::move(message), std::move(notes)));
}

// The release's name for the op, and the text that it has there.
void Translator::name_and_form(Op* op) {
  if (op->kind == OpKind::kUnknown || op->kind == OpKind::kModule) return;
  const OpInfo& row = op_info(op->kind);
  const bool is_newest = own_answer(to_, row.name).value_or(false);
  std::string_view name = row.name;
  if (!is_newest) {
    for (const OldName& old : old_names())
      if (old.kind == op->kind && covers(old.since, old.until, to_) && old.until < kNow) name = old.name;
    if (release_ < row.since || name == row.name) name = renamed(name);
  }
  if (name != op->name) {
    note(std::string(op->name), std::string(name));
    op->name = name;
  }
  if (op->form == 0) return;
  const std::vector<Assembly>& forms = op_syntax(op->kind).forms;
  auto is_read = [&](const Assembly& form) {
    return is_newest ? form.until == kNow : covers(form.since, form.until, to_);
  };
  size_t chosen = is_read(forms[op->form - 1u]) ? op->form : 1;
  for (size_t f = 2; f <= forms.size(); ++f)
    if (is_read(forms[f - 1]) && forms[f - 1].until < kNow) chosen = f;
  if (chosen == 1 && op->form > 1 && forms[op->form - 1u].until == kNow) chosen = op->form;
  if (chosen == op->form) return;
  // Forms may differ in spaces alone, or in operands that this op does not have.
  auto text_in = [&](size_t form) {
    const uint8_t own = std::exchange(op->form, static_cast<uint8_t>(form));
    Printer printer(m_, false);
    printer.op(*op);
    op->form = own;
    std::erase_if(printer.out, [](char c) { return c == ' '; });
    return std::move(printer.out);
  };
  if (text_in(op->form) == text_in(chosen)) return;
  note("the text of " + std::string(op->name), "that of " + spelled(to_));
  op->form = static_cast<uint8_t>(chosen);
}

base::Result<Translation> Translator::run() {
  each_op([&](Op* op) { replace(op); });
  each_op([&](Op* op) {
    for (Value& result : op->results) result.type = type(result.type);
    for (Region* region : op->regions)
      for (Block* block = region->first; block; block = block->next)
        for (Value& arg : block->args) arg.type = type(arg.type);
    std::vector<NamedAttr> attrs;
    for (const NamedAttr& a : op->attrs) attrs.push_back({renamed(a.name), attr(a.value)});
    op->attrs = m_.arena.copy(attrs.data(), attrs.size());
  });
  const char* const other = release_ >= kColumnStrides ? "unpacked" : "colStride";
  std::erase_if(m_.aliases, [&](const AliasDef& alias) {  // each use has its own now
    return alias.attr && alias.attr->string == "ttng.tensor_memory_encoding" && alias.attr->get(other);
  });
  for (AliasDef& alias : m_.aliases) {
    if (alias.attr) alias.attr = attr(alias.attr);
    if (alias.type) alias.type = type(alias.type);
  }
  each_op([&](Op* op) { pass_on_types(op); });
  each_op([&](Op* op) {
    name_and_form(op);
    if (!has(to_, op->kind))
      fail(op, "Triton " + spelled(to_) + " has no op " + std::string(op->name) +
                   ", and none that stands for it");
  });
  if (!errors_.empty()) return errors_.front();
  bool same = changes_.empty() && std::ranges::all_of(attrs_, [](auto& a) { return a.first == a.second; }) &&
              std::ranges::all_of(types_, [](auto& t) { return t.first == t.second; });
  if (same) return Translation{std::string(module_.source()), {}};
  return Translation{module_.print_canonical(), std::move(changes_)};
}

std::vector<Release> written_by(const Module& module) {
  std::vector<Release> found;
  for (std::span rows : {release_table(), distribution_table()})
    for (const ReleaseInfo& row : rows) found.push_back(row.version);
  for_each_op(module.op(),
              [&](Op* op) { std::erase_if(found, [&](Release of) { return !prints(of, *op); }); });
  return found;
}

base::Result<Translation> translate(Module& module, Release to) { return Translator(module, to).run(); }

}  // namespace triton_runner::ir
