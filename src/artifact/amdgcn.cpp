// Reads AMD assembly: what its metadata and comments say of its kernels.
#include <triton_runner/artifact/amdgcn_metadata.h>
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

// A number of bytes becomes the largest if it is none, or larger than any: whoever lays out the arguments refuses it.
uint32_t as_bytes(bool is_number, int64_t number) {
  constexpr int64_t kMost = INT32_MAX;
  return static_cast<uint32_t>(is_number ? std::min(number, kMost) : kMost);
}

}  // namespace

std::string why_unfit(std::string_view key, const int64_t* number) {
  const bool is_block = key == ".max_flat_workgroup_size";
  const int64_t least = is_block ? 1 : 0, most = is_block ? 1024 : INT32_MAX;
  if (number && *number >= least && *number <= most) return "";
  return "'" + std::string(key) + "' is to be a number from " + std::to_string(least) + " to " +
         std::to_string(most);
}

AmdMetadataBlock read_amdgcn_metadata(std::string_view block) {
  AmdMetadataBlock out;
  AmdMetadata* kernel = nullptr;
  bool in_args = false;
  for (size_t at = 0; at < block.size();) {
    const size_t stop = std::min(block.find('\n', at), block.size());
    std::string_view line = block.substr(at, stop - at);
    at = stop + 1;
    const size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) continue;
    const bool item = line.substr(indent, 2) == "- ";
    const size_t colon = line.find(':'), from = indent + (item ? 2 : 0);
    if (colon == std::string_view::npos || colon < from) continue;
    const std::string_view key = trimmed(line.substr(from, colon - from));
    std::string_view value = trimmed(line.substr(colon + 1));
    if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"'))
      value = value.substr(1, value.size() - 2);
    if (indent == 0) {
      kernel = nullptr;
      if (key == "amdhsa.target") out.target = value;
    } else if (item && indent == 2 && key.starts_with(".")) {  // the next kernel
      kernel = &out.kernels.emplace_back();
      in_args = false;
    }
    if (!kernel) continue;
    if (indent == 4 || (item && indent == 2)) in_args = key == ".args";
    int64_t number = 0;
    std::string_view digits = value;
    const bool is_number = base::take_number(digits, &number) && digits.empty() && number >= 0;
    if (!in_args) {
      if (key == ".name") kernel->name = value;
      if (is_number) kernel->numbers[key] = number;
      const bool is_name = key == ".name" || key == ".symbol" ||
                           value.find_first_not_of("-0123456789") != std::string_view::npos || value.empty();
      if (is_name || !out.unfit.empty()) continue;
      out.fault = why_unfit(key, is_number ? &number : nullptr);
      if (!out.fault.empty()) out.unfit = value;
    } else if (key != ".args") {
      if (item) kernel->arguments.emplace_back();
      if (kernel->arguments.empty()) continue;
      AmdArgument& a = kernel->arguments.back();
      if (key == ".name") a.name = value;
      if (key == ".value_kind") a.kind = value;
      if (key == ".offset") a.offset = as_bytes(is_number, number);
      if (key == ".size") a.bytes = as_bytes(is_number, number);
    }
  }
  return out;
}

Scanned scan_amdgcn(std::string_view text, const std::string& filename) {
  size_t begin = text.find("\t.amdgpu_metadata\n"), end = text.find(".end_amdgpu_metadata");
  if (begin == std::string_view::npos)
    return text_error(text, 0, filename, "expected AMD assembly with an .amdgpu_metadata block");
  if (end == std::string_view::npos)
    return text_error(text, text.size(), filename,
                      "the .amdgpu_metadata block does not end: is the text truncated?");

  const AmdMetadataBlock block = read_amdgcn_metadata(text.substr(begin, end - begin));
  if (!block.unfit.empty())
    return text_error(text, static_cast<size_t>(block.unfit.data() - text.data()), filename, block.fault);
  const std::string target(block.target);
  std::vector<Description> found;
  for (const AmdMetadata& kernel : block.kernels) {
    Description& d = found.emplace_back();
    d.level = "amdgcn";
    d.name = kernel.name;
    for (const AmdArgument& a : kernel.arguments) {
      if (a.kind.starts_with("hidden_")) continue;
      Param& p = d.params.emplace_back();
      p.bytes = static_cast<int>(a.bytes);
      p.name = a.name;
      if (a.kind == "global_buffer") p.type = "ptr";
    }
    const auto number = [&](std::string_view key, auto&... to) {
      const auto at = kernel.numbers.find(key);
      if (at != kernel.numbers.end()) ((to = static_cast<int>(at->second)), ...);
    };
    number(".wavefront_size", d.threads_per_warp);
    number(".max_flat_workgroup_size", d.max_threads);
    number(".group_segment_fixed_size", d.static_shared);
    number(".vgpr_count", d.vgprs, d.n_regs);
    number(".sgpr_count", d.sgprs);
    number(".vgpr_spill_count", d.n_spills);
    number(".agpr_count", d.agprs);
    number(".sgpr_spill_count", d.sgpr_spills);
    number(".private_segment_fixed_size", d.local_bytes);
  }
  size_t gfx = target.find("gfx");
  for (Description& k : found) {
    if (gfx != std::string::npos) k.target = "hip:" + target.substr(gfx, target.find(':', gfx) - gfx);
    k.num_ctas = 1;
    if (k.max_threads) take_bound(k, *k.max_threads, ".max_flat_workgroup_size");
    read_comments(text.substr(0, begin), k);
  }
  return found;
}

}  // namespace triton_runner::artifact
