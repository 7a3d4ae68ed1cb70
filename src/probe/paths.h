// Compares files as people name them, by the end of their path; takes "kernel.py:12" apart; and notes the
// place of a site.
#pragma once
#include <string>
#include <string_view>

#include <triton_runner/probe/recording.h>

namespace triton_runner::probe {

inline bool ends_in(std::string_view path, std::string_view file) {
  return path == file || (path.ends_with(file) && path[path.size() - file.size() - 1] == '/');
}

// "kernel.py:42": the end of the file's path, and the line. False: it is not of that form.
inline bool split_line(std::string_view text, std::string_view& file, int& line) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  line = 0;
  for (char c : text.substr(colon + 1)) {
    if (c < '0' || c > '9' || line > 100'000'000) return false;
    line = line * 10 + (c - '0');
  }
  file = text.substr(0, colon);
  return true;
}

// A line of the Python source, of whatever type, as the place of a site.
template <class Line>
void set_place(Site& site, const Line& at) {
  site.file = at.file;
  site.line = static_cast<int>(at.line);
  site.column = static_cast<int>(at.column);
}

// The same as the next one of its whole place: callers after callees.
template <class Line>
void add_to_stack(Site& site, const Line& at) {
  site.stack += (site.stack.empty() ? "" : " < ") + std::string(at.file.substr(at.file.rfind('/') + 1)) +
                ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

}  // namespace triton_runner::probe
