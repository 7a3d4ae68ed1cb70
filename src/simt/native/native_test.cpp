// Tests native code beside the handlers: random straight code on registers of every kind, with the numbers that tell rules apart
// (zeros, subnormals, infinities, NaNs of both kinds), leaves the same bytes in the register file.
#include "native/native.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include <triton_runner/lanes/functions.h>
#include <triton_runner/lanes/sums.h>
#include <triton_runner/num/types.h>

#include "native/rows.h"
#include "ops/warp.h"
#include "state/exec.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::simt;

namespace {

constexpr uint32_t kThreads = 96, kPlaces = 24;  // of each kind

void execute(const Code& code, std::byte* file, bool native, uint32_t first, uint32_t count) {
  Exec x;
  x.regs = file;
  x.first = first;
  x.count = count;
  x.pc = code.instrs.data();
  x.limit = x.pc + code.instrs.size();
  x.whole_runs = native;
  Tables tables = simd_tables(num::current_isa());
  while (x.pc < x.limit) {
    const Instr& in = *x.pc++;
    int8_t mask[kThreads];
    Guard on = Guard::kAll;
    if (in.guard != kNoRegister)
      on = tables.guard(x.reg<int8_t>(in.guard), in.guard_flip, nullptr, mask, x.count);
    x.mask = on == Guard::kSome ? mask : nullptr;
    if (on != Guard::kNone) in.run(x, in);
  }
}

class Program {
 public:
  Program(uint32_t seed, size_t length) : random_(seed) {
    code_.threads = kThreads;
    for (const Element e : {Element::kWord, Element::kLong, Element::kPredicate})
      for (uint32_t k = 0; k < kPlaces; ++k) add_place(e, k);
    // In the order of their addresses, which a build keeps: a seed is the same program in every process.
    const std::map<Handler, NativeRow> in_order(native_rows().begin(), native_rows().end());
    const std::vector<std::pair<Handler, NativeRow>> rows(in_order.begin(), in_order.end());
    for (size_t i = 0; i < length; ++i) {
      Instr& in = code_.instrs.emplace_back();
      const size_t kind = below(16);
      if (kind == 0)
        compare(in);
      else if (kind == 3)
        add_three(in);
      else if (kind == 4)
        shift_pair(in);
      else if (kind == 1)
        unpack(in);
      else if (kind == 2)
        divide(in);
      else if (kind != 5)
        take_row(in, rows[below(rows.size())]);
      const NativeRow* row = native_row(in.run);
      if (kind == 5 || (row && row->form == Form::kSwap)) {  // whose table set_shuffle() makes
        shuffle(in);
        continue;
      }
      if (below(4) == 0) {
        in.guard = place(Element::kPredicate);
        in.guard_flip = below(2) ? 0xff : 0;
      } else if (below(8) == 0) {
        in.data = code_.keep(Instr(in));
        in.run = run_for_warp;
      }
    }
    if (length > 2) code_.targets.insert(static_cast<uint32_t>(length / 2));
    find_uses();
    fill();
  }

  // The register file afterwards; of places that are local to runs, as it was before.
  std::vector<std::byte> run(bool native, uint32_t first, uint32_t count) {
    if (native) compile_runs(code_);
    alignas(64) static std::byte file[1 << 18];
    std::memcpy(file, file_.data(), file_.size());
    for (const Constant& c : code_.constants)  // those that native code has added
      for (uint32_t t = 0; c.offset >= file_.size() && t < kThreads; ++t)
        std::memcpy(file + c.offset + c.bytes * t, &c.low, c.bytes);
    execute(code_, file, native, first, count);
    std::vector<std::byte> after(file, file + file_.size());
    for (const auto& [at, uses] : code_.uses)
      if (at < file_.size()) std::copy_n(file_.begin() + at, bytes_[at] * kThreads, after.begin() + at);
    return after;
  }
  bool is_compiled() const {
    return std::any_of(code_.instrs.begin(), code_.instrs.end(), [](const Instr& in) { return in.native; });
  }
  Code& code() { return code_; }

 private:
  size_t below(size_t n) { return random_() % n; }

