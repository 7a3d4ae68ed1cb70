// Runs a fused instruction on any tile: finds the strips of every register, then runs the steps strip by
// strip. Quicker ways for simple tiles are in fused_line.cpp and fused_whole.cpp.
#include "fuse/fused.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/num/kernels.h>

#include "fuse/fused_rows.h"
#include "fuse/fused_run.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

struct Stream {
  enum class Kind : uint8_t {
    kStep,    // computed here
    kFlat,    // all elements in a row, at `data`
    kFixed,   // one strip for all: a uniform value
    kColumn,  // one element for each row, at `data`
    kRows,
  } kind;
  uint64_t data;       // of kFlat: address of the element at index 0, which may not exist
  std::byte* scratch;  // a strip's worth, where one is needed
  std::byte* tile;     // where the strips are to be written: the whole value is wanted
  uint64_t bits;       // of kFixed
  Rows rows;
};

// Shorter rows are not worth a call each.
constexpr int64_t kShortestRow = 32;

// The bytes that a block covers, from first to last.
struct Extent {
  uint64_t first, end;
};
Extent extent_of(const Block& b, int64_t size) {
  Extent e{b.address, b.address + static_cast<uint64_t>(size)};
  for (int d = 0; d < b.rank; ++d) {
    int64_t reach = b.stride[d] * (b.count[d] - 1);
    (reach < 0 ? e.first : e.end) += static_cast<uint64_t>(reach);
  }
  return e;
}

// Returns whether the elements of two boxes of one tile lie at the same places, and no two of them share
// memory: each dimension steps over all that the ones after it reach, in the smallest box that holds both.
// (Boxes that do so each for itself may still meet: a row of one may begin where a row of the other ends.)
bool one_place_each(const Rows& a, const Rows& b, const TileType& tile, int64_t size) {
  if (a.address != b.address) return false;
  int64_t reach = size;
  for (int d = tile.rank - 1; d >= 0; --d) {
    if (tile.shape[d] == 1) continue;
    if (a.stride[d] != b.stride[d]) return false;
    const int64_t count = std::max(a.hi[d], b.hi[d]) - std::min(a.lo[d], b.lo[d]);
    if (count == 1) continue;
    if (a.stride[d] < reach) return false;
    reach = a.stride[d] * count;
  }
  return true;
}

// A load, and whether its strips are read where they lie.
struct Source {
  bool direct;
  Block block;
};

class Strips : public FusedRun<Strips> {
 public:
  Strips(Task& t, const Instr& in) : FusedRun(t, in), tile_(*f_.tile) {}
  ~Strips() {
    if (scalars_) t_.worker->pool->release(scalars_);
  }

  const Instr* run() {
    for (size_t r = 0; r < f_.registers.size(); ++r) open_operand(r);
    for (size_t i = 0; i < f_.loads.size(); ++i)
      if (!open_load(i)) return nullptr;
    if (f_.store && !open_store()) return nullptr;
    if (f_.only_maps && all_uniform()) return run_one();
    make_tiles();
    lay_out();
    begin();
    foreseen_ = &foreseen();
    foresee();
    if (!foreseen_->pending()) foreseen_ = nullptr;
    for (int64_t at = first_; at < end_; at += strip_) run_strip(at, std::min(strip_, end_ - at));
    return finish();
  }

 private:
  friend class FusedRun<Strips>;
  using Kind = Stream::Kind;

  bool is_fixed(size_t r) const { return streams_[r].kind == Kind::kFixed; }
  uint64_t fixed_bits(size_t r) const { return streams_[r].bits; }

  void open_operand(size_t r) {
    Stream& s = streams_[r];
    s.tile = s.scratch = nullptr;
    s.kind = Kind::kStep;
    if (f_.registers[r].from == From::kOperand) open_value(r, in_.operand(f_.registers[r].index));
  }

  void open_value(size_t r, Slot slot) {
    Stream& s = streams_[r];
    const Value& v = t_.value(slot);
    if (v.form == Form::kUniform) {
      s.kind = Kind::kFixed;
      s.bits = static_cast<uint64_t>(v.bits);
    } else if (v.form == Form::kView) {
      int64_t size = f_.registers[r].size;
      s.kind = Kind::kRows;
      s.rows.address = reinterpret_cast<uint64_t>(v.buffer->data() + v.base * size);
      if (f_.registers[r].column && tile_.rank == 2 && tile_.shape[1] >= kShortestRow && v.stride[1] == 0 &&
          v.stride[0] == 1) {
        s.kind = Kind::kColumn;
        s.data = s.rows.address;
        columns_ |= uint64_t{1} << r;
        return;
      }
      for (int d = 0; d < tile_.rank; ++d)
        s.rows.stride[d] = v.stride[d] * size, s.rows.lo[d] = 0, s.rows.hi[d] = tile_.shape[d];
    } else {
      s.kind = Kind::kFlat;
      s.data = reinterpret_cast<uint64_t>(t_.dense(slot));
    }
  }

