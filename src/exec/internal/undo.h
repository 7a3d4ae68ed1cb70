// Keeps what a launch writes, to put memory back: to how it was when the log began, or at a later mark.
//
// Nothing is copied in advance. The memory's pages are made read-only, and the first write to one in the time of a mark
// saves it (a handler of SIGSEGV) and lets it through, so that a launch pays for what it writes and not for what it is
// given. Several logs may hold the same memory, of one thread (the one that began last ends first) or of several.
//
// A launch whose writes are all looked at may tell the log of them instead: no page changes its protection then, and no other
// log knows of this one.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <triton_runner/exec/kernel.h>

namespace triton_runner::exec {

class UndoLog {
 public:
  UndoLog();
  ~UndoLog();
  UndoLog(const UndoLog&) = delete;
  UndoLog& operator=(const UndoLog&) = delete;

  // All that can be written is now as it is at mark 0.
  void begin(std::span<const Allocation> memory);
  // The same where writes() is called before each write.
  void begin_told(std::span<const Allocation> memory);
  // Gives a stretch of memory around what is about to be written: up to the next mark all of it may be written.
  std::pair<uint64_t, uint64_t> writes(uint64_t address, uint64_t bytes);
  bool is_on() const { return !marks_.empty(); }
  size_t mark();  // the number of a new one
  size_t marks() const { return marks_.size(); }
  // All is as it was at a mark; later ones are gone.
  void put_back(size_t mark);
  // Forgets a mark, not the first; what it saved is of the one before.
  void merge(size_t mark);
  void end();  // forgets all of them
  // Memory that the launch meets later: at every mark it was as it is now.
  void include(const Allocation& memory);
  // Reads what [address, address + out.size()) was at a mark.
  void read(size_t mark, uint64_t address, std::span<std::byte> out) const;
  // The pages, and parts of pages at the ends of the memory, that are not as they were at a mark; by address.
  std::vector<std::span<std::byte>> changed(size_t mark) const;
  // A log that this thread began, that is on, and that holds all of this memory that can be written; null: none does.
  static UndoLog* holding(std::span<const Allocation> memory);

  uint64_t saved_bytes() const;

  struct Saved;  // a part of the memory as it was
  // A write faulted at an address: whether it may be made again, now that every log has saved what is there.
  static bool on_fault(uint64_t address);

 private:
  // Disjoint memory: whole pages [first, end), in chunks, between parts of pages that others use, too.
  struct Region {
    uint64_t begin, end;
    uint64_t first, last;  // the whole pages
    uint64_t chunk;        // bytes of what is saved at once
    std::vector<uint8_t> open;
  };
  struct Mark {
    Saved* saved = nullptr;
    std::vector<std::vector<uint8_t>> has;      // of each region's chunks: whether it is saved
    std::vector<std::vector<std::byte>> edges;  // two a region
  };
  Region& add(uint64_t begin, uint64_t end);
  enum class Teller : uint8_t { kNobody, kFaults, kWriter };  // of writes
  void begin(std::span<const Allocation> memory, Teller teller);
  void protect();
  bool let_write(uint64_t address, uint64_t bytes, bool on) const;
  void let_closed(bool write) const;
  std::vector<std::pair<uint64_t, uint64_t>> outside(uint64_t begin, uint64_t end) const;
  void add_mark();
  Saved* allocate(size_t region, bool filled);
  bool next_block(uint64_t bytes);
  uint64_t kept_bytes() const;
  void release(Saved* saved);
  void release_all(Saved* saved);
  size_t region_of(uint64_t address) const;
  void apply(const Mark& mark);
  bool open_chunk(size_t region, size_t chunk);
  bool open_around(uint64_t& low, uint64_t& high, bool& is_known);

  std::vector<Region> regions_;  // by address
  uint64_t bytes_ = 0;           // of the memory
  pid_t thread_ = 0;             // that began it
  Teller teller_ = Teller::kNobody;
  std::vector<Mark> marks_;
  // Memory for what is saved, which the handler takes without allocating: blocks of the system, and chunks that are free
  // again.
  struct Block {
    std::byte* data;
    uint64_t bytes;
  };
  std::vector<Block> blocks_;
  size_t block_ = 0;  // the next one that is free
  std::byte *next_ = nullptr, *end_ = nullptr;
  std::vector<Saved*> free_;  // by region: chunks of a region have one size
  Saved* free_filled_ = nullptr;
};

}  // namespace triton_runner::exec
