// HSA code objects: the AMDGPU note holds a MessagePack map with everything that a launch needs (LLVM's
// AMDGPU guide, "Code Object V3 Metadata" and later).
#include <bit>

#include <triton_runner/artifact/amdgcn_metadata.h>
#include <triton_runner/artifact/hsaco.h>
#include <triton_runner/base/try.h>
#include "scan.h"

namespace triton_runner::artifact {
namespace {

// MessagePack into the JSON tree. Binary and extension types do not occur in code objects.
class MessagePack {
 public:
  explicit MessagePack(std::string_view data) : in_(data) {}

  bool read(Json& out, int depth = 0) {
    if (depth > 20) return false;
    uint8_t tag = in_.take<uint8_t>();
    if (!in_.ok()) return false;
    if (tag < 0x80) return out = Json(int64_t{tag}), true;
    if (tag < 0x90) return map(tag & 15, out, depth);
    if (tag < 0xa0) return array(tag & 15, out, depth);
    if (tag < 0xc0) return text(tag & 31, out);
    switch (tag) {
      case 0xc0:
        return out = Json(), true;
      case 0xc2:
        return out = Json(false), true;
      case 0xc3:
        return out = Json(true), true;
      case 0xca:
        return out = Json(static_cast<double>(std::bit_cast<float>(big<uint32_t>()))), in_.ok();
      case 0xcb:
        return out = Json(std::bit_cast<double>(big<uint64_t>())), in_.ok();
      case 0xcc:
        return out = Json(int64_t{in_.take<uint8_t>()}), in_.ok();
      case 0xcd:
        return out = Json(int64_t{big<uint16_t>()}), in_.ok();
      case 0xce:
        return out = Json(int64_t{big<uint32_t>()}), in_.ok();
      case 0xcf:
        return out = Json(static_cast<int64_t>(big<uint64_t>())), in_.ok();
      case 0xd0:
        return out = Json(int64_t{in_.take<int8_t>()}), in_.ok();
      case 0xd1:
        return out = Json(int64_t{static_cast<int16_t>(big<uint16_t>())}), in_.ok();
      case 0xd2:
        return out = Json(int64_t{static_cast<int32_t>(big<uint32_t>())}), in_.ok();
      case 0xd3:
        return out = Json(static_cast<int64_t>(big<uint64_t>())), in_.ok();
      case 0xd9:
        return text(in_.take<uint8_t>(), out);
      case 0xda:
        return text(big<uint16_t>(), out);
      case 0xdb:
        return text(big<uint32_t>(), out);
      case 0xdc:
        return array(big<uint16_t>(), out, depth);
      case 0xdd:
        return array(big<uint32_t>(), out, depth);
      case 0xde:
        return map(big<uint16_t>(), out, depth);
      case 0xdf:
        return map(big<uint32_t>(), out, depth);
      default:
        return tag >= 0xe0 ? (out = Json(int64_t{static_cast<int8_t>(tag)}), true) : false;
    }
  }

 private:
  template <class T>
  T big() {
    T value = 0;
    for (size_t i = 0; i < sizeof(T); i++) value = static_cast<T>(value << 8 | in_.take<uint8_t>());
    return value;
  }
  bool text(size_t size, Json& out) {
    out = Json(std::string(in_.take_bytes(size)));
    return in_.ok();
  }
  bool array(size_t size, Json& out, int depth) {
    Json::Array items;
    for (size_t i = 0; i < size; i++) {
      Json item;
      if (!read(item, depth + 1)) return false;
      items.push_back(std::move(item));
    }
    out = Json(std::move(items));
    return true;
  }
  bool map(size_t size, Json& out, int depth) {
    Json::Object entries;
    for (size_t i = 0; i < size; i++) {
      Json key, value;
      if (!read(key, depth + 1) || !key.as_string() || !read(value, depth + 1)) return false;
      entries.emplace_back(*key.as_string(), std::move(value));
    }
    out = Json(std::move(entries));
    return true;
  }

