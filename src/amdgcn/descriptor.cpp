// Reads the 64 bytes of a kernel descriptor, and writes the directives that they stand for.
#include "descriptor.h"

#include <triton_runner/artifact/elf.h>

namespace triton_runner::amdgcn {

Descriptor read_descriptor(std::string_view bytes, const artifact::Json& metadata) {
  artifact::Bytes in(bytes);
  Descriptor d;
  d.group_bytes = in.take<uint32_t>();
  d.private_bytes = in.take<uint32_t>();
  d.kernarg_bytes = in.take<uint32_t>();
  in.take_bytes(4 + 8 + 20);
  d.third = in.take<uint32_t>();
  d.first = in.take<uint32_t>();
  d.second = in.take<uint32_t>();
  d.properties = in.take<uint16_t>();
  d.preload = in.take<uint16_t>();
  if (const artifact::Json* vgprs = metadata.get(".vgpr_count"); vgprs && vgprs->as_int())
    d.vgprs = *vgprs->as_int();
  return d;
}

std::string text_of(const Descriptor& d, std::string_view name, Chip chip) {
  std::string out = "\t.section\t.rodata,\"a\",@progbits\n\t.amdhsa_kernel " + std::string(name) + "\n";
  const bool cdna = chip <= Chip::gfx950, rdna4 = chip == Chip::gfx1201;
  const auto say = [&](std::string_view what, int64_t value) {
    out += "\t\t.amdhsa_" + std::string(what) + " " + std::to_string(value) + "\n";
  };
  const auto bits = [](uint32_t word, uint32_t first, uint32_t count) {
    return word >> first & ((1u << count) - 1);
  };
  say("group_segment_fixed_size", d.group_bytes);
  say("private_segment_fixed_size", d.private_bytes);
  say("kernarg_size", d.kernarg_bytes);
  say("user_sgpr_count", bits(d.second, 1, 5));
  if (chip == Chip::gfx90a) say("user_sgpr_private_segment_buffer", bits(d.properties, 0, 1));
  say("user_sgpr_dispatch_ptr", bits(d.properties, 1, 1));
  say("user_sgpr_queue_ptr", bits(d.properties, 2, 1));
  say("user_sgpr_kernarg_segment_ptr", bits(d.properties, 3, 1));
  say("user_sgpr_dispatch_id", bits(d.properties, 4, 1));
  if (cdna) {
    say("user_sgpr_kernarg_preload_length", bits(d.preload, 0, 7));
    say("user_sgpr_kernarg_preload_offset", bits(d.preload, 7, 9));
  }
  if (chip == Chip::gfx90a) say("user_sgpr_flat_scratch_init", bits(d.properties, 5, 1));
  say("user_sgpr_private_segment_size", bits(d.properties, 6, 1));
  if (!cdna) say("wavefront_size32", d.is_wave32());
  say("uses_dynamic_stack", bits(d.properties, 11, 1));
  say(chip == Chip::gfx90a ? "system_sgpr_private_segment_wavefront_offset" : "enable_private_segment",
      bits(d.second, 0, 1));
  say("system_sgpr_workgroup_id_x", bits(d.second, 7, 1));
  say("system_sgpr_workgroup_id_y", bits(d.second, 8, 1));
  say("system_sgpr_workgroup_id_z", bits(d.second, 9, 1));
  say("system_sgpr_workgroup_info", bits(d.second, 10, 1));
  say("system_vgpr_workitem_id", bits(d.second, 11, 2));
  if (d.vgprs >= 0) say("next_free_vgpr", d.vgprs);
  if (cdna) say("accum_offset", (bits(d.third, 0, 6) + 1) * 4);
  say("float_round_mode_32", bits(d.first, 12, 2));
  say("float_round_mode_16_64", bits(d.first, 14, 2));
  say("float_denorm_mode_32", bits(d.first, 16, 2));
  say("float_denorm_mode_16_64", bits(d.first, 18, 2));
  if (!rdna4) {
    say("dx10_clamp", bits(d.first, 21, 1));
    say("ieee_mode", bits(d.first, 23, 1));
  }
  say("fp16_overflow", bits(d.first, 26, 1));
  if (cdna) {
    say("tg_split", bits(d.third, 16, 1));
  } else {
    say("workgroup_processor_mode", bits(d.first, 29, 1));
    say("memory_ordered", bits(d.first, 30, 1));
    say("forward_progress", bits(d.first, 31, 1));
    say("inst_pref_size", rdna4 ? bits(d.third, 4, 8) : bits(d.third, 4, 6));
    if (rdna4)
      say("round_robin_scheduling", bits(d.first, 21, 1));
    else
      say("shared_vgpr_count", bits(d.third, 0, 4));
  }
  constexpr std::string_view kExceptions[] = {"fp_ieee_invalid_op", "fp_denorm_src",     "fp_ieee_div_zero",
                                              "fp_ieee_overflow",   "fp_ieee_underflow", "fp_ieee_inexact",
                                              "int_div_zero"};
  for (uint32_t k = 0; k < 7; ++k) say("exception_" + std::string(kExceptions[k]), bits(d.second, 24 + k, 1));
  return out + "\t.end_amdhsa_kernel\n";
}

}  // namespace triton_runner::amdgcn
