// Tells where the instructions of a function lead, and what follows: blocks, loops, live ranges of registers.
//
//   0000  BSSY B0, `(L)      next: 0010, and the region of B0 ends at L
//   0010  @P0 BRA `(M)       next: M by its label, 0020
//   0020  BSYNC B0           next: L, where threads of the region meet again
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <triton_runner/sass/text.h>

namespace triton_runner::sass {

struct Edge {
  enum Kind : uint8_t { kNext, kLabel, kCall, kReturn, kMeet, kAnywhere };
  uint32_t to;  // an instruction of the function
  Kind kind;
};

// The instructions that go round between `head`, the first one, and `last`, which jumps back.
struct Loop {
  uint32_t head, last;
  std::vector<uint32_t> body;  // by number
};

class Flow {
 public:
  explicit Flow(const Function& function);

  // The edges to what may come after an instruction: labels first. A computed address whose labels the listing does not say
  // leads to all of them (kAnywhere); a return to what follows the calls that come to it.
  std::span<const Edge> after(size_t i) const { return after_[i]; }
  std::span<const uint32_t> before(size_t i) const { return before_[i]; }  // but for kAnywhere
  bool is_target(size_t i) const { return is_target_[i]; }                 // a label stands there
  // The first instruction of each block; blocks end where a label stands and after an instruction that leads elsewhere.
  std::span<const uint32_t> blocks() const { return blocks_; }
  size_t block_of(size_t i) const;
  const std::vector<Loop>& loops() const { return loops_; }  // the largest first

 private:
  void add_edges(uint32_t i);
  void add_returns();
  void find_loops();
  std::vector<uint32_t> reached_from(uint32_t start) const;  // without what calls there reach

  const Function& function_;
  std::vector<std::vector<Edge>> after_;
  std::vector<std::vector<uint32_t>> before_;
  std::vector<bool> is_target_;
  std::vector<uint32_t> blocks_;
  std::vector<Loop> loops_;
};

// The index of the label of an instruction, if it is in the function.
std::optional<size_t> target_of(const Function& f, const Instruction& in);

// Numbers of registers, and from here on of 4-byte words of the stack frame, which are live as registers are.
inline constexpr uint32_t kFrameWords = 1 << 16;

// Tells which registers and words of the stack frame are live.
class Live {
 public:
  Live(const Module& module, const Function& function, const Flow& flow);
  const std::vector<uint32_t>& reads(size_t i) const { return reads_[i]; }
  const std::vector<uint32_t>& writes(size_t i) const { return writes_[i]; }
  std::vector<uint32_t> needed(size_t i) const;  // before an instruction
  // The instructions that may have given what a register has before an instruction.
  std::vector<uint32_t> definitions(uint32_t reg, uint32_t i) const;
  // Returns the instructions that read what a register has before an instruction, it among them.
  std::vector<uint32_t> uses(uint32_t reg, uint32_t i) const;

 private:
  using Set = std::vector<uint64_t>;
  static size_t place_of(uint32_t reg);
  bool needs(size_t i, uint32_t reg) const;
  bool overwrites(size_t i, uint32_t reg) const;

  const Flow& flow_;
  std::vector<std::vector<uint32_t>> reads_, writes_;
  std::vector<bool> always_;
  std::vector<Set> needed_;
};

}  // namespace triton_runner::sass
