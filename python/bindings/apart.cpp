// Implements apart.h: maps a copy of the storage once for each view.
#include "apart.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>

namespace triton_runner::python {
namespace {

using exec::Allocation;
using Piece = std::pair<uint64_t, uint64_t>;  // address, bytes

// Views of one storage, as allocations are told of them.
struct Shared {
  uint64_t address = 0, bytes = 0;
  std::map<size_t, std::vector<size_t>> memory;  // by argument, those of its allocations
};

// A copy of a storage, mapped at several addresses, whose pieces go back when the launch has ended.
class Copies {
 public:
  Copies(uint64_t address, uint64_t bytes)
      : address_(address), offset_(address % static_cast<uint64_t>(sysconf(_SC_PAGESIZE))), bytes_(bytes) {
    file_ = memfd_create("triton_runner_view", MFD_CLOEXEC);
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (offset_ + bytes_ + page - 1) / page * page;
    if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(mapped_)) != 0) close();
  }
  ~Copies() {
    for (const auto& [from, piece] : back_)
      std::memcpy(reinterpret_cast<void*>(piece.first), from, piece.second);
    for (void* place : places_) munmap(place, mapped_);
    close();
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // How far a new address of the storage is from its own; 0: there is none.
  uint64_t add() {
    void* place =
        file_ < 0 ? MAP_FAILED : mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (place == MAP_FAILED) return 0;
    if (places_.empty())
      std::memcpy(static_cast<char*>(place) + offset_, reinterpret_cast<const void*>(address_), bytes_);
    places_.push_back(place);
    return reinterpret_cast<uint64_t>(place) + offset_ - address_;
  }
  void put_back(const Piece& piece) {
    back_.emplace_back(static_cast<char*>(places_.front()) + offset_ + (piece.first - address_), piece);
  }

 private:
  void close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  uint64_t address_, offset_, bytes_, mapped_ = 0;
  int file_ = -1;
  std::vector<void*> places_;
  std::vector<std::pair<const char*, Piece>> back_;
};

std::vector<Piece> pieces_of(const BoundArguments& bound, const std::vector<size_t>& memory) {
  std::vector<Piece> out;
  for (const size_t i : memory) out.emplace_back(bound.memory[i].address, bound.memory[i].bytes);
  return out;
}

// Gives arguments with the same pieces one address, and others another.
void move(BoundArguments& bound, const Shared& storage) {
  std::map<std::vector<Piece>, std::vector<size_t>> views;  // the arguments that have the same pieces
  for (const auto& [argument, memory] : storage.memory) views[pieces_of(bound, memory)].push_back(argument);
  if (views.size() < 2) return;
  auto copies = std::make_unique<Copies>(storage.address, storage.bytes);
  std::vector<uint64_t> by;
  for (size_t i = 0; i < views.size(); ++i) {
    by.push_back(copies->add());
    if (!by.back()) return;  // no memory is left for it: all stay where they are
  }
  size_t next = 0;
  for (const auto& [pieces, arguments] : views) {
    const uint64_t distance = by[next++];
    for (const size_t argument : arguments) {
      exec::Argument& a = bound.arguments[argument];
      (a.descriptor ? a.descriptor->address : a.bits) += distance;
      for (const size_t i : storage.memory.at(argument)) {
        Allocation& piece = bound.memory[i];
        if (piece.writable) copies->put_back({piece.address, piece.bytes});
        piece.address += distance;
        if (piece.storage_bytes) piece.storage += distance;
      }
    }
  }
  bound.keep_alive.push_back(
      nb::capsule(copies.release(), [](void* held) noexcept { delete static_cast<Copies*>(held); }));
}

}  // namespace

void move_apart(BoundArguments& bound, const std::vector<size_t>& owners) {
  std::map<uint64_t, Shared> storages;  // by address
  for (size_t i = 0; i < bound.memory.size(); ++i) {
    const Allocation& a = bound.memory[i];
    Shared& shared = storages[a.storage_bytes ? a.storage : a.address];
    shared.address = a.storage_bytes ? a.storage : a.address;
    shared.bytes = std::max(shared.bytes, a.storage_bytes ? a.storage_bytes : a.bytes);
    shared.memory[owners[i]].push_back(i);
  }
  for (const auto& [address, shared] : storages)
    if (shared.memory.size() > 1) move(bound, shared);
}

}  // namespace triton_runner::python
