// Files and places, each kept once.
#pragma once
#include <map>

#include <triton_runner/report/lines.h>

namespace triton_runner::report {

class Places {
 public:
  explicit Places(Lines& lines) : lines_(lines) {}

  int32_t file(std::string_view name) {
    const auto [at, is_new] =
        files_.try_emplace(std::string(name), static_cast<int32_t>(lines_.files.size()));
    if (is_new) lines_.files.emplace_back(name);
    return at->second;
  }
  // kNone for line 0, which compilers write where they do not know it.
  int32_t place(int32_t file, uint32_t line, uint32_t column, int32_t caller = kNone) {
    if (line == 0 || file == kNone) return kNone;
    const Place made{file, line, column, caller};
    const auto [at, is_new] = places_.try_emplace(made, static_cast<int32_t>(lines_.places.size()));
    if (is_new) lines_.places.push_back(made);
    return at->second;
  }

 private:
  Lines& lines_;
  std::map<std::string, int32_t, std::less<>> files_;
  std::map<Place, int32_t> places_;
};

// The readers of read_lines(), by what they read.
base::Status read_mlir(std::string_view text, Lines& into);
base::Status read_ptx(std::string_view text, Lines& into);
void read_llir(std::string_view text, Lines& into);
void read_amdgcn(std::string_view text, Lines& into);
void read_sass(std::string_view text, Lines& into);

}  // namespace triton_runner::report
