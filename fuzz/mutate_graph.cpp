// Mutations through the graph and its edits: values go where values of their type may go.
#include <vector>

#include <triton_runner/ir/edit.h>

#include "mutate.h"

namespace triton_runner::fuzz {
namespace {

using ir::Op;
using ir::Value;

struct Graph {
  std::vector<Op*> ops;
  std::vector<Value*> values;
};

void collect(const ir::Region& region, Graph& out) {
  for (ir::Block* b = region.first; b; b = b->next) {
    for (Value& v : b->args) out.values.push_back(&v);
    for (Op* op = b->first; op; op = op->next) {
      out.ops.push_back(op);
      for (Value& v : op->results) out.values.push_back(&v);
      for (ir::Region* r : op->regions) collect(*r, out);
    }
  }
}

class Mutator {
 public:
  Mutator(ir::Module& module, const Graph& graph, Random& random)
      : module_(module), g_(graph), random_(random) {}

  bool run(const ir::Module* other) {
    switch (below(random_, 7)) {
      case 0:
        return change_operand();
      case 1:
        return swap_operands();
      case 2:
        return leave_out();
      case 3:
        return repeat();
      case 4:
        return change_attribute();
      case 5:
        return other && splice(*other);
      default: {
        Value* v = value_like(*any_value());
        return v && ir::replace_all_uses(module_, any_value_of(*v), v).ok();
      }
    }
  }

 private:
  Op* any_op() { return g_.ops[below(random_, g_.ops.size())]; }
  Value* any_value() { return g_.values[below(random_, g_.values.size())]; }
  Value* any_value_of(Value& like) {
    Value* v = value_like(like);
    return v ? v : &like;
  }

  // Another value of the same type; null if there is none.
  Value* value_like(const Value& like) {
    size_t start = below(random_, g_.values.size());
    for (size_t i = 0; i < g_.values.size(); ++i) {
      Value* v = g_.values[(start + i) % g_.values.size()];
      if (v != &like && v->type == like.type) return v;
    }
    return nullptr;
  }

  bool change_operand() {
    Op* op = any_op();
    if (op->num_operands() == 0) return false;
    auto i = static_cast<uint32_t>(below(random_, op->num_operands()));
    Value* v = value_like(*op->operand(i));
    return v && ir::replace_operand(module_, op, i, v).ok();
  }

  bool swap_operands() {
    Op* op = any_op();
    for (uint32_t i = 0; i < op->num_operands(); ++i)
      for (uint32_t j = i + 1; j < op->num_operands(); ++j) {
        Value *a = op->operand(i), *b = op->operand(j);
        if (a != b && a->type == b->type)
          return ir::replace_operand(module_, op, i, b).ok() && ir::replace_operand(module_, op, j, a).ok();
      }
    return false;
  }

  bool leave_out() {
    Op* op = any_op();
    for (Value& v : op->results) {
      if (!v.first_use) continue;
      Value* instead = value_like(v);
      if (!instead || instead->defining_op == op || !ir::replace_all_uses(module_, &v, instead).ok())
        return false;
    }
    return ir::erase(module_, op).ok();
  }

  std::string fresh_name() { return "z" + std::to_string(random_() % 1000000); }

  // The text of an op without regions, under new names for its results; `name` gives those of its operands.
  template <class Name>
  std::string text_of(const Op& op, const std::string& text, const Name& name) {
    std::string out, result = fresh_name();
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      size_t end = i + 1;
      auto part = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '-';
      };
      while (end < text.size() && part(text[end])) ++end;
      std::string_view word = std::string_view(text).substr(i + 1, end - i - 1);
      bool own = !op.results.empty() && word == op.results[0].name;
      out += '%';
      out += own ? result : name(word);
      i = end - 1;
    }
    return out;
  }

  bool repeat() {
    Op* op = any_op();
    if (!op->regions.empty() || !op->successors.empty() || op->text.empty() || !op->next) return false;
    std::string text =
        text_of(*op, std::string(op->text), [](std::string_view word) { return std::string(word); });
    auto made = ir::insert(module_, op->block, any_op_of(*op->block), text);
    if (!made.ok() || made->empty()) return false;
    use(*made->front());
    return true;
  }

