// triton_runner._core.ir: the module, its ops, values, types, attributes and locations, for walking and small
// edits. Handles are thin: a pointer into the graph and the module that keeps it alive.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <triton_runner/ir/edit.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/ir/op_table.h>
#include <triton_runner/ir/text.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using ModulePtr = std::shared_ptr<ir::Module>;

// A node of the graph and its module.
template <class T>
struct Handle {
  ModulePtr module;
  T* node;
  bool operator==(const Handle& other) const { return node == other.node; }
};
using PyOp = Handle<ir::Op>;
using PyValue = Handle<ir::Value>;
using PyBlock = Handle<ir::Block>;
using PyRegion = Handle<ir::Region>;
using PyType = Handle<const ir::Type>;
using PyAttr = Handle<const ir::Attr>;
using PyLocation = Handle<const ir::Location>;

template <class T>
nb::object wrap(const ModulePtr& module, T* node) {
  if (!node) return nb::none();
  return nb::cast(Handle<T>{module, node});
}

template <class H, class Nodes>
std::vector<H> list(const ModulePtr& module, const Nodes& nodes) {
  std::vector<H> out;
  for (auto* node : nodes) out.push_back({module, node});
  return out;
}

std::vector<PyValue> values(const ModulePtr& module, std::span<ir::Value> all) {
  std::vector<PyValue> out;
  for (ir::Value& value : all) out.push_back({module, &value});
  return out;
}

const char* type_kind(ir::TypeKind kind) {
  static constexpr const char* kNames[] = {"integer",    "index", "float", "pointer",  "tensor", "memdesc",
                                           "tensordesc", "token", "tuple", "function", "none",   "opaque"};
  return kNames[static_cast<size_t>(kind)];
}
const char* attr_kind(ir::AttrKind kind) {
  static constexpr const char* kNames[] = {"unit",        "bool",    "integer",  "float",  "string",
                                           "array",       "dict",    "type",     "symbol", "dense",
                                           "dense_array", "dialect", "location", "opaque"};
  return kNames[static_cast<size_t>(kind)];
}
const char* loc_kind(ir::LocKind kind) {
  static constexpr const char* kNames[] = {"unknown", "file", "name", "callsite", "fused", "opaque"};
  return kNames[static_cast<size_t>(kind)];
}

// One element of dense<...> or array<...>, from its bits.
nb::object element(const ir::Type* type, uint64_t bits) {
  if (type->kind == ir::TypeKind::kFloat) return nb::float_(ir::float_value(type->float_kind, bits));
  if (type->kind == ir::TypeKind::kInteger && type->width == 1) return nb::bool_(bits & 1);
  if (type->sign == ir::Type::kUnsigned) return nb::int_(bits);
  unsigned width = type->kind == ir::TypeKind::kInteger && type->width < 64 ? type->width : 64;
  return nb::int_(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
}

// An attribute as a plain Python value where it has one: numbers, strings, lists, dicts; else its handle.
nb::object attr_value(const ModulePtr& module, const ir::Attr* a) {
  switch (a->kind) {
    case ir::AttrKind::kUnit:
      return nb::bool_(true);
    case ir::AttrKind::kBool:
      return nb::bool_(a->integer != 0);
    case ir::AttrKind::kInteger:
      if (!a->string.empty()) return nb::cast(std::string(a->string));
      return nb::int_(a->integer);
    case ir::AttrKind::kFloat:
      return nb::float_(a->real);
    case ir::AttrKind::kString:
    case ir::AttrKind::kSymbol:
      return nb::cast(std::string(a->string));
    case ir::AttrKind::kArray: {
      nb::list out;
      for (const ir::Attr* e : a->elements) out.append(attr_value(module, e));
      return out;
    }
    case ir::AttrKind::kDict: {
      nb::dict out;
      for (const ir::NamedAttr& e : a->entries)
        out[nb::cast(std::string(e.name))] = attr_value(module, e.value);
      return out;
    }
    case ir::AttrKind::kType:
      return wrap(module, a->type);
    case ir::AttrKind::kDenseElements:
      if (a->splat) return element(a->type->scalar(), a->raw[0]);
      [[fallthrough]];
    case ir::AttrKind::kDenseArray: {
      nb::list out;
      for (uint64_t bits : a->raw) out.append(element(a->type->scalar(), bits));
      return out;
    }
    case ir::AttrKind::kLocation:
      return wrap(module, a->location);
    default:
      return wrap(module, a);
  }
}

void walk(ir::Op* op, std::vector<ir::Op*>& into) {
  into.push_back(op);
  for (ir::Region* region : op->regions)
    for (ir::Block* block = region->first; block; block = block->next)
      for (ir::Op* inner = block->first; inner; inner = inner->next) walk(inner, into);
}

ir::Op* enclosing(ir::Block* block) { return block && block->region ? block->region->parent : nullptr; }

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

template <class H>
void comparable(nb::class_<H>& cls) {
  cls.def("__eq__", [](const H& self, nb::handle other) {
    H* same = nullptr;
    return nb::try_cast(other, same) && same && *same == self;
  });
  cls.def("__hash__", [](const H& self) { return reinterpret_cast<intptr_t>(self.node) >> 3; });
}

}  // namespace

