// Checks races of global memory: what programs read and write, and the atomics that order them. Shared and
// tensor memory are in race_shared.cpp, the state of both in race_state.h.
#include "check/race.h"

#include <bit>
#include <cstring>

#include <triton_runner/exec/numbers.h>
#include <triton_runner/exec/read_set.h>
#include <triton_runner/ir/enums.h>

#include "check/race_state.h"

namespace triton_runner::tile {

namespace {

using ir::MemSemantic;
bool acquires(MemSemantic s) { return s == MemSemantic::kAcquire || s == MemSemantic::kAcqRel; }
bool releases(MemSemantic s) { return s == MemSemantic::kRelease || s == MemSemantic::kAcqRel; }

}  // namespace

RaceCheck::RaceCheck(const CheckedCode& code, const exec::Memory& memory)
    : code_(code), memory_(memory), records_(1), threads_(1), warps_(code), masks_(code.code.instrs.size()) {
  for (const Instr& in : code.code.instrs) {
    accesses_.push_back(in.op ? any_access_of(in) : Access{});
    Access& a = accesses_.back();
    const bool plain = a.kind == AccessKind::kLoad || a.kind == AccessKind::kStore;
    if (plain && in.op->attr("sem")) a.kind = AccessKind::kAtomic;  // one that only looks, or only writes
    has_fences_ |= in.op && in.op->does(ir::Effect::kHint) && in.op->does(ir::Effect::kSignals);
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
  made.id = made.task = static_cast<uint32_t>(threads_.size());
  threads_.push_back({t.program->id, static_cast<int>(t.program->number_of(t)), beside});
  if (beside && beside->op) threads_.back().iterations = t.iterations(*beside);
  return made;
}

uint32_t RaceCheck::record(Thread& thread, const Instr& in, Act act, WarpMask warps) {
  if (thread.recorded != thread.time) thread.records.clear();
  thread.recorded = thread.time;
  uint32_t& known = thread.records[{&in, act, warps}];
  if (!known) {
    known = static_cast<uint32_t>(records_.size());
    records_.push_back({{thread.id, thread.time, act}, &in, warps});
  }
  return known;
}

// One warp's accesses come in their order, those of several where they have met in between.
bool RaceCheck::is_ordered(const Thread& thread, WarpMask warps, const Record& before) const {
  if (before.agent != thread.task || !warps || !before.warps) return thread.is_after(before);
  return before.time <= thread.met || (warps == before.warps && std::has_single_bit(warps));
}

uint32_t RaceCheck::touch(machine::Cell& cell, const Thread& thread, uint32_t mine, Act act,
                          bool changes) const {
  const WarpMask warps = records_[mine].warps;
  return cell.touch(
      mine, act, changes, [&](uint32_t r) { return r != 0 && !is_ordered(thread, warps, records_[r]); },
      [&](uint32_t r) { return records_[r].act; });
}

// The same for all cells of a row; false where it is a race for one of them.
bool RaceCheck::touch_row_of(machine::History::Row& row, const Thread& thread, uint32_t mine, Act act,
                             bool changes) const {
  machine::Cell cell = row.cell;
  if (touch(cell, thread, mine, act, changes)) return false;
  row.cell = cell;
  return true;
}

bool RaceCheck::global(Task& t, const Instr& in, const Thread& thread, uint32_t mine, Act act,
                       uint64_t address, uint64_t bytes, const std::byte* data, int64_t element,
                       const TileType& type) {
  if (exec::ReadSet* reads = t.worker->launch->options->reads; reads && act != Act::kWrite)
    reads->note(in.op, address, bytes, [&] { return place_text(*in.op, *t.code); });
  uint32_t other = 0;
  uint64_t where = 0;
  const auto changes_at = [&](uint64_t at, uint64_t size) {
    if (act != Act::kWrite) return act != Act::kAtomicRead;
    return std::memcmp(reinterpret_cast<const void*>(at), data + (at - address), size) != 0;
  };
  const auto touch_row = [&](machine::History::Row& row, uint64_t at, uint64_t size, uint64_t cell_size) {
    const auto changes = act == Act::kWrite ? machine::all_or_none(reinterpret_cast<const std::byte*>(at),
                                                                   data + (at - address), size, cell_size)
                                            : changes_at(at, cell_size);
    return changes && touch_row_of(row, thread, mine, act, *changes);
  };
  const auto touch_cell = [&](machine::Cell& cell, uint64_t at, uint64_t size) {
    if (other) return;
    where = std::max(at, address);
    other = touch(cell, thread, mine, act, changes_at(where, std::min(at + size, address + bytes) - where));
  };
  if (bytes > static_cast<uint64_t>(type.size))
    global_.rows(address, bytes, std::min<uint64_t>(type.size, 4), touch_row, touch_cell);
  else
    global_.each(address, bytes, touch_cell);
  if (!other) return true;
  const int64_t step = type.size ? type.size : 1;
  element += static_cast<int64_t>(where - address) / step;
  return report(t, in, exec::Race::kGlobal, act, other, global_text(where, step), type.index_of(element),
                records_[mine].warps);
}

std::string RaceCheck::global_text(uint64_t address, int64_t size) const {
  const exec::Allocation* a = memory_.find(address, 1);
  if (!a) return "memory";
  return "element " + std::to_string((address - a->address) / static_cast<uint64_t>(size)) + " of " +
         a->label;
}

bool RaceCheck::report(Task& t, const Instr& in, exec::Race race, Act act, uint32_t number,
                       const std::string& what, std::vector<int64_t> element, WarpMask warps) {
  static const char* const kNow[] = {"reads ", "writes ", "updates ", "looks at "};
  static const char* const kThen[] = {"read", "wrote", "updated atomically", "read atomically"};
  const Record& r = records_[number];
  const Who& who = threads_[r.agent];
  const bool near = who.program == t.program->id;
  const bool in_flight = who.beside && r.act == Act::kRead && r.in->op->does(ir::Effect::kLoads);
  const bool is_async = who.beside || in.op->does(ir::Effect::kAsync);
  const bool between_warps = warps && r.warps && r.agent == state(t).thread.id;
  const auto warp_of = [](WarpMask of,
                          WarpMask but) {  // one of them, another one than that of the other access
    const WarpMask some = of & ~but ? of & ~but : of;
    return std::to_string(std::countr_zero(some));
  };
  std::string other;
  if (who.beside) {
    other = "an asynchronous " + std::string(r.in->op->name);
  } else if (between_warps) {
    other = "warp " + warp_of(r.warps, warps & -warps);
  } else {
    other = "program (" + exec::numbers_text(who.program) + ")";
    if (near) other = who.task ? "partition " + std::to_string(who.task) : "the default partition";
  }
  const int a = static_cast<int>(act), b = static_cast<int>(r.act);
  std::string message;
  if (between_warps) message = "in warp " + warp_of(warps, r.warps & -r.warps) + " ";
  message += "it " + std::string(kNow[a]) + what + ", which " + other + " ";
  message += in_flight ? "that nothing has waited for may still read" : kThen[b];
  message += act == Act::kWrite && r.act == Act::kWrite && !who.beside ? " with another value" : "";
  if (between_warps) message += ": no barrier orders the two warps of the program, so that ";
  if (!between_warps && !in_flight) message += ": nothing orders the two, so that ";
  if (!in_flight) message += "the result depends on which is first";
  std::string place = place_text(*r.in->op, *t.code);
  if (in_flight && !who.iterations.empty())
    place += ", issued in iteration (" + exec::numbers_text(who.iterations) + ")";
  std::vector<std::string> notes{(in_flight ? "the copy is " : "the other access is ") + place};
  if (between_warps) notes.push_back("tl.debug_barrier() between the two orders them");
  return trap_with_notes(t, in, is_async ? exec::Race::kInFlight : race, std::move(message),
                         std::move(element), std::move(notes));
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
  TaskState& s = state(t);
  Thread& thread = s.issues == &in ? s.issued : s.thread;
  const WarpMask warps = warps_.are_known() ? 1 : 0;  // one thread asks for all of it
  return global(t, in, thread, record(thread, in, act, warps), act, address, bytes, data, element, flat);
}

// Elements of one store that go to the same address with different values.
bool RaceCheck::twice(Task& t, const Instr& in, const Access& a) {
  const Slot value = static_cast<Slot>(a.value);
  const TileType& type = t.type(value);
  bool rising = true;
  uint64_t least = 0;  // of the next address
  each_stretch(t, a, type, [&](int64_t, int64_t n, uint64_t address) {
    rising &= address >= least;
    least = address + static_cast<uint64_t>(n - 1) * type.size + 1;
    return rising;
  });
  if (rising || t.is_uniform(value)) return true;
  std::vector<std::pair<uint64_t, int64_t>> places;
  each_address(t, a, type, [&](int64_t i, uint64_t address) {
    places.emplace_back(address, i);
    return true;
  });
  std::sort(places.begin(), places.end());
  const auto* data = t.dense<std::byte>(value);
  for (size_t k = 1; k < places.size(); ++k) {
    const auto [address, i] = places[k];
    const int64_t j = places[k - 1].second;
    if (places[k - 1].first != address || !std::memcmp(data + i * type.size, data + j * type.size, type.size))
      continue;
    return trap_with_notes(
        t, in, exec::Race::kGlobal,
        "it writes " + global_text(address, type.size) + ", which element [" +
            exec::numbers_text(type.index_of(j)) +
            "] of the same store writes with another value: which of them stays depends on the order",
        type.index_of(i), {});
  }
  return true;
}

// The records of an instruction by element.
class RaceCheck::WarpRecords {
 public:
  WarpRecords(RaceCheck& check, const Instr& in, Thread& thread, Act act)
      : check_(check), in_(in), thread_(thread), act_(act) {
    if (!check.warps_.are_known()) return;
    auto& known = check.masks_[&in - check.code_.code.instrs.data()];
    if (!known) known = check.warps_.of(in);
    masks_ = &*known;
  }
  // How many elements from `first` on, below `end`, the same warps access.
  int64_t alike(int64_t first, int64_t end) const {
    if (!masks_ || masks_->size() <= 1) return end - first;
    int64_t i = first;
    while (i < end && (*masks_)[static_cast<size_t>(i)] == (*masks_)[static_cast<size_t>(first)]) ++i;
    return i - first;
  }
  // 0: no warp makes the access, or its copy goes nowhere.
  uint32_t of(int64_t element) const {
    if (masks_ && masks_->empty()) return 0;
    const WarpMask mask = masks_ ? (*masks_)[masks_->size() == 1 ? 0 : static_cast<size_t>(element)] : 0;
    if (last_ && mask == mask_) return last_;
    mask_ = mask;
    if (mask == 0 && masks_ && masks_->size() > 1) return last_ = 0;
    return last_ = check_.record(thread_, in_, act_, mask);
  }

 private:
  RaceCheck& check_;
  const Instr& in_;
  Thread& thread_;
  const Act act_;
  const std::vector<WarpMask>* masks_ = nullptr;
  mutable WarpMask mask_ = 0;
  mutable uint32_t last_ = 0;
};

bool RaceCheck::access(Task& t, const Instr& in, const Access& a, Thread& thread) {
  const bool store = a.kind == AccessKind::kStore;
  if (store && !twice(t, in, a)) return false;
  const TileType& type = t.type(store ? static_cast<Slot>(a.value) : in.result());
  // A volatile load looks at what atomics write at the same time, as a relaxed one does (PTX ISA 8.4.2).
  const bool is_volatile = !store && in.op->int_attr("isVolatile", 0) != 0;
  if (is_volatile && has_fences_)
    each_address(t, a, type, [&](int64_t, uint64_t address) { return thread.looked.insert(address), true; });
  const auto* data = store ? t.dense<std::byte>(static_cast<Slot>(a.value)) : nullptr;
  const Act act = store ? Act::kWrite : is_volatile ? Act::kAtomicRead : Act::kRead;
  const WarpRecords records(*this, in, thread, act);
  // Elements that follow each other in memory and are the same warps' make one access.
  struct Run {
    uint64_t address, end;
    int64_t element, next;
    uint32_t record;
  };
  Run run{};
  const uint64_t size = type.size;
  const auto look_at = [&](uint64_t address, uint64_t bytes, int64_t element) {
    return global(t, in, thread, run.record, act, address, bytes, data ? data + element * type.size : nullptr,
                  element, type);
  };
  const auto end_run = [&] {
    if (!run.record) return true;
    if (t.worker->memory.readable(run.address, run.end - run.address))
      return look_at(run.address, run.end - run.address, run.element);
    for (uint64_t at = run.address; at < run.end;
         at += size, ++run.element)  // the op itself traps at the others
      if (t.worker->memory.readable(at, size) && !look_at(at, size, run.element)) return false;
    return true;
  };
  const bool ok = each_stretch(t, a, type, [&](int64_t i, int64_t n, uint64_t address) {
    for (const int64_t end = i + n; i < end;) {
      const int64_t alike = records.alike(i, end);
      const uint64_t bytes = static_cast<uint64_t>(alike) * size;
      const uint32_t mine = records.of(i);
      if (mine == run.record && address == run.end && i == run.next) {
        run.end += bytes, run.next += alike;
      } else {
        if (!end_run()) return false;
        run = {address, address + bytes, i, i + alike, mine};
      }
      i += alike, address += bytes;
    }
    return true;
  });
  return ok && end_run();
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
  ++atomics_;
  if (wide && !stores && (acquires(semantic) || has_fences_))
    each_address(t, a, type, [&](int64_t, uint64_t address) {
      if (acquires(semantic))
        released_.acquire(address, thread);
      else
        thread.looked.insert(address);
      return true;
    });
  const Act act = looks ? Act::kAtomicRead : Act::kAtomic;
  const WarpRecords records(*this, in, thread, act);
  bool released = false;
  const bool ok = each_address(t, a, type, [&](int64_t i, uint64_t address) {
    const bool fails = expected && std::memcmp(old + i * type.size, expected + i * type.size, type.size) != 0;
    if (fails) return true;
    if (!global(t, in, thread, records.of(i), act, address, type.size, nullptr, i, type)) return false;
    if (!wide || looks) return true;
    if (releases(semantic))
      released_.publish(address, thread, atomics_), released = true;
    else if (thread.at_fence)
      released_.publish(address, *thread.at_fence, atomics_);
    return true;
  });
  if (released) ++thread.time;
  return ok;
}

void RaceCheck::fence_memory(Thread& thread) {
  for (uint64_t address : thread.looked) released_.acquire(address, thread);
  thread.looked.clear();
  thread.at_fence = static_cast<const machine::Agent&>(thread);
  ++thread.time;
}

bool RaceCheck::before(Task& t, const Instr& in) {
  const Access& a = accesses_[&in - t.code->instrs.data()];
  if (warps_.are_known() && warps_.meet_before(in)) meet(state(t));
  const bool plain = a.kind == AccessKind::kLoad || a.kind == AccessKind::kStore;
  if (plain && !in.op->does(ir::Effect::kAsync) && !access(t, in, a, state(t).thread)) return false;
  return shared_before(t, in);
}

bool RaceCheck::after(Task& t, const Instr& in) {
  const Access& a = accesses_[&in - t.code->instrs.data()];
  if ((a.kind == AccessKind::kAtomic || a.kind == AccessKind::kPoll) && !atomics(t, in, a)) return false;
  if (!shared_after(t, in)) return false;
  state(t).issues = nullptr;
  if (warps_.are_known() && warps_.meet_after(in)) meet(state(t));
  return true;
}

void RaceCheck::meet(TaskState& s) {
  s.thread.meet();
  s.ranges.clear();
}

}  // namespace triton_runner::tile
