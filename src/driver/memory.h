// Blocks are all the memory that a program may use on the device: what it allocated, and what of the host's it
// pinned or registered. A device address is the host's own address of the same bytes.
//
//   Block* b = blocks.allocate(4000, Kind::kDevice, "cuMemAlloc");   // b->address, 4000 bytes, a gap behind them
//   blocks.find(b->address + 10);                                    // b
//
// Addresses are not used again for a long while, and between two blocks lies a gap that belongs to neither, so that a
// kernel that leaves its block, or comes to one that was freed, meets nothing.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <triton_runner/exec/kernel.h>

#include "api.h"

namespace triton_runner::driver {

enum class Kind : uint8_t { kDevice, kPinned, kManaged, kRegistered, kVariable };

struct Block {
  Address address = 0;
  uint64_t bytes = 0;
  Kind kind = Kind::kDevice;
  uint64_t number = 0;  // counts blocks, from 1
  std::string label;    // for messages: "block 3 (cuMemAlloc, 4000 bytes)"
  unsigned flags = 0;   // of the call that made it
  Handle pool = nullptr;
  Handle context = nullptr;
  bool is_writable = true;
  bool is_of_graph = false;  // a node of a graph allocates it
  bool is_away = false;      // a graph's that no run has allocated, or that was freed
  struct {                   // what cuMemAdvise and cuMemPrefetchAsync said of managed memory
    bool is_read_mostly = false, by_device = false, by_host = false;
    Location preferred{}, fetched{};
  } advice;
  std::vector<uint8_t> unwritten;  // as exec::Allocation has it; empty: not looked at

  bool is_host() const { return kind == Kind::kPinned || kind == Kind::kRegistered; }
  Address end() const { return address + bytes; }
  exec::Allocation allocation() {
    return {address, bytes, label, is_writable, unwritten.empty() ? nullptr : unwritten.data()};
  }
};

class Blocks {
 public:
  Blocks() = default;
  ~Blocks();
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // Null: there is no memory left. `call` is for messages.
  Block* allocate(uint64_t bytes, Kind kind, const char* call, uint64_t align = 512);
  // Memory of the program's own, which stays its own.
  Block* add(Address address, uint64_t bytes, Kind kind, std::string label);
  void release(Address address);
  // A graph's block is freed, and keeps its place for the graph's next run.
  void set_aside(Block& block);
  // The block that holds the address; its end is the next one's only for a block without bytes.
  Block* find(Address address);
  Block* find(Address address, uint64_t bytes);  // that holds all of them
  Block* starting_at(Address address);
  template <class Condition>
  void release_all(Condition&& condition) {
    std::vector<Address> gone;
    for (auto& [address, block] : blocks_)
      if (condition(*block)) gone.push_back(address);
    for (const Address address : gone) release(address);
  }

  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [address, block] : blocks_) visit(*block);
  }

  // The label of a block that was freed and held the address; empty: none is remembered.
  std::string freed(Address address) const;
  // Bytes were written: they are no longer unwritten. / As those of another block.
  void written(Address address, uint64_t bytes);
  void copied(Address to, Address from, uint64_t bytes);
  // Whether blocks allocated from now on are followed for check="uninit".
  void follow_unwritten() { follows_ = true; }

  uint64_t total() const { return total_; }
  uint64_t used() const { return used_; }

 private:
  struct Arena {
    Address begin = 0, next = 0, end = 0;
    size_t live = 0;
  };
  Arena* arena_with(uint64_t bytes);

  std::map<Address, std::unique_ptr<Block>> blocks_;
  std::map<Address, Arena> arenas_;  // by their begin
  Address current_ = 0;              // begin of the arena in use
  struct Freed {
    Address address;
    uint64_t bytes;
    std::string label;
  };
  std::deque<Freed> freed_;
  uint64_t count_ = 0, used_ = 0;
  uint64_t total_ = total_memory();
  bool follows_ = false;

  static uint64_t total_memory();
};

}  // namespace triton_runner::driver
