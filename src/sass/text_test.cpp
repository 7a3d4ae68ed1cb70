// Tests listings that are read and matched with the table, and what is said of wrong ones.
#include <triton_runner/sass/opcode.h>

#include "test.h"

using namespace triton_runner;

namespace {

constexpr const char* kListing = R"(	.section	.text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   S2R R0, SR_TID.X ;                        /* 0x0000000000007919 */
                                                                             /* 0x000e6e0000002100 */
.L_x_0:
        /*0010*/              @!P6 LDG.E.64 R14, desc[UR4][R4.64+-0x8] ;     /* 0x00000004040ee981 */
                                                                             /* 0x000ea2000c1e1900 */
        /*0020*/                   FADD R2, -|R3|.reuse, 1.5 ;               /* 0x3fc0000003027421 */
                                                                             /* 0x000fe20000010200 */
        /*0030*/               @P0 BRA `(.L_x_0) ;                           /* 0x0000000000000947 */
                                                                             /* 0x000fea000383ffff */
)";

std::shared_ptr<const sass::Module> parsed(std::string text) {
  auto module = sass::parse(std::move(text), "k.sass");
  return module ? *module : nullptr;
}

}  // namespace

TEST(listing_has_operands_and_bits) {
  const auto module = parsed(kListing);
  CHECK(module != nullptr);
  if (!module) return;
  const sass::Function* k = module->find("k");
  CHECK(k && k->body.size() == 4);
  if (!k || k->body.size() != 4) return;
  const sass::Instruction &load = k->body[1], &add = k->body[2], &jump = k->body[3];
  CHECK(load.guard && load.guard->inverted && load.guard->index == 6);
  CHECK_EQ(load.address, uint64_t{16});
  CHECK(load.has("64"));
  CHECK_EQ(load.operands.size(), size_t{2});
  CHECK(load.operands[1].kind == sass::OperandKind::kAddress);
  CHECK_EQ(load.operands[1].integer, int64_t{-8});
  CHECK_EQ(load.operands[1].descriptor.value_or(99), 4u);
  CHECK_EQ(load.operands[1].parts[0].selector, std::string_view("64"));
  CHECK(add.operands[1].minus && add.operands[1].absolute && add.operands[1].index == 3);
  CHECK(add.operands[2].kind == sass::OperandKind::kFloat);
  CHECK_EQ(add.words[0] >> 32, uint64_t{0x3fc00000});
  CHECK_EQ(jump.operands[0].integer, int64_t{16});
}

TEST(control_word) {
  const auto module = parsed(kListing);
  if (!module) return;
  const sass::Control c = module->find("k")->body[0].control;
  CHECK_EQ(int{c.stall}, 7);
  CHECK_EQ(int{c.write_barrier}, 1);
  CHECK_EQ(int{c.read_barrier}, 7);
  CHECK_EQ(int{c.wait_mask}, 0);
}

TEST(row_by_suffixes) {
  const auto module = parsed(R"(.text.k:
  /*0000*/ IMAD.WIDE.U32 R2, P0, R4, R5, R6 ; /* 0x0000000000000000 */
                                              /* 0x0000000000000001 */
  /*0010*/ IMAD.WIDE.BIG R2, R4, R5, R6 ;     /* 0x0000000000000000 */
                                              /* 0x0000000000000001 */
  /*0020*/ FROB R1 ;                          /* 0x0000000000000000 */
                                              /* 0x0000000000000001 */
  /*0030*/ VIADD R1, R2 ;                     /* 0x0000000000000000 */
                                              /* 0x0000000000000001 */
)");
  CHECK(module != nullptr);
  if (!module) return;
  const auto& body = module->find("k")->body;
  const auto wide = sass::match(*module, body[0]);
  CHECK(wide.ok() && wide->row->opcode == sass::Opcode::kIMAD_WIDE);
  if (wide) {
    CHECK(wide->slots[1] && wide->written[1] && wide->registers[0] == 2);
    CHECK(wide->slots[5] == nullptr);
  }
  for (size_t i = 1; i < 4; ++i) {
    const auto refused = sass::match(*module, body[i]);
    CHECK(!refused.ok());
    if (!refused) CHECK_EQ(refused.error().location.line, static_cast<int>(2 * i + 2));
  }
}

TEST(bad_listings) {
  for (const char* text :
       {"", "nothing", ".text.k:\n /*0000*/ EXIT ;\n", ".text.k:\n /*0000*/ EXIT\n", ".text.k:\n /* 0x0 */\n",
        ".text.k:\n /*0000*/ BRA `(.L_x_9) ; /* 0x0000000000000000 */\n",
        ".text.k:\n /*0000*/ ; /* 0x0000000000000000 */\n",
        ".text.k:\n /*0000*/ A [, c[, |, -, `( ; /* 0x0000000000000000 */\n"})
    CHECK(parsed(text) == nullptr || parsed(text)->functions().size() == 1);
}

TEST(what_a_listing_says_of_control_words_is_no_operand) {
  const auto module = parsed(R"(.text.k:
        /*0000*/  LDC R1, c[0x0][0x37c]     &wr=0x1   ?trans8;  /* 0x0000df00ff017b82 */
                                                                /* 0x000e700000000800 */
        /*0010*/  HADD2.F32 R5, -RZ, c[0x0] [0x168].H0_H0 ;     /* 0x20005a00ff057630 */
                                                                /* 0x000fe20000000000 */
)");
  CHECK(module != nullptr);
  if (!module) return;
  const sass::Function* k = module->find("k");
  CHECK(k && k->body.size() == 2);
  if (!k || k->body.size() != 2) return;
  CHECK_EQ(k->body[0].operands.size(), size_t{2});
  CHECK_EQ(k->body[1].operands.size(), size_t{3});
  CHECK(k->body[1].operands[2].integer == 0x168 && k->body[1].operands[2].selector == "H0_H0");
}
