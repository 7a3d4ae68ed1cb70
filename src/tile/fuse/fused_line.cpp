// Runs a fused instruction on a tile of one dimension whose loads and store are runs of memory under
// intervals as masks: most kernels do that. Little has to be found out for each program, elements that no
// mask turns on are not computed, and a whole row goes through its reductions and back in one strip.
#include <algorithm>
#include <bit>
#include <cstring>

#include <triton_runner/num/kernels.h>

#include "fuse/fused_run.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

// Lines are asked for at the begin of a strip: more than some tens at a time wait for each other.
constexpr int64_t kForeseenStrip = 1024;

// The memory that a load or store touches.
struct Run {
  uint64_t address;  // of the element at index 0, which may not exist
  int64_t lo, hi;    // the elements that the mask turns on
  const exec::Allocation* in;

  uint64_t begin(int64_t size) const { return address + static_cast<uint64_t>(lo * size); }
  uint64_t end(int64_t size) const { return address + static_cast<uint64_t>(hi * size); }
  std::byte* element(int64_t i, int64_t size) const {
    return reinterpret_cast<std::byte*>(address + static_cast<uint64_t>(i * size));
  }
};

class Line : public FusedRun<Line> {
 public:
  Line(Task& t, const Instr& in) : FusedRun(t, in), n_(f_.tile->n) {}
  ~Line() {
    if (states_) t_.worker->pool->release(states_);
  }

  // False, with nothing done: something is not as it has to be.
  bool open() {
    if (f_.only_maps && f_.loads.empty()) return false;
    for (size_t i = 0; i < f_.loads.size(); ++i)
      if (!open_run(f_.loads[i], false, &runs_[i])) return false;
    if (f_.store && !(open_run(*f_.store, true, &out_) && apart())) return false;
    for (size_t r = 0; r < f_.registers.size(); ++r) {
      if (f_.registers[r].from != From::kOperand) continue;
      const Form form = operand(r).form;
      if (form == Form::kView) return false;
      fixed_ |= uint64_t{form == Form::kUniform} << r;
      boxes_ |= uint64_t{form == Form::kBox} << r;
      mixed_ |= form != Form::kUniform && form != Form::kBox;
    }
    return true;
  }

  const Instr* run() {
    if (f_.store) {
      t_.worker->launch->made_progress();
      const uint64_t bytes = out_.end(size(f_.store->reg)) - out_.begin(size(f_.store->reg));
      far_ = bytes >= kFarRowBytes && out_.in->bytes >= kFarArrayBytes;
      buffered_ |= far_ && !f_.streams;
    }
    choose_range();
    buffered_ |= f_.store && (first_ != out_.lo || end_ != out_.hi);
    foresee();
    lay_out();
    if (f_.reduces && end_ < n_)
      run_padded();
    else
      for (int64_t at = first_; at < end_; at += strip_) run_strip(at, std::min(strip_, end_ - at));
    for (const Fused::Step& s : f_.steps)
      if (s.reduce) t_.set_uniform_from(in_.result(s.out), &scalars_[s.out]);
    if (far_) num::finish_past_caches();
    return next(in_);
  }

 private:
  friend class FusedRun<Line>;

  const Value& operand(size_t r) const { return t_.value(in_.operand(f_.registers[r].index)); }
  bool is_fixed(size_t r) const { return fixed_ >> r & 1; }  // one value for all elements of the range
  bool is_box(size_t r) const { return boxes_ >> r & 1; }
  uint64_t fixed_bits(size_t r) const { return is_box(r) ? 1 : static_cast<uint64_t>(operand(r).bits); }
  bool is_tile(int64_t other) const { return other != kNoSlot && !t_.is_uniform(static_cast<Slot>(other)); }
  uint64_t bits_of(int64_t other) const {
    return other == kNoSlot ? 0 : static_cast<uint64_t>(t_.bits(static_cast<Slot>(other)));
  }

  bool open_run(const Fused::Access& a, bool write, Run* run) {
    const int64_t size = this->size(a.reg);
    const Value& p = t_.value(a.pointers);
    if (p.form != Form::kAffine || p.stride[0] != size || (p.base & (size - 1))) return false;
    run->address = static_cast<uint64_t>(p.base);
    run->lo = 0;
    run->hi = n_;
    if (a.mask != kNoSlot) {
      const Value& m = t_.value(static_cast<Slot>(a.mask));
      if (m.form == Form::kBox)
        run->lo = m.box.lo[0], run->hi = m.box.hi[0];
      else if (m.form != Form::kUniform || !m.bits)
        return false;
    }
    run->in = t_.worker->memory.find(run->begin(size), run->end(size) - run->begin(size));
    return run->in && (run->in->writable || !write);
  }