  void take_row(Instr& in, const std::pair<Handler, NativeRow>& of) {
    const NativeRow& row = of.second;
    in.run = of.first;
    in.d = place(row.d, true);
    in.a = place(row.a);
    if (row.b != Element::kNone) in.b = place(row.b);
    if (row.c != Element::kNone) in.c = place(row.c);
    in.small = static_cast<uint32_t>(below(256));
  }
  // Both results, or one of them, combined with a predicate or not.
  void compare(Instr& in) {
    using enum lanes::Operation;
    constexpr lanes::Type kTypes[] = {lanes::Type::kF32, lanes::Type::kS32, lanes::Type::kU64};
    const size_t type = below(3), which = below(3);
    in.run = lanes::find(kSetp, kTypes[type], lanes::Type::kNone, lanes::kVGeneral);
    in.a = place(type == 2 ? Element::kLong : Element::kWord);
    in.b = place(type == 2 ? Element::kLong : Element::kWord);
    if (which != 0) in.d = place(Element::kPredicate, true);
    do
      if (which != 1) in.e = place(Element::kPredicate, true);
    while (in.e == in.d);
    const auto how = static_cast<uint32_t>(below(4));
    if (how != lanes::kBoolNone) in.c = place(Element::kPredicate);
    in.small = static_cast<uint32_t>(below(type == 0 ? 14 : 6)) | how << lanes::kBoolShift;
  }
  // Often by the same.
  void divide(Instr& in) {
    in.run = lanes::find(lanes::Operation::kDiv, lanes::Type::kF32, lanes::Type::kNone, lanes::kVFullRange);
    in.d = place(Element::kWord, true);
    in.a = place(Element::kWord);
    if (divisor_ == kNoRegister || below(2)) divisor_ = place(Element::kWord);
    in.b = divisor_;
  }
  // Carries are predicates that others use, too: find_uses() does not see these.
  void add_three(Instr& in) {
    const auto shared = [&] { return places_[Element::kPredicate][2 + 4 * below(kPlaces / 4)]; };
    in.run = simd_tables(num::current_isa()).sums->add3;
    in.d = place(Element::kWord, true);
    in.a = place(Element::kWord), in.b = place(Element::kWord), in.c = place(Element::kWord);
    in.small = below(2) ? 0 : static_cast<uint32_t>(below(64));
    lanes::Add3 carries;
    for (uint32_t& carry : carries.in)
      if (below(2)) carry = shared();
    if (below(2)) carries.out[0] = shared();
    in.data = code_.keep(carries);
  }
  // Mostly by a number that is known.
  void shift_pair(Instr& in) {
    in.run = lanes::find(lanes::Operation::kShf, lanes::Type::kB32, lanes::Type::kNone, lanes::kVLeft);
    in.d = place(Element::kWord, true);
    in.a = place(Element::kWord), in.b = place(Element::kWord);
    in.c = below(4) ? places_[Element::kWord][4 * below(kPlaces / 4)] : place(Element::kWord);
  }
  // Up by a power of 2, of all lanes of a warp or of parts of it, or with another lane.
  void shuffle(Instr& in) {
    in.d = place(Element::kWord, true);
    in.a = place(Element::kWord);
    in.imm = in.a;  // a membermask that nobody looks at
    const bool up = below(2);
    set_shuffle(in, code_, up ? ShuffleKind::kUp : ShuffleKind::kBfly, 1u << below(5),
                up ? (below(4) ? 0 : 0x1000) : 31);
  }
  void unpack(Instr& in) {
    in.run = lanes::find(lanes::Operation::kMov, lanes::Type::kB64, lanes::Type::kB32, lanes::kVHi);
    const size_t which = below(3);
    in.e = place(Element::kLong);
    if (which != 0) in.d = place(Element::kWord, true);
    do
      if (which != 1) in.a = place(Element::kWord, true);
    while (in.a == in.d);
  }

  void add_place(Element e, uint32_t k) {
    const uint32_t bytes = e == Element::kPredicate ? 1 : e == Element::kWord ? 4 : 8;
    const auto at = static_cast<uint32_t>(code_.register_bytes);
    code_.register_bytes = (at + uint64_t{bytes} * kThreads + 63) / 64 * 64;
    places_[e].push_back(at);
    bytes_[at] = bytes;
    if (k % 4 == 0) code_.constants.push_back({at, bytes, number(), 0, Constant::kBits});
  }
  uint32_t place(Element e, bool is_result = false) {
    for (;;) {
      const size_t k = below(kPlaces);
      if (!is_result || k % 4 != 0) return places_[e][k];
    }
  }
  // Every other place is one that only these instructions use.
  void find_uses() {
    for (const auto& [e, all] : places_)
      for (size_t k = 1; k < kPlaces; k += 2) code_.uses[all[k]] = {~uint32_t{0}, 0};
    for (uint32_t i = 0; i < code_.instrs.size(); ++i)
      for (const uint32_t p : {code_.instrs[i].d, code_.instrs[i].a, code_.instrs[i].b, code_.instrs[i].c,
                               code_.instrs[i].e, code_.instrs[i].guard})
        if (auto uses = code_.uses.find(p); uses != code_.uses.end())
          uses->second = {std::min(uses->second.begin, i), i + 1};
  }
  uint64_t number() {
    constexpr uint32_t kSpecial[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                     0x7fc00000, 0xffc00001, 0x7f800001, 0xffbfffff, 1,          0x80000003,
                                     0x007fffff, 0x7fffffff, 0xffffffff, 31,         32,         63};
    const auto half = [&] {
      return below(2) ? kSpecial[below(std::size(kSpecial))] : static_cast<uint32_t>(random_());
    };
    return uint64_t{half()} << 32 | half();
  }
  void fill() {
    file_.resize(code_.register_bytes);
    for (const auto& [at, bytes] : bytes_) {
      const auto constant = std::find_if(code_.constants.begin(), code_.constants.end(),
                                         [&](const Constant& c) { return c.offset == at; });
      for (uint32_t t = 0; t < kThreads; ++t) {
        const uint64_t value = constant == code_.constants.end() ? number() : constant->low;
        const uint64_t element = bytes == 1 ? (value & 1 ? 0xff : 0) : value;
        std::memcpy(file_.data() + at + bytes * t, &element, bytes);
      }
    }
  }

