// Declares a bounds-checked reader of 64-bit little-endian ELF files: sections and symbols as views into the
// bytes.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::artifact {

// Reads numbers from bytes; past the end they are 0 and ok() turns false.
class Bytes {
 public:
  explicit Bytes(std::string_view data) : data_(data) {}
  template <class T>
  T take() {
    T value{};
    if (data_.size() - at_ < sizeof(T)) {
      ok_ = false;
      at_ = data_.size();
      return value;
    }
    std::memcpy(&value, data_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string_view take_bytes(size_t n) {
    if (data_.size() - at_ < n) {
      ok_ = false;
      n = data_.size() - at_;
    }
    std::string_view out = data_.substr(at_, n);
    at_ += n;
    return out;
  }
  void align(size_t n) {
    while (at_ % n != 0 && at_ < data_.size()) at_++;
  }
  bool ok() const { return ok_; }
  bool done() const { return at_ >= data_.size(); }
  size_t position() const { return at_; }

 private:
  std::string_view data_;
  size_t at_ = 0;
  bool ok_ = true;
};

struct Section {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;  // where it is loaded, in a linked file
  uint64_t size = 0;     // also of sections without bytes in the file
  uint64_t align = 0;
  uint32_t link = 0, info = 0;
  std::string_view content;
};
struct Symbol {
  std::string_view name;
  uint8_t type = 0;  // 2: function
  uint8_t other = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};
// A place of a section that gets the address of a symbol (an index), plus a number.
struct Relocation {
  uint64_t offset = 0;
  uint32_t type = 0, symbol = 0;
  int64_t addend = 0;
};
struct Elf {
  uint16_t machine = 0;
  uint8_t abi_version = 0;
  uint32_t flags = 0;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;

  const Section* section(std::string_view name) const;
  // Those of section `index`; what is cut off is left out.
  std::vector<Relocation> relocations(size_t index) const;
};
constexpr uint16_t kMachineCuda = 190, kMachineAmdGpu = 224;

// `what` names the kind of file for messages ("cubin"). Errors: no ELF, truncated, offsets past the end.
base::Result<Elf> read_elf(std::string_view bytes, const char* what, const std::string& filename);

}  // namespace triton_runner::artifact
