// Declares mutations of texts and binaries, shared by the driver for g++ and by libFuzzer.
#pragma once
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace triton_runner::fuzz {

using Random = std::mt19937_64;

// A part of a text, what is in it, and something in its place.
struct Span {
  size_t begin, end;
};
inline std::string cut(const std::string& text, Span s) { return text.substr(s.begin, s.end - s.begin); }
inline void put(std::string& text, Span s, std::string_view with) {
  text.replace(s.begin, s.end - s.begin, with);
}

inline size_t below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

// One change to `text`; `other` is another file of the corpus, to take pieces from.
void mutate(std::string& text, const std::string& other, Random& random);

// Changes words, lines and bytes: shapes, element types, constants, encodings, op names; and plain damage.
void mutate_text(std::string& text, const std::string& other, Random& random);

// Through the graph, so that most results are still valid: operands of the right type, ops that are left out,
// doubled, or come from `other`, attributes. False where the text does not parse or nothing fits.
bool mutate_graph(std::string& text, const std::string& other, Random& random);

// A number of the kind that breaks things.
std::string odd_number(Random& random);

}  // namespace triton_runner::fuzz
