// Tells which registers an instruction reads and writes, where it leads, and whether it asks for memory.
#include <triton_runner/amdgcn/facts.h>

#include <algorithm>
#include <array>
#include <charconv>

#include <triton_runner/amdgcn/opcode.h>

namespace triton_runner::amdgcn {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool gives_old(const Instruction& in) {
  return in.has("sc0") || in.has("glc") || contains(in.text("th"), "RETURN") ||
         contains(in.row->name, "_rtn_");
}

bool is_memory(const Instruction& in) {
  for (const std::string_view start :
       {"global_", "flat_", "buffer_", "scratch_", "ds_", "s_load", "s_buffer_load", "s_mem"})
    if (in.row->name.starts_with(start))
      return !contains(in.row->name, "_inv") && !contains(in.row->name, "_wb");
  return false;
}

bool loads_to_lds(const Instruction& in) { return in.has("lds") || contains(in.row->name, "load_lds"); }

uint32_t generation_of(std::string_view target) {
  return target.starts_with("gfx12")   ? 12
         : target.starts_with("gfx11") ? 11
         : target.starts_with("gfx10") ? 10
                                       : 9;
}

Counter counter_of(const Instruction& access, uint32_t generation) {
  const std::string_view name = access.row->name;
  if (name.starts_with("s_")) return generation >= 12 ? kScalar : kLds;
  if (name.starts_with("ds_")) return kLds;
  const bool stores = contains(name, "_store_") || (contains(name, "_atomic_") && !gives_old(access));
  return stores && generation > 9 ? kStores : kLoads;
}

std::array<std::optional<uint32_t>, kCounters> left_by(const Instruction& in) {
  std::array<std::optional<uint32_t>, kCounters> left;
  const std::string_view name = in.row->name;
  const auto number = [](std::string_view text) {
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    uint32_t out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out, hex ? 16 : 10);
    return out;
  };
  if (name == "s_waitcnt" || name == "s_waitcnt_vscnt" || name == "s_waitcnt_vmcnt" ||
      name == "s_waitcnt_lgkmcnt") {
    for (const Operand& o : in.operands) {
      for (const auto& [word, counter] :
           {std::pair("vmcnt(", kLoads), std::pair("lgkmcnt(", kLds), std::pair("vscnt(", kStores)}) {
        const size_t at = o.text.find(word);
        if (at != std::string_view::npos)
          left[counter] = number(o.text.substr(at + std::string_view(word).size()));
      }
      if (o.kind == OperandKind::kInteger && o.integer == 0) left[kLoads] = left[kLds] = 0;
    }
    return left;
  }
  if (in.operands.empty()) return left;
  const uint32_t n = number(in.operands.back().text);
  if (name == "s_wait_loadcnt") left[kLoads] = n;
  if (name == "s_wait_storecnt") left[kStores] = n;
  if (name == "s_wait_dscnt") left[kLds] = n;
  if (name == "s_wait_kmcnt") left[kScalar] = n;
  if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {  // six bits each
    left[name.starts_with("s_wait_load") ? kLoads : kStores] = n >> 8 & 63;
    left[kLds] = n & 63;
  }
  return left;
}

std::vector<Use> uses_of(const Instruction& in) {
  std::vector<Use> out;
  if (!in.row->takes_any) {
    size_t at = 0;
    for (const Slot& s : in.row->slots) {
      if (s.optional && in.operands.size() < in.row->slots.size()) continue;
      if (at < in.operands.size()) out.push_back({&in.operands[at++], s.written});
    }
    return out;
  }
  const std::string_view name = in.row->name;
  const bool loads = is_memory(in) && !loads_to_lds(in) && !name.starts_with("ds_write") &&
                     !contains(name, "_store_") && (!contains(name, "atomic") || gives_old(in)) &&
                     (!name.starts_with("ds_") || name.starts_with("ds_read") || gives_old(in));
  const bool product = name.starts_with("v_mfma") || name.starts_with("v_wmma");
  for (size_t k = 0; k < in.operands.size(); ++k)
    out.push_back({&in.operands[k], k == 0 && (loads || product)});
  return out;
}

