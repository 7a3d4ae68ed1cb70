// Tests that the race check says the same of a warp's accesses whether it looks at them together or at each thread by
// itself: random programs of two warps run both ways. (A launch with a Substitution looks at each thread by itself.) And that
// copies by threads leave the same at any time in a program in which the check finds nothing.
#include <triton_runner/simt/simt.h>

#include <numeric>
#include <optional>
#include <random>

#include <triton_runner/exec/substitution.h>

#include "test.h"

using namespace triton_runner;

namespace {

// Loads, stores, copies and barriers of 64 threads in %r1, whose addresses are functions of the thread and may meet.
class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {
    const bool copies = below(2), orderly = below(2);
    fills_ = below(2);
    if (fills_) fill(copies && below(2));
    for (uint32_t i = below(orderly ? 12 : 4) + 4; i-- > 0;) {
      if (below(4) == 0)
        order();
      else if (copies && below(3) == 0)
        wait();
      else
        access(copies && below(2));
      if (orderly && below(3)) {
        if (copies)
          add("  cp.async.commit_group;\n  cp.async.wait_group " + std::to_string(below(2)) + ";\n");
        add("  bar.sync 0;\n");
      }
    }
  }
  bool fills() const { return fills_; }
  std::string text() const {
    return ".version 8.7\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 room[4096];\n"
           ".visible .entry k(.param .u64 k_0)\n.reqntid 64\n{\n  .reg .pred %p<3>;\n  .reg .b32 %r<20>;\n"
           "  .reg .b64 %rd<8>;\n  ld.param.u64 %rd1, [k_0];\n  mov.u32 %r1, %tid.x;\n  mov.u32 %r2, "
           "%ctaid.x;\n"
           "  mov.b32 %r3, room;\n  mov.b32 %r10, 7;\n  mov.b32 %r11, 7;\n  mov.b32 %r12, 0;\n  mov.b32 "
           "%r13, 0;\n" +
           body_ + "  ret;\n}\n";
  }

 private:
  uint32_t below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  void add(const std::string& line) { body_ += line; }

  // All of shared memory that the program comes to is defined: by stores, or by copies of 16 bytes by each thread.
  void fill(bool copy) {
    add("  mul.lo.s32 %r4, %r1, 16;\n  add.s32 %r5, %r3, %r4;\n  cvt.u64.u32 %rd2, %r4;\n  add.s64 %rd3, "
        "%rd1, %rd2;\n");
    for (const std::string at : {"+0], ", "+1024], "})
      add(copy ? "  cp.async.cg.shared.global [%r5" + at + "[%rd3" + at + "16;\n"
               : "  st.shared.v4.b32 [%r5" + at + "{%r12, %r12, %r12, %r12};\n");
    add(copy ? "  cp.async.wait_all;\n  bar.sync 0;\n" : "  bar.sync 0;\n");
  }
  // A barrier of the block or of each warp, or an atomic that orders those warps that come later.
  void order() {
    static const char* const kOrders[] = {
        "  bar.sync 0;\n", "  bar.sync 0;\n",
        "  shr.b32 %r4, %r1, 5;\n  add.s32 %r4, %r4, 1;\n  bar.sync %r4, 32;\n",
        "  atom.acq_rel.gpu.global.add.u32 %r4, [%rd1+12288], 1;\n"};
    add(kOrders[below(std::size(kOrders))]);
  }
  // For copies by the thread, so that a barrier lets others have them.
  void wait() {
    add("  cp.async.commit_group;\n  cp.async.wait_group " + std::to_string(below(2)) + ";\n");
    if (below(2)) add("  bar.sync 0;\n");
  }

