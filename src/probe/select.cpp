// Implements select(): finds the values that a person names by name, line, variable or op, and says which of
// them can be recorded.
#include <triton_runner/probe/select.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>

#include <triton_runner/ir/op_table.h>
#include <triton_runner/ir/text.h>
#include <triton_runner/num/types.h>

#include "names.h"
#include "paths.h"

namespace triton_runner::probe {

std::string_view printed_name(const ir::Value& value) {
  std::string_view name = value.name;
  auto digits_from = [&](size_t i) {
    return i < name.size() && std::all_of(
                                  name.begin() + static_cast<ptrdiff_t>(i), name.end(),
                                  [](unsigned char c) { return std::isdigit(c); });
  };
  if (name.empty() || digits_from(0) || (name.starts_with("arg") && digits_from(3))) return {};
  const size_t last = name.rfind('_');
  return last != std::string_view::npos && last > 0 && digits_from(last + 1) ? name.substr(0, last) : name;
}

namespace {

// The outermost name on the way to the file: what the statement assigns to.
std::string_view name_in(const ir::Location* at) {
  while (at) {
    if (at->kind == ir::LocKind::kName) return at->name;
    if (at->kind == ir::LocKind::kFused)
      at = at->children.empty() ? nullptr : at->children[0];
    else
      at = at->child;
  }
  return {};
}

// Returns the value that region `r` of an op gives as its number `i`: what the last op there yields.
const ir::Value* yielded(const ir::Op& op, uint32_t r, uint32_t i) {
  if (r >= op.regions.size() || !op.region(r)->last || !op.region(r)->last->last) return nullptr;
  const ir::Op& last = *op.region(r)->last->last;
  if (last.kind == ir::OpKind::kCondition) ++i;
  return i < last.num_operands() ? last.operand(i) : nullptr;
}

// An op with several results has one location, and the last of its variables gave it its name.
bool is_named_by_location(const ir::Value& value) {
  if (!value.defining_op) return value.loc != nullptr;
  return value.index + 1 == value.defining_op->results.size();
}

// Returns whether an op or argument has the very location of a loop beside it or around it, and is not that
// loop.
bool has_location_of_loop(const ir::Value& value) {
  const ir::Op* own = value.defining_op;
  const ir::Location* at = own ? own->loc : value.loc;
  if (!at || (own && own->kind == ir::OpKind::kFor)) return false;
  for (const ir::Block* block = own ? own->block : value.block; block;) {
    for (const ir::Op* op = block->first; op; op = op->next)
      if (op->kind == ir::OpKind::kFor && op->loc == at) return true;
    const ir::Op* around = block->region ? block->region->parent : nullptr;
    block = around ? around->block : nullptr;
  }
  return false;
}

}  // namespace

bool is_made_for_loop(const ir::Value& value) {
  if (has_location_of_loop(value)) return true;
  const ir::Op* op = op_of(value);
  if (!op || op->kind != ir::OpKind::kFor) return false;
  if (!value.defining_op && value.index == 0) {
    // This value counts the loop: Triton may have given it no name of its own.
    const std::string_view name = printed_name(value);
    return !name.empty() && name == name_in(op->loc);
  }
  const ir::Value* next = yielded(*op, 0, value.index - (value.defining_op ? 0 : 1));
  return next && has_location_of_loop(*next);
}

namespace {

// Returns whether an earlier result of the same loop is the variable of that name.
bool another_has(std::string_view name, const ir::Value& value);

// A value that a loop or branch carries has the name of its argument, else of what it yields.
std::string_view variable_of(const ir::Value& value, int depth = 0) {
  const ir::Op* op = op_of(value);
  const ir::Value* from = nullptr;
  if (is_made_for_loop(value)) return {};
  if (depth < 8 && op && value.defining_op && !op->regions.empty()) {
    if (op->kind == ir::OpKind::kFor || op->kind == ir::OpKind::kIf || op->kind == ir::OpKind::kWhile)
      from = yielded(*op, 0, value.index);
    if (op->kind == ir::OpKind::kFor && op->region(0)->first &&
        value.index + 1 < op->region(0)->first->args.size())
      if (auto name = printed_name(op->region(0)->first->args[value.index + 1]); !name.empty()) return name;
  } else if (op && !value.defining_op && op->kind == ir::OpKind::kFor) {
    if (auto name = printed_name(value); !name.empty()) return name;
    if (depth < 8 && value.index > 0) from = yielded(*op, 0, value.index - 1);
  }
  if (from && from != &value)
    if (std::string_view name = variable_of(*from, depth + 1); !name.empty()) return name;
  const std::string_view name =
      is_named_by_location(value) ? name_in(location_of(value)) : std::string_view{};
  return another_has(name, value) ? std::string_view{} : name;
}

bool another_has(std::string_view name, const ir::Value& value) {
  const ir::Op* op = value.defining_op;
  if (name.empty() || !op || op->kind != ir::OpKind::kFor) return false;
  for (const ir::Value& other : op->results)
    if (other.index < value.index)
      if (const ir::Value* from = yielded(*op, 0, other.index); from && variable_of(*from, 1) == name)
        return true;
  return false;
}

bool is_op_name(std::string_view text) {
  return text.find('.') != std::string_view::npos && text.find(':') == std::string_view::npos;
}

struct Candidate {
  const ir::Value* value;
  const ir::Op* op;
};

void keep_uncombined(std::vector<Candidate>& chosen) {
  auto combined = [](const Candidate& c) { return is_combined(*c.value); };
  if (!std::all_of(chosen.begin(), chosen.end(), combined)) std::erase_if(chosen, combined);
}

// Keeps of the values of a statement what it gives in the end: the last one, of tensors if there are any, and
// those of the same op (loops that were unrolled or pipelined have several).
void keep_last_of_statement(std::vector<Candidate> all, std::vector<Candidate>& chosen) {
  // A loop or branch gives the variable its value; what else stands on its line decides how it runs.
  auto has_regions = [](const Candidate& c) {
    return !c.value->defining_op || !c.value->defining_op->regions.empty();
  };
  if (std::any_of(all.begin(), all.end(), has_regions))
    std::erase_if(all, [&](const Candidate& c) { return !has_regions(c); });
  auto is_tensor = [](const Candidate& c) { return c.value->type->kind == ir::TypeKind::kTensor; };
  const bool tensors = std::any_of(all.begin(), all.end(), is_tensor);
  const Candidate* last = nullptr;
  for (const Candidate& c : all)
    if (!tensors || is_tensor(c)) last = &c;
  for (const Candidate& c : all)
    if (c.op->name == last->op->name && c.value->type->kind == last->value->type->kind &&
        std::ranges::equal(c.value->type->shape, last->value->type->shape))
      chosen.push_back(c);
}

std::optional<num::Type> element_of(const ir::Type& type) {
  const ir::Type& scalar = *type.scalar();
  if (scalar.kind == ir::TypeKind::kPointer) {
    const bool block = scalar.element && scalar.element->kind == ir::TypeKind::kTensor;
    return block ? std::nullopt : std::optional(num::Type::kI64);
  }
  return num::parse_type(scalar.number_name());
}

// Keeps of what a loop computes for a variable that it carries: what is of the variable's type, where there
// is any. A pipeliner puts addresses of later iterations after it.
void keep_carried(const std::vector<Candidate>& all, std::vector<Candidate>& inside) {
  auto is_carried = [&](const Candidate& c) {
    const ir::Type& type = *c.value->type;
    return type.kind == ir::TypeKind::kTensor &&
           std::any_of(all.begin(), all.end(), [&](const Candidate& of) {
             const ir::Type& carried = *of.value->type;
             return !of.op->regions.empty() && carried.kind == type.kind &&
                    std::ranges::equal(carried.shape, type.shape) && element_of(carried) == element_of(type);
           });
  };
  if (std::any_of(inside.begin(), inside.end(), is_carried))
    std::erase_if(inside, [&](const Candidate& c) { return !is_carried(c); });
}

// The same of each line that candidates stand on.
void keep_last(std::vector<Candidate>& chosen) {
  const std::vector<Candidate> named = chosen;
  std::map<int, std::vector<Candidate>> lines;
  for (const Candidate& c : chosen) {
    const ir::Location* at = location_of(*c.value);
    const ir::Location* file = at ? at->file_location() : nullptr;
    if (can_record(*c.value)) lines[file ? file->line : 0].push_back(c);
  }
  chosen.clear();
  for (auto& [line, all] : lines) {
    // for ...: acc = ...: the statement in a loop, on the line of the loop. What stands at the place of the loop
    // itself is what a pipeliner counts with.
    std::vector<Candidate> inside;
    auto column_of = [](const ir::Location* at) {
      const ir::Location* file = at ? at->file_location() : nullptr;
      return file ? file->column : 0;
    };
    auto is_inside = [&](const Candidate& c) {
      if (!c.value->defining_op || !c.value->defining_op->regions.empty()) return false;
      const std::vector<const ir::Op*> loops = loops_around(c.value->defining_op->block);
      return std::any_of(loops.begin(), loops.end(), [&](const ir::Op* loop) {
        return column_of(loop->loc) != column_of(location_of(*c.value)) &&
               std::any_of(all.begin(), all.end(), [&](const Candidate& other) { return other.op == loop; });
      });
    };
    std::copy_if(all.begin(), all.end(), std::back_inserter(inside), is_inside);
    std::vector<Candidate> outside;
    std::remove_copy_if(all.begin(), all.end(), std::back_inserter(outside), is_inside);
    keep_carried(named, inside);
    keep_last_of_statement(std::move(outside), chosen);
    keep_last_of_statement(std::move(inside), chosen);
  }
}

base::Diagnostic unknown(const ir::Module& module, const std::string& wanted,
                         const std::vector<Candidate>& all, const Names& own) {
  base::Diagnostic d;
  d.location.file = std::string(module.filename());
  std::set<std::string> names;
  if (wanted.starts_with('%')) {
    d.message = "there is no value " + wanted + " in this module";
    d.notes = own.choices(wanted);
    if (!d.notes.empty()) return d;
    for (const Candidate& c : all) names.insert(name_of(*c.value));
  } else if (std::string_view file; true) {
    for (const Candidate& c : all)
      if (name_of(*c.value).substr(1) == wanted || c.value->name == wanted) {
        d.message = "'" + wanted + "' names no value of this module";
        d.notes.push_back("did you mean '%" + wanted + "'?");
        return d;
      }
    int line;
    if (split_line(wanted, file, line)) {
      d.message = "no value comes from line " + wanted;
      std::set<std::pair<int, std::string>> lines;
      for (const Candidate& c : all)
        if (const ir::Location* at = location_of(*c.value);
            at && at->file_location() && ends_in(at->file_location()->file, file))
          lines.insert(
              {std::abs(at->file_location()->line - line),
               std::string(at->file_location()->file) + ":" + std::to_string(at->file_location()->line)});
      size_t n = 0;
      for (const auto& near : lines)
        if (n++ < 3) d.notes.push_back("values come from " + near.second);
      if (lines.empty()) d.notes.push_back("none of its values come from a file of that name");
      return d;
    }
    if (is_op_name(wanted)) {
      d.message = "there is no op " + wanted + " that gives a value in this module";
      for (const Candidate& c : all) names.insert(std::string(c.op->name));
    } else {
      d.message = "there is no variable '" + wanted + "' in this module";
      for (const Candidate& c : all)
        if (auto name = variable_of(*c.value); !name.empty()) names.insert(std::string(name));
      if (names.empty())
        d.notes.push_back("its locations name no variables: choose by line, \"kernel.py:42\"");
    }
  }
  for (const std::string& n : base::nearest_names(wanted, {names.begin(), names.end()}))
    d.notes.push_back("did you mean '" + n + "'?");
  d.notes.push_back("a value that the compiler removed has no name here: dump it at an earlier level");
  return d;
}

}  // namespace

std::string name_of(const ir::Value& value) { return ir::text_of(&value); }

const ir::Location* location_of(const ir::Value& value) {
  return !value.defining_op && value.loc ? value.loc : op_of(value)->loc;
}

const ir::Op* op_of(const ir::Value& value) {
  return value.defining_op ? value.defining_op : value.block->region->parent;
}

bool is_combiner(const ir::Op& op) { return op.does(ir::Effect::kApplies); }

bool is_combined(const ir::Value& value) {
  const ir::Block* block = value.defining_op ? value.defining_op->block : value.block;
  while (block && block->region->parent) {
    if (is_combiner(*block->region->parent)) return true;
    block = block->region->parent->block;
  }
  return false;
}

bool can_record(const ir::Value& value) {
  switch (value.type->kind) {
    case ir::TypeKind::kInteger:
    case ir::TypeKind::kIndex:
    case ir::TypeKind::kFloat:
    case ir::TypeKind::kPointer:
    case ir::TypeKind::kTensor:
    case ir::TypeKind::kMemDesc:
      return element_of(*value.type).has_value();
    default:
      return false;
  }
}

void for_each_line(const ir::Location* at, const std::function<void(const ir::Location&)>& visit) {
  while (at) {
    if (at->kind == ir::LocKind::kFile) return visit(*at);
    if (at->kind == ir::LocKind::kFused) {
      at = at->children.empty() ? nullptr : at->children[0];
      continue;
    }
    for_each_line(at->child, visit);
    at = at->kind == ir::LocKind::kCallSite ? at->caller : nullptr;
  }
}

Site site_of(const Selected& selected, std::string_view kernel, std::string_view level) {
  Site site = site_of(*selected.value, kernel, level);
  const ir::Value& value = *selected.value;
  site.value = selected.name;
  site.path = path_of(value);
  site.result = value.index;
  site.loops =
      static_cast<int>(loops_around(value.defining_op ? value.defining_op->block : value.block).size());
  return site;
}

Site site_of(const ir::Value& value, std::string_view kernel, std::string_view level) {
  Site site;
  site.kernel = kernel;
  site.level = level;
  site.value = name_of(value);
  site.op = op_of(value)->name;
  const ir::Location* at = location_of(value);
  site.variable = variable_of(value);
  if (const ir::Location* file = at ? at->place() : nullptr) set_place(site, *file);
  for_each_line(at, [&](const ir::Location& file) { add_to_stack(site, file); });
  if (at) site.location = at->alias.empty() ? ir::text_of(at) : "loc(" + std::string(at->alias) + ")";
  site.type_text = ir::text_of(value.type);
  site.type = element_of(*value.type).value_or(num::Type::kI64);
  site.shape.assign(value.type->shape.begin(), value.type->shape.end());
  if (value.type->encoding) site.layout = ir::text_of(value.type->encoding);
  return site;
}

base::Result<std::vector<Selected>> select(const ir::Module& module, const ir::Op& func,
                                           std::span<const Selector> selectors) {
  std::vector<Candidate> all;
  for_each_value(module, func, [&](const ir::Op& op, const ir::Value& v) { all.push_back({&v, &op}); });
  const Names names(module, func);
  std::vector<std::pair<size_t, Selected>> found;  // with the place in the text
  std::set<const ir::Value*> taken;
  for (size_t k = 0; k < selectors.size(); ++k) {
    const Selector& s = selectors[k];
    const std::string& text = s.text;
    std::vector<Candidate> chosen;
    auto take = [&](auto&& wanted) {
      for (const Candidate& c : all)
        if (wanted(c)) chosen.push_back(c);
    };
    std::string_view file;
    int line;
    if (text == "*") {
      take([](const Candidate&) { return true; });
    } else if (text.starts_with('%')) {
      take([&](const Candidate& c) { return names.means(text, *c.value); });
    } else if (split_line(text, file, line)) {
      take([&](const Candidate& c) { return stands_on(*c.value, file, line); });
    } else {
      if (is_op_name(text)) {
        const ir::OpKind kind = ir::find_op(text);
        take([&](const Candidate& c) {
          return c.value->defining_op &&
                 (c.op->name == text || (kind != ir::OpKind::kUnknown && c.op->kind == kind));
        });
      } else {
        take([&](const Candidate& c) { return variable_of(*c.value) == text; });
        if (chosen.empty())
          for (const std::string& place : s.lines)
            if (split_line(place, file, line))
              take([&](const Candidate& c) { return stands_on(*c.value, file, line); });
        keep_uncombined(chosen);
        const std::vector<Candidate> named = chosen;
        keep_last(chosen);
        if (chosen.empty()) chosen = named;  // tokens and descriptors: said below
      }
    }
    if (chosen.empty()) return unknown(module, text, all, names);
    keep_uncombined(chosen);
    size_t recorded = 0;
    for (const Candidate& c : chosen) {
      if (!can_record(*c.value)) continue;
      ++recorded;
      if (!taken.insert(c.value).second) continue;
      const auto at =
          std::find_if(all.begin(), all.end(), [&](const Candidate& a) { return a.value == c.value; });
      found.push_back({static_cast<size_t>(at - all.begin()), {c.value, k, names.of(*c.value)}});
    }
    if (recorded == 0) {
      base::Diagnostic d = base::failure(
          text + " has the type " + ir::text_of(chosen[0].value->type) + ", which has no elements to dump",
          {"tensors, numbers, pointers and buffers in shared memory can be dumped"});
      d.location.file = std::string(module.filename());
      return d;
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Selected> result;
  for (auto& f : found) result.push_back(std::move(f.second));
  return result;
}

}  // namespace triton_runner::probe
