// The files of _core.ir share these handles of the graph's nodes. A handle is thin: a pointer into the graph
// and the module that keeps it alive.
#pragma once
#include <memory>
#include <span>

#include <triton_runner/ir/module.h>

#include "bindings.h"

namespace triton_runner::python {

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

template <class N, class T>
nb::object given(const Handle<N>& handle, T* node) {
  return wrap(handle.module, node);
}

inline nb::dict attributes(const ModulePtr& module, std::span<const ir::NamedAttr> entries) {
  nb::dict out;
  for (const ir::NamedAttr& e : entries) out[nb::cast(std::string(e.name))] = wrap(module, e.value);
  return out;
}

// The nodes from `first` on.
template <class T>
std::vector<Handle<T>> chain(const ModulePtr& module, T* first) {
  std::vector<Handle<T>> out;
  for (; first; first = first->next) out.push_back({module, first});
  return out;
}

template <class H, class Nodes>
std::vector<H> list(const ModulePtr& module, const Nodes& nodes) {
  std::vector<H> out;
  for (auto* node : nodes) out.push_back({module, node});
  return out;
}

inline std::vector<PyValue> values(const ModulePtr& module, std::span<ir::Value> all) {
  std::vector<PyValue> out;
  for (ir::Value& value : all) out.push_back({module, &value});
  return out;
}

// The op whose region holds the block; null for none.
inline ir::Op* enclosing(ir::Block* block) {
  return block && block->region ? block->region->parent : nullptr;
}

// Handles of one node are equal.
template <class H>
void comparable(nb::class_<H>& cls) {
  cls.def("__eq__", [](const H& self, nb::handle other) {
    H* same = nullptr;
    return nb::try_cast(other, same) && same && *same == self;
  });
  cls.def("__hash__", [](const H& self) { return reinterpret_cast<intptr_t>(self.node) >> 3; });
}

void init_ir_nodes(nb::module_& m);  // all but ops and modules

}  // namespace triton_runner::python
