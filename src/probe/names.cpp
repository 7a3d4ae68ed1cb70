// Implements Names: numbers the values that share a name, and decides which value "%acc@2" means.
#include "names.h"

#include <algorithm>

#include <triton_runner/probe/select.h>

#include "paths.h"

namespace triton_runner::probe {
namespace {

using Visit = std::function<void(const ir::Op& parent, const ir::Value&)>;

// Visits the values of a region; `calls` collects what is called there.
void for_each_value_in(const ir::Region& region, const Visit& visit, std::vector<const ir::Op*>& calls) {
  for (const ir::Block* b = region.first; b; b = b->next) {
    for (const ir::Value& v : b->args) visit(*region.parent, v);
    for (const ir::Op* op = b->first; op; op = op->next) {
      for (const ir::Value& v : op->results) visit(*op, v);
      if (op->kind == ir::OpKind::kCall) calls.push_back(op);
      for (const ir::Region* inner : op->regions) for_each_value_in(*inner, visit, calls);
    }
  }
}

bool is_on(const ir::Location* at, std::string_view file, int line) {
  if (!at) return false;
  if (at->kind == ir::LocKind::kFile) return at->line == line && ends_in(at->file, file);
  if (at->kind == ir::LocKind::kFused)
    return std::any_of(at->children.begin(), at->children.end(),
                       [&](const ir::Location* c) { return is_on(c, file, line); });
  return is_on(at->child, file, line) ||
         (at->kind == ir::LocKind::kCallSite && is_on(at->caller, file, line));
}

// "%acc@2" as "%acc" and "2".
std::string_view without_choice(std::string_view text, std::string_view* choice) {
  const size_t at = text.find('@');
  *choice = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return text.substr(0, at);
}

std::string_view base_of(std::string_view name) {
  name.remove_prefix(name.starts_with('%'));
  return name.substr(0, name.find('#'));
}

}  // namespace

void for_each_value(const ir::Module& module, const ir::Op& func, const Visit& visit) {
  std::vector<const ir::Op*> functions{&func};
  for (size_t i = 0; i < functions.size(); ++i) {
    std::vector<const ir::Op*> calls;
    for (const ir::Region* r : functions[i]->regions) for_each_value_in(*r, visit, calls);
    for (const ir::Op* call : calls) {
      const ir::Attr* callee = call->attr("callee");
      const ir::Op* called = callee ? module.find_function(callee->string) : nullptr;
      if (called && std::find(functions.begin(), functions.end(), called) == functions.end())
        functions.push_back(called);
    }
  }
}

std::vector<const ir::Op*> loops_around(const ir::Block* block) {
  std::vector<const ir::Op*> loops;
  for (const ir::Op* op = block->region->parent; op && op->kind != ir::OpKind::kFunc;
       op = op->block->region->parent)
    if (op->kind == ir::OpKind::kFor || op->kind == ir::OpKind::kWhile) loops.push_back(op);
  std::reverse(loops.begin(), loops.end());
  return loops;
}

std::string path_of(const ir::Value& value) {
  auto place = [](const ir::Op& op) {
    size_t before = 0;
    for (const ir::Op* o = op.prev; o; o = o->prev) ++before;
    return std::string(op.name) + "@" + std::to_string(before);
  };
  std::string path = value.defining_op ? "/" + place(*value.defining_op) : std::string();
  const ir::Block* block = value.defining_op ? value.defining_op->block : value.block;
  for (; block->region->parent; block = block->region->parent->block) {
    const ir::Op& op = *block->region->parent;
    if (op.kind == ir::OpKind::kFunc) return std::string(op.attr("sym_name")->string) + path;
    const auto region = std::find(op.regions.begin(), op.regions.end(), block->region) - op.regions.begin();
    path = "/" + place(op) + "." + std::to_string(region) + path;
  }
  return path;
}

bool stands_on(const ir::Value& value, std::string_view file, int line) {
  return is_on(location_of(value), file, line);
}

Names::Names(const ir::Module& module, const ir::Op& func) {
  for_each_value(module, func, [&](const ir::Op&, const ir::Value& v) {
    if (v.group_index == 0 && !v.name.empty()) definitions_[v.name].push_back(&v);
  });
}

size_t Names::number_of(const ir::Value& value) const {
  const auto all = definitions_.find(value.name);
  if (all == definitions_.end() || all->second.size() < 2) return 0;
  const auto at = std::find(all->second.begin(), all->second.end(), definition_of(value));
  return at == all->second.end() ? 0 : static_cast<size_t>(at - all->second.begin()) + 1;
}

std::string Names::of(const ir::Value& value) const {
  const size_t number = number_of(value);
  return number ? name_of(value) + "@" + std::to_string(number) : name_of(value);
}

bool Names::means(std::string_view text, const ir::Value& value) const {
  std::string_view choice;
  const std::string_view name = without_choice(text, &choice);
  const bool whole = value.group_size > 1 && name.substr(1) == value.name;
  if (!whole && name != name_of(value)) return false;
  if (choice.empty()) return name.size() == text.size();
  std::string_view file;
  if (int line; split_line(choice, file, line)) return stands_on(value, file, line);
  return choice == std::to_string(std::max<size_t>(1, number_of(value)));
}

std::vector<std::string> Names::choices(std::string_view text) const {
  std::string_view choice;
  const auto all = definitions_.find(base_of(without_choice(text, &choice)));
  if (all == definitions_.end() || all->second.size() < 2) return {};
  std::vector<std::string> out;
  for (size_t i = 0; i < all->second.size(); ++i) {
    const ir::Value& v = *all->second[i];
    const Site site = site_of(v, "", "");
    out.push_back("'%" + std::string(v.name) + "@" + std::to_string(i + 1) + "' is " + site.op +
                  (site.line
                       ? " of " + site.file.substr(site.file.rfind('/') + 1) + ":" + std::to_string(site.line)
                       : std::string()));
  }
  return out;
}

}  // namespace triton_runner::probe