  Op* any_op_of(ir::Block& block) {
    Op* op = block.first;
    for (size_t n = below(random_, 40); n > 0 && op->next; --n) op = op->next;
    return op;
  }

  // Some operand becomes the new op's result.
  void use(Op& made) {
    if (made.results.empty()) return;
    Value* v = made.result();
    size_t start = below(random_, g_.ops.size());
    for (size_t i = 0; i < g_.ops.size(); ++i) {
      Op* op = g_.ops[(start + i) % g_.ops.size()];
      for (uint32_t k = 0; k < op->num_operands(); ++k)
        if (op->operand(k)->type == v->type) {
          (void)ir::replace_operand(module_, op, k, v);
          return;
        }
    }
  }

  bool change_attribute() {
    size_t start = below(random_, g_.ops.size());
    for (size_t i = 0; i < g_.ops.size(); ++i) {
      Op* op = g_.ops[(start + i) % g_.ops.size()];
      if (op->attrs.empty()) continue;
      const ir::NamedAttr& a = op->attrs[below(random_, op->attrs.size())];
      if (below(random_, 8) == 0) {
        ir::remove_attr(module_, op, std::string(a.name));
        return true;
      }
      std::string text(a.value->text), number = odd_number(random_);
      size_t digit = text.find_first_of("0123456789", below(random_, text.size() + 1));
      if (text == "true" || text == "false")
        text = text == "true" ? "false" : "true";
      else if (digit != std::string::npos)
        text.replace(digit, text.find_first_not_of("0123456789", digit) - digit, number);
      else
        text = number + " : i32";
      auto value = ir::parse_attr(module_, text);
      if (!value.ok()) return false;
      ir::set_attr(module_, op, std::string(a.name), *value);
      return true;
    }
    return false;
  }

  // An op of the other module whose operands' types this one has values of.
  bool splice(const ir::Module& other) {
    Graph theirs;
    for (Op* f : other.functions())
      if (!f->regions.empty()) collect(*f->region(0), theirs);
    for (int tries = 0; tries < 8 && !theirs.ops.empty(); ++tries) {
      Op* op = theirs.ops[below(random_, theirs.ops.size())];
      if (!op->regions.empty() || !op->successors.empty() || op->text.empty() || !op->next) continue;
      bool all = true;
      std::string text = text_of(*op, std::string(op->text), [&](std::string_view word) {
        for (ir::Use& u : op->operand_uses)
          if (u.value->name == word)
            if (Value* v = value_of_type(u.value->type->text)) return std::string(v->name);
        all = false;
        return std::string(word);
      });
      if (!all) continue;
      Op* before = any_op();
      auto made = ir::insert(module_, before->block, before, text);
      if (!made.ok() || made->empty()) continue;
      use(*made->front());
      return true;
    }
    return false;
  }

  Value* value_of_type(std::string_view text) {
    size_t start = below(random_, g_.values.size());
    for (size_t i = 0; i < g_.values.size(); ++i) {
      Value* v = g_.values[(start + i) % g_.values.size()];
      if (v->type->text == text && v->group_size == 1) return v;
    }
    return nullptr;
  }

  ir::Module& module_;
  const Graph& g_;
  Random& random_;
};

}  // namespace

bool mutate_graph(std::string& text, const std::string& other, Random& random) {
  auto module = ir::parse(text, "mutate.ttir");
  if (!module.ok()) return false;
  Graph graph;
  for (Op* f : module->functions())
    if (!f->regions.empty()) collect(*f->region(0), graph);
  if (graph.ops.empty() || graph.values.empty()) return false;
  auto donor = ir::parse(other, "other.ttir");
  if (!Mutator(*module, graph, random).run(donor.ok() ? &*donor : nullptr)) return false;
  text = module->str();
  return true;
}

}  // namespace triton_runner::fuzz
