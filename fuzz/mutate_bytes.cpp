// Makes mutations of binaries: bits, words of 32 and 64 bits, pieces of another file, and damage of the
// whole.
#include <cstdint>
#include <cstring>

#include "mutate.h"

namespace triton_runner::fuzz {

void mutate(std::string& bytes, const std::string& other, Random& random) {
  if (bytes.size() < 8) return bytes.append(other.substr(0, 64)), void();
  const size_t at = below(random, bytes.size()), word = at / 4 * 4;
  const auto write = [&](uint64_t value, size_t size) {
    if (word + size <= bytes.size()) std::memcpy(bytes.data() + word, &value, size);
  };
  constexpr uint64_t kOdd[] = {0,          1,          0xff,         0x7fffffff,
                               0x80000000, 0xffffffff, ~uint64_t{0}, uint64_t{1} << 63};
  switch (random() % 9) {
    case 0:
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 2:
      write(random(), 4);
      break;
    case 3:
      write(kOdd[random() % 8], random() % 2 ? 4 : 8);
      break;
    case 4: {  // a number that is a little larger or smaller
      uint32_t value = 0;
      if (word + 4 <= bytes.size()) std::memcpy(&value, bytes.data() + word, 4);
      write(value + random() % 17 - 8, 4);
      break;
    }
    case 5: {  // words of another place, or of another file
      const std::string& from = random() % 2 ? bytes : other;
      const size_t source = below(random, from.size()) / 4 * 4, size = 4 * (1 + random() % 8);
      const std::string piece = from.substr(source, size);
      if (word + piece.size() <= bytes.size()) bytes.replace(word, piece.size(), piece);
      break;
    }
    case 6:
      bytes.resize(at);
      break;
    case 7:
      bytes.erase(word, 4 * (1 + random() % 4));
      break;
    default:
      bytes.insert(word, other.substr(below(random, other.size() + 1), 4 * (1 + random() % 4)));
  }
}

}  // namespace triton_runner::fuzz
