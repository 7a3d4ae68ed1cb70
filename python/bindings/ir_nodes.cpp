// Gives Python the types, attributes, locations, values, blocks and regions of _core.ir.
#include "ir.h"

#include <triton_runner/ir/edit.h>
#include <triton_runner/ir/text.h>

namespace triton_runner::python {
namespace {

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

void init_type(nb::module_& m) {
  nb::class_<PyType> type(m, "Type", "A type; str() is its text.");
  comparable(type);
  type.def_prop_ro("kind", [](const PyType& t) { return type_kind(t.node->kind); })
      .def_prop_ro(
          "shape",
          [](const PyType& t) { return std::vector<int64_t>(t.node->shape.begin(), t.node->shape.end()); })
      .def_prop_ro("element", reads<PyType, &ir::Type::element>,
                   "of pointers, tensors, memdescs, tensordescs")
      .def_prop_ro("encoding", reads<PyType, &ir::Type::encoding>, "the layout, or None")
      .def_prop_ro("memory_space", reads<PyType, &ir::Type::memory_space>)
      .def_prop_ro("mutable", reads<PyType, &ir::Type::is_mutable>)
      .def_prop_ro("width", reads<PyType, &ir::Type::width>, "bits of integers and floats")
      .def_prop_ro(
          "elements", [](const PyType& t) { return list<PyType>(t.module, t.node->elements); },
          "of tuples; parameters then results of functions")
      .def("__str__", [](const PyType& t) { return ir::text_of(t.node); })
      .def("__repr__", [](const PyType& t) { return "<Type " + ir::text_of(t.node) + ">"; });
}

void init_attr(nb::module_& m) {
  nb::class_<PyAttr> attr(m, "Attr",
                          "An attribute; str() is its text, value the Python value where there is one.");
  comparable(attr);
  attr.def_prop_ro("kind", [](const PyAttr& a) { return attr_kind(a.node->kind); })
      .def_prop_ro("value", [](const PyAttr& a) { return attr_value(a.module, a.node); })
      .def_prop_ro("integer", reads<PyAttr, &ir::Attr::integer>,
                   "the number of integers and of enumerations' keywords")
      .def_prop_ro("type", reads<PyAttr, &ir::Attr::type>)
      .def_prop_ro("name", reads<PyAttr, &ir::Attr::string>, "of dialect attributes: 'ttg.blocked'")
      .def_prop_ro("alias", reads<PyAttr, &ir::Attr::alias>, "'#blocked', or ''")
      .def(
          "get", [](const PyAttr& a, std::string_view key) { return wrap(a.module, a.node->get(key)); },
          "key"_a)
      .def_prop_ro("entries", [](const PyAttr& a) { return attributes(a.module, a.node->entries); })
      .def_prop_ro("elements", [](const PyAttr& a) { return list<PyAttr>(a.module, a.node->elements); })
      .def("__str__", [](const PyAttr& a) { return ir::text_of(a.node); })
      .def("__repr__", [](const PyAttr& a) { return "<Attr " + ir::text_of(a.node) + ">"; });
}

// A field of the line that a person would look at; 0 or "" where there is none.
template <auto kField>
constexpr auto of_line = [](const PyLocation& l) {
  static const ir::Location kNowhere{};
  const ir::Location* line = l.node->place();
  return (line ? line : &kNowhere)->*kField;
};

void init_location(nb::module_& m) {
  nb::class_<PyLocation> loc(m, "Location", "A place in the source of the kernel.");
  comparable(loc);
  loc.def_prop_ro("kind", [](const PyLocation& l) { return loc_kind(l.node->kind); })
      .def_prop_ro("file", of_line<&ir::Location::file>, "of the line that a person would look at")
      .def_prop_ro("line", of_line<&ir::Location::line>)
      .def_prop_ro("column", of_line<&ir::Location::column>)
      .def_prop_ro("end_line", of_line<&ir::Location::end_line>)
      .def_prop_ro("end_column", of_line<&ir::Location::end_column>)
      .def_prop_ro("name", reads<PyLocation, &ir::Location::name>)
      .def_prop_ro("child", reads<PyLocation, &ir::Location::child>,
                   "what a name stands for; the callee of a call site")
      .def_prop_ro("caller", reads<PyLocation, &ir::Location::caller>)
      .def_prop_ro("children",
                   [](const PyLocation& l) { return list<PyLocation>(l.module, l.node->children); })
      .def_prop_ro("alias", reads<PyLocation, &ir::Location::alias>)
      .def("__str__", [](const PyLocation& l) { return ir::text_of(l.node); })
      .def("__repr__", [](const PyLocation& l) { return "<Location " + ir::text_of(l.node) + ">"; });
}

void init_value(nb::module_& m) {
  nb::class_<PyValue> value(m, "Value", "A result of an op or an argument of a block.");
  comparable(value);
  value.def_prop_ro(
           "name", [](const PyValue& v) { return ir::text_of(v.node); }, "'%x', '%5#1'")
      .def_prop_ro("type", reads<PyValue, &ir::Value::type>)
      .def_prop_ro("index", reads<PyValue, &ir::Value::index>)
      .def_prop_ro("op", reads<PyValue, &ir::Value::defining_op>,
                   "the op it is a result of; None for arguments")
      .def_prop_ro("block", reads<PyValue, &ir::Value::block>,
                   "the block it is an argument of; None for results")
      .def_prop_ro("location", reads<PyValue, &ir::Value::loc>)
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
          "name"_a)
      .def(
          "retype",
          [](const PyValue& v, std::string_view type) {
            ir::retype(*v.module, v.node, unwrap(ir::parse_type(*v.module, type)));
          },
          "type"_a, "gives it another type, as text; the ops around it have to fit that in the end")
      .def(
          "replace_all_uses_with",
          [](const PyValue& v, const PyValue& other) {
            unwrap(ir::replace_all_uses(*v.module, v.node, other.node));
          },
          "other"_a)
      .def("__str__", [](const PyValue& v) { return ir::text_of(v.node); })
      .def("__repr__", [](const PyValue& v) {
        return "<Value " + ir::text_of(v.node) + " : " + ir::text_of(v.node->type) + ">";
      });
}

std::string label_of(const ir::Block& b) {
  return "^" + (b.name.empty() ? "bb" + std::to_string(b.index) : std::string(b.name));
}

void init_block(nb::module_& m) {
  nb::class_<PyBlock> block(m, "Block", "A list of ops with arguments.");
  comparable(block);
  block.def_prop_ro("name", [](const PyBlock& b) { return label_of(*b.node); })
      .def_prop_ro("args", [](const PyBlock& b) { return values(b.module, b.node->args); })
      .def_prop_ro("ops", [](const PyBlock& b) { return chain(b.module, b.node->first); })
      .def_prop_ro(
          "parent", [](const PyBlock& b) { return wrap(b.module, enclosing(b.node)); },
          "the op whose region holds it")
      .def(
          "append",
          [](const PyBlock& b, std::string_view text) {
            return list<PyOp>(b.module, unwrap(ir::insert(*b.module, b.node, nullptr, text)));
          },
          "text"_a, "puts ops, given as text, at the end; returns them")
      .def("__repr__", [](const PyBlock& b) {
        return "<Block " + label_of(*b.node) + ", " + std::to_string(chain(b.module, b.node->first).size()) +
               " ops>";
      });
}

void init_region(nb::module_& m) {
  nb::class_<PyRegion> region(m, "Region", "The blocks between a pair of braces.");
  comparable(region);
  region.def_prop_ro("blocks", [](const PyRegion& r) { return chain(r.module, r.node->first); })
      .def_prop_ro("parent", [](const PyRegion& r) { return wrap(r.module, r.node->parent); })
      .def("__repr__", [](const PyRegion& r) {
        return "<Region of " + std::to_string(chain(r.module, r.node->first).size()) + " blocks>";
      });
}

}  // namespace

void init_ir_nodes(nb::module_& m) {
  init_type(m);
  init_attr(m);
  init_location(m);
  init_value(m);
  init_block(m);
  init_region(m);
}

}  // namespace triton_runner::python
