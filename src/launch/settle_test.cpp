// Tests settle(), which values a kernel takes by name or by number, and typed(), their types.
#include <triton_runner/launch/settle.h>

#include "test.h"

using namespace triton_runner;
using namespace triton_runner::launch;

namespace {

using Kind = ValueKind;

Value value(const char* name, Kind kind) { return {name, {kind}}; }
Value one(const char* name) { return {name, {Kind::kInteger, FloatType::kNone, 0, true}}; }
Value descriptor(const char* name, uint8_t rank) {
  return {name, {Kind::kDescriptor, FloatType::kNone, rank}};
}

Interface ptx(std::vector<int> bytes, std::optional<int> hidden = std::nullopt) {
  Interface out{"k", "ptx", {}, hidden};
  for (int b : bytes) out.params.push_back({"", b == 8 ? ".u64" : ".b" + std::to_string(8 * b), b});
  return out;
}

Interface ttir(std::vector<KnownParam> params) { return {"k", "ttir", std::move(params), std::nullopt}; }

base::Result<Settled> settled(const Interface& artifact, const std::vector<Value>& values) {
  return settle(artifact, values, [](size_t i) { return "<" + std::to_string(i) + ">"; });
}

std::string kept(const Interface& artifact, const std::vector<Value>& values) {
  auto result = settled(artifact, values);
  if (!result) return result.error().message;
  std::string text;
  for (size_t i : result->kept) text += values[i].name;
  return text + "+" + std::to_string(result->hidden);
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

const Value x = value("x", Kind::kTensor), n = value("n", Kind::kInteger), none = value("o", Kind::kNone);

}  // namespace

TEST(counting_finds_what_was_folded) {
  CHECK_EQ(kept(ptx({8, 4}, 0), {x, n}), "xn+0");
  CHECK_EQ(kept(ptx({8, 4}, 0), {x, one("s"), n, none}), "xn+0");
  CHECK_EQ(kept(ptx({8, 4, 4}, 0), {x, one("s"), n}), "xsn+0");  // not folded: do_not_specialize
  CHECK(has(kept(ptx({8, 4}, 0), {x, n, n}), "3 arguments do not fit"));
}

TEST(true_is_passed_and_never_folded) {
  const Value flag = value("f", Kind::kBool);
  CHECK_EQ(kept(ptx({8, 1}, 0), {x, flag}), "xf+0");
  CHECK(has(kept(ptx({8}, 0), {x, flag}), "do not fit"));
  CHECK(has(kept(ttir({{"x", "!tt.ptr<f32>", 8}}), {x, flag}),
            "argument 'f' is <1>, but the artifact has no such parameter"));
}

TEST(pointers_of_tritons_own) {
  CHECK_EQ(kept(ptx({8, 4, 8, 8}), {x, n}), "xn+2");
  CHECK_EQ(kept(ptx({8, 4, 8, 8}, 2), {x, n, none}), "xn+2");
  CHECK_EQ(kept(ptx({8, 4}, 2), {x, n}), "xn+0");             // metadata of another build
  CHECK(has(kept(ptx({8, 4, 4, 8}), {x, n}), "do not fit"));  // the last two are no pointers
  CHECK(has(kept(ptx({8, 4, 8, 8}), {x, n, none}), "counting does not settle"));
  CHECK(has(kept(ptx({8, 4, 8}, 1), {x}), "1 of them Triton's own; 1 arguments do not fit"));
}

TEST(names_settle_more_than_counts) {
  const Interface named = ttir({{"x", "!tt.ptr<f32>", 8}, {"n", "i32", 4}});
  CHECK_EQ(kept(named, {x, one("s"), one("n"), none}), "xn+0");  // both are 1, one of them was folded
  CHECK(has(kept(named, {x, value("s", Kind::kInteger), n}), "argument 's' is <1>"));
  CHECK(has(kept(named, {x, value("t", Kind::kTensor), n}), "has no parameter 't'"));
  CHECK(has(kept(named, {x}), "takes 2 arguments, and 1 were given"));
  CHECK_EQ(kept(named, {value("#0", Kind::kTensor), value("#1", Kind::kInteger)}), "#0#1+0");
  Interface inherited = ptx({8, 4, 8});
  inherited.params[0].name = "x", inherited.params[1].name = "n";
  CHECK_EQ(kept(inherited, {x, n, none}), "xn+1");
}

TEST(descriptors_take_several_parameters) {
  const Value d = descriptor("d", 2);
  Interface maps = ptx({128, 4, 4, 8, 8, 4}, 0);
  CHECK(has(kept(maps, {d, n}), "does not say how they are laid out"));
  maps.descriptors_as_maps = true;
  CHECK_EQ(kept(maps, {d, n}), "dn+0");
  CHECK_EQ(kept(maps, {d, one("s"), n}), "dn+0");
  const Interface pieces = ptx({8, 8, 8, 8, 8, 1, 1, 4, 4, 8, 8, 4}, 0);
  auto found = settled(pieces, {d, n});
  CHECK(found.ok());
  CHECK_EQ(found->descriptor_flags, 2);
  CHECK_EQ(found->at[1], size_t{11});
  CHECK_EQ(
      kept(
          ttir({{"d", "!tt.tensordesc<tensor<16xf32>>", 0}, {"", "i32", 4}, {"", "i64", 8}, {"n", "i32", 4}}),
          {descriptor("d", 1), n}),
      "dn+0");
}

TEST(types_come_from_the_artifact_or_else_from_the_value) {
  auto types = [](const Interface& artifact, const std::vector<Value>& values) -> std::string {
    auto found = typed(artifact, values, *settled(artifact, values));
    if (!found) return found.error().message;
    std::string text;
    for (const exec::Param& p : *found)
      text += std::string(1, "pifd"[static_cast<int>(p.kind)]) + p.type + " ";
    return text;
  };
  const Value real = value("r", Kind::kFloat), half{"h", {Kind::kTyped, FloatType::kF16}};
  CHECK_EQ(types(ptx({8, 4, 4, 8}, 0), {x, n, real, n}), "p.u64 i.b32 ff32 i.u64 ");
  CHECK_EQ(types(ptx({2}, 0), {half}), "ff16 ");
  CHECK(has(types(ptx({4}, 0), {half}), "is f16, and the ptx takes 32 bits"));
  CHECK(has(types(ptx({4}, 0), {x}), "is a tensor, and the ptx takes 32 bits there"));
  CHECK(has(types(ptx({2}, 0), {real}), "does not tell f16 from bf16"));
  Interface said = ptx({2, 4}, 0);
  said.params[0].type = "bfloat", said.params[1].type = ".f32";
  CHECK_EQ(types(said, {real, n}), "fbfloat f.f32 ");
  CHECK_EQ(types(ptx({8, 8}, 0), {none, value("m", Kind::kTensorMap)}), "p.u64 pnvTmaDesc ");
}
