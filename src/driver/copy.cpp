// Implements copies and fills. Each is a box of rows: cuMemcpyHtoD is one row of one plane.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "calls.h"

namespace triton_runner::driver {
namespace {

// One side of a copy: rows of bytes.
struct Side {
  Address address = 0;
  size_t pitch = 0, plane = 0;  // bytes from row to row and from plane to plane
  bool is_host = false;
};

bool side_of(const Copy3D& c, bool from, Side* out) {
  const unsigned type = from ? c.from_type : c.to_type;
  if (type != kHostMemory && type != kDeviceMemory && type != kUnifiedMemory) return false;
  const Address base = type == kHostMemory ? reinterpret_cast<Address>(from ? c.from_host : c.to_host)
                                           : (from ? c.from_device : c.to_device);
  const size_t pitch = from ? c.from_pitch : c.to_pitch, height = from ? c.from_height : c.to_height;
  const size_t x = from ? c.from_x : c.to_x, y = from ? c.from_y : c.to_y, z = from ? c.from_z : c.to_z;
  const size_t row = pitch ? pitch : x + c.width, rows = height ? height : y + c.height;
  if (!base || row < x + c.width || rows < y + c.height) return false;
  unsigned __int128 end = static_cast<unsigned __int128>(row) * rows * (z + c.depth) + base;
  if (end >> 63) return false;
  out->pitch = row, out->plane = row * rows;
  out->address = base + z * out->plane + y * row + x;
  // Memory of the host that no block holds may be given where memory is unified, as on hardware that has it.
  out->is_host = type == kHostMemory || (type == kUnifiedMemory && !state().blocks.find(base));
  return true;
}

size_t extent(const Copy3D& c, const Side& side) {
  return (c.depth - 1) * side.plane + (c.height - 1) * side.pitch + c.width;
}

Copy3D line(unsigned to_type, Address to, unsigned from_type, Address from, size_t bytes) {
  Copy3D c{};
  c.to_type = to_type, c.from_type = from_type;
  c.to_device = to, c.from_device = from;
  c.to_host = reinterpret_cast<void*>(to), c.from_host = reinterpret_cast<const void*>(from);
  c.width = bytes, c.height = 1, c.depth = 1;
  return c;
}

Copy3D box(const Copy2D& p) {
  Copy3D c{};
  c.from_x = p.from_x, c.from_y = p.from_y, c.from_type = p.from_type, c.from_host = p.from_host;
  c.from_device = p.from_device, c.from_array = p.from_array, c.from_pitch = p.from_pitch;
  c.to_x = p.to_x, c.to_y = p.to_y, c.to_type = p.to_type, c.to_host = p.to_host;
  c.to_device = p.to_device, c.to_array = p.to_array, c.to_pitch = p.to_pitch;
  c.width = p.width, c.height = p.height, c.depth = 1;
  return c;
}

bool is_device_memory(Address address) {
  const Block* block = state().blocks.find(address);
  return block && !block->is_host();
}

Error submit_copy(Handle stream, const Copy3D& copy) {
  if (!stream_of(stream)) return kInvalidHandle;
  if (const Error error = check_copy(copy)) return error;
  return submit(stream, copy);
}

Error submit_fill(Handle stream, Address to, size_t pitch, unsigned value, unsigned element, size_t width,
                  size_t height) {
  if (!stream_of(stream)) return kInvalidHandle;
  const FillParams fill{to, pitch, value, element, width, height};
  if (const Error error = check_fill(fill)) return error;
  return submit(stream, fill);
}

// Nobody waits for a copy from device to device.
template <class Box>
Error awaited_copy(const Box* copy, Error (*begin)(const Box*, Handle)) {
  const bool is_on_device = copy && copy->from_type == kDeviceMemory && copy->to_type == kDeviceMemory;
  const Error error = begin(copy, nullptr);
  return is_on_device ? error : awaited(error);
}

}  // namespace

bool copy_memory(Address to, Address from, size_t bytes, bool is_checked) {
  if (!is_checked)
    return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes), true;
  const iovec target{reinterpret_cast<void*>(to), bytes}, source{reinterpret_cast<void*>(from), bytes};
  // Not by the C library, whose call a sanitizer looks into before the kernel does.
  const ssize_t done = syscall(SYS_process_vm_readv, getpid(), &target, 1UL, &source, 1UL, 0UL);
  if (done < 0 && errno != EFAULT) return copy_memory(to, from, bytes, false);  // not allowed here
  if (done >= 0 && static_cast<size_t>(done) < bytes && done > 0)
    return copy_memory(to + static_cast<size_t>(done), from + static_cast<size_t>(done),
                       bytes - static_cast<size_t>(done), true);
  return done > 0;
}

