// Makes the trap of a fault of a running kernel, and notes accesses that a launch goes on after.
#include <algorithm>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/faults.h>

#include "task.h"
#include "trace/location.h"
#include "trace/origin.h"

namespace triton_runner::tile {

exec::Trap Task::made_trap(const Instr& in, exec::Cause cause, std::string message,
                           std::vector<int64_t> element) const {
  exec::Trap trap;
  trap.kind = cause.kind;
  trap.race = cause.race;
  trap.kernel = code->kernel;
  if (in.op) {
    trap.op = std::string(in.op->name);
    trap.location = location_of(*in.op, *code->module);
  }
  trap.message = std::move(message);
  trap.program = program->id;
  trap.element = std::move(element);
  // A clock stops a loop anywhere.
  const bool anywhere = cause.kind == exec::TrapKind::kTimeout || cause.kind == exec::TrapKind::kInterrupted;
  if (!anywhere) trap.iterations = iterations(in);
  return trap;
}

std::vector<int64_t> Task::iterations(const Instr& in) const {
  std::vector<int64_t> out;
  for (uint32_t loop = in.loop; loop; loop = code->loops[loop - 1].parent)
    out.push_back(values[code->loops[loop - 1].counter].bits);
  std::reverse(out.begin(), out.end());
  return out;
}

const Instr* Task::record(const Instr& in, exec::Trap trap) {
  worker->launch->record(std::move(trap), program->number);
  return stop(Outcome::kTrapped, &in);
}

const Instr* Task::trap(const Instr& in, exec::Cause cause, std::string message,
                        std::vector<int64_t> element) {
  return record(in, made_trap(in, cause, std::move(message), std::move(element)));
}

exec::Trap Task::access_trap(const Instr& in, uint64_t address, uint32_t bytes, bool write, int64_t index,
                             const TileType& shape) const {
  std::vector<int64_t> element;
  if (index >= 0) element = shape.index_of(index);
  const exec::Memory& memory = *worker->launch->memory;
  std::optional<Place> place;
  if (in.op)
    if (std::optional<uint32_t> parameter = parameter_of(*in.op, *code))
      place = place_of(*worker->launch, *parameter, address);
  const uint32_t owner = worker->memory.owner();
  const exec::Allocation* found = memory.find(address, bytes, owner);
  const std::string nearest = memory.describe(address, bytes, place && !found ? place->base : 0, owner);
  std::string what = std::string(write ? "writing " : "reading ") + std::to_string(bytes) +
                     (bytes == 1 ? " byte" : " bytes") + " at " + base::hex(address);
  if (place) what += " (" + place->str() + ")";
  const bool misaligned = bytes && address % bytes != 0 && found;
  if (misaligned)
    what += ", which is not a multiple of " + std::to_string(bytes) + ", " + nearest;
  else if (found)
    what += ", " + nearest + ", which may not be written";
  else if (place && place->base == 0 && address != 0)
    what += ", and " + place->name + " is a null pointer";
  else if (address < 4096)
    what += ": a null pointer";
  else if (place && !memory.find(place->base, 1))
    what += ", and " + place->name + " points to no memory of this launch" +
            (nearest.find("argument '" + place->name + "'") == nearest.npos ? "" : ": " + nearest);
  else if (!nearest.empty())
    what += ", " + nearest;
  else
    what += ": no memory of this launch is near it";
  const exec::TrapKind kind = misaligned                               ? exec::TrapKind::kMisaligned
                              : !found && memory.hides(address, owner) ? exec::TrapKind::kView
                                                                       : exec::TrapKind::kOutOfBounds;
  exec::Trap trap = made_trap(in, kind, std::move(what), std::move(element));
  trap.address = address;
  trap.access_bytes = bytes;
  trap.nearest = nearest;
  if (!place) return trap;
  trap.argument = place->name;
  trap.place = place->str();
  if (place->base && trap.kind == exec::TrapKind::kOutOfBounds && !found)
    exec::advise_on_distance(trap, static_cast<int64_t>(address - place->base),
                             worker->launch->options->checks, "");
  return trap;
}

const Instr* Task::trap_access(const Instr& in, uint64_t address, uint32_t bytes, bool write, int64_t index,
                               const TileType& shape) {
  return record(in, access_trap(in, address, bytes, write, index, shape));
}

bool Task::goes_on() const { return worker->launch->options->faults != nullptr; }

bool Task::note_access(const Instr& in, uint64_t address, uint32_t bytes, bool write, int64_t index,
                       const TileType& shape, uint64_t count) {
  if (!goes_on()) return trap_access(in, address, bytes, write, index, shape);
  worker->launch->options->faults->note(in.op, program->linear, count,
                                        [&] { return access_trap(in, address, bytes, write, index, shape); });
  return true;
}

}  // namespace triton_runner::tile
