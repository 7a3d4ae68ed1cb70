// Implements graphs: nodes of work and what each comes after, made by calls or by a capture, copied when they are
// instantiated.
#include <algorithm>
#include <utility>

#include "calls.h"
#include "graph.h"

namespace triton_runner::driver {
namespace {

// The last reference destroys the object, outside of the lock, as its function is the program's.
Error release_object(Handle handle, uint64_t count) {
  UserObject* object = state().objects.find(handle);
  if (!object) return kInvalidHandle;
  if (count == 0 || count > object->references) return kInvalidValue;
  object->references -= count;
  if (object->references > 0) return kSuccess;
  const UserObject gone = *object;
  state().objects.remove(handle);
  Outside outside;
  gone.destroy(gone.data);
  return kSuccess;
}

void forget_inner(Node& node) {
  for (std::shared_ptr<Graph>* inner : inner_graphs(node.work)) {
    forget_nodes(**inner);
    if ((*inner)->handle) state().graphs.remove((*inner)->handle);
  }
}

std::shared_ptr<Graph> copied(const Graph& graph, std::map<Node*, Node*>* copies) {
  auto out = std::make_shared<Graph>();
  for (const auto& node : graph.nodes) {
    auto twin = std::make_shared<Node>(*node);
    twin->graph = out.get(), twin->handle = nullptr, twin->pointers.clear();
    for (std::shared_ptr<Graph>* inner : inner_graphs(twin->work)) {
      std::map<Node*, Node*> inside;
      *inner = copied(**inner, &inside);
      copies->insert(inside.begin(), inside.end());
    }
    (*copies)[node.get()] = twin.get();
    out->nodes.push_back(std::move(twin));
  }
  for (const auto& node : out->nodes)
    for (Node*& before : node->after) before = (*copies)[before];
  out->conditions = graph.conditions;
  for (const auto& [object, count] : graph.objects) {
    out->objects[object] = count;
    state().objects.find(object)->references += count;
  }
  return out;
}

// Fills an array of at most *count handles; without one it says how many there are.
Error put_nodes(const std::vector<Handle>& all, Handle* out, size_t* count) {
  if (!count) return kInvalidValue;
  if (out) {
    for (size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? all[i] : nullptr;
    *count = std::min(*count, all.size());
  } else {
    *count = all.size();
  }
  return kSuccess;
}

Error instantiate(Handle* out, Handle handle, uint64_t flags) {
  Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (!out || flags > 15) return kInvalidValue;
  std::vector<Node*> order;
  if (!graph->ordered(&order)) return kInvalidValue;
  auto exec = std::make_shared<GraphExec>();
  exec->graph = copied(*graph, &exec->copies);
  exec->flags = flags, exec->id = ++state().ids;
  *out = state().execs.add(std::move(exec));
  return kSuccess;
}

// The work of a node in an instantiated graph, if it is of the kind.
template <class T>
Error replace(Handle exec_handle, Handle node_handle, T work) {
  if (!state().execs.find(exec_handle) || !node_of(node_handle)) return kInvalidHandle;
  Node* copy = copy_of(exec_handle, node_handle);
  if (!copy || !std::holds_alternative<T>(copy->work)) return kInvalidValue;
  copy->work = std::move(work);
  return kSuccess;
}

}  // namespace

Error add_node(Handle* out, Handle handle, const Handle* after, size_t count, Work work) {
  Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (!out || (count && !after)) return kInvalidValue;
  auto node = std::make_shared<Node>();
  for (size_t i = 0; i < count; ++i) {
    Node* before = node_of(after[i]);
    if (!before || before->graph != graph) return kInvalidValue;
    node->after.push_back(before);
  }
  node->work = std::move(work), node->graph = graph;
  *out = node->handle = state().nodes.add(node);
  graph->nodes.push_back(std::move(node));
  return kSuccess;
}

Error launch_of(const KernelParams* p, Launch* out) {
  if (!p) return kInvalidValue;
  const LaunchConfig config{p->grid_x,  p->grid_y,       p->grid_z, p->block_x, p->block_y,
                            p->block_z, p->shared_bytes, nullptr,   nullptr,    0};
  return make_launch(p->function ? p->function : p->kernel, config, p->params, p->extra, out);
}

int type_of(const Work& work) {
  if (std::holds_alternative<Launch>(work)) return 0;
  if (std::holds_alternative<Copy3D>(work)) return 1;
  if (std::holds_alternative<FillParams>(work)) return 2;
  if (std::holds_alternative<Call>(work) || std::holds_alternative<Callback>(work)) return 3;
  if (std::holds_alternative<RunGraph>(work)) return 4;
  if (std::holds_alternative<std::monostate>(work)) return 5;
  if (std::holds_alternative<WaitEvent>(work)) return 6;
  if (std::holds_alternative<RecordEvent>(work)) return 7;
  if (std::holds_alternative<AllocateBlock>(work)) return 10;
  if (std::holds_alternative<ReleaseBlock>(work)) return 11;
  return std::holds_alternative<RunConditional>(work) ? 13 : 12;
}

const char* type_name(int type) {
  constexpr const char* kNames[] = {"kernel",    "memcpy",     "memset",       "host",       "child graph",
                                    "empty",     "event wait", "event record", "",           "",
                                    "mem alloc", "mem free",   "batch mem op", "conditional"};
  return kNames[type];
}

std::vector<std::shared_ptr<Graph>*> inner_graphs(Work& work) {
  std::vector<std::shared_ptr<Graph>*> out;
  if (auto* child = std::get_if<RunGraph>(&work)) out.push_back(&child->graph);
  if (auto* choice = std::get_if<RunConditional>(&work))
    for (auto& body : choice->bodies) out.push_back(&body);
  return out;
}

void forget_nodes(Graph& graph) {
  for (const auto& node : graph.nodes) forget_inner(*node), state().nodes.remove(node->handle);
}

Handle handle_of(const std::shared_ptr<Graph>& inner, Node& owner) {
  if (inner->handle) return inner->handle;
  inner->owner = &owner, inner->id = ++state().ids;
  for (const auto& node : inner->nodes)
    if (!node->handle) node->handle = state().nodes.add(node);
  return inner->handle = state().graphs.add(inner);
}

Node* copy_of(Handle exec_handle, Handle node_handle) {
  const GraphExec* exec = state().execs.find(exec_handle);
  Node* node = node_of(node_handle);
  if (!exec || !node) return nullptr;
  const auto it = exec->copies.find(node);
  return it == exec->copies.end() ? nullptr : it->second;
}

Graph::~Graph() {
  for (const auto& [object, count] : objects) release_object(object, count);
}

namespace call {

Error cuUserObjectCreate(Handle* out, void* data, HostFunction destroy, unsigned count, unsigned flags) {
  if (!out || !destroy || count == 0 || flags != 1) return kInvalidValue;
  *out = state().objects.add(std::make_shared<UserObject>(UserObject{data, destroy, count}));
  return kSuccess;
}
Error cuUserObjectRetain(Handle handle, unsigned count) {
  UserObject* object = state().objects.find(handle);
  if (!object) return kInvalidHandle;
  if (count == 0) return kInvalidValue;
  object->references += count;
  return kSuccess;
}
Error cuUserObjectRelease(Handle handle, unsigned count) { return release_object(handle, count); }
Error cuGraphRetainUserObject(Handle handle, Handle object, unsigned count, unsigned flags) {
  Graph* graph = graph_of(handle);
  UserObject* found = state().objects.find(object);
  if (!graph || !found) return kInvalidHandle;
  if (count == 0 || flags > 1) return kInvalidValue;
  constexpr unsigned kMove = 1;  // the caller's references become the graph's
  if (!(flags & kMove)) found->references += count;
  graph->objects[object] += count;
  return kSuccess;
}
Error cuGraphReleaseUserObject(Handle handle, Handle object, unsigned count) {
  Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  auto it = graph->objects.find(object);
  if (it == graph->objects.end() || count == 0 || count > it->second) return kInvalidValue;
  it->second -= count;
  if (it->second == 0) graph->objects.erase(it);
  return release_object(object, count);
}

Error cuGraphGetId(Handle handle, unsigned* out) { return give(graph_of(handle), out, &Graph::id); }
Error cuGraphExecGetFlags(Handle handle, uint64_t* out) {
  return give(state().execs.find(handle), out, &GraphExec::flags);
}
Error cuGraphExecGetId(Handle handle, unsigned* out) {
  return give(state().execs.find(handle), out, &GraphExec::id);
}
Error cuGraphNodeGetDependencies(Handle handle, Handle* out, size_t* count) {
  const Node* node = node_of(handle);
  if (!node) return kInvalidHandle;
  std::vector<Handle> all;
  for (const Node* before : node->after) all.push_back(before->handle);
  return put_nodes(all, out, count);
}
Error cuGraphNodeGetDependentNodes(Handle handle, Handle* out, size_t* count) {
  Node* node = node_of(handle);
  if (!node) return kInvalidHandle;
  std::vector<Handle> all;
  for (const auto& other : node->graph->nodes)
    if (std::ranges::find(other->after, node) != other->after.end()) all.push_back(other->handle);
  return put_nodes(all, out, count);
}
// The second versions give the data of edges, too: zeros, which is a plain edge.
Error cuGraphNodeGetDependencies_v2(Handle handle, Handle* out, uint64_t* edges, size_t* count) {
  if (out && edges && count) std::fill_n(edges, *count, 0);
  return cuGraphNodeGetDependencies(handle, out, count);
}
Error cuGraphNodeGetDependentNodes_v2(Handle handle, Handle* out, uint64_t* edges, size_t* count) {
  if (out && edges && count) std::fill_n(edges, *count, 0);
  return cuGraphNodeGetDependentNodes(handle, out, count);
}
Error cuGraphGetEdges_v2(Handle graph, Handle* from, Handle* to, uint64_t* edges, size_t* count) {
  if (from && edges && count) std::fill_n(edges, *count, 0);
  return cuGraphGetEdges(graph, from, to, count);
}
Error cuGraphDestroyNode(Handle handle) {
  Node* node = node_of(handle);
  if (!node) return kInvalidHandle;
  Graph& graph = *node->graph;
  for (const auto& other : graph.nodes) std::erase(other->after, node);
  forget_captured(node);
  forget_inner(*node);
  state().nodes.remove(handle);
  std::erase_if(graph.nodes, [&](const auto& one) { return one.get() == node; });
  return kSuccess;
}
Error cuGraphCreate(Handle* out, unsigned flags) {
  if (!out || flags) return kInvalidValue;
  auto graph = std::make_shared<Graph>();
  graph->id = ++state().ids;
  Graph& g = *graph;
  *out = g.handle = state().graphs.add(std::move(graph));
  return kSuccess;
}
Error cuGraphDestroy(Handle handle) {
  Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (graph->owner) return kInvalidValue;  // it ends with the node that runs it
  forget_nodes(*graph);
  state().graphs.remove(handle);
  return kSuccess;
}
Error cuGraphClone(Handle* out, Handle handle) {
  const Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (!out) return kInvalidValue;
  std::map<Node*, Node*> copies;
  std::shared_ptr<Graph> twin = copied(*graph, &copies);
  for (const auto& node : twin->nodes) node->handle = state().nodes.add(node);
  Graph& g = *twin;
  g.id = ++state().ids;
  *out = g.handle = state().graphs.add(std::move(twin));
  return kSuccess;
}

Error cuGraphAddKernelNode_v2(Handle* out, Handle graph, const Handle* after, size_t count,
                              const KernelParams* params) {
  Launch launch;
  if (const Error error = launch_of(params, &launch)) return error;
  return add_node(out, graph, after, count, std::move(launch));
}
Error cuGraphAddMemcpyNode(Handle* out, Handle graph, const Handle* after, size_t count, const Copy3D* copy,
                           Handle) {
  if (!copy) return kInvalidValue;
  if (const Error error = check_copy(*copy)) return error;
  return add_node(out, graph, after, count, *copy);
}
Error cuGraphAddMemsetNode(Handle* out, Handle graph, const Handle* after, size_t count,
                           const FillParams* fill, Handle) {
  if (!fill) return kInvalidValue;
  if (const Error error = check_fill(*fill)) return error;
  return add_node(out, graph, after, count, *fill);
}
Error cuGraphAddHostNode(Handle* out, Handle graph, const Handle* after, size_t count,
                         const HostParams* host) {
  if (!host || !host->function) return kInvalidValue;
  return add_node(out, graph, after, count, Call{host->function, host->data});
}
Error cuGraphAddEmptyNode(Handle* out, Handle graph, const Handle* after, size_t count) {
  return add_node(out, graph, after, count, std::monostate{});
}
Error cuGraphAddChildGraphNode(Handle* out, Handle graph, const Handle* after, size_t count, Handle child) {
  const Graph* inner = graph_of(child);
  if (!inner || child == graph) return kInvalidValue;
  std::map<Node*, Node*> copies;
  return add_node(out, graph, after, count, RunGraph{copied(*inner, &copies)});
}
Error cuGraphAddEventRecordNode(Handle* out, Handle graph, const Handle* after, size_t count, Handle event) {
  return state().events.find(event) ? add_node(out, graph, after, count, RecordEvent{event}) : kInvalidHandle;
}
Error cuGraphAddEventWaitNode(Handle* out, Handle graph, const Handle* after, size_t count, Handle event) {
  return state().events.find(event) ? add_node(out, graph, after, count, WaitEvent{event}) : kInvalidHandle;
}

Error cuGraphAddDependencies(Handle handle, const Handle* from, const Handle* to, size_t count) {
  const Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (count && (!from || !to)) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    Node *a = node_of(from[i]), *b = node_of(to[i]);
    if (!a || !b || a->graph != graph || b->graph != graph || a == b) return kInvalidValue;
    if (std::ranges::find(b->after, a) != b->after.end()) return kInvalidValue;
    b->after.push_back(a);
  }
  return kSuccess;
}
Error cuGraphAddDependencies_v2(Handle graph, const Handle* from, const Handle* to, const void*,
                                size_t count) {
  return cuGraphAddDependencies(graph, from, to, count);
}

Error cuGraphGetNodes(Handle handle, Handle* out, size_t* count) {
  const Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  std::vector<Handle> all;
  for (const auto& node : graph->nodes) all.push_back(node->handle);
  return put_nodes(all, out, count);
}
Error cuGraphGetRootNodes(Handle handle, Handle* out, size_t* count) {
  const Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  std::vector<Handle> all;
  for (const auto& node : graph->nodes)
    if (node->after.empty()) all.push_back(node->handle);
  return put_nodes(all, out, count);
}
Error cuGraphGetEdges(Handle handle, Handle* from, Handle* to, size_t* count) {
  const Graph* graph = graph_of(handle);
  if (!graph) return kInvalidHandle;
  if (!count || !from != !to) return kInvalidValue;
  std::vector<Handle> begins, ends;
  for (const auto& node : graph->nodes)
    for (const Node* before : node->after) begins.push_back(before->handle), ends.push_back(node->handle);
  size_t again = *count;
  put_nodes(begins, from, &again);
  return put_nodes(ends, to, count);
}
Error cuGraphNodeGetType(Handle handle, int* out) {
  return give(node_of(handle), out, [](const Node& node) { return type_of(node.work); });
}

Error cuGraphAddMemAllocNode(Handle* out, Handle graph, const Handle* after, size_t count,
                             AllocParams* params) {
  if (!params || params->bytes == 0) return kInvalidValue;
  if (!graph_of(graph)) return kInvalidHandle;
  auto memory = graph_memory(params->bytes);
  if (!memory) return kOutOfMemory;
  params->address = memory->address;
  return add_node(out, graph, after, count, AllocateBlock{std::move(memory)});
}
Error cuGraphAddMemFreeNode(Handle* out, Handle graph, const Handle* after, size_t count, Address address) {
  const Block* block = state().blocks.starting_at(address);
  if (!block || !block->is_of_graph) return kInvalidValue;
  return add_node(out, graph, after, count, ReleaseBlock{address});
}
Error cuGraphMemAllocNodeGetParams(Handle handle, AllocParams* out) {
  const Node* node = node_of(handle);
  if (!node) return kInvalidHandle;
  const auto* allocation = std::get_if<AllocateBlock>(&node->work);
  if (!out || !allocation) return kInvalidValue;
  const Block* block = state().blocks.starting_at(allocation->memory->address);
  *out = {};
  out->pool.allocation_type = 1, out->pool.location = {1, 0};
  out->address = allocation->memory->address, out->bytes = block ? block->bytes : 0;
  return kSuccess;
}
Error cuGraphMemFreeNodeGetParams(Handle handle, Address* out) {
  const Node* node = node_of(handle);
  if (!node) return kInvalidHandle;
  const auto* release = std::get_if<ReleaseBlock>(&node->work);
  return release ? give(out, release->address) : kInvalidValue;
}
Error cuDeviceGraphMemTrim(int device) { return device == 0 ? kSuccess : kInvalidDevice; }

Error cuGraphNodeSetEnabled(Handle exec_handle, Handle handle, unsigned is_enabled) {
  if (!state().execs.find(exec_handle) || !node_of(handle)) return kInvalidHandle;
  Node* copy = copy_of(exec_handle, handle);
  if (!copy) return kInvalidValue;
  copy->is_enabled = is_enabled != 0;
  return kSuccess;
}
Error cuGraphNodeGetEnabled(Handle exec_handle, Handle handle, unsigned* out) {
  if (!state().execs.find(exec_handle) || !node_of(handle)) return kInvalidHandle;
  const Node* copy = copy_of(exec_handle, handle);
  if (!out || !copy) return kInvalidValue;
  *out = copy->is_enabled;
  return kSuccess;
}

Error cuGraphExecKernelNodeSetParams_v2(Handle exec, Handle node, const KernelParams* params) {
  Launch launch;
  if (const Error error = launch_of(params, &launch)) return error;
  return replace(exec, node, std::move(launch));
}
Error cuGraphExecMemcpyNodeSetParams(Handle exec, Handle node, const Copy3D* copy, Handle) {
  if (!copy) return kInvalidValue;
  if (const Error error = check_copy(*copy)) return error;
  return replace(exec, node, *copy);
}
Error cuGraphExecMemsetNodeSetParams(Handle exec, Handle node, const FillParams* fill, Handle) {
  if (!fill) return kInvalidValue;
  if (const Error error = check_fill(*fill)) return error;
  return replace(exec, node, *fill);
}
Error cuGraphExecHostNodeSetParams(Handle exec, Handle node, const HostParams* host) {
  if (!host || !host->function) return kInvalidValue;
  return replace(exec, node, Call{host->function, host->data});
}

Error cuGraphInstantiateWithFlags(Handle* out, Handle graph, uint64_t flags) {
  return instantiate(out, graph, flags);
}
Error cuGraphInstantiate_v2(Handle* out, Handle graph, Handle* error_node, char* log, size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes) *log = '\0';
  return instantiate(out, graph, 0);
}
Error cuGraphInstantiateWithParams(Handle* out, Handle graph, void* params) {
  struct Params {
    uint64_t flags;
    Handle upload, error_node;
    int result;
  };
  if (!params) return kInvalidValue;
  auto* p = static_cast<Params*>(params);
  const Error error = instantiate(out, graph, p->flags);
  p->error_node = nullptr, p->result = error ? 1 : 0;
  return error;
}
Error cuGraphUpload(Handle exec, Handle stream) {
  return state().execs.find(exec) && stream_of(stream) ? kSuccess : kInvalidHandle;
}
Error cuGraphLaunch(Handle exec, Handle stream) {
  const GraphExec* found = state().execs.find(exec);
  if (!found || !stream_of(stream)) return kInvalidHandle;
  constexpr uint64_t kFreesAtLaunch = 1;
  if (found->flags & kFreesAtLaunch)
    for (const auto& node : found->graph->nodes)
      if (const auto* a = std::get_if<AllocateBlock>(&node->work))
        if (const Block* block = state().blocks.starting_at(a->memory->address); block && !block->is_away)
          release_block(block->address);
  return submit(stream, RunGraph{found->graph});
}
Error cuGraphExecDestroy(Handle exec) { return state().execs.remove(exec) ? kSuccess : kInvalidHandle; }

// Takes the work of a graph with the same nodes and edges.
Error cuGraphExecUpdate_v2(Handle exec_handle, Handle graph_handle, void* result) {
  struct Result {
    int result;
    Handle node, from;
  };
  GraphExec* exec = state().execs.find(exec_handle);
  const Graph* graph = graph_of(graph_handle);
  if (!exec || !graph) return kInvalidHandle;
  std::map<Node*, Node*> copies;
  std::shared_ptr<Graph> next = copied(*graph, &copies);
  bool is_same = next->nodes.size() == exec->graph->nodes.size();
  for (size_t i = 0; is_same && i < next->nodes.size(); ++i)
    is_same = type_of(next->nodes[i]->work) == type_of(exec->graph->nodes[i]->work) &&
              next->nodes[i]->after.size() == exec->graph->nodes[i]->after.size();
  if (auto* r = static_cast<Result*>(result)) *r = {is_same ? 0 : 2, nullptr, nullptr};
  if (!is_same) return kGraphExecUpdateFailure;
  exec->graph = std::move(next), exec->copies = std::move(copies);
  return kSuccess;
}

}  // namespace call
}  // namespace triton_runner::driver
