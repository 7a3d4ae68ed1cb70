// Implements streams and events. What a stream is given is executed at once, in the order of the calls, so
// that a fault is the error of the call that brought it; what a capturing stream is given becomes nodes of
// its graph.
#include <algorithm>
#include <cstring>
#include <utility>

#include <triton_runner/exec/interruptible.h>

#include "calls.h"

namespace triton_runner::driver {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

bool is_capturing(const Stream& s) { return s.capture != nullptr; }

// Adds a node that comes after what the stream has captured so far.
Node* add_captured(Stream& s, Work work) {
  Graph& graph = *s.capture->graph;
  auto node = std::make_shared<Node>();
  node->work = std::move(work), node->after = s.last, node->graph = &graph;
  node->handle = state().nodes.add(node);
  Node* raw = node.get();
  graph.nodes.push_back(std::move(node));
  s.last = {raw};
  return raw;
}

Error execute_write(const WriteValue& w) {
  if (!state().blocks.find(w.address, w.bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(w.address), &w.value, w.bytes);
  state().blocks.written(w.address, w.bytes);
  if (Races* races = state().races.get()) races->wrote_value(w.address);
  return kSuccess;
}

// The value has to be there already: everything before the wait was executed.
Error execute_wait(const WaitValue& w) {
  if (!state().blocks.find(w.address, w.bytes)) return kInvalidValue;
  uint64_t now = 0;
  std::memcpy(&now, reinterpret_cast<const void*>(w.address), w.bytes);
  const uint64_t mask = w.bytes == 4 ? 0xffffffff : ~uint64_t{0};
  const uint64_t wanted = w.value & mask;
  bool is_so = false;
  switch (w.flags & 3) {
    case 0:
      is_so =
          w.bytes == 4 ? static_cast<int32_t>(now - wanted) >= 0 : static_cast<int64_t>(now - wanted) >= 0;
      break;
    case 1:
      is_so = now == wanted;
      break;
    case 2:
      is_so = (now & wanted) != 0;
      break;
    default:
      is_so = ((now | wanted) ^ mask) != 0;
  }
  if (Races* races = state().races.get(); races && is_so) races->waited_for_value(w.address);
  if (is_so) return kSuccess;
  return refuse(
      kLaunchTimeout,
      "a stream waits for a value that nothing has written: streams are executed in the order of the calls");
}

Error write_value(Handle stream, Address address, uint64_t value, unsigned bytes) {
  if (!stream_of(stream)) return kInvalidHandle;
  if (address % bytes || !state().blocks.find(address, bytes)) return kInvalidValue;
  return submit(stream, WriteValue{address, value, bytes});
}

Error wait_value(Handle stream, Address address, uint64_t value, unsigned bytes, unsigned flags) {
  if (!stream_of(stream)) return kInvalidHandle;
  if (address % bytes || !state().blocks.find(address, bytes)) return kInvalidValue;
  return submit(stream, WaitValue{address, value, bytes, flags});
}

Error elapsed(float* out, Handle begin, Handle end) {
  const Event *a = state().events.find(begin), *b = state().events.find(end);
  if (!a || !b) return kInvalidHandle;
  constexpr unsigned kDisableTiming = 2;
  if (!out) return kInvalidValue;
  if (!a->is_recorded || !b->is_recorded || (a->flags | b->flags) & kDisableTiming) return kInvalidHandle;
  *out = std::chrono::duration<float, std::milli>(b->at - a->at).count();
  return kSuccess;
}

Error create(Handle* out, unsigned flags, int priority) {
  if (!out || flags > 1) return kInvalidValue;
  State& s = state();
  auto stream = std::make_shared<Stream>();
  Stream& x = *stream;
  x.context = current_context()->handle, x.flags = flags, x.id = ++s.ids;
  x.priority = std::clamp(priority, -5, 0);
  *out = x.handle = s.streams.add(std::move(stream));
  if (s.races) s.races->begin(x);  // streams are numbered as they are made
  return kSuccess;
}

void end_capture(Capture* capture) {
  State& s = state();
  auto leave = [&](Stream& x) {
    if (x.capture.get() == capture) x.capture = nullptr, x.last.clear();
  };
  for (const auto& [handle, stream] : s.streams) leave(*stream);
  for (const auto& [handle, context] : s.contexts) leave(context->legacy), leave(context->per_thread);
}

// Whether every node that was captured leads to one of `last`: streams that were drawn into the capture came back.
bool is_joined(const Capture& capture, const std::vector<Node*>& last) {
  const auto& nodes = capture.graph->nodes;
  std::vector<const Node*> path(last.begin(), last.end()), seen;
  while (!path.empty()) {
    const Node* node = path.back();
    path.pop_back();
    if (std::ranges::find(seen, node) != seen.end()) continue;
    seen.push_back(node);
    path.insert(path.end(), node->after.begin(), node->after.end());
  }
  return std::all_of(nodes.begin() + static_cast<ptrdiff_t>(std::min(capture.known, nodes.size())),
                     nodes.end(),
                     [&](const auto& node) { return std::ranges::find(seen, node.get()) != seen.end(); });
}

// By value: a node may let go of the graph that runs.
Error run_graph(std::shared_ptr<Graph> graph) {
  std::vector<Node*> order;
  if (!graph->ordered(&order)) return kInvalidValue;
  for (const auto& condition : graph->conditions)
    if (condition->is_reset && !condition->set(condition->initial)) return kInvalidValue;
  Races* races = state().races.get();
  Races::Branches branches;
  if (races) branches = races->begin_graph(*graph);
  for (Node* node : order) {
    if (races) races->begin_node(branches, *node);
    if (const Error error = node->is_enabled ? execute(node->work) : kSuccess) return error;
    if (races) races->end_node(branches, *node);
  }
  if (races) races->end_graph(branches, *graph);
  return kSuccess;
}

Error run_conditional(const RunConditional& r) {
  exec::Interruptible interruptible;
  for (uint32_t value = 0;;) {
    if (exec::StopToken* stop = interruptible.token(); stop && stop->stop_requested()) return kLaunchFailed;
    if (!r.condition->get(&value)) return kInvalidValue;
    const size_t number = r.how == RunConditional::How::kSwitch ? value : value == 0;
    if (number >= r.bodies.size()) return kSuccess;
    if (const Error error = run_graph(r.bodies[number])) return error;
    if (r.how != RunConditional::How::kWhile) return kSuccess;
  }
}

// The program's function may tell other threads that the stream came here.
void call_program(const std::function<void()>& function) {
  if (Races* races = state().races.get()) races->host_saw(races->mark());
  Outside outside;
  function();
}

// Without a graph, into a new one.
Error begin_capture(Handle handle, int mode, std::shared_ptr<Graph> graph, std::vector<Node*> last) {
  Stream* stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (mode < 0 || mode > 2) return kInvalidValue;
  if (stream == &current_context()->legacy) return kStreamCaptureUnsupported;
  if (is_capturing(*stream)) return kIllegalState;
  State& s = state();
  auto capture = std::make_shared<Capture>();
  if (!graph) {
    graph = std::make_shared<Graph>();
    graph->id = ++s.ids;
    graph->handle = s.graphs.add(graph);
  }
  capture->known = graph->nodes.size();
  capture->graph = std::move(graph);
  capture->origin = handle, capture->id = ++s.ids;
  stream->capture = std::move(capture);
  stream->last = std::move(last);
  return kSuccess;
}

}  // namespace

Error raced(bool is_right) {
  if (is_right) return kSuccess;
  if (Context* context = current_context()) context->fault = kLaunchFailed;
  return kLaunchFailed;
}

Error awaited(Error error) {
  if (Races* races = state().races.get(); races && !error)
    if (Stream* stream = stream_of(nullptr)) races->host_saw(*stream);
  return error;
}

Error execute(Work& work) {
  return std::visit(Overloaded{
                        [](std::monostate) { return kSuccess; },
                        [](Launch& launch) { return run_launch(launch); },
                        [](const Copy3D& copy) { return run_copy(copy); },
                        [](const FillParams& fill) { return run_fill(fill); },
                        [](const Call& c) {
                          call_program([&] { c.function(c.data); });
                          return kSuccess;
                        },
                        [](const Callback& c) {
                          call_program([&] { c.function(c.stream, kSuccess, c.data); });
                          return kSuccess;
                        },
                        [](const RecordEvent& r) {
                          Event* event = state().events.find(r.event);
                          if (!event) return kInvalidHandle;
                          event->is_recorded = true, event->at = std::chrono::steady_clock::now(),
                          event->capture = nullptr;
                          if (Races* races = state().races.get()) event->mark = races->mark();
                          return kSuccess;
                        },
                        [](const WaitEvent& w) {
                          const Event* event = state().events.find(w.event);
                          if (Races* races = state().races.get(); races && event) races->wait(event->mark);
                          return kSuccess;
                        },
                        [](const ReleaseBlock& r) {
                          if (Races* races = state().races.get())
                            if (const Error error = raced(races->freed(r.address))) return error;
                          return release_block(r.address);
                        },
                        [](const AllocateBlock& a) { return run_allocation(a); },
                        [](const WriteValue& w) { return execute_write(w); },
                        [](const WaitValue& w) { return execute_wait(w); },
                        [](const RunGraph& r) { return run_graph(r.graph); },
                        [](const RunConditional& r) { return run_conditional(r); },
                    },
                    work);
}

void forget_captured(Node* node) {
  State& s = state();
  for (const auto& [handle, stream] : s.streams) std::erase(stream->last, node);
  for (const auto& [handle, context] : s.contexts) std::erase(context->per_thread.last, node);
  for (const auto& [handle, event] : s.events) std::erase(event->nodes, node);
}

Error submit(Handle handle, Work work) {
  Stream* stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (is_capturing(*stream)) {
    if (stream->capture->is_broken) return kStreamCaptureInvalidated;
    add_captured(*stream, std::move(work));
    return kSuccess;
  }
  if (Races* races = state().races.get()) races->begin(*stream);
  return execute(work);
}

namespace call {

Error cuStreamCreate(Handle* out, unsigned flags) { return create(out, flags, 0); }
Error cuStreamCreateWithPriority(Handle* out, unsigned flags, int priority) {
  return create(out, flags, priority);
}
Error cuStreamDestroy_v2(Handle handle) {
  Stream* stream = state().streams.find(handle);
  if (!stream) return kInvalidHandle;
  if (stream->capture && stream->capture->origin == handle) end_capture(stream->capture.get());
  state().streams.remove(handle);
  return kSuccess;
}
Error cuStreamDestroy(Handle handle) { return cuStreamDestroy_v2(handle); }
Error cuStreamQuery(Handle handle) {
  Stream* stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (is_capturing(*stream)) return kStreamCaptureUnsupported;
  if (Races* races = state().races.get()) races->host_saw(*stream);
  return kSuccess;
}
Error cuStreamSynchronize(Handle handle) { return cuStreamQuery(handle); }

Error cuStreamWaitEvent(Handle handle, Handle event_handle, unsigned flags) {
  Stream* stream = stream_of(handle);
  Event* event = state().events.find(event_handle);
  if (!stream || !event) return kInvalidHandle;
  if (flags > 1) return kInvalidValue;
  if (event->capture) {  // the stream is drawn into the capture
    if (stream->capture && stream->capture != event->capture) return kStreamCaptureUnsupported;
    stream->capture = event->capture;
    for (Node* node : event->nodes)
      if (std::ranges::find(stream->last, node) == stream->last.end()) stream->last.push_back(node);
    return kSuccess;
  }
  return submit(handle, WaitEvent{event_handle});
}

Error cuStreamGetFlags(Handle handle, unsigned* out) { return give(stream_of(handle), out, &Stream::flags); }
Error cuStreamGetPriority(Handle handle, int* out) { return give(stream_of(handle), out, &Stream::priority); }
Error cuStreamGetCtx(Handle handle, Handle* out) { return give(stream_of(handle), out, &Stream::context); }
Error cuStreamGetCtx_v2(Handle handle, Handle* out, Handle* green) {
  if (green) *green = nullptr;
  return cuStreamGetCtx(handle, out);
}
Error cuStreamGetId(Handle handle, uint64_t* out) { return give(stream_of(handle), out, &Stream::id); }
Error cuStreamGetDevice(Handle handle, int* out) {
  if (!stream_of(handle)) return kInvalidHandle;
  return give(out, 0);
}
Error cuStreamAddCallback(Handle handle, StreamCallback function, void* data, unsigned flags) {
  if (!stream_of(handle)) return kInvalidHandle;
  if (!function || flags) return kInvalidValue;
  if (is_capturing(*stream_of(handle))) return kStreamCaptureUnsupported;
  return submit(handle, Callback{function, handle, data});
}
Error cuStreamAttachMemAsync(Handle handle, Address address, size_t, unsigned flags) {
  if (!stream_of(handle)) return kInvalidHandle;
  if (flags != 1 && flags != 2 && flags != 4) return kInvalidValue;
  const Block* block = state().blocks.find(address);
  return block && block->kind == Kind::kManaged ? kSuccess : kInvalidValue;
}
// An access policy, a synchronization policy, a priority: nothing depends on these.
Error cuStreamGetAttribute(Handle handle, int attribute, void* out) {
  const Stream* stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (!out || attribute < 1 || attribute > 18) return kInvalidValue;
  std::memset(out, 0, 64);
  constexpr int kPriority = 8;
  if (attribute == kPriority) std::memcpy(out, &stream->priority, sizeof(int));
  return kSuccess;
}
Error cuStreamSetAttribute(Handle handle, int attribute, const void* value) {
  if (!stream_of(handle)) return kInvalidHandle;
  return value && attribute >= 1 && attribute <= 18 ? kSuccess : kInvalidValue;
}
Error cuStreamCopyAttributes(Handle to, Handle from) {
  return stream_of(to) && stream_of(from) ? kSuccess : kInvalidHandle;
}

Error cuStreamBeginCaptureToGraph(Handle handle, Handle graph_handle, const Handle* after, const void*,
                                  size_t count, int mode) {
  State& s = state();
  std::shared_ptr<Graph> graph = s.graphs.shared(graph_handle);
  if (!graph) return kInvalidHandle;
  if (count && !after) return kInvalidValue;
  std::vector<Node*> last;
  for (size_t i = 0; i < count; ++i) {
    last.push_back(s.nodes.find(after[i]));
    if (!last.back() || last.back()->graph != graph.get()) return kInvalidValue;
  }
  return begin_capture(handle, mode, std::move(graph), std::move(last));
}
Error cuStreamBeginCapture_v2(Handle handle, int mode) { return begin_capture(handle, mode, nullptr, {}); }

Error cuStreamEndCapture(Handle handle, Handle* out) {
  Stream* stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (!out) return kInvalidValue;
  *out = nullptr;
  if (!is_capturing(*stream)) return kIllegalState;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != handle) return kStreamCaptureUnmatched;
  const bool joined = is_joined(*capture, stream->last);
  end_capture(capture.get());
  if (capture->is_broken) return kStreamCaptureInvalidated;
  if (!joined) return kStreamCaptureUnjoined;
  *out = capture->graph->handle;
  return kSuccess;
}

Error cuStreamIsCapturing(Handle handle, int* out) {
  return give(stream_of(handle), out, [](const Stream& stream) {
    return !stream.capture ? 0 : stream.capture->is_broken ? 2 : 1;
  });
}

Error cuStreamGetCaptureInfo_v3(Handle handle, int* status, uint64_t* id, Handle* graph, const Handle** nodes,
                                const void** edges, size_t* count) {
  static thread_local std::vector<Handle> last;
  static thread_local std::vector<uint64_t> plain;  // an edge's data: none of ours has any
  if (const Error error = cuStreamIsCapturing(handle, status)) return error;
  const Stream& stream = *stream_of(handle);
  if (edges) *edges = nullptr;
  if (!stream.capture) return kSuccess;
  last.clear();
  for (const Node* node : stream.last) last.push_back(node->handle);
  if (id) *id = stream.capture->id;
  if (graph) *graph = stream.capture->graph->handle;
  plain.assign(last.size(), 0);
  if (nodes) *nodes = last.data();
  if (edges) *edges = plain.data();
  if (count) *count = last.size();
  return kSuccess;
}
// Sets what the next node of the capture waits for: these nodes besides those before (0), or these alone (1).
Error cuStreamUpdateCaptureDependencies_v2(Handle handle, Handle* nodes, const void*, size_t count,
                                           unsigned flags) {
  Stream* stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (!stream->capture) return kIllegalState;
  if (flags > 1 || count > 1u << 20 || (count && !nodes)) return kInvalidValue;
  std::vector<Node*> last = flags == 1 ? std::vector<Node*>() : stream->last;
  for (size_t i = 0; i < count; ++i) {
    Node* node = state().nodes.find(nodes[i]);
    if (!node || node->graph != stream->capture->graph.get()) return kInvalidValue;
    if (std::ranges::find(last, node) == last.end()) last.push_back(node);
  }
  stream->last = std::move(last);
  return kSuccess;
}
Error cuStreamUpdateCaptureDependencies(Handle handle, Handle* nodes, size_t count, unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(handle, nodes, nullptr, count, flags);
}
Error cuStreamGetCaptureInfo_v2(Handle handle, int* status, uint64_t* id, Handle* graph, const Handle** nodes,
                                size_t* count) {
  return cuStreamGetCaptureInfo_v3(handle, status, id, graph, nodes, nullptr, count);
}
Error cuThreadExchangeStreamCaptureMode(int* mode) {
  static thread_local int current = 0;
  if (!mode || *mode < 0 || *mode > 2) return kInvalidValue;
  std::swap(*mode, current);
  return kSuccess;
}

Error cuStreamWriteValue32_v2(Handle stream, Address address, uint32_t value, unsigned) {
  return write_value(stream, address, value, 4);
}
Error cuStreamWriteValue64_v2(Handle stream, Address address, uint64_t value, unsigned) {
  return write_value(stream, address, value, 8);
}
Error cuStreamWaitValue32_v2(Handle stream, Address address, uint32_t value, unsigned flags) {
  return wait_value(stream, address, value, 4, flags);
}
Error cuStreamWaitValue64_v2(Handle stream, Address address, uint64_t value, unsigned flags) {
  return wait_value(stream, address, value, 8, flags);
}

Error cuEventCreate(Handle* out, unsigned flags) {
  if (!out || flags > 7) return kInvalidValue;
  auto event = std::make_shared<Event>();
  event->context = current_context()->handle, event->flags = flags;
  *out = state().events.add(std::move(event));
  return kSuccess;
}
Error cuEventRecordWithFlags(Handle handle, Handle stream_handle, unsigned flags) {
  Event* event = state().events.find(handle);
  Stream* stream = stream_of(stream_handle);
  if (!event || !stream) return kInvalidHandle;
  if (flags > 1) return kInvalidValue;
  if (is_capturing(*stream)) {  // a mark in the capture
    event->capture = stream->capture, event->nodes = stream->last;
    return kSuccess;
  }
  return submit(stream_handle, RecordEvent{handle});
}
Error cuEventRecord(Handle handle, Handle stream) { return cuEventRecordWithFlags(handle, stream, 0); }
Error cuEventQuery(Handle handle) {
  const Event* event = state().events.find(handle);
  if (!event) return kInvalidHandle;
  if (event->capture) return kCapturedEvent;
  if (Races* races = state().races.get()) races->host_saw(event->mark);
  return kSuccess;
}
Error cuEventSynchronize(Handle handle) { return cuEventQuery(handle); }
Error cuEventDestroy_v2(Handle handle) { return state().events.remove(handle) ? kSuccess : kInvalidHandle; }
Error cuEventDestroy(Handle handle) { return cuEventDestroy_v2(handle); }
Error cuEventElapsedTime(float* out, Handle begin, Handle end) { return elapsed(out, begin, end); }
Error cuEventElapsedTime_v2(float* out, Handle begin, Handle end) { return elapsed(out, begin, end); }

}  // namespace call
}  // namespace triton_runner::driver
