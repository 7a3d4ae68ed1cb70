// Reads the rows of LLIR and AMD assembly line by line, and those of machine code from the listing of
// nvdisasm.
#include <cctype>
#include <charconv>
#include <cstdio>
#include <unordered_map>

#include <triton_runner/base/try.h>
#include <triton_runner/sass/text.h>

#include <triton_runner/base/text.h>

#include "readers.h"

namespace triton_runner::report {
namespace {

using base::trimmed;

std::string_view next_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

std::string_view word(std::string_view& rest) {
  rest = trimmed(rest);
  const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(end);
  return out;
}

uint32_t number(std::string_view text) {
  uint32_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// Returns what stands after `key` ("line: ") in the fields of a metadata node; empty where it is not there.
std::string_view behind(std::string_view fields, std::string_view key) {
  const size_t at = fields.find(key);
  return at == std::string_view::npos ? std::string_view() : fields.substr(at + key.size());
}

// "!12" gives 12, anything else nothing.
uint32_t node(std::string_view text) { return text.starts_with('!') ? number(text.substr(1)) : UINT32_MAX; }

std::string_view quoted(std::string_view text) {
  if (!text.starts_with('"')) return {};
  return text.substr(1, text.find('"', 1) - 1);
}

std::string joined(std::string_view directory, std::string_view name) {
  if (directory.empty() || name.starts_with('/')) return std::string(name);
  return std::string(directory) + "/" + std::string(name);
}

// The nodes of LLIR's debug information that lead from an instruction to its source.
class DebugNodes {
 public:
  DebugNodes(std::string_view text, Places& places) : places_(places) {
    while (!text.empty()) {
      const std::string_view line = next_line(text);
      if (!line.starts_with('!')) continue;
      const size_t equals = line.find(" = ");
      if (equals == std::string_view::npos) continue;
      const std::string_view fields = line.substr(equals + 3);
      if (fields.find("!DI") != std::string_view::npos) nodes_[node(line)] = fields;
    }
  }

  int32_t place(uint32_t location) {
    if (const auto known = known_.find(location); known != known_.end()) return known->second;
    known_[location] = kNone;  // a circle ends here
    const auto at = nodes_.find(location);
    if (at == nodes_.end()) return kNone;
    const std::string_view fields = at->second;
    if (!fields.starts_with("!DILocation(") && !fields.starts_with("distinct !DILocation(")) return kNone;
    const std::string_view inlined = behind(fields, "inlinedAt: ");
    const int32_t caller = inlined.empty() ? kNone : place(node(inlined));
    const int32_t made =
        places_.place(file_of(node(behind(fields, "scope: ")), 0), number(behind(fields, "line: ")),
                      number(behind(fields, "column: ")), caller);
    return known_[location] = made;
  }

 private:
  // The file of a scope: its own, or that of the scope around it.
  int32_t file_of(uint32_t scope, int depth) {
    const auto at = nodes_.find(scope);
    if (at == nodes_.end() || depth > 64) return kNone;
    const std::string_view fields = at->second;
    if (const std::string_view name = behind(fields, "filename: "); !name.empty())
      return places_.file(joined(quoted(behind(fields, "directory: ")), quoted(name)));
    const std::string_view file = behind(fields, "file: ");
    return file_of(node(file.empty() ? behind(fields, "scope: ") : file), depth + 1);
  }

  Places& places_;
  std::unordered_map<uint32_t, std::string_view> nodes_;
  std::unordered_map<uint32_t, int32_t> known_;
};

// "%5 = tail call float @f(...)" gives call, "store i32 %x" store.
std::string llvm_op(std::string_view line) {
  std::string_view rest = trimmed(line);
  if (rest.starts_with('%'))
    if (const size_t equals = rest.find(" = "); equals != std::string_view::npos)
      rest.remove_prefix(equals + 3);
  std::string_view op = word(rest);
  while (op == "tail" || op == "musttail" || op == "notail") op = word(rest);
  return std::string(op);
}

}  // namespace

void read_llir(std::string_view text, Level& into, Places& places) {
  DebugNodes nodes(text, places);
  bool inside = false;
  for (uint32_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (line.starts_with("define ")) inside = true;
    if (line.starts_with("}")) inside = false;
    if (!inside || !line.starts_with("  ") || line.starts_with("   ")) continue;  // deeper: a switch's cases
    const std::string_view body = trimmed(line);
    if (body.starts_with(";") || body.starts_with("]")) continue;
    Row row{number, llvm_op(line), {}};
    if (const size_t at = line.rfind("!dbg !"); at != std::string_view::npos)
      if (const int32_t place = nodes.place(node(line.substr(at + 5))); place != kNone) row.places = {place};
    into.rows.push_back(std::move(row));
  }
}

namespace {

// Reads what .file and .loc say in AMD assembly, as LLVM writes it. Call sites are in the comment after .loc
// only: "; a.py:14:28 @[ a.py:45:31 @[ b.py:3:1 ] ]".
class AmdPlaces {
 public:
  explicit AmdPlaces(Places& places) : places_(places) {}

