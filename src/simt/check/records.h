// Records holds the accesses that the race check of a launch at PTX remembers, by number. A warp has one
// record for an instruction, and the number tells its thread too, so that the cells of what a warp stores in
// order have numbers in order (machine::History keeps such cells as one run).
//
//   st.global.b32 by warp 1:  record 7, its threads are numbers 7 * 64 + 32 to 7 * 64 + 63
//
// The records of successive warps have numbers in order if a record has as many numbers as a warp has threads.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <triton_runner/machine/clock.h>

#include "state/exec.h"

namespace triton_runner::simt {

struct Record : machine::Record {
  uint32_t thread = 0;  // the first that there is a number of, or kNoRegister: no thread made it
  const Operands* in = nullptr;
  uint64_t serial = 0;  // of the instruction; 0 for a copy or product in flight
  // For global memory: the warps that read the same bytes in one instruction, a bit each, counted from `agent`; and the cluster.
  uint32_t warps = 1;
  int64_t cluster = 0;
  bool writes() const { return act == machine::Act::kWrite || act == machine::Act::kAtomic; }
};

// 0 is the time before the launch.
class Records {
 public:
  // `threads`: as many as there are numbers of a record, at least those of a warp.
  explicit Records(uint32_t threads = 64) : shift_(std::countr_zero(threads)) {
    all_.push_back(std::make_unique<std::array<Record, kBlock>>());
  }
  void clear() { size_ = 1; }  // what there is space for stays
  uint32_t record_of(uint32_t number) const { return number >> shift_; }
  const Record& operator[](uint32_t number) const {
    return (*all_[record_of(number) / kBlock])[record_of(number) % kBlock];
  }
  Record& operator[](uint32_t number) { return const_cast<Record&>(std::as_const(*this)[number]); }
  // The same as of the thread that the number tells.
  Record at(uint32_t number) const {
    Record record = (*this)[number];
    if (record.thread != kNoRegister) record.thread += in_record(number);
    return record;
  }
  const Record& last() const { return (*all_[(size_ - 1) / kBlock])[(size_ - 1) % kBlock]; }
  // How often its warp has come to the instruction of an access, this time included.
  uint32_t times_of(const Record& record) const {
    uint32_t times = 0;
    uint64_t serial = 0;
    for (size_t i = 1; i < size_; ++i) {
      const Record& r = (*this)[static_cast<uint32_t>(i << shift_)];
      if (r.agent != record.agent || r.in != record.in || r.serial == serial || r.serial > record.serial)
        continue;
      serial = r.serial;
      ++times;
    }
    return times;
  }
  // The last one is of the threads that a number tells from this one, or both are of none.
  bool last_is_near(uint32_t thread) const {
    return last().thread == (thread == kNoRegister ? thread : thread - in_record(thread));
  }
  // The number of the last one, as of a thread.
  uint32_t number_of(uint32_t thread) const {
    return (static_cast<uint32_t>(size_ - 1) << shift_) + (thread == kNoRegister ? 0 : in_record(thread));
  }
  // The number of the next one, as of its first thread.
  uint32_t next() const { return static_cast<uint32_t>(size_ << shift_); }
  uint32_t add(Record record) {
    if (size_ == (uint64_t{1} << 32) >> shift_) throw std::bad_alloc();
    if (size_ == all_.size() * kBlock) all_.push_back(std::make_unique<std::array<Record, kBlock>>());
    const uint32_t thread = record.thread;
    if (thread != kNoRegister) record.thread -= in_record(thread);
    (*all_[size_ / kBlock])[size_ % kBlock] = record;
    ++size_;
    return number_of(thread);
  }

 private:
  uint32_t in_record(uint32_t number) const { return number & ((uint32_t{1} << shift_) - 1); }
  static constexpr size_t kBlock = 256;
  std::vector<std::unique_ptr<std::array<Record, kBlock>>> all_;
  size_t size_ = 1;
  int shift_;
};

}  // namespace triton_runner::simt