  // The strips of a block of memory, if its rows are runs.
  bool open_block(const Block& b, const MaskBox& box, int64_t size, Stream* s) {
    int last = tile_.rank - 1;
    if (b.stride[last] != size) return false;
    Rows& r = s->rows;
    r.address = b.address;
    bool flat = true;
    for (int d = 0; d < tile_.rank; ++d) {
      r.stride[d] = b.stride[d];
      r.lo[d] = box.lo[d];
      r.hi[d] = box.hi[d];
      r.address -= static_cast<uint64_t>(b.stride[d] * box.lo[d]);
      flat &= b.count[d] == tile_.shape[d];
      flat &= tile_.shape[d] == 1 || b.stride[d] == tile_.dense_strides[d] * size;
    }
    s->kind = flat ? Kind::kFlat : Kind::kRows;
    s->data = r.address;
    return true;
  }

  // False: it trapped.
  bool open_load(size_t i) {
    const Fused::Access& a = f_.loads[i];
    Source& from = sources_[i];
    Stream& s = streams_[a.reg];
    int64_t mask = a.mask;
    if (mask != kNoSlot && t_.is_uniform(static_cast<Slot>(mask)) && t_.bits(static_cast<Slot>(mask)))
      mask = kNoSlot;
    MaskBox box;
    from.direct = (mask == kNoSlot || !t_.is_uniform(static_cast<Slot>(mask))) &&
                  find_block(t_, a.pointers, mask, t_.type(a.value), false, &from.block, &box) &&
                  open_block(from.block, box, f_.registers[a.reg].size, &s);
    if (!from.direct) return load_now(i);
    s.rows.other = nullptr;
    s.rows.bits = 0;
    if (s.kind == Kind::kRows && a.other != kNoSlot) {
      Slot other = static_cast<Slot>(a.other);
      if (t_.is_uniform(other))
        s.rows.bits = static_cast<uint64_t>(t_.bits(other));
      else
        s.rows.other = t_.dense<std::byte>(other);
    }
    return true;
  }

  bool load_now(size_t i) {
    const Fused::Access& a = f_.loads[i];
    sources_[i].direct = false;
    if (!load_tile(t_, a.instr, a.value, a.pointers, a.mask, a.other)) return false;
    open_value(a.reg, a.value);
    return true;
  }

  bool open_store() {
    const Fused::Access& a = *f_.store;
    int64_t mask = a.mask;
    if (mask != kNoSlot && t_.is_uniform(static_cast<Slot>(mask))) {
      if (!t_.bits(static_cast<Slot>(mask))) return true;
      mask = kNoSlot;
    }
    int64_t size = f_.registers[a.reg].size;
    MaskBox box;
    Block block;
    if (!find_block(t_, a.pointers, mask, t_.type(a.value), true, &block, &box) ||
        !open_block(block, box, size, &out_)) {
      store_ = Store::kLate;
      return true;
    }
    t_.worker->launch->made_progress();
    store_ = Store::kDirect;
    far_ = is_far(block, size);
    if (tile_.rank == 1 && in_.num_results == 0) want_only(box.lo[0], box.hi[0]);
    Extent to = extent_of(block, size);
    for (size_t i = 0; i < f_.loads.size(); ++i) {
      if (!sources_[i].direct) continue;
      const Rows& from = streams_[f_.loads[i].reg].rows;
      int64_t from_size = f_.registers[f_.loads[i].reg].size;
      Extent e = extent_of(sources_[i].block, from_size);
      if (e.end <= to.first || to.end <= e.first) continue;
      // If every element is stored to where it was loaded from, no strip sees what another one wrote.
      if (from_size == size && one_place_each(from, out_.rows, tile_, size))
        store_ = Store::kAfterStrip;
      else if (!load_now(i))
        return false;
    }
    return true;
  }

  bool is_far(const Block& b, int64_t size) const {
    if (b.count[b.rank - 1] * size < kFarRowBytes) return false;
    const exec::Allocation* a =
        t_.worker->memory.memory().find(b.address, static_cast<uint64_t>(b.count[b.rank - 1] * size));
    return a && a->bytes >= kFarArrayBytes;
  }