  // No load reads what is stored, or it reads each element where that one is stored: then a strip is stored
  // when it has been computed.
  bool apart() {
    const int64_t size = this->size(f_.store->reg);
    for (size_t i = 0; i < f_.loads.size(); ++i) {
      const int64_t from = this->size(f_.loads[i].reg);
      if (runs_[i].end(from) <= out_.begin(size) || out_.end(size) <= runs_[i].begin(from)) continue;
      if (runs_[i].address != out_.address || from != size) return false;
      buffered_ = true;
    }
    return true;
  }

  // Only what is stored, where nobody wants more. Reductions want all, but of a tile's end on which every
  // value is one constant they need only that.
  void choose_range() {
    if (!f_.whole_tiles && f_.reduces && !mixed_ && f_.pads) {
      end_ = f_.store ? out_.hi : 0;
      for (size_t i = 0; i < f_.loads.size(); ++i)
        end_ = std::max(end_, is_tile(f_.loads[i].other) ? n_ : runs_[i].hi);
      each_box([&](size_t r) { end_ = std::max<int64_t>(end_, operand(r).box.hi[0]); });
      each_box([&](size_t r) {
        if (operand(r).box.lo[0] > 0 || operand(r).box.hi[0] < end_) mixed_ = true;
      });
      if (end_ == 0 || mixed_) end_ = n_;
    } else if (!f_.whole_tiles && !f_.reduces && f_.store) {
      first_ = out_.lo, end_ = out_.hi;
    }
    each_box([&](size_t r) {  // true on all of the range
      const Value& v = operand(r);
      fixed_ |= uint64_t{v.box.lo[0] <= first_ && v.box.hi[0] >= end_} << r;
    });
  }
  template <class F>
  void each_box(F f) const {
    for (uint64_t left = boxes_; left; left &= left - 1) f(static_cast<size_t>(std::countr_zero(left)));
  }

  // Loads are read where they lie if all of them is in memory and nobody wants them as tiles.
  bool copies(size_t i) const {
    return f_.registers[f_.loads[i].reg].result >= 0 || runs_[i].lo > first_ || runs_[i].hi < end_;
  }
  bool stores_in_place() const {
    const Fused::Register& reg = f_.registers[f_.store->reg];
    return !buffered_ && reg.from == From::kStep && reg.result < 0;
  }
  // Lanes of its own: registers that steps compute have them, but for one that is only stored.
  bool needs_scratch(size_t r) const {
    const Fused::Register& reg = f_.registers[r];
    if (reg.from == From::kOperand) return is_fixed(r) && !reg.single;
    if (reg.result >= 0 || reg.single) return false;
    if (reg.from == From::kLoad) return copies(reg.index);
    return reg.lane < 0 && !stores_in_place();
  }

  // How long strips are, where the first one of every register is, and how far the next one is from it.
  void lay_out() {
    const int64_t each = scratch_an_element();
    strip_ = end_ - first_;
    if (foreseen_ && f_.row == 1) strip_ = std::min(strip_, kForeseenStrip);
    std::byte* next = nullptr;
    std::byte* lane_at[Fused::kMaxRegisters];
    auto take = [&](int64_t size) {
      std::byte* at = next;
      next += room(size);
      return at;
    };
    if (each) {
      shorten_strips(each);
      const size_t pieces = f_.lanes.size() + f_.registers.size();
      scratch_ = t_.worker->pool->allocate(static_cast<size_t>(strip_ * each) + 64 * pieces);
      next = scratch_->data();
      for (size_t i = 0; i < f_.lanes.size(); ++i) lane_at[i] = take(f_.lanes[i]);
    }
    // Operands first: a result may take over the memory of one.
    for (size_t r = 0; r < f_.registers.size(); ++r) {
      const Fused::Register& reg = f_.registers[r];
      if (reg.from != From::kOperand) continue;
      step_[r] = 0;
      if (is_one(r)) {
        uniforms_[r] = fixed_bits(r);
        at_[r] = reinterpret_cast<std::byte*>(&uniforms_[r]);
        continue;
      }
      if (is_fixed(r)) {
        at_[r] = take(reg.size);
        num::fill(at_[r], fixed_bits(r), strip_, reg.size);
        continue;
      }
      const void* tile = t_.dense(in_.operand(reg.index));
      at_[r] = static_cast<std::byte*>(const_cast<void*>(tile)) + first_ * reg.size;
      step_[r] = strip_ * reg.size;
    }
    for (size_t r = 0; r < f_.registers.size(); ++r) {
      const Fused::Register& reg = f_.registers[r];
      if (reg.from == From::kOperand) continue;
      step_[r] = strip_ * reg.size;
      if (reg.result >= 0)
        at_[r] = tile_for(t_, in_, in_.result(static_cast<uint32_t>(reg.result)), reg.reuse);
      else if (reg.single)
        at_[r] = reinterpret_cast<std::byte*>(&uniforms_[r]), step_[r] = 0;
      else if (reg.lane >= 0)
        at_[r] = lane_at[reg.lane], step_[r] = 0;
      else if (needs_scratch(r))
        at_[r] = take(reg.size), step_[r] = 0;
      else
        at_[r] = (reg.from == From::kLoad ? runs_[reg.index] : out_).element(first_, reg.size);
    }
    skip_steps();
  }

