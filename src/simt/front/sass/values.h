// Values finds what registers hold for a part of straight code alone: a register that is overwritten before anybody else could
// read it. The lowering gives such a value a place of its own, as PTX has a register for each, so that instructions move past
// others that only use the same register again, and native code need not store it.
//
//   LDSM R4, [R2]        a value that the next line uses up
//   HMMA R8, R4, ...
//   LDSM R4, [R3]        another one: it need not wait for the product
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

namespace triton_runner::simt {

// Returns whether all registers that an instruction reads and writes stand in its text.
bool names_its_registers(const sass::Module& module, const sass::Instruction& in);
// Returns whether other threads of the warp may run after it: they may write its uniform registers.
bool may_part(const sass::Row& row);

class Values {
 public:
  Values() = default;  // none: each register is one value
  Values(const sass::Module& module, const sass::Function& function);

  // The value that a register (sass::register_code) has before instruction i, and that i writes to it: a number from
  // sass::kMaxRegisters on, or the register's own code, where it is not of straight code alone.
  uint32_t before(uint32_t i, uint32_t reg) const;
  uint32_t after(uint32_t i, uint32_t reg) const;
  // A sum of 64 bits, of whose halves instruction i adds the upper one: the instruction that adds the lower one, and whose
  // carry nobody else reads. What that reads is still there at i.
  std::optional<uint32_t> lower_half(uint32_t i) const {
    const auto half = lower_halves_.find(i);
    return half == lower_halves_.end() ? std::nullopt : std::optional(half->second);
  }
  bool is_lower_half(uint32_t i) const { return is_lower_.contains(i); }
  // Numbers that instructions before a guarded load put into its registers, for threads that do not load: nobody looks at
  // them before it. By register.
  using Fills = std::map<uint32_t, uint32_t>;
  const Fills* fills_of(uint32_t load) const {
    const auto fills = fills_.find(load);
    return fills == fills_.end() ? nullptr : &fills->second;
  }
  bool is_fill(uint32_t i) const { return is_fill_.contains(i); }
  bool is_unread(uint32_t i) const { return i < unread_.size() && unread_[i]; }  // nobody reads what i writes

 private:
  // From the instruction that gives it up to the next one that overwrites the register, or to the end of the straight code.
  struct Span {
    uint32_t first, last, value;
  };
  struct Known;
  struct Open;
  void close(uint32_t reg, const Open& open, uint32_t last, std::vector<uint32_t>& unread);
  const Span* span_of(uint32_t i, uint32_t reg) const;
  void find_halves(const sass::Module& module, const sass::Function& function);
  void find_fills(const sass::Module& module, const sass::Function& function, const std::vector<bool>& ends);
  std::array<std::vector<Span>, sass::kMaxRegisters> spans_;  // by register, in order
  std::vector<bool> unread_;
  std::map<uint32_t, uint32_t> lower_halves_;
  std::set<uint32_t> is_lower_, is_fill_;
  std::map<uint32_t, Fills> fills_;  // by load
  uint32_t end_ = sass::kMaxRegisters;
};

}  // namespace triton_runner::simt
