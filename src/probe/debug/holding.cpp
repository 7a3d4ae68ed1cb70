// Implements Holding: follows the pieces of a value from where a plan finds them, through copies, to where
// they are overwritten.
#include "debug/holding.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace triton_runner::probe {
namespace {

bool has(const Bits& bits, uint32_t i) { return bits[i / 64] >> (i % 64) & 1; }
void put(Bits& bits, uint32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
void drop(Bits& bits, uint32_t i) { bits[i / 64] &= ~(uint64_t{1} << (i % 64)); }
size_t words(size_t n) { return n / 64 + 1; }

}  // namespace

Holding::Holding(RegisterFlow flow, std::vector<Piece> pieces) : flow_(std::move(flow)) {
  const auto n = static_cast<uint32_t>(flow_.steps.size());
  uint32_t values = 0;
  for (const Piece& p : pieces) {
    values = std::max(values, p.value + 1);
    // Threads that pass a guarded instruction by have something else there.
    if (p.at < n && !(p.after && flow_.steps[p.at].guarded)) pieces_.push_back(p);
  }
  before_.resize(n);
  after_.resize(n);
  of_register_.resize(flow_.registers.size());
  for (uint32_t i = 0; i < pieces_.size(); ++i) {
    (pieces_[i].after ? after_ : before_)[pieces_[i].at].push_back(i);
    of_register_[pieces_[i].reg].push_back(i);
  }
  of_value_.resize(values);
  size_.resize(values);
  find_blocks();
  find_instances();
  follow();
}

void Holding::find_blocks() {
  const auto n = static_cast<uint32_t>(flow_.steps.size());
  std::set<uint32_t> starts{0, n};
  for (uint32_t i = 0; i < n; ++i) {
    const std::vector<uint32_t>& next = flow_.steps[i].next;
    if (next.size() == 1 && next[0] == i + 1) continue;
    starts.insert(i + 1);
    starts.insert(next.begin(), next.end());
  }
  blocks_.assign(starts.begin(), starts.end());
  while (blocks_.size() > 1 && blocks_.back() > n) blocks_.pop_back();
}

uint32_t Holding::block_of(uint32_t instruction) const {
  return static_cast<uint32_t>(std::upper_bound(blocks_.begin(), blocks_.end(), instruction) -
                               blocks_.begin()) -
         1;
}

void Holding::find_instances() {
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // a value, a block, which copy
  std::map<Key, uint32_t> numbers;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> copies;  // block, value, number, to
  std::vector<std::set<std::pair<uint32_t, uint32_t>>> distinct(of_value_.size());
  instance_of_.resize(pieces_.size());
  for (uint32_t i = 0; i < flow_.steps.size(); ++i)
    for (const auto* list : {&before_[i], &after_[i]})
      for (const uint32_t p : *list) {
        const Piece& piece = pieces_[p];
        const uint32_t block = block_of(i), copy = copies[{block, piece.value, piece.number, piece.to}]++;
        const auto [it, fresh] =
            numbers.try_emplace({piece.value, block, copy}, static_cast<uint32_t>(instances_.size()));
        if (fresh) {
          of_value_[piece.value].push_back(it->second);
          instances_.push_back({piece.value, block, copy, {}});
        }
        instances_[it->second].pieces.push_back(p);
        instance_of_[p] = it->second;
        distinct[piece.value].emplace(piece.number, piece.to);
      }
  for (size_t v = 0; v < distinct.size(); ++v) size_[v] = static_cast<uint32_t>(distinct[v].size());
}

template <class Gives, class Writes>
void Holding::walk(uint32_t block, uint32_t to, Gives gives, Writes writes) const {
  for (uint32_t i = blocks_[block]; i < to; ++i) {
    for (const uint32_t p : before_[i]) gives(p);
    writes(flow_.steps[i]);
    for (const uint32_t p : after_[i]) gives(p);
  }
}

void Holding::through(uint32_t block, uint32_t to, Bits& held) const {
  walk(
      block, to,
      [&](uint32_t p) {
        // With its first piece the value is computed anew.
        const Instance& of = instances_[instance_of_[p]];
        if (of.pieces.front() == p)
          for (const uint32_t other : of.pieces) drop(held, other);
        put(held, p);
      },
      [&](const RegisterFlow::Step& step) {
        if (step.forgets) std::fill(held.begin(), held.end(), 0);
        for (const uint32_t reg : step.writes)
          for (const uint32_t p : of_register_[reg]) drop(held, p);
      });
}

void Holding::follow() {
  const auto n = static_cast<uint32_t>(flow_.steps.size());
  held_.assign(blocks_.size(), Bits(words(pieces_.size()), ~uint64_t{0}));
  computed_.assign(blocks_.size(), Bits(words(of_value_.size())));
  if (n == 0) return;
  std::fill(held_[0].begin(), held_[0].end(), 0);
  std::vector<uint32_t> work;
  std::vector<bool> waits(blocks_.size(), true);
  for (uint32_t b = static_cast<uint32_t>(blocks_.size()) - 1; b-- > 0;) work.push_back(b);
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    waits[b] = false;
    Bits held = held_[b], computed = computed_[b];
    through(b, blocks_[b + 1], held);
    walk(
        b, blocks_[b + 1], [&](uint32_t p) { put(computed, pieces_[p].value); },
        [](const RegisterFlow::Step&) {});
    for (const uint32_t to : flow_.steps[blocks_[b + 1] - 1].next) {
      if (to >= n) continue;
      const uint32_t next = block_of(to);
      bool changed = false;
      for (size_t w = 0; w < held.size(); ++w) {
        changed |= (held_[next][w] & ~held[w]) != 0;
        held_[next][w] &= held[w];
      }
      for (size_t w = 0; w < computed.size(); ++w) {
        changed |= (computed[w] & ~computed_[next][w]) != 0;
        computed_[next][w] |= computed[w];
      }
      if (changed && !waits[next]) work.push_back(next), waits[next] = true;
    }
  }
}

