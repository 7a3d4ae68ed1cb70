// Fused is one instruction for several ops on tiles of one shape: strips of elements go through all of its
// steps while they are in the first-level cache. Loads are read where they lie in memory, a store is written
// there, and values that only the ops themselves use are never whole tiles. fuse.cpp makes these; results are
// the bits that the ops give one by one.
#pragma once
#include <optional>
#include <vector>

#include <triton_runner/num/elementwise.h>
#include <triton_runner/num/links.h>
#include <triton_runner/num/reduce.h>

#include "code.h"

namespace triton_runner::tile {

class Lowering;

struct Fused {
  static constexpr size_t kMaxRegisters = 48;
  static constexpr size_t kMostOfWhole = 8;  // registers that run_fused_whole takes
  static constexpr int64_t kMaxRow = 4096;   // longest row that a reduction takes in one strip

  // One value, a strip at a time.
  struct Register {
    enum class From : uint8_t { kOperand, kLoad, kStep } from;
    uint8_t size;         // bytes of an element
    uint16_t index = 0;   // of the instruction's operand; into `loads`
    int16_t result = -1;  // the result that it is: its strips are parts of that tile
    int16_t reuse = -1;   // operand whose memory that tile may take over when it dies here
    bool single = false;  // one element will do where it is the same for all
    bool column = false;  // one element a row will do where it is the same for all of the row
    int16_t lane = -1;  // of other steps, but not of what is only stored: which of `lanes` its strip lies in
  };
  struct Link {
    num::LinkOp op;
    uint16_t reg, condition;  // the step's in[0] where the op has none
  };
  struct Step {  // a kernel on a strip, or a reduction of each of its rows
    num::Loop loop = nullptr;
    num::Loop by_one = nullptr;  // the same where in[1] is `single`
    std::vector<Link> links;     // in its place: what becomes of in[0]; or before `part`
    num::ReduceFn reduce = nullptr;
    num::ReducePartFn part = nullptr;      // of the one row that the tile is, if it is longer than kMaxRow
    num::ReducePaddedFn padded = nullptr;  // of a row that ends in one constant; may be null
    uint16_t out = 0;                      // register; of a reduction the instruction's result
    uint16_t in[3] = {};
    uint8_t arity = 1;
    bool selects = false;  // arith.select: in[0] is an i1
    bool spreads = false;  // tt.splat of what the reduction to result `from` gave; no operands
    bool reduced = false;  // some reduction depends on it
    uint16_t from = 0;
    bool defines() const { return !reduce; }  // the register `out`
    template <class F>
    void each_input(F f) const {
      for (size_t k = 0; k < arity; ++k) f(in[k]);
      for (const Link& l : links) {
        if (l.op != num::LinkOp::kSquare) f(l.reg);
        if (l.op == num::LinkOp::kSelect || l.op == num::LinkOp::kSelectNot) f(l.condition);
      }
    }
  };
  struct Range {  // the step that makes a register, and the last one that reads it; -1: none
    int64_t made = -1, read = -1;
  };
  struct Access {  // a load or store
    Instr instr;   // as it was: traps name its op
    Slot pointers, value;
    int64_t mask, other;  // slots, kNoSlot
    uint16_t reg;
    uint32_t number;  // of the kernel's fused loads and stores
  };

  const TileType* tile = nullptr;  // of one of the values: the shape of all
  int64_t row = 1;                 // strips are whole numbers of rows: the length that reductions have
  bool only_maps = true;           // no store, no reduction: uniform where all operands are
  std::vector<Register> registers;
  std::vector<Step> steps;
  std::vector<Access> loads;
  std::optional<Access> store;
  std::vector<uint8_t> lanes;  // scratch that steps share one after the other: bytes of an element
  int64_t ops = 0;             // of the kernel that the steps stand for, but for loads and the store
  // For tiles of one dimension (fused_line.cpp):
  bool whole_tiles = false;  // some register is a result
  bool reduces = false;
  bool pads = false;     // all reductions have `padded`
  bool streams = false;  // the last step makes what is stored with links, and nobody else reads it
};

// Rows of at least so many bytes, stored to arrays that a core's share of the last cache does not hold (cores
// have 32 MB or less between a few of them), go past the caches.
inline constexpr int64_t kFarRowBytes = 4 << 10;
inline constexpr uint64_t kFarArrayBytes = 16 << 20;

// Runs of so many bytes are fetched ahead, a line for so many elements that an op goes through.
inline constexpr int64_t kForeseenBytes = 16 << 10, kForeseenRowBytes = 2 << 10;
inline constexpr int64_t kElementsALine = 160;

inline constexpr int64_t kScratchBytes = 16 << 10;  // of all strips together: a part of the first-level cache

const Instr* run_fused(Task& t, const Instr& in);
// The same for tiles of one dimension whose reductions, if any, give scalars.
const Instr* run_fused_line(Task& t, const Instr& in);
// The same where fits_whole(f).
const Instr* run_fused_whole(Task& t, const Instr& in);
bool fits_whole(const Fused& f);
// The same where only_reduces(f): a row of memory goes into one reduction.
const Instr* run_fused_row(Task& t, const Instr& in);
bool only_reduces(const Fused& f);

// A tile for a result, in the memory of operand `reuse` (-1: none) where that dies here.
std::byte* tile_for(Task& t, const Instr& in, Slot slot, int reuse);

// The links of a step on the strips `at` of all registers; how many there are, without those that do nothing.
template <class IsOne>  // is_one(r): there is one element in place of the register's strip
size_t links_of(const Fused::Step& s, std::byte* const* at, IsOne is_one, num::Link* links) {
  using num::LinkOp;
  size_t count = 0;
  for (const Fused::Link& l : s.links) {
    auto* condition = reinterpret_cast<const uint8_t*>(at[l.condition]);
    LinkOp op = l.op;
    const bool selects = op == LinkOp::kSelect || op == LinkOp::kSelectNot;
    if (selects && is_one(l.condition)) {
      if ((*condition & 1) == (op == LinkOp::kSelect)) continue;
      op = LinkOp::kReplace;
    }
    links[count++] = {op, is_one(l.reg), reinterpret_cast<const float*>(at[l.reg]), condition};
  }
  return count;
}

// f32 ops that only the next one reads are linked, up to the sum of what they give; a difference and its exp
// become one loop. Then what is one element in place of a strip. Before lanes and places are given out.
void chain_steps(Fused& f);
// For each register the range of its steps.
std::vector<Fused::Range> step_ranges(const Fused& f);
// Lanes for what steps make, used again when nobody reads it any more.
void assign_lanes(Fused& f);
// Makes one instruction of what lies evenly over the programs of a grid (fuse_places.cpp).
void fuse_places(Lowering& lowering);
// For run_fused_line: which steps a reduction depends on, and whether rows may be padded.
void look_at_reductions(Fused& f);

}  // namespace triton_runner::tile
