// Implements the reader of .debug_line: a program of small instructions, each of which moves an address and a
// line, and writes rows.
#include "lines.h"

#include <algorithm>

namespace triton_runner::amdgcn {
namespace {

using artifact::Bytes;

uint64_t unsigned_leb(Bytes& in) {
  uint64_t value = 0;
  for (uint32_t shift = 0; in.ok(); shift += 7) {
    const auto byte = in.take<uint8_t>();
    if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
    if (!(byte & 0x80)) break;
  }
  return value;
}

int64_t signed_leb(Bytes& in) {
  uint64_t value = 0;
  uint32_t shift = 0;
  uint8_t byte = 0x80;
  while (in.ok() && byte & 0x80) {
    byte = in.take<uint8_t>();
    if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
    shift += 7;
  }
  if (shift < 64 && byte & 0x40) value |= ~uint64_t{0} << shift;
  return static_cast<int64_t>(value);
}

std::string_view text_at(std::string_view section, uint64_t offset) {
  if (offset >= section.size()) return {};
  section.remove_prefix(offset);
  return section.substr(0, section.find('\0'));
}

// A text up to its zero.
std::string_view text_of(Bytes& in, std::string_view all) {
  const std::string_view text = text_at(all, in.position());
  in.take_bytes(text.size() + 1);
  return text;
}

struct Program {
  const artifact::Elf& elf;
  LineTable& out;
  std::vector<std::string> folders, files;

  static std::string joined(std::string_view folder, std::string_view name) {
    std::string path = folder.empty() || name.starts_with("/")
                           ? std::string(name)
                           : std::string(folder) + "/" + std::string(name);
    std::ranges::replace_if(
        path, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '"'; }, '?');
    return path;
  }
  std::string_view folder(uint64_t index) const {
    return index < folders.size() ? folders[index] : std::string_view();
  }

  void read_old_names(Bytes& in, std::string_view all) {
    folders.emplace_back();
    for (std::string_view text; in.ok() && !(text = text_of(in, all)).empty();) folders.emplace_back(text);
    files.emplace_back();
    for (std::string_view text; in.ok() && !(text = text_of(in, all)).empty();) {
      const uint64_t index = unsigned_leb(in);
      unsigned_leb(in), unsigned_leb(in);
      files.push_back(joined(folder(index), text));
    }
  }

  std::string_view section(std::string_view name) const {
    const artifact::Section* found = elf.section(name);
    return found ? found->content : std::string_view();
  }

  // One list of DWARF 5: what its entries have, then the entries.
  bool read_new_names(Bytes& in, std::string_view all, bool of_files) {
    constexpr uint64_t kPath = 1, kFolder = 2;
    std::vector<std::pair<uint64_t, uint64_t>> format(in.take<uint8_t>());
    for (auto& [what, form] : format) what = unsigned_leb(in), form = unsigned_leb(in);
    const uint64_t count = unsigned_leb(in);
    for (uint64_t k = 0; k < count && in.ok() && !format.empty(); ++k) {
      std::string_view name;
      uint64_t index = 0;
      for (const auto& [what, form] : format) {
        std::string_view text;
        uint64_t number = 0;
        switch (form) {
          case 0x08:
            text = text_of(in, all);
            break;
          case 0x1f:
            text = text_at(section(".debug_line_str"), in.take<uint32_t>());
            break;
          case 0x0e:
            text = text_at(section(".debug_str"), in.take<uint32_t>());
            break;
          case 0x0f:
            number = unsigned_leb(in);
            break;
          case 0x0b:
            number = in.take<uint8_t>();
            break;
          case 0x05:
            number = in.take<uint16_t>();
            break;
          case 0x06:
            number = in.take<uint32_t>();
            break;
          case 0x1e:
            in.take_bytes(16);
            break;
          default:
            return false;
        }
        if (what == kPath) name = text;
        if (what == kFolder) index = number;
      }
      if (of_files)
        files.push_back(joined(folder(index), name));
      else
        folders.emplace_back(name);
    }
    return in.ok();
  }

