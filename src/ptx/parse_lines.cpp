// Finds the places in the source: .file, .loc, and the strings of .debug_str that .loc names functions by.
// Files and strings stand after the code, so that lines are finished when all is read. See PTX ISA 11.5.
#include "parser.h"

namespace triton_runner::ptx {
namespace {

constexpr int kDeepestInlining = 64;  // calls in each other that a line tells of

int inlining(const SourceLine* line) {
  int depth = 0;
  for (; line; line = line->inlined_at) ++depth;
  return depth;
}

}  // namespace

const SourceLine* SourceLine::place() const {
  for (const SourceLine* at = this; at; at = at->inlined_at)
    if (at->line && !base::is_of_language(at->file)) return at;
  return this;
}

// .file 1 "name" [, timestamp, size]
bool Parser::parse_file() {
  uint64_t index;
  std::string_view name;
  if (!unsigned_integer(&index, "the number of a file") || !string(&name)) return false;
  skip();
  if (*p_ == '"') {  // DWARF 5: directory and name
    std::string_view directory = name;
    if (!string(&name)) return false;
    name = arena_.text(std::string(directory) + "/" + std::string(name));
  }
  files_[static_cast<uint32_t>(index)] = name;
  while (take(',')) {
    uint64_t ignored;
    if (!unsigned_integer(&ignored, "a number")) return false;
  }
  return true;
}

// .loc file line column [, function_name label [+ n], inlined_at file line column]
bool Parser::parse_loc() {
  const bool counts_on = in_assembly_;  // the next comment may follow its numbers
  uint64_t where[3], outer[3];
  for (uint64_t& n : where)
    if (!unsigned_integer(&n, "a number of .loc")) return false;
  SourceLine* line = arena_.make<SourceLine>();
  line->line = static_cast<uint32_t>(where[1]);
  line->column = static_cast<uint32_t>(where[2]);
  Line pending{line, static_cast<uint32_t>(where[0]), {}};
  const auto key = [](const uint64_t (&n)[3]) { return n[0] << 48 ^ n[1] << 16 ^ n[2]; };
  while (take(',')) {
    const uint32_t at = next_at();
    const std::string_view what = identifier();
    if (what == "function_name") {
      skip();
      pending.function = identifier();
      if (pending.function.empty()) return fail_here("a label");
      if (take('+')) {
        uint64_t ignored;
        if (!unsigned_integer(&ignored, "an offset")) return false;
      }
    } else if (what == "inlined_at") {
      for (uint64_t& n : outer)
        if (!unsigned_integer(&n, "a number of inlined_at")) return false;
      if (auto found = line_index_.find(key(outer)); found != line_index_.end()) {
        if (inlining(found->second) < kDeepestInlining) line->inlined_at = found->second;
      } else {
        SourceLine* caller = arena_.make<SourceLine>();
        caller->line = static_cast<uint32_t>(outer[1]);
        caller->column = static_cast<uint32_t>(outer[2]);
        lines_.push_back({caller, static_cast<uint32_t>(outer[0]), {}});
        line_index_[key(outer)] = caller;
        line->inlined_at = caller;
      }
    } else {
      return fail(at, "expected function_name or inlined_at");
    }
  }
  lines_.push_back(pending);
  line_index_[key(where)] = line;
  // LLVM counts the lines of inline assembly on from that of its statement: they are no lines of the source.
  if (!counts_on || !source_) source_ = line;
  return true;
}

// .section name { ... }: only .debug_str is looked into.
bool Parser::parse_section() {
  const uint32_t at = next_at();
  if (*p_ == '.') ++p_;
  const std::string_view name = identifier();
  if (name.empty()) return fail(at, "expected the name of a section");
  skip();
  if (*p_ != '{') return fail_here("'{' after the name of a section");
  return name == "debug_str" ? parse_strings() : skip_braces();
}

// label: .b8 116 .b8 0 ...
bool Parser::parse_strings() {
  const uint32_t at = here();
  ++p_;
  std::vector<std::pair<std::string_view, size_t>> labels;
  std::string bytes;
  while (true) {
    skip();
    if (p_ == end_) return fail(at, "this '{' has no '}'");
    if (*p_ == '}') break;
    if (*p_ == '.') {
      ++p_;
      identifier();
      do {
        skip();
        if ((*p_ < '0' || *p_ > '9') && *p_ != '-') {  // an address
          if (*p_ == '.') ++p_;
          if (identifier().empty()) return fail_here("a value");
          continue;
        }
        Operand value;
        if (!constant(&value)) return false;
        bytes += static_cast<char>(value.integer);
      } while (take(','));
    } else {
      const std::string_view label = identifier();
      if (label.empty() || !take(':')) return fail_here("a label or a value of .debug_str");
      labels.emplace_back(label, bytes.size());
    }
  }
  ++p_;
  const std::string_view kept = arena_.text(bytes);
  for (const auto& [label, offset] : labels)
    if (offset < kept.size()) strings_[label] = kept.substr(offset, kept.find('\0', offset) - offset);
  return true;
}

void Parser::finish_lines() {
  for (const Line& line : lines_) {
    if (auto file = files_.find(line.file); file != files_.end()) line.line->file = file->second;
    if (auto name = strings_.find(line.function); name != strings_.end()) line.line->function = name->second;
  }
}

}  // namespace triton_runner::ptx