  // Nothing outside of the store's box is looked at: a mask of the tile's end costs nothing.
  void want_only(int64_t lo, int64_t hi) {
    first_ = lo;
    end_ = hi;
    out_.kind = Kind::kFlat;
    for (size_t i = 0; i < f_.loads.size(); ++i) {
      Stream& s = streams_[f_.loads[i].reg];
      if (sources_[i].direct && s.rows.lo[0] <= lo && s.rows.hi[0] >= hi) s.kind = Kind::kFlat;
    }
  }

  bool all_uniform() const {
    for (size_t r = 0; r < f_.registers.size(); ++r)
      if (f_.registers[r].from != From::kStep && streams_[r].kind != Kind::kFixed) return false;
    return true;
  }

  const Instr* run_one() {
    const std::byte* at[Fused::kMaxRegisters];
    alignas(8) std::byte computed[Fused::kMaxRegisters][8];
    for (size_t r = 0; r < f_.registers.size(); ++r)
      at[r] =
          streams_[r].kind == Kind::kFixed ? reinterpret_cast<std::byte*>(&streams_[r].bits) : computed[r];
    for (size_t r = 0; r < f_.registers.size(); ++r) at_[r] = const_cast<std::byte*>(at[r]);
    for (const Fused::Step& s : f_.steps)
      if (s.links.empty())
        s.loop(at_[s.out], at_[s.in[0]], at_[s.in[1]], at_[s.in[2]], 1);
      else
        run_links(s, 0, 1);
    for (size_t r = 0; r < f_.registers.size(); ++r)
      if (f_.registers[r].result >= 0 && f_.registers[r].from == From::kStep)
        t_.set_uniform_from(in_.result(f_.registers[r].result), computed[r]);
    return finish();
  }

  // Memory for the values that are wanted as a whole.
  void make_tiles() {
    for (size_t r = 0; r < f_.registers.size(); ++r) {
      const Fused::Register& reg = f_.registers[r];
      bool late = store_ == Store::kLate && f_.store->reg == r;
      if (reg.result < 0 && !late) continue;
      if (reg.from == From::kLoad && !sources_[reg.index].direct) continue;  // has it
      Slot slot = reg.result >= 0 ? in_.result(static_cast<uint32_t>(reg.result)) : f_.store->value;
      streams_[r].tile = tile_for(t_, in_, slot, reg.reuse);
    }
    for (const Fused::Step& s : f_.steps) {
      if (!s.reduce) continue;
      if (t_.type(in_.result(s.out)).rank > 0)
        t_.new_dense(in_.result(s.out));
      else if (!scalars_)
        scalars_ = t_.worker->pool->allocate((8 + num::kReduceStateBytes) * size_t{in_.num_results});
    }
  }

  // Chooses the strip length and places the strips that are not read or written in place.
  void lay_out() {
    const int64_t each = scratch_an_element();
    strip_ = end_ - first_;
    if (each == 0) return;
    shorten_strips(each);
    int64_t bytes = 0;
    for (size_t r = 0; r < f_.registers.size(); ++r)
      if (needs_scratch(r)) bytes += room(f_.registers[r].size);
    for (uint8_t size : f_.lanes) bytes += room(size);
    scratch_ = t_.worker->pool->allocate(static_cast<size_t>(bytes));
    std::byte* next = scratch_->data();
    std::byte* lane_at[Fused::kMaxRegisters];
    for (size_t i = 0; i < f_.lanes.size(); ++i) lane_at[i] = next, next += room(f_.lanes[i]);
    for (size_t r = 0; r < f_.registers.size(); ++r) {
      Stream& s = streams_[r];
      const Fused::Register& reg = f_.registers[r];
      if (reg.lane >= 0) s.scratch = lane_at[reg.lane];
      if (!needs_scratch(r)) continue;
      s.scratch = next;
      next += room(reg.size);
      if (s.kind == Kind::kFixed) num::fill(s.scratch, s.bits, strip_, reg.size);
    }
  }

  // Lanes of its own: registers that steps compute have them, but for one that is computed into memory.
  bool needs_scratch(size_t r) const {
    const Stream& s = streams_[r];
    if (s.kind == Kind::kFixed) return !f_.registers[r].single;
    if (is_one(r)) return false;
    if (s.tile || s.kind == Kind::kFlat || s.kind == Kind::kColumn) return false;
    if (s.kind == Kind::kRows) return true;
    return f_.registers[r].lane < 0 && !(store_ == Store::kDirect && !far_ && out_.kind == Kind::kFlat);
  }

