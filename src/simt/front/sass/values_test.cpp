// Tests which values of registers have a place of their own, and which lie in that of the register.
#include "front/sass/values.h"

#include "front/sass/order.h"
#include "test.h"

using namespace triton_runner;

namespace {

struct Code {
  explicit Code(std::initializer_list<const char*> lines) {
    std::string text = "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n";
    size_t address = 0;
    for (const char* line : lines) {
      char place[16];
      std::snprintf(place, sizeof place, "/*%04zx*/ ", address);
      const bool is_label = std::string(line).ends_with(':');
      text += is_label ? std::string(line) + "\n" : place + std::string(line) + " ;\n";
      if (!is_label) address += 16;
    }
    module = std::move(*sass::parse(std::move(text), "k.sass"));
    values = simt::Values(*module, function());
  }
  const sass::Function& function() const { return *module->find("k"); }

  // The register after each instruction: a letter for each value of its own, '.' for its own place.
  std::string after(std::string_view name) const {
    const uint32_t reg = *sass::register_named(name);
    std::string out;
    for (uint32_t i = 0; i < function().body.size(); ++i) {
      const uint32_t value = values.after(i, reg);
      if (value == reg)
        out += '.';
      else
        out += static_cast<char>('a' + letters.try_emplace(value, letters.size()).first->second);
    }
    return out;
  }
  std::string order() const {
    std::string out;
    for (const auto& stretch : simt::lowering_order(*module, function(), true, {}, values))
      for (const uint32_t i : stretch) out += static_cast<char>('0' + i);
    return out;
  }

  std::shared_ptr<const sass::Module> module;
  simt::Values values;
  mutable std::map<uint32_t, size_t> letters;
};

}  // namespace

TEST(what_is_overwritten_in_straight_code_is_its_own) {
  const Code code({"MOV R2, 0x1", "MOV R3, R2", "MOV R2, 0x2", "STG.E [R4.64], R2", "EXIT"});
  CHECK_EQ(code.after("R2"), std::string("aabbb"));
  CHECK_EQ(code.after("R3"), std::string(".cccc"));
  CHECK_EQ(code.after("R4"), std::string("....."));  // nothing gives it
  CHECK(code.values.is_unread(1));
  CHECK(!code.values.is_unread(0));
}

TEST(what_others_need_lies_in_the_register) {
  const Code code({"MOV R2, 0x1", "MOV R3, 0x1", "@P0 BRA `(.L_x_0)", "MOV R2, 0x2", "MOV R3, 0x3",
                   ".L_x_0:", "STG.E [R4.64], R2", "EXIT"});
  CHECK_EQ(code.after("R2"), std::string("......."));
  CHECK_EQ(code.after("R3"), std::string(".aa.b.."));
}

TEST(a_guard_keeps_the_value_that_was_there) {
  const Code code({"MOV R2, 0x1", "@P0 MOV R2, 0x2", "STG.E [R4.64], R2", "EXIT"});
  CHECK_EQ(code.after("R2"), std::string("aaaa"));
  const Code without({"@P0 MOV R2, 0x2", "STG.E [R4.64], R2", "EXIT"});
  CHECK_EQ(without.after("R2"), std::string("..."));
}

TEST(loops_read_what_they_left) {
  const Code code({"MOV R2, 0x1", ".L_x_0:", "IADD3 R2, R2, 0x1, RZ", "IADD3 R3, R2, 0x1, RZ",
                   "STG.E [R4.64], R3", "@P0 BRA `(.L_x_0)", "EXIT"});
  CHECK_EQ(code.after("R2"), std::string("......"));
  CHECK_EQ(code.after("R3"), std::string("..aaa."));
}

TEST(what_is_not_known_sees_all_registers) {
  const Code code({"MOV R2, 0x1", "FROB R9", "MOV R2, 0x2", "MOV R3, R2", "MOV R2, 0x3", "EXIT"});
  CHECK_EQ(code.after("R2"), std::string("..aa.."));  // what the last one needs nobody can say
  const Code computed({"MOV R2, 0x1", "MOV R2, 0x2", "BRX R4 -0x10", "EXIT"});
  CHECK_EQ(computed.after("R2"), std::string("...."));
}

TEST(a_call_by_an_address_may_lead_anywhere) {
  const Code code({"MOV R20, 0x40", "MOV R6, 0x60", "CALL.REL.NOINC R6 `(k)", "EXIT", "MOV R20, 0x50", "EXIT",
                   "MOV R2, R20", "RET.REL.NODEC R20 `(k)"});
  for (const char* reg : {"R2", "R6", "R20"}) CHECK_EQ(code.after(reg), std::string("........"));
}

