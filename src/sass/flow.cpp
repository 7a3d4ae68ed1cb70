// Implements flow.h: edges by jumps, regions and calls; loops by what reaches itself; live registers
// backwards over blocks.
#include <triton_runner/sass/flow.h>

#include <algorithm>
#include <bit>

#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

namespace triton_runner::sass {
namespace {

using enum Trait;

// Returns what is reached from some instructions, in the order of its discovery.
template <class After>
std::vector<uint32_t> reached(std::vector<uint32_t> waiting, size_t size, After after) {
  std::vector<bool> seen(size);
  std::vector<uint32_t> out;
  while (!waiting.empty()) {
    const uint32_t at = waiting.back();
    waiting.pop_back();
    if (at >= size || seen[at]) continue;
    seen[at] = true;
    out.push_back(at);
    after(at, [&](uint32_t to) { waiting.push_back(to); });
  }
  return out;
}

// The addresses of the labels that the note of a jump by a table names; empty: it names none.
std::vector<size_t> noted_targets(const Function& f, const Instruction& in) {
  std::vector<size_t> out;
  for (size_t i = 0; !in.note.empty() && i < f.body.size(); ++i)
    for (std::string_view label : f.body[i].labels)
      for (size_t at = in.note.find(label); at != std::string_view::npos; at = in.note.find(label, at + 1)) {
        const size_t end = at + label.size();
        const bool is_whole =
            end == in.note.size() || std::string_view(",\" *").find(in.note[end]) != std::string_view::npos;
        if (is_whole && (out.empty() || out.back() != i)) out.push_back(i);
      }
  return out;
}

bool is_label(const Operand& o) { return o.kind == OperandKind::kLabel; }

// Returns whether a thread may come from here to the next instruction, not by a return.
bool goes_on(const Instruction& in, bool has_target) {
  if (!is_always(in) || !in.does(kLeads)) return true;
  if (in.does(kBranches))
    return !std::all_of(in.operands.begin(), in.operands.end(), is_label) || in.has("ANY");
  return in.does(kLeaves) || (in.does(kCalls) && !has_target);
}

}  // namespace

std::optional<size_t> target_of(const Function& f, const Instruction& in) {
  for (const Operand& o : in.operands)
    if (is_label(o) && o.integer >= 0) return index_of(f, static_cast<uint64_t>(o.integer));
  return {};
}

Flow::Flow(const Function& function)
    : function_(function),
      after_(function.body.size()),
      before_(function.body.size()),
      is_target_(function.body.size() + 1) {
  const std::vector<Instruction>& body = function.body;
  const auto size = static_cast<uint32_t>(body.size());
  std::vector<bool> starts(size + 1);
  for (uint32_t i = 0; i < size; ++i) {
    if (const auto to = target_of(function, body[i])) is_target_[*to] = true;
    if (body[i].does(kComputed))
      for (const size_t to : noted_targets(function, body[i])) is_target_[to] = true;
    if (body[i].does(kLeads)) starts[i + 1] = true;
  }
  for (uint32_t i = 0; i < size; ++i) {
    if (i == 0 || starts[i] || is_target_[i]) blocks_.push_back(i);
    add_edges(i);
  }
  add_returns();
  for (uint32_t i = 0; i < size; ++i)
    for (const Edge& edge : after_[i])
      if (edge.kind != Edge::kAnywhere) before_[edge.to].push_back(i);
  find_loops();
}

void Flow::add_edges(uint32_t i) {
  const std::vector<Instruction>& body = function_.body;
  const Instruction& in = body[i];
  auto add = [&](size_t to, Edge::Kind kind) {
    if (to < body.size()) after_[i].push_back({static_cast<uint32_t>(to), kind});
  };
  const auto target = target_of(function_, in);
  if (target && in.does(kBranches | kCalls)) add(*target, in.does(kCalls) ? Edge::kCall : Edge::kLabel);
  if (in.does(kComputed)) {
    const std::vector<size_t> targets = noted_targets(function_, in);
    for (const size_t to : targets) add(to, Edge::kLabel);
    for (size_t to = 0; to < body.size() && targets.empty(); ++to)
      if (is_target_[to]) add(to, Edge::kAnywhere);
  }
  bool meets_next = false;
  if (in.does(kMeetsAgain)) {
    // The regions of its barrier register; of any, where barriers are saved and restored.
    const bool are_moved =
        std::any_of(body.begin(), body.end(), [](const auto& one) { return one.is(Opcode::kBMOV); });
    size_t regions = 0;
    for (const Instruction& one : body) {
      const bool is_same = are_moved || (!in.operands.empty() && !one.operands.empty() &&
                                         in.operands.back().index == one.operands[0].index);
      if (!one.does(kRegion) || !is_same) continue;
      const size_t region = target_of(function_, one).value_or(body.size());
      ++regions;
      if (region == i + 1)
        meets_next = true;
      else
        add(region, Edge::kMeet);
    }
    if (meets_next) after_[i].clear();
    if (meets_next || !regions) add(i + 1, Edge::kMeet);
    if (!is_always(in) && !meets_next && regions) add(i + 1, Edge::kNext);
    return;
  }
  if (goes_on(in, target.has_value()) && (!target || *target != i + 1 || !in.does(kBranches)))
    add(i + 1, Edge::kNext);
}

std::vector<uint32_t> Flow::reached_from(uint32_t start) const {
  return reached({start}, after_.size(), [&](uint32_t at, auto to) {
    if (function_.body[at].does(kCalls)) to(at + 1);
    for (const Edge& edge : after_[at])
      if (edge.kind != Edge::kCall && edge.kind != Edge::kReturn) to(edge.to);
  });
}

void Flow::add_returns() {
  const std::vector<Instruction>& body = function_.body;
  for (uint32_t i = 0; i + 1 < body.size(); ++i) {
    if (!body[i].does(kCalls)) continue;
    const auto target = target_of(function_, body[i]);
    auto add = [&](uint32_t end) {
      if (body[end].does(kReturns)) after_[end].push_back({i + 1, Edge::kReturn});
    };
    if (target)
      for (const uint32_t end : reached_from(static_cast<uint32_t>(*target))) add(end);
    else
      for (uint32_t end = 0; end < body.size(); ++end) add(end);
  }
}

size_t Flow::block_of(size_t i) const {
  return static_cast<size_t>(std::upper_bound(blocks_.begin(), blocks_.end(), i) - blocks_.begin()) - 1;
}

// Finds for each edge to an instruction on the way to it what reaches it from there.
void Flow::find_loops() {
  const auto size = static_cast<uint32_t>(after_.size());
  std::vector<uint8_t> state(size);
  std::vector<std::pair<uint32_t, size_t>> way;
  std::vector<std::pair<uint32_t, uint32_t>> back;
  if (size) way.emplace_back(0, 0), state[0] = 1;
  while (!way.empty()) {
    auto& [at, next] = way.back();
    if (next == after_[at].size()) {
      state[at] = 2;
      way.pop_back();
      continue;
    }
    const Edge edge = after_[at][next++];
    if (edge.kind == Edge::kAnywhere) continue;
    if (state[edge.to] == 1 &&
        edge.to != at)  // to itself: where a kernel's code ends, and threads wait for ever
      back.emplace_back(at, edge.to);
    else if (!state[edge.to])
      state[edge.to] = 1, way.emplace_back(edge.to, 0);
  }
  for (const auto& [end, head] : back) {
    auto loop = std::find_if(loops_.begin(), loops_.end(), [&](const Loop& l) { return l.head == head; });
    if (loop == loops_.end()) loop = loops_.insert(loop, {head, end, {head}});
    std::vector<bool> inside(size);
    for (const uint32_t i : loop->body) inside[i] = true;
    for (const uint32_t i : reached({end}, size, [&](uint32_t at, auto to) {
           if (inside[at]) return;
           for (const uint32_t other : before_[at])
             if (!inside[other]) to(other);
         }))
      if (!inside[i]) loop->body.push_back(i);
    std::sort(loop->body.begin(), loop->body.end());
    loop->last = std::max(loop->last, end);
  }
  std::stable_sort(loops_.begin(), loops_.end(),
                   [](const Loop& a, const Loop& b) { return a.body.size() > b.body.size(); });
}

// --- live ranges ----------------------------------------------------------------------------------------------------

Live::Live(const Module& module, const Function& function, const Flow& flow) : flow_(flow) {
  const size_t size = function.body.size();
  size_t places = kMaxRegisters;
  for (size_t i = 0; i < size; ++i) {
    const Instruction& in = function.body[i];
    Registers of = registers_of(module, in);
    for (const uint32_t word : frame_words(in)) {
      (in.does(ptx::Effect::kWrites) ? of.writes : of.reads).push_back(kFrameWords + word);
      places = std::max<size_t>(places, kMaxRegisters + word + 1);
    }
    const auto target = target_of(function, in);
    if (in.does(kEnds | kReturns) || (target && *target == i)) of.reads.push_back(kFrame);
    for (auto* all : {&of.reads, &of.writes}) {
      std::sort(all->begin(), all->end());
      all->erase(std::unique(all->begin(), all->end()), all->end());
    }
    reads_.push_back(std::move(of.reads)), writes_.push_back(std::move(of.writes));
    always_.push_back(is_always(in));
  }
  needed_.assign(size, Set((places + 63) / 64));
  std::vector<uint32_t> waiting(size);
  for (uint32_t i = 0; i < size; ++i) waiting[i] = i;
  std::vector<bool> queued(size, true);
  while (!waiting.empty()) {
    const uint32_t i = waiting.back();  // from the last on: most of it is right at once
    waiting.pop_back();
    queued[i] = false;
    Set now((places + 63) / 64);
    for (const Edge& edge : flow.after(i))
      if (edge.kind != Edge::kAnywhere)
        for (size_t k = 0; k < now.size(); ++k) now[k] |= needed_[edge.to][k];
    if (always_[i])
      for (const uint32_t reg : writes_[i]) now[place_of(reg) / 64] &= ~(uint64_t{1} << place_of(reg) % 64);
    for (const uint32_t reg : reads_[i]) now[place_of(reg) / 64] |= uint64_t{1} << place_of(reg) % 64;
    if (now == needed_[i]) continue;
    needed_[i] = std::move(now);
    for (const uint32_t other : flow.before(i))
      if (!queued[other]) queued[other] = true, waiting.push_back(other);
  }
}

size_t Live::place_of(uint32_t reg) { return reg < kFrameWords ? reg : kMaxRegisters + (reg - kFrameWords); }

std::vector<uint32_t> Live::needed(size_t i) const {
  std::vector<uint32_t> out;
  for (size_t k = 0; k < needed_[i].size(); ++k)
    for (uint64_t bits = needed_[i][k]; bits; bits &= bits - 1) {
      const auto place = static_cast<uint32_t>(64 * k) + static_cast<uint32_t>(std::countr_zero(bits));
      out.push_back(place < kMaxRegisters ? place : kFrameWords + (place - kMaxRegisters));
    }
  return out;
}

bool Live::needs(size_t i, uint32_t reg) const {
  const size_t place = place_of(reg);
  return place / 64 < needed_[i].size() && (needed_[i][place / 64] >> place % 64 & 1);
}

bool Live::overwrites(size_t i, uint32_t reg) const {
  return always_[i] && std::binary_search(writes_[i].begin(), writes_[i].end(), reg);
}

std::vector<uint32_t> Live::definitions(uint32_t reg, uint32_t i) const {
  const auto before = flow_.before(i);
  std::vector<uint32_t> out =
      reached({before.begin(), before.end()}, always_.size(), [&](uint32_t at, auto to) {
        if (overwrites(at, reg)) return;
        for (const uint32_t other : flow_.before(at)) to(other);
      });
  std::erase_if(
      out, [&](uint32_t at) { return !std::binary_search(writes_[at].begin(), writes_[at].end(), reg); });
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<uint32_t> Live::uses(uint32_t reg, uint32_t i) const {
  std::vector<uint32_t> out = reached({i}, always_.size(), [&](uint32_t at, auto to) {
    if (overwrites(at, reg)) return;
    for (const Edge& edge : flow_.after(at))
      if (edge.kind != Edge::kAnywhere && needs(edge.to, reg)) to(edge.to);
  });
  std::erase_if(out,
                [&](uint32_t at) { return !std::binary_search(reads_[at].begin(), reads_[at].end(), reg); });
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace triton_runner::sass