Error check_copy(const Copy3D& c) {
  if (c.from_type == kArrayMemory || c.to_type == kArrayMemory) return kNotSupported;
  if (c.width == 0 || c.height == 0 || c.depth == 0) return kSuccess;
  Side from, to;
  if (c.width >> 48 || c.height >> 48 || c.depth >> 48 || c.from_x >> 48 || c.to_x >> 48)
    return kInvalidValue;
  if (!side_of(c, true, &from) || !side_of(c, false, &to)) return kInvalidValue;
  Blocks& blocks = state().blocks;
  for (const Side& side : {from, to}) {
    const Block* block = blocks.find(side.address);
    // A block that is named on the host's side is checked as well.
    if (!side.is_host || block) {
      if (!blocks.find(side.address, extent(c, side))) {
        if (const std::string was = blocks.freed(side.address); !was.empty() && !side.is_host)
          return refuse(kInvalidValue, "a copy names " + was + ", which was freed");
        return kInvalidValue;
      }
    }
  }
  return kSuccess;
}

Error run_copy(const Copy3D& c) {
  if (const Error error = check_copy(c)) return error;
  if (c.width == 0 || c.height == 0 || c.depth == 0) return kSuccess;
  Side from, to;
  side_of(c, true, &from), side_of(c, false, &to);
  Blocks& blocks = state().blocks;
  const bool is_checked =
      (from.is_host && !blocks.find(from.address)) || (to.is_host && !blocks.find(to.address));
  for (size_t z = 0; z < c.depth; ++z)
    for (size_t y = 0; y < c.height; ++y) {
      const Address source = from.address + z * from.plane + y * from.pitch;
      const Address target = to.address + z * to.plane + y * to.pitch;
      if (!copy_memory(target, source, c.width, is_checked)) return kInvalidValue;
      blocks.copied(target, source, c.width);
      if (Races* races = state().races.get()) {
        using machine::Act;
        const bool is_right = (!blocks.find(source) || races->touch(Act::kRead, source, c.width, "a copy")) &&
                              (!blocks.find(target) || races->touch(Act::kWrite, target, c.width, "a copy"));
        if (const Error error = raced(is_right)) return error;
      }
    }
  // The host waits for a copy to memory of its own that is not pinned.
  if (Races* races = state().races.get(); races && to.is_host && !blocks.find(to.address))
    races->host_saw(races->mark());
  return kSuccess;
}

Error check_fill(const FillParams& f) {
  if (f.width == 0 || f.height == 0) return kSuccess;
  if (f.element_bytes != 1 && f.element_bytes != 2 && f.element_bytes != 4) return kInvalidValue;
  if (f.to % f.element_bytes || f.width >> 48 || f.height >> 48 || f.pitch >> 48) return kInvalidValue;
  const size_t row = f.width * f.element_bytes;
  if (f.height > 1 && (f.pitch < row || f.pitch % f.element_bytes)) return kInvalidValue;
  const unsigned __int128 bytes = static_cast<unsigned __int128>(f.height - 1) * f.pitch + row;
  if (bytes >> 62) return kInvalidValue;
  return state().blocks.find(f.to, static_cast<uint64_t>(bytes)) ? kSuccess : kInvalidValue;
}

Error run_fill(const FillParams& f) {
  if (const Error error = check_fill(f)) return error;
  for (size_t y = 0; y < f.height && f.width; ++y) {
    const Address row = f.to + y * f.pitch;
    auto* bytes = reinterpret_cast<unsigned char*>(row);
    if (f.element_bytes == 1)
      std::memset(bytes, static_cast<int>(f.value & 0xff), f.width);
    else
      for (size_t i = 0; i < f.width; ++i)
        std::memcpy(bytes + i * f.element_bytes, &f.value, f.element_bytes);
    state().blocks.written(row, f.width * f.element_bytes);
    if (Races* races = state().races.get())
      if (const Error error =
              raced(races->touch(machine::Act::kWrite, row, f.width * f.element_bytes, "a fill")))
        return error;
  }
  // The host waits for a fill of memory that it has, too.
  const Block* block = state().blocks.find(f.to);
  if (Races* races = state().races.get(); races && block && block->kind != Kind::kDevice)
    races->host_saw(races->mark());
  return kSuccess;
}

