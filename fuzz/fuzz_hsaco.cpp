// Any bytes as a code object, and as the machine code of each chip: they end in a text or in an error with its place, nothing is read
// past their end, and a text that was decoded is one that the parser takes.
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <triton_runner/amdgcn/code_object.h>
#include <triton_runner/amdgcn/decode.h>
#include <triton_runner/amdgcn/text.h>

#include "launch.h"

using namespace triton_runner;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto text = amdgcn::listing(bytes, "fuzz.hsaco")) {
    auto module = amdgcn::parse(*text, "fuzz.hsaco");
    const std::string why = module.ok() ? "" : module.error().str();
    const bool may_refuse = why.find("no instructions") != std::string::npos ||
                            why.find("is to be a number from") != std::string::npos;  // of its metadata
    fuzz::require(module.ok() || may_refuse, "what was decoded is not read: " + why);
  } else {
    fuzz::require(!text.error().str().empty(), "refused without a word");
  }
  constexpr size_t kMost = 256;  // words
  std::vector<uint32_t> words(std::min(size / 4, kMost));
  if (!words.empty()) std::memcpy(words.data(), data + size - words.size() * 4, words.size() * 4);
  for (size_t chip = 0; chip < amdgcn::kChips; ++chip)
    for (size_t at = 0; at < words.size();) {
      const auto rest = std::span<const uint32_t>(words).subspan(at);
      const amdgcn::Decoded done = amdgcn::decode(static_cast<amdgcn::Chip>(chip), chip >= 3, rest);
      fuzz::require(!done.error.empty() || (done.words <= rest.size() && !done.text.empty()), "past the end");
      at += done.error.empty() ? done.words : 1;
    }
  return 0;
}
