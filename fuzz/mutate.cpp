// A small mutating driver for a fuzz target, for where libFuzzer is not: takes lines, words and bytes of the
// given files apart and puts them together wrongly.
//
//   fuzz_x SECONDS INPUTS SEED REPRODUCER FILE...   ends at either bound; REPRODUCER holds the input that
//                                                   ran last: a crash leaves it there
//   fuzz_x FILE                                     runs that file once
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Random = std::mt19937_64;

std::string read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int run(const std::string& input) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

size_t below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

// [begin, end) of the line, or of the run of name characters, around a random place.
std::pair<size_t, size_t> piece(const std::string& text, bool line, Random& random) {
  auto is_part = [&](char c) {
    return line ? c != '\n'
                : std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%' || c == '#';
  };
  size_t at = below(random, text.size()), begin = at, end = at;
  while (begin > 0 && is_part(text[begin - 1])) --begin;
  while (end < text.size() && is_part(text[end])) ++end;
  if (line && end < text.size()) ++end;
  return {begin, end};
}

void mutate(std::string& text, const std::string& other, Random& random) {
  static const char* kWords[] = {"0",
                                 "-1",
                                 "2147483648",
                                 "9223372036854775808",
                                 "0xFFFFFFFFFFFFFFFF",
                                 "1.0e400",
                                 "i1",
                                 "i64",
                                 "f8E4M3FN",
                                 "tensor<64x?xf32>",
                                 "tensor<1x",
                                 "%arg0",
                                 "{",
                                 "}",
                                 "(",
                                 ")",
                                 "<",
                                 ">",
                                 "\"",
                                 "loc(",
                                 "#loc",
                                 "dense<",
                                 "tt.call @f",
                                 "^bb0",
                                 "\x00",
                                 "\xff",
                                 "->",
                                 "array<i32:",
                                 "!tt.ptr<",
                                 "0 : i0"};
  if (text.empty()) text = "module {}";
  switch (below(random, 8)) {
    case 0:
      text.resize(below(random, text.size()));
      return;
    case 1:
      text[below(random, text.size())] = static_cast<char>(random());
      return;
    case 2: {
      auto [begin, end] = piece(text, true, random);
      text.erase(begin, end - begin);
      return;
    }
    case 3: {
      auto [begin, end] = piece(text, true, random);
      std::string line = text.substr(begin, end - begin);
      text.insert(piece(text, true, random).first, line);
      return;
    }
    case 4: {  // a line of another file
      if (other.empty()) return;
      auto [begin, end] = piece(other, true, random);
      text.insert(piece(text, true, random).first, other.substr(begin, end - begin));
      return;
    }
    case 5: {
      auto [begin, end] = piece(text, false, random);
      text.replace(begin, end - begin, kWords[below(random, std::size(kWords))]);
      return;
    }
    case 6: {  // one word becomes another of the same text: wrong types, wrong values, wrong ops
      auto [from, until] = piece(text, false, random);
      std::string word = text.substr(from, until - from);
      auto [begin, end] = piece(text, false, random);
      text.replace(begin, end - begin, word);
      return;
    }
    default: {
      auto [begin, end] = piece(text, false, random);
      text.erase(begin, end - begin);
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return run(read(argv[1]));
  if (argc < 6) {
    std::fputs("usage: fuzz_x SECONDS INPUTS SEED REPRODUCER FILE... | fuzz_x FILE\n", stderr);
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
    for (size_t n = 1 + below(random, 4); n > 0; --n)
      mutate(text, corpus[below(random, corpus.size())], random);
    std::ofstream(reproducer, std::ios::binary | std::ios::trunc) << text;
    run(text);
  }
  std::remove(reproducer);
  std::printf("%ld inputs\n", inputs);
  return inputs == 0;
}
