// Implements Kept. A launch is a folder: launch.txt, a line a fact; the kernel's text; and a file for each block of memory. Beside
// these folders, others.txt has the names of kernels that nobody asked for.
#include "kept.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "state.h"
#include "variables.h"

namespace triton_runner::driver {
namespace {

// The address that a parameter may be; 0, which no block has: it is too short or too long for one.
Address address_in(const std::vector<std::byte>& value) {
  Address at = 0;
  if (value.size() == sizeof at) std::memcpy(&at, value.data(), sizeof at);
  return at;
}

void write_file(const std::filesystem::path& path, const void* data, size_t bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

template <class Axes>
std::string axes(const Axes& n) {
  return std::to_string(n[0]) + " " + std::to_string(n[1]) + " " + std::to_string(n[2]);
}

std::string hex(const std::vector<std::byte>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes)
    for (const int shift : {4, 0}) out += kDigits[std::to_integer<unsigned>(b) >> shift & 15];
  return out;
}

}  // namespace

Kept::Before::Before(const Launch& launch) : variables_(contents_of(*launch.function->module)) {
  for (const std::vector<std::byte>& value : launch.values) {
    const Block* block = state().blocks.find(address_in(value));
    if (!block || std::ranges::any_of(blocks_, [&](const Copy& c) { return c.address == block->address; }))
      continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(block->address);
    blocks_.push_back({block->address, block->label, {bytes, bytes + block->bytes}});
  }
}

bool Kept::looks_at(const Launch& launch) {
  const std::string& name = launch.function->name;
  const std::string shown = readable(name);
  if (kernel_.empty() || kernel_ == name || kernel_ == shown || shown.ends_with("::" + kernel_)) return true;
  if (others_.insert(shown).second)
    std::ofstream(std::filesystem::path(folder_) / "others.txt", std::ios::app) << shown + '\n';
  return false;
}

void Kept::take(const Launch& launch, uint64_t number, const Before& before, const std::string& fault) {
  const Function& f = *launch.function;
  if (!names_.insert(f.name).second && fault.empty()) return;
  const std::filesystem::path folder =
      std::filesystem::path(folder_) / (std::to_string(getpid()) + "-" + std::to_string(number));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ostringstream text;
  text << "kernel " << f.name << "\nshown " << readable(f.name) << "\nlevel " << f.module->level
       << "\nnumber " << number << "\ngrid " << axes(launch.grid) << "\nblock " << axes(launch.block)
       << "\ncluster " << axes(launch.cluster) << "\nshared " << launch.shared_bytes << "\nfault "
       << fault.substr(0, fault.find('\n')) << '\n';
  for (size_t i = 0; i < before.blocks_.size(); ++i) {
    const Before::Copy& copy = before.blocks_[i];
    text << "memory " << copy.label << '\n';
    write_file(folder / ("memory-" + std::to_string(i)), copy.bytes.data(), copy.bytes.size());
  }
  for (const std::vector<std::byte>& value : launch.values) {
    const Address at = address_in(value);
    const auto in = std::ranges::find_if(before.blocks_, [&](const Before::Copy& c) {
      return at >= c.address && at - c.address < c.bytes.size();
    });
    if (in == before.blocks_.end()) {
      text << "value " << hex(value) << '\n';
      continue;
    }
    text << "pointer " << in - before.blocks_.begin() << ' ' << at - in->address << '\n';
  }
  if (const auto code = code_with(*f.module, before.variables_))
    write_file(folder / ("kernel." + f.module->level), code->data(), code->size());
  else
    text << "missing " << code.error().message << '\n';
  const std::string facts = text.str();
  write_file(folder / "launch.txt", facts.data(), facts.size());  // the last one: the folder is whole
}

}  // namespace triton_runner::driver
