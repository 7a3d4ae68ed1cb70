// Declares diagnostics: what went wrong with what the user gave us, where, and what to do about it.
//
// Bad input is reported as Diagnostics in a sink that the caller owns; nothing here prints, throws or exits.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace triton_runner::base {

enum class Severity { kError, kWarning, kNote };

// A place in a text: 1-based line and column (in bytes); 0 where it is not known.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  // "file:line:column", shortened to what is known.
  std::string str() const;
};

// Whether a source file is of the language itself, as those of tl.sum and tl.zeros: a person looks at its call.
bool is_of_language(std::string_view file);

struct Diagnostic {
  Severity severity = Severity::kError;
  Location location;
  std::string message;
  std::vector<std::string> notes;  // "what to do next", nearest names, what was expected
  std::string source_line;         // the text of the line, for the caret; empty if not known
  // file:line:column: error: message, the line with a caret under the column, then the notes.
  std::string str() const;
};

// The caller-owned collection that parsers report into; several diagnostics a run are normal.
class Diagnostics {
 public:
  void add(Diagnostic d) { list_.push_back(std::move(d)); }
  void error(Location where, std::string message, std::vector<std::string> notes = {});
  bool has_errors() const;
  const std::vector<Diagnostic>& list() const { return list_; }
  std::string str() const;  // all of them, one after the other
  // The first, with places and messages of the next seven as notes. There must be one.
  Diagnostic summary() const;

 private:
  std::vector<Diagnostic> list_;
};

// The position in `text` of the byte `offset`; also the text of that line.
Location locate(std::string_view text, size_t offset, std::string_view file);
std::string_view line_at(std::string_view text, size_t offset);

// The names near `wanted`, best first, at most `limit`: for "did you mean" notes. A name is near when a third
// of its letters at most are others, or when `wanted` is a part of it.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       size_t limit = 3);

// Names an option in a message as its reader gives it: option("device", "cpu") is `device="cpu"`, or
// `--device cpu` while name_options() has told what the command line that runs calls it. `code`: the value in
// C++ and Python, where it is not a text.
std::string option(const std::string& keyword, const std::string& value = {}, const std::string& code = {});
void name_options(std::map<std::string, std::string> by_keyword);

}  // namespace triton_runner::base
