// State is all that this library knows: one device, its contexts, and the objects that programs hold handles of. A
// handle is a number that is never given twice, so that one that is wrong, or of something destroyed, is an error.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <triton_runner/exec/heap.h>
#include <triton_runner/exec/kernel.h>
#include <triton_runner/ptx/module.h>

#include "api.h"
#include "kept.h"
#include "memory.h"
#include "races.h"

namespace triton_runner::driver {

// The device that this library shows: what `triton-runner cuda` says of a chip (TRITON_RUNNER_CUDA_CHIP).
struct Chip {
  std::string name;
  int capability = 0, sms = 0;
  double clock = 0, bandwidth = 0;  // Hz, bytes a second
  int64_t l2_bytes = 0;
  std::string target() const { return "cuda:" + std::to_string(capability); }
};

struct Function;

// A CUmodule, and what of a CUlibrary is loaded.
struct Module {
  std::string level;  // "ptx" or "cubin"
  std::shared_ptr<const ptx::Module> ptx;
  std::string bytes, listing;  // of a cubin
  std::string target;
  struct Variable {
    Address address;
    uint64_t bytes;
  };
  std::map<std::string, Variable, std::less<>> variables;
  std::vector<Address> blocks;                                              // that hold them
  std::shared_ptr<std::map<std::string, uint64_t, std::less<>>> addresses;  // of the variables
  std::vector<std::shared_ptr<Function>> functions;                         // in the text's order
  Handle handle = nullptr, context = nullptr;
  Handle library = nullptr;
  std::shared_ptr<exec::Heap> heap;  // the context's, as long as a kernel of the module may ask for it
  ~Module();
};

struct Parameter {
  std::string name;
  size_t offset = 0, bytes = 0;
};

// A CUfunction and the CUkernel of the same entry.
struct Function {
  Module* module = nullptr;
  std::string name;
  Handle handle = nullptr, kernel = nullptr;
  std::vector<Parameter> params;
  size_t param_bytes = 0;
  int max_threads = 1024, registers = 0, local_bytes = 0, constant_bytes = 0;
  int64_t static_shared = 0;
  std::array<uint32_t, 3> cluster{};  // that the code demands
  std::map<int, int> settings;        // cuFuncSetAttribute
  struct {                            // what cuLaunchGrid launches it with
    std::array<unsigned, 3> block{1, 1, 1};
    unsigned shared_bytes = 0;
    std::vector<std::byte> params;
  } prepared;
  // Its code, lowered for a block and a cluster.
  std::map<std::array<uint32_t, 6>, std::unique_ptr<exec::Kernel>> kernels;
};

struct Launch {
  std::shared_ptr<Module> module;  // stays while a graph holds the launch
  Function* function = nullptr;
  std::array<uint32_t, 3> grid{}, block{}, cluster{1, 1, 1};
  uint32_t shared_bytes = 0;
  bool is_cooperative = false;
  std::vector<std::vector<std::byte>> values;  // of its parameters
};
struct Call {
  HostFunction function;
  void* data;
};
struct Callback {
  StreamCallback function;
  Handle stream;
  void* data;
};
struct RecordEvent {
  Handle event;
};
struct WaitEvent {
  Handle event;
};
struct ReleaseBlock {
  Address address;
};
// A block that a node of a graph allocates each time it runs. It is given back with the last of the graphs, or by the program.
struct GraphMemory {
  Address address;
  explicit GraphMemory(Address at) : address(at) {}
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();
};
struct AllocateBlock {
  std::shared_ptr<GraphMemory> memory;
};
struct WriteValue {
  Address address;
  uint64_t value;
  unsigned bytes;
};
struct WaitValue {
  Address address;
  uint64_t value;
  unsigned bytes, flags;
};
struct Graph;
struct RunGraph {
  std::shared_ptr<Graph> graph;
};
// A word of memory that kernels set, and nodes of a graph look at. Its address is the program's handle of it.
struct Condition {
  Address address = 0;
  uint32_t initial = 0;
  bool is_reset = false;  // to `initial`, whenever the graph is launched
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  ~Condition();
  // False: the context that it was made in has ended.
  bool get(uint32_t* value) const;
  bool set(uint32_t value) const;
};
struct RunConditional {
  enum class How { kIf, kWhile, kSwitch };
  std::shared_ptr<Condition> condition;
  How how = How::kIf;
  std::vector<std::shared_ptr<Graph>> bodies;
};
// A step of a stream, or of a graph's node.
using Work = std::variant<std::monostate, Launch, Copy3D, FillParams, Call, Callback, RecordEvent, WaitEvent,
                          ReleaseBlock, AllocateBlock, WriteValue, WaitValue, RunGraph, RunConditional>;

struct Node {
  Work work;
  std::vector<Node*> after;  // nodes that it waits for
  bool is_enabled = true;
  Handle handle = nullptr;
  Graph* graph = nullptr;
  std::vector<void*> pointers;  // to values of a launch, or handles of bodies, for programs that ask
};
// Something of the program's that a graph keeps: destroyed with the last reference.
struct UserObject {
  void* data = nullptr;
  HostFunction destroy = nullptr;
  uint64_t references = 0;
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes;
  Handle handle = nullptr;
  uint64_t id = 0;
  std::map<Handle, uint64_t> objects;  // references to UserObjects
  std::vector<std::shared_ptr<Condition>> conditions;
  Node* owner = nullptr;  // that runs it
  ~Graph();
  // In an order in which each comes after those that it waits for; false: there is a circle.
  bool ordered(std::vector<Node*>* out) const;
};
struct GraphExec {
  std::shared_ptr<Graph> graph;  // a copy
  std::map<Node*, Node*> copies;
  uint64_t flags = 0, id = 0;
};

struct Capture {
  std::shared_ptr<Graph> graph;
  Handle origin = nullptr;  // the stream in which it began
  uint64_t id = 0;
  size_t known = 0;  // nodes that the graph had before
  bool is_broken = false;
};

struct Stream {
  Handle handle = nullptr, context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  std::shared_ptr<Capture> capture;
  std::vector<Node*> last;  // nodes that the next one of the capture waits for
  uint32_t agent = 0;       // of Races
};

struct Event {
  Handle context = nullptr;
  unsigned flags = 0;
  bool is_recorded = false;
  std::chrono::steady_clock::time_point at{};
  std::shared_ptr<Capture> capture;  // in which it was recorded
  std::vector<Node*> nodes;
  machine::Clock mark;  // of Races
};

struct Context {
  Handle handle = nullptr;
  unsigned flags = 0;
  bool is_primary = false;
  unsigned version = 3020;
  unsigned uses = 1;  // of cuCtxAttach and cuCtxDetach
  uint64_t id = 0;
  Error fault = kSuccess;  // of a kernel: what all calls answer from then on
  std::map<int, size_t> limits;
  std::shared_ptr<exec::Heap> heap =
      std::make_shared<exec::Heap>();  // of malloc in kernels, from launch to launch
  Stream legacy, per_thread;
};

struct Library {
  std::shared_ptr<Module> module;
};

struct Pool {
  PoolProperties properties{};
  std::map<int, uint64_t> attributes;
  uint64_t used = 0, most = 0;
  bool is_default = false;
};

struct Link {
  std::vector<std::pair<std::string, std::string>> inputs;  // name, content
  bool has_device_runtime = false;                          // libcudadevrt.a is among them
  std::string result;
  struct Option {
    int option;
    void* value;
  };
  std::vector<Option> options;
  void** values = nullptr;
};

// A number that no handle has had, of whatever kind: a stream is not taken for an event.
inline uintptr_t next_handle() {
  static uintptr_t last = uintptr_t{0xcda} << 32;
  return last += 16;
}

// Objects of one kind by their handles.
template <class T>
class Handles {
 public:
  Handle add(std::shared_ptr<T> object) {
    const Handle handle = reinterpret_cast<Handle>(next_handle());
    all_[handle] = std::move(object);
    return handle;
  }
  T* find(Handle handle) const {
    auto it = all_.find(handle);
    return it == all_.end() ? nullptr : it->second.get();
  }
  std::shared_ptr<T> shared(Handle handle) const {
    auto it = all_.find(handle);
    return it == all_.end() ? nullptr : it->second;
  }
  // Destroys the object when it is here no longer: its end may call the program.
  bool remove(Handle handle) {
    const std::shared_ptr<T> kept = shared(handle);
    return all_.erase(handle) > 0;
  }
  template <class Condition>
  void remove_all(Condition&& condition) {
    std::vector<std::shared_ptr<T>> kept;
    std::erase_if(all_, [&](auto& entry) {
      if (!condition(*entry.second)) return false;
      kept.push_back(std::move(entry.second));
      return true;
    });
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::unordered_map<Handle, std::shared_ptr<T>> all_;
};

struct State {
  std::mutex mutex;  // of all that follows, and held in each call
  Chip chip;
  uint32_t checks = exec::kCheckOutOfBounds;
  bool prints_launches = false;
  std::string verb;  // that started the program, and tells what a long launch is at; empty: none does
  bool is_initialized = false, is_forked = false;
  uint64_t launches = 0, ids = 0;
  Blocks blocks;
  std::unique_ptr<Races> races;  // null: nobody looks for races
  std::unique_ptr<Kept> kept;    // null: no launches are kept
  Handle primary = nullptr;      // the device's context
  int primary_uses = 0;
  unsigned primary_flags = 0;
  struct Pools {
    Handle made = nullptr, now = nullptr;  // the driver's own, and the one that the program chose
  };
  std::map<std::array<int, 3>, Pools>
      default_pools;  // by the type of allocation, and the type and number of the place
  std::array<uint64_t, 2> graph_bytes_most{};  // that graphs' nodes had allocated, and had reserved
  Handles<Context> contexts;
  Handles<Module> modules;
  Handles<Function> functions, kernels;
  Handles<Library> libraries;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Graph> graphs;
  Handles<Node> nodes;
  Handles<GraphExec> execs;
  Handles<Pool> pools;
  Handles<Link> links;
  Handles<UserObject> objects;
};
// The process's. It is never destroyed: programs call from their own destructors, too.
State& state();

// The calling thread's contexts, the current one last.
std::vector<Handle>& context_stack();
Context* current_context();  // null: none
inline Handle to_handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

// The stream of a handle in the current context: 0 and 1 are the legacy default stream, 2 the thread's. Null: no such one.
Stream* stream_of(Handle handle);
// Whether the running call is one of those in which 0 stands for the thread's own stream (_ptsz, _ptds).
bool& per_thread_default();

// Releases the mutex for as long as it lives: for functions of the program.
class Outside {
 public:
  Outside() { state().mutex.unlock(); }
  ~Outside() { state().mutex.lock(); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
};

// Streams and events that stand at a captured node forget it.
void forget_captured(Node* node);

// Writes a line to stderr that begins with "triton-runner: ".
void say(const std::string& text);

// stream.cpp: executes work at once, or adds it to the graph that the stream captures.
Error submit(Handle stream, Work work);
Error execute(Work& work);
// launch.cpp, copy.cpp: what submit() executes.
Error run_launch(Launch& launch);
Error run_copy(const Copy3D& copy);
Error run_fill(const FillParams& fill);
Error check_copy(const Copy3D& copy);
// copy.cpp: copies bytes; false: with `is_checked`, not all of them are memory of the process.
bool copy_memory(Address to, Address from, size_t bytes, bool is_checked);
Error check_fill(const FillParams& fill);
// launch.cpp: a function's name as its language has it: __main__::smooth.
std::string readable(const std::string& name);
// Whether work's accesses race with another stream's: the context's fault, if they do.
Error raced(bool is_right);
// The host waits for what a call without "Async" has done in the default stream.
Error awaited(Error error);
// allocate.cpp: gives a block back.
Error release_block(Address address);
// allocate.cpp: a block for a node of a graph, which the node allocates when it runs. Null: there is no memory left.
std::shared_ptr<GraphMemory> graph_memory(size_t bytes);
Error run_allocation(const AllocateBlock& allocation);
// launch.cpp: bytes of dynamic shared memory that a launch of the function may ask for.
int64_t most_dynamic_shared(const Function& f);
// launch.cpp: the launch of a function as cuLaunchKernel and cuLaunchKernelEx give it.
Error make_launch(Handle function, const LaunchConfig& config, void** params, void** extra, Launch* out);
// module.cpp: loads PTX, a cubin or a fatbin. `log` gets what is wrong with it.
Error load_module(const void* image, std::shared_ptr<Module>* out, std::string* log);
Error load_module(std::string image, std::shared_ptr<Module>* out, std::string* log);
Function* function_of(Handle handle);  // of a CUfunction or a CUkernel
void forget(Module& module);           // the handles of its functions name nothing any more
// Gives one value to the program, or one of an object, which a wrong handle does not name.
template <class Out, class T>
Error give(Out* out, const T& value) {
  if (!out) return kInvalidValue;
  *out = static_cast<Out>(value);
  return kSuccess;
}
template <class Object, class Out, class Get>
Error give(const Object* object, Out* out, Get&& get) {
  return object ? give(out, std::invoke(get, *object)) : kInvalidHandle;
}
// The error that a diagnostic of ours stands for is said on stderr, once for each call.
Error refuse(Error error, const std::string& text);
// link.cpp: reads options of the just-in-time compiler: where logs go.
struct JitLogs {
  char* text[2] = {};          // info, error
  unsigned* capacity[2] = {};  // in: bytes; out: bytes written
  void** slots[2] = {};
  size_t bytes[2] = {};
  void write(int which, const std::string& what) const;
};
JitLogs jit_logs(unsigned count, const int* options, void** values);

}  // namespace triton_runner::driver
