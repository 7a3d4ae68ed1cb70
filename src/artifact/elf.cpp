// Implements the ELF reader of elf.h.
#include <triton_runner/artifact/elf.h>

#include <algorithm>

namespace triton_runner::artifact {
namespace {

std::string_view text_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  table.remove_prefix(offset);
  return table.substr(0, table.find('\0'));
}

}  // namespace

const Section* Elf::section(std::string_view name) const {
  for (const Section& s : sections)
    if (s.name == name) return &s;
  return nullptr;
}

std::vector<Relocation> Elf::relocations(size_t index) const {
  constexpr uint32_t kWithAddend = 4, kPlain = 9;
  std::vector<Relocation> out;
  for (const Section& s : sections) {
    if ((s.type != kWithAddend && s.type != kPlain) || s.info != index) continue;
    for (Bytes entry(s.content); !entry.done();) {
      Relocation r;
      r.offset = entry.take<uint64_t>();
      r.type = entry.take<uint32_t>();
      r.symbol = entry.take<uint32_t>();
      if (s.type == kWithAddend) r.addend = entry.take<int64_t>();
      if (entry.ok() && r.symbol < symbols.size()) out.push_back(r);
    }
  }
  return out;
}

base::Result<Elf> read_elf(std::string_view bytes, const char* what, const std::string& filename) {
  auto bad = [&](std::string message) {
    base::Diagnostic d = base::failure(std::string("malformed ") + what + ": " + std::move(message));
    d.location.file = filename;
    return d;
  };
  if (!bytes.starts_with("\x7f"
                         "ELF")) {
    if (bytes.empty()) return bad("it is empty");
    auto d = bad("it does not begin with the ELF magic");
    const std::string_view start = bytes.substr(0, 64);
    if (std::all_of(start.begin(), start.end(),
                    [](unsigned char c) { return (c >= ' ' && c < 0x7f) || (c >= '\t' && c <= '\r'); }))
      d.notes.push_back("it looks like text: is it a ptx or amdgcn file?");
    return d;
  }
  Bytes header(bytes);
  header.take_bytes(4);
  uint8_t bits = header.take<uint8_t>(), order = header.take<uint8_t>();
  header.take_bytes(2);
  Elf elf;
  elf.abi_version = header.take<uint8_t>();
  header.take_bytes(7);
  header.take<uint16_t>();
  elf.machine = header.take<uint16_t>();
  header.take_bytes(4 + 8 + 8);
  uint64_t table = header.take<uint64_t>();
  elf.flags = header.take<uint32_t>();
  header.take_bytes(2 + 2 + 2);
  uint16_t entry_size = header.take<uint16_t>(), count = header.take<uint16_t>(),
           names_index = header.take<uint16_t>();
  if (!header.ok()) return bad("truncated in its header (" + std::to_string(bytes.size()) + " bytes)");
  if (bits != 2 || order != 1) return bad("not a 64-bit little-endian ELF");
  if (entry_size != 64) return bad("section headers of " + std::to_string(entry_size) + " bytes");
  if (table > bytes.size() || (bytes.size() - table) / 64 < count)
    return bad("truncated: its section table lies past the end (" + std::to_string(bytes.size()) + " bytes)");

  struct Raw {
    uint32_t name;
    uint32_t link;
    uint64_t size;
  };
  std::vector<Raw> raw;
  for (uint16_t i = 0; i < count; i++) {
    Bytes entry(bytes.substr(table + 64 * uint64_t{i}, 64));
    Section s;
    uint32_t name = entry.take<uint32_t>();
    s.type = entry.take<uint32_t>();
    s.flags = entry.take<uint64_t>();
    s.address = entry.take<uint64_t>();
    uint64_t offset = entry.take<uint64_t>();
    s.size = entry.take<uint64_t>();
    uint32_t link = entry.take<uint32_t>();
    s.link = link;
    s.info = entry.take<uint32_t>();
    s.align = entry.take<uint64_t>();
    // The second: debug information that the cubins of a fatbin share, which lies elsewhere.
    constexpr uint32_t kNoBits = 8, kCudaShared = 0x7000000a;
    if (s.type != kNoBits && s.type != kCudaShared && s.type != 0) {
      if (offset > bytes.size() || bytes.size() - offset < s.size)
        return bad("truncated: section " + std::to_string(i) + " lies past the end (" +
                   std::to_string(bytes.size()) + " bytes)");
      s.content = bytes.substr(offset, s.size);
    }
    raw.push_back({name, link, s.size});
    elf.sections.push_back(s);
  }
  if (names_index >= elf.sections.size()) return bad("it has no section names");
  for (size_t i = 0; i < raw.size(); i++)
    elf.sections[i].name = text_at(elf.sections[names_index].content, raw[i].name);

  constexpr uint32_t kSymbolTable = 2, kDynamicSymbols = 11;  // the second is left in a stripped file
  const bool is_stripped = std::none_of(elf.sections.begin(), elf.sections.end(),
                                        [](const Section& s) { return s.type == kSymbolTable; });
  for (size_t i = 0; i < raw.size(); i++) {
    const Section& s = elf.sections[i];
    if (s.type != (is_stripped ? kDynamicSymbols : kSymbolTable)) continue;
    if (raw[i].link >= elf.sections.size()) return bad("its symbols have no names");
    std::string_view names = elf.sections[raw[i].link].content;
    for (Bytes entry(s.content); !entry.done();) {
      uint32_t name = entry.take<uint32_t>();
      uint8_t kind = entry.take<uint8_t>();
      uint8_t other = entry.take<uint8_t>();
      uint16_t section = entry.take<uint16_t>();
      uint64_t value = entry.take<uint64_t>(), size = entry.take<uint64_t>();
      if (!entry.ok()) return bad("its symbol table is cut off");
      elf.symbols.push_back(
          {text_at(names, name), static_cast<uint8_t>(kind & 15), other, section, value, size});
    }
  }
  return elf;
}

}  // namespace triton_runner::artifact
