// Lines finds the line and column of an offset in a text that is asked for many of them: it keeps where each
// line starts. For a single place there is base::locate().
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include <triton_runner/base/diagnostic.h>

namespace triton_runner::base {

// The starts of the lines of one text; found when somebody first asks for a place.
class Lines {
 public:
  // Returns the same as base::locate().
  Location locate(std::string_view text, size_t offset, std::string_view file) const {
    std::call_once(once_, [&] {
      starts_.push_back(0);
      for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
        starts_.push_back(static_cast<uint32_t>(at + 1));
    });
    offset = std::min(offset, text.size());
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
    return {std::string(file), static_cast<int>(next - starts_.begin()),
            static_cast<int>(offset - next[-1]) + 1};
  }
  // An error at a place.
  Diagnostic diagnostic(std::string_view text, size_t offset, std::string_view file, std::string message,
                        std::vector<std::string> notes) const {
    return {Severity::kError, locate(text, offset, file), std::move(message), std::move(notes),
            std::string(line_at(text, offset))};
  }

 private:
  mutable std::once_flag once_;
  mutable std::vector<uint32_t> starts_;
};

// A text whose places are asked for by their offset.
class LinedText {
 public:
  virtual ~LinedText() = default;
  virtual std::string_view text() const = 0;
  virtual const std::string& filename() const = 0;
  Location location(uint32_t offset) const { return lines_.locate(text(), offset, filename()); }
  Diagnostic diagnostic(uint32_t offset, std::string message, std::vector<std::string> notes = {}) const {
    return lines_.diagnostic(text(), offset, filename(), std::move(message), std::move(notes));
  }

 private:
  Lines lines_;
};

}  // namespace triton_runner::base
