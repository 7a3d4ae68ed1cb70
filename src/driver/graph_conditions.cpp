// Implements nodes that kernels decide about: cudaGraphSetConditional writes a word, by which a node chooses the graphs that
// it runs; and the call that adds a node of any kind.
#include <array>
#include <cstring>

#include "calls.h"
#include "graph.h"

namespace triton_runner::driver {
namespace {

constexpr int kKernel = 0, kMemcpy = 1, kMemset = 2, kHost = 3, kChild = 4, kEmpty = 5, kWait = 6,
              kRecord = 7, kAllocate = 10, kFree = 11, kConditional = 13;

std::shared_ptr<Condition> condition_of(const Graph& graph, Address handle) {
  for (const auto& condition : graph.conditions)
    if (condition->address == handle) return condition;
  if (const Node* owner = graph.owner) return condition_of(*owner->graph, handle);
  return nullptr;
}

Error add_conditional(Handle* out, Handle graph, const Handle* after, size_t count,
                      ConditionalParams& params) {
  const auto most = std::array<unsigned, 3>{2, 1, ~0u};
  if (!out || params.type > 2 || params.size == 0 || params.size > most[params.type]) return kInvalidValue;
  RunConditional work;
  work.condition = condition_of(*graph_of(graph), params.handle);
  if (!work.condition) return kInvalidValue;
  work.how = static_cast<RunConditional::How>(params.type);
  for (unsigned i = 0; i < params.size; ++i) work.bodies.push_back(std::make_shared<Graph>());
  const std::vector<std::shared_ptr<Graph>> bodies = work.bodies;
  if (const Error error = add_node(out, graph, after, count, std::move(work))) return error;
  Node& node = *node_of(*out);
  for (const auto& body : bodies) node.pointers.push_back(handle_of(body, node));
  params.bodies = node.pointers.data();
  return kSuccess;
}

}  // namespace

Condition::~Condition() { state().blocks.release(address); }
bool Condition::get(uint32_t* value) const {
  const bool is_there = state().blocks.starting_at(address) != nullptr;
  if (is_there) std::memcpy(value, reinterpret_cast<const void*>(address), sizeof *value);
  return is_there;
}
bool Condition::set(uint32_t value) const {
  const bool is_there = state().blocks.starting_at(address) != nullptr;
  if (is_there) std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
  if (is_there) state().blocks.written(address, sizeof value);
  return is_there;
}

namespace call {

Error cuGraphConditionalHandleCreate(Address* out, Handle handle, Handle context, unsigned initial,
                                     unsigned flags) {
  Graph* graph = graph_of(handle);
  if (!graph || (context && !state().contexts.find(context))) return kInvalidHandle;
  if (!out || flags > 1) return kInvalidValue;
  Block* block = state().blocks.allocate(sizeof initial, Kind::kDevice, "condition of a graph");
  if (!block) return kOutOfMemory;
  auto condition = std::make_shared<Condition>();
  condition->address = block->address, condition->initial = initial, condition->is_reset = flags == 1;
  condition->set(initial);
  graph->conditions.push_back(std::move(condition));
  *out = block->address;
  return kSuccess;
}

Error cuGraphAddNode_v2(Handle* out, Handle graph, const Handle* after, const void*, size_t count,
                        NodeParams* params) {
  if (!graph_of(graph)) return kInvalidHandle;
  if (!params) return kInvalidValue;
  switch (params->type) {
    case kKernel:
      return cuGraphAddKernelNode_v2(out, graph, after, count, &params->kernel);
    case kMemcpy:
      return cuGraphAddMemcpyNode(out, graph, after, count, &params->copy.copy, nullptr);
    case kMemset:
      return cuGraphAddMemsetNode(out, graph, after, count, &params->fill, nullptr);
    case kHost:
      return cuGraphAddHostNode(out, graph, after, count, &params->host);
    case kChild:
      return cuGraphAddChildGraphNode(out, graph, after, count, params->handle);
    case kEmpty:
      return cuGraphAddEmptyNode(out, graph, after, count);
    case kWait:
      return cuGraphAddEventWaitNode(out, graph, after, count, params->handle);
    case kRecord:
      return cuGraphAddEventRecordNode(out, graph, after, count, params->handle);
    case kAllocate:
      return cuGraphAddMemAllocNode(out, graph, after, count, &params->allocation);
    case kFree:
      return cuGraphAddMemFreeNode(out, graph, after, count, params->address);
    case kConditional:
      return add_conditional(out, graph, after, count, params->conditional);
    default:
      return refuse(kNotSupported, "cuGraphAddNode: nodes of type " + std::to_string(params->type) +
                                       " are not part of this driver: CUDA_ERROR_NOT_SUPPORTED");
  }
}
Error cuGraphNodeGetParams(Handle handle, NodeParams* out) {
  Node* node = node_of(handle);
  if (!node) return kInvalidHandle;
  if (!out) return kInvalidValue;
  *out = {};
  out->type = type_of(node->work);
  switch (out->type) {
    case kKernel:
      return cuGraphKernelNodeGetParams_v2(handle, &out->kernel);
    case kMemcpy:
      return cuGraphMemcpyNodeGetParams(handle, &out->copy.copy);
    case kMemset:
      return cuGraphMemsetNodeGetParams(handle, &out->fill);
    case kHost:
      return cuGraphHostNodeGetParams(handle, &out->host);
    case kChild:
      return cuGraphChildGraphNodeGetGraph(handle, &out->handle);
    case kWait:
      return cuGraphEventWaitNodeGetEvent(handle, &out->handle);
    case kRecord:
      return cuGraphEventRecordNodeGetEvent(handle, &out->handle);
    case kAllocate:
      return cuGraphMemAllocNodeGetParams(handle, &out->allocation);
    case kFree:
      return cuGraphMemFreeNodeGetParams(handle, &out->address);
    case kConditional: {
      const auto& work = std::get<RunConditional>(node->work);
      out->conditional = {work.condition->address, static_cast<unsigned>(work.how),
                          static_cast<unsigned>(work.bodies.size()), node->pointers.data(), nullptr};
      return kSuccess;
    }
    default:
      return out->type == kEmpty ? kSuccess : kNotSupported;
  }
}
Error cuGraphAddNode(Handle* out, Handle graph, const Handle* after, size_t count, NodeParams* params) {
  return cuGraphAddNode_v2(out, graph, after, nullptr, count, params);
}

}  // namespace call
}  // namespace triton_runner::driver
