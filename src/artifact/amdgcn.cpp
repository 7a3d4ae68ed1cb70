// AMD assembly: its .amdgpu_metadata block is YAML of one fixed shape, which LLVM writes one key a line.
#include <triton_runner/base/text.h>

#include "scan.h"
#include "text.h"

namespace triton_runner::artifact {
namespace {

using base::trimmed;

// Reads what LLVM writes after a kernel's code: "; codeLenInByte = 1234", "; Occupancy: 8".
void read_comments(std::string_view text, Description& k) {
  const size_t from = text.find("\n" + k.name + ":");
  if (from == std::string_view::npos) return;
  auto number_behind = [&](std::string_view key) {
    const size_t at = text.find(key, from);
    if (at == std::string_view::npos) return -1;
    const std::string_view rest = text.substr(at + key.size());
    return to_int(trimmed(rest.substr(0, rest.find('\n'))));
  };
  if (int n = number_behind("; codeLenInByte = "); n >= 0) k.code_bytes = n;
  if (int n = number_behind("; Occupancy: "); n >= 0) k.waves = n;
}

}  // namespace

Scanned scan_amdgcn(std::string_view text, const std::string& filename) {
  size_t begin = text.find("\t.amdgpu_metadata\n"), end = text.find(".end_amdgpu_metadata");
  if (begin == std::string_view::npos)
    return text_error(text, 0, filename, "expected AMD assembly with an .amdgpu_metadata block");
  if (end == std::string_view::npos)
    return text_error(text, text.size(), filename,
                      "the .amdgpu_metadata block does not end: is the text truncated?");

  std::vector<Description> found;
  Description* d = nullptr;
  bool in_args = false;
  std::string kind;
  std::string target;
  for (size_t at = begin; at < end;) {
    size_t stop = std::min(text.find('\n', at), end);
    std::string_view line = text.substr(at, stop - at);
    at = stop + 1;
    size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) continue;
    bool item = line.substr(indent, 2) == "- ";
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = trimmed(line.substr(indent + (item ? 2 : 0), colon - indent - (item ? 2 : 0)));
    std::string_view value = trimmed(line.substr(colon + 1));
    if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"'))
      value = value.substr(1, value.size() - 2);

    if (indent == 0) {
      d = nullptr;
      if (key == "amdhsa.target") target = value;
    } else if (item && indent == 2 && key.starts_with(".")) {  // the next kernel
      found.emplace_back();
      d = &found.back();
      d->level = "amdgcn";
      in_args = false;
    }
    if (!d) continue;
    if (indent == 4 || (item && indent == 2)) in_args = key == ".args";
    if (in_args && key != ".args") {
      if (item) d->params.emplace_back();
      if (d->params.empty()) continue;
      Param& p = d->params.back();
      if (key == ".size") p.bytes = std::max(0, to_int(value));
      if (key == ".name") p.name = value;
      if (key == ".value_kind" && value == "global_buffer") p.type = "ptr";
      if (key == ".value_kind" && value.starts_with("hidden_")) p.type = "hidden";
      continue;
    }
    int number = to_int(value);
    if (key == ".name") d->name = value;
    if (number < 0) continue;
    if (key == ".wavefront_size") d->threads_per_warp = number;
    if (key == ".max_flat_workgroup_size") d->max_threads = number;
    if (key == ".group_segment_fixed_size") d->static_shared = number;
    if (key == ".vgpr_count") d->vgprs = d->n_regs = number;
    if (key == ".sgpr_count") d->sgprs = number;
    if (key == ".vgpr_spill_count") d->n_spills = number;
    if (key == ".agpr_count") d->agprs = number;
    if (key == ".sgpr_spill_count") d->sgpr_spills = number;
    if (key == ".private_segment_fixed_size") d->local_bytes = number;
  }
  size_t gfx = target.find("gfx");
  for (Description& k : found) {
    if (gfx != std::string::npos) k.target = "hip:" + target.substr(gfx, target.find(':', gfx) - gfx);
    k.num_ctas = 1;
    if (k.max_threads) take_bound(k, *k.max_threads, ".max_flat_workgroup_size");
    std::erase_if(k.params, [](const Param& p) { return p.type == "hidden"; });
    read_comments(text.substr(0, begin), k);
  }
  return found;
}

}  // namespace triton_runner::artifact
