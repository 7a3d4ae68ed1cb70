// Runs the registered tests, or those whose name contains an argument; the last line says how many passed.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <vector>

#include "test.h"

namespace triton_runner::unit {
namespace {

struct Test {
  const char* name;
  void (*body)();
};
std::vector<Test>& tests() {
  static std::vector<Test> list;
  return list;
}
std::mutex failures_mutex;  // CHECK may run on the threads of a task pool
int failures = 0;

}  // namespace

Registration::Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }

void record_failure(const char* file, int line, const std::string& what) {
  std::lock_guard lock(failures_mutex);
  ++failures;
  std::printf("%s:%d: failed: %s\n", file, line, what.c_str());
}

}  // namespace triton_runner::unit

int main(int argc, char** argv) {
  using namespace triton_runner::unit;
  int passed = 0, failed = 0;
  for (const Test& test : tests()) {
    bool wanted = argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* part) {
                    return std::strstr(test.name, part) != nullptr;
                  });
    if (!wanted) continue;
    failures = 0;
    try {
      test.body();
    } catch (const std::exception& error) {
      record_failure(test.name, 0, std::string("threw ") + error.what());
    }
    (failures == 0 ? passed : failed) += 1;
    if (failures != 0) std::printf("FAILED %s\n", test.name);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0 || passed == 0;
}
