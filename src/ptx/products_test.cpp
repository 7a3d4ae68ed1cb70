// Tests early uses of products: random programs against every way through them, followed product by product.
#include <triton_runner/ptx/products.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "test.h"

using namespace triton_runner;
using namespace triton_runner::ptx;

namespace {

// A line of a program. `n`: the accumulator, the groups that a wait leaves, or the line that a jump goes to.
struct Line {
  enum Kind { kProduct, kCommit, kWait, kRead, kWrite, kJump } kind;
  size_t n = 0;
};
using Program = std::vector<Line>;
using Use = std::pair<size_t, size_t>;  // lines of a use and of a product

std::string text_of(const Program& program) {
  std::string out =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b64 %rd; .reg .pred %p;\n"
      ".reg .b32 %x, %a<4>, %b<4>;\n";
  for (size_t i = 0; i < program.size(); ++i) {
    const Line& line = program[i];
    const std::string d = line.n == 0 ? "%a" : "%b";
    out += "L" + std::to_string(i) + ": ";
    switch (line.kind) {
      case Line::kProduct:
        out += "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {" + d + "0, " + d + "1, " + d + "2, " + d +
               "3}, %rd, %rd, 1, 1, 1, 0, 0;\n";
        break;
      case Line::kCommit:
        out += "wgmma.commit_group.sync.aligned;\n";
        break;
      case Line::kWait:
        out += "wgmma.wait_group.sync.aligned " + std::to_string(line.n) + ";\n";
        break;
      case Line::kRead:
        out += "mov.b32 %x, " + d + "1;\n";
        break;
      case Line::kWrite:
        out += "mov.b32 " + d + "2, 0;\n";
        break;
      case Line::kJump:
        out += "@%p bra L" + std::to_string(line.n) + ";\n";
        break;
    }
  }
  return out + "ret; }\n";
}

// Follows every way on which a line comes up at most twice: a longer one has the same products pending, or
// fewer, since what a turn of a loop commits and waits for only covers more of them.
struct Model {
  struct Issued {
    size_t line;
    size_t groups = 0;
    bool hidden = false;
  };
  const Program& program;
  std::map<Use, bool> uses{};  // and whether it is hidden, on all ways

  void follow(size_t at, std::vector<Issued> pending, std::vector<int> visits) {
    for (; at < program.size(); ++at) {
      if (++visits[at] > 2) return;
      const Line& line = program[at];
      if (line.kind == Line::kProduct) pending.push_back({at});
      if (line.kind == Line::kCommit)
        for (Issued& i : pending) ++i.groups;
      if (line.kind == Line::kWait) wait(pending, line.n);
      if (line.kind == Line::kRead || line.kind == Line::kWrite)
        for (const Issued& i : pending)
          if (program[i.line].n == line.n) {
            bool& hidden = uses.try_emplace({at, i.line}, true).first->second;
            hidden = hidden && i.hidden;
          }
      if (line.kind == Line::kJump) follow(line.n, pending, visits);
    }
  }
  void wait(std::vector<Issued>& pending, size_t left) const {
    auto is_covered = [&](const Issued& i) { return i.groups > left; };
    for (Issued& i : pending)
      for (const Issued& older : pending)
        i.hidden = i.hidden || (is_covered(older) && program[older.line].n == program[i.line].n);
    std::erase_if(pending, is_covered);
  }
};

EarlyUses found_in(const Program& program) {
  auto module = parse(text_of(program), "t.ptx");
  CHECK(module);
  if (!module) return {};
  return early_uses(*(*module)->functions()[0]);
}

Program random_program(std::mt19937& random, bool jumps) {
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Program program;
  const size_t size = 6 + below(10);
  for (size_t i = 0; i < size; ++i) {
    switch (below(jumps ? 9 : 8)) {
      case 0:
      case 1:
      case 2:
        program.push_back({Line::kProduct, below(2)});
        if (below(3) > 0) program.push_back({Line::kCommit});
        break;
      case 3:
        program.push_back({Line::kCommit});
        break;
      case 4:
      case 5:
        program.push_back({Line::kWait, below(4)});
        break;
      case 6:
        program.push_back({Line::kRead, below(2)});
        break;
      case 7:
        program.push_back({Line::kWrite, below(2)});
        break;
      case 8:
        program.push_back({Line::kJump, 0});
        break;
    }
  }
  for (Line& line : program)
    if (line.kind == Line::kJump) line.n = below(program.size());
  return program;
}

}  // namespace

