#include "sass_forms.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <triton_runner/base/text.h>

namespace triton_runner::probe {
namespace {

constexpr FormRow kRows[] = {
#define SASS(opcode, types, form, sass, counted, also) \
  {ptx::Opcode::opcode, types, Form::form, sass, counted, also},
#include <triton_runner/ptx/opcodes.def>
};

template <typename See>
bool any_word(std::string_view words, See&& see) {
  while (!words.empty()) {
    const size_t space = words.find(' ');
    if (see(words.substr(0, space))) return true;
    if (space == std::string_view::npos) return false;
    words.remove_prefix(space + 1);
  }
  return false;
}

bool has_word(std::string_view words, std::string_view word) {
  return any_word(words, [&](std::string_view w) { return w == word; });
}

bool is_predicate(std::string_view o) {
  if (o.starts_with('!')) o.remove_prefix(1);
  if (o == "PT" || o == "UPT") return true;
  if (o.starts_with('U')) o.remove_prefix(1);
  return o.size() == 2 && o[0] == 'P' && base::is_digit(o[1]);
}

// R4 and UR4: the digits; RZ and the rest: none.
std::optional<uint32_t> number_of(std::string_view reg) {
  if (reg.starts_with('U')) reg.remove_prefix(1);
  if (reg.size() < 2 || reg[0] != 'R') return {};
  uint32_t n = 0;
  auto [end, error] = std::from_chars(reg.data() + 1, reg.data() + reg.size(), n);
  if (error != std::errc() || end != reg.data() + reg.size()) return {};
  return n;
}

size_t result_place(const SassInstruction& in) {
  return !in.operands.empty() && is_predicate(in.operands[0]) ? 1 : 0;
}

}  // namespace

const FormRow* form_of(const ptx::Instruction& in) {
  const std::string_view type = ptx::text(in.type(0)), second = ptx::text(in.type(1));
  auto fits = [&](const FormRow& row) {
    if (row.opcode != in.opcode || (!row.types.empty() && !has_word(row.types, type))) return false;
    if (in.has(ptx::Mod::kWide) != (row.also == "wide")) return false;
    if (row.also == "special")
      return in.operands.size() == 2 && in.operands[1].kind == ptx::OperandKind::kSpecial;
    return row.also.empty() || row.also == "wide" || has_word(row.also, second);
  };
  const auto found = std::find_if(std::begin(kRows), std::end(kRows), fits);
  return found == std::end(kRows) ? nullptr : &*found;
}

bool is_of(const SassInstruction& in, std::string_view opcodes) {
  return any_word(opcodes, [&](std::string_view w) {
    return in.opcode.starts_with(w) && (in.opcode.size() == w.size() || in.opcode[w.size()] == '.');
  });
}

std::string_view result_of(const SassInstruction& in) {
  const size_t at = result_place(in);
  return at < in.operands.size() && number_of(in.operands[at]) ? std::string_view(in.operands[at])
                                                               : std::string_view();
}

uint32_t results_count(const SassInstruction& in) {
  const std::string_view base = in.base(), all = in.opcode;
  auto has = [&](std::string_view what) { return all.find(what) != std::string_view::npos; };
  if (base == "HGMMA" || base == "IGMMA" || base == "QGMMA" || base == "BGMMA") {
    const size_t x = all.find('x'), y = all.find('x', x + 1);
    uint32_t n = 256;
    if (x != std::string_view::npos && y != std::string_view::npos)
      std::from_chars(all.data() + x + 1, all.data() + y, n);
    return has(".F16") && !has(".F32") ? n / 4 : n / 2;
  }
  if (has(".128")) return 4;
  if (base == "LDSM") return has(".4") ? 4 : has(".2") ? 2 : 1;
  if (base == "HMMA") return has(".F32") ? 4 : 2;
  if (base == "IMMA" || base == "QMMA" || base == "DMMA" || base == "OMMA") return 4;
  if (has(".64") || has(".WIDE") || base == "DADD" || base == "DMUL" || base == "DFMA") return 2;
  if (base == "CS2R") return has(".32") ? 1 : 2;
  static constexpr std::string_view kOne =
      "FADD FMUL FFMA FMNMX FSEL SEL USEL MUFU IADD3 IADD VIADD UIADD3 IMAD UIMAD LEA ULEA LOP3 ULOP3 SHF "
      "USHF "
      "PRMT UPRMT MOV UMOV HADD2 HMUL2 HFMA2 HMNMX2 F2FP I2FP F2I S2R S2UR LDG LDS LDC ULDC LD LDL SHFL "
      "IMNMX "
      "VIMNMX SGXT USGXT R2UR P2R POPC FLO BREV IABS VABSDIFF REDUX CREDUX";
  return has_word(kOne, base) ? 1 : 4;
}

bool may_write(const SassInstruction& in, std::string_view reg) {
  const std::string_view first = result_of(in);
  if (first.empty() || first.starts_with('U') != reg.starts_with('U')) return false;
  const uint32_t from = *number_of(first), n = number_of(reg).value_or(0);
  return n >= from && n < from + results_count(in);
}

int real_sources(const SassInstruction& in) {
  const std::string_view base = in.base();
  const bool logic = base == "LOP3" || base == "ULOP3";
  int count = 0;
  size_t seen = 0;
  for (size_t i = result_place(in) + 1; i < in.operands.size(); ++i) {
    const std::string_view o = in.operands[i];
    if (is_predicate(o)) continue;
    ++seen;
    if (logic && seen > 3) break;  // the table of the function
    if (o == "RZ" || o == "URZ" || o == "-RZ") continue;
    if (o == "0x1" && in.opcode.starts_with("IMAD.IADD")) continue;
    ++count;
  }
  return count;
}

bool is_move(const SassInstruction& in) {
  if (has_word("MOV UMOV CS2R S2R S2UR R2UR ULDC LDC P2R", in.base())) return true;
  return in.opcode.starts_with("IMAD.MOV") ||
         (is_of(in, "HFMA2 HADD2 PRMT IMAD UIMAD") && real_sources(in) <= 2 && in.operands.size() > 1 &&
          (in.operands[1] == "RZ" || in.operands[1] == "-RZ"));
}

bool is_control(const SassInstruction& in) {
  return has_word(
      "BRA BRX JMP JMX EXIT RET CALL BSSY BSYNC BREAK BMOV WARPSYNC YIELD KILL RTT BPT NANOSLEEP NOP "
      "ELECT ACQBULK PREEXIT ENDCOLLECTIVE WARPGROUP WARPGROUPSET",
      in.base());
}

std::string numbered(std::string_view first, uint32_t n) {
  return std::string(first.starts_with('U') ? "UR" : "R") + std::to_string(*number_of(first) + n);
}

}  // namespace triton_runner::probe
