// Counts instructions by opcode, as the listings of disassemblers and AMD assembly have them: one a line.
#include <triton_runner/artifact/mix.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace triton_runner::artifact {
namespace {

std::string_view word(std::string_view& rest) {
  const size_t from = rest.find_first_not_of(" \t");
  if (from == std::string_view::npos) return rest = {};
  rest.remove_prefix(from);
  const size_t n = std::min(rest.find_first_of(" \t;"), rest.size());
  std::string_view out = rest.substr(0, n);
  rest.remove_prefix(n);
  return out;
}

// "/*0040*/  @!P0 LDG.E.128 R4, ..." gives LDG.E.128; lines of other forms give nothing.
std::string_view of_sass(std::string_view line) {
  std::string_view address = word(line);
  if (!address.starts_with("/*") || !address.ends_with("*/") || address.size() < 8) return {};
  std::string_view op = word(line);
  if (op.starts_with("@")) op = word(line);
  return !op.empty() && std::isupper(static_cast<unsigned char>(op[0])) ? op : std::string_view();
}

// "\tv_add_f32_e32 v0, v1, v2" gives v_add_f32_e32: instructions are indented by a tab, and neither comment,
// label nor directive.
std::string_view of_amdgcn(std::string_view line) {
  if (!line.starts_with("\t")) return {};
  std::string_view op = word(line);
  return !op.empty() && std::islower(static_cast<unsigned char>(op[0])) &&
                 op.find('_') != std::string_view::npos
             ? op
             : std::string_view();
}

}  // namespace

Mix instruction_mix(std::string_view text, bool is_sass, std::string_view kernel) {
  const std::string begin = (is_sass ? ".text." : "") + std::string(kernel) + ":";
  const std::string_view end = is_sass ? "\t.section" : ".Lfunc_end";
  std::map<std::string_view, int64_t> counts;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, stop - at);
    at = stop + 1;
    if (line.starts_with(begin))
      inside = true;
    else if (inside && line.starts_with(end))
      inside = false;
    if (!inside) continue;
    if (std::string_view op = is_sass ? of_sass(line) : of_amdgcn(line); !op.empty()) ++counts[op];
  }
  Mix out;
  for (const auto& [op, n] : counts) out.emplace_back(op, n);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace triton_runner::artifact
