// Has the process's State, what a fork makes of it, and messages.
#include "state.h"

#include <pthread.h>

#include <cstdio>

namespace triton_runner::driver {
namespace {

void forget_in_child() {
  State& s = state();
  new (&s.mutex) std::mutex;  // a thread that is not in the child may have held it
  s.is_forked = s.is_initialized;
}

}  // namespace

State& state() {
  static State* the = [] {
    pthread_atfork(nullptr, nullptr, forget_in_child);
    return new State;
  }();
  return *the;
}

std::vector<Handle>& context_stack() {
  static thread_local std::vector<Handle> stack;
  return stack;
}

Context* current_context() {
  const std::vector<Handle>& stack = context_stack();
  return stack.empty() ? nullptr : state().contexts.find(stack.back());
}

bool& per_thread_default() {
  static thread_local bool value = false;
  return value;
}

Stream* stream_of(Handle handle) {
  constexpr uintptr_t kPerThread = 2;  // 1: the legacy one
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number <= kPerThread) {
    Context* context = current_context();
    if (!context) return nullptr;
    const bool is_own = number == kPerThread || (number == 0 && per_thread_default());
    return is_own ? &context->per_thread : &context->legacy;
  }
  return state().streams.find(handle);
}

void say(const std::string& text) { std::fprintf(stderr, "triton-runner: %s\n", text.c_str()); }

Error refuse(Error error, const std::string& text) {
  say(text);
  return error;
}

bool Graph::ordered(std::vector<Node*>* out) const {
  std::unordered_map<const Node*, int> seen;  // 1: under way, 2: done
  struct Place {
    Node* node;
    size_t next;
  };
  for (const auto& start : nodes) {
    std::vector<Place> path;
    if (!seen[start.get()]) path.push_back({start.get(), 0}), seen[start.get()] = 1;
    while (!path.empty()) {
      Place& place = path.back();
      if (place.next == place.node->after.size()) {
        seen[place.node] = 2;
        out->push_back(place.node);
        path.pop_back();
        continue;
      }
      Node* before = place.node->after[place.next++];
      if (seen[before] == 1) return false;
      if (!seen[before]) seen[before] = 1, path.push_back({before, 0});
    }
  }
  return true;
}

}  // namespace triton_runner::driver