  // Foresees the likely next place of a long run; or what is a row here, of which each step fetches its part.
  void foresee() {
    const bool through_row = f_.row > 1 && f_.store;
    for (size_t i = 0; i < f_.loads.size(); ++i) {
      const int64_t size = this->size(f_.loads[i].reg);
      const uint64_t begin = runs_[i].begin(size);
      const auto bytes = static_cast<int64_t>(runs_[i].end(size) - begin);
      if (bytes < (through_row ? kForeseenRowBytes : kForeseenBytes)) continue;
      foreseen_ = &foreseen();
      foreseen_->reads(&f_.loads[i], f_.loads[i].number, begin, static_cast<uint64_t>(bytes));
    }
    if (foreseen_ && !foreseen_->pending()) foreseen_ = nullptr;
    if (foreseen_ && through_row)
      lines_a_step_ = foreseen_->lines() / static_cast<int64_t>(f_.steps.size()) + 1;
  }

  void run_strip(int64_t begin, int64_t m) {
    if (foreseen_ && !lines_a_step_) foreseen_->fetch(f_.ops * m / kElementsALine);
    for (size_t i = 0; i < f_.loads.size(); ++i)
      if (copies(i)) copy(i, begin, m);
    for (size_t i = 0; i < f_.steps.size(); ++i) {
      const Fused::Step& s = f_.steps[i];
      if (lines_a_step_) foreseen_->fetch<true>(lines_a_step_);
      if (s.loop) {
        if (!(skipped_ >> i & 1)) run_loop(s, m);
      } else if (!s.links.empty()) {
        run_links(s, begin, m);
      } else if (s.spreads) {
        spread(s, m);
      } else if (s.part) {
        s.part(&scalars_[s.out], part_state(s.out), at_[s.in[0]], m, begin == first_, begin + m == end_);
      } else {
        scalars_[s.out] = 0;
        s.reduce(&scalars_[s.out], at_[s.in[0]], 1, m, 1);
      }
    }
    if (f_.store && !stores_in_place()) put(begin, m);
    for (size_t r = 0; r < f_.registers.size(); ++r) at_[r] += step_[r];
  }

  // Runs one strip that holds less than the row; one more element stands for all those after its end.
  void run_padded() {
    const int64_t m = end_;
    uint64_t outside[Fused::kMaxRegisters];
    for (size_t r = 0; r < f_.registers.size(); ++r) {
      const Fused::Register& reg = f_.registers[r];
      if (reg.from == From::kOperand) outside[r] = is_box(r) ? 0 : fixed_bits(r);
      if (reg.from == From::kLoad) outside[r] = bits_of(f_.loads[reg.index].other);
    }
    for (size_t i = 0; i < f_.loads.size(); ++i)
      if (copies(i)) copy(i, 0, m);
    for (size_t i = 0; i < f_.steps.size(); ++i) {
      const Fused::Step& s = f_.steps[i];
      if (lines_a_step_) foreseen_->fetch<true>(lines_a_step_);
      if (s.loop) {
        if (!(skipped_ >> i & 1)) run_loop(s, m);
        if (s.reduced) s.loop(&outside[s.out], &outside[s.in[0]], &outside[s.in[1]], &outside[s.in[2]], 1);
      } else if (!s.links.empty()) {
        run_links(s, 0, m);
        if (s.reduced) link_outside(s, outside);
      } else if (s.spreads) {
        outside[s.out] = scalars_[s.from];
        spread(s, m);
      } else {
        scalars_[s.out] = 0;
        s.padded(&scalars_[s.out], at_[s.in[0]], m, n_, &outside[s.in[0]]);
      }
    }
    if (f_.store && !stores_in_place()) put(0, m);
  }

