// Implements what programs ask of a graph's nodes, and how they change them: the parameters of each kind of node.
#include <algorithm>
#include <fstream>

#include "calls.h"
#include "graph.h"

namespace triton_runner::driver {
namespace {

// Gives the program what a node of the kind holds.
template <class T, class Get>
Error ask(Handle handle, Get&& get) {
  Node* node = node_of(handle);
  if (!node) return kInvalidHandle;
  T* work = std::get_if<T>(&node->work);
  return work ? get(*node, *work) : kInvalidValue;
}

// Gives a node, or its copy in an instantiated graph, other work of the same kind.
template <class T>
Error put(Node* node, T work) {
  if (!node) return kInvalidHandle;
  if (!std::holds_alternative<T>(node->work)) return kInvalidValue;
  node->work = std::move(work);
  return kSuccess;
}
template <class T>
Error put_event(Node* node, Handle event) {
  return state().events.find(event) ? put(node, T{event}) : kInvalidHandle;
}

uint64_t graph_bytes(bool with_freed) {
  uint64_t out = 0;
  state().blocks.each([&](const Block& block) {
    if (block.is_of_graph && (with_freed || !block.is_away)) out += block.bytes;
  });
  return out;
}

void draw(const Graph& graph, const std::string& name, std::ofstream& out) {
  out << "subgraph \"cluster_" << name << "\" {\nlabel=\"graph_" << name << "\"\n";
  const auto number = [&](const Node* node) {
    const auto at = std::ranges::find_if(graph.nodes, [&](const auto& one) { return one.get() == node; });
    return "\"" + name + "_node_" + std::to_string(at - graph.nodes.begin()) + "\"";
  };
  for (const auto& node : graph.nodes) {
    const auto* launch = std::get_if<Launch>(&node->work);
    out << number(node.get()) << " [label=\""
        << (launch ? readable(launch->function->name) : std::string(type_name(type_of(node->work))))
        << "\"];\n";
    for (const Node* before : node->after) out << number(before) << " -> " << number(node.get()) << ";\n";
    size_t inside = 0;
    for (const std::shared_ptr<Graph>* inner : inner_graphs(node->work))
      draw(**inner,
           name + "_" + std::to_string(node.get() - graph.nodes.front().get()) + std::to_string(inside++),
           out);
  }
  out << "}\n";
}

}  // namespace

namespace call {

Error cuGraphKernelNodeGetParams_v2(Handle handle, KernelParams* out) {
  return ask<Launch>(handle, [&](Node& node, Launch& launch) {
    if (!out) return kInvalidValue;
    node.pointers.clear();
    for (auto& value : launch.values) node.pointers.push_back(value.data());
    *out = {launch.function->handle, launch.grid[0],  launch.grid[1],          launch.grid[2],
            launch.block[0],         launch.block[1], launch.block[2],         launch.shared_bytes,
            node.pointers.data(),    nullptr,         launch.function->kernel, launch.module->context};
    return kSuccess;
  });
}
Error cuGraphKernelNodeSetParams_v2(Handle handle, const KernelParams* params) {
  Launch launch;
  if (!node_of(handle)) return kInvalidHandle;
  if (const Error error = launch_of(params, &launch)) return error;
  return put(node_of(handle), std::move(launch));
}
Error cuGraphMemcpyNodeGetParams(Handle handle, Copy3D* out) {
  return ask<Copy3D>(handle, [&](Node&, const Copy3D& copy) { return give(out, copy); });
}
Error cuGraphMemcpyNodeSetParams(Handle handle, const Copy3D* copy) {
  if (!copy) return kInvalidValue;
  if (const Error error = check_copy(*copy)) return error;
  return put(node_of(handle), *copy);
}
Error cuGraphMemsetNodeGetParams(Handle handle, FillParams* out) {
  return ask<FillParams>(handle, [&](Node&, const FillParams& fill) { return give(out, fill); });
}
Error cuGraphMemsetNodeSetParams(Handle handle, const FillParams* fill) {
  if (!fill) return kInvalidValue;
  if (const Error error = check_fill(*fill)) return error;
  return put(node_of(handle), *fill);
}
Error cuGraphHostNodeGetParams(Handle handle, HostParams* out) {
  return ask<Call>(handle, [&](Node&, const Call& c) { return give(out, HostParams{c.function, c.data}); });
}
Error cuGraphHostNodeSetParams(Handle handle, const HostParams* host) {
  if (!host || !host->function) return kInvalidValue;
  return put(node_of(handle), Call{host->function, host->data});
}
Error cuGraphEventRecordNodeGetEvent(Handle handle, Handle* out) {
  return ask<RecordEvent>(handle, [&](Node&, const RecordEvent& r) { return give(out, r.event); });
}
Error cuGraphEventRecordNodeSetEvent(Handle handle, Handle event) {
  return put_event<RecordEvent>(node_of(handle), event);
}
Error cuGraphEventWaitNodeGetEvent(Handle handle, Handle* out) {
  return ask<WaitEvent>(handle, [&](Node&, const WaitEvent& w) { return give(out, w.event); });
}
Error cuGraphEventWaitNodeSetEvent(Handle handle, Handle event) {
  return put_event<WaitEvent>(node_of(handle), event);
}
Error cuGraphExecEventRecordNodeSetEvent(Handle exec, Handle node, Handle event) {
  return put_event<RecordEvent>(copy_of(exec, node), event);
}
Error cuGraphExecEventWaitNodeSetEvent(Handle exec, Handle node, Handle event) {
  return put_event<WaitEvent>(copy_of(exec, node), event);
}
Error cuGraphChildGraphNodeGetGraph(Handle handle, Handle* out) {
  return ask<RunGraph>(handle, [&](Node& node, const RunGraph& child) {
    return out ? give(out, handle_of(child.graph, node)) : kInvalidValue;
  });
}

Error cuGraphRemoveDependencies(Handle handle, const Handle* from, const Handle* to, size_t count) {
  const Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (count && (!from || !to)) return kInvalidValue;
  for (const bool is_done : {false, true})  // none is removed where one is not there
    for (size_t i = 0; i < count; ++i) {
      Node *a = node_of(from[i]), *b = node_of(to[i]);
      if (!a || !b || a->graph != graph || b->graph != graph) return kInvalidValue;
      const auto edge = std::ranges::find(b->after, a);
      if (edge == b->after.end()) return kInvalidValue;
      if (is_done) b->after.erase(edge);
    }
  return kSuccess;
}
Error cuGraphRemoveDependencies_v2(Handle graph, const Handle* from, const Handle* to, const void*,
                                   size_t count) {
  return cuGraphRemoveDependencies(graph, from, to, count);
}

Error cuGraphDebugDotPrint(Handle handle, const char* path, unsigned) {
  const Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (!path) return kInvalidValue;
  std::ofstream out(path);
  if (!out) return kFileNotFound;
  out << "digraph dot {\n";
  draw(*graph, "1", out);
  out << "}\n";
  return kSuccess;
}

Error cuDeviceGetGraphMemAttribute(int device, int attribute, void* out) {
  if (device != 0) return kInvalidDevice;
  if (!out || attribute < 0 || attribute > 3) return kInvalidValue;
  State& s = state();
  const uint64_t now = graph_bytes(attribute >= 2);
  uint64_t& most = s.graph_bytes_most[attribute / 2];
  most = std::max(most, now);
  *static_cast<uint64_t*>(out) = attribute % 2 ? most : now;
  return kSuccess;
}
// Only what was the most, and only to 0.
Error cuDeviceSetGraphMemAttribute(int device, int attribute, void* value) {
  if (device != 0) return kInvalidDevice;
  if (!value || (attribute != 1 && attribute != 3) || *static_cast<const uint64_t*>(value) != 0)
    return kInvalidValue;
  state().graph_bytes_most[attribute / 2] = 0;
  return kSuccess;
}

}  // namespace call
}  // namespace triton_runner::driver
