// The text of nvdisasm, read.
#include <triton_runner/probe/sass.h>

#include <charconv>

namespace triton_runner::probe {
namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view trimmed(std::string_view s) {
  const size_t from = s.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return s.substr(from, s.find_last_not_of(kSpace) - from + 1);
}

// "a, b[c, d], e" in its parts.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  size_t from = 0;
  auto take = [&](size_t to) {
    std::string_view part = trimmed(text.substr(from, to - from));
    if (part.ends_with(".reuse")) part.remove_suffix(6);
    if (!part.empty()) out.emplace_back(part);
    from = to + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) take(i);
  }
  take(text.size());
  return out;
}

// "@!P0 LDG.E R6, desc[UR4][R2.64+0x4]"
void read_instruction(std::string_view text, SassInstruction& in) {
  if (text.starts_with('@')) {
    in.guarded = true;
    const size_t space = text.find_first_of(kSpace);
    text = space == std::string_view::npos ? std::string_view() : trimmed(text.substr(space));
  }
  const size_t space = text.find_first_of(kSpace);
  in.opcode = text.substr(0, space);
  if (space != std::string_view::npos) in.operands = parts_of(text.substr(space));
}

}  // namespace

base::Result<std::vector<SassInstruction>> parse_sass(std::string_view listing, std::string_view kernel) {
  std::vector<SassInstruction> code;
  std::map<std::string, uint64_t, std::less<>> labels;
  std::vector<std::pair<size_t, std::string>> jumps;  // of an instruction to a label
  std::vector<std::string> waiting;                   // labels of the instruction to come
  const std::string begin = ".text." + std::string(kernel) + ":";
  bool inside = false, has_lines = false;
  uint32_t line = 0;
  while (!listing.empty()) {
    const size_t end = listing.find('\n');
    const std::string_view text = trimmed(listing.substr(0, end));
    listing.remove_prefix(end == std::string_view::npos ? listing.size() : end + 1);
    if (!inside) {
      inside = text == begin;
      continue;
    }
    if (text.starts_with("//--") || text.starts_with(".section") || text.starts_with(".text.")) break;
    if (text.starts_with("//## File")) {
      const size_t at = text.find(", line ");
      if (at == std::string_view::npos || text.find(".nv_debug_ptx_txt") == std::string_view::npos) continue;
      std::from_chars(text.data() + at + 7, text.data() + text.size(), line);
      has_lines = true;
    } else if (text.starts_with(".L_") && text.ends_with(':')) {
      waiting.emplace_back(text.substr(0, text.size() - 1));
    } else if (text.starts_with("/*")) {
      const size_t close = text.find("*/"), semicolon = text.find(';');
      if (close == std::string_view::npos || semicolon == std::string_view::npos) continue;
      SassInstruction in;
      std::from_chars(text.data() + 2, text.data() + close, in.address, 16);
      in.line = line;
      read_instruction(trimmed(text.substr(close + 2, semicolon - close - 2)), in);
      in.is_target = !waiting.empty();
      for (const std::string& l : waiting) labels[l] = in.address;
      waiting.clear();
      for (const std::string& o : in.operands)
        if (o.starts_with("`(") && o.ends_with(')'))
          jumps.emplace_back(code.size(), o.substr(2, o.size() - 3));
      code.push_back(std::move(in));
    }
  }
  if (code.empty()) return base::failure("the disassembly has no kernel '" + std::string(kernel) + "'");
  if (!has_lines)
    return base::failure(
        "the cubin of '" + std::string(kernel) + "' does not say from which lines of the PTX it was made",
        {"Triton asks ptxas for them unless TRITON_DISABLE_LINE_INFO is set"});
  for (const auto& [at, label] : jumps)
    if (auto found = labels.find(label); found != labels.end())
      code[at].target = static_cast<int64_t>(found->second);
  return code;
}

}  // namespace triton_runner::probe