TEST(products_of_random_programs) {
  std::mt19937 random(27);
  size_t early = 0, hidden = 0, serialized = 0, clean = 0;
  for (int n = 0; n < 3000; ++n) {
    const bool jumps = n % 2 == 1;
    const Program program = random_program(random, jumps);
    if (std::count_if(program.begin(), program.end(), [](const Line& l) { return l.kind == Line::kJump; }) >
        3)
      continue;
    Model model{program};
    model.follow(0, {}, std::vector<int>(program.size()));
    const EarlyUses found = found_in(program);
    std::map<Use, bool> uses;
    bool serializes = false;
    for (const EarlyUse& use : found.uses) {
      uses[{use.use, use.product}] = use.hidden;
      CHECK_EQ(use.writes, program[use.use].kind == Line::kWrite);
      serializes = serializes || use.writes || !use.hidden;
    }
    CHECK_EQ(found.serialized, serializes);
    CHECK(!found.surely || found.serialized);
    std::set<Use> lines, wanted;
    for (const auto& [use, is_hidden] : uses) lines.insert(use), hidden += is_hidden;
    for (const auto& [use, is_hidden] : model.uses) wanted.insert(use);
    CHECK(lines == wanted);
    if (!jumps) CHECK(uses == model.uses);
    const auto is_seen = [](const EarlyUse& use) { return !use.hidden; };
    if (!jumps) CHECK_EQ(found.surely, std::any_of(found.uses.begin(), found.uses.end(), is_seen));
    early += !uses.empty(), clean += uses.empty(), serialized += found.serialized;
  }
  CHECK(early > 500 && clean > 200 && hidden > 50 && serialized > 500);
}

// One product in a loop that leaves a group pending: on the first turn nothing older is covered, on later ones
// its own older self is. ptxas serializes.
TEST(products_that_cover_themselves) {
  const EarlyUses found =
      found_in({{Line::kProduct}, {Line::kCommit}, {Line::kWait, 1}, {Line::kJump, 0}, {Line::kRead}});
  CHECK_EQ(found.uses.size(), 1u);
  CHECK(found.serialized && found.surely);
}

// D of four products is set to zero when a wait has covered the oldest alone: in a loop ptxas serializes, and
// not where the zeros go to the next product or nowhere.
TEST(products_hidden_from_writes) {
  const Program chain{{Line::kProduct}, {Line::kCommit}, {Line::kProduct}, {Line::kCommit}, {Line::kWait, 1}};
  auto surely = [&](std::vector<Line> rest) {
    Program program = chain;
    program.insert(program.end(), rest.begin(), rest.end());
    const EarlyUses found = found_in(program);
    CHECK(found.serialized);
    return found.surely;
  };
  CHECK(surely({{Line::kRead}, {Line::kWrite}, {Line::kJump, 0}}));
  CHECK(!surely({{Line::kRead}, {Line::kWrite}, {Line::kProduct}, {Line::kCommit}, {Line::kWait, 0}}));
  CHECK(!surely({{Line::kRead}, {Line::kWrite}}));
}

TEST(products_under_a_guard) {
  auto module = parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b64 %rd; .reg .pred %p;\n"
      ".reg .b32 %x, %a<4>;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%a0, %a1, %a2, %a3}, %rd, %rd, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "@%p wgmma.wait_group.sync.aligned 0;\n"
      "mov.b32 %x, %a0;\nret; }\n",
      "t.ptx");
  CHECK(module);
  if (module) CHECK_EQ(early_uses(*(*module)->functions()[0]).uses.size(), 1u);
}

// D of a pending product as A of the next one; as its D it comes in turn, and in part it does not.
TEST(products_of_products) {
  auto uses = [](const std::string& d, const std::string& a) {
    auto module = parse(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b64 %rd;\n.reg .b32 %a<9>;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%a0, %a1, %a2, %a3}, %rd, %rd, 1, 1, 1, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " +
            d + ", " + a + ", 1, 1, 1, 0" + (a == "%rd, %rd" ? ", 0" : "") + ";\nret; }\n",
        "t.ptx");
    CHECK(module);
    return module ? early_uses(*(*module)->functions()[0]).uses.size() : size_t{99};
  };
  CHECK_EQ(uses("{%a0, %a1, %a2, %a3}", "%rd, %rd"), 0u);
  CHECK_EQ(uses("{%a3, %a4, %a5, %a6}", "%rd, %rd"), 1u);
  CHECK_EQ(uses("{%a4, %a5, %a6, %a7}", "{%a0, %a1, %a2, %a3}, %rd"), 1u);
}
