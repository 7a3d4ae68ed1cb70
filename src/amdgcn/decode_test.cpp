// Tests instructions from their bits: an example of each encoding, as LLVM's assembler encodes it, and
// encodings that are refused.
#include <triton_runner/amdgcn/decode.h>

#include <triton_runner/amdgcn/code_object.h>

#include "test.h"

using namespace triton_runner;
using amdgcn::Chip;

namespace {

std::string text(Chip chip, std::vector<uint32_t> words) {
  const amdgcn::Decoded done = amdgcn::decode(chip, chip >= Chip::gfx1100, words);
  if (!done.error.empty()) return "error: " + done.error;
  return done.words == words.size() ? done.text : "of another length: " + done.text;
}

std::string refused(std::string_view bytes) {
  const auto made = amdgcn::listing(bytes, "x.hsaco");
  return made ? "no error" : made.error().message;
}

}  // namespace

TEST(each_encoding) {
  CHECK_EQ(text(Chip::gfx90a, {0xd3e68000, 0x14020902}),
           "v_mfma_f32_32x32x8bf16_1k a[0:15], v[2:3], a[4:5], a[0:15]");
  CHECK_EQ(text(Chip::gfx90a, {0xe0505010, 0x80010102}),
           "buffer_load_dword v1, v2, s[4:7], 0 offen offset:16 glc");
  CHECK_EQ(text(Chip::gfx942, {0xc00a0100, 0x10}), "s_load_dwordx4 s[4:7], s[0:1], 0x10");
  CHECK_EQ(text(Chip::gfx942, {0xbf8c0073}), "s_waitcnt vmcnt(3) lgkmcnt(0)");
  CHECK_EQ(
      text(Chip::gfx942, {0x680206f9, 0xd000502}),
      "v_add_u32_sdwa v1, v2, sext(v3) dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_1");
  CHECK_EQ(text(Chip::gfx942, {0x7e0202fa, 0xaf014202}),
           "v_mov_b32_dpp v1, v2 row_bcast:15 row_mask:0xa bank_mask:0xf");
  CHECK_EQ(text(Chip::gfx942, {0xdc579ff0, 0x2060004}),
           "global_load_dwordx2 v[2:3], v4, s[6:7] offset:-16 sc0 nt");
  CHECK_EQ(text(Chip::gfx942, {0xd86e0901, 0x2000004}), "ds_read2_b32 v[2:3], v4 offset0:1 offset1:9");
  CHECK_EQ(text(Chip::gfx942, {0xd1cb8101, 0x680de502}), "v_fma_f32 v1, -|v2|, neg(1.0), s3 clamp mul:2");
  CHECK_EQ(text(Chip::gfx942, {0xbe8300ff, 0x12345}), "s_mov_b32 s3, 0x12345");
  CHECK_EQ(text(Chip::gfx950, {0xd2340701, 0x8120702}), "v_bitop3_b32 v1, v2, v3, s4 bitop3:0x78");
  CHECK_EQ(
      text(Chip::gfx950, {0xd3ac0000, 0x25328, 0xd3ae0800, 0x82023110}),
      "v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:27], 0, v40, v41 op_sel_hi:[0,0,0] blgp:4");
  CHECK_EQ(text(Chip::gfx1100, {0xc8e206ff, 0x1040a8c, 0x7b800000}),
           "v_dual_mul_f32 v1, 0x7b800000, v3 :: v_dual_lshlrev_b32 v4, 12, v5");
  CHECK_EQ(text(Chip::gfx1100, {0x7f021553}), "v_cvt_f16_f32_e32 v1.h, v83");
  CHECK_EQ(text(Chip::gfx1100, {0xbf870491}),
           "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)");
  CHECK_EQ(text(Chip::gfx1100, {0xcc444008, 0x7c022120}),
           "v_wmma_i32_16x16x16_iu8 v[8:15], v[32:35], v[16:19], v[0:7] neg_lo:[1,1,0]");
  CHECK_EQ(text(Chip::gfx1201, {0xee0d407c, 0x2180001, 0xffffe802}),
           "global_atomic_add_u32 v1, v[2:3], v4, off offset:-24 th:TH_ATOMIC_RETURN scope:SCOPE_DEV");
  CHECK_EQ(text(Chip::gfx1201, {0xc406c07c, 0x40801002, 0x804}),
           "buffer_store_b64 v[2:3], v4, s[8:11], null offen offset:8");
  CHECK_EQ(text(Chip::gfx1201, {0xed05c021, 0x1, 0x1000}), "scratch_load_b128 v[1:4], off, s33 offset:16");
  CHECK_EQ(text(Chip::gfx1201, {0xbfc80301}), "s_wait_loadcnt_dscnt 0x301");
  CHECK_EQ(text(Chip::gfx1201, {0xd7268000, 0x204fa, 0xff096801}),
           "v_add_nc_i32_e64_dpp v0, v1, v2 clamp row_xmask:8 row_mask:0xf bank_mask:0xf bound_ctrl:1");
}

TEST(what_no_row_has_is_an_error) {
  CHECK_EQ(text(Chip::gfx942, {0xbf9fffff}), "error: the opcode 31 of SOPP is not in the table");
  CHECK_EQ(text(Chip::gfx942, {0xf0000000, 0}),
           "error: its first bits name an encoding that is not decoded (images, exports and typed buffers "
           "are not)");
  // v_mov_b32_e64 with a second source, and v_readfirstlane_b32 to a register that there is not.
  CHECK_EQ(text(Chip::gfx942, {0xd1410001, 0x00020302}), "error: a source that it does not have");
  CHECK_EQ(text(Chip::gfx942, {0x7efa0501}), "error: no scalar register has the number 125 as one of 1");
  // A literal, and the second word of a load, that are cut off.
  CHECK_EQ(text(Chip::gfx942, {0xbe8300ff}), "error: the code ends within the instruction");
  CHECK_EQ(text(Chip::gfx1201, {0xee0ac07c, 0}), "error: the code ends within the instruction");
  // The same word is an instruction of one chip, and none of another.
  CHECK_EQ(text(Chip::gfx1100, {0xbfb00000}), "s_endpgm");
  CHECK_EQ(text(Chip::gfx942, {0xbfb00000}), "error: the opcode 48 of SOPP is not in the table");
}

TEST(what_is_no_code_object) {
  CHECK_EQ(refused(""), "malformed hsaco: it is empty");
  CHECK_EQ(refused("s_endpgm"), "malformed hsaco: it does not begin with the ELF magic");
}