  std::byte* element(const Stream& s, size_t r, int64_t index) const {
    return reinterpret_cast<std::byte*>(s.data + static_cast<uint64_t>(index * f_.registers[r].size));
  }

  // The place of the first strip of every register, and how far the next one is from it.
  void begin() {
    for (size_t r = 0; r < f_.registers.size(); ++r) {
      const Stream& s = streams_[r];
      at_[r] = s.tile ? s.tile : s.kind == Kind::kFlat ? element(s, r, first_) : s.scratch;
      if (s.kind == Kind::kFixed && is_one(r)) at_[r] = reinterpret_cast<std::byte*>(&streams_[r].bits);
      step_[r] = s.tile || s.kind == Kind::kFlat ? strip_ * f_.registers[r].size : 0;
      if (s.kind == Kind::kRows || (s.kind == Kind::kFlat && s.tile))
        moving_[num_moving_++] = static_cast<uint16_t>(r);
    }
    skip_steps();
    if (!f_.store) return;
    size_t r = f_.store->reg;
    stores_in_place_ =
        store_ == Store::kDirect && !far_ && streams_[r].kind == Kind::kStep && !streams_[r].tile;
    if (stores_in_place_ && out_.kind == Kind::kFlat)
      at_[r] = element(out_, r, first_), step_[r] = strip_ * f_.registers[r].size;
  }

  // Foresees where a long run will probably be read next.
  void foresee() {
    for (size_t i = 0; i < f_.loads.size(); ++i) {
      const Stream& s = streams_[f_.loads[i].reg];
      if (!sources_[i].direct || (s.kind != Kind::kFlat && tile_.rank > 1)) continue;
      int64_t lo = first_, hi = end_, size = f_.registers[f_.loads[i].reg].size;
      if (s.kind == Kind::kRows) lo = s.rows.lo[0], hi = s.rows.hi[0];
      if ((hi - lo) * size >= kForeseenBytes)
        foreseen_->reads(&f_.loads[i], f_.loads[i].number, s.data + static_cast<uint64_t>(lo * size),
                         static_cast<uint64_t>((hi - lo) * size));
    }
  }

  void run_strip(int64_t begin, int64_t m) {
    if (foreseen_) foreseen_->fetch(f_.ops * m / kElementsALine);
    for (size_t i = 0; i < num_moving_; ++i) move_to(moving_[i], begin, m);
    bool stored = place_store(begin, m);
    for (size_t i = 0; i < f_.steps.size(); ++i) {
      const Fused::Step& s = f_.steps[i];
      if (skipped_ >> i & 1) continue;
      if (!s.links.empty())
        run_links(s, begin, m);
      else if (s.spreads)
        spread(s, m);
      else if (s.part)
        s.part(row_results(s.out, 0), part_state(s.out), at_[s.in[0]], m, begin == first_, begin + m == end_);
      else if (s.reduce)
        s.reduce(row_results(s.out, begin / f_.row), at_[s.in[0]], m / f_.row, f_.row, 1);
      else if (s.arity == 2 && columns_ >> s.in[1] & 1)
        run_by_rows(s, begin, m);
      else
        (s.by_one && is_one(s.in[1]) ? s.by_one : s.loop)(at_[s.out], at_[s.in[0]], at_[s.in[1]],
                                                          at_[s.in[2]], m);
    }
    if (!stored) put(out_.rows, tile_, f_.registers[f_.store->reg].size, begin, m, at_[f_.store->reg], far_);
    for (size_t r = 0; r < f_.registers.size(); ++r) at_[r] += step_[r];
  }

  // Row by row, each with its element of the column.
  void run_by_rows(const Fused::Step& s, int64_t begin, int64_t m) const {
    const int64_t cols = tile_.shape[1], out_size = f_.registers[s.out].size,
                  size = f_.registers[s.in[0]].size;
    for (int64_t done = 0; done < m;) {
      const int64_t row = (begin + done) / cols, n = std::min((row + 1) * cols - begin, m) - done;
      s.by_one(at_[s.out] + done * out_size, at_[s.in[0]] + done * size,
               element(streams_[s.in[1]], s.in[1], row), nullptr, n);
      done += n;
    }
  }

