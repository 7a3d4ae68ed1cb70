// Code is a lowered kernel: linear instructions over slots, and what is static about every slot. Handlers run
// it through a Task (task.h).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <triton_runner/ir/graph.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/machine/tensor_memory.h>
#include <triton_runner/num/types.h>

namespace triton_runner::tile {

struct Task;
struct Instr;
using Slot = uint32_t;

// Runs one instruction and says which comes next: next(in), a jump's target, or null when the task stops
// running (task.outcome then says why; see Task::stop_...).
using Handler = const Instr* (*)(Task&, const Instr&);

struct Instr {
  Handler run;
  const void* data;     // what the lowering made for the handler; owned by the Code
  const Slot* slots;    // results, then operands
  const ir::Op* op;     // for traps and probes
  const Instr* target;  // jumps
  uint64_t kills;       // bit i: the value of operand i is not needed after this instruction
  uint16_t num_results, num_operands;
  uint32_t loop;  // 1 + index of the innermost loop around it in Code::loops; 0: none

  Slot result(uint32_t i = 0) const { return slots[i]; }
  Slot operand(uint32_t i) const { return slots[num_results + i]; }
  std::span<const Slot> results() const { return {slots, num_results}; }
  std::span<const Slot> operands() const { return {slots + num_results, num_operands}; }
  bool kills_operand(uint32_t i) const { return i < 64 && (kills >> i & 1); }
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(data);
  }
};
inline const Instr* next(const Instr& in) { return &in + 1; }

// The handler of a function that says less: one that gives nothing goes on with the next instruction, and so
// does one that gives true (false: it has trapped). A third parameter is the instruction's data.
template <auto kRun>
const Instr* handler(Task& t, const Instr& in) {
  return []<class R, class... Data>(R (*)(Task&, const Instr&, const Data&...), Task& task, const Instr& i) {
    if constexpr (std::is_void_v<R>) {
      kRun(task, i, i.as<Data>()...);
      return next(i);
    } else if constexpr (std::is_same_v<R, bool>) {
      return kRun(task, i, i.as<Data>()...) ? next(i) : nullptr;
    } else {
      return kRun(task, i, i.as<Data>()...);
    }
  }(kRun, t, in);
}

// Element type and shape of a slot. Types that are no tensors of elements (tokens, memdescs) have rank 0,
// n 1, size 0.
struct TileType {
  num::Type element = num::Type::kI64;
  uint8_t size = 0;        // bytes an element
  bool is_tensor = false;  // rank 0 tensors do not exist in Triton; scalars are not tensors
  uint32_t pointee = 0;    // of pointers: bytes of what they point to
  num::Type pointee_type = num::Type::kI8;
  int rank = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> dense_strides;  // row-major, elements
  int64_t n = 1;                       // elements
  int64_t bytes = 0;                   // n * size
  // The index of element number `element`, row-major.
  std::vector<int64_t> index_of(int64_t element) const {
    std::vector<int64_t> index(rank);
    for (int d = rank - 1; d >= 0; --d) index[d] = element % shape[d], element /= shape[d];
    return index;
  }
  const ir::Type* ir = nullptr;  // the type it was made from: encoding, memdesc, ...; null where synthesised
};

// Moves to the index of the element after it, row-major.
inline void next_index(std::span<int64_t> index, std::span<const int64_t> shape) {
  for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
}

// One loop, for the iteration counts that probes see.
struct LoopInfo {
  uint32_t parent;  // as Instr::loop
  Slot counter;     // kUniform: iterations completed
};

// The module says this of a kernel: the same in all the code that it becomes (plain, observed, checked).
struct CodeHeader {
  std::shared_ptr<const ir::Module> module;
  std::string kernel;
  int num_warps = 4, num_ctas = 1, warp_size = 32;
  std::array<int64_t, 3> cluster{1, 1, 1};  // programs of the grid that are the blocks of one cluster
  int64_t cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
  int all_warps = 0;      // of a block, those of partitions included; 0: nobody said
  bool two_ctas = false;  // tcgen05 products are of pairs of blocks
  bool is_ttgir = false;
  std::string target;  // "cuda:90"; empty where the module does not say
};

struct Code : CodeHeader {
  std::vector<Instr> instrs;
  const Instr* prologue =
      nullptr;                   // run once a worker and launch: constants, and what depends on nothing else
  const Instr* entry = nullptr;  // run for each program
  std::vector<const TileType*> types;  // by slot: as many as there are slots
  std::vector<Slot> params;
  std::vector<LoopInfo> loops;
  std::vector<Slot> left_over;  // slots that may still own something when a program ends
  int64_t shared_bytes = 0;     // shared memory of a program
  int64_t tensor_memory =
      -1;  // where in it tensor memory begins (-1: none), and the bytes of a lane that are used
  int64_t tensor_memory_used = 0;
  // Bytes of a lane: of each block 512 columns of 32 bits, four times, as buffers are not reused.
  int64_t tensor_memory_row() const { return int64_t{4 * 4 * machine::kTensorColumns} * num_ctas; }
  std::vector<std::shared_ptr<void>> owned;  // types, data of instructions, slot lists
};

}  // namespace triton_runner::tile
