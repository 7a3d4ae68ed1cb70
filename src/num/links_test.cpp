// Tests linked ops against the kernels of the ops one by one.
#include <triton_runner/num/links.h>

#include <algorithm>
#include <bit>

#include <triton_runner/num/kernels.h>
#include <triton_runner/num/reduce.h>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

// Random links, each as its own op by the kernels that have tests of their own.
TEST(linked_ops) {
  std::mt19937_64 random(18);
  auto floats = [&](int64_t n) {
    return stored(operands(Type::kF32, static_cast<size_t>(n), random), Type::kF32);
  };
  auto as_floats = [](std::vector<char>& v) { return reinterpret_cast<float*>(v.data()); };
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    random.seed(18);
    auto loop = [](const Elementwise& f) { return f.kernel(Type::kF32, Type::kF32).loop; };
    LinkOp found;
    CHECK(find_link(loop(elementwise_mulf), &found) && found == LinkOp::kMul);
    CHECK(!find_link(loop(elementwise_divf), &found));
    for (int round = 0; round < 300; ++round) {
      const int64_t n = static_cast<int64_t>(random() % 700);
      std::vector<char> x = floats(n + 16);
      std::vector<std::vector<char>> operand;
      std::vector<std::vector<uint8_t>> condition;
      std::vector<Link> links;
      std::vector<float> want(as_floats(x), as_floats(x) + n);
      for (size_t count = 1 + random() % kMostLinks; links.size() < count;) {
        std::vector<char>& y = operand.emplace_back(floats(n + 1));
        std::vector<uint8_t>& c = condition.emplace_back(static_cast<size_t>(n));
        for (uint8_t& b : c) b = random() & 1;
        Link l{static_cast<LinkOp>(random() % 8), random() % 2 == 0, as_floats(y), c.data()};
        std::vector<float> each(as_floats(y), as_floats(y) + n);
        if (l.uniform) std::fill(each.begin(), each.end(), as_floats(y)[0]);
        const std::vector<float> v = want;
        switch (l.op) {
          case LinkOp::kAdd:
            loop(elementwise_addf)(want.data(), v.data(), each.data(), nullptr, n);
            break;
          case LinkOp::kSub:
            loop(elementwise_subf)(want.data(), v.data(), each.data(), nullptr, n);
            break;
          case LinkOp::kSubFrom:
            loop(elementwise_subf)(want.data(), each.data(), v.data(), nullptr, n);
            break;
          case LinkOp::kMul:
            loop(elementwise_mulf)(want.data(), v.data(), each.data(), nullptr, n);
            break;
          case LinkOp::kSquare:
            loop(elementwise_mulf)(want.data(), v.data(), v.data(), nullptr, n);
            l.operand = nullptr;
            break;
          case LinkOp::kSelect:
            loop(elementwise_select)(want.data(), c.data(), v.data(), each.data(), n);
            break;
          case LinkOp::kSelectNot:
            loop(elementwise_select)(want.data(), c.data(), each.data(), v.data(), n);
            break;
          case LinkOp::kReplace:
            want = each;
        }
        if (l.op != LinkOp::kSelect && l.op != LinkOp::kSelectNot) l.condition = nullptr;
        links.push_back(l);
      }
      auto compare = [&](const float* got, const char* what) {
        size_t differs = 0;
        for (int64_t i = 0; i < n; ++i)
          differs += !same(std::bit_cast<uint32_t>(got[i]),
                           std::bit_cast<uint32_t>(want[static_cast<size_t>(i)]), Type::kF32);
        CHECK_EQ(differs, 0u);
        if (differs) fprintf(stderr, "%s %s round %d\n", what, isa_name(isa).data(), round);
      };
      std::vector<float> out(static_cast<size_t>(n) + 17, 7.0f);
      const size_t skew = random() % 16;
      map_links(out.data() + skew, as_floats(x), links.data(), links.size(), n);
      compare(out.data() + skew, "map");
      CHECK_EQ(out[skew + static_cast<size_t>(n)], 7.0f);
      std::fill(out.begin(), out.end(), 7.0f);
      map_links_past_caches(out.data() + skew, as_floats(x), links.data(), links.size(), n);
      finish_past_caches();
      compare(out.data() + skew, "map past caches");
      CHECK_EQ(out[skew + static_cast<size_t>(n)], 7.0f);
      if (n == 0) continue;
      float sum, expected;
      reduce_fn(ReduceOp::kAddF, Type::kF32)(&expected, want.data(), 1, n, 1);
      alignas(64) char state[kReduceStateBytes];
      for (int64_t at = 0, m; at < n; at += m) {
        m = std::min<int64_t>(n - at, static_cast<int64_t>(64 * (1 + random() % 4)));
        std::vector<Link> here = links;
        for (Link& l : here) {
          if (l.operand && !l.uniform) l.operand += at;
          if (l.condition) l.condition += at;
        }
        sum_links(&sum, state, as_floats(x) + at, here.data(), here.size(), m, at == 0, at + m == n);
      }
      CHECK(same(std::bit_cast<uint32_t>(sum), std::bit_cast<uint32_t>(expected), Type::kF32));
      map_links(as_floats(x), as_floats(x), links.data(), links.size(), n);
      compare(as_floats(x), "in place");
    }
  }
  force_isa("");
}