void init_ir(nb::module_& parent) {
  nb::module_ m =
      parent.def_submodule("ir", "Triton's IR: modules, ops, values, types, attributes, locations.");

  nb::class_<PyType> type(m, "Type", "A type; str() is its text.");
  comparable(type);
  type.def_prop_ro("kind", [](const PyType& t) { return type_kind(t.node->kind); })
      .def_prop_ro(
          "shape",
          [](const PyType& t) { return std::vector<int64_t>(t.node->shape.begin(), t.node->shape.end()); })
      .def_prop_ro(
          "element", [](const PyType& t) { return wrap(t.module, t.node->element); },
          "of pointers, tensors, memdescs, tensordescs")
      .def_prop_ro(
          "encoding", [](const PyType& t) { return wrap(t.module, t.node->encoding); }, "the layout, or None")
      .def_prop_ro("memory_space", [](const PyType& t) { return wrap(t.module, t.node->memory_space); })
      .def_prop_ro("mutable", [](const PyType& t) { return t.node->is_mutable; })
      .def_prop_ro(
          "width", [](const PyType& t) { return t.node->width; }, "bits of integers and floats")
      .def_prop_ro(
          "elements", [](const PyType& t) { return list<PyType>(t.module, t.node->elements); },
          "of tuples; parameters then results of functions")
      .def("__str__", [](const PyType& t) { return ir::text_of(t.node); })
      .def("__repr__", [](const PyType& t) { return "<Type " + ir::text_of(t.node) + ">"; });

  nb::class_<PyAttr> attr(m, "Attr",
                          "An attribute; str() is its text, value the Python value where there is one.");
  comparable(attr);
  attr.def_prop_ro("kind", [](const PyAttr& a) { return attr_kind(a.node->kind); })
      .def_prop_ro("value", [](const PyAttr& a) { return attr_value(a.module, a.node); })
      .def_prop_ro(
          "integer", [](const PyAttr& a) { return a.node->integer; },
          "the number of integers and of enumerations' keywords")
      .def_prop_ro("type", [](const PyAttr& a) { return wrap(a.module, a.node->type); })
      .def_prop_ro(
          "name", [](const PyAttr& a) { return std::string(a.node->string); },
          "of dialect attributes: 'ttg.blocked'")
      .def_prop_ro(
          "alias", [](const PyAttr& a) { return std::string(a.node->alias); }, "'#blocked', or ''")
      .def(
          "get", [](const PyAttr& a, std::string_view key) { return wrap(a.module, a.node->get(key)); },
          nb::arg("key"))
      .def_prop_ro("entries",
                   [](const PyAttr& a) {
                     nb::dict out;
                     for (const ir::NamedAttr& e : a.node->entries)
                       out[nb::cast(std::string(e.name))] = wrap(a.module, e.value);
                     return out;
                   })
      .def_prop_ro("elements", [](const PyAttr& a) { return list<PyAttr>(a.module, a.node->elements); })
      .def("__str__", [](const PyAttr& a) { return ir::text_of(a.node); })
      .def("__repr__", [](const PyAttr& a) { return "<Attr " + ir::text_of(a.node) + ">"; });

  nb::class_<PyLocation> loc(m, "Location", "A place in the source of the kernel.");
  comparable(loc);
  loc.def_prop_ro("kind", [](const PyLocation& l) { return loc_kind(l.node->kind); })
      .def_prop_ro(
          "file",
          [](const PyLocation& l) {
            auto* f = l.node->file_location();
            return std::string(f ? f->file : "");
          },
          "of the line that a person would look at")
      .def_prop_ro("line",
                   [](const PyLocation& l) {
                     auto* f = l.node->file_location();
                     return f ? f->line : 0;
                   })
      .def_prop_ro("column",
                   [](const PyLocation& l) {
                     auto* f = l.node->file_location();
                     return f ? f->column : 0;
                   })
      .def_prop_ro("end_line",
                   [](const PyLocation& l) {
                     auto* f = l.node->file_location();
                     return f ? f->end_line : 0;
                   })
      .def_prop_ro("end_column",
                   [](const PyLocation& l) {
                     auto* f = l.node->file_location();
                     return f ? f->end_column : 0;
                   })
      .def_prop_ro("name", [](const PyLocation& l) { return std::string(l.node->name); })
      .def_prop_ro(
          "child", [](const PyLocation& l) { return wrap(l.module, l.node->child); },
          "what a name stands for; the callee of a call site")
      .def_prop_ro("caller", [](const PyLocation& l) { return wrap(l.module, l.node->caller); })
      .def_prop_ro("children",
                   [](const PyLocation& l) { return list<PyLocation>(l.module, l.node->children); })
      .def_prop_ro("alias", [](const PyLocation& l) { return std::string(l.node->alias); })
      .def("__str__", [](const PyLocation& l) { return ir::text_of(l.node); })
      .def("__repr__", [](const PyLocation& l) { return "<Location " + ir::text_of(l.node) + ">"; });

  nb::class_<PyValue> value(m, "Value", "A result of an op or an argument of a block.");
  comparable(value);
  value.def_prop_ro(
           "name", [](const PyValue& v) { return ir::text_of(v.node); }, "'%x', '%5#1'")
      .def_prop_ro("type", [](const PyValue& v) { return wrap(v.module, v.node->type); })
      .def_prop_ro("index", [](const PyValue& v) { return v.node->index; })
      .def_prop_ro(
          "op", [](const PyValue& v) { return wrap(v.module, v.node->defining_op); },
          "the op it is a result of; None for arguments")
      .def_prop_ro(
          "block", [](const PyValue& v) { return wrap(v.module, v.node->block); },
          "the block it is an argument of; None for results")
      .def_prop_ro("location", [](const PyValue& v) { return wrap(v.module, v.node->loc); })
      .def_prop_ro(
          "uses",
          [](const PyValue& v) {
            nb::list out;
            for (ir::Use* u = v.node->first_use; u; u = u->next)
              out.append(nb::make_tuple(PyOp{v.module, u->user}, u->operand_index));
            return out;
          },
          "(op, operand number) of each use")
      .def(
          "rename",
          [](const PyValue& v, std::string_view name) {
            if (!name.empty() && name[0] == '%') name.remove_prefix(1);
            unwrap(ir::rename(*v.module, v.node, name));
          },
          nb::arg("name"))
      .def(
          "replace_all_uses_with",
          [](const PyValue& v, const PyValue& other) {
            unwrap(ir::replace_all_uses(*v.module, v.node, other.node));
          },
          nb::arg("other"))
      .def("__str__", [](const PyValue& v) { return ir::text_of(v.node); })
      .def("__repr__", [](const PyValue& v) {
        return "<Value " + ir::text_of(v.node) + " : " + ir::text_of(v.node->type) + ">";
      });

  nb::class_<PyBlock> block(m, "Block", "A list of ops with arguments.");
  comparable(block);
  block
      .def_prop_ro("name",
                   [](const PyBlock& b) {
                     return b.node->name.empty() ? "^bb" + std::to_string(b.node->index)
                                                 : "^" + std::string(b.node->name);
                   })
      .def_prop_ro("args", [](const PyBlock& b) { return values(b.module, b.node->args); })
      .def_prop_ro("ops",
                   [](const PyBlock& b) {
                     std::vector<PyOp> out;
                     for (ir::Op* op = b.node->first; op; op = op->next) out.push_back({b.module, op});
                     return out;
                   })
      .def_prop_ro(
          "parent", [](const PyBlock& b) { return wrap(b.module, enclosing(b.node)); },
          "the op whose region holds it")
      .def(
          "append",
          [](const PyBlock& b, std::string_view text) {
            return list<PyOp>(b.module, unwrap(ir::insert(*b.module, b.node, nullptr, text)));
          },
          nb::arg("text"), "puts ops, given as text, at the end; returns them")
      .def("__repr__", [](const PyBlock& b) {
        size_t n = 0;
        for (ir::Op* op = b.node->first; op; op = op->next) ++n;
        return "<Block " +
               (b.node->name.empty() ? "^bb" + std::to_string(b.node->index)
                                     : "^" + std::string(b.node->name)) +
               ", " + std::to_string(n) + " ops>";
      });

  nb::class_<PyRegion> region(m, "Region", "The blocks between a pair of braces.");
  comparable(region);
  region
      .def_prop_ro("blocks",
                   [](const PyRegion& r) {
                     std::vector<PyBlock> out;
                     for (ir::Block* b = r.node->first; b; b = b->next) out.push_back({r.module, b});
                     return out;
                   })
      .def_prop_ro("parent", [](const PyRegion& r) { return wrap(r.module, r.node->parent); })
      .def("__repr__", [](const PyRegion& r) {
        size_t n = 0;
        for (ir::Block* b = r.node->first; b; b = b->next) ++n;
        return "<Region of " + std::to_string(n) + " blocks>";
      });

  nb::class_<PyOp> op(m, "Op", "An operation; str() is its text.");
  comparable(op);
  op.def_prop_ro(
        "name", [](const PyOp& o) { return std::string(o.node->name); }, "'tt.load'")
      .def_prop_ro(
          "kind", [](const PyOp& o) { return std::string(ir::op_kind_name(o.node->kind)); },
          "'Load'; 'Unknown' for an op that the table lacks")
      .def_prop_ro("operands",
                   [](const PyOp& o) {
                     std::vector<PyValue> out;
                     for (const ir::Use& use : o.node->operand_uses) out.push_back({o.module, use.value});
                     return out;
                   })
      .def(
          "group",
          [](const PyOp& o, uint32_t i) {
            if (i >= o.node->group_ends.size()) throw nb::index_error("this op has fewer operand groups");
            std::vector<PyValue> out;
            for (const ir::Use& use : o.node->group(i)) out.push_back({o.module, use.value});
            return out;
          },
          nb::arg("index"), "an operand group of its table row: `ptr, mask?, other?` are groups 0, 1, 2")
      .def_prop_ro("results", [](const PyOp& o) { return values(o.module, o.node->results); })
      .def_prop_ro("attrs",
                   [](const PyOp& o) {
                     nb::dict out;
                     for (const ir::NamedAttr& e : o.node->attrs)
                       out[nb::cast(std::string(e.name))] = wrap(o.module, e.value);
                     return out;
                   })
      .def(
          "attr", [](const PyOp& o, std::string_view name) { return wrap(o.module, o.node->attr(name)); },
          nb::arg("name"), "None if absent")
      .def_prop_ro("regions", [](const PyOp& o) { return list<PyRegion>(o.module, o.node->regions); })
      .def_prop_ro("successors", [](const PyOp& o) { return list<PyBlock>(o.module, o.node->successors); })
      .def_prop_ro("location", [](const PyOp& o) { return wrap(o.module, o.node->loc); })
      .def_prop_ro("block", [](const PyOp& o) { return wrap(o.module, o.node->block); })
      .def_prop_ro(
          "parent", [](const PyOp& o) { return wrap(o.module, enclosing(o.node->block)); },
          "the op whose region holds it")
      .def_prop_ro(
          "line", [](const PyOp& o) { return ir::line_of(*o.module, *o.node); },
          "its line in the text that was parsed; 0 for ops made later")
      .def(
          "walk",
          [](const PyOp& o) {
            std::vector<ir::Op*> all;
            walk(o.node, all);
            return list<PyOp>(o.module, all);
          },
          "itself and every op inside, in the order of the text")
      .def(
          "set_attr",
          [](const PyOp& o, std::string_view name, std::string_view text) {
            ir::set_attr(*o.module, o.node, name, unwrap(ir::parse_attr(*o.module, text)));
          },
          nb::arg("name"), nb::arg("text"), "sets an attribute, given as text: '4 : i32'")
      .def(
          "remove_attr",
          [](const PyOp& o, std::string_view name) { ir::remove_attr(*o.module, o.node, name); },
          nb::arg("name"))
      .def(
          "set_operand",
          [](const PyOp& o, uint32_t i, const PyValue& v) {
            unwrap(ir::replace_operand(*o.module, o.node, i, v.node));
          },
          nb::arg("index"), nb::arg("value"))
      .def(
          "insert_before",
          [](const PyOp& o, std::string_view text) {
            if (!o.node->block) raise(base::failure("nothing can stand before the module"));
            return list<PyOp>(o.module, unwrap(ir::insert(*o.module, o.node->block, o.node, text)));
          },
          nb::arg("text"), "puts ops, given as text, before this one; returns them")
      .def(
          "erase", [](const PyOp& o) { unwrap(ir::erase(*o.module, o.node)); },
          "its results must have no uses")
      .def("__str__", [](const PyOp& o) { return ir::text_of(*o.module, *o.node); })
      .def("__repr__",
           [](const PyOp& o) { return "<Op " + first_line(ir::text_of(*o.module, *o.node)) + ">"; });

  nb::class_<ir::Module>(m, "Module",
                         "A parsed module. str() is its text, byte for byte where nothing was edited.")
      .def_prop_ro("op", [](const ModulePtr& self) { return wrap(self, self->op()); })
      .def_prop_ro("filename", [](const ModulePtr& self) { return std::string(self->filename()); })
      .def_prop_ro("source", [](const ModulePtr& self) { return std::string(self->source()); })
      .def_prop_ro("functions", [](const ModulePtr& self) { return list<PyOp>(self, self->functions()); })
      .def_prop_ro(
          "kernels", [](const ModulePtr& self) { return list<PyOp>(self, self->kernels()); },
          "the public functions")
      .def_prop_ro("attrs",
                   [](const ModulePtr& self) {
                     nb::dict out;
                     for (const ir::NamedAttr& e : self->op()->attrs)
                       out[nb::cast(std::string(e.name))] = wrap(self, e.value);
                     return out;
                   })
      .def(
          "function",
          [](const ModulePtr& self, std::string_view name) { return wrap(self, self->find_function(name)); },
          nb::arg("name"), "None if absent")
      .def("walk",
           [](const ModulePtr& self) {
             std::vector<ir::Op*> all;
             walk(self->op(), all);
             return list<PyOp>(self, all);
           })
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
          nb::arg("canonical") = false,
          "canonical: from the graph alone, as the release that wrote it prints it")
      .def("__str__", [](const ModulePtr& self) { return self->str(); })
      .def("__repr__", [](const ModulePtr& self) {
        std::string out = "<Module";
        if (!self->filename().empty()) out += " " + std::string(self->filename());
        for (ir::Op* f : self->functions())
          if (const ir::Attr* name = f->attr("sym_name")) out += " @" + std::string(name->string);
        return out + ">";
      });

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
        std::string name = filename.value_or("");
        return parsed(std::move(source), std::move(name));
      },
      nb::arg("text"), nb::arg("filename") = nb::none(),
      "Parses MLIR text of Triton's dialects, releases 3.0 to 3.9.");

  m.def(
      "parse_file",
      [](const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::string source;
        if (file) {
          file.seekg(0, std::ios::end);
          source.resize(static_cast<size_t>(std::max<std::streamoff>(0, file.tellg())));
          file.seekg(0);
          file.read(source.data(), static_cast<std::streamsize>(source.size()));
        }
        if (!file) raise(base::failure("cannot read '" + path + "'"));
        return parsed(std::move(source), path);
      },
      nb::arg("path"), "Parses a file.");

  m.def(
      "op_table",
      [] {
        auto release = [](ir::Release r) { return std::to_string(r / 100) + "." + std::to_string(r % 100); };
        auto until = [&](ir::Release r) {
          return r == ir::kNow ? nb::object(nb::none()) : nb::cast(release(r));
        };
        std::map<ir::OpKind, nb::list> old_names;
        for (const ir::OldName& old : ir::old_names()) {
          nb::dict entry;
          entry["name"] = std::string(old.name);
          entry["since"] = release(old.since);
          entry["until"] = until(old.until);
          entry["tested"] = std::string(old.tested);
          old_names[old.kind].append(entry);
        }
        nb::list out;
        for (const ir::OpInfo& row : ir::op_table()) {
          nb::dict entry;
          entry["kind"] = std::string(row.id);
          entry["name"] = std::string(row.name);
          entry["operands"] = std::string(row.operands);
          entry["exec"] = std::string(row.exec);
          entry["effects"] = std::string(row.effects_text);
          entry["since"] = release(row.since);
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

}  // namespace triton_runner::python
