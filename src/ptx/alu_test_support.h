// OneInstruction runs an instruction over the registers of a test: parse_body, find_alu, one call.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include <triton_runner/num/types.h>
#include <triton_runner/ptx/alu.h>

namespace triton_runner::ptx {

// One instruction whose registers are named in order of its operands; values are 64-bit patterns, a lane
// each.
class OneInstruction {
 public:
  static constexpr uint32_t kLanes = 128;
  // `text` with registers %a0, %a1, ... of the types given.
  OneInstruction(const std::string& text, std::vector<Mod> types) : types_(std::move(types)) {
    for (size_t i = 0; i < types_.size(); ++i) names_.push_back("%a" + std::to_string(i));
    std::vector<Register> registers;
    for (size_t i = 0; i < types_.size(); ++i) registers.push_back({names_[i], types_[i]});
    auto parsed = parse_body(text, registers);
    if (!parsed) {
      error = parsed.error().str();
      return;
    }
    module_ = *parsed;
    const Function& f = *module_->functions()[0];
    auto found = find_alu(*module_, f, f.body[0]);
    if (!found) {
      error = found.error().str();
      return;
    }
    alu_ = *found;
    ok = true;
    size_t bytes = 64;
    for (size_t i = 0; i < types_.size() + 16; ++i)
      places_.push_back(static_cast<uint32_t>(bytes)), bytes += kLanes * 16;
    file_.resize(bytes + 64);
    base_ = file_.data() + (64 - reinterpret_cast<uintptr_t>(file_.data()) % 64) % 64;
  }

  void set(size_t reg, uint32_t lane, uint64_t value) {
    std::memcpy(at(places_[reg], size(types_[reg]), lane), &value, size(types_[reg]));
  }
  uint64_t get(size_t reg, uint32_t lane) const {
    uint64_t value = 0;
    std::memcpy(&value, at(places_[reg], size(types_[reg]), lane), size(types_[reg]));
    return value;
  }
  void run() {
    const Function& f = *module_->functions()[0];
    const auto operands = flattened(f.body[0]);
    lanes::Operands o;
    uint32_t next = static_cast<uint32_t>(types_.size()) + 1;
    auto place = [&](int8_t which, lanes::Type stored) {
      const Mod type = mod_of(stored);
      if (which == lanes::LaneFunction::kCarry) return carry();
      if (which < 0) return lanes::kNoRegister;
      const Operand& operand = *operands[static_cast<size_t>(which)];
      if (operand.kind == OperandKind::kSink) return lanes::kNoRegister;
      if (operand.kind == OperandKind::kRegister) {
        for (size_t i = 0; i < names_.size(); ++i)
          if (f.registers[operand.reg].name == names_[i]) return places_[i];
        return lanes::kNoRegister;
      }
      const uint32_t here = places_[next++];
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        std::memcpy(at(here, size(type), lane), &operand.integer, size(type));
      return here;
    };
    o.d = place(alu_.operands[0], alu_.types[0]), o.a = place(alu_.operands[1], alu_.types[1]);
    o.b = place(alu_.operands[2], alu_.types[2]), o.c = place(alu_.operands[3], alu_.types[3]);
    o.e = place(alu_.operands[4], alu_.types[4]);
    o.small = alu_.small;
    o.imm = alu_.extra == lanes::LaneFunction::kNoOperand ? alu_.imm : place(alu_.extra, alu_.extra_type);
    lanes::Lanes x;
    x.regs = base_, x.count = kLanes;
    alu_.run(x, o);
  }

  bool ok = false;
  std::string error;

 private:
  static size_t size(Mod type) {
    const int b = bits(type);
    return b <= 8 ? 1 : static_cast<size_t>(b / 8 < 8 ? b / 8 : 8);
  }
  std::byte* at(uint32_t place, size_t bytes, uint32_t lane) const { return base_ + place + bytes * lane; }
  uint32_t carry() const { return places_[types_.size()]; }

  std::vector<Mod> types_;
  std::vector<std::string> names_;
  std::shared_ptr<const Module> module_;
  lanes::LaneFunction alu_;
  std::vector<uint32_t> places_;
  std::vector<std::byte> file_;
  std::byte* base_ = nullptr;
};

}  // namespace triton_runner::ptx
