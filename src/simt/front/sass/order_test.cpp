// Tests which instructions move past products of matrices, and which must not.
#include "front/sass/order.h"

#include "test.h"

using namespace triton_runner;

namespace {

// The order of some instructions, the first one number 0.
std::string order_of(std::initializer_list<const char*> lines, bool may_move = true,
                     const std::vector<bool>& fixed = {}) {
  std::string text = "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n";
  size_t address = 0;
  for (const char* line : lines) {
    char place[16];
    std::snprintf(place, sizeof place, "/*%04zx*/ ", address);
    text += std::string(line).ends_with(':') ? std::string(line) + "\n" : place + std::string(line) + " ;\n";
    if (!std::string(line).ends_with(':')) address += 16;
  }
  const auto module = sass::parse(std::move(text), "k.sass");
  if (!module) return module.error().message;
  std::string out;
  for (const auto& stretch : simt::lowering_order(**module, *(*module)->find("k"), may_move, fixed)) {
    if (!out.empty()) out += '|';
    for (uint32_t i : stretch) out += static_cast<char>('0' + i);
  }
  return out;
}

constexpr const char *kFirst = "HMMA.16816.F32 R4, R132, R2, R4",
                     *kSecond = "HMMA.16816.F32 R8, R132, R136, R8";

}  // namespace

TEST(independent_instructions_come_before_products) {
  CHECK_EQ(order_of({kFirst, "IADD3 R20, R21, 0x1, RZ", "LDSM.16.M88.4 R24, [R20]", kSecond}),
           std::string("1203"));
  CHECK_EQ(order_of({kFirst, "BAR.SYNC.DEFER_BLOCKING 0x0", kSecond}), std::string("102"));
}

TEST(what_depends_on_products_comes_after_them) {
  CHECK_EQ(order_of({kFirst, "FADD R20, R4, 1", kSecond}), std::string("021"));  // it reads a sum
  CHECK_EQ(order_of({kFirst, "MOV R133, R20", kSecond}), std::string("012"));    // the second reads it
  CHECK_EQ(order_of({kFirst, "MOV R3, R20", kSecond}), std::string("021"));      // it overwrites an operand
  CHECK_EQ(order_of({kFirst, "MOV R3, R20", "MOV R20, R21", kSecond}), std::string("0312"));
}

TEST(memory_keeps_its_order) {
  CHECK_EQ(order_of({kFirst, "STS [R30], R4", "LDS R31, [R30]", kSecond}), std::string("0312"));
}

TEST(products_do_not_pass_jumps_and_labels) {
  CHECK_EQ(order_of({kFirst, "@P0 BRA `(.L_x_0)", ".L_x_0:", "MOV R20, R21", kSecond}),
           std::string("0|1|23"));
  CHECK_EQ(order_of({kFirst, ".L_x_0:", "MOV R20, R21", kSecond, "BRA `(.L_x_0)"}), std::string("0|12|3"));
  CHECK_EQ(order_of({kFirst, "BRX R2 -0x10", "MOV R20, R21", kSecond}), std::string("0|1|2|3"));
}

TEST(nothing_moves_where_it_may_not) {
  CHECK_EQ(order_of({kFirst, "MOV R20, R21", "MOV R22, R23", kSecond}, true, {false, true, false, false}),
           std::string("0|1|23"));
  CHECK_EQ(order_of({kFirst, "MOV R20, R21", kSecond}, false), std::string("0|1|2"));
  CHECK_EQ(order_of({"MOV R20, R21", "MOV R22, R23"}), std::string("0|1"));
}
