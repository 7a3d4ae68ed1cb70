// Lowers stochastic rounding (tt.fp_to_fp with random bits): the elements that a thread has in neighbouring
// registers are rounded by one instruction, with one word of random bits, which the compiler makes of theirs.
#include <triton_runner/base/look_up.h>
#include <triton_runner/num/stochastic.h>
#include <triton_runner/num/types.h>

#include "machine/threads.h"
#include "ops/elementwise.h"

namespace triton_runner::tile {
namespace {

struct Chances {
  const num::stochastic::Format* format;
  uint32_t pack;                // elements that share a word
  std::vector<int32_t> others;  // of each element those of its pack, -1 where there is none
  std::vector<uint8_t> place;   // of each element in its pack
};

void run_stochastic(Task& t, const Instr& in, const Chances& c) {
  const auto* x = t.dense<float>(in.operand(0));
  const auto* random = t.dense<uint32_t>(in.operand(1));
  auto* out = t.new_dense<std::byte>(in.result());
  const TileType& type = t.type(in.result());
  for (int64_t i = 0; i < type.n; ++i) {
    const int32_t* others = c.others.data() + i * c.pack;
    uint32_t word = 0;
    for (uint32_t k = 0; k < c.pack; ++k)
      if (others[k] >= 0) word ^= random[others[k]] << k;
    num::store_bits(out + i * type.size, type.element,
                    num::stochastic::rounded(
                        *c.format, x[i], num::stochastic::random_bits(*c.format, word, c.place[i], c.pack),
                        num::stochastic::kStochasticSatfinite));
  }
}

}  // namespace

void lower_stochastic(Lowering& l, const ir::Op& op) {
  using namespace num::stochastic;
  constexpr std::pair<num::Type, std::pair<const Format*, uint32_t>> kFormats[] = {
      {num::Type::kF16, {&kF16, 2}},
      {num::Type::kBF16, {&kBf16, 2}},
      {num::Type::kF8E4M3FN, {&kE4m3, 4}},
      {num::Type::kF8E5M2, {&kE5m2, 4}},
  };
  const ir::Type& type = *op.operand(0)->type;
  const auto format = base::look_up(kFormats, l.type_of(op.result())->element);
  if (!format || l.type_of(op.operand(0))->element != num::Type::kF32 || type.kind != ir::TypeKind::kTensor)
    return l.fail(
        op, "stochastic rounding of other than tensors of f32 to f16, bf16, e4m3 and e5m2 is not supported");
  const auto held = thread_elements(l, op, type);
  if (!held) return;
  auto* c = l.make<Chances>(format->first, format->second);
  c->others.assign(static_cast<size_t>(type.num_elements()) * c->pack, -1);
  c->place.resize(static_cast<size_t>(type.num_elements()));
  for (size_t i = 0; i < held->element.size(); ++i) {
    const size_t reg = i % static_cast<size_t>(held->registers), first = i - reg % c->pack;
    const auto element = static_cast<size_t>(held->element[i]);
    c->place[element] = static_cast<uint8_t>(reg % c->pack);
    for (size_t k = 0; k < c->pack; ++k)
      if (reg - reg % c->pack + k < static_cast<size_t>(held->registers))
        c->others[element * c->pack + k] = held->element[first + k];
  }
  l.emit<run_stochastic>(op, c);
}

}  // namespace triton_runner::tile