  // A unit, whose bytes follow its length.
  void read_unit(std::string_view all) {
    Bytes in(all);
    const auto version = in.take<uint16_t>();
    if (version < 2 || version > 5) return;
    if (version >= 5) in.take_bytes(2);
    const auto header = in.take<uint32_t>();
    const size_t start = in.position() + header;
    const auto step = in.take<uint8_t>();
    if (version >= 4) in.take<uint8_t>();
    in.take<uint8_t>();
    const auto line_base = in.take<int8_t>();
    const auto line_range = in.take<uint8_t>(), first_special = in.take<uint8_t>();
    if (line_range == 0 || first_special == 0) return;
    std::vector<uint8_t> lengths(first_special);
    for (size_t k = 1; k < lengths.size(); ++k) lengths[k] = in.take<uint8_t>();
    if (version < 5)
      read_old_names(in, all);
    else if (!read_new_names(in, all, false) || !read_new_names(in, all, true))
      return;
    if (start > all.size() || !in.ok()) return;
    const auto base = static_cast<uint32_t>(out.files.size());
    out.files.insert(out.files.end(), files.begin(), files.end());

    Bytes code(all.substr(start));
    SourceRow row{0, 1, 1, 0};
    const auto write = [&](bool ends) {
      if (row.file < files.size())
        out.rows.push_back({row.address, base + row.file, row.line, row.column, ends});
    };
    const auto advance = [&](uint32_t special) {
      row.address += uint64_t{step} * ((special - first_special) / line_range);
    };
    while (!code.done() && code.ok()) {
      const auto opcode = code.take<uint8_t>();
      if (opcode >= first_special) {
        advance(opcode);
        row.line += static_cast<uint32_t>(line_base + (opcode - first_special) % line_range);
        write(false);
      } else if (opcode == 0) {
        const uint64_t size = unsigned_leb(code);
        Bytes extended(code.take_bytes(size));
        const auto what = extended.take<uint8_t>();
        if (what == 1) {
          write(true);
          row = {0, 1, 1, 0};
        } else if (what == 2) {
          row.address = extended.take<uint64_t>();
        }
      } else if (opcode == 1) {
        write(false);
      } else if (opcode == 2) {
        row.address += step * unsigned_leb(code);
      } else if (opcode == 3) {
        row.line += static_cast<uint32_t>(signed_leb(code));
      } else if (opcode == 4) {
        row.file = static_cast<uint32_t>(unsigned_leb(code));
      } else if (opcode == 5) {
        row.column = static_cast<uint32_t>(unsigned_leb(code));
      } else if (opcode == 8) {
        advance(255);
      } else if (opcode == 9) {
        row.address += code.take<uint16_t>();
      } else {
        for (uint8_t k = 0; k < lengths[opcode]; ++k) unsigned_leb(code);
      }
    }
  }
};

}  // namespace

const SourceRow* LineTable::at(uint64_t address) const {
  const auto after = std::ranges::upper_bound(rows, address, {}, &SourceRow::address);
  if (after == rows.begin()) return nullptr;
  const SourceRow& row = *std::prev(after);
  return row.ends || row.line == 0 ? nullptr : &row;
}

LineTable read_lines(const artifact::Elf& elf) {
  LineTable out;
  const artifact::Section* section = elf.section(".debug_line");
  if (!section) return out;
  for (Bytes in(section->content); !in.done();) {
    const auto size = in.take<uint32_t>();
    if (size >= 0xfffffff0u) break;  // DWARF of 64 bits
    const std::string_view unit = in.take_bytes(size);
    if (!in.ok()) break;
    Program{elf, out, {}, {}}.read_unit(unit);
  }
  std::ranges::stable_sort(out.rows, {}, &SourceRow::address);
  return out;
}

}  // namespace triton_runner::amdgcn
