// Checked memory and traps: what a handler asks of its surroundings.
#include "exec.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/faults.h>

#include "arguments.h"
#include "check/check.h"
#include "origin.h"

namespace triton_runner::simt {

using base::hex;
namespace {

constexpr uint64_t kGuard = 256;  // bytes around each part, so that whole vectors may be read at its end

uint64_t rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64 + kGuard; }

// What an instruction was made for; of one that the lowering added, what stands before it.
const ptx::Instruction* source_of(const Code& code, const Operands& in) {
  const Instr* at = &instr_of(in);
  while (!at->source && at > code.instrs.data()) --at;
  return at->source;
}

}  // namespace

CtaMemory::CtaMemory(uint64_t register_bytes, uint64_t shared_bytes, uint64_t local_bytes)
    : bytes_(new std::byte[rounded(register_bytes) + rounded(shared_bytes) + rounded(local_bytes) + 64]()),
      base_(reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(bytes_.get()) + 63) & ~uintptr_t{63})),
      shared_at_(rounded(register_bytes)),
      local_at_(shared_at_ + rounded(shared_bytes)) {}

void Cluster::complete_oldest() {
  std::unique_ptr<AsyncOp> op = std::move(pending.front());
  pending.pop_front();
  op->complete(*this);
  ++events;
  worker->launch->progress.changed();
}

void Cluster::tell_before_it_goes(uint32_t address) {
  for (size_t i = 0; i < pending.size() && !pending[i]->is_tensor_core();) {
    if (!pending[i]->tells(address)) {
      ++i;
      continue;
    }
    std::unique_ptr<AsyncOp> op = std::move(pending[i]);
    pending.erase(pending.begin() + static_cast<ptrdiff_t>(i));
    op->complete(*this);
    ++events;
  }
}

void Cluster::issue(std::unique_ptr<AsyncOp> op) {
  pending.push_back(std::move(op));
  size_t n = 0;  // at random, some of those that are under way, in their order
  if (timing.kind() == exec::Timing::kEager) n = pending.size();
  if (timing.kind() == exec::Timing::kRandom && timing.at_once()) n = 1 + timing.below(pending.size());
  for (; n > 0 && !pending.empty(); --n) complete_oldest();
}

std::string instruction_location(const Code& code, const ptx::Instruction& in) {
  return code.module->location(in.offset).str();
}

namespace {

// The parameter that a global address was made from: what to call it, and the address that was passed.
std::optional<std::pair<std::string, uint64_t>> origin_of(const Launch& l, const Code& c,
                                                          const ptx::Instruction& access) {
  const std::optional<uint32_t> place = parameter_of(*c.entry, access, l.plan->pointers());
  if (!place) return {};
  uint64_t base;
  std::memcpy(&base, l.params.data() + c.param_offsets[*place], sizeof base);
  return std::pair{l.plan->name_at(*place), base};
}

std::string distance_text(const std::string& name, uint64_t base, uint64_t address) {
  const auto offset = static_cast<int64_t>(address - base);
  if (offset == 0) return name;
  const uint64_t n = offset < 0 ? -static_cast<uint64_t>(offset) : static_cast<uint64_t>(offset);
  return name + (offset < 0 ? " - " : " + ") + std::to_string(n) + (n == 1 ? " byte" : " bytes");
}

}  // namespace

exec::Trap Exec::made_trap(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane,
                           uint64_t address, uint32_t bytes, std::vector<std::string> notes) const {
  const Code& c = code();
  exec::Trap t;
  t.kind = kind;
  t.kernel = c.kernel;
  t.message = std::move(message);
  for (size_t d = 0; d < 3; ++d) t.program[d] = cta->id[d];
  if (lane != kNoRegister) {
    const uint32_t thread = first + lane;
    const uint32_t x = std::max(1u, c.block[0]), y = std::max(1u, c.block[1]);
    t.thread = {static_cast<int64_t>(thread % x), static_cast<int64_t>(thread / x % y),
                static_cast<int64_t>(thread / x / y)};
  }
  t.address = address;
  t.access_bytes = bytes;
  const ptx::Instruction* source = source_of(c, in);
  if (bytes && (address & kWindowMask) != kSharedWindow && (address & kWindowMask) != kLocalWindow) {
    uint64_t from = 0;
    if (source)
      if (auto origin = origin_of(*worker->launch, c, *source)) {
        t.argument = origin->first;
        t.place = distance_text(origin->first, origin->second, address);
        from = origin->second;
      }
    t.nearest = worker->memory.memory().describe(address, bytes, from);
  }
  if (!t.place.empty()) t.message += ": " + t.place;
  if (!t.nearest.empty()) t.message += (t.place.empty() ? ": " : ", ") + t.nearest;
  if (source) {
    t.op = std::string(source->spelling);
    base::Location at = c.module->location(source->offset);
    if (source->source && source->source->line > 0) {
      t.location = {std::string(source->source->file), static_cast<int>(source->source->line),
                    static_cast<int>(source->source->column)};
      t.notes.push_back("the instruction is at " + at.str() + ": " +
                        std::string(c.module->text().substr(source->offset, source->length)));
    } else {
      t.location = at;
    }
  }
  for (std::string& n : notes) t.notes.push_back(std::move(n));
  return t;
}

