// Declares the lowering, from ops to instructions. One function lower_<name>(Lowering&, const ir::Op&) an op,
// bound by the name in LOWER(name) of ops.def.
//
//   void lower_twice(Lowering& l, const ir::Op& op) {
//     l.emit<run_twice>(op);  // slots as the op has them
//   }
//
//   struct Rotate { int64_t by; };
//   void lower_rotate(Lowering& l, const ir::Op& op) {
//     l.emit<run_rotate>(op, l.make<Rotate>(op.int_attr("by", 0)));
//   }
//
// The data is the function's third parameter: void run_rotate(Task& t, const Instr& in, const Rotate& r).
//
// Beside it may stand rules of the op, which the row names in the same way: fold_x says what it gives before a launch, and
// rules.h has those that the checks ask.
//
// A lowering says with l.fail(op, "...") what cannot be run (a located diagnostic of tile::load); never a
// wrong number.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <triton_runner/base/diagnostic.h>
#include <triton_runner/machine/exact.h>
#include <triton_runner/num/elementwise.h>
#include <triton_runner/tile/fold.h>
#include <triton_runner/tile/tile.h>

#include "code.h"
#include "rules.h"
#include "task.h"

namespace triton_runner::exec {
class Stopper;
}

namespace triton_runner::tile {

class MemPlan;
struct MemView;

inline constexpr int64_t kMostElements = int64_t{1} << 24;  // of a tile

// A place in the code: bound once, jumped to from anywhere.
struct Label {
  uint32_t id;
};

// fuse.cpp may do one of these with an instruction.
enum class Fusion : uint8_t {
  kNone,
  kMap,      // data is ElementwiseData: the kernel on every element
  kLazyMap,  // the same, of a handler that keeps lazy forms: only where an operand cannot be lazy
  kLoad,     // data is LoadData
  kStore,
  kReduce,  // row_reduce() of reduce.h
  kSplat,   // one element for all: only beside the reduction that gives it
};

// The places of the elements that a combine function is called with in what a probe records of its values.
// They are [outer, k, inner]; element k of round r is at rounds[r][k] of the middle axis of `shape`, which
// has `length` steps. No rounds: they are all of `shape`, in its order.
struct Places {
  std::vector<int64_t> shape;
  int64_t outer = 1, length = 1, inner = 1;
  std::vector<std::vector<int64_t>> rounds;  // the innermost loop's counter says which
};

class Lowering {
 public:
  Lowering(Code& code, base::Diagnostics& sink);

  // ---- slots and types
  Slot slot(const ir::Value* value);    // of an SSA value, made when first asked for
  Slot new_slot(const TileType* type);  // of an intermediate result
  const TileType* type(
      const ir::Type* type);  // inside a vectorised region, scalars are tiles of lanes() elements
  const TileType* type_of(Slot slot) const { return code_.types[slot]; }
  const TileType* type_of(const ir::Value* value) { return type_of(slot(value)); }
  const TileType* tile_type(num::Type element, std::vector<int64_t> shape);
  const TileType* i64_type();
  int64_t lanes() const { return lanes_; }
  // Makes `slot` stand for `value`: a move that costs nothing. Only where the slot's value never changes
  // while `value` lives (not for loop-carried slots).
  void alias(const ir::Value* value, Slot slot);
  Slot constant(int64_t bits, const TileType* type);  // set in the prologue
  void set_constant(Slot slot, int64_t bits);

  // ---- instructions
  // The op's own results and operands (a left-out optional operand has no place: see operand_index).
  size_t emit(Handler run, const ir::Op& op, const void* data = nullptr);
  size_t emit(Handler run, const ir::Op& op, std::vector<Slot> results, std::vector<Slot> operands,
              const void* data = nullptr);
  // The same of any function that is a handler()'s.
  template <auto kRun>
  size_t emit(const ir::Op& op, const void* data = nullptr) {
    return emit(handler<kRun>, op, data);
  }
  template <auto kRun>
  size_t emit(const ir::Op& op, std::vector<Slot> results, std::vector<Slot> operands,
              const void* data = nullptr) {
    return emit(handler<kRun>, op, std::move(results), std::move(operands), data);
  }
  void fusible(size_t instruction, Fusion how) { pending_[instruction].fusion = how; }
  // Data for a handler: lives as long as the code.
  template <class T, class... Args>
  T* make(Args&&... args) {
    auto p = std::shared_ptr<T>(new T{std::forward<Args>(args)...});
    code_.owned.push_back(p);
    return p.get();
  }
  // Data that is one number.
  const int64_t* number(const ir::Op& op, std::string_view attr) {
    return make<int64_t>(op.int_attr(attr, 0));
  }
  // Returns which of Instr's operands is the first of that group of the op's row (-1: left out, or the row
  // has none).
  static int operand_index(const ir::Op& op, ir::GroupName group);

