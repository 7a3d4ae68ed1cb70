// Says in PTX what machine code computes: a line is parsed once, and its function, or what the PTX front end makes of it,
// gets the places of the registers it names.
#include <triton_runner/ptx/alu.h>

#include <algorithm>
#include <cstdlib>

#include "front/ptx/listing.h"
#include "front/ptx/lower.h"
#include "front/sass/listing.h"
#include "front/sass/lower.h"

namespace triton_runner::simt {

struct SassLowering::PtxLine {
  std::shared_ptr<const ptx::Module> module;
  std::vector<uint32_t> places;  // which place each register is
  bool is_alu = false;
  lanes::LaneFunction alu;
  Source source;  // what the PTX front end says of it
  // For d, a, b, c, e and imm: which place, or a constant of so many bytes.
  struct Ref {
    int place = -1;
    bool is_constant = false;
    uint64_t bits = 0;
    uint32_t bytes = 0;
  } refs[6];
};

namespace {

// "%r2" of the line: its letter says the width, its number the place.
std::vector<ptx::Register> registers_of(std::string_view line) {
  constexpr std::string_view kLetters = "pbhrdq";
  constexpr ptx::Mod kTypes[] = {ptx::Mod::kPred, ptx::Mod::kB8,  ptx::Mod::kB16,
                                 ptx::Mod::kB32,  ptx::Mod::kB64, ptx::Mod::kB128};
  std::vector<ptx::Register> out;
  for (size_t at = line.find('%'); at != std::string_view::npos; at = line.find('%', at + 1)) {
    const size_t end = std::min(line.find_first_not_of("0123456789", at + 2), line.size());
    const std::string_view name = line.substr(at, end - at);
    const bool is_new = std::none_of(out.begin(), out.end(), [&](const auto& r) { return r.name == name; });
    if (is_new) out.push_back({name, kTypes[kLetters.find(name[1])]});
  }
  return out;
}

}  // namespace

const SassLowering::PtxLine* SassLowering::ptx_line(const std::string& line) {
  if (auto known = lines_.find(line); known != lines_.end()) return known->second.get();
  auto made = std::make_shared<PtxLine>();
  const std::vector<ptx::Register> registers = registers_of(line);
  for (const ptx::Register& r : registers)
    made->places.push_back(static_cast<uint32_t>(std::strtoul(r.name.data() + 2, nullptr, 10)));
  auto module = ptx::parse_body(line + ";", registers);
  if (!module) {
    fail("'" + std::string(in_->spelling) + "' is the PTX '" + line +
         "', which is not executed: " + module.error().message);
    return nullptr;
  }
  made->module = *module;
  const ptx::Function& function = *(*module)->functions().front();
  const ptx::Instruction& in = function.body.front();
  if (auto alu = ptx::find_alu(**module, function, in)) {
    made->is_alu = true;
    made->alu = *alu;
    made->source = source_of(in);
  }
  const std::vector<const ptx::Operand*> operands = ptx::flattened(in);
  for (size_t k = 0; made->is_alu && k < 6; ++k) {
    const int8_t which = k < 5 ? made->alu.operands[k] : made->alu.extra;
    const ptx::Mod type = ptx::mod_of(k < 5 ? made->alu.types[k] : made->alu.extra_type);
    PtxLine::Ref& ref = made->refs[k];
    if (which < 0) continue;
    const ptx::Operand& o = *operands[static_cast<size_t>(which)];
    if (o.kind == ptx::OperandKind::kRegister) {
      ref.place = static_cast<int>(made->places[o.reg]);
    } else {
      ref.is_constant = true;
      ref.bytes = static_cast<uint32_t>(std::max(1, ptx::bits(type) / 8));
      ptx::literal_bits(o, type, &ref.bits);
    }
  }
  return lines_.emplace(line, std::move(made)).first->second.get();
}

bool SassLowering::ptx(const std::string& line, std::span<const uint32_t> places) {
  const PtxLine* known = ptx_line(line);
  if (!known) return false;
  if (!known->is_alu) return ptx_instruction(*known, places);
  std::array<uint32_t, 6> at;
  for (size_t k = 0; k < 6; ++k) {
    const PtxLine::Ref& ref = known->refs[k];
    const bool is_carry = k < 5 && known->alu.operands[k] == lanes::LaneFunction::kCarry;
    at[k] = is_carry          ? carry()
            : ref.is_constant ? constant(ref.bits, ref.bytes)
            : ref.place >= 0  ? places[static_cast<size_t>(ref.place)]
                              : kNoRegister;
  }
  if (known->source.numbers == Source::Numbers::kFloats) {
    numbers_at_ = code.instrs.size();
    numbers_ = &known->source;
  }
  return emit(known->alu, at);
}

bool SassLowering::ptx_instruction(const PtxLine& line, std::span<const uint32_t> places) {
  std::vector<uint32_t> own;
  for (uint32_t k : line.places) own.push_back(places[k]);
  const size_t first = code.instrs.size();
  base::Diagnostics faults;
  const Program program{line.module, line.module->functions().front(), false, {}};
  if (!Lowering(code, program, faults).lower_body(std::move(own)))
    return fail("'" + std::string(in_->spelling) + "' is the PTX '" + std::string(line.module->text()) +
                "', which is not executed" +
                (faults.list().empty() ? "" : ": " + faults.list().front().message));
  for (size_t i = first; i < code.instrs.size(); ++i) {
    Instr& made = code.instrs[i];
    made.guard = guard_;
    made.guard_flip = guard_negated_ ? 0xff : 0;
    Source source = *made.source;
    source.at = in_;
    source.name = in_->spelling;
    order_around(source, *in_);
    made.source = &code.sources.emplace_back(source);
  }
  return true;
}

}  // namespace triton_runner::simt
