// Prints immediates that LLVM spells: counters that are waited for, messages, hardware registers, swizzles.
#include <triton_runner/base/text.h>

#include "decoder.h"

namespace triton_runner::amdgcn {
namespace {

struct Field {
  std::string_view name;
  uint32_t value, most;
};

// Fields that are at their highest value are not waited for, and not printed, unless all are.
std::string counters(std::span<const Field> all) {
  std::string out;
  bool none = true;
  for (const Field& c : all) none = none && c.value == c.most;
  for (const Field& c : all)
    if (none || c.value != c.most)
      out += (out.empty() ? "" : " ") + std::string(c.name) + "(" + std::to_string(c.value) + ")";
  return out;
}

}  // namespace

std::string Decoder::wait_counts(uint32_t value) const {
  const Field of_cdna[] = {{"vmcnt", (value & 15) | (value >> 14 & 3) << 4, 63},
                           {"expcnt", value >> 4 & 7, 7},
                           {"lgkmcnt", value >> 8 & 15, 15}};
  const Field of_rdna[] = {
      {"vmcnt", value >> 10 & 63, 63}, {"expcnt", value & 7, 7}, {"lgkmcnt", value >> 4 & 63, 63}};
  if (value & (cdna() ? 0x3080u : 8u)) return base::hex(value);
  return counters(cdna() ? of_cdna : of_rdna);
}

std::string Decoder::dependency_counters(uint32_t value) const {
  const Field all[] = {{"depctr_hold_cnt", value >> 7 & 1, 1}, {"depctr_sa_sdst", value & 1, 1},
                       {"depctr_va_vdst", value >> 12, 15},    {"depctr_va_sdst", value >> 9 & 7, 7},
                       {"depctr_va_ssrc", value >> 8 & 1, 1},  {"depctr_va_vcc", value >> 1 & 1, 1},
                       {"depctr_vm_vsrc", value >> 2 & 7, 7}};
  if (value >> 5 & 3) return base::hex(value);
  return counters(all);
}

std::string Decoder::delay(uint32_t value) const {
  constexpr std::string_view kIds[] = {
      "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
      "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
  constexpr std::string_view kSkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  const uint32_t first = value & 15, skip = value >> 4 & 7, second = value >> 7 & 15;
  if (value >> 11 || first > 11 || skip > 5 || second > 11) return base::hex(value);
  std::string out;
  const auto add = [&](std::string_view name, std::string_view what) {
    out += (out.empty() ? "" : " | ") + std::string(name) + "(" + std::string(what) + ")";
  };
  if (first) add("instid0", kIds[first]);
  if (skip) add("instskip", kSkips[skip]);
  if (second) add("instid1", kIds[second]);
  return out.empty() ? "0x0" : out;
}

std::string Decoder::message(uint32_t value) const {
  struct Named {
    uint32_t value;
    std::string_view name;
  };
  constexpr Named kOfCdna[] = {{1, "MSG_INTERRUPT"},    {4, "MSG_SAVEWAVE"},        {5, "MSG_STALL_WAVE_GEN"},
                               {6, "MSG_HALT_WAVES"},   {7, "MSG_ORDERED_PS_DONE"}, {9, "MSG_GS_ALLOC_REQ"},
                               {10, "MSG_GET_DOORBELL"}};
  constexpr Named kOfRdna[] = {
      {1, "MSG_INTERRUPT"},          {2, "MSG_HS_TESSFACTOR"},   {3, "MSG_DEALLOC_VGPRS"},
      {5, "MSG_STALL_WAVE_GEN"},     {6, "MSG_HALT_WAVES"},      {9, "MSG_GS_ALLOC_REQ"},
      {128, "MSG_RTN_GET_DOORBELL"}, {129, "MSG_RTN_GET_DDID"},  {130, "MSG_RTN_GET_TMA"},
      {131, "MSG_RTN_GET_REALTIME"}, {132, "MSG_RTN_SAVE_WAVE"}, {133, "MSG_RTN_GET_TBA"}};
  for (const Named& n : cdna() ? std::span<const Named>(kOfCdna) : std::span<const Named>(kOfRdna))
    if (n.value == value && !(rdna4() && (value == 5 || value == 6)))
      return "sendmsg(" + std::string(n.name) + ")";
  if (cdna()) {
    const uint32_t id = value & 15, operation = value >> 4 & 7, stream = value >> 8 & 3;
    if (value >> 10 || value & 0x80) return std::to_string(value);
    return "sendmsg(" + std::to_string(id) + ", " + std::to_string(operation) + ", " +
           std::to_string(stream) + ")";
  }
  return value >> 8 ? std::to_string(value) : "sendmsg(" + std::to_string(value) + ", 0, 0)";
}

std::string Decoder::hardware_register(uint32_t value) const {
  const uint32_t id = value & 63, offset = value >> 6 & 31, size = (value >> 11) + 1;
  constexpr std::string_view kFirst[] = {"",
                                         "HW_REG_MODE",
                                         "HW_REG_STATUS",
                                         "HW_REG_TRAPSTS",
                                         "HW_REG_HW_ID",
                                         "HW_REG_GPR_ALLOC",
                                         "HW_REG_LDS_ALLOC",
                                         "HW_REG_IB_STS"};
  std::string_view name;
  if (!rdna4() && id < std::size(kFirst) && !(id == 4 && !cdna())) name = kFirst[id];
  if (id == 15) name = rdna4() ? "" : "HW_REG_SH_MEM_BASES";
  if (cdna() && id == 16) name = "HW_REG_TBA_LO";
  if (cdna() && id == 17) name = "HW_REG_TBA_HI";
  if (cdna() && id == 18) name = "HW_REG_TMA_LO";
  if (cdna() && id == 19) name = "HW_REG_TMA_HI";
  if ((chip_ == Chip::gfx942 || chip_ == Chip::gfx950) && id >= 20 && id <= 22) {
    constexpr std::string_view kOfGfx942[] = {"HW_REG_XCC_ID", "HW_REG_SQ_PERF_SNAPSHOT_DATA",
                                              "HW_REG_SQ_PERF_SNAPSHOT_DATA1"};
    name = kOfGfx942[id - 20];
  }
  if (!cdna() && id == 23) name = rdna4() ? "HW_REG_WAVE_HW_ID1" : "HW_REG_HW_ID1";
  if (!cdna() && id == 24) name = rdna4() ? "HW_REG_WAVE_HW_ID2" : "HW_REG_HW_ID2";
  if (chip_ == Chip::gfx1100 && id == 20) name = "HW_REG_FLAT_SCR_LO";
  if (chip_ == Chip::gfx1100 && id == 21) name = "HW_REG_FLAT_SCR_HI";
  if (chip_ == Chip::gfx1100 && id == 29) name = "HW_REG_SHADER_CYCLES";
  if (rdna4()) {
    constexpr std::string_view kOfRdna4[] = {"",
                                             "HW_REG_WAVE_MODE",
                                             "HW_REG_WAVE_STATUS",
                                             "",
                                             "HW_REG_WAVE_STATE_PRIV",
                                             "HW_REG_WAVE_GPR_ALLOC",
                                             "HW_REG_WAVE_LDS_ALLOC",
                                             "HW_REG_IB_STS"};
    if (id < std::size(kOfRdna4)) name = kOfRdna4[id];
    if (id == 17) name = "HW_REG_WAVE_EXCP_FLAG_PRIV";
    if (id == 18) name = "HW_REG_WAVE_EXCP_FLAG_USER";
    if (id == 19) name = "HW_REG_WAVE_TRAP_CTRL";
  }
  std::string out = "hwreg(" + (name.empty() ? std::to_string(id) : std::string(name));
  if (offset != 0 || size != 32) out += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return out + ")";
}

// ds_swizzle's: four lanes as they are named, or and, or and xor of the lane's number.
std::string Decoder::swizzle(uint32_t value) {
  if (value == 0) return "";
  if (value >> 8 == 0x80) {
    std::string out = " offset:swizzle(QUAD_PERM";
    for (uint32_t k = 0; k < 4; ++k) out += "," + std::to_string(value >> (2 * k) & 3);
    return out + ")";
  }
  if (value >> 15) return " offset:" + std::to_string(value);
  const uint32_t both = value & 31, either = value >> 5 & 31, flipped = value >> 10 & 31;
  if (both == 31 && either == 0 && (flipped & (flipped - 1)) == 0 && flipped != 0)
    return " offset:swizzle(SWAP," + std::to_string(flipped) + ")";
  if (both == 31 && either == 0 && flipped > 0 && (flipped & (flipped + 1)) == 0)
    return " offset:swizzle(REVERSE," + std::to_string(flipped + 1) + ")";
  const uint32_t group = 32 - both;
  if (flipped == 0 && (group & (group - 1)) == 0 && group > 1 && either < group)
    return " offset:swizzle(BROADCAST," + std::to_string(group) + "," + std::to_string(either) + ")";
  std::string out = " offset:swizzle(BITMASK_PERM,\"";
  for (uint32_t bit = 16; bit; bit >>= 1) {
    const bool zero = ((0 & both) | either) & bit ? !(flipped & bit) : (flipped & bit) != 0;
    const bool one = (both | either) & bit ? !(flipped & bit) : (flipped & bit) != 0;
    out += zero == one ? (zero ? '1' : '0') : one ? 'p' : 'i';
  }
  return out + "\")";
}

}  // namespace triton_runner::amdgcn