  // ---- control flow
  Label new_label();
  void bind(Label label);
  void jump(Label label, const ir::Op& op);
  size_t emit_branch(Handler run, Label target, const ir::Op& op, std::vector<Slot> results,
                     std::vector<Slot> operands,
                     const void* data = nullptr);  // in.target is the label's instruction
  void jump_if(Slot condition, bool when, Label target, const ir::Op& op);
  void move(std::vector<Slot> to, std::vector<Slot> from, const ir::Op& op);  // all at once
  void back_edge(Label target, const ir::Op& op, Slot counter,
                 bool may_spin);                      // a jump that polls for stop and yields
  const ir::Op* lower_block(const ir::Block& block);  // the ops before the terminator, which is returned
  // A region with one exit (scf style): its blocks, `on_exit` for every terminator that leaves it.
  void lower_region(const ir::Region& region, const std::function<void(const ir::Op&)>& on_exit);
  // ... which gives `results` and goes on at `end`.
  void lower_region(const ir::Region& region, const std::vector<Slot>& results, Label end);
  // Code that only Task::call and Program::spawn reach, here but jumped over; gives its label. `body` emits
  // it and must end with emit_finish. `op` is whose code it is.
  Label out_of_line(const ir::Op& op, const std::function<void()>& body);
  void emit_finish(const ir::Op& op);
  // As out_of_line for a pure region over `n` elements at once: slots of its arguments and of what its
  // terminator gives.
  struct VectorRegion {
    Label entry;
    std::vector<Slot> args, results,
        captures;  // captures: outer slots it reads; list them as operands of the user
  };
  // places: of the values that a probe wants (null: none are recorded).
  VectorRegion vector_region(const ir::Region& region, int64_t n, const Places* places = nullptr);
  const Instr* const* instruction_at(
      Label label);  // holds its address once the code is complete: keep it in data

  Label block_label(const ir::Block* block);
  // Loops: what is emitted between begin and end belongs to it; the slot counts its iterations.
  Slot begin_loop();
  void end_loop() { loop_ = code_.loops[loop_ - 1].parent; }

  // ---- program-wide
  int64_t reserve_shared(int64_t bytes, int64_t alignment);  // an offset into Program::shared_memory()
  bool in_ttgir() const { return code_.is_ttgir; }
  Code& code() { return code_; }

  // ---- errors
  void fail(const ir::Op& op, std::string message, std::vector<std::string> notes = {});
  bool failed() const { return failed_; }

  void lower_op(const ir::Op& op);
  void lower_row(const ir::Op& op);  // as its row says, whatever replaces it
  // The same where its scalars have an element for each of `lanes` threads.
  void lower_row(const ir::Op& op, int64_t lanes) {
    const int64_t outer = std::exchange(lanes_, lanes);
    lower_row(op);
    lanes_ = outer;
  }
  // Lowers `op` by this in place of its row's function; an empty one leaves it out, as other instructions
  // stand for it.
  void replace(const ir::Op& op, std::function<void(const ir::Op&)> lower) {
    replaced_[&op] = std::move(lower);
  }
  // The kernel's whole code; `fuse`: with instructions that stand for several ops. False: the sink says why.
  bool lower_kernel(const ir::Op& func, bool fuse = false);
  // From here on the values that it wants are handed to the observer of the launch (observe.cpp); before the ops that
  // an exec::Stopper wants stands a stop (stop.cpp).
  void observe_for(const exec::LaunchOptions& options);
  // Ops round as the target's instructions do (LaunchOptions::numerics); contract: products and sums become one.
  struct Hardware {
    bool on = false, contract = false;
    bool tree = true;    // threads add their registers in pairs, and not one after the other
    int capability = 0;  // 90
    const LoadOptions* options = nullptr;
  };
  void round_as(const Hardware& hardware) { hardware_ = hardware; }
  const Hardware& hardware() const { return hardware_; }
  bool observes(const ir::Region& region) const;  // whether it wants any value in there
  // Marks what dl.dump left, a tt.print with such a prefix: handed to that observer, and nothing without one.
  void mark(const ir::Op& op, std::string_view prefix);
  bool fuses() const { return fuses_; }
  // `op` has been lowered already: the next lower_op of it does nothing.
  void skip_once(const ir::Op& op) { skipped_.insert(&op); }
  // Inside of `body`, the values of `region` have slots of their own: its code may stand in several places.
  void scoped(const ir::Region& region, const std::function<void()>& body);
  // A tt.func's body in place of a call: there is no recursion in Triton.
  void inline_call(const ir::Op& call, const ir::Op& func);

