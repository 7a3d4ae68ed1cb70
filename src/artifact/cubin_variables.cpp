// Implements with_variables(): the initial values of a cubin's variables are other ones.
#include <triton_runner/artifact/cubin_kernel.h>
#include <triton_runner/base/try.h>

#include <algorithm>
#include <cstring>

#include <triton_runner/artifact/elf.h>

namespace triton_runner::artifact {

base::Result<std::string> with_variables(std::string cubin,
                                         const std::map<std::string, std::string, std::less<>>& variables,
                                         const std::string& filename) {
  const std::string before = cubin;  // what the sections below are views of
  const Elf elf = TRY(read_elf(before, "cubin", filename));
  std::map<size_t, size_t> places;  // of sections in the cubin
  const auto place_of = [&](size_t index) {
    const Section& section = elf.sections[index];
    const auto [at, is_new] = places.try_emplace(index);
    if (!is_new) return at->second;
    if (section.content.size() == section.size)
      return at->second = static_cast<size_t>(section.content.data() - before.data());
    const size_t align = std::clamp<size_t>(section.align, 1, 4096);
    at->second = (cubin.size() + align - 1) / align * align;
    cubin.resize(at->second + section.size);
    uint64_t headers = 0;
    std::memcpy(&headers, cubin.data() + 40, 8);
    char* header = cubin.data() + headers + 64 * index;
    constexpr uint32_t kProgramBits = 1;
    const uint64_t offset = at->second;
    std::memcpy(header + 4, &kProgramBits, 4), std::memcpy(header + 24, &offset, 8);
    return at->second;
  };
  for (const Symbol& s : elf.symbols) {
    const auto it = variables.find(s.name);
    if (it == variables.end() || s.section >= elf.sections.size()) continue;
    const Section& section = elf.sections[s.section];
    const std::string& bytes = it->second;
    if (section.name != ".nv.global" && section.name != ".nv.global.init" && section.name != ".nv.constant3")
      continue;
    if (bytes.size() != s.size || s.value > section.size || section.size - s.value < s.size) continue;
    const bool is_zero = bytes.find_first_not_of('\0') == std::string::npos;
    if (section.content.size() != section.size && is_zero) continue;  // as it is
    const size_t at = place_of(s.section);                            // before the copy: the cubin grows
    std::memcpy(cubin.data() + at + s.value, bytes.data(), bytes.size());
  }
  return cubin;
}

}  // namespace triton_runner::artifact
