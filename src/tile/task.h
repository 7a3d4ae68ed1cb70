// Declares the parts of a run: a task (one thread of control of a program), its program, the worker thread
// under it, and the launch.
//
// A handler reads operands and writes results through its Task:
//
//   void run_twice(Task& t, const Instr& in) {
//     const auto* x = t.dense<float>(in.operand(0));  // materialises lazy forms
//     auto* out = t.output<float>(in);                // takes over a dying operand of the same size
//     for (int64_t i = 0; i < t.type(in.result()).n; ++i) out[i] = 2 * x[i];
//   }
//
// Fetch operands before asking for an output: output() may turn an operand's buffer into the result's (same
// index, same element size only). A function that may not go on gives a const Instr*: next(in); t.trap(...),
// which ends the launch; or t.block(in): it runs again, from its start, when other tasks of the program had
// their turn, so it must not have changed anything yet.
#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/memory.h>
#include <triton_runner/exec/observer.h>
#include <triton_runner/machine/barriers.h>
#include <triton_runner/machine/grid.h>
#include <triton_runner/num/ahead.h>

#include "code.h"
#include "value.h"

namespace triton_runner::tile {

class Checks;
struct Cluster;
struct Launch;
struct Program;
struct Worker;

enum class Outcome : uint8_t {
  kRunning,
  kFinished,  // the program's (or partition's) end
  kYielded,   // may go on at once, but others should have a turn: a spin loop
  kBlocked,   // runs the same instruction again when something happened
  kTrapped,
};

struct Task {
  Value* values;  // of the program: tasks of a program share the slots
  const Code* code;
  Program* program;
  Worker* worker;
  const Instr* pc = nullptr;
  Outcome outcome = Outcome::kRunning;
  uint32_t polls = 0;
  uint64_t cluster_ticket = 0;  // of its last arrival at the cluster's barrier
  bool frozen = false;          // it gets no turn: a debugger's wish
  bool progressed = false;      // the last run_task did more than find that it is still blocked

  // ---- operands
  Value& value(Slot s) { return values[s]; }
  const TileType& type(Slot s) const { return *code->types[s]; }
  // Row-major elements. Written out if the value is lazy
  // (and kept beside the lazy form for the next who asks).
  const void* dense(Slot s) {
    Value& v = values[s];
    if (v.form == Form::kDense || (v.buffer && v.form != Form::kView)) [[likely]]
      return v.buffer->data();
    return materialize(s);
  }
  template <class T>
  const T* dense(Slot s) {
    return static_cast<const T*>(dense(s));
  }
  // The slot holds a value, and the value is not an object.
  bool has_elements(Slot s) const {
    return type(s).size > 0 && values[s].form != Form::kNone && values[s].form != Form::kObject;
  }
  bool is_uniform(Slot s) const { return values[s].form == Form::kUniform; }
  // Bits of uniform integers (sign-extended; i1 is 0 or 1), pointers, floats. Scalars are always uniform.
  int64_t bits(Slot s) const { return values[s].bits; }
  template <class T>
  const T& object(Slot s) const {
    return *reinterpret_cast<const T*>(values[s].buffer->data());
  }