  void file(std::string_view fields) {
    const uint32_t id = number(word(fields));
    fields = trimmed(fields);
    const std::string_view first = quoted(fields);
    std::string_view rest = trimmed(fields.substr(std::min(fields.size(), first.size() + 2)));
    const std::string_view second = quoted(rest);
    const std::string name = second.empty() ? std::string(first) : joined(first, second);
    files_[id] = places_.file(name);
    by_name_.try_emplace(std::string(second.empty() ? first : second), files_[id]);
  }

  int32_t loc(std::string_view fields) {
    const uint32_t file = number(word(fields)), line = number(word(fields)), column = number(word(fields));
    int32_t caller = kNone;
    std::vector<std::string_view> frames;
    while (true) {
      const size_t at = fields.find("@[ ");
      if (at == std::string_view::npos) break;
      fields.remove_prefix(at + 3);
      frames.push_back(fields.substr(0, fields.find(' ')));
    }
    for (size_t i = frames.size(); i-- > 0;) caller = called_at(frames[i], caller);
    const auto known = files_.find(file);
    return known == files_.end() ? kNone : places_.place(known->second, line, column, caller);
  }

 private:
  int32_t called_at(std::string_view frame, int32_t caller) {  // "a.py:45:31"
    const size_t last = frame.rfind(':');
    const size_t first = last == std::string_view::npos ? last : frame.rfind(':', last - 1);
    if (first == std::string_view::npos) return caller;
    const auto file = by_name_.find(frame.substr(0, first));
    if (file == by_name_.end()) return caller;
    return places_.place(file->second, number(frame.substr(first + 1)), number(frame.substr(last + 1)),
                         caller);
  }

  Places& places_;
  std::unordered_map<uint32_t, int32_t> files_;
  std::map<std::string, int32_t, std::less<>> by_name_;
};

}  // namespace

void read_amdgcn(std::string_view text, Level& into, Places& places) {
  AmdPlaces amd(places);
  // .file directives may stand after the first .loc that names them.
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = trimmed(next_line(rest));
    if (line.starts_with(".file\t") && line.size() > 6 && std::isdigit(static_cast<unsigned char>(line[6])))
      amd.file(line.substr(6));
  }
  int32_t place = kNone;
  bool inside = false;  // of code: sections of data follow it
  for (uint32_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    const std::string_view body = trimmed(line);
    if (body.starts_with(".text")) inside = true;
    if (body.starts_with(".section")) inside = false;
    if (body.starts_with(".loc\t")) place = amd.loc(body.substr(5));
    if (!inside || !line.starts_with('\t') || body.empty() ||
        !std::islower(static_cast<unsigned char>(body[0])))
      continue;
    std::string_view rest = body;
    Row row{number, std::string(word(rest)), {}};
    if (place != kNone) row.places = {place};
    into.rows.push_back(std::move(row));
  }
}

base::Status read_sass(std::string_view text, Level& into, Places& places) {
  auto module = TRY(sass::parse(std::string(text)));
  uint32_t line_number = 0;
  auto keep = [&](std::string_view line) {
    into.text.append(line).push_back('\n');
    ++line_number;
  };
  for (const sass::Function& f : module->functions()) {
    if (line_number) keep("");
    keep(".text." + std::string(f.name) + ":");
    for (const sass::Instruction& in : f.body) {
      for (const std::string_view label : in.labels) keep(std::string(label) + ":");
      char address[32];
      std::snprintf(address, sizeof address, "/*%04llx*/  ", static_cast<unsigned long long>(in.address));
      keep(address + std::string(module->text().substr(in.offset, in.length)) + ";");
      int32_t place = kNone;
      for (size_t i = in.places.size(); i-- > 0;)
        place = places.place(places.file(in.places[i].file), in.places[i].line, 0, place);
      Row row{line_number, std::string(in.spelling), {}, in.ptx_line};
      if (place != kNone) row.places = {place};
      into.rows.push_back(std::move(row));
    }
  }
  return base::success();
}

}  // namespace triton_runner::report
