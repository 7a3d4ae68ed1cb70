// Implements scheduled(): a part needs the earlier ones of its phase that write what it reads or writes, or read what it writes;
// stores stay in their order, and a load after those that it was after.
#include "native/schedule.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace triton_runner::simt {
namespace {

class Schedule {
 public:
  Schedule(std::span<const Instr> parts, Spans* spans) : parts_(parts), spans_(spans), nodes_(parts.size()) {}

  std::vector<Instr> run() {
    for (size_t begin = 0; begin < parts_.size();) {
      size_t end = begin;
      while (end < parts_.size() && !ends_phase(parts_[end])) ++end;
      find_needs(begin, end);
      for (const bool of_stores : {true, false})
        for (size_t i = begin; i < end; ++i)
          if (of_stores ? stores(i) : !nodes_[i].is_needed) put_root(i);
      begin_piece();
      if (end < parts_.size()) result_.push_back(parts_[end++]);
      begin = end;
    }
    return std::move(result_);
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  static constexpr size_t kMostOpen = 2;  // values that the next piece finds in the register file
  struct Node {                           // of a part
    std::vector<size_t> reads{}, follows{};
    size_t readers = 0;      // that are not put yet
    bool is_needed = false;  // by a later part
    bool is_put = false;
    size_t piece = 0;
  };
  struct Place {
    size_t writer = kNone;
    std::vector<size_t> readers{};  // since
  };

  bool stores(size_t i) const {
    const SpanPart* span = span_of(parts_[i]);
    return span && span->store;
  }
  size_t values(size_t i) const {
    const SpanPart* span = span_of(parts_[i]);
    return span ? span->words : 1;
  }

  void find_needs(size_t begin, size_t end) {
    std::unordered_map<uint32_t, Place> places;
    size_t store = kNone;
    for (size_t i = begin; i < end; ++i) {
      Node& node = nodes_[i];
      const auto follow = [&](size_t earlier) {
        if (earlier == kNone || earlier == i) return;
        node.follows.push_back(earlier);
        nodes_[earlier].is_needed = true;
      };
      each_read(parts_[i], native_row(parts_[i].run), [&](uint32_t p) {
        Place& place = places[p];
        place.readers.push_back(i);
        if (place.writer == kNone) return;
        node.reads.push_back(place.writer);
        ++nodes_[place.writer].readers;
        nodes_[place.writer].is_needed = true;
      });
      each_write(parts_[i], [&](uint32_t p) {
        follow(places[p].writer);
        for (const size_t reader : places[p].readers) follow(reader);
        places[p] = {i};
      });
      if (span_of(parts_[i])) follow(store);
      if (stores(i)) store = i;
    }
  }

  void put(size_t i) {
    Node& node = nodes_[i];
    if (std::exchange(node.is_put, true)) return;
    for (const size_t earlier : node.reads) put(earlier);
    for (const size_t earlier : node.follows) put(earlier);
    for (const size_t read : node.reads)
      if (--nodes_[read].readers == 0 && nodes_[read].piece == piece_) open_ -= values(read);
    node.piece = piece_;
    if (node.readers > 0) open_ += values(i);
    result_.push_back(parts_[i]);
    const SpanPart* span = span_of(parts_[i]);
    if (!span) return;
    has_access_ = true;
    uint32_t& passed = spans_->accesses[span->index].passed;
    if (span->store)
      last_store_ = span->index;
    else if (last_store_ > span->index)
      passed = std::max(passed, last_store_);
  }

  // Puts what no part needs, in a piece of its own where one can begin.
  void put_root(size_t i) {
    if (nodes_[i].is_put) return;
    if (has_access_ && open_ <= kMostOpen) {
      result_.push_back(end_of_phase());
      begin_piece();
    }
    put(i);
  }
  void begin_piece() {
    ++piece_;
    open_ = 0;
    has_access_ = false;
  }

  std::span<const Instr> parts_;
  Spans* spans_;
  std::vector<Node> nodes_;
  size_t piece_ = 0, open_ = 0;  // values of this piece that parts which are not put will read
  bool has_access_ = false;      // of this piece
  uint32_t last_store_ = 0;      // its number among the accesses
  std::vector<Instr> result_;
};

}  // namespace

std::vector<Instr> scheduled(std::span<const Instr> parts, Spans* spans) {
  return Schedule(parts, spans).run();
}

}  // namespace triton_runner::simt
