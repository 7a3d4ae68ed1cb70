// Implements Races: the agents of streams, and what is said of a race.
#include "races.h"

#include <algorithm>

#include <triton_runner/base/text.h>

#include "state.h"

namespace triton_runner::driver {
namespace {

using machine::Act;

constexpr unsigned kNonBlocking = 1;

const char* verb(Act act) {
  switch (act) {
    case Act::kRead:
    case Act::kAtomicRead:
      return "reads";
    case Act::kWrite:
      return "writes";
    default:
      return "updates";
  }
}

Act act_of(exec::ReadSet::How how) {
  switch (how) {
    case exec::ReadSet::How::kRead:
      return Act::kRead;
    case exec::ReadSet::How::kWrite:
      return Act::kWrite;
    case exec::ReadSet::How::kAtomic:
      return Act::kAtomic;
    default:
      return Act::kAtomicRead;
  }
}

std::string place_of(Address at) {
  const Block* block = state().blocks.find(at);
  if (!block) return base::hex(at);
  return base::hex(at) + " (" + block->label + ", byte " + std::to_string(at - block->address) + ")";
}

}  // namespace

uint32_t Races::add_agent(std::string name) {
  const auto id = static_cast<uint32_t>(agents_.size());
  agents_.push_back({id});
  names_.push_back(std::move(name));
  return id;
}

uint32_t Races::agent_of(Stream& stream) {
  Streams& streams = contexts_[stream.context];
  const Context* context = state().contexts.find(stream.context);
  const bool is_per_thread = context && &stream == &context->per_thread;
  uint32_t& id = is_per_thread ? streams.per_thread[std::this_thread::get_id()] : stream.agent;
  if (id) return id;
  if (context && &stream == &context->legacy)
    return streams.all.push_back(id = streams.legacy = add_agent("the legacy default stream")), id;
  id = add_agent(is_per_thread ? "a thread's default stream" : "stream " + std::to_string(++streams_));
  streams.all.push_back(id);
  if (!(stream.flags & kNonBlocking)) streams.blocking.push_back(id);
  return id;
}

void Races::begin(Stream& stream) {
  current_ = agent_of(stream);
  const Streams& streams = contexts_[stream.context];
  ++agent().time;
  agent().seen.see(host_);
  if (current_ == streams.legacy)
    for (const uint32_t id : streams.blocking) agents_[id].publish(agent().seen);
  else if (streams.legacy && !(stream.flags & kNonBlocking))
    agents_[streams.legacy].publish(agent().seen);
}

uint32_t Races::add_record(Act act, const std::string& what, const char* does) {
  Record record;
  record.agent = current_, record.time = agent().time, record.act = act;
  record.what = what, record.does = does ? does : verb(act);
  records_.push_back(std::move(record));
  return static_cast<uint32_t>(records_.size() - 1);
}

bool Races::report(uint32_t mine, uint32_t other, Address at) {
  const Record &a = records_[mine], &b = records_[other];
  say("a race between streams: " + a.what + " in " + names_[a.agent] + " " + a.does + " " + place_of(at) +
      ", which " + b.what + " in " + names_[b.agent] + " " + b.does +
      ", and nothing orders the two\n  note: record an event after the one, and let the stream of the other "
      "wait "
      "for it (cuStreamWaitEvent)");
  return false;
}

bool Races::touch(Act act, Address at, uint64_t bytes, const std::string& what) {
  return !bytes || touch(add_record(act, what), at, bytes);
}

bool Races::touch(uint32_t mine, Address at, uint64_t bytes) {
  const Act act = records_[mine].act;
  if (const Block* block = state().blocks.find(at))
    if (auto used = uses_.find(block->address); used != uses_.end()) {
      if (is_unordered(used->second.allocated)) return report(mine, used->second.allocated, at);
      used->second.last[current_] = mine;
    }
  uint32_t other = 0;
  Address where = 0;
  history_.each(at, bytes, [&](machine::Cell& cell, uint64_t address, uint64_t) {
    if (other) return;
    other = cell.touch(
        mine, act, act == Act::kWrite || act == Act::kAtomic, [&](uint32_t r) { return is_unordered(r); },
        [&](uint32_t r) { return records_[r].act; });
    where = std::max<Address>(address, at);
  });
  return !other || report(mine, other, where);
}

bool Races::touch(const exec::ReadSet& accesses, const std::string& what) {
  bool is_right = true;
  const std::string* last = nullptr;  // the place whose stretches come now: they have one record
  uint32_t mine = 0;
  accesses.each([&](const std::string& place, exec::ReadSet::How how, uint64_t at, uint64_t bytes) {
    if (&place != last) mine = add_record(act_of(how), what + ", " + place + ","), last = &place;
    if (is_right) is_right = touch(mine, at, bytes);
  });
  return is_right;
}

void Races::allocated(Address block) {
  uses_[block].allocated = add_record(Act::kWrite, "cuMemAllocAsync", "allocates");
}

bool Races::freed(Address block) {
  const auto used = uses_.find(block);
  if (used == uses_.end()) return true;
  const Use use = std::move(used->second);
  uses_.erase(used);
  const uint32_t mine = add_record(Act::kWrite, "cuMemFreeAsync", "frees");
  if (is_unordered(use.allocated)) return report(mine, use.allocated, block);
  for (const auto& [agent, record] : use.last)
    if (is_unordered(record)) return report(mine, record, block);
  return true;
}

machine::Clock Races::mark() {
  machine::Clock out;
  agent().publish(out);
  return out;
}

void Races::waited_for_value(Address at) {
  if (const auto value = values_.find(at); value != values_.end()) wait(value->second);
}

void Races::host_saw(Stream& stream) {
  const uint32_t id = agent_of(stream);
  const Streams& streams = contexts_[stream.context];
  agents_[id].publish(host_);
  if (id == streams.legacy)
    for (const uint32_t other : streams.blocking) agents_[other].publish(host_);
  forget_what_is_ordered();
}

void Races::host_saw(const machine::Clock& event) {
  host_.see(event);
  forget_what_is_ordered();
}

void Races::host_saw_all(Handle context) {
  for (const uint32_t id : contexts_[context].all) agents_[id].publish(host_);
  forget_what_is_ordered();
}

// All that comes is ordered after all that was, once the host has seen everything.
void Races::forget_what_is_ordered() {
  if (records_.size() == 1) return;
  for (size_t i = 1; i < records_.size(); ++i)
    if (host_.of(records_[i].agent) < records_[i].time) return;
  history_.clear();
  records_.resize(1);
  for (auto& [block, use] : uses_) use = {};
}

Races::Branches Races::begin_graph(const Graph& graph) {
  Branches out;
  if (const auto before = graphs_.find(&graph); before != graphs_.end()) wait(before->second);
  out.stream = current_, out.start = mark();
  return out;
}

void Races::begin_node(Branches& branches, const Node& node) {
  uint32_t id = 0;
  for (const Node* before : node.after)
    if (!id && !std::exchange(branches.is_continued[before], true)) id = branches.done[before].first;
  if (!id && node.after.empty() && !std::exchange(branches.is_continued[nullptr], true)) id = branches.stream;
  if (!id) {
    uint32_t& own = branches_[&node];
    if (!own) own = add_agent("a branch of a graph");
    id = own;
  }
  current_ = id;
  ++agent().time;
  agent().seen.see(branches.start);
  for (const Node* before : node.after) agent().seen.see(branches.done[before].second);
}

void Races::end_node(Branches& branches, const Node& node) { branches.done[&node] = {current_, mark()}; }

void Races::end_graph(const Branches& branches, const Graph& graph) {
  current_ = branches.stream;
  for (const auto& [node, end] : branches.done) agent().seen.see(end.second);
  ++agent().time;
  graphs_[&graph] = mark();
}

}  // namespace triton_runner::driver
