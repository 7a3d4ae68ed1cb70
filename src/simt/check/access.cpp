// Checks the memory that a handler touches (Exec::global, shared, local, generic), with a trap where it is
// not the launch's. Races and uninitialised bytes are looked for in check.cpp.
#include <cstring>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/faults.h>

#include "check/check.h"
#include "check/count.h"
#include "check/host.h"
#include "state/exec.h"

namespace triton_runner::simt {

using base::hex;

std::byte* Exec::fault(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane,
                       uint64_t address, uint32_t bytes, bool write) {
  constexpr uint64_t kRoom = uint64_t{256} << 10;  // more than the shared memory that copies go to
  if (!goes_on() || bytes > kRoom) {
    trap(in, kind, std::move(message), lane, address, bytes);
    return nullptr;
  }
  launch().options->faults->note(site(in), program(), 1, [&] {
    return made_trap(in, kind, std::move(message), lane, address, bytes, {});
  });
  auto& room = write ? worker->sink : worker->zeros;
  if (!room)
    room = std::make_unique<std::byte[]>(kRoom);
  else if (write)
    std::memset(room.get(), 0, bytes);
  return room.get();
}

bool Exec::whole_warps(const Instr& in, uint64_t members) {
  return worker->checks->whole_warps(*this, in, members);
}

bool Exec::may_make_rows(std::span<const RowAccess> rows) {
  return worker->checks->may_make_rows(*this, rows);
}

void Exec::made_rows(std::span<const RowAccess> rows) { worker->checks->made_rows(*this, rows); }

std::byte* Exec::global(const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write) {
  exec::MemoryView& memory = memory_for(in);
  const bool ok = write ? memory.writable(address, bytes) : memory.readable(address, bytes);
  if (ok || launch().heap->holds(address, bytes)) {
    if (worker->checks && !worker->checks->global(*this, in, lane, address, bytes, write)) return nullptr;
    if (worker->counting) worker->counting->access(*this, in, Space::kGlobal, lane, address, bytes, write);
    return reinterpret_cast<std::byte*>(address);
  }
  if (address - kHostCall < kHostCallBytes) {
    trap(in, exec::TrapKind::kUnsupported,
         "the kernel calls the host here, to print (device_print) or to report a device_assert that fails: "
         "level 'ttgir' executes both",
         lane, 0, 0);
    return nullptr;
  }
  const bool read_only = write && memory.readable(address, bytes);
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
    if (worker->counting) worker->counting->access(*this, in, Space::kShared, lane, offset, bytes, write);
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
  if (offset <= size && bytes <= size - offset) {
    if (worker->counting) worker->counting->access(*this, in, Space::kLocal, lane, offset, bytes, true);
    return cta->local + uint64_t{first + lane} * size + offset;
  }
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