 private:
  friend class Finisher;    // finish.cpp: liveness, order, addresses
  friend class Fuser;       // fuse.cpp
  friend class DotFuser;    // fuse_dots.cpp
  friend class PlaceFuser;  // fuse_places.cpp
  struct Pending {
    Instr instr{};
    std::vector<Slot> slots;
    int64_t target = -1;  // label
    Fusion fusion = Fusion::kNone;
    bool prologue = false;
    bool falls_through = true;
  };
  struct Scope {  // a function or vector region being lowered
    const ir::Region* region = nullptr;
    std::unordered_map<const ir::Value*, Slot> slots;
    std::unordered_map<const ir::Block*, Label> blocks;
    std::vector<Slot>* captures = nullptr;
  };
  // A value that is in sight of what is lowered, and those that were before it.
  struct Visible {
    const ir::Value* value;
    Slot slot;
    const MemView* view;  // of buffers in shared or tensor memory; else null
    const MemPlan* plan;
    const Visible* before;
  };
  struct OutOfLine {
    Label entry;
    std::vector<Slot> args;  // defined by who calls it
  };
  bool can_hoist(const ir::Op& op);
  const ir::Op& made_op(const ir::Op& at, ir::OpKind kind,
                        std::string_view name);  // in the same place of the text
  void observe(const ir::Op& op, std::span<ir::Value> values);
  void stop_before(const ir::Op& op);
  bool is_dense() const;  // a stop before each op, where all that is in sight can be seen and set
  void show(std::span<ir::Value> values);  // they are in sight from here on
  void emit_pending(Pending p);
  void remove(const std::vector<uint8_t>& taken);  // the pending instructions that are marked

  Code& code_;
  base::Diagnostics& sink_;
  std::vector<Pending> pending_;
  std::vector<int64_t> labels_;  // index into pending_, -1: not bound
  std::vector<OutOfLine> out_of_line_;
  std::deque<Scope> scopes_;
  std::map<std::pair<const ir::Type*, int64_t>, const TileType*> types_;
  std::map<std::pair<int64_t, const TileType*>, Slot> constants_;
  std::vector<uint8_t> kept_;  // by slot: set in the prologue, never released
  std::vector<std::pair<Label, const Instr**>> label_addresses_;
  std::vector<const ir::Op*> calls_;  // being inlined
  std::unordered_map<const ir::Op*, std::function<void(const ir::Op&)>> replaced_;
  exec::Observer* observer_ = nullptr;
  exec::Stopper* stopper_ = nullptr;
  const Visible* visible_ = nullptr;
  std::vector<const ir::Op*> call_ops_;  // the calls of calls_
  std::set<const ir::Op*> skipped_;
  Hardware hardware_;
  bool fuses_ = false;
  int64_t lanes_ = 0;  // 0: not in a vectorised region
  const Places* places_ = nullptr;
  uint32_t loop_ = 0;
  bool hoisting_ = false;
  bool failed_ = false;
};

// A row of ops.def names these: a handler, and the rules that the op has beside it.
using LowerFn = void (*)(Lowering&, const ir::Op&);
using FoldFn = std::optional<int64_t> (*)(Folder&, const ir::Op&);
// In place of `lower` where ops round as the target's instructions do; false: the op is lowered as ever.
using HardwareFn = bool (*)(Lowering&, const ir::Op&);
struct OpRow {
  LowerFn lower = nullptr;
  std::string_view handler = {};  // "addi" of lower_addi
  const num::Elementwise* elementwise = nullptr;
  bool structure = false;
  FoldFn fold = nullptr;
  ShadowFn shadow = nullptr;
  RaceFn race = nullptr;
  HardwareFn hardware = nullptr;
  machine::ExactFn exact = nullptr;
};
const OpRow& row_of(ir::OpKind kind);

std::vector<Slot> slots_of(Lowering& l, std::span<ir::Use> uses);
std::vector<Slot> slots_of(Lowering& l, std::span<ir::Value> values);
inline std::optional<Slot> optional_slot(Lowering& l, const ir::Value* value) {
  return value ? std::optional(l.slot(value)) : std::nullopt;
}

// ---- what the lowering asks of the folders above it
// The op through a num functor. The types come from the op: the last operand's and the result's
// (ops/elementwise.cpp).
void lower_elementwise(Lowering& l, const ir::Op& op, const num::Elementwise& f);
// tt.fp_to_fp with random bits (machine/stochastic.cpp).
void lower_stochastic(Lowering& l, const ir::Op& op);
// Replaces the sorting networks of a function's body, and leaves out what only they used (ops/sort.cpp).
void find_sorts(Lowering& lowering, const ir::Region& region);
// Lowers what differs between the threads of a program, and what only some of them run, in ways of its own
// (machine/threads_apart.cpp).
void find_threads_apart(Lowering& lowering, const ir::Region& region);
// Lowers sums of products of a function's body as the fused multiply-adds that LLVM and ptxas make of them
// (hardware/contract.cpp).
void find_contractions(Lowering& lowering, const ir::Region& region);
// Makes one instruction of chains of elementwise ops, loads, stores and reductions (fuse/fuse.cpp).
void fuse_code(Lowering& lowering);

// Puts the pending instructions in order, finds the last uses, and fills in addresses.
void finish_code(Lowering& lowering);
const Instr* run_zero(Task& t, const Instr& in);     // its results are 0
const Instr* run_release(Task& t, const Instr& in);  // drops its operands, which nobody needs any more

// The integer that a value is in every launch, in all of its elements.
std::optional<int64_t> constant_integer(const ir::Value& v);

}  // namespace triton_runner::tile