  void access(bool copy) {
    const bool shared = below(2), store = below(2), matrix = !copy && shared && !store && below(3) == 0;
    const uint32_t words = matrix ? 4 : 1u << below(3), each = 4 * words;
    // The number that an address is a multiple of: the thread's, one that threads share, another order, or its warp's.
    static const char* const kNumbers[] = {
        "  mov.b32 %r4, %r1;\n",         "  shr.b32 %r4, %r1, 1;\n",  "  and.b32 %r4, %r1, 3;\n",
        "  xor.b32 %r4, %r1, 5;\n",      "  shr.b32 %r4, %r1, 5;\n",  "  mov.b32 %r4, 3;\n",
        "  sub.u32 %r4, 63, %r1;\n",     "  xor.b32 %r4, %r1, 32;\n", "  mad.lo.s32 %r4, %r2, 64, %r1;\n",
        "  mad.lo.s32 %r4, %r1, 2, 1;\n"};
    add(kNumbers[below(std::size(kNumbers))]);
    add("  mul.lo.s32 %r4, %r4, " + std::to_string(each) + ";\n");
    std::string place = "[%rd3+" + std::to_string(each * below(3)) + "]";
    if (shared || copy) {
      add("  and.b32 %r4, %r4, 1023;\n  add.s32 %r5, %r3, %r4;\n");
      place.replace(1, 4, "%r5");
    }
    if (!shared || copy) {
      add("  cvt.u64.u32 %rd2, %r4;\n  add.s64 %rd3, %rd1, %rd2;\n");
    }
    // The store is of the thread's number, of one number, of what memory holds already (0 at first), or of what was loaded.
    static const char* const kValues[] = {"  mov.b32 %r10, %r1;\n", "  mov.b32 %r10, 7;\n",
                                          "  mov.b32 %r10, 0;\n", "  shr.b32 %r10, %r1, 5;\n", ""};
    if (store && !copy) add(kValues[below(std::size(kValues))]);
    static const char* const kGuards[] = {"setp.lt.u32 %p1, %r1, 40", "setp.eq.u32 %p1, %r1, 0",
                                          "setp.ge.u32 %p1, %r1, 32"};
    const bool guarded = below(2);
    if (guarded) add(std::string("  ") + kGuards[below(std::size(kGuards))] + ";\n");
    static const char* const kRegisters[] = {"%r10", "{%r10, %r11}", "", "{%r10, %r11, %r12, %r13}"};
    static const char* const kVectors[] = {".b32 ", ".v2.b32 ", "", ".v4.b32 "};
    const std::string op =
        std::string(store ? "st" : "ld") + (shared ? ".shared" : ".global") + kVectors[words - 1];
    const std::string registers = kRegisters[words - 1];
    if (copy)
      return add(std::string(guarded ? "  @%p1 " : "  ") + "cp.async.ca.shared.global " + place + ", [%rd3+" +
                 std::to_string(each * below(3)) + "], " + std::to_string(each) + ";\n");
    if (matrix) return add("  ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + registers + ", " + place + ";\n");
    add(std::string(guarded ? "  @%p1 " : "  ") + op +
        (store ? place + ", " + registers : registers + ", " + place) + ";\n");
  }

  std::mt19937 random_;
  std::string body_;
  bool fills_ = false;
};

std::string verdict(exec::Kernel& kernel, bool together, bool uninit, int32_t blocks) {
  std::vector<int32_t> x(4096);
  exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data()), {}}};
  exec::Allocation memory{reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x", true};
  exec::LaunchOptions options;
  options.grid = {blocks, 1, 1};
  options.checks = exec::kCheckRace | (uninit ? exec::kCheckUninitialized : 0u);
  exec::Substitution one_by_one;
  if (!together) options.substitution = &one_by_one;
  const auto error = kernel.launch(options, args, std::span(&memory, 1));
  if (!error) return "";
  if (!error->trap) return "refused";
  // A report may name any of the threads of a warp that access the same bytes.
  std::string message = error->trap->message;
  const size_t at = message.find("thread ");
  if (at == std::string::npos) return message;
  const size_t digits = at + 7, end = message.find_first_not_of("0123456789", digits);
  if (end == digits) return message;  // "a copy that no thread has waited for"
  const int warp = std::stoi(message.substr(digits, end - digits)) / 32;
  return message.replace(at, end - at, "warp " + std::to_string(warp));
}

// Whether a launch leaves the same where copies come at once and where they come late; nothing where the checks find something.
std::optional<bool> leaves_the_same(exec::Kernel& kernel) {
  std::vector<int32_t> left[2];
  for (const auto timing : {exec::Timing::kLate, exec::Timing::kEager}) {
    std::vector<int32_t>& x = left[timing == exec::Timing::kLate];
    x.resize(4096);
    std::iota(x.begin(), x.end(), 1);
    exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data()), {}}};
    exec::Allocation memory{reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x", true};
    exec::LaunchOptions options;
    options.grid = {2, 1, 1};
    options.timing = {timing};
    if (timing == exec::Timing::kLate) options.checks = exec::kCheckRace | exec::kCheckUninitialized;
    if (kernel.launch(options, args, std::span(&memory, 1))) return std::nullopt;
  }
  return left[0] == left[1];
}

}  // namespace