bool Holding::has(uint32_t value) const { return value < size_.size() && size_[value] > 0; }

// In unrolled code: which of the copies of its block an instruction is of.
uint32_t Holding::copy_of(uint32_t instruction, uint32_t block) const {
  const RegisterFlow::Step& step = flow_.steps[instruction];
  uint32_t copy = 0;
  for (uint32_t i = blocks_[block]; i < instruction; ++i)
    copy += flow_.steps[i].ptx_line == step.ptx_line && flow_.steps[i].opcode == step.opcode;
  return copy;
}

std::vector<uint32_t> Holding::whole(uint32_t instruction, uint32_t value) const {
  if (!has(value) || instruction >= flow_.steps.size()) return {};
  const uint32_t block = block_of(instruction);
  Bits held = held_[block];
  through(block, instruction, held);
  for (const uint32_t p : before_[instruction]) {  // they are there before the instruction
    const Instance& of = instances_[instance_of_[p]];
    if (of.pieces.front() == p)
      for (const uint32_t other : of.pieces) drop(held, other);
    put(held, p);
  }
  std::vector<uint32_t> last(blocks_.size());  // of each block, the last copy of the value
  for (const uint32_t i : of_value_[value])
    last[instances_[i].block] = std::max(last[instances_[i].block], instances_[i].copy);
  const Instance* found = nullptr;
  for (const uint32_t i : of_value_[value]) {
    const Instance& of = instances_[i];
    const uint32_t wanted =
        of.block == block && last[block] > 0 ? copy_of(instruction, block) : last[of.block];
    const bool is_whole =
        of.pieces.size() == size_[value] &&
        std::all_of(of.pieces.begin(), of.pieces.end(), [&](uint32_t p) { return probe::has(held, p); });
    if (!is_whole || of.copy != wanted) continue;
    if (found) return {};  // two blocks have computed it, and which one was the last is not known
    found = &of;
  }
  return found ? found->pieces : std::vector<uint32_t>{};
}

bool Holding::may_be_computed(uint32_t instruction, uint32_t value) const {
  if (!has(value) || instruction >= flow_.steps.size()) return false;
  const uint32_t block = block_of(instruction);
  if (probe::has(computed_[block], value)) return true;
  bool yes = false;
  walk(
      block, instruction, [&](uint32_t p) { yes |= pieces_[p].value == value; },
      [](const RegisterFlow::Step&) {});
  return yes;
}

bool Holding::is_read(uint32_t instruction, uint32_t reg) const {
  std::vector<bool> seen(flow_.steps.size());
  std::vector<uint32_t> work{instruction};
  while (!work.empty()) {
    const uint32_t i = work.back();
    work.pop_back();
    if (i >= flow_.steps.size() || seen[i]) continue;
    seen[i] = true;
    const RegisterFlow::Step& step = flow_.steps[i];
    auto names = [&](const std::vector<uint32_t>& list) {
      return std::find(list.begin(), list.end(), reg) != list.end();
    };
    if (names(step.reads)) return true;
    if (names(step.writes) && !step.guarded) continue;
    work.insert(work.end(), step.next.begin(), step.next.end());
  }
  return false;
}

}  // namespace triton_runner::probe
