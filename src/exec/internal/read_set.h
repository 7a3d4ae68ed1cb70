// ReadSet keeps the bytes of global memory that a launch under kCheckRace read, by the place in the program that read
// them: what a lower level reads beyond a higher one was read by no line of the kernel.
#pragma once
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
  // Bytes that one place read and the other set lacks.
  struct Beyond {
    std::string place;  // "tt.load at kernel.py:12:5"
    uint64_t address;   // of the first of them
    uint64_t bytes;     // how many
  };
  // The op or instruction `site` reads; place() is asked for once a site.
  void note(const void* site, uint64_t address, uint64_t bytes, const std::function<std::string()>& place) {
    Site& s = sites_[site];
    if (s.place.empty()) s.place = place(), s.number = sites_.size();
    add(s.pages, address, bytes);
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
    Pages pages;
  };
  static void add(Pages& pages, uint64_t address, uint64_t bytes) {
    for (uint64_t at = address; at < address + bytes; ++at)
      pages[at / kPage][at % kPage / 64] |= uint64_t{1} << at % 64;
  }
  std::unordered_map<const void*, Site> sites_;
};

}  // namespace triton_runner::exec
