// Reads a kernel's parameters in constant bank 0, its own constants, its block: what an engine needs beside
// the code.
#include <triton_runner/artifact/cubin_kernel.h>
#include <triton_runner/base/try.h>

#include <algorithm>

#include <triton_runner/artifact/artifact.h>

#include "cubin_attributes.h"

namespace triton_runner::artifact {
namespace {

std::array<uint32_t, 3> axes_of(std::string_view payload) {
  Bytes in(payload);
  std::array<uint32_t, 3> axes{in.take<uint32_t>(), in.take<uint32_t>(), in.take<uint32_t>()};
  return in.ok() ? axes : std::array<uint32_t, 3>{};
}

bool read_layout(std::string_view content, CubinKernel& k) {
  return each_attribute(content, [&](uint8_t attribute, std::string_view payload, uint16_t) {
    Bytes in(payload);
    if (attribute == kParameter) {
      in.take<uint32_t>();
      const size_t number = in.take<uint16_t>();
      const uint32_t offset = in.take<uint16_t>(), bytes = in.take<uint32_t>() >> 18;
      if (!in.ok()) return;
      k.params.resize(std::max(k.params.size(), number + 1));
      k.params[number] = {offset, bytes};
    } else if (attribute == kParameterBank) {
      in.take<uint32_t>();
      k.param_base = in.take<uint16_t>();
    } else if (attribute == kRequiredThreads) {
      k.block = axes_of(payload);
    } else if (attribute == kCtasPerCluster) {
      k.cluster = axes_of(payload);
    }
  });
}

const Section* own_bank(const Elf& elf, const std::string& kernel, int bank) {
  const std::string name = ".nv.constant" + std::to_string(bank);
  const Section* own = elf.section(name + "." + kernel);
  return own ? own : elf.section(name);
}

constexpr uint8_t kObject = 1;  // a symbol that is a variable

void read_constants(const Elf& elf, CubinKernel& k) {
  const Section* shared = elf.section(".nv.constant3");
  if (!shared || own_bank(elf, k.name, 3) != shared) return;
  for (const Symbol& s : elf.symbols) {
    if (s.type != kObject || s.section >= elf.sections.size() || &elf.sections[s.section] != shared) continue;
    if (s.size > 0 && s.value <= shared->size && s.size <= shared->size - s.value)
      k.constants.push_back({std::string(s.name), s.value, s.size});
  }
}

// The variables of the sections that hold global memory, each a symbol.
void read_variables(const Elf& elf, CubinKernel& k) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  for (const Symbol& s : elf.symbols) {
    if (s.type != kObject || s.section >= elf.sections.size()) continue;
    const Section& section = elf.sections[s.section];
    if (section.name != ".nv.global.init" && section.name != ".nv.global") continue;
    if (s.size == 0 || s.size > kMost || s.value > section.size || section.size - s.value < s.size) continue;
    CubinKernel::Variable& v = k.variables.emplace_back();
    v.name = std::string(s.name);
    v.align = std::clamp<uint64_t>(section.align, 1, 4096);
    v.bytes.resize(s.size);
    if (s.value < section.content.size()) {
      const std::string_view from = section.content.substr(s.value, s.size);
      std::copy(from.begin(), from.end(), v.bytes.begin());
    }
  }
}

void read_pointers(const Elf& elf, CubinKernel& k) {
  const Section* text = elf.section(".text." + k.name);
  auto add = [&](const Relocation& r, CubinKernel::Pointer p, uint64_t offset, const std::string& bytes) {
    if (offset > bytes.size() || bytes.size() - offset < 8) return;
    const Symbol& s = elf.symbols[r.symbol];
    p.offset = offset;
    p.symbol = std::string(s.name);
    p.is_code = text && s.section < elf.sections.size() && &elf.sections[s.section] == text;
    p.value = static_cast<uint64_t>(r.addend) + (p.is_code ? s.value : 0);
    k.pointers.push_back(std::move(p));
  };
  for (size_t i = 0; i < elf.sections.size(); ++i) {
    const Section& section = elf.sections[i];
    for (const auto& [bank, bytes] : k.banks) {
      if (&section != own_bank(elf, k.name, bank)) continue;
      for (const Relocation& r : elf.relocations(i)) add(r, {.bank = bank}, r.offset, bytes);
    }
    if (section.name != ".nv.global.init") continue;
    for (const Relocation& r : elf.relocations(i))
      for (const Symbol& s : elf.symbols)
        for (size_t v = 0; s.section == i && v < k.variables.size(); ++v)
          if (s.name == k.variables[v].name && r.offset >= s.value && r.offset - s.value < s.size)
            add(r, {.variable = v}, r.offset - s.value, k.variables[v].bytes);
  }
}

// Code that is to be linked (nvcc -rdc=true) names functions of other sections of the same file.
std::string function_outside(const Elf& elf, const std::string& kernel) {
  constexpr uint8_t kFunction = 2;
  for (size_t i = 0; i < elf.sections.size(); ++i) {
    if (elf.sections[i].name != ".text." + kernel) continue;
    for (const Relocation& r : elf.relocations(i)) {
      const Symbol& s = elf.symbols[r.symbol];
      if (s.type == kFunction && s.section != 0 && s.section != i) return std::string(s.name);
    }
  }
  return "";
}

}  // namespace

base::Result<CubinKernel> read_cubin_kernel(std::string_view bytes, std::string_view name,
                                            const std::string& filename) {
  auto described = TRY(describe(bytes, "cubin", name, "", filename));
  auto elf = TRY(read_elf(bytes, "cubin", filename));
  CubinKernel k;
  k.name = described.name;
  if (described.target.starts_with("cuda:")) k.capability = std::stoi(described.target.substr(5));
  k.shared_bytes = static_cast<uint32_t>(described.static_shared.value_or(0));
  k.local_bytes = static_cast<uint32_t>(described.local_bytes.value_or(0));
  if (const Section* info = elf.section(".nv.info." + k.name); info && !read_layout(info->content, k)) {
    base::Diagnostic d = base::failure("malformed cubin: its .nv.info." + k.name + " is cut off");
    d.location.file = filename;
    return d;
  }
  for (int bank = 1; bank < 8; ++bank)
    if (const Section* own = own_bank(elf, k.name, bank)) k.banks[bank] = std::string(own->content);
  read_variables(elf, k);
  read_constants(elf, k);
  read_pointers(elf, k);
  k.outside = function_outside(elf, k.name);
  return k;
}

}  // namespace triton_runner::artifact
