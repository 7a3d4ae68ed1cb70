// Runs a fuzz target without libFuzzer: mutated inputs for a bounded time, or given files once.
//
//   fuzz_x SECONDS INPUTS SEED REPRODUCER FILE...   ends at either bound; REPRODUCER holds the input that
//                                                   ran last: a crash leaves it there
//   fuzz_x FILE...                                  runs the files, each once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mutate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::string read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int run(const std::string& input) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

bool is_number(const char* text) {
  char* end = nullptr;
  std::strtod(text, &end);
  return *text && !*end;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace triton_runner::fuzz;
  if (argc >= 2 && !is_number(argv[1])) {
    for (int i = 1; i < argc; ++i) run(read(argv[i]));
    std::printf("%d inputs\n", argc - 1);
    return 0;
  }
  if (argc < 6) {
    std::fputs("usage: fuzz_x SECONDS INPUTS SEED REPRODUCER FILE... | fuzz_x FILE...\n", stderr);
    return 2;
  }
  const long most = std::strtol(argv[2], nullptr, 10);
  const char* reproducer = argv[4];
  std::vector<std::string> corpus;
  for (int i = 5; i < argc; ++i) corpus.push_back(read(argv[i]));
  Random random(std::strtoull(argv[3], nullptr, 10));
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::strtod(argv[1], nullptr));
  long inputs = 0;
  for (; inputs < most && std::chrono::steady_clock::now() < end; ++inputs) {
    std::string text = corpus[below(random, corpus.size())];
    std::ofstream(reproducer, std::ios::binary | std::ios::trunc) << text;  // mutating parses, too
    for (size_t n = 1 + below(random, 4); n > 0; --n)
      mutate(text, corpus[below(random, corpus.size())], random);
    std::ofstream(reproducer, std::ios::binary | std::ios::trunc) << text;
    run(text);
  }
  std::remove(reproducer);
  std::printf("%ld inputs\n", inputs);
  return inputs == 0;
}
