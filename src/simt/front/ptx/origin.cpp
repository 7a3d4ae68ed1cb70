// Implements parameter_of(): searches back from the address register through the instructions that write it.
#include "front/ptx/origin.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

namespace triton_runner::simt {
namespace {

using ptx::Opcode;
using ptx::OperandKind;

class Search {
 public:
  Search(const ptx::Function& entry, uint64_t candidates) : entry_(entry), candidates_(candidates) {}

  std::optional<uint32_t> run(const ptx::Operand& address) {
    follow(address);
    while (!open_.empty()) {
      const uint32_t reg = open_.back();
      open_.pop_back();
      int writers = 0;
      for (const ptx::Instruction& in : entry_.body)
        if (writes(in, reg)) made_by(in), ++writers;
      chooses_ |= writers > 1;
    }
    if (found_.size() != 1 || (chooses_ && remembers_)) return {};
    return *found_.begin();
  }

 private:
  static bool writes(const ptx::Instruction& in, uint32_t reg) {
    if (in.operands.empty()) return false;
    const auto is_it = [reg](const ptx::Operand& o) {
      return o.kind == OperandKind::kRegister && o.reg == reg;
    };
    const ptx::Operand& to = in.operands[0];
    return is_it(to) || (to.kind == OperandKind::kVector && std::ranges::any_of(to.parts, is_it));
  }
  void follow(const ptx::Operand& o) {
    if (o.kind == OperandKind::kRegister && seen_.insert(o.reg).second) open_.push_back(o.reg);
    if (o.kind == OperandKind::kAddress) follow(o.parts[0]);
    if (o.kind == OperandKind::kVariable) parameter(*o.variable);
    if (o.kind == OperandKind::kVector) remembers_ = true;  // its halves may have come from anywhere
  }
  void follow(const ptx::Instruction& in, size_t i) {
    if (i < in.operands.size()) follow(in.operands[i]);
  }
  void parameter(const ptx::Variable& v) {
    const auto params = std::span(entry_.params);
    const size_t i = static_cast<size_t>(&v - params.data());
    if (&v < params.data() || i >= std::min<size_t>(params.size(), 64)) {
      remembers_ = true;  // a variable, or what a function gave back
      return;
    }
    if (candidates_ >> i & 1) found_.insert(static_cast<uint32_t>(i));
  }

  void made_by(const ptx::Instruction& in) {
    switch (in.opcode) {
      case Opcode::kMov:
      case Opcode::kCvta:
        return follow(in, 1);
      case Opcode::kSelp:
        chooses_ = true;
        [[fallthrough]];
      case Opcode::kAdd:
      case Opcode::kOr:
        follow(in, 1);
        return follow(in, 2);
      case Opcode::kSub:
        return follow(in, 1);
      case Opcode::kMad:
        return follow(in, 3);
      case Opcode::kLd:  // of a parameter; what else is read from memory says nothing
        if (in.operands.size() > 1 && in.operands[1].kind == OperandKind::kAddress &&
            in.operands[1].parts[0].kind == OperandKind::kVariable)
          return follow(in, 1);
        [[fallthrough]];
      case Opcode::kAtom:
      case Opcode::kShfl:
      case Opcode::kCall:
        remembers_ = true;
        return;
      default:
        return;
    }
  }

  const ptx::Function& entry_;
  const uint64_t candidates_;
  std::vector<uint32_t> open_;
  std::set<uint32_t> seen_, found_;
  bool chooses_ = false;    // one of several values is the address
  bool remembers_ = false;  // a value was not computed here: an index, or another pointer
};

}  // namespace

std::optional<uint32_t> parameter_of(const ptx::Function& entry, const ptx::Instruction& access,
                                     uint64_t candidates) {
  const auto body = std::span(entry.body);
  if (&access < body.data() || &access >= body.data() + body.size())
    return {};  // of a function that is called
  for (const ptx::Operand& o : access.operands)
    if (o.kind == OperandKind::kAddress)  // of a parameter itself: by no pointer
      return o.parts[0].kind == OperandKind::kVariable ? std::nullopt : Search(entry, candidates).run(o);
  return {};
}

}  // namespace triton_runner::simt
