// Tests loads and stores in native code beside the handlers: random kernels whose lanes come to memory in a row, and otherwise
// (out of order, unaligned, past the tensor's end, on top of each other, with threads off), or meet (in shared memory, at barriers,
// in shuffles), leave the same bytes and report the same trap as where each instruction runs by itself.
#include <triton_runner/simt/simt.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include <triton_runner/lanes/functions.h>
#include <triton_runner/num/types.h>

#include "native/native.h"
#include "native/span.h"
#include "ops/barrier.h"
#include "ops/control.h"
#include "test.h"

using namespace triton_runner;
using simt::SpanRunCounts;

namespace {

constexpr size_t kWords = 4096;     // of each tensor
constexpr int kValues = 12;         // registers of numbers
constexpr uint32_t kShared = 4096;  // bytes of shared memory

// Writes kernels that access x and y, of kWords each.
class Text {
 public:
  Text(uint32_t seed, bool goes_wrong) : random_(seed), goes_wrong_(goes_wrong) {
    threads = 32 << below(3);
    line("ld.param.u64 %rd1, [spans_0];");
    line("ld.param.u64 %rd2, [spans_1];");
    line("ld.param.u32 %r1, [spans_2];");
    line("mov.u32 %r2, %ctaid.x;");
    line("mov.u32 %r3, %tid.x;");
    for (int k = 0; k < kValues; ++k)
      line("add.s32 " + value(k) + ", %r3, " + std::to_string(k * 1000) + ";");
    for (int k = 1; k < 4; ++k) guard(k);
    const bool loops = below(3) == 0;
    meets_ = below(2);
    line("mov.b32 %r9, 0;");
    if (loops) body_ += "$again:\n";
    if (below(4) == 0)
      reduction();
    else
      for (size_t i = 3 + below(20); i > 0; --i) step();
    line("add.s32 %r9, %r9, 1;");
    line("setp.lt.s32 %p9, %r9, 3;");
    if (loops) line("@%p9 bra $again;");
    for (int k = 0; k < kValues; ++k) {  // all numbers are seen
      line("mad.lo.s32 %r8, %r2, " + std::to_string(kValues * threads) + ", " + std::to_string(k * threads) +
           ";");
      line("add.s32 %r8, %r8, %r3;");
      line("mad.wide.u32 %rd9, %r8, 4, %rd3;");
      line("st.global.b32 [%rd9], " + value(k) + ";");
    }
    line("ret;");
  }
  std::string str() const {
    return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry spans(.param .u64 spans_0, "
           ".param .u64 spans_1, .param .u32 spans_2, .param .u64 spans_3, .param .u64 spans_4)\n.reqntid " +
           std::to_string(threads) + "\n{\n.shared .align 16 .b8 words[" + std::to_string(kShared) +
           "];\n.reg .pred %p<12>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<12>;\nld.param.u64 %rd3, [spans_3];\n"
           "ld.param.u64 %rd4, [spans_4];\n" +
           body_ + "}\n";
  }
  uint32_t threads = 32;

 private:
  size_t below(size_t n) { return random_() % n; }
  void line(const std::string& text) { body_ += "  " + text + "\n"; }
  static std::string value(int k) { return "%r" + std::to_string(20 + k); }
  std::string some() { return value(static_cast<int>(below(kValues))); }

  void guard(int k) {
    const char* const kHow[] = {"lt", "ge", "eq", "ne"};
    line("setp." + std::string(kHow[below(4)]) + ".s32 %p" + std::to_string(k) + ", %r3, " +
         (below(4) == 0 ? std::string("%r1") : std::to_string(below(threads + 8))) + ";");
  }
  void step() {
    if (meets_ && below(3) == 0) return below(3) ? share() : below(3) ? shuffle() : store_once();
    switch (below(6)) {
      case 0:
        return line("add.f32 " + some() + ", " + some() + ", " + some() + ";");
      case 1:
        return line("xor.b32 " + some() + ", " + some() + ", " + some() + ";");
      case 2:
        return below(2)
                   ? guard(1 + static_cast<int>(below(3)))
                   : line("@%p" + std::to_string(1 + below(3)) + " mov.b32 " + some() + ", " + some() + ";");
      default:
        return access();
    }
  }

  // Loads, then what the threads of a block do together; only the numbers at the end are stored.
  void reduction() {
    meets_ = false, stores_ = false;
    for (size_t i = 1 + below(8); i > 0; --i) step();
    for (size_t i = 1 + below(5); i > 0; --i) {
      const std::string sum = some();
      for (uint32_t by = 16; by > 0 && below(30); by /= 2) {
        line("shfl.sync.bfly.b32 %r5, " + sum + ", " + std::to_string(by) + ", 31, -1;");
        line("add.s32 " + sum + ", " + sum + ", %r5;");
      }
      if (below(2)) share(sum);
      if (below(4) == 0) shuffle();
    }
  }
  void shuffle() {
    const std::string by = std::to_string(1 << below(5));
    line("shfl.sync." +
         (below(2) ? "bfly.b32 " + some() + ", " + some() + ", " + by + ", 31"
                   : "up.b32 " + some() + ", " + some() + ", " + by + ", 0") +
         ", -1;");
  }
  // One thread stores to a place of its block, or of all.
  void store_once() {
    line("setp.eq.s32 %p4, %r3, " + std::to_string(below(threads)) + ";");
    line("mad.lo.s32 %r4, %r2, " + std::to_string(4 * below(2)) + ", " +
         std::to_string(below(kWords - 16) / 4 * 4) + ";");
    line("mad.wide.u32 %rd8, %r4, 4, %rd1;");
    line(below(2) ? "@%p4 st.global.b32 [%rd8], " + some() + ";"
                  : "@%p4 st.global.v2.b32 [%rd8], {" + some() + ", " + some() + "};");
    words_ = 0;
  }
  // %r6 = where each lane comes to in shared memory, which a number of the thread says, or one of the block too.
  void place(uint32_t words, size_t how, bool at_first = false) {
    const std::string bytes = std::to_string(4 * words);
    const uint32_t from = at_first ? 0 : static_cast<uint32_t>(16 * below(4));
    switch (how) {
      case 0:
        line("shr.u32 %r6, %r3, 5;");
        line("shl.b32 %r6, %r6, 4;");
        break;
      case 1:
        line("and.b32 %r6, %r3, " + std::to_string(1 + 2 * below(2)) + ";");
        line("mul.lo.s32 %r6, %r6, " + bytes + ";");
        break;
      case 2:
        line("mov.b32 %r6, 32;");
        break;
      case 3:
        line("xor.b32 %r6, %r3, " + std::to_string(1 + below(31)) + ";");
        line("mul.lo.s32 %r6, %r6, " + bytes + ";");
        break;
      case 4:
        line("and.b32 %r6, %r2, 1;");
        line("mad.lo.s32 %r6, %r6, 16, 0;");
        break;
      default:
        line("mul.lo.s32 %r6, %r3, " + bytes + ";");
    }
    line("mov.b32 %r7, words;");
    line("add.s32 %r6, %r6, %r7;");
    if (goes_wrong_ && below(8) == 0)
      line("add.s32 %r6, %r6, " + std::to_string(below(2) ? kShared - 4 * threads : 2) + ";");
    line("add.s32 %r6, %r6, " + std::to_string(from) + ";");
  }
  // Mostly all threads store before one loads. `sum`: that alone, one of a warp.
  void share(const std::string& sum = "") {
    for (const bool store : {true, false}) {
      const uint32_t words = sum.empty() ? 1u << below(3) : 1;
      place(words, sum.empty() ? below(8) : store ? 0 : 2 * below(2), !sum.empty());
      std::vector<std::string> regs;
      if (store && !sum.empty()) regs.push_back(sum);
      while (regs.size() < words) {
        const std::string r = some();
        if (store || std::find(regs.begin(), regs.end(), r) == regs.end()) regs.push_back(r);
      }
      std::string list = regs[0];
      for (size_t k = 1; k < regs.size(); ++k) list += ", " + regs[k];
      const std::string how = words == 1 ? ".b32 " : ".v" + std::to_string(words) + ".b32 ";
      const std::string by =
          sum.empty() && below(5) == 0 ? "@%p" + std::to_string(1 + below(3)) + " " : std::string();
      if (words > 1) list = "{" + list + "}";
      line(by + (store ? "st.shared" + how + "[%r6], " + list : "ld.shared" + how + list + ", [%r6]") + ";");
      if (below(8)) line(below(4) ? "bar.sync 0;" : "bar.sync 1, " + std::to_string(threads) + ";");
    }
  }

  // %rd8 = the address of each lane's `words` words, in one of the ways in which compilers say it.
  void address(uint32_t words) {
    const std::string tensor = below(2) ? "%rd1" : "%rd2", bytes = std::to_string(4 * words);
    const uint32_t most = static_cast<uint32_t>(kWords) / words - threads - 16;
    uint32_t at = below(3) ? static_cast<uint32_t>(below(8)) : static_cast<uint32_t>(below(most));
    if (goes_wrong_ && below(6) == 0) at = most + 12 + static_cast<uint32_t>(below(8));
    const std::string from = std::to_string(at);
    switch (below(13)) {
      case 0:
        line("add.s32 %r4, %r3, " + from + ";");
        line("mad.wide.s32 %rd8, %r4, " + bytes + ", " + tensor + ";");
        break;
      case 1:
        line("cvt.u64.u32 %rd7, %r3;");
        line("add.s64 %rd7, %rd7, " + from + ";");
        line("shl.b64 %rd7, %rd7, " + std::to_string(words == 1 ? 2 : words == 2 ? 3 : 4) + ";");
        line("add.s64 %rd8, " + tensor + ", %rd7;");
        break;
      case 2:  // goes round the ends of 32 bits, in the middle of the lanes or not
        line("add.s32 %r4, %r3, " + std::to_string(below(2) ? 0x7ffffff0 : 0xfffffff8u) + ";");
        line("add.s32 %r4, %r4, " + std::to_string(below(2) ? 0x80000010u : 8u) + ";");
        line("and.b32 %r4, %r4, 255;");
        line("mad.wide.u32 %rd8, %r4, " + bytes + ", " + tensor + ";");
        break;
      case 3:  // the lanes part where the sum goes past 2^31
        line("add.s32 %r4, %r3, 2147483640;");
        line(std::string(below(2) ? "mul.wide.s32" : "mul.wide.u32") + " %rd7, %r4, " + bytes + ";");
        line("sub.s64 %rd7, %rd7, " + std::to_string(uint64_t{2147483640} * 4 * words) + ";");
        if (!goes_wrong_ || below(2)) line("and.b64 %rd7, %rd7, 1023;");
        line("add.s64 %rd8, " + tensor + ", %rd7;");
        break;
      case 10: {  // the last thread or the last ones go past an end of 32 bits, or just do not
        const bool is_signed = below(2);
        const uint32_t past = goes_wrong_ && below(2) ? 1 + static_cast<uint32_t>(below(2)) : 0;
        const uint32_t first = (is_signed ? 1u << 31 : 0u) - threads + past;
        line("add.s32 %r4, %r3, " + std::to_string(first) + ";");
        line("mul.wide." + std::string(is_signed ? "s32" : "u32") + " %rd7, %r4, " + bytes + ";");
        line("sub.s64 %rd7, %rd7, " + std::to_string(uint64_t{first} * 4 * words) + ";");
        line("add.s64 %rd8, " + tensor + ", %rd7;");
        break;
      }
      case 11:  // the number is loaded into a register that had the thread's
        line("mov.b32 %r4, %r3;");
        line("mad.wide.u32 %rd8, %r4, 4, %rd4;");
        line("ld.global.b32 %r4, [%rd8];");
        line("mad.wide.u32 %rd8, %r4, " + bytes + ", " + tensor + ";");
        break;
      case 4:  // out of order
        line(below(2) ? "xor.b32 %r4, %r3, 1;" : "sub.s32 %r4, " + std::to_string(threads - 1) + ", %r3;");
        line("mad.wide.u32 %rd8, %r4, " + bytes + ", " + tensor + ";");
        break;
      case 5:  // on top of each other, or with gaps
        line("mul.lo.s32 %r4, %r3, " + std::to_string(4 * below(8)) + ";");
        line("mad.wide.u32 %rd8, %r4, 1, " + tensor + ";");
        line("and.b64 %rd8, %rd8, -16;");
        break;
      case 6:
        line("shl.b32 %r4, %r2, 8;");
        line("or.b32 %r5, %r4, %r3;");
        line("or.b32 %r5, %r5, " + std::to_string(below(2) ? 128 : 32) + ";");
        line("mad.wide.s32 %rd8, %r5, " + bytes + ", " + tensor + ";");
        break;
      case 7:
        line("mad.lo.s32 %r4, %r2, " + std::to_string(below(512)) + ", %r3;");
        line("mul.wide.s32 %rd7, %r4, " + bytes + ";");
        line("add.s64 %rd8, " + tensor + ", %rd7;");
        break;
      case 8:  // two words, of which the lower one has the lanes
        line("mov.b64 {%r4, %r5}, " + tensor + ";");
        line("mad.lo.s32 %r4, %r3, " + bytes + ", %r4;");
        if (goes_wrong_ && below(6) == 0) {
          line("shr.u32 %r6, %r3, " + std::to_string(below(2) ? 5 : 0) + ";");
          line("add.s32 %r5, %r5, %r6;");
        }
        line("mov.b64 %rd8, {%r4, %r5};");
        break;
      case 9: {  // the lower word goes past its end after 16 words or at the last thread, or just does not
        const bool goes_past = goes_wrong_ && below(4) == 0;
        const uint32_t all = words * threads;
        const uint32_t first = 0u - 4 * (!goes_past ? all : below(2) ? 16 : all - words);
        line("mad.lo.s32 %r4, %r3, " + bytes + ", " + std::to_string(first) + ";");
        line("mov.b32 %r5, 0;");
        line("mov.b64 %rd7, {%r4, %r5};");
        line("sub.s64 %rd7, %rd7, " + std::to_string(first) + ";");
        line("add.s64 %rd8, " + tensor + ", %rd7;");
        break;
      }
      default:
        line("add.s32 %r4, %r9, %r3;");
        line("mad.wide.s32 %rd8, %r4, " + bytes + ", " + tensor + ";");
    }
    if (goes_wrong_ && below(12) == 0) line("add.s64 %rd8, %rd8, " + std::to_string(1 + below(16)) + ";");
  }
  void access() {
    const uint32_t words = 1u << below(3);
    if (words != words_ || below(5) != 0) address(words == 1 && below(4) == 0 ? 4 : words);
    words_ = words;
    const bool store = stores_ && below(2), is_guarded = below(3) == 0;
    std::vector<std::string> regs;
    while (regs.size() < words) {
      const std::string r = some();
      if (store || std::find(regs.begin(), regs.end(), r) == regs.end()) regs.push_back(r);
    }
    if (!store && below(2))
      for (const std::string& r : regs)
        if (below(4))
          line("mov.b32 " + (below(8) ? r : some()) + ", " + (below(2) ? "0x7fc00001" : some()) + ";");
    std::string list = regs[0];
    for (size_t k = 1; k < regs.size(); ++k) list += ", " + regs[k];
    if (words > 1) list = "{" + list + "}";
    const std::string how = words == 1 ? ".b32 " : ".v" + std::to_string(words) + ".b32 ";
    const std::string strong = below(8) ? "" : ".relaxed.gpu";
    const std::string at = "[%rd8+" + std::to_string(16 * below(3)) + "]";
    const std::string by =
        is_guarded ? (below(2) ? "@%p" : "@!%p") + std::to_string(1 + below(3)) + " " : std::string();
    line(by +
         (store ? "st" + strong + ".global" + how + at + ", " + list
                : "ld" + strong + ".global" + how + list + ", " + at) +
         ";");
  }

  std::mt19937 random_;
  bool goes_wrong_, meets_ = false, stores_ = true;
  uint32_t words_ = 0;  // of the last address
  std::string body_ = "  mov.b64 %rd8, %rd1;\n";
};

struct Memory {
  alignas(64) uint32_t x[kWords + 16], y[kWords + 16], seen[4 * kValues * 128], order[128];
  uint8_t undefined[kWords / 2];  // of y
};

constexpr uint32_t kOfMemory = exec::kCheckUninitialized | exec::kCheckRace;

std::string run(exec::Kernel& kernel, uint32_t seed, uint32_t checks, bool goes_wrong, Memory& memory) {
  std::mt19937 random(seed);
  const bool looks = checks & kOfMemory;
  for (auto* tensor : {memory.x, memory.y})
    for (size_t i = 0; i < kWords; ++i) tensor[i] = static_cast<uint32_t>(random());
  for (uint32_t& word : memory.seen) word = 0;
  for (uint32_t i = 0; i < std::size(memory.order); ++i) memory.order[i] = seed % 4 ? i : (i * 5 + 3) % 128;
  for (size_t i = 0; i < std::size(memory.undefined); ++i)
    memory.undefined[i] = looks && seed % 3 == 0 && i > seed % std::size(memory.undefined) ? 0xff : 0;
  const auto address = [](void* p) { return reinterpret_cast<uint64_t>(p); };
  exec::Argument args[] = {{exec::ParamKind::kPointer, address(memory.x), {}},
                           {exec::ParamKind::kPointer, address(memory.y), {}},
                           {exec::ParamKind::kInteger, random() % 100, {}},
                           {exec::ParamKind::kPointer, address(memory.seen), {}},
                           {exec::ParamKind::kPointer, address(memory.order), {}}};
  exec::Allocation there[] = {{address(memory.x), kWords * 4, "x", true},
                              {address(memory.y), kWords * 4, "y", !goes_wrong || random() % 8 != 0},
                              {address(memory.seen), sizeof memory.seen, "seen", true},
                              {address(memory.order), sizeof memory.order, "order", false}};
  if (looks) there[1].undefined = memory.undefined;
  exec::LaunchOptions options;
  options.grid = {looks ? 1 + seed / 2 % 4 : 4, 1, 1};
  options.threads = 1;
  options.checks |= checks;
  const exec::LaunchResult error = kernel.launch(options, args, there);
  const std::string text = error ? error->str() : "";
  // The memory that is next to it is the launch's own, which is elsewhere each time.
  return text.substr(0, text.find(", which is not memory"));
}

std::unique_ptr<exec::Kernel> load(const std::string& text) {
  auto module = ptx::parse(text, "spans.ptx");
  if (!module) fprintf(stderr, "%s\n%s", module.error().str().c_str(), text.c_str());
  auto kernel = simt::load(std::move(module).value());
  if (!kernel) fprintf(stderr, "%s\n", kernel.error().str().c_str());
  return std::move(kernel).value();
}

// Under this check, which finds nothing here, each instruction runs by itself.
constexpr uint32_t kOneByOne = exec::kCheckZeroDivision;

Memory expected, found;

// `traps`: how many programs are told of under no checks, and under those of memory.
void compare(uint32_t seed, bool goes_wrong, size_t (&traps)[2]) {
  const Text text(seed, goes_wrong);
  const auto kernel = load(text.str());
  for (const uint32_t checks : {0u, kOfMemory}) {
    const std::string trap = run(*kernel, seed, kOneByOne | checks, goes_wrong, found);
    expected = found;
    const bool is_same = run(*kernel, seed, checks, goes_wrong, found) == trap &&
                         std::memcmp(&expected, &found, sizeof found) == 0;
    traps[checks != 0] += !trap.empty();
    CHECK_EQ(is_same ? "" : "seed " + std::to_string(seed) + "\n" + trap + text.str(), "");
  }
}

}  // namespace

// Runs SPAN_PROGRAMS kernels of each kind.
TEST(spans_leave_what_handlers_leave) {
  const char* given = std::getenv("SPAN_PROGRAMS");
  const uint64_t most = given ? std::strtoull(given, nullptr, 10) : 300;
  size_t traps[2][2] = {};
  for (uint32_t seed = 0; seed < most; ++seed)
    for (const bool goes_wrong : {false, true}) compare(seed, goes_wrong, traps[goes_wrong]);
  if (given)
    fprintf(stderr, "traps: %zu, %zu; checked: %zu, %zu\n", traps[0][0], traps[1][0], traps[0][1],
            traps[1][1]);
  if (most < 100) return;  // too few to tell
  CHECK(traps[1][0] > most / 20);
  CHECK(traps[0][0] < most / 8 && traps[1][0] < most * 3 / 4);
  CHECK(traps[0][1] > most / 8 && traps[0][1] < most * 7 / 8);
}

// A store of what was there takes back what a store before it has changed: a block that comes later may see either.
TEST(two_stores_to_one_place_are_told_apart) {
  const std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry spans(.param .u64 spans_0, "
      ".param .u64 spans_1, .param .u32 spans_2, .param .u64 spans_3, .param .u64 spans_4)\n.reqntid 64\n{\n"
      ".reg .b32 %r<4>;\n"
      ".reg .b64 %rd<4>;\nld.param.u64 %rd1, [spans_0];\nmov.u32 %r1, %tid.x;\n"
      "mad.wide.u32 %rd2, %r1, 4, %rd1;\nld.global.b32 %r2, [%rd2];\nmov.b32 %r3, 7;\n"
      "st.global.b32 [%rd2], %r3;\nst.global.b32 [%rd2], %r2;\nret;\n}\n";
  const auto kernel = load(text);
  constexpr uint32_t kSeed = 6;  // several blocks
  const std::string one_by_one = run(*kernel, kSeed, kOneByOne | exec::kCheckRace, false, found);
  CHECK(one_by_one.find("no atomics order the two blocks") != std::string::npos);
  CHECK_EQ(run(*kernel, kSeed, exec::kCheckRace, false, found), one_by_one);
}

// Two rows are exchanged: the second load is needed by the first store, and the first load by the second one, which native code would
// have after the first store.
TEST(a_load_stays_before_a_store_to_its_place) {
  const auto kernel = load(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry spans(.param .u64 spans_0, "
      ".param .u64 spans_1, .param .u32 spans_2, .param .u64 spans_3, .param .u64 spans_4)\n.reqntid 64\n{\n"
      ".reg .b32 %r<5>;\n.reg .b64 %rd<6>;\nld.param.u64 %rd1, [spans_0];\nld.param.u64 %rd2, [spans_1];\n"
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r1, %r2, 64, %r1;\n"
      "mad.wide.u32 %rd3, %r1, 4, %rd1;\nmad.wide.u32 %rd4, %r1, 4, %rd2;\nld.global.b32 %r3, [%rd3];\n"
      "ld.global.b32 %r4, [%rd4];\nst.global.b32 [%rd3], %r4;\nst.global.b32 [%rd4], %r3;\nret;\n}\n");
  CHECK_EQ(run(*kernel, 0, kOneByOne, false, found), "");
  expected = found;
  CHECK_EQ(run(*kernel, 0, 0, false, found), "");
  CHECK(std::memcmp(&expected, &found, sizeof found) == 0);
}

// A predicate guards a store of the first threads, and then, as another one, a store of a block's whole row, which the next
// block reads.
TEST(a_guard_that_is_overwritten_guards_what_comes_after_it) {
  const auto text = [](const std::string& reader) {
    return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry spans(.param .u64 spans_0, "
           ".param .u64 spans_1, .param .u32 spans_2, .param .u64 spans_3, .param .u64 spans_4)\n"
           ".reqntid 64\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
           "ld.param.u64 %rd1, [spans_0];\nld.param.u64 %rd2, [spans_1];\nmov.u32 %r1, %tid.x;\n"
           "mov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r3, %r2, 64, %r1;\nmad.wide.u32 %rd3, %r3, 4, %rd2;\n"
           "mad.wide.u32 %rd4, %r1, 4, %rd1;\nsetp.ge.s32 %p2, %r1, 48;\n"
           "setp.eq.and.s32 %p3, %r2, " +
           reader +
           ", %p2;\n@%p3 ld.global.b32 %r4, [%rd4];\nsetp.lt.s32 %p1, %r1, 48;\n"
           "@%p1 st.global.b32 [%rd3], %r3;\nsetp.eq.s32 %p1, %r2, 0;\n"
           "@%p1 st.global.b32 [%rd4], %r1;\nret;\n}\n";
  };
  constexpr uint32_t kSeed = 6;  // several blocks
  CHECK_EQ(run(*load(text("9")), kSeed, exec::kCheckRace, false, found), "");
  const std::string race = run(*load(text("1")), kSeed, exec::kCheckRace, false, found);
  CHECK(race.find("no atomics order the two blocks") != std::string::npos);
}

// Loads and stores by some threads of a warp: of two blocks the others store theirs, or all store what was there.
TEST(accesses_of_some_threads_are_of_these) {
  const auto race = [](const std::string& stores) {
    const std::string text =
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry spans(.param .u64 spans_0, "
        ".param .u64 spans_1, .param .u32 spans_2, .param .u64 spans_3, .param .u64 spans_4)\n"
        ".reqntid 64\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
        "ld.param.u64 %rd1, [spans_0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
        "mad.wide.u32 %rd2, %r1, 4, %rd1;\nsetp.lt.s32 %p1, %r1, 48;\nsetp.ne.s32 %p2, %r2, 0;\n"
        "xor.pred %p3, %p1, %p2;\n" +
        stores + "ret;\n}\n";
    constexpr uint32_t kSeed = 2;  // two blocks
    return run(*load(text), kSeed, exec::kCheckRace, false, found);
  };
  CHECK_EQ(race("@%p3 st.global.b32 [%rd2], %r2;\n"), "");
  CHECK_EQ(race("setp.eq.and.s32 %p3, %r2, 0, %p1;\n@%p3 ld.global.b32 %r3, [%rd2];\n"
                "not.pred %p1, %p1;\nsetp.eq.and.s32 %p3, %r2, 1, %p1;\n@%p3 st.global.b32 [%rd2], %r2;\n"),
           "");
  CHECK_EQ(race("ld.global.b32 %r3, [%rd2];\n@!%p1 st.global.b32 [%rd2], %r3;\n"), "");
  CHECK(race("@%p1 st.global.b32 [%rd2], %r2;\n").find("no atomics order the two") != std::string::npos);
}

namespace {

// How the block of runs_found() meets in the middle: it stores to shared memory, waits, and loads from there. `kExits`: all threads but
// one end before that load. The others: a guard says who does, or who computes the address, which is not known when the kernel is
// loaded, or is that of some threads.
enum class Meets { kNever, kAlways, kExits, kExitsUnknown, kAddressUnderGuard };

// Compiles x[tid + 1] = x[tid] + x[tid], by way of sums and products.
SpanRunCounts runs_found(Meets meets) {
  using namespace simt;
  using enum lanes::Operation;
  Code code;
  code.threads = 64;
  const auto place = [&](uint32_t bytes) {
    const auto at = static_cast<uint32_t>(code.register_bytes);
    code.register_bytes += bytes * code.threads;
    return at;
  };
  const uint32_t tid = place(4), four = place(4), x = place(8), at = place(8), value = place(4),
                 sum = place(4), zero = place(4), offset = place(4), is_first = place(1), unknown = place(1);
  code.thread_values.emplace_back();
  for (uint32_t t = 0; t < code.threads; ++t) code.thread_values[0].push_back(t);
  code.constants = {
      {tid, 4, 0, 0, Constant::kThread}, {four, 4, 4, 0}, {x, 8, 0, 0, Constant::kParam}, {zero, 4, 0, 0}};
  const auto add = [&](Handler run, uint32_t d, uint32_t a, uint32_t b, uint32_t c = kNoRegister) {
    Instr& in = code.instrs.emplace_back();
    in.run = run, in.d = d, in.a = a, in.b = b, in.c = c;
  };
  const auto access = [&](bool store, uint32_t reg, int64_t by, Space space = Space::kGlobal) {
    Access a{.regs = {reg}, .space = space, .offset = by, .tables = &simd_tables(num::current_isa())};
    if (space == Space::kShared) a.address_bytes = 4;
    add(access_handler(a, store), kNoRegister, space == Space::kShared ? offset : at, kNoRegister);
    code.instrs.back().data = code.keep(a);
  };
  const auto multiply = [&] {
    add(lanes::find(kMul, lanes::Type::kU32, lanes::Type::kNone, lanes::kVLow), offset, tid, four);
  };
  size_t exit = 0;
  add(lanes::find(kMad, lanes::Type::kU32, lanes::Type::kNone, lanes::kVWide), at, tid, four, x);
  access(false, value, 0);
  add(lanes::find(kAdd, lanes::Type::kF32), sum, value, value);
  if (meets != Meets::kNever) {
    multiply();
    access(true, sum, 0, Space::kShared);
    add(handler<bar_sync>, kNoRegister, zero, kNoRegister);
    if (meets != Meets::kAlways) {
      add(lanes::find(kSetp, lanes::Type::kU32, lanes::Type::kNone,
                      uint32_t{lanes::kCmpEq} << lanes::kComparisonShift),
          is_first, tid, zero);
      if (meets == Meets::kAddressUnderGuard)
        multiply();
      else
        exit = code.instrs.size(), add(end_over, kNoRegister, kNoRegister, kNoRegister);
      code.instrs.back().guard = meets == Meets::kExitsUnknown ? unknown : is_first;
      code.instrs.back().guard_flip = 0xff;
    }
    access(false, sum, 0, Space::kShared);
  }
  access(true, sum, 4);
  add(end_thread, kNoRegister, kNoRegister, kNoRegister);
  if (exit) code.instrs[exit].data = &code.instrs.back();
  compile_runs(code);
  return count_span_runs(code);
}

}  // namespace

TEST(spans_are_found) {
  if (num::current_isa() == num::Isa::kPortable) return CHECK(runs_found(Meets::kAlways) == SpanRunCounts{});
  CHECK(runs_found(Meets::kNever) == (SpanRunCounts{.rows = 1, .longest = 4}));
  // One run for the block, and where that may not be made one before and one after.
  CHECK(runs_found(Meets::kAlways) == (SpanRunCounts{.rows = 2, .for_blocks = 1, .silent = 1, .longest = 8}));
}

TEST(spans_go_past_an_exit_to_shared_memory) {
  if (num::current_isa() == num::Isa::kPortable) return;
  CHECK_EQ(runs_found(Meets::kExits).longest, size_t{10});
  CHECK_EQ(runs_found(Meets::kExitsUnknown).longest, size_t{7});
  CHECK_EQ(runs_found(Meets::kAddressUnderGuard).longest, size_t{8});  // up to the load
}
