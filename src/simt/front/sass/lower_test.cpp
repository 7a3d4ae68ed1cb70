// Tests what instructions are lowered to: what is computed for all threads whatever their guard is, and what is not computed at all.
#include "front/sass/lower.h"

#include "test.h"

using namespace triton_runner;

namespace {

// The instructions that a line becomes, one letter each: G has a guard, A is for all threads; 2: it gives a second result.
std::string lowered(const std::string& line) {
  const auto module = sass::parse(
      "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n/*0000*/ " + line + " ;\n/*0010*/ EXIT ;\n",
      "k.sass");
  if (!module) return module.error().message;
  simt::Code code;
  code.threads = 32;
  artifact::CubinKernel kernel;
  kernel.name = "k";
  base::Diagnostics sink;
  simt::SassLowering lowering(code, *module, *(*module)->find("k"), kernel, sink);
  if (!lowering.lower_kernel()) return sink.list().front().message;
  std::string out;
  for (size_t i = 0; i + 2 < code.instrs.size(); ++i) {  // without the EXIT and what stands after it
    out += code.instrs[i].guard == simt::kNoRegister ? 'A' : 'G';
    if (code.instrs[i].e != simt::kNoRegister) out += '2';
  }
  return out;
}

}  // namespace

TEST(addresses_are_computed_for_all_threads) {
  CHECK_EQ(lowered("@!P0 LDS R0, [R2.X4]"), std::string("AG"));
  CHECK_EQ(lowered("@P0 STS [R2.X8+UR4+0x10], R0"), std::string("AAG"));
  CHECK_EQ(lowered("@P0 LDS.64 R2, [R2]"), std::string("AG"));  // it loads into its address
  CHECK_EQ(lowered("@P0 STG.E [R2.64+UR4], R0"), lowered("@!P0 STG.E [R2.64+UR4], R0"));
  CHECK_EQ(lowered("@P0 IMAD R0, R2, 0x4, R3"), std::string("G"));  // others may read what was in R0
}

TEST(comparisons_give_what_somebody_reads) {
  for (const std::string by : {"FSETP.GEU.AND", "FSETP.LT.FTZ.OR", "ISETP.GE.XOR", "ISETP.GE.U32.AND"}) {
    CHECK_EQ(lowered(by + " P0, PT, R2, R3, PT"), std::string("A"));
    CHECK_EQ(lowered("@P1 " + by + " P0, PT, R2, R3, P2"), std::string("G"));
    CHECK_EQ(lowered(by + " P0, P1, R2, R3, PT"), std::string("A2"));
  }
  CHECK_EQ(lowered("DSETP.GT.AND P0, PT, R2, R4, PT"), lowered("DSETP.GT.AND P0, PT, R2, R4, P1"));
}