TEST(races_are_the_same_together_and_one_by_one) {
  int right = 0, wrong = 0, compared = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Program program(seed);
    const std::string text = program.text();
    const int32_t blocks = seed % 3 ? 2 : 4;  // of which two reads of a place are remembered
    auto module = ptx::parse(text, "random.ptx");
    CHECK(module);
    auto kernel = simt::load(std::move(module).value());
    CHECK(kernel);
    if (!kernel) {
      fprintf(stderr, "%s\n%s\n", kernel.error().str().c_str(), text.c_str());
      continue;
    }
    const std::string together = verdict(**kernel, true, program.fills(), blocks),
                      alone = verdict(**kernel, false, false, blocks);
    const bool copies = text.find("cp.async.ca") != std::string::npos;
    // A copy that is at fault where it reads and where it writes is reported for either.
    const bool agree = together == alone || (copies && !together.empty() && !alone.empty());
    if (!agree)
      fprintf(stderr, "seed %u\n%s\ntogether: %s\nalone: %s\n", seed, text.c_str(), together.c_str(),
              alone.c_str());
    CHECK(agree);
    ++(alone.empty() ? right : wrong);
    if (!alone.empty()) continue;
    const std::optional<bool> is_same = leaves_the_same(**kernel);
    compared += is_same && copies;
    if (is_same == false)
      fprintf(stderr, "seed %u: copies that come late leave another result\n%s\n", seed, text.c_str());
    CHECK(is_same != false);
  }
  CHECK(right > 500);
  CHECK(wrong > 500);
  CHECK(compared > 100);
}

// Loads of what copies have written, and of four bytes of which they have left out one: before and after a barrier, by the warps
// that copied it and by others.
TEST(copies_define_what_they_write) {
  for (const bool barrier : {true, false})
    for (const bool other : {true, false})
      for (const uint32_t beyond : {0, 1, 4, 16}) {
        const uint32_t ends = 1024 - 4 * 32;  // of what the last warp loads
        const std::string text =
            ".version 8.7\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 room[2048];\n"
            ".visible .entry k(.param .u64 k_0)\n.reqntid 64\n{\n  .reg .b32 %r<20>;\n  .reg .b64 %rd<8>;\n"
            "  ld.param.u64 %rd1, [k_0];\n  mov.u32 %r1, %tid.x;\n  mov.b32 %r3, room;\n"
            "  mul.lo.s32 %r4, %r1, 16;\n  add.s32 %r5, %r3, %r4;\n  cvt.u64.u32 %rd2, %r4;\n"
            "  add.s64 %rd3, %rd1, %rd2;\n  cp.async.cg.shared.global [%r5], [%rd3], 16;\n"
            "  cp.async.wait_all;\n" +
            std::string(barrier ? "  bar.sync 0;\n" : "") +
            "  and.b32 %r6, %r1, 31;\n  shl.b32 %r6, %r6, 2;\n  shr.b32 %r7, %r1, 5;\n" +
            (other ? "  xor.b32 %r7, %r7, 1;\n" : "") + "  mul.lo.s32 %r7, %r7, " + std::to_string(ends) +
            ";\n  add.s32 %r6, %r6, %r7;\n  add.s32 %r6, %r3, %r6;\n" +
            (beyond % 4 ? "  ld.shared.b8 %r8, [%r6+" + std::to_string(beyond + 3) + "];\n"
                        : "  ld.shared.b32 %r8, [%r6+" + std::to_string(beyond) + "];\n") +
            "  ret;\n}\n";
        auto module = ptx::parse(text, "copies.ptx");
        CHECK(module);
        auto kernel = simt::load(std::move(module).value());
        CHECK(kernel);
        const std::string found = verdict(**kernel, true, true, 1);
        const bool undefined = beyond != 0, race = other && !barrier;
        CHECK_EQ(!found.empty(), undefined || race);
        if (undefined && !race) CHECK(found.find("where nothing was stored") != std::string::npos);
        if (race && !undefined) CHECK(found.find("no barrier orders the two") != std::string::npos);
      }
}