  void run_loop(const Fused::Step& s, int64_t m) {
    const bool by_one = s.by_one && is_one(s.in[1]);
    (by_one ? s.by_one : s.loop)(at_[s.out], at_[s.in[0]], at_[s.in[1]], at_[s.in[2]], m);
  }

  // All of a row gets what a reduction of it gave.
  void spread(const Fused::Step& s, int64_t m) {
    if (f_.registers[s.out].single)
      uniforms_[s.out] = scalars_[s.from];
    else
      num::fill(at_[s.out], scalars_[s.from], m, static_cast<size_t>(size(s.out)));
  }

  void run_links(const Fused::Step& s, int64_t begin, int64_t m) {
    num::Link links[num::kMostLinks];
    const size_t count = links_of_step(s, links);
    auto* x = reinterpret_cast<const float*>(at_[s.in[0]]);
    auto* out = reinterpret_cast<float*>(at_[s.defines() ? s.out : s.in[0]]);
    if (s.part)
      num::sum_links(reinterpret_cast<float*>(&scalars_[s.out]), part_state(s.out), x, links, count, m,
                     begin == first_, begin + m == end_);
    else if (far_ && !buffered_ && s.out == f_.store->reg)
      num::map_links_past_caches(out, x, links, count, m);
    else
      num::map_links(out, x, links, count, m);
  }

  static void link_outside(const Fused::Step& s, uint64_t* outside) {
    num::Link links[num::kMostLinks];
    auto floats = [&](uint16_t r) { return reinterpret_cast<float*>(&outside[r]); };
    for (size_t k = 0; k < s.links.size(); ++k)
      links[k] = {s.links[k].op, false, floats(s.links[k].reg),
                  reinterpret_cast<const uint8_t*>(&outside[s.links[k].condition])};
    num::map_links(floats(s.out), floats(s.in[0]), links, s.links.size(), 1);
  }

  // A load's strip as a tile or in scratch.
  void copy(size_t i, int64_t begin, int64_t m) {
    const Fused::Access& a = f_.loads[i];
    const int64_t size = this->size(a.reg), lo = std::clamp<int64_t>(runs_[i].lo - begin, 0, m),
                  hi = std::clamp<int64_t>(runs_[i].hi - begin, lo, m);
    std::byte* out = at_[a.reg];
    if (is_tile(a.other)) {
      auto* other = t_.dense<std::byte>(static_cast<Slot>(a.other)) + begin * size;
      std::memcpy(out, other, static_cast<size_t>(lo * size));
      std::memcpy(out + hi * size, other + hi * size, static_cast<size_t>((m - hi) * size));
    } else {
      num::fill(out, bits_of(a.other), lo, static_cast<size_t>(size));
      num::fill(out + hi * size, bits_of(a.other), m - hi, static_cast<size_t>(size));
    }
    if (lo < hi)
      std::memcpy(out + lo * size, runs_[i].element(begin + lo, size), static_cast<size_t>((hi - lo) * size));
  }

  // The part of a strip that is stored into memory.
  void put(int64_t begin, int64_t m) {
    const int64_t size = this->size(f_.store->reg), lo = std::max(out_.lo, begin),
                  hi = std::min(out_.hi, begin + m);
    if (lo >= hi) return;
    const std::byte* from = at_[f_.store->reg] + (lo - begin) * size;
    if (far_)
      num::copy_past_caches(out_.element(lo, size), from, (hi - lo) * size);
    else
      std::memcpy(out_.element(lo, size), from, static_cast<size_t>((hi - lo) * size));
  }

  void* part_state(uint16_t result) {
    if (!states_) states_ = t_.worker->pool->allocate(num::kReduceStateBytes * size_t{in_.num_results});
    return states_->data() + num::kReduceStateBytes * result;
  }

  const int64_t n_;
  bool mixed_ = false;        // some operand is not one value for all
  bool buffered_ = false;     // what is stored is computed elsewhere first
  uint64_t fixed_ = 0;        // bit r: register r is one value for all
  uint64_t boxes_ = 0;        // bit r: it is a mask that is an interval
  int64_t lines_a_step_ = 0;  // of what is foreseen, where each step fetches some
  Buffer* states_ = nullptr;
  Run out_;
  Run runs_[Fused::kMaxRegisters];
  uint64_t uniforms_[Fused::kMaxRegisters];  // by register: what is_one
  uint64_t scalars_[Fused::kMaxRegisters];   // what reductions gave, by result
};

}  // namespace

const Instr* run_fused_line(Task& t, const Instr& in) {
  Line line(t, in);
  return line.open() ? line.run() : run_fused(t, in);
}

}  // namespace triton_runner::tile