  // A strip whose place depends on where it begins, or which has to be copied.
  void move_to(size_t r, int64_t begin, int64_t m) {
    Stream& s = streams_[r];
    int64_t size = f_.registers[r].size;
    if (s.kind == Kind::kFlat) {
      std::memcpy(at_[r], element(s, r, begin), m * size);
      return;
    }
    if (!s.tile) {
      at_[r] = in_place(s.rows, tile_, size, begin, m);
      if (at_[r]) return;
      at_[r] = s.scratch;
    }
    fetch(s.rows, tile_, size, begin, m, at_[r]);
  }

  // False: the strip is to be put into memory when it is computed.
  bool place_store(int64_t begin, int64_t m) {
    if (store_ != Store::kDirect && store_ != Store::kAfterStrip) return true;
    if (!stores_in_place_) return false;
    if (out_.kind == Kind::kFlat) return true;
    size_t r = f_.store->reg;
    at_[r] = in_place(out_.rows, tile_, f_.registers[r].size, begin, m);
    if (at_[r]) return true;
    at_[r] = streams_[r].scratch;
    return false;
  }

  std::byte* row_results(uint16_t result, int64_t row) {
    Slot slot = in_.result(result);
    const TileType& ty = t_.type(slot);
    return ty.rank == 0 ? scalars_->data() + 8 * result : t_.value(slot).buffer->data() + row * ty.size;
  }

  void run_links(const Fused::Step& s, int64_t begin, int64_t m) {
    num::Link links[num::kMostLinks];
    const size_t count = links_of_step(s, links);
    auto floats = [&](uint16_t r) { return reinterpret_cast<float*>(at_[r]); };
    if (s.part)
      num::sum_links(reinterpret_cast<float*>(row_results(s.out, 0)), part_state(s.out), floats(s.in[0]),
                     links, count, m, begin == first_, begin + m == end_);
    else
      num::map_links(floats(s.out), floats(s.in[0]), links, count, m);
  }

  // All of a row gets what a reduction of it gave.
  void spread(const Fused::Step& s, int64_t m) {
    const size_t size = f_.registers[s.out].size;
    uint64_t bits = 0;
    std::memcpy(&bits, row_results(s.from, 0), size);
    if (is_one(s.out))
      at_[s.out] = row_results(s.from, 0);
    else
      num::fill(at_[s.out], bits, m, size);
  }

  std::byte* part_state(uint16_t result) {
    return scalars_->data() + 8 * in_.num_results + num::kReduceStateBytes * result;
  }

  const Instr* finish() {
    for (const Fused::Step& s : f_.steps)
      if (s.reduce && t_.type(in_.result(s.out)).rank == 0)
        t_.set_uniform_from(in_.result(s.out), scalars_->data() + 8 * s.out);
    if (far_) num::finish_past_caches();
    bool fine = true;
    if (store_ == Store::kLate) {
      const Fused::Access& a = *f_.store;
      fine = store_tile(t_, a.instr, a.pointers, a.value, a.mask);
      if (f_.registers[a.reg].result < 0) t_.forget(a.value);
    }
    for (size_t i = 0; i < f_.loads.size(); ++i)
      if (!sources_[i].direct && f_.registers[f_.loads[i].reg].result < 0) t_.forget(f_.loads[i].value);
    return fine ? next(in_) : nullptr;
  }

  enum class Store : uint8_t {
    kNone,
    kDirect,      // each strip into memory, as it is computed where that is possible
    kAfterStrip,  // each strip into memory when all of its loads have been read
    kLate,        // as a tile, when all is computed
  };

  const TileType& tile_;
  Store store_ = Store::kNone;
  Buffer* scalars_ = nullptr;
  bool stores_in_place_ = false;  // of kDirect: the stored value is computed where it goes
  uint64_t columns_ = 0;          // bit r: register r is a column
  size_t num_moving_ = 0;
  uint16_t moving_[Fused::kMaxRegisters];  // registers whose next strip is not one step further
  Stream out_;
  Stream streams_[Fused::kMaxRegisters];
  Source sources_[Fused::kMaxRegisters];
};

}  // namespace

Foreseen& foreseen() {
  static thread_local constinit Foreseen foreseen;
  return foreseen;
}

std::byte* tile_for(Task& t, const Instr& in, Slot slot, int reuse) {
  if (reuse >= 0 && in.kills_operand(static_cast<uint32_t>(reuse)))
    if (std::byte* own = t.take_over(slot, in.operand(static_cast<uint32_t>(reuse)))) return own;
  return t.new_dense<std::byte>(slot);
}

const Instr* run_fused(Task& t, const Instr& in) { return Strips(t, in).run(); }

}  // namespace triton_runner::tile