uint8_t halves_of(const Instruction& in, const Use& use) {
  if (use.operand->half >= 0) return 1 << use.operand->half;
  const std::string_view name = in.row->name;
  if (!is_memory(in) || use.operand->count != 1) return 3;
  const bool stores = contains(name, "_store_short") || contains(name, "_store_byte") ||
                      name.starts_with("ds_write_b8") || name.starts_with("ds_write_b16");
  const bool is_data = use.operand == &in.operands[name.starts_with("buffer_") ? 0 : 1];
  if (use.written ? !contains(name, "_d16") : !stores || !is_data) return 3;
  return name.ends_with("_d16_hi") ? 2 : 1;
}

bool is_first_guess(const Kernel& kernel, uint32_t at) {
  constexpr uint32_t kFarthest = 64;  // instructions: LLVM puts the loop behind the load
  const Instruction& load = kernel.body[at];
  if (!load.row || !contains(load.row->name, "_load_") || !is_memory(load) || load.operands.empty())
    return false;
  const Operand& guess = load.operands[0];
  const size_t end = std::min<size_t>(kernel.body.size(), at + 1 + kFarthest);
  for (size_t k = at + 1; k < end; ++k) {
    const Instruction& swap = kernel.body[k];
    if (!swap.row) return false;
    if (contains(swap.row->name, "_atomic_cmpswap") && gives_old(swap) && swap.operands.size() > 2) {
      // The data of global_atomic_cmpswap v2, v[0:1], v[2:3], off are the new value, and behind it the expected one.
      const bool is_buffer = swap.row->name.starts_with("buffer_");
      const Operand& data = swap.operands[is_buffer ? 0 : 2];
      std::vector<std::string_view> places, addresses;
      for (size_t n = 1; n < load.operands.size(); ++n) addresses.push_back(load.operands[n].text);
      for (size_t n = 1; n < swap.operands.size(); ++n)
        if (&swap.operands[n] != &data) places.push_back(swap.operands[n].text);
      return data.kind == guess.kind && data.count == 2 * guess.count &&
             data.index + guess.count == guess.index && places == addresses &&
             load.number("offset") == swap.number("offset") && load.place.line == swap.place.line &&
             load.place.column == swap.place.column;
    }
    for (const Use& use : uses_of(swap))
      if (use.written && use.operand->kind == guess.kind && use.operand->index < guess.index + guess.count &&
          guess.index < use.operand->index + use.operand->count)
        return false;
  }
  return false;
}

std::vector<uint32_t> successors(const Kernel& kernel, uint32_t at) {
  const Instruction& in = kernel.body[at];
  const std::string_view name = in.row ? in.row->name : in.name;
  std::vector<uint32_t> out;
  if (name == "s_endpgm" || name == "s_setpc_b64") return out;
  if ((name == "s_branch" || name.starts_with("s_cbranch_")) && !in.operands.empty()) {
    const auto found = kernel.labels.find(in.operands[0].text);
    if (found != kernel.labels.end()) out.push_back(found->second);
    if (name == "s_branch") return out;
  }
  out.push_back(at + 1);
  return out;
}

std::vector<uint32_t> results_of(const Instruction& in) {
  std::vector<uint32_t> out;
  if (!in.row) return out;
  for (const Use& use : uses_of(in)) {
    if (!use.written || !use.operand->is_register() || use.operand->is(kNull)) continue;
    for (uint32_t k = 0; k < use.operand->count; ++k)
      out.push_back(register_code(use.operand->kind, use.operand->index + k));
  }
  const std::string_view name = in.row->name;
  if (contains(name, "saveexec") || contains(name, "wrexec") || name.starts_with("v_cmpx")) {
    out.push_back(register_code(OperandKind::kScalar, kExecLo));
    if (!contains(name, "_b32")) out.push_back(register_code(OperandKind::kScalar, kExecHi));
  }
  return out;
}

