// Walks through texts of artifacts: words, numbers, lines without their comments, and errors with their place.
#include "text.h"

#include <algorithm>

#include <triton_runner/base/result.h>

namespace triton_runner::artifact {

std::string without_comments(std::string_view text, std::string_view line_comment) {
  std::string out(text);
  for (size_t i = 0; i < out.size();) {
    if (out[i] == '"') {
      const size_t end = out.find('"', i + 1);
      i = end == std::string::npos ? out.size() : end + 1;
    } else if (out.compare(i, line_comment.size(), line_comment) == 0) {
      const size_t end = std::min(out.find('\n', i), out.size());
      std::fill(out.data() + i, out.data() + end, ' ');
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

int to_int(std::string_view digits, int otherwise) {
  if (digits.empty() || digits.size() > 9) return otherwise;
  int value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return otherwise;
    value = value * 10 + (c - '0');
  }
  return value;
}

base::Diagnostic text_error(std::string_view text, size_t at, const std::string& filename,
                            std::string message) {
  base::Diagnostic d = base::failure(std::move(message));
  d.location = base::locate(text, at, filename);
  d.source_line = base::line_at(text, at);
  return d;
}

}  // namespace triton_runner::artifact
