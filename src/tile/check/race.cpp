// Global memory: what programs read and write, and the atomics that order them.
#include "check/race.h"

#include <cstring>

#include <triton_runner/exec/numbers.h>
#include <triton_runner/ir/enums.h>

#include "check/race_state.h"

namespace triton_runner::tile {

namespace {

using ir::MemSemantic;
bool acquires(MemSemantic s) { return s == MemSemantic::kAcquire || s == MemSemantic::kAcqRel; }
bool releases(MemSemantic s) { return s == MemSemantic::kRelease || s == MemSemantic::kAcqRel; }

}  // namespace

RaceCheck::RaceCheck(const CheckedCode& code, const exec::Memory& memory)
    : code_(code), memory_(memory), records_(1), threads_(1) {
  for (const Instr& in : code.code.instrs) {
    accesses_.push_back(in.op ? any_access_of(in) : Access{});
    Access& a = accesses_.back();
    const bool plain = a.kind == AccessKind::kLoad || a.kind == AccessKind::kStore;
    if (plain && in.op->attr("sem")) a.kind = AccessKind::kAtomic;  // one that only looks, or only writes
  }
}

RaceCheck::~RaceCheck() = default;

RaceCheck::ProgramRace& RaceCheck::of(const Program& program) {
  return static_cast<ProgramRace&>(*static_cast<ProgramChecks&>(*program.checks).race);
}

void RaceCheck::begin(Program& program) {
  auto& checks = static_cast<ProgramChecks&>(*program.checks);
  checks.race = std::make_unique<ProgramRace>();
  if (program.led)
    std::erase_if(met_, [&](const auto& phase) { return phase.first.first == program.led.get(); });
  ProgramRace& race = of(program);
  race.tensor_core = new_thread(program.tasks.front(), code_.code.entry);
}

RaceCheck::TaskState& RaceCheck::state(Task& t) {
  ProgramRace& race = of(*t.program);
  for (TaskState& s : race.tasks)
    if (s.task == &t) return s;
  TaskState& made = race.tasks.emplace_back();
  made.task = &t;
  made.thread = new_thread(t, nullptr);
  return made;
}

RaceCheck::Thread RaceCheck::new_thread(const Task& t, const Instr* beside) {
  Thread made;
  made.id = static_cast<uint32_t>(threads_.size());
  threads_.push_back({t.program->id, static_cast<int>(t.program->number_of(t)), beside});
  return made;
}

uint32_t RaceCheck::record(Thread& thread, const Instr& in, Act act) {
  if (thread.recorded != thread.time) thread.records.clear();
  thread.recorded = thread.time;
  uint32_t& known = thread.records[{&in, act}];
  if (!known) {
    known = static_cast<uint32_t>(records_.size());
    records_.push_back({{thread.id, thread.time, act}, &in});
  }
  return known;
}

uint32_t RaceCheck::touch(machine::Cell& cell, const Thread& thread, uint32_t mine, Act act,
                          bool changes) const {
  return cell.touch(
      mine, act, changes, [&](uint32_t r) { return r != 0 && !thread.is_after(records_[r]); },
      [&](uint32_t r) { return records_[r].act; });
}

bool RaceCheck::global(Task& t, const Instr& in, const Thread& thread, uint32_t mine, Act act,
                       uint64_t address, uint64_t bytes, const std::byte* data, int64_t element,
                       const TileType& type) {
  uint32_t other = 0;
  uint64_t where = 0;
  global_.each(address, bytes, [&](machine::Cell& cell, uint64_t at, uint64_t size) {
    if (other) return;
    bool changes = act != Act::kAtomicRead;
    if (act == Act::kWrite) {
      const uint64_t begin = std::max(at, address), end = std::min(at + size, address + bytes);
      changes = std::memcmp(reinterpret_cast<const void*>(begin), data + (begin - address), end - begin) != 0;
    }
    other = touch(cell, thread, mine, act, changes);
    where = at;
  });
  if (!other) return true;
  const int64_t step = type.size ? type.size : 1;
  element += static_cast<int64_t>(std::max(where, address) - address) / step;
  return report(t, in, act, other, global_text(std::max(where, address), step), type.index_of(element));
}

std::string RaceCheck::global_text(uint64_t address, int64_t size) const {
  const exec::Allocation* a = memory_.find(address, 1);
  if (!a) return "memory";
  return "element " + std::to_string((address - a->address) / static_cast<uint64_t>(size)) + " of " +
         a->label;
}

bool RaceCheck::report(Task& t, const Instr& in, Act act, uint32_t number, const std::string& what,
                       std::vector<int64_t> element) {
  static const char* const kNow[] = {"reads ", "writes ", "updates ", "looks at "};
  static const char* const kThen[] = {"read", "wrote", "updated atomically", "read atomically"};
  const Record& r = records_[number];
  const Who& who = threads_[r.agent];
  std::string other;
  if (who.beside) {
    other = "an asynchronous " + std::string(r.in->op->name);
  } else {
    other = "program (" + exec::numbers_text(who.program) + ")";
    if (who.program == t.program->id)
      other = who.task ? "partition " + std::to_string(who.task) : "the default partition";
  }
  const int a = static_cast<int>(act), b = static_cast<int>(r.act);
  std::string message = "it " + std::string(kNow[a]) + what + ", which " + other + " " + kThen[b];
  message += act == Act::kWrite && r.act == Act::kWrite && !who.beside ? " with another value" : "";
  message += ": nothing orders the two, so that the result depends on which is first";
  std::vector<std::string> notes{"the other access is " + place_text(*r.in->op, *t.code)};
  return trap_with_notes(t, in, exec::TrapKind::kRace, std::move(message), std::move(element),
                         std::move(notes));
}

bool RaceCheck::block(Task& t, const Instr& in, AccessKind kind, uint64_t address, uint64_t bytes,
                      int64_t element, int64_t size, const std::byte* data) {
  TileType flat;  // elements of a block are told by their number
  flat.rank = 1;
  flat.shape = {int64_t{1} << 62};
  flat.size = static_cast<uint8_t>(size);
  const Act act = kind == AccessKind::kLoad    ? Act::kRead
                  : kind == AccessKind::kStore ? Act::kWrite
                                               : Act::kAtomic;
  Thread& thread = state(t).thread;
  return global(t, in, thread, record(thread, in, act), act, address, bytes, data, element, flat);
}

// Elements of one store that go to the same address with different values.
bool RaceCheck::twice(Task& t, const Instr& in, const Access& a) {
  const Slot value = static_cast<Slot>(a.value);
  const TileType& type = t.type(value);
  std::vector<std::pair<uint64_t, int64_t>> places;
  bool rising = true;
  each_address(t, a, type, [&](int64_t i, uint64_t address) {
    rising &= places.empty() || places.back().first < address;
    places.emplace_back(address, i);
    return true;
  });
  if (rising || t.is_uniform(value)) return true;
  std::sort(places.begin(), places.end());
  const auto* data = t.dense<std::byte>(value);
  for (size_t k = 1; k < places.size(); ++k) {
    const auto [address, i] = places[k];
    const int64_t j = places[k - 1].second;
    if (places[k - 1].first != address || !std::memcmp(data + i * type.size, data + j * type.size, type.size))
      continue;
    return trap_with_notes(
        t, in, exec::TrapKind::kRace,
        "it writes " + global_text(address, type.size) + ", which element [" +
            exec::numbers_text(type.index_of(j)) +
            "] of the same store writes with another value: which of them stays depends on the order",
        type.index_of(i), {});
  }
  return true;
}

bool RaceCheck::access(Task& t, const Instr& in, const Access& a) {
  const bool store = a.kind == AccessKind::kStore;
  if (store && !twice(t, in, a)) return false;
  const TileType& type = t.type(store ? static_cast<Slot>(a.value) : in.result());
  // It looks at what others write at the same time, as a relaxed atomic does.
  if (!store && in.op->int_attr("isVolatile", 0) != 0) return true;
  const auto* data = store ? t.dense<std::byte>(static_cast<Slot>(a.value)) : nullptr;
  const Act act = store ? Act::kWrite : Act::kRead;
  Thread& thread = state(t).thread;
  const uint32_t mine = record(thread, in, act);
  return each_address(t, a, type, [&](int64_t i, uint64_t address) {
    if (!t.worker->memory.readable(address, type.size)) return true;  // the op itself traps
    return global(t, in, thread, mine, act, address, type.size, data ? data + i * type.size : nullptr, i,
                  type);
  });
}

// After it ran: what it found tells whether a compare-and-swap wrote anything.
bool RaceCheck::atomics(Task& t, const Instr& in, const Access& a) {
  const bool polls = a.kind == AccessKind::kPoll, stores = in.num_results == 0, looks = a.value == kNoSlot;
  const TileType& type = t.type(polls    ? static_cast<Slot>(a.expected)
                                : stores ? static_cast<Slot>(a.value)
                                         : in.result());
  const auto semantic = in.op->attr("sem") ? in.op->enum_attr<MemSemantic>("sem") : MemSemantic::kAcqRel;
  // A block's own scope orders nothing between programs.
  const bool wide = in.op->enum_attr<ir::MemSyncScope>("scope") != ir::MemSyncScope::kCta;
  const std::byte *old = nullptr, *expected = nullptr;
  if (a.expected != kNoSlot && !polls) {
    old = t.dense<std::byte>(in.result());
    expected = t.dense<std::byte>(static_cast<Slot>(a.expected));
  }
  Thread& thread = state(t).thread;
  if (wide && acquires(semantic) && !stores)
    each_address(t, a, type, [&](int64_t, uint64_t address) {
      if (auto it = released_.find(address); it != released_.end()) thread.seen.see(it->second);
      return true;
    });
  const Act act = looks ? Act::kAtomicRead : Act::kAtomic;
  const uint32_t mine = record(thread, in, act);
  bool released = false;
  const bool ok = each_address(t, a, type, [&](int64_t i, uint64_t address) {
    const bool fails = expected && std::memcmp(old + i * type.size, expected + i * type.size, type.size) != 0;
    if (fails) return true;
    if (!global(t, in, thread, mine, act, address, type.size, nullptr, i, type)) return false;
    if (!wide || looks || !releases(semantic)) return true;
    thread.publish(released_[address]);
    return released = true;
  });
  if (released) ++thread.time;
  return ok;
}

bool RaceCheck::before(Task& t, const Instr& in) {
  const Access& a = accesses_[&in - t.code->instrs.data()];
  if ((a.kind == AccessKind::kLoad || a.kind == AccessKind::kStore) && !access(t, in, a)) return false;
  return shared_before(t, in);
}

bool RaceCheck::after(Task& t, const Instr& in) {
  const Access& a = accesses_[&in - t.code->instrs.data()];
  if ((a.kind == AccessKind::kAtomic || a.kind == AccessKind::kPoll) && !atomics(t, in, a)) return false;
  return shared_after(t, in);
}

}  // namespace triton_runner::tile
