// Drivers of tests/gpu/fake_*.cpp share this: settings from the environment, and the log that they write.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fake_driver {

inline std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// "a=1,b=2" or "1,2"
template <class Take>
void each(const std::string& list, Take take) {
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) {
    size_t equals = item.find('=');
    take(item.substr(0, equals), equals == std::string::npos ? "" : item.substr(equals + 1));
  }
}

// A JSON list: print(item) writes one of them.
template <class Items, class Print>
void write_list(FILE* out, const char* name, const Items& items, Print print) {
  std::fprintf(out, "\"%s\": [", name);
  const char* comma = "";
  for (const auto& item : items) {
    std::fputs(std::exchange(comma, ", "), out);
    print(item);
  }
  std::fputs("]", out);
}

// The bytes of a launch's parameters, as hexadecimal texts.
inline void write_params(FILE* out, const std::vector<std::vector<unsigned char>>& params) {
  write_list(out, "params", params, [out](const std::vector<unsigned char>& bytes) {
    std::fputs("\"", out);
    for (unsigned char byte : bytes) std::fprintf(out, "%02x", byte);
    std::fputs("\"", out);
  });
}

inline void write_calls(FILE* out, const std::vector<std::string>& calls) {
  write_list(out, "calls", calls,
             [out](const std::string& call) { std::fprintf(out, "\"%s\"", call.c_str()); });
}

}  // namespace fake_driver
