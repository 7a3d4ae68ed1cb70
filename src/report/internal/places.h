// Places keeps the files and places of a kernel's source, each once for all levels.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace triton_runner::report {

constexpr int32_t kNone = -1;

struct Place {
  int32_t file;  // number of Places::files()
  uint32_t line, column;
  int32_t caller = kNone;  // the number of the place that this was inlined into
  bool operator==(const Place&) const = default;
};

class Places {
 public:
  // Callers stand before those whom they call.
  const std::vector<Place>& all() const { return places_; }
  const std::vector<std::string>& files() const { return files_; }

  int32_t file(std::string_view name) {
    const auto [at, is_new] = of_file_.try_emplace(std::string(name), static_cast<int32_t>(files_.size()));
    if (is_new) files_.emplace_back(name);
    return at->second;
  }
  // kNone for line 0, which compilers write where they do not know it.
  int32_t place(int32_t file, uint32_t line, uint32_t column, int32_t caller = kNone) {
    if (line == 0 || file == kNone) return kNone;
    const Place made{file, line, column, caller};
    const auto [at, is_new] = of_place_.try_emplace(made, static_cast<int32_t>(places_.size()));
    if (is_new) places_.push_back(made);
    return at->second;
  }

 private:
  struct Hash {
    size_t operator()(const Place& p) const {
      uint64_t out = static_cast<uint32_t>(p.file);
      for (uint32_t part : {p.line, p.column, static_cast<uint32_t>(p.caller)})
        out = (out ^ part) * 0x9e3779b97f4a7c15u;
      return out ^ out >> 32;
    }
  };
  std::vector<std::string> files_;
  std::vector<Place> places_;
  std::map<std::string, int32_t, std::less<>> of_file_;
  std::unordered_map<Place, int32_t, Hash> of_place_;
};

}  // namespace triton_runner::report
