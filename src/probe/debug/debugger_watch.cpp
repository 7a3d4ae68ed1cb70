// Watches values, elements, memory and barriers: whether they have changed since a program last came to a
// place. It also makes the changes that somebody asks for by hand.
#include <triton_runner/probe/debugger.h>

#include <algorithm>
#include <cstring>

#include <triton_runner/machine/mbarrier.h>
#include <triton_runner/num/types.h>

#include "elements.h"

namespace triton_runner::probe {

// The first look says what there is, and only where that is asked for a change.
bool Debugger::is_other(Kept& kept, const std::pair<Program, size_t>& owner,
                        std::span<const std::byte> now) const {
  std::vector<std::byte>& last = kept.last[owner];
  const bool changed = last.empty() ? kept.breakpoint.first : !std::ranges::equal(last, now);
  if (changed || last.empty()) last.assign(now.begin(), now.end());
  return changed;
}

// Hands over the nearest value with a name, or a variable that stands in registers. False: it is not there.
bool Debugger::look(const std::string& name, uint32_t place, exec::Stopped& stopped,
                    const std::function<void(const exec::Elements&)>& take) {
  const Variables* of = variable(name);
  if (auto* lanes = of ? dynamic_cast<exec::StoppedLanes*>(&stopped) : nullptr) {
    const Variables::Found& found = of->find(name, places_[place].code());
    if (found.status != Variables::Status::kThere) return false;
    const Variables::Elements e = of->read(found, *lanes);
    const Site& site = of->assignments()[found.assignment].site;
    const bool is_whole = std::find(e.there.begin(), e.there.end(), 0) == e.there.end();
    take({site.type, site.shape, e.data.data(), is_whole ? std::span<const int8_t>{} : e.there});
    return true;
  }
  const std::optional<size_t> value = find(stopped, name);
  return value && stopped.look(*value, take);
}

bool Debugger::has_changed(Kept& kept, uint32_t place, exec::Stopped& stopped) {
  const std::pair<Program, size_t> owner{stopped.program(), stopped.task()};
  bool changed = false;
  const bool is_there = look(kept.breakpoint.watch, place, stopped, [&](const exec::Elements& e) {
    const size_t size = num::size_of(e.type);
    std::span<const std::byte> now{e.data, static_cast<size_t>(count_of(e)) * size};
    if (!kept.breakpoint.element.empty()) {
      const auto at = place_in(kept.breakpoint.element, e.shape);
      if (!at) return;
      now = now.subspan(static_cast<size_t>(*at) * size, size);
    }
    changed = is_other(kept, owner, now);
  });
  if (!is_there && kept.breakpoint.first) kept.last.erase(owner);
  return changed;
}

bool Debugger::memory_has_changed(Kept& kept, exec::Stopped& stopped) {
  const WatchedMemory& m = kept.breakpoint.memory;
  const bool global = m.space == WatchedMemory::kGlobal;
  const std::byte* at = nullptr;
  if (!global) {
    at = stopped.shared(m.at, m.bytes);
  } else if (std::any_of(memory_.begin(), memory_.end(), [&](const exec::Allocation& a) {
               return m.at >= a.address && m.bytes <= a.bytes && m.at - a.address <= a.bytes - m.bytes;
             })) {
    at = reinterpret_cast<const std::byte*>(m.at);
  }
  if (!at) return false;
  const auto* lanes = dynamic_cast<const exec::StoppedLanes*>(&stopped);
  const std::pair<Program, size_t> owner{global ? Program{} : stopped.program(),
                                         lanes && !global ? lanes->block() : 0};
  if (m.space != WatchedMemory::kBarrier) return is_other(kept, owner, {at, m.bytes});
  machine::Mbarrier barrier;
  std::memcpy(&barrier, at, sizeof barrier);
  const std::byte phase{static_cast<uint8_t>(barrier.is_there() ? barrier.phase : 2)};
  return is_other(kept, owner, {&phase, 1}) && barrier.is_there();
}

bool Debugger::edit(exec::Stopped& stopped, const Edit& edit) {
  switch (edit.kind) {
    case Edit::kWrite:
      return stopped.write(edit.what, edit.elements);
    case Edit::kWriteShared: {
      std::byte* at = stopped.shared(edit.what, edit.elements.size());
      if (at) std::copy(edit.elements.begin(), edit.elements.end(), at);
      return at != nullptr;
    }
    case Edit::kFreeze:
    case Edit::kThaw:
      return stopped.freeze(edit.what, edit.kind == Edit::kFreeze);
  }
  return false;
}

}  // namespace triton_runner::probe