  // ---- results
  void set_uniform(Slot s, int64_t bits) {
    Value& v = values[s];
    if (v.buffer) drop(v);
    v.form = Form::kUniform;
    v.bits = bits;
  }
  // The uniform value that has the bits of `element` (of the slot's type) in memory.
  void set_uniform_from(Slot s, const void* element);
  // A lazy value to fill in, its buffer released.
  Value& set_form(Slot s, Form form) {
    Value& v = values[s];
    if (v.buffer) drop(v);
    v.form = form;
    return v;
  }
  // Memory for the slot's elements, not initialised.
  void* new_dense(Slot s);
  template <class T>
  T* new_dense(Slot s) {
    return static_cast<T*>(new_dense(s));
  }
  // The same for result r of an instruction; may be the memory of an operand that dies here.
  void* output(const Instr& in, uint32_t r = 0);
  template <class T>
  T* output(const Instr& in, uint32_t r = 0) {
    return static_cast<T*>(output(in, r));
  }
  void adopt(Slot s, Buffer* buffer) { set_form(s, Form::kDense).buffer = buffer; }
  template <class T>
  T& new_object(Slot s) {
    static_assert(std::is_trivially_copyable_v<T>);
    return *static_cast<T*>(new_object_bytes(s, sizeof(T)));
  }
  void copy(Slot to, Slot from);  // shares the buffer
  void move(Slot to, Slot from);  // `from` becomes kNone
  // Result i of an instruction is operand i.
  void hand_on(const Instr& in, uint32_t i = 0) {
    in.kills_operand(i) ? move(in.result(i), in.operand(i)) : copy(in.result(i), in.operand(i));
  }
  void drop(Value& v);   // releases its buffer
  void forget(Slot s) {  // and all else: nobody needs the value any more
    if (values[s].buffer) drop(values[s]);
    values[s].form = Form::kNone;
  }
  // Forgets the operands of an instruction that are marked.
  void forget_operands(const Instr& in, uint64_t which) {
    for (; which; which &= which - 1) forget(in.operand(std::countr_zero(which)));
  }
  // Makes the elements of a dense value that nobody shares those of `to`; null: it is not so.
  std::byte* take_over(Slot to, Slot from) {
    Value& v = values[from];
    if (v.form != Form::kDense || v.buffer->refs != 1) return nullptr;
    v.form = Form::kNone;
    adopt(to, std::exchange(v.buffer, nullptr));
    return values[to].buffer->data();
  }
  Buffer* elements(Slot s) {  // dense(), with a reference of its own
    dense(s);
    ++values[s].buffer->refs;
    return values[s].buffer;
  }
  const void* materialize(Slot s);
  Buffer* written_out(Slot s);      // a lazy value's elements in memory of their own; it stays as it is
  std::byte* own_elements(Slot s);  // makes the value dense, in memory that no other value shares

  // ---- leaving
  const Instr* finish() { return stop(Outcome::kFinished, nullptr); }
  const Instr* block(const Instr& in) { return stop(Outcome::kBlocked, &in); }
  const Instr* yield_to(const Instr* where) {
    spun_at = where;
    return stop(Outcome::kYielded, where);
  }
  const Instr* spun_at = nullptr;  // where the loop begins that last gave up its turn
  // Records the trap (kernel, op, location, program are filled in). Null, and so false.
  const Instr* trap(const Instr& in, exec::Cause cause, std::string message,
                    std::vector<int64_t> element = {});
  std::vector<int64_t> iterations(const Instr& in) const;  // of the loops around it, outermost first
  exec::Trap made_trap(const Instr& in, exec::Cause cause, std::string message,
                       std::vector<int64_t> element) const;
  const Instr* record(const Instr& in, exec::Trap trap);
  // An access of `bytes` at `address` by element number `index`
  // (row-major in `shape`; -1: a scalar or a whole block).
  const Instr* trap_access(const Instr& in, uint64_t address, uint32_t bytes, bool write, int64_t index,
                           const TileType& shape);
  // Returns whether the launch goes on after accesses that may not be: each is to be noted, and left out.
  bool goes_on() const;
  // The same, of the first of `count` elements; false: it is a trap.
  bool note_access(const Instr& in, uint64_t address, uint32_t bytes, bool write, int64_t index,
                   const TileType& shape, uint64_t count = 1);
  // At loop back-edges: null, or the way out if the launch is to stop.
  bool should_stop();
  const Instr* stopped(const Instr& in);
  // Counts an instruction against LaunchOptions::max_steps; false: it may not run, and that is a trap.
  bool count_step(const Instr& in);
  const Instr* trap_memory(const Instr& in, const std::bad_alloc& error);

  // Runs instructions from `entry` to their kFinished, in
  // place: the pure regions of reductions. False: trapped.
  bool call(const Instr* entry);