TEST(uniform_registers_are_shared_where_a_warp_may_part) {
  const Code code({"UMOV UR4, 0x1", "MOV R2, UR4", "UMOV UR4, 0x2", "BAR.SYNC 0x0", "MOV R3, UR4",
                   "UMOV UR4, 0x3", "STG.E [R6.64], R2", "EXIT"});
  CHECK_EQ(code.after("UR4"), std::string("aa...bbb"));
}

TEST(products_need_not_wait_for_registers_that_are_used_again) {
  const Code code({"LDSM.16.M88.4 R24, [R20]", "HMMA.16816.F32 R4, R132, R24, R4", "LDSM.16.M88.4 R24, [R21]",
                   "HMMA.16816.F32 R8, R132, R24, R8", "EXIT"});
  CHECK_EQ(code.order(), std::string("02134"));
}

TEST(a_sum_by_halves_is_found_where_its_terms_stay) {
  const auto half = [](std::initializer_list<const char*> lines, uint32_t i) {
    return Code(lines).values.lower_half(i);
  };
  const char *low = "IADD3 R2, P0, R4, 0x200, RZ", *high = "IADD3.X R3, RZ, R5, RZ, P0, !PT";
  CHECK(half({low, high, "STG.E [R2.64], R6", "EXIT"}, 1) == std::optional<uint32_t>(0));
  CHECK(half({low, "FADD R6, R6, R7", high, "EXIT"}, 2) == std::optional<uint32_t>(0));
  CHECK(!half({low, high, "@P0 FADD R6, R6, R7", "EXIT"}, 1));  // somebody else reads the carry
  CHECK(
      !half({low, "IADD3 R4, R4, 0x1, RZ", high, ".L_x_0:", "STG.E [R4.64], R2", "@P1 BRA `(.L_x_0)", "EXIT"},
            2));  // R4 lies in its own place, and is another one there
  CHECK(!half({low, "IADD3.X R3, RZ, ~R5, RZ, P0, !PT", "EXIT"}, 1));
  CHECK(!half({".L_x_0:", "IADD3 R4, P0, R4, 0x200, RZ", "IADD3.X R5, RZ, R5, RZ, P0, !PT",
               "STG.E [R4.64], R6", "@P1 BRA `(.L_x_0)", "EXIT"},
              1));  // R4 is what the next time round begins with
  const char* shifted = "LEA R2, P0, R4, c[0x0][0x160], 0x2";
  CHECK(half({shifted, "LEA.HI.X R3, R4, c[0x0][0x164], R5, 0x2, P0", "EXIT"}, 1) ==
        std::optional<uint32_t>(0));
  CHECK(!half({shifted, "LEA.HI.X R3, R4, c[0x0][0x164], R5, 0x3, P0", "EXIT"}, 1));
  CHECK(!half({shifted, "LEA.HI.X R3, R6, c[0x0][0x164], R5, 0x2, P0", "EXIT"}, 1));
}

TEST(numbers_are_put_into_a_loads_registers_where_nobody_looks_before) {
  const char* load = "@!P0 LDG.E.64 R4, [R2.64]";
  const Code code({"CS2R R4, SRZ", "IADD3 R8, R9, 0x1, RZ", load, "STG.E.64 [R10.64], R4", "EXIT"});
  CHECK(code.values.is_fill(0));
  const auto* fills = code.values.fills_of(2);
  CHECK(fills && fills->size() == 2);
  CHECK(!Code({"CS2R R4, SRZ", "MOV R8, R4", load, "EXIT"}).values.is_fill(0));
  CHECK(!Code({"CS2R R4, SRZ", "LDG.E.64 R4, [R2.64]", "EXIT"}).values.is_fill(0));  // all threads load
  CHECK(!Code({"CS2R R4, SRZ", "@!P0 LDG.E R4, [R2.64]", "EXIT"}).values.is_fill(0));
  CHECK(!Code({"CS2R R4, SRZ", ".L_x_0:", load, "@P1 BRA `(.L_x_0)", "EXIT"}).values.is_fill(0));
}

TEST(the_mask_says_which_predicates_are_read_and_written) {
  const Code code({"ISETP.NE.AND P0, PT, R4, RZ, PT", "ISETP.NE.AND P1, PT, R4, RZ, PT",
                   "P2R R2, PR, RZ, 0x1", "R2P PR, R5, 0x3", "STG.E [R6.64], R2", "@P0 EXIT",
                   "STG.E [R6.64], R5", "EXIT"});
  CHECK_EQ(code.after("P0"), std::string("aaabbbbb"));
  CHECK(!code.values.is_unread(0));
  CHECK(code.values.is_unread(1));  // R2P overwrites P1, which is not in the mask of P2R
  const Code all({"ISETP.NE.AND P0, PT, R4, RZ, PT", "R2P PR, R5, R2", "STG.E [R6.64], R4", "EXIT"});
  CHECK_EQ(all.after("P0"), std::string("...."));  // nobody knows which
}