void Exec::trap(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane, uint64_t address,
                uint32_t bytes, std::vector<std::string> notes) {
  Launch& l = *worker->launch;
  pc = nullptr;
  leave();
  if (l.stops(*cta->cluster)) return;
  exec::Trap t = made_trap(in, kind, std::move(message), lane, address, bytes, std::move(notes));
  std::lock_guard lock(l.mutex);
  if (l.stops(*cta->cluster)) return;
  l.trap = std::move(t);
  l.stop_from.store(cta->cluster->number, std::memory_order_relaxed);
}

void Exec::warn(const Operands& in, exec::TrapKind kind, std::string by, std::string message, uint32_t lane,
                uint64_t address, uint32_t bytes, std::vector<std::string> notes) {
  auto made = [&] {
    exec::Trap t = made_trap(in, kind, std::move(message), lane, address, bytes, std::move(notes));
    t.warning = std::move(by);
    return t;
  };
  Launch& l = *worker->launch;
  if (kind == exec::TrapKind::kOutOfBounds && goes_on())
    return l.options->faults->note(source_of(code(), in), program(), 1, made);
  std::lock_guard lock(l.mutex);
  if (!l.warning || program() < l.warning->first) l.warning = {program(), made()};
}

int64_t Exec::program() const {
  const auto& blocks = launch().blocks;
  return (int64_t{cta->id[2]} * blocks[1] + cta->id[1]) * blocks[0] + cta->id[0];
}

std::byte* Exec::fault(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane,
                       uint64_t address, uint32_t bytes, bool write) {
  constexpr uint64_t kRoom = uint64_t{256} << 10;  // more than the shared memory that copies go to
  if (!goes_on() || bytes > kRoom) {
    trap(in, kind, std::move(message), lane, address, bytes);
    return nullptr;
  }
  launch().options->faults->note(source_of(code(), in), program(), 1, [&] {
    return made_trap(in, kind, std::move(message), lane, address, bytes, {});
  });
  auto& room = write ? worker->sink : worker->zeros;
  if (!room)
    room = std::make_unique<std::byte[]>(kRoom);
  else if (write)
    std::memset(room.get(), 0, bytes);
  return room.get();
}

std::byte* Exec::global(const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write) {
  const bool ok = write ? worker->memory.writable(address, bytes) : worker->memory.readable(address, bytes);
  if (ok) {
    if (worker->checks && !worker->checks->global(*this, in, lane, address, bytes, write)) return nullptr;
    return reinterpret_cast<std::byte*>(address);
  }
  const bool read_only = write && worker->memory.readable(address, bytes);
  return fault(in, exec::TrapKind::kOutOfBounds,
               std::string(write ? "a write of " : "a read of ") + std::to_string(bytes) +
                   (bytes == 1 ? " byte at " : " bytes at ") + hex(address) +
                   (read_only ? ", which may only be read" : ", which is not memory of this launch"),
               lane, address, bytes, write);
}

std::byte* Exec::shared(const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes, bool write) {
  Cta* owner = cta->cluster->cta_of(address);
  const uint32_t offset = address & kOffsetMask;
  if (owner && offset + uint64_t{bytes} <= owner->shared_bytes) {
    if (worker->checks && !worker->checks->shared(*this, in, lane, *owner, offset, bytes, write))
      return nullptr;
    return owner->shared + offset;
  }
  std::string what = std::string(write ? "a write of " : "a read of ") + std::to_string(bytes) +
                     (bytes == 1 ? " byte at shared address " : " bytes at shared address ") + hex(offset);
  if (!owner)
    what += " of block " + std::to_string(address >> kRankShift) + ": the cluster has " +
            std::to_string(cta->cluster->ctas.size());
  else
    what += ": the block has " + std::to_string(owner->shared_bytes) + " bytes of shared memory";
  return fault(in, exec::TrapKind::kOutOfBounds, std::move(what), lane, kSharedWindow | address, bytes,
               write);
}

std::byte* Exec::local(const Operands& in, uint32_t lane, uint64_t offset, uint32_t bytes) {
  const uint32_t size = code().local_bytes;
  if (offset <= size && bytes <= size - offset) return cta->local + uint64_t{first + lane} * size + offset;
  return fault(in, exec::TrapKind::kOutOfBounds,
               "an access of " + std::to_string(bytes) + " bytes at local address " + hex(offset) +
                   ": a thread has " + std::to_string(size) + " bytes of local memory",
               lane, kLocalWindow | offset, bytes, true);
}

std::byte* Exec::generic(const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write) {
  switch (address & kWindowMask) {
    case kSharedWindow:
      return shared(in, lane, static_cast<uint32_t>(address), bytes, write);
    case kLocalWindow:
      return local(in, lane, address & ~kWindowMask, bytes);
    default:
      return global(in, lane, address, bytes, write);
  }
}

}  // namespace triton_runner::simt
