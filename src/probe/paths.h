// Files as people name them: by the end of their path.
#pragma once
#include <string_view>

namespace triton_runner::probe {

inline bool ends_in(std::string_view path, std::string_view file) {
  return path == file || (path.ends_with(file) && path[path.size() - file.size() - 1] == '/');
}

}  // namespace triton_runner::probe
