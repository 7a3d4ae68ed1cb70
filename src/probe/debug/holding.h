// Holding tells which registers hold a value at an instruction. A plan (registers.h, sass.h) says where in
// the code a register has a piece of a value; from there on it holds it until something is written to it. The
// answer holds on every way that leads to the instruction.
#pragma once
#include <cstdint>
#include <vector>

#include "debug/register_flow.h"

namespace triton_runner::probe {

// Bytes of element `number` that a thread has of a value: `bytes` of register `reg`, from byte `from` on, are those of
// the element from `to` on.
struct Piece {
  uint32_t at = 0;  // before this instruction, or after it
  bool after = false;
  uint32_t reg = 0, value = 0, number = 0;
  uint32_t from = 0, to = 0, bytes = 4;
  bool inverted = false;  // of a predicate
};

using Bits = std::vector<uint64_t>;

class Holding {
 public:
  Holding(RegisterFlow flow, std::vector<Piece> pieces);

  const RegisterFlow& flow() const { return flow_; }
  const Piece& piece(uint32_t i) const { return pieces_[i]; }
  // Returns whether any register ever has something of a value.
  bool has(uint32_t value) const;
  // The pieces that make up a value before an instruction, all of one computation of it; empty: it is not there.
  std::vector<uint32_t> whole(uint32_t instruction, uint32_t value) const;
  // Returns whether the value may have been computed on a way to the instruction.
  bool may_be_computed(uint32_t instruction, uint32_t value) const;
  // Returns whether something may still read what a register holds.
  bool is_read(uint32_t instruction, uint32_t reg) const;

 private:
  // Pieces of a value that one block gives: copies of unrolled code are told apart.
  struct Instance {
    uint32_t value, block, copy;
    std::vector<uint32_t> pieces;  // in the order of the code
  };
  void find_blocks();
  void find_instances();
  void follow();
  template <class Gives, class Writes>
  void walk(uint32_t block, uint32_t to, Gives gives, Writes writes) const;
  void through(uint32_t block, uint32_t to, Bits& held) const;
  uint32_t block_of(uint32_t instruction) const;
  uint32_t copy_of(uint32_t instruction, uint32_t block) const;

  RegisterFlow flow_;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> blocks_;               // their first instructions, and the code's size
  std::vector<std::vector<uint32_t>> before_;  // of each instruction, pieces
  std::vector<std::vector<uint32_t>> after_;
  std::vector<std::vector<uint32_t>> of_register_;
  std::vector<Instance> instances_;
  std::vector<uint32_t> instance_of_;            // of each piece
  std::vector<std::vector<uint32_t>> of_value_;  // instances
  std::vector<uint32_t> size_;                   // pieces of a value
  std::vector<Bits> held_, computed_;            // at the start of each block: pieces; values
};

}  // namespace triton_runner::probe