namespace call {

Error cuMemcpyAsync(Address to, Address from, size_t bytes, Handle stream) {
  return submit_copy(stream, line(kUnifiedMemory, to, kUnifiedMemory, from, bytes));
}
Error cuMemcpy(Address to, Address from, size_t bytes) {
  const bool is_on_device = is_device_memory(to) && is_device_memory(from);
  const Error error = cuMemcpyAsync(to, from, bytes, nullptr);
  return is_on_device ? error : awaited(error);  // nobody waits for a copy from device to device
}
Error cuMemcpyPeerAsync(Address to, Handle, Address from, Handle, size_t bytes, Handle stream) {
  return submit_copy(stream, line(kDeviceMemory, to, kDeviceMemory, from, bytes));
}
Error cuMemcpyPeer(Address to, Handle, Address from, Handle, size_t bytes) {
  return cuMemcpyPeerAsync(to, nullptr, from, nullptr, bytes, nullptr);
}
Error cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Handle stream) {
  return submit_copy(stream, line(kDeviceMemory, to, kHostMemory, reinterpret_cast<Address>(from), bytes));
}
Error cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  return awaited(cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr));
}
Error cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Handle stream) {
  return submit_copy(stream, line(kHostMemory, reinterpret_cast<Address>(to), kDeviceMemory, from, bytes));
}
Error cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  return awaited(cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr));
}
Error cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Handle stream) {
  return submit_copy(stream, line(kDeviceMemory, to, kDeviceMemory, from, bytes));
}
Error cuMemcpyDtoD_v2(Address to, Address from, size_t bytes) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr);
}

Error cuMemcpy2DAsync_v2(const Copy2D* copy, Handle stream) {
  return copy ? submit_copy(stream, box(*copy)) : kInvalidValue;
}
Error cuMemcpy2D_v2(const Copy2D* copy) { return awaited_copy(copy, cuMemcpy2DAsync_v2); }
Error cuMemcpy2DUnaligned_v2(const Copy2D* copy) { return cuMemcpy2D_v2(copy); }
Error cuMemcpy3DAsync_v2(const Copy3D* copy, Handle stream) {
  return copy ? submit_copy(stream, *copy) : kInvalidValue;
}
Error cuMemcpy3D_v2(const Copy3D* copy) { return awaited_copy(copy, cuMemcpy3DAsync_v2); }

Error cuMemsetD8Async(Address to, unsigned char value, size_t n, Handle stream) {
  return submit_fill(stream, to, 0, value, 1, n, 1);
}
Error cuMemsetD16Async(Address to, unsigned short value, size_t n, Handle stream) {
  return submit_fill(stream, to, 0, value, 2, n, 1);
}
Error cuMemsetD32Async(Address to, unsigned value, size_t n, Handle stream) {
  return submit_fill(stream, to, 0, value, 4, n, 1);
}
Error cuMemsetD2D8Async(Address to, size_t pitch, unsigned char value, size_t width, size_t height,
                        Handle stream) {
  return submit_fill(stream, to, pitch, value, 1, width, height);
}
Error cuMemsetD2D16Async(Address to, size_t pitch, unsigned short value, size_t width, size_t height,
                         Handle stream) {
  return submit_fill(stream, to, pitch, value, 2, width, height);
}
Error cuMemsetD2D32Async(Address to, size_t pitch, unsigned value, size_t width, size_t height,
                         Handle stream) {
  return submit_fill(stream, to, pitch, value, 4, width, height);
}
Error cuMemsetD8_v2(Address to, unsigned char value, size_t n) {
  return cuMemsetD8Async(to, value, n, nullptr);
}
Error cuMemsetD16_v2(Address to, unsigned short value, size_t n) {
  return cuMemsetD16Async(to, value, n, nullptr);
}
Error cuMemsetD32_v2(Address to, unsigned value, size_t n) { return cuMemsetD32Async(to, value, n, nullptr); }
Error cuMemsetD2D8_v2(Address to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return cuMemsetD2D8Async(to, pitch, value, width, height, nullptr);
}
Error cuMemsetD2D16_v2(Address to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return cuMemsetD2D16Async(to, pitch, value, width, height, nullptr);
}
Error cuMemsetD2D32_v2(Address to, size_t pitch, unsigned value, size_t width, size_t height) {
  return cuMemsetD2D32Async(to, pitch, value, width, height, nullptr);
}

}  // namespace call
}  // namespace triton_runner::driver
