// ReadSet keeps the bytes of global memory that a launch under kCheckRace read, by the place in the program that read
// them: what a lower level reads beyond a higher one was read by no line of the kernel. At PTX and below it keeps all
// accesses where it is asked to: two streams may not access the same bytes.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace triton_runner::exec {

class ReadSet {
 public:
  enum class How : uint8_t { kRead, kWrite, kAtomic, kAtomicRead };
  explicit ReadSet(bool keeps_all = false) : keeps_all_(keeps_all) {}
  bool keeps_all() const { return keeps_all_; }
  // Bytes that one place read and the other set lacks.
  struct Beyond {
    std::string place;  // "tt.load at kernel.py:12:5"
    uint64_t address;   // of the first of them
    uint64_t bytes;     // how many
  };
  // The op or instruction `site` reads; place() is asked for once a site.
  void note(const void* site, uint64_t address, uint64_t bytes, const std::function<std::string()>& place,
            How how = How::kRead) {
    Site& s = sites_[site];
    if (s.place.empty()) s.place = place(), s.number = sites_.size();
    s.how = std::max(s.how, how);
    add(s.pages, address, bytes);
  }
  // f(place, how, address, bytes) for each stretch of bytes that a place accessed.
  template <class F>
  void each(F&& f) const {
    for (const Site* site : in_order())
      for (const auto& [number, bits] : site->pages)
        for (uint64_t at = 0, end; at < kPage; at = end + 1) {
          const auto is_set = [&](uint64_t i) { return bits[i / 64] >> i % 64 & 1; };
          for (end = at; end < kPage && is_set(end); ++end) continue;
          if (end > at) f(site->place, site->how, number * kPage + at, end - at);
        }
  }
  // In the order in which places read first.
  std::vector<Beyond> beyond(const ReadSet& other) const;

 private:
  static constexpr uint64_t kPage = 4096;
  using Page = std::array<uint64_t, kPage / 64>;  // a bit a byte
  using Pages = std::map<uint64_t, Page>;         // by number
  struct Site {
    std::string place;
    size_t number = 0;
    How how = How::kRead;
    Pages pages;
  };
  static void add(Pages& pages, uint64_t address, uint64_t bytes) {
    for (const uint64_t end = address + bytes; address < end;) {
      Page& page = pages[address / kPage];
      const uint64_t stop = std::min(end, (address / kPage + 1) * kPage);
      for (uint64_t n; address < stop; address += n) {  // the bits of a word
        n = std::min(stop - address, 64 - address % 64);
        page[address % kPage / 64] |= (~uint64_t{0} >> (64 - n)) << address % 64;
      }
    }
  }
  std::vector<const Site*> in_order() const;
  bool keeps_all_;
  std::unordered_map<const void*, Site> sites_;
};

}  // namespace triton_runner::exec
