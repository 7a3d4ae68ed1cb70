// Finds live registers backwards over the instructions until nothing changes: a set of bits for each block of
// instructions that only its end leaves.
#include <triton_runner/ptx/liveness.h>

#include <triton_runner/ptx/flow.h>

namespace triton_runner::ptx {
namespace {

using LiveBits = std::vector<uint64_t>;

// A set of registers, and how many 32-bit registers they take.
struct LiveSet {
  explicit LiveSet(const std::vector<uint32_t>& words) : set(words.size() / 64 + 1), words_(&words) {}
  bool holds(uint32_t r) const { return set[r / 64] >> (r % 64) & 1; }
  void put(uint32_t r) {
    if (!holds(r)) count += (*words_)[r];
    set[r / 64] |= uint64_t{1} << (r % 64);
  }
  void drop(uint32_t r) {
    if (holds(r)) count -= (*words_)[r];
    set[r / 64] &= ~(uint64_t{1} << (r % 64));
  }
  void add(const LiveBits& other) {
    for (uint32_t r = 0; r < words_->size(); ++r)
      if (other[r / 64] >> (r % 64) & 1) put(r);
  }

  LiveBits set;
  uint32_t count = 0;

 private:
  const std::vector<uint32_t>* words_;
};

struct LiveBlock {
  uint32_t begin, end;
  std::vector<uint32_t> next;  // the first instructions of those that may follow
};

void labels(const Operand& o, std::vector<uint32_t>& out) {
  if (o.kind == OperandKind::kLabel) out.push_back(static_cast<uint32_t>(o.integer));
  for (const Operand& part : o.parts) labels(part, out);
}

std::vector<LiveBlock> blocks_of(const Function& f) {
  const std::vector<bool> targets = jump_targets(f);
  const uint32_t size = static_cast<uint32_t>(f.body.size());
  std::vector<LiveBlock> out;
  for (uint32_t begin = 0, i = 0; i < size; ++i) {
    const Instruction& in = f.body[i];
    if (!is_control(in) && i + 1 < size && !targets[i + 1]) continue;
    LiveBlock block{begin, i + 1, {in.targets.begin(), in.targets.end()}};
    const bool jumps = is_control(in) && !comes_back(in);  // a call's label is its prototype
    if (jumps)
      for (const Operand& o : in.operands) labels(o, block.next);
    // A jump or an end that nothing guards leaves for good; a call comes back.
    const bool leaves = jumps && in.guard < 0 && (in.operands.empty() || !block.next.empty());
    if (!leaves) block.next.push_back(i + 1);
    out.push_back(std::move(block));
    begin = i + 1;
  }
  return out;
}

// Computes what is live before an instruction from what is live after it.
void step(const Instruction& in, LiveSet& live) {
  const std::vector<uint32_t> results = results_of(in);
  if (in.guard < 0)
    for (const uint32_t r : results) live.drop(r);
  for (const uint32_t r : sources_of(in)) live.put(r);
  if (adds_to_results(in))
    for (const uint32_t r : results) live.put(r);
}

// The blocks of a function, and what is live before each of them and after it.
struct Liveness {
  explicit Liveness(const Function& f) : blocks(blocks_of(f)) {
    for (const Register& reg : f.registers)
      words.push_back(reg.type == Mod::kPred ? 0 : static_cast<uint32_t>(bits(reg.type) + 31) / 32);
    before.assign(f.body.size() + 1, {});  // of the first instruction of each block
    for (const LiveBlock& block : blocks) before[block.begin] = LiveSet(words).set;
    before[f.body.size()] = LiveSet(words).set;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = blocks.size(); b-- > 0;) {
        LiveSet live = behind(blocks[b]);
        for (uint32_t i = blocks[b].end; i-- > blocks[b].begin;) step(f.body[i], live);
        if (live.set == before[blocks[b].begin]) continue;
        before[blocks[b].begin] = std::move(live.set);
        changed = true;
      }
    }
  }
  LiveSet behind(const LiveBlock& block) const {
    LiveSet live(words);
    for (const uint32_t next : block.next) live.add(before[next]);
    return live;
  }

  std::vector<LiveBlock> blocks;
  std::vector<uint32_t> words;

 private:
  std::vector<LiveBits> before;
};

}  // namespace

std::vector<bool> live_across(const Function& f, const std::vector<bool>& at) {
  const Liveness liveness(f);
  std::vector<bool> out(f.registers.size());
  for (const LiveBlock& block : liveness.blocks) {
    LiveSet live = liveness.behind(block);
    for (uint32_t i = block.end; i-- > block.begin;) {
      for (uint32_t r = 0; at[i] && r < out.size(); ++r) out[r] = out[r] || live.holds(r);
      step(f.body[i], live);
    }
  }
  return out;
}

Pressure pressure(const Function& f) {
  const Liveness liveness(f);
  Pressure out;
  LiveSet peak(liveness.words);
  for (const LiveBlock& block : liveness.blocks) {
    LiveSet live = liveness.behind(block);
    for (uint32_t i = block.end; i-- > block.begin;) {
      step(f.body[i], live);
      if (live.count <= out.words) continue;
      out.words = live.count;
      out.at = i;
      peak = live;
    }
  }
  std::vector<int32_t> definitions(f.registers.size(), -1);
  for (uint32_t i = 0; i < out.at; ++i)
    for (const uint32_t r : results_of(f.body[i])) definitions[r] = static_cast<int32_t>(i);
  for (uint32_t r = 0; r < f.registers.size(); ++r)
    if (peak.holds(r)) out.live.push_back({r, definitions[r]});
  return out;
}

}  // namespace triton_runner::ptx
