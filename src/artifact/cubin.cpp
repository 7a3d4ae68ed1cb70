// Cubins: kernels are the entry functions of the symbol table; parameters, block sizes and registers lie in
// .nv.info.
//
// The format is not documented; what is read here was found by comparing cubins of ptxas 12.4 to 13.3 with
// the PTX that they were assembled from. Attributes that are not understood are stepped over by their size.
#include <algorithm>
#include <map>

#include <triton_runner/base/try.h>

#include "cubin_attributes.h"
#include "scan.h"

namespace triton_runner::artifact {
namespace {

int threads_of(std::string_view payload) {
  Bytes in(payload);
  int64_t x = in.take<uint32_t>(), y = in.take<uint32_t>(), z = in.take<uint32_t>();
  int64_t product = x * y * z;
  return in.ok() && x > 0 && y > 0 && z > 0 && product <= 4096 ? static_cast<int>(product) : 0;
}

// The facts that .nv.info has of the functions by the number of their symbol.
struct FunctionInfo {
  std::map<uint32_t, int> registers, frame, stack;

  bool read(std::string_view content) {
    return each_attribute(content, [&](uint8_t attribute, std::string_view payload, uint16_t) {
      Bytes in(payload);
      const uint32_t symbol = in.take<uint32_t>();
      const int value = static_cast<int>(in.take<uint32_t>());
      if (!in.ok()) return;
      if (attribute == kRegisters) registers[symbol] = value;
      if (attribute == kFrameBytes) frame[symbol] = value;
      if (attribute == kStackBytes) stack[symbol] = value;
    });
  }
  void give(uint32_t symbol, Description& d) const {
    if (auto it = registers.find(symbol); it != registers.end()) d.n_regs = it->second;
    if (auto it = frame.find(symbol); it != frame.end()) d.n_spills = it->second / 4;
    if (auto it = stack.find(symbol); it != stack.end()) d.local_bytes = it->second;
  }
};

// How long the sections of a kernel are: its code, its constants, its shared memory.
void measure_sections(const Elf& elf, uint32_t sm, Description& d) {
  if (const Section* code = elf.section(".text." + d.name)) {
    d.code_bytes = static_cast<int64_t>(code->size);
    // From ABI 8 on an attribute says it, where there are any.
    d.barriers = elf.abi_version < 8 ? static_cast<int>(code->flags >> 20 & 0x7f) : 0;
  }
  for (int bank = 0; bank < 8; ++bank)
    if (const Section* c = elf.section(".nv.constant" + std::to_string(bank) + "." + d.name))
      d.constant_banks.emplace_back(bank, static_cast<int64_t>(c->size));
  if (const Section* shared = elf.section(".nv.shared." + d.name)) {
    // From sm_90 on the section counts the 1,024 bytes that the system reserves in every block.
    const int64_t reserved = sm >= 90 ? 1024 : 0;
    d.static_shared = std::max<int64_t>(0, static_cast<int64_t>(shared->size) - reserved);
  }
}

// A kernel's own .nv.info: its block, its barriers, its parameters by number. False if it is cut off.
bool read_kernel_info(std::string_view content, Description& d, std::map<int, Param>& params) {
  return each_attribute(content, [&](uint8_t attribute, std::string_view payload, uint16_t in_place) {
    Bytes in(payload);
    if (attribute == kParameter) {
      in.take<uint32_t>();
      const int ordinal = in.take<uint16_t>();
      in.take<uint16_t>();
      const int size = static_cast<int>(in.take<uint32_t>() >> 18);
      if (in.ok()) params[ordinal].bytes = size;
    } else if (attribute == kRequiredThreads || attribute == kMaxThreads) {
      const int threads = threads_of(payload);
      if (threads > 0) d.max_threads = threads;
      if (threads > 0 && threads % 32 == 0 && attribute == kRequiredThreads) d.num_warps = threads / 32;
      if (threads > 0 && attribute == kMaxThreads) take_bound(d, threads, "MAX_THREADS");
    } else if (attribute == kCtasPerCluster) {
      if (const int ctas = threads_of(payload)) d.num_ctas = ctas;
    } else if (attribute == kBarriers) {
      d.barriers = in_place;
    }
  });
}

}  // namespace

Scanned scan_cubin(std::string_view bytes, const std::string& filename) {
  auto elf = TRY(read_elf(bytes, "cubin", filename));
  auto bad = [&](std::string message) {
    base::Diagnostic d = base::failure("malformed cubin: " + std::move(message));
    d.location.file = filename;
    return d;
  };
  if (elf.machine != kMachineCuda)
    return bad(elf.machine == kMachineAmdGpu
                   ? "it holds AMD code; the level hsaco reads it"
                   : "its machine is " + std::to_string(elf.machine) + ", not CUDA");
  // The architecture moved within the flags when the ABI went from 7 to 8 (CUDA 13).
  uint32_t sm = elf.abi_version >= 8 ? elf.flags >> 8 & 0xff : elf.flags & 0xff;

  FunctionInfo functions;
  if (const Section* info = elf.section(".nv.info"); info && !functions.read(info->content))
    return bad("its .nv.info is cut off");

  std::vector<Description> found;
  constexpr uint8_t kFunction = 2, kEntry = 0x10;
  for (size_t i = 0; i < elf.symbols.size(); i++) {
    const Symbol& symbol = elf.symbols[i];
    if (symbol.type != kFunction || !(symbol.other & kEntry)) continue;
    Description d;
    d.level = "cubin";
    d.name = symbol.name;
    if (sm >= 20) d.target = "cuda:" + std::to_string(sm);
    d.threads_per_warp = 32;
    functions.give(static_cast<uint32_t>(i), d);
    measure_sections(elf, sm, d);
    std::map<int, Param> params;
    if (const Section* info = elf.section(".nv.info." + d.name);
        info && !read_kernel_info(info->content, d, params))
      return bad("its .nv.info." + d.name + " is cut off");
    for (auto& [ordinal, param] : params) {
      if (ordinal != static_cast<int>(d.params.size()))
        return bad("parameter " + std::to_string(d.params.size()) + " of kernel '" + d.name +
                   "' is not described");
      d.params.push_back(std::move(param));
    }
    if (sm > 0 && sm < 90) d.num_ctas = 1;  // no clusters there
    found.push_back(std::move(d));
  }
  return found;
}

}  // namespace triton_runner::artifact