 private:
  const Instr* stop(Outcome o, const Instr* resume) {
    outcome = o;
    pc = resume;
    return nullptr;
  }
  void* new_object_bytes(Slot s, size_t bytes);
  exec::Trap access_trap(const Instr& in, uint64_t address, uint32_t bytes, bool write, int64_t index,
                         const TileType& shape) const;
};

// The row-major elements of a value for who only looks at them: it keeps its form, and what is executed is
// the same with and without a look.
class Look {
 public:
  Look(Task& t, Slot s);
  ~Look();
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  const std::byte* data() const { return data_; }

 private:
  BufferPool* pool_;
  Buffer* copy_ = nullptr;
  const std::byte* data_;
};

// State that an op family keeps for a program (mbarriers, shared
// memory, ...); made on demand, kept for the next program.
struct ProgramState {
  virtual ~ProgramState() = default;
  virtual void begin(Program& program) = 0;  // a new program starts with it
  virtual void end() {}                      // its tasks have ended
};

struct Program {
  // A round in which each task has a turn: whose is next, and what those before it did.
  struct Round {
    bool all_done = true, any_yield = false, any_progress = false;
    size_t next = 0;
  };
  std::array<int64_t, 3> id{};
  int64_t linear = 0;
  int64_t number = 0;  // its turn in the grid's order: linear, or the number of its cluster
  Worker* worker = nullptr;
  std::vector<Value> values;
  std::deque<Task> tasks;  // the first is the program itself; others are spawned
  Buffer* shared =
      nullptr;  // code.shared_bytes of shared memory, zeroed or poisoned per program by who uses it
  std::unique_ptr<ProgramState> state;
  std::unique_ptr<ProgramState> checks;  // what the launch's checks keep for it (check/)
  bool was_refused = false;              // it has read that cluster launch control gave it no work
  Cluster* cluster = nullptr;            // where the blocks of a cluster are programs: those it is one of
  int rank = 0;                          // its place there
  std::unique_ptr<Cluster> led;          // of the first of them
  int turns = 0;                         // of a shuffled launch, since it last did no more than spin
  Round round;
  std::shared_ptr<exec::Snapshot> restored;  // a debugger has the program go on from there (snapshot.cpp)

  bool is_one_task() const { return &tasks.front() == &tasks.back(); }  // each program asks: size() divides
  std::byte* shared_memory() { return shared->data(); }
  size_t number_of(const Task& task) const {
    return static_cast<size_t>(std::ranges::find(tasks, &task, [](const Task& t) { return &t; }) -
                               tasks.begin());
  }
  // A further task of this program, run from `entry`, sharing the slots; its handlers end it with finish().
  Task& spawn(const Instr* entry);
};

// Programs that run side by side on one worker, each reaching the memory of the others.
struct Cluster {
  std::vector<Program*> blocks;                  // by rank
  std::vector<std::unique_ptr<Program>> others;  // all but the first
  machine::ClusterBarrier barrier;               // of the threads of its blocks
};

struct Worker {
  Launch* launch = nullptr;
  int index = 0;
  BufferPool* pool = nullptr;
  machine::Taker* programs = nullptr;  // of the grid, or clusters of them
  exec::MemoryView memory;
  std::vector<int64_t> compact_shape;    // scratch of map_elements
  std::array<num::Ahead, 2> foreseen{};  // by foresee_copy() of ops/dot.h
  explicit Worker(const exec::Memory& m) : memory(m) {}
};

struct Launch : machine::Grid {
  const Code* code = nullptr;
  std::span<const exec::Argument> args;
  Checks* checks = nullptr;  // what runs the instructions of a checked launch (check/); null: plain
  void made_progress() { progress.changed(); }
};

// Runs a task until it stops; task.outcome says why.
void run_task(Task& task);
// In its place, where the launch has checks (check/check.cpp).
void run_checked(Task& task, Checks& checks);
// Without looking: the pure regions of reductions, whose op is looked at as one.
void run_unchecked(Task& task, Checks& checks);

}  // namespace triton_runner::tile
