// Declares what the files of graphs share: handles of graphs and nodes, and how nodes are added.
#pragma once
#include "state.h"

namespace triton_runner::driver {

inline Graph* graph_of(Handle handle) { return state().graphs.find(handle); }
inline Node* node_of(Handle handle) { return state().nodes.find(handle); }

// Adds a node of `work` that comes after `count` nodes of the same graph.
Error add_node(Handle* out, Handle graph, const Handle* after, size_t count, Work work);
Error launch_of(const KernelParams* params, Launch* out);

// The number by which cuGraphNodeGetType tells nodes apart, and its name.
int type_of(const Work& work);
const char* type_name(int type);

// A graph that a node of another one runs. It has a handle once a program asks for it, and loses it with the node.
Handle handle_of(const std::shared_ptr<Graph>& inner, Node& owner);
// Handles of all nodes, and of the graphs in them, name nothing any more.
void forget_nodes(Graph& graph);
// The graphs that the work runs: a child, or the bodies of a condition.
std::vector<std::shared_ptr<Graph>*> inner_graphs(Work& work);

// The node of an instantiated graph that is the copy of the graph's node; null: there is none.
Node* copy_of(Handle exec, Handle node);

}  // namespace triton_runner::driver
