// Makes triton_runner._core.ir: modules and their ops, for walking and small edits, and the op table.
#include "ir.h"

#include <triton_runner/ir/edit.h>
#include <triton_runner/ir/op_table.h>
#include <triton_runner/ir/text.h>
#include <triton_runner/ir/walk.h>

#include <algorithm>
#include <map>

namespace triton_runner::python {
namespace {

std::vector<PyOp> walk(const ModulePtr& module, ir::Op* op) {
  std::vector<PyOp> all;
  ir::for_each_op(op, [&](ir::Op* each) { all.push_back({module, each}); });
  return all;
}

std::string first_line(std::string text) {
  size_t end = text.find('\n');
  return end == std::string::npos ? text : text.substr(0, end) + " ...";
}

// The module of a text; all that is wrong with it as one DiagnosticError.
std::shared_ptr<ir::Module> parsed(std::string source, std::string filename) {
  base::Diagnostics found;
  base::Result<ir::Module> module = [&] {
    nb::gil_scoped_release release;
    return ir::parse(std::move(source), std::move(filename), &found);
  }();
  if (!module) raise(found);
  return std::make_shared<ir::Module>(std::move(module).value());
}

// The number of an operand group that the op's row of ops.def names: "ptr, mask?, other?".
uint32_t group_number(const PyOp& o, std::string_view name) {
  const std::string_view column =
      o.node->kind == ir::OpKind::kUnknown ? "" : ir::op_info(o.node->kind).operands;
  uint32_t number = 0;
  for (size_t at = 0; at < column.size(); ++number) {
    const size_t end = std::min(column.find(", ", at), column.size());
    std::string_view group = column.substr(at, end - at);
    if (group.back() == '?' || group.back() == '*') group.remove_suffix(1);
    if (group == name) return number;
    at = end + 2;
  }
  throw nb::key_error(
      (std::string(o.node->name) + " has no operand group '" + std::string(name) + "'").c_str());
}

constexpr ir::Effect kEffects[] = {
#define EFFECT(word, Enumerator, meaning) ir::Effect::k##Enumerator,
#include <triton_runner/ir/effects.def>
};

bool does(const PyOp& o, std::string_view word) {
  const std::span<const ir::EffectInfo> table = ir::effect_table();
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].word == word) return o.node->does(kEffects[i]);
  throw nb::value_error(("'" + std::string(word) + "' is not an effect (effects.def has them)").c_str());
}

std::vector<std::string> effects(const PyOp& o) {
  std::vector<std::string> words;
  for (const ir::EffectInfo& effect : ir::effect_table())
    if (does(o, effect.word)) words.emplace_back(effect.word);
  return words;
}

std::vector<PyValue> values_of(const PyOp& o, std::span<const ir::Use> uses) {
  std::vector<PyValue> out;
  for (const ir::Use& use : uses) out.push_back({o.module, use.value});
  return out;
}

void init_op(nb::module_& m) {
  nb::class_<PyOp> op(m, "Op", "An operation; str() is its text.");
  comparable(op);
  op.def_prop_ro("name", reads<PyOp, &ir::Op::name>, "'tt.load'")
      .def_prop_ro(
          "kind", [](const PyOp& o) { return std::string(ir::op_kind_name(o.node->kind)); },
          "'Load'; 'Unknown' for an op that the table lacks")
      .def_prop_ro("operands", [](const PyOp& o) { return values_of(o, o.node->operand_uses); })
      .def(
          "group",
          [](const PyOp& o, uint32_t i) {
            if (i >= o.node->group_ends.size()) throw nb::index_error("this op has fewer operand groups");
            return values_of(o, o.node->group(i));
          },
          "index"_a, "an operand group of its table row: `ptr, mask?, other?` are groups 0, 1, 2")
      .def(
          "group",
          [](const PyOp& o, std::string_view name) {
            return values_of(o, o.node->group(group_number(o, name)));
          },
          "name"_a, "the same by its name, 'mask'; KeyError: its row has no such group")
      .def_prop_ro("effects", &effects,
                   "what it does, in the words of effects.def: ['loads']; none of an op that the table lacks")
      .def("does", &does, "effect"_a, "whether it has an effect: 'stores'; ValueError: no such word")
      .def_prop_ro("results", [](const PyOp& o) { return values(o.module, o.node->results); })
      .def_prop_ro("attrs", [](const PyOp& o) { return attributes(o.module, o.node->attrs); })
      .def(
          "attr", [](const PyOp& o, std::string_view name) { return wrap(o.module, o.node->attr(name)); },
          "name"_a, "None if absent")
      .def_prop_ro("regions", [](const PyOp& o) { return list<PyRegion>(o.module, o.node->regions); })
      .def_prop_ro("successors", [](const PyOp& o) { return list<PyBlock>(o.module, o.node->successors); })
      .def_prop_ro("location", reads<PyOp, &ir::Op::loc>)
      .def_prop_ro("block", reads<PyOp, &ir::Op::block>)
      .def_prop_ro(
          "parent", [](const PyOp& o) { return wrap(o.module, enclosing(o.node->block)); },
          "the op whose region holds it")
      .def_prop_ro(
          "line", [](const PyOp& o) { return ir::line_of(*o.module, *o.node); },
          "its line in the text that was parsed; 0 for ops made later")
      .def(
          "walk", [](const PyOp& o) { return walk(o.module, o.node); },
          "itself and every op inside, in the order of the text")
      .def(
          "set_attr",
          [](const PyOp& o, std::string_view name, std::string_view text) {
            ir::set_attr(*o.module, o.node, name, unwrap(ir::parse_attr(*o.module, text)));
          },
          "name"_a, "text"_a, "sets an attribute, given as text: '4 : i32'")
      .def(
          "remove_attr",
          [](const PyOp& o, std::string_view name) { ir::remove_attr(*o.module, o.node, name); }, "name"_a)
      .def(
          "set_operand",
          [](const PyOp& o, uint32_t i, const PyValue& v) {
            unwrap(ir::replace_operand(*o.module, o.node, i, v.node));
          },
          "index"_a, "value"_a)
      .def(
          "insert_before",
          [](const PyOp& o, std::string_view text) {
            if (!o.node->block) fail("nothing can stand before the module");
            return list<PyOp>(o.module, unwrap(ir::insert(*o.module, o.node->block, o.node, text)));
          },
          "text"_a, "puts ops, given as text, before this one; returns them")
      .def(
          "erase", [](const PyOp& o) { unwrap(ir::erase(*o.module, o.node)); },
          "its results must have no uses")
      .def("__str__", [](const PyOp& o) { return ir::text_of(*o.module, *o.node); })
      .def("__repr__",
           [](const PyOp& o) { return "<Op " + first_line(ir::text_of(*o.module, *o.node)) + ">"; });
}

