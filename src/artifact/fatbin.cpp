// Reads fatbins: a header, then entries of a header and a payload each, in sections of ELF files that nvcc
// makes.
//
// The format is not documented; what is read here was found by comparing what nvcc 11.8 to 13.2 made.
#include <triton_runner/artifact/fatbin.h>

#include <dlfcn.h>

#include <triton_runner/base/try.h>

#include <triton_runner/artifact/elf.h>

#include "scan.h"

namespace triton_runner::artifact {
namespace {

constexpr uint32_t kMagic = 0xBA55ED50;
constexpr uint16_t kPtx = 1, kElf = 2;
constexpr uint64_t kLz4 = 0x2000, kZstandard = 0x8000;
constexpr size_t kLargest = size_t{1} << 31;  // of what is expanded

struct Entry {
  uint16_t kind = 0;
  uint32_t arch = 0;
  uint64_t flags = 0, expanded = 0;
  std::string_view payload;
};

// A block of LZ4: runs of literals, each with a copy of what came before. Empty where it is malformed.
std::string expand_lz4(std::string_view in, size_t size) {
  std::string out;
  out.reserve(size);
  size_t at = 0;
  const auto byte = [&] { return at < in.size() ? static_cast<uint8_t>(in[at++]) : uint8_t{0}; };
  const auto length = [&](size_t n) {
    if (n == 15)
      for (uint8_t more = 255; more == 255 && at < in.size();) n += more = byte();
    return n;
  };
  while (at < in.size()) {
    const uint8_t token = byte();
    const size_t literals = length(token >> 4);
    if (literals > in.size() - at || literals > size - out.size()) return {};
    out.append(in.substr(at, literals));
    at += literals;
    if (at >= in.size() || out.size() == size) break;  // the last run has no copy
    const size_t low = byte(), distance = low | size_t{byte()} << 8;
    const size_t count = length(token & 15) + 4;
    if (distance == 0 || distance > out.size() || count > size - out.size()) return {};
    for (size_t i = 0; i < count; ++i) out.push_back(out[out.size() - distance]);
  }
  return out.size() == size ? out : std::string();
}

// ZSTD_decompress of the machine's own library. Null: it has none.
auto zstandard() {
  using Expand = size_t (*)(void* out, size_t out_bytes, const void* in, size_t in_bytes);
  static const auto expand = [] {
    void* library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Expand>(library ? dlsym(library, "ZSTD_decompress") : nullptr);
  }();
  return expand;
}

// Empty where it is malformed.
std::string expand_zstandard(std::string_view in, size_t size) {
  std::string out(size, '\0');
  return zstandard()(out.data(), size, in.data(), in.size()) == size ? out : std::string();
}

DeviceCode code_of(const Entry& entry, const std::string& filename) {
  DeviceCode out{entry.kind == kElf ? "cubin" : "ptx", "cuda:" + std::to_string(entry.arch), {}, {}, {}};
  if (entry.flags & kZstandard && !zstandard()) {
    out.problem =
        "it is compressed by Zstandard, and this machine has no libzstd.so.1: install it, or compile with "
        "nvcc --compress-mode=none";
    return out;
  }
  if (entry.flags & (kLz4 | kZstandard)) {
    const auto expand = entry.flags & kZstandard ? expand_zstandard : expand_lz4;
    if (entry.expanded <= kLargest) out.content = expand(entry.payload, entry.expanded);
    if (out.content.empty()) out.problem = "its compressed content is malformed";
  } else {
    out.content = entry.payload;
  }
  if (entry.kind == kPtx) {
    while (out.content.ends_with('\0')) out.content.pop_back();
  } else if (out.problem.empty()) {
    if (auto found = scan_cubin(out.content, filename); !found)
      out.problem = found.error().message;
    else
      for (const Description& d : *found) out.kernels.push_back(d.name);
  }
  return out;
}

// Adds the entries of the fatbins in some bytes, each aligned to 8, with zeros between; false if one is cut off.
bool read_fatbins(std::string_view bytes, std::vector<Entry>& into) {
  for (size_t at = 0; bytes.size() - at >= 16;) {
    Bytes head(bytes.substr(at));
    if (head.take<uint32_t>() != kMagic) {
      at += 8;
      if (at > bytes.size()) break;
      continue;
    }
    head.take<uint16_t>();
    const uint16_t header = head.take<uint16_t>();
    const uint64_t length = head.take<uint64_t>();
    if (header < 16 || header > bytes.size() - at || length > bytes.size() - at - header) return false;
    std::string_view body = bytes.substr(at + header, length);
    while (body.size() >= 64) {
      Bytes in(body);
      Entry entry;
      entry.kind = in.take<uint16_t>();
      in.take<uint16_t>();
      const uint32_t own = in.take<uint32_t>();
      const uint64_t padded = in.take<uint64_t>();
      const uint32_t compressed = in.take<uint32_t>();
      in.take_bytes(4 + 2 + 2);
      entry.arch = in.take<uint32_t>();
      in.take_bytes(4 + 4);
      entry.flags = in.take<uint64_t>();
      in.take<uint64_t>();
      entry.expanded = in.take<uint64_t>();
      if (own < 64 || own > body.size() || padded > body.size() - own || compressed > padded) return false;
      entry.payload = body.substr(own, compressed ? compressed : padded);
      if (entry.kind == kPtx || entry.kind == kElf) into.push_back(entry);
      body.remove_prefix(own + padded);
    }
    at += header + (length + 7) / 8 * 8;
    if (at > bytes.size()) break;
  }
  return true;
}

}  // namespace

base::Result<std::vector<DeviceCode>> device_code(std::string_view bytes, const std::string& filename) {
  const auto bad = [&](std::string message) {
    base::Diagnostic d = base::failure(std::move(message));
    d.location.file = filename;
    return d;
  };
  std::vector<Entry> entries;
  Bytes first(bytes);
  if (first.take<uint32_t>() == kMagic) {
    if (!read_fatbins(bytes, entries)) return bad("malformed fatbin: it is cut off");
  } else {
    auto elf = TRY(read_elf(bytes, "library", filename));
    if (elf.machine == kMachineCuda) {
      entries.push_back({kElf, elf.abi_version >= 8 ? elf.flags >> 8 & 0xff : elf.flags & 0xff, 0, 0, bytes});
    } else {
      for (const Section& section : elf.sections)
        if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin")
          if (!read_fatbins(section.content, entries))
            return bad("malformed fatbin in section " + std::string(section.name) + ": it is cut off");
    }
  }
  if (entries.empty()) return bad("it holds no code for NVIDIA's GPUs");
  std::vector<DeviceCode> out;
  for (const Entry& entry : entries) out.push_back(code_of(entry, filename));
  return out;
}

}  // namespace triton_runner::artifact
