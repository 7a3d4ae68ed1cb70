// Pair holds a function of the twin (registers.h) beside its counterpart in the program of a launch: what
// taps added is taken away, and the rest has to be the same program.
#pragma once
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/registers_ptx.h"

namespace triton_runner::probe {

inline constexpr uint32_t kNone = ~uint32_t{0};

// A comment of a tap, and the instruction of its own that stands before it.
struct Comment {
  enum Kind : uint8_t { kTap, kEnter, kTurn, kMark } kind;
  uint32_t number;
  uint32_t instruction;
  std::string_view reg;
};

// Returns the comments in the body of a function, in the order of the text.
std::vector<Comment> comments_of(std::string_view text, const ptx::Function& f);

// The place of the bits of a tapped element: in a register from a byte on, or in the text.
struct Source {
  uint32_t reg = kNone;
  uint32_t offset = 0;
};

// One function of the twin beside its counterpart.
class Pair {
 public:
  Pair(const ptx::Module& twin_module, const ptx::Function& twin, const ptx::Module& module,
       const ptx::Function& own, std::vector<Comment> comments)
      : twin_module_(twin_module),
        module_(module),
        twin_(twin),
        own_(own),
        comments_(std::move(comments)),
        same_(&twin == &own) {
    find_added();
  }

  // Checks that the rest is the same program; otherwise says where it differs first.
  base::Status compare();

  // The place of a comment in the counterpart (of a tap, where it reads `source`); empty where it has none.
  std::optional<exec::RegisterProbe> place(const Comment& c, const Source* source) const;

  // From where to where in the counterpart the place of a comment is: one place, or, in a block of another order, that
  // block. Empty where it has none.
  std::optional<std::pair<exec::RegisterProbe, exec::RegisterProbe>> around(const Comment& c) const;

  // The register of the counterpart that holds at the comment what its register holds from a byte on.
  std::optional<Source> source(const Comment& c, uint32_t offset) const;

 private:
  uint32_t find_register(std::string_view name) const;

  // The instructions of the comments, and those whose results nothing else uses.
  void find_added();

  bool is_dead(uint32_t i, const std::vector<std::vector<uint32_t>>& readers) const;

  bool equal_register(uint32_t a, uint32_t b);

  bool equal(const ptx::Operand& a, const ptx::Operand& b);

  bool equal(const ptx::Instruction& a, const ptx::Instruction& b);

  // Straight code: instructions [begin, end) of the counterpart, and as many that are kept of the twin.
  struct Block {
    uint32_t begin, end;
    bool permuted = false;  // the same instructions in another order
    bool differs = false;   // the two do not end at the same place
  };

  void find_blocks();

  // kNone, or where the block differs.
  uint32_t compare(Block& b);

  void unbind(size_t to);

  // Finds the twin's instruction for each of the block's; those whose sources are known go first.
  bool match(const Block& b);

  // Returns whether the two orders of a block compute the same: each instruction finds its sources made by
  // the same instructions, each register is left by the same one, and what is more than arithmetic keeps its
  // order.
  bool same_flow(const Block& b) const;

  // In a block of another order a tap reads after the instruction that made its register. Marks of loops
  // have to stand at the block's beginning.
  std::optional<exec::RegisterProbe> place_in(const Block& b, uint32_t k, const Source* source) const;

  size_t first_difference();

  base::Status differs(size_t k) const;

  bool defined_between(uint32_t reg, uint32_t from, uint32_t to) const;

  // Back through what taps added: copies and halves.
  std::optional<Source> trace(uint32_t reg, uint32_t at, uint32_t offset, int depth) const;
  ptx::Mod type_of(uint32_t reg) const { return twin_.registers[reg].type; }

  const ptx::Module &twin_module_, &module_;
  const ptx::Function &twin_, &own_;
  std::vector<Comment> comments_;
  bool same_;
  std::vector<bool> added_, targets_;
  std::vector<uint32_t> kept_, kept_before_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> match_;                       // of each kept instruction its counterpart
  std::vector<std::pair<uint32_t, uint32_t>> bound_;  // registers, since the block began
  std::vector<std::vector<uint32_t>> definitions_;    // of each register
  std::unordered_map<uint32_t, uint32_t> to_own_, to_twin_;
};

}  // namespace triton_runner::probe