  std::mt19937 random_;
  uint32_t divisor_ = kNoRegister;
  Code code_;
  std::map<Element, std::vector<uint32_t>> places_;
  std::map<uint32_t, uint32_t> bytes_;
  std::vector<std::byte> file_;
};

}  // namespace

// Runs NATIVE_PROGRAMS programs.
TEST(native_code_has_the_bits_of_handlers) {
  const char* given = std::getenv("NATIVE_PROGRAMS");
  const uint64_t most = given ? std::strtoull(given, nullptr, 10) : 400;
  for (uint32_t seed = 0; seed < most; ++seed) {
    Program program(seed, 1 + seed % 150);
    const uint32_t first = seed % 3 * 32, count = kThreads - first;
    const std::vector<std::byte> expected = program.run(false, first, count);
    const bool same = program.run(true, first, count) == expected;
    CHECK_EQ(same ? "" : "seed " + std::to_string(seed), "");
    if (!same) return;
    if (seed % 150 > 30)  // of a few instructions it may be that no two neighbours have native code
      CHECK_EQ(program.is_compiled(), num::current_isa() != num::Isa::kPortable);
  }
}

TEST(native_code_is_for_whole_paths) {
  Program program(7, 60);
  const std::vector<std::byte> expected = program.run(false, 0, kThreads);
  program.run(true, 0, kThreads);
  CHECK(program.run(false, 0, kThreads) == expected);  // compiled, and run one by one
}

// Asks for one of NATIVE_FLOATS floats (1: for each that there is), and the neighbours of powers of two.
bool floats_have_the_bits_of_handlers() {
  using enum lanes::Operation;
  uint32_t a = 0, b = 0;
  std::vector<uint32_t> results;
  const auto fill = [&](Code& code) {
    code.threads = kThreads;
    const auto place = [&] {
      const auto at = static_cast<uint32_t>(code.register_bytes);
      code.register_bytes += 4 * kThreads;
      return at;
    };
    a = place(), b = place();
    results.clear();
    const auto add = [&](Handler run, uint32_t first, uint32_t second) {
      Instr& in = code.instrs.emplace_back();
      in.run = run, in.d = place(), in.a = first, in.b = second;
      results.push_back(in.d);
    };
    for (const uint32_t flush : {uint32_t{0}, uint32_t{lanes::kVFtz}})
      for (const lanes::Operation o : {kEx2, kRcp})
        add(lanes::find(o, lanes::Type::kF32, lanes::Type::kNone, lanes::kVApprox | flush), a, kNoRegister);
    const Handler divide = lanes::find(kDiv, lanes::Type::kF32, lanes::Type::kNone, lanes::kVFullRange);
    add(divide, b, a);
    add(divide, a, a);
  };
  Code code, compiled;
  fill(code);
  fill(compiled);
  compile_runs(compiled);
  CHECK_EQ(compiled.instrs[0].native != nullptr, num::current_isa() != num::Isa::kPortable);
  alignas(64) static std::byte expected[1 << 14], found[1 << 14];
  std::vector<uint32_t> numbers;
  const auto look = [&] {
    for (std::byte* file : {expected, found})
      for (uint32_t i = 0; i < kThreads; ++i) {
        std::memcpy(file + a + 4 * i, &numbers[i], 4);
        const uint32_t numerator = numbers[i] * 2654435761u;
        std::memcpy(file + b + 4 * i, &numerator, 4);
      }
    execute(code, expected, false, 0, kThreads);
    execute(compiled, found, true, 0, kThreads);
    const auto same = [&](uint32_t p) { return std::memcmp(expected + p, found + p, 4 * kThreads) == 0; };
    return std::all_of(results.begin(), results.end(), same);
  };
  bool is_same = true;
  const auto ask = [&](uint32_t bits) {
    numbers.push_back(bits);
    if (numbers.size() < kThreads) return;
    is_same = is_same && look();
    numbers.clear();
  };
  const char* given = std::getenv("NATIVE_FLOATS");
  const uint64_t step = given ? std::strtoull(given, nullptr, 10) : 8191;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += step) ask(static_cast<uint32_t>(bits));
  for (uint32_t sign : {0u, 0x80000000u})
    for (uint32_t exponent = 0; exponent < 256; ++exponent)
      for (uint32_t near = 0; near < 5; ++near) ask((sign | exponent << 23) + near - 2);
  while (!numbers.empty()) ask(0x3f800000);
  return is_same;
}

TEST(native_functions_of_floats_have_the_bits_of_handlers) { CHECK(floats_have_the_bits_of_handlers()); }
