// Races finds two streams that access one place of memory with nothing to order them, for `--check race`.
//
//   races.begin(stream);                                  // a kernel, a copy or a fill comes to the stream
//   races.touch(Act::kWrite, at, 400, "launch 2 ...");    // an error: another stream may access it at the same time
//
// A stream is an agent of machine/clock.h. The order comes from streams, events, the legacy default stream and what
// the host waits for; all of the program's host threads count as one agent, whose calls stand in their order.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <triton_runner/exec/read_set.h>
#include <triton_runner/machine/history.h>

#include "api.h"

namespace triton_runner::driver {

struct Stream;
struct Node;
struct Graph;

class Races {
 public:
  // Work comes to the stream: what follows is the stream's, after all that the host has seen.
  void begin(Stream& stream);
  // The stream's work is accesses to bytes; `what` says whose, for messages. False: a race, which was said.
  bool touch(machine::Act act, Address at, uint64_t bytes, const std::string& what);
  // A launch's accesses.
  bool touch(const exec::ReadSet& accesses, const std::string& what);
  // cuMemAllocAsync and cuMemFreeAsync: the block is there from here on; until here.
  void allocated(Address block);
  bool freed(Address block);
  // The host has waited for the stream, for all that the event has marked, or for all streams of the context.
  void host_saw(Stream& stream);
  void host_saw(const machine::Clock& event);
  void host_saw_all(Handle context);
  // The stream's work up to here, which an event or a value in memory marks; and the stream waits for it.
  machine::Clock mark();
  void wait(const machine::Clock& event) { agent().seen.see(event); }
  void wrote_value(Address at) { values_[at] = mark(); }
  void waited_for_value(Address at);
  // A graph's nodes come after those that they name, and after the stream's work. Between begin_graph() and end_graph(),
  // begin_node() before each; a node that follows another alone has its agent.
  struct Branches {
    uint32_t stream = 0;
    machine::Clock start;
    std::map<const Node*, std::pair<uint32_t, machine::Clock>> done;
    std::map<const Node*, bool> is_continued;
  };
  Branches begin_graph(const Graph& graph);
  void begin_node(Branches& branches, const Node& node);
  void end_node(Branches& branches, const Node& node);
  void end_graph(const Branches& branches, const Graph& graph);

 private:
  struct Record : machine::Record {
    std::string what;
    const char* does = "";
  };
  struct Streams {  // of a context
    uint32_t legacy = 0;
    std::vector<uint32_t> blocking, all;  // blocking: those that wait for the legacy stream, and it for them
    std::map<std::thread::id, uint32_t> per_thread;
  };
  struct Use {  // of a block of a pool
    uint32_t allocated = 0;
    std::map<uint32_t, uint32_t> last;  // records by agent
  };
  uint32_t agent_of(Stream& stream);
  uint32_t add_agent(std::string name);
  machine::Agent& agent() { return agents_[current_]; }
  bool touch(uint32_t mine, Address at, uint64_t bytes);  // by a record
  uint32_t add_record(machine::Act act, const std::string& what, const char* does = nullptr);
  bool is_unordered(uint32_t record) { return record != 0 && !agent().is_after(records_[record]); }
  bool report(uint32_t mine, uint32_t other, Address at);
  void forget_what_is_ordered();

  std::vector<machine::Agent> agents_{1};
  std::vector<std::string> names_{""};
  std::map<Handle, Streams> contexts_;
  std::unordered_map<const Node*, uint32_t> branches_;
  std::unordered_map<const Graph*, machine::Clock> graphs_;  // the end of its last launch
  machine::Clock host_;
  uint32_t current_ = 0, streams_ = 0;
  std::vector<Record> records_ = std::vector<Record>(1);
  machine::History history_;
  std::map<Address, Use> uses_;
  std::map<Address, machine::Clock> values_;
};

}  // namespace triton_runner::driver