void init_module(nb::module_& m) {
  nb::class_<ir::Module>(m, "Module",
                         "A parsed module. str() is its text, byte for byte where nothing was edited.")
      .def_prop_ro("op", [](const ModulePtr& self) { return wrap(self, self->op()); })
      .def_prop_ro("filename", [](const ModulePtr& self) { return std::string(self->filename()); })
      .def_prop_ro("source", [](const ModulePtr& self) { return std::string(self->source()); })
      .def_prop_ro("functions", [](const ModulePtr& self) { return list<PyOp>(self, self->functions()); })
      .def_prop_ro(
          "kernels", [](const ModulePtr& self) { return list<PyOp>(self, self->kernels()); },
          "the public functions")
      .def_prop_ro("attrs", [](const ModulePtr& self) { return attributes(self, self->op()->attrs); })
      .def(
          "function",
          [](const ModulePtr& self, std::string_view name) { return wrap(self, self->find_function(name)); },
          "name"_a, "None if absent")
      .def("walk", [](const ModulePtr& self) { return walk(self, self->op()); })
      .def(
          "verify",
          [](const ModulePtr& self) {
            base::Diagnostics sink;
            if (!ir::verify(*self, sink)) raise(sink);
          },
          "raises DiagnosticError at what execution could not rely on")
      .def(
          "print",
          [](const ModulePtr& self, bool canonical) {
            return canonical ? self->print_canonical() : self->str();
          },
          "canonical"_a = false, "canonical: from the graph alone, as the release that wrote it prints it")
      .def("__str__", [](const ModulePtr& self) { return self->str(); })
      .def("__repr__", [](const ModulePtr& self) {
        std::string out = "<Module";
        if (!self->filename().empty()) out += " " + std::string(self->filename());
        for (ir::Op* f : self->functions())
          if (const ir::Attr* name = f->attr("sym_name")) out += " @" + std::string(name->string);
        return out + ">";
      });
}

void init_parse(nb::module_& m) {
  init_releases(m);
  init_translate(m);
  m.def(
      "parse",
      [](nb::object text, std::optional<std::string> filename) {
        std::string source;
        if (nb::isinstance<nb::bytes>(text)) {
          nb::bytes raw = nb::cast<nb::bytes>(text);
          source.assign(raw.c_str(), raw.size());
        } else {
          source = nb::cast<std::string>(text);
        }
        return parsed(std::move(source), filename.value_or(""));
      },
      "text"_a, "filename"_a = nb::none(), "Parses MLIR text of Triton's dialects, of any known release.");

  m.def(
      "parse_file", [](const std::string& path) { return parsed(file_content(path), path); }, "path"_a,
      "Parses a file.");
}

void init_table(nb::module_& m) {
  m.def(
      "op_table",
      [] {
        auto until = [](ir::Release r) {
          return r == ir::kNow ? nb::object(nb::none()) : nb::cast(ir::spelled(r));
        };
        std::map<ir::OpKind, nb::list> old_names;
        for (const ir::OldName& old : ir::old_names()) {
          old_names[old.kind].append(dict_of("name", std::string(old.name), "since", ir::spelled(old.since),
                                             "until", until(old.until), "tested", std::string(old.tested)));
        }
        nb::list out;
        for (const ir::OpInfo& row : ir::op_table()) {
          nb::dict entry;
          entry["kind"] = std::string(row.id);
          entry["name"] = std::string(row.name);
          entry["operands"] = std::string(row.operands);
          entry["exec"] = std::string(row.exec);
          entry["effects"] = std::string(row.effects_text);
          entry["since"] = row.since == ir::kFork ? nb::object(nb::none()) : nb::cast(ir::spelled(row.since));
          entry["until"] = until(row.until);
          entry["assembly"] = std::string(row.assembly);
          entry["tested"] = std::string(row.tested);
          entry["old_names"] = old_names[row.kind];
          out.append(entry);
        }
        return out;
      },
      "The rows of the op table, as `triton-runner ops` lists them.");
}

}  // namespace

void init_ir(nb::module_& parent) {
  nb::module_ m =
      parent.def_submodule("ir", "Triton's IR: modules, ops, values, types, attributes, locations.");
  init_ir_nodes(m);
  init_op(m);
  init_module(m);
  init_parse(m);
  init_table(m);
}

}  // namespace triton_runner::python
