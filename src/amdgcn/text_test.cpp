// Tests the reader of AMDGCN: operands, modifiers, places, metadata, and what is wrong with a text.
#include <triton_runner/amdgcn/opcode.h>

#include "test.h"

using namespace triton_runner;
using amdgcn::OperandKind;

namespace {

std::string text_of(const std::string& body, const std::string& more = "") {
  return "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n\t.file 1 \"/a\" \"k.py\"\nk:\n" + body +
         "\ts_endpgm\n.Lfunc_end0:\n\t.amdhsa_kernel k\n\t\t.amdhsa_next_free_vgpr "
         "7\n\t.end_amdhsa_kernel\n" +
         more;
}

amdgcn::Instruction first(const std::string& line) {
  static std::vector<std::shared_ptr<const amdgcn::Module>> kept;
  kept.push_back(*amdgcn::parse(text_of("\t" + line + "\n"), "k.amdgcn"));
  return kept.back()->kernels()[0].body[0];
}

}  // namespace

TEST(amdgcn_operands) {
  const auto in = first("v_fma_f32 v[3:4], -|v5|, s[2:3], 0x3f000000 clamp op_sel:[0,1,0]  ; note");
  CHECK_EQ(in.name, "v_fma_f32");
  CHECK_EQ(in.operands.size(), size_t{4});
  CHECK(in.operands[0].kind == OperandKind::kVector && in.operands[0].index == 3 &&
        in.operands[0].count == 2);
  CHECK(in.operands[1].negated && in.operands[1].absolute && in.operands[1].index == 5);
  CHECK(in.operands[2].kind == OperandKind::kScalar && in.operands[2].count == 2);
  CHECK_EQ(in.operands[3].integer, int64_t{0x3f000000});
  CHECK(in.has("clamp"));
  CHECK_EQ(in.number_at("op_sel", 1, 9), int64_t{1});
  CHECK_EQ(in.number_at("op_sel", 5, 9), int64_t{9});
}

TEST(amdgcn_names_and_encodings) {
  CHECK(first("v_add_f32_dpp v0, v1, v2 row_shr:1").encoding == amdgcn::Instruction::kDpp);
  CHECK_EQ(first("v_add_f32_e64 v0, v1, v2").row->name, "v_add_f32");
  CHECK_EQ(first("ds_load_b128 v[0:3], v4 offset:16").row->name, "ds_read_b128");
  CHECK(first("image_load v0, v1, s[0:7]").row == nullptr);
  CHECK(first("v_mov_b32_e32 v0, vcc_lo").operands[1].index == amdgcn::kVccLo);
  CHECK(first("v_add_f16_e32 v0.h, v1.l, v2.h").operands[0].half == 1);
}

TEST(amdgcn_places_and_descriptor) {
  const auto module = amdgcn::parse(text_of("\t.loc 1 12 3 prologue_end\n\ts_nop 0\n"), "k.amdgcn");
  CHECK(module.ok());
  const amdgcn::Kernel& k = (*module)->kernels()[0];
  CHECK_EQ(k.body[0].place.file, "/a/k.py");
  CHECK_EQ(k.body[0].place.line, 12u);
  CHECK_EQ(k.directive("next_free_vgpr"), int64_t{7});
  CHECK_EQ((*module)->target(), "gfx942");
}

TEST(amdgcn_arguments) {
  const std::string metadata =
      "\t.amdgpu_metadata\namdhsa.kernels:\n  - .args:\n      - .offset: 0\n        .size: 8\n        "
      ".value_kind: global_buffer\n"
      "      - .offset: 8\n        .size: 4\n        .value_kind: hidden_block_count_x\n    "
      ".kernarg_segment_size: 24\n"
      "    .max_flat_workgroup_size: 128\n    .name: k\n\t.end_amdgpu_metadata\n";
  const auto module = amdgcn::parse(text_of("", metadata), "k.amdgcn");
  const amdgcn::Kernel& k = (*module)->kernels()[0];
  CHECK(k.parameters.size() == 1 && k.parameters[0].is_pointer);
  CHECK(k.hidden.size() == 1 && k.hidden[0].kind == "block_count_x" && k.hidden[0].offset == 8);
  CHECK_EQ(k.kernarg_bytes, 24u);
  CHECK_EQ(k.threads, 128u);
  // A block of none, or of more than a chip has, is an error at its place.
  for (const std::string wrong : {"0", "-1", "1025", "4294967424", "99999999999999999999"}) {
    std::string other = metadata;
    const auto read = amdgcn::parse(text_of("", other.replace(other.find("128"), 3, wrong)), "k.amdgcn");
    CHECK(!read.ok() && read.error().str().starts_with("k.amdgcn:"));
    CHECK(read.error().str().find("'.max_flat_workgroup_size' is to be a number from 1 to 1024") !=
          std::string::npos);
  }
  // An offset that no argument has becomes a larger one than any, which the launch refuses.
  for (const std::string wrong : {"4294967296", "4294967304", "-8", "q"}) {
    std::string other = metadata;
    const auto read =
        amdgcn::parse(text_of("", other.replace(other.find(": 0"), 3, ": " + wrong)), "k.amdgcn");
    CHECK_EQ((*read)->kernels()[0].parameters[0].offset, uint32_t{INT32_MAX});
  }
}

TEST(amdgcn_names_of_descriptors) {
  const std::string text = text_of("\ts_nop 0\n");
  const auto changed = [&](std::string_view end) {
    std::string other = text;
    const std::string_view mark = ".amdhsa_kernel k";
    return other.replace(other.find(mark), mark.size(), ".amdhsa_kernel" + std::string(end));
  };
  const auto module = amdgcn::parse(changed(" k  ; of the launch"), "k.amdgcn");
  CHECK(module.ok() && (*module)->kernels()[0].name == "k");
  CHECK_EQ((*module)->kernels()[0].directive("next_free_vgpr"), int64_t{7});
  CHECK(!amdgcn::parse(changed(""), "k.amdgcn").ok());
  CHECK(amdgcn::parse(text + "\t.amdhsa_kernel\n\t.amdhsa_next_free_vgpr 9\n", "k.amdgcn").ok());
}

TEST(amdgcn_text_without_a_kernel) {
  CHECK(!amdgcn::parse("", "k.amdgcn").ok());
  CHECK(!amdgcn::parse("\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n", "k.amdgcn").ok());
}