  Bytes in_;
};

int64_t number(const Json& map, std::string_view key, int64_t otherwise = -1) {
  const Json* value = map.get(key);
  return value && value->as_int() ? *value->as_int() : otherwise;
}
std::string word(const Json& map, std::string_view key) {
  const Json* value = map.get(key);
  return value && value->as_string() ? *value->as_string() : "";
}

}  // namespace

base::Result<Json> hsaco_metadata(const Elf& elf, const std::string& filename) {
  auto bad = [&](std::string message) {
    base::Diagnostic d = base::failure("malformed hsaco: " + std::move(message));
    d.location.file = filename;
    return d;
  };
  if (elf.machine != kMachineAmdGpu)
    return bad(elf.machine == kMachineCuda
                   ? "it holds NVIDIA code; the level cubin reads it"
                   : "its machine is " + std::to_string(elf.machine) + ", not AMDGPU");
  constexpr uint32_t kNote = 7, kMetadata = 32;
  for (const Section& section : elf.sections) {
    if (section.type != kNote) continue;
    for (Bytes in(section.content); !in.done();) {
      uint32_t name_size = in.take<uint32_t>(), size = in.take<uint32_t>(), type = in.take<uint32_t>();
      std::string_view owner = in.take_bytes(name_size);
      in.align(4);
      std::string_view content = in.take_bytes(size);
      in.align(4);
      if (!in.ok()) return bad("its notes are cut off");
      if (type != kMetadata || !owner.starts_with("AMDGPU")) continue;
      Json root;
      if (!MessagePack(content).read(root)) return bad("its metadata is not MessagePack");
      const Json* kernels = root.get("amdhsa.kernels");
      if (!kernels || !kernels->as_array()) return bad("its metadata names no kernels");
      return root;
    }
  }
  return bad("it has no AMDGPU metadata note");
}

Scanned scan_hsaco(std::string_view bytes, const std::string& filename) {
  const Elf elf = TRY(read_elf(bytes, "hsaco", filename));
  const Json root = TRY(hsaco_metadata(elf, filename));
  const std::string target = word(root, "amdhsa.target");
  const size_t gfx = target.rfind("gfx");
  std::vector<Description> found;
  for (const Json& kernel : *root.get("amdhsa.kernels")->as_array()) {
    Description d;
    d.level = "hsaco";
    d.name = word(kernel, ".name");
    if (gfx != std::string::npos) d.target = "hip:" + target.substr(gfx, target.find(':', gfx) - gfx);
    std::string fault;
    auto keep = [&](auto& to, std::string_view key) {
      const Json* value = kernel.get(key);
      if (!value) return;
      const auto whole = value->as_int();
      if (std::string why = why_unfit(key, whole ? &*whole : nullptr); !why.empty()) return void(fault = why);
      to = static_cast<int>(*whole);
    };
    keep(d.threads_per_warp, ".wavefront_size");
    keep(d.max_threads, ".max_flat_workgroup_size");
    keep(d.static_shared, ".group_segment_fixed_size");
    keep(d.vgprs, ".vgpr_count");
    keep(d.sgprs, ".sgpr_count");
    keep(d.n_spills, ".vgpr_spill_count");
    keep(d.agprs, ".agpr_count");
    keep(d.sgpr_spills, ".sgpr_spill_count");
    keep(d.local_bytes, ".private_segment_fixed_size");
    if (!fault.empty()) {
      base::Diagnostic bad = base::failure("the metadata of kernel '" + d.name + "': " + fault);
      bad.location.file = filename;
      return bad;
    }
    for (const Symbol& symbol : elf.symbols)
      if (symbol.type == 2 && symbol.name == d.name) d.code_bytes = static_cast<int64_t>(symbol.size);
    d.n_regs = d.vgprs;
    d.num_ctas = 1;
    if (d.max_threads) take_bound(d, *d.max_threads, ".max_flat_workgroup_size");
    if (const Json* args = kernel.get(".args"); args && args->as_array())
      for (const Json& arg : *args->as_array()) {
        std::string kind = word(arg, ".value_kind");
        if (kind.starts_with("hidden_")) continue;  // the runtime's own, filled by it
        int64_t bytes_of_arg = number(arg, ".size", 0);
        if (bytes_of_arg < 0 || bytes_of_arg > 4096)
          return base::failure(filename + ": malformed hsaco: an argument of " +
                               std::to_string(bytes_of_arg) + " bytes");
        d.params.push_back(
            {word(arg, ".name"), kind == "global_buffer" ? "ptr" : "", static_cast<int>(bytes_of_arg)});
      }
    found.push_back(std::move(d));
  }
  return found;
}

}  // namespace triton_runner::artifact
