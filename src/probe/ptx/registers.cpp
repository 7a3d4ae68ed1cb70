// Implements RegisterRecorder: makes records of reads of registers. A record of a value is whole when every
// thread that holds a part of it came; one of named registers keeps what each thread had.
#include <triton_runner/probe/registers.h>

#include <algorithm>
#include <cstring>

#include <triton_runner/num/types.h>

#include "programs.h"

namespace triton_runner::probe {
namespace {

// Registers of a tap that are always read together: one counter for all of them.
using Groups = std::vector<uint32_t>;  // of each register of a tap

Groups groups_of(const RegisterPlan& plan, uint32_t tap) {
  std::vector<std::vector<size_t>> parts(plan.taps[tap].registers);
  for (size_t p = 0; p < plan.parts.size(); ++p)
    if (plan.parts[p].kind == RegisterPlan::Part::kRead && plan.parts[p].tap == tap)
      for (uint32_t r : plan.parts[p].registers) parts[r].push_back(p);
  std::map<std::vector<size_t>, uint32_t> numbers;
  Groups out;
  for (const auto& p : parts)
    out.push_back(numbers.try_emplace(p, static_cast<uint32_t>(numbers.size())).first->second);
  return out;
}

}  // namespace

struct RegisterRecorder::Open {
  std::vector<std::byte> data;  // empty: there was no room
  std::vector<uint8_t> filled;
  std::vector<int64_t> iterations;
  std::vector<std::array<int64_t, 4>> copies;  // that differ: {-, element, block, thread}
  std::vector<std::byte> copy_data;
  uint64_t reads = 0;
  bool stored = false;  // there was room
};

struct RegisterRecorder::Program {
  struct OfTap {
    std::vector<uint32_t> executions;  // by group, block and thread
    std::map<uint32_t, Open> open;     // by execution
    size_t last = SIZE_MAX;  // place of the last record in the series, unless every iteration is kept
  };
  std::array<int64_t, 3> id;
  std::vector<OfTap> taps;
  std::map<uint32_t, std::vector<int64_t>> turns;  // of a loop, by block and thread
};

struct RegisterRecorder::TapState {
  Series series;
  Groups groups;
  uint32_t num_groups = 0;
  int64_t differing = 0;   // elements of which two threads have other bits
  int64_t incomplete = 0;  // records
};

RegisterRecorder::RegisterRecorder(RegisterPlan plan, RecorderOptions options)
    : plan_(std::move(plan)), options_(std::move(options)) {
  for (uint32_t t = 0; t < plan_.taps.size(); ++t) {
    TapState& state = taps_.emplace_back();
    state.series.site = plan_.taps[t].site;
    state.groups = groups_of(plan_, t);
    state.num_groups = 1 + *std::max_element(state.groups.begin(), state.groups.end());
    widths_.push_back(static_cast<uint32_t>(num::size_of(plan_.taps[t].site.type)));
  }
}
RegisterRecorder::~RegisterRecorder() = default;

void RegisterRecorder::on_registers(const exec::RegisterEvent& event) {
  if (!is_asked(options_.programs, event.program)) return;
  const RegisterPlan::Part& part = plan_.parts[event.probe];
  std::lock_guard lock(mutex_);
  Program& program = programs_[event.program];
  if (program.taps.empty()) {
    program.id = event.program;
    program.taps.resize(plan_.taps.size());
  }
  if (part.kind == RegisterPlan::Part::kRead) return read(event, program, part);
  std::vector<int64_t>& turns = program.turns[part.tap];
  turns.resize(std::max<size_t>(turns.size(), size_t{event.block + 1} * kMostThreads), -1);
  for (uint32_t i = 0; i < event.count; ++i) {
    if (!event.on(i)) continue;
    int64_t& n = turns[event.block * kMostThreads + event.first + i];
    n = part.kind == RegisterPlan::Part::kLoopEnters ? -1 : n + 1;
  }
}

void RegisterRecorder::read(const exec::RegisterEvent& event, Program& program,
                            const RegisterPlan::Part& part) {
  const Tap& tap = plan_.taps[part.tap];
  TapState& state = taps_[part.tap];
  Program::OfTap& mine = program.taps[part.tap];
  const uint32_t width = widths_[part.tap];
  const auto elements = static_cast<size_t>(tap.site.num_elements());
  const uint64_t whole = tap.elements.size();
  if (mine.executions.empty()) mine.executions.resize(size_t{state.num_groups} * tap.blocks * tap.threads);
  const bool keep_all = options_.every_iteration;
  const std::vector<uint32_t>& registers = part.registers;
  for (uint32_t i = 0; i < event.count; ++i) {
    const uint32_t thread = event.first + i;
    if (!event.on(i) || thread < tap.first_thread || thread >= tap.first_thread + tap.threads) continue;
    uint32_t seen = ~uint32_t{0}, execution = 0;
    Open* record = nullptr;
    for (size_t k = 0; k < registers.size(); ++k) {
      const uint32_t r = registers[k], group = state.groups[r];
      if (group != seen) {
        seen = group;
        execution = mine.executions[(size_t{group} * tap.blocks + event.block) * tap.threads + thread -
                                    tap.first_thread]++;
        // For named registers the last execution of each thread is what stays.
        auto [at, fresh] = mine.open.try_emplace(tap.per_thread && !keep_all ? 0 : execution);
        record = &at->second;
        if (fresh) {
          const auto bytes = static_cast<int64_t>(elements * width);
          record->stored = bytes_ + bytes <= options_.max_bytes;
          if (record->stored) {
            bytes_ += bytes;
            record->data.resize(static_cast<size_t>(bytes));
            record->filled.resize(elements);
          }
          for (uint32_t loop : tap.loops)
            record->iterations.push_back(
                program.turns[loop].empty() ? 0 : program.turns[loop][event.block * kMostThreads + thread]);
          if (tap.loops.empty() && tap.site.loops == 1) record->iterations.push_back(execution);
        } else if (tap.per_thread && !keep_all) {
          record->iterations[0] = std::max<int64_t>(record->iterations[0], execution);
        }
      }
      ++record->reads;
      if (!record->stored) continue;
      const auto element = static_cast<size_t>(
          tap.elements[(size_t{event.block} * tap.registers + r) * tap.threads + thread - tap.first_thread]);
      std::byte value[8];
      std::memcpy(value, event.values[k] + size_t{part.widths[k]} * i + part.offsets[k], width);
      if (tap.site.type == num::Type::kI1) value[0] &= std::byte{1};
      std::byte* to = record->data.data() + element * width;
      if (record->filled[element] && !tap.per_thread && std::memcmp(to, value, width) != 0) {
        ++state.differing;
        keep_copy(*record, element, event.block, thread, value, width);
        continue;
      }
      std::memcpy(to, value, width);
      record->filled[element] = 1;
    }
    if (!tap.per_thread && record && record->reads == whole) {
      finish(part.tap, program, *record);
      mine.open.erase(execution);
    }
  }
}

// A copy of an element that has other bits than the one that came first, as long as there is room.
void RegisterRecorder::keep_copy(Open& record, size_t element, uint32_t block, uint32_t thread,
                                 const std::byte* value, uint32_t width) {
  constexpr int64_t kBytes = sizeof(record.copies[0]) + sizeof(uint64_t);
  if (bytes_ + kBytes > options_.max_bytes) return;
  bytes_ += kBytes;
  record.copies.push_back({0, static_cast<int64_t>(element), block, thread});
  record.copy_data.insert(record.copy_data.end(), value, value + width);
}

// Replaces the copies of the series' record number `at`, which had another execution's before, or none.
void RegisterRecorder::replace_copies(Series& s, size_t at, const Open& record) {
  const auto width = s.site.record_bytes() / s.site.num_elements(), number = static_cast<int64_t>(at);
  size_t kept = 0;
  for (size_t i = 0; i < s.copies.size(); ++i) {
    if (s.copies[i][0] == number) continue;
    s.copies[kept] = s.copies[i];
    std::memmove(&s.copy_data[kept * width], &s.copy_data[i * width], width);
    ++kept;
  }
  s.copies.resize(kept);
  s.copy_data.resize(kept * width);
  for (std::array<int64_t, 4> copy : record.copies) {
    copy[0] = number;
    s.copies.push_back(copy);
  }
  s.copy_data.insert(s.copy_data.end(), record.copy_data.begin(), record.copy_data.end());
}

void RegisterRecorder::finish(uint32_t tap, Program& program, Open& record) {
  TapState& state = taps_[tap];
  Series& s = state.series;
  Program::OfTap& mine = program.taps[tap];
  const auto bytes = static_cast<int64_t>(s.site.record_bytes());
  if (!record.stored) {
    ++s.dropped;
    return;
  }
  if (!plan_.taps[tap].per_thread &&
      std::find(record.filled.begin(), record.filled.end(), 0) != record.filled.end()) {
    ++state.incomplete;
    bytes_ -= bytes;
    return;
  }
  if (!options_.every_iteration && mine.last != SIZE_MAX) {
    std::copy(record.data.begin(), record.data.end(),
              s.data.begin() + static_cast<ptrdiff_t>(mine.last) * bytes);
    std::copy(record.iterations.begin(), record.iterations.end(),
              s.iterations.begin() + static_cast<ptrdiff_t>(mine.last) * s.site.loops);
    bytes_ -= bytes;
    replace_copies(s, mine.last, record);
    return;
  }
  mine.last = s.size();
  replace_copies(s, mine.last, record);
  s.programs.push_back(program.id);
  s.iterations.insert(s.iterations.end(), record.iterations.begin(), record.iterations.end());
  s.data.insert(s.data.end(), record.data.begin(), record.data.end());
  if (plan_.taps[tap].per_thread) s.mask.insert(s.mask.end(), record.filled.begin(), record.filled.end());
}

Recording RegisterRecorder::take() {
  std::lock_guard lock(mutex_);
  for (auto& [id, program] : programs_)
    for (uint32_t t = 0; t < program.taps.size(); ++t)
      for (auto& [execution, record] : program.taps[t].open) finish(t, program, record);
  Recording result;
  result.notes = plan_.notes;
  for (uint32_t t = 0; t < taps_.size(); ++t) {
    TapState& state = taps_[t];
    const std::string& name = state.series.site.value;
    if (state.series.dropped)
      result.notes.push_back(name + ": " + std::to_string(state.series.dropped) +
                             " records are not here, as all together may have " +
                             std::to_string(options_.max_bytes) + " bytes (max_bytes)");
    if (state.incomplete)
      result.notes.push_back(name + ": " + std::to_string(state.incomplete) +
                             " records are not here, as not all threads that hold a part of it came");
    if (state.differing)
      result.notes.push_back(name + ": " + std::to_string(state.differing) +
                             " times two threads that hold the same element had different bits of it");
    Series empty;
    empty.site = state.series.site;
    result.series.push_back(std::exchange(state.series, std::move(empty)));
    state.differing = state.incomplete = 0;
  }
  programs_.clear();
  bytes_ = 0;
  result.sort();
  return result;
}

}  // namespace triton_runner::probe