namespace {

// "32x32x8" and "2b" of v_mfma_f32_32x32x4_2b_f16.
uint64_t products_of(std::string_view name) {
  std::array<uint64_t, 3> sizes{};
  uint64_t blocks = 1;
  while (!name.empty()) {
    const size_t end = std::min(name.find('_'), name.size());
    std::string_view word = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    uint64_t n = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error != std::errc()) continue;
    word.remove_prefix(static_cast<size_t>(stop - word.data()));
    if (word == "b") blocks = n;
    if (!word.starts_with("x")) continue;
    sizes[0] = n;
    for (size_t k = 1; k < 3 && word.starts_with("x"); ++k) {
      word.remove_prefix(1);
      const auto [rest, bad] = std::from_chars(word.data(), word.data() + word.size(), sizes[k]);
      if (bad == std::errc()) word.remove_prefix(static_cast<size_t>(rest - word.data()));
    }
  }
  return sizes[0] * sizes[1] * sizes[2] * blocks;
}

std::string_view matrix_type(std::string_view name) {
  const std::string_view last =
      name.substr(std::min(name.find('x'), name.size()));  // after the type of the sum
  for (const auto& [word, type] :
       {std::pair("f8f6f4", "f8"), std::pair("fp8", "f8"), std::pair("bf8", "f8"), std::pair("bf16", "f16"),
        std::pair("xf32", "tf32"), std::pair("i8", "s8"), std::pair("u8", "s8"), std::pair("iu4", "s4"),
        std::pair("f16", "f16"), std::pair("f64", "f64")})
    if (contains(last, word)) return type;
  return "f32";
}

uint32_t flops_of(std::string_view name) {
  if (!name.starts_with("v_") ||
      !(contains(name, "_f32") || contains(name, "_f16") || contains(name, "_f64")))
    return 0;
  name.remove_prefix(2);
  if (name.starts_with("dual_")) name.remove_prefix(5);
  const uint32_t lanes = name.starts_with("pk_") ? 2 : 1;
  if (lanes == 2) name.remove_prefix(3);
  if (name.starts_with("dot2")) return 4;
  for (const std::string_view two : {"fma", "mad_f", "mac"})
    if (name.starts_with(two)) return 2 * lanes;
  for (const std::string_view one : {"add_f", "sub_f", "subrev_f", "mul_f", "mul_legacy"})
    if (name.starts_with(one)) return lanes;
  return 0;
}

}  // namespace

Work work_of(const Instruction& in) {
  Work w;
  if (!in.row) return w;
  const std::string_view name = in.row->name;
  if (name.starts_with("v_mfma") || name.starts_with("v_wmma") || name.starts_with("v_smfmac")) {
    w.pipe = "MFMA";
    w.matrix_operations = 2 * products_of(name);
    w.matrix_type = matrix_type(name);
    return w;
  }
  w.flops = flops_of(name);
  if (name.starts_with("v_")) return w.pipe = "VALU", w;
  const bool branches = name.starts_with("s_branch") || name.starts_with("s_cbranch") ||
                        name.starts_with("s_endpgm") || name.starts_with("s_setpc") ||
                        name.starts_with("s_swappc");
  if (!is_memory(in))  // buffer_inv and its like are for caches
    return w.pipe = branches ? "BRANCH" : name.starts_with("s_") ? "SALU" : "VMEM", w;
  const bool lds = name.starts_with("ds_");
  w.pipe = lds ? "LDS" : name.starts_with("s_") ? "SMEM" : "VMEM";
  if (contains(name, "permute") || contains(name, "swizzle")) return w;
  w.space = lds ? "shared" : name.starts_with("scratch_") ? "local" : "global";
  const bool updates = contains(name, "_atomic_") || (lds && gives_old(in));
  w.access = updates                                                     ? "atomic"
             : contains(name, "_store_") || name.starts_with("ds_write") ? "store"
                                                                         : "load";
  return w;
}

// The type of a result stands first in the opcode's name: v_add_f32, v_cvt_f32_i32, but v_cvt_i32_f32 and v_cmp_lt_f32.
bool gives_floats(const Instruction& in) {
  if (!in.row || !in.row->name.starts_with("v_") || in.row->name.starts_with("v_cmp")) return false;
  const std::string_view name = in.row->name;
  const size_t at = name.find("_f32");
  if (at == std::string_view::npos) return false;
  const std::string_view before = name.substr(0, at);
  for (const std::string_view other :
       {"_i32", "_u32", "_f16", "_bf16", "_i16", "_u16", "_f64", "_rtz", "_fp8", "_bf8"})
    if (before.ends_with(other)) return false;
  return true;
}

}  // namespace triton_runner::amdgcn
