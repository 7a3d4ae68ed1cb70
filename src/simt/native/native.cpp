// Implements compile_runs(): finds runs, puts their code into pages that can be executed, and sets it before their first instructions.
#include "native/native.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#if defined(__x86_64__) && defined(__linux__) && !defined(NUM_PORTABLE)
#include <sys/mman.h>
#define NATIVE_CODE 1
#endif

#include "native/writer.h"
#include "ops/memory.h"
#include "ops/move.h"

namespace triton_runner::simt {

using RunLanes = void (*)(std::byte* registers, uint32_t first, uint32_t end);

// Instr::native of the first instruction of a run.
struct Native {
  Handler first;   // that instruction's own
  uint32_t count;  // instructions
  RunLanes run;
};

namespace {

constexpr size_t kLeast = 2, kMost = 512;  // instructions of a run

#if NATIVE_CODE
void run_native(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const Native& n = *instr_of(in).native;
  if (x.mask || !x.whole_runs || x.pc + (n.count - 1) > x.limit) return n.first(lanes, in);
  n.run(x.regs, x.first, x.first + x.count);
  x.pc += n.count - 1;
}

// The code as native code has it: a parameter is a uniform value in the register file.
std::vector<Instr> with_parameters(Code& code) {
  std::vector<Instr> instrs = code.instrs;
  std::map<std::pair<int64_t, uint32_t>, uint32_t> places;
  for (Instr& in : instrs) {
    if (in.run != handler<load_param>) continue;
    const auto& a = *static_cast<const Access*>(in.data);
    if (a.words != 1 || a.word_bytes != a.reg_bytes || a.word_bytes < 4 || a.word_bytes > 8) continue;
    auto [place, is_new] = places.try_emplace({a.offset, a.word_bytes}, 0);
    if (is_new) {
      place->second = static_cast<uint32_t>(code.register_bytes);
      code.register_bytes += (uint64_t{a.word_bytes} * code.threads + 63) / 64 * 64;
      code.constants.push_back(
          {place->second, a.word_bytes, static_cast<uint64_t>(a.offset), 0, Constant::kParam});
    }
    in.run = copy_register(a.word_bytes);
    in.d = a.regs[0];
    in.a = place->second;
  }
  return instrs;
}

bool is_native(const Instr& in) {
  if (in.guard != kNoRegister || in.d == kNoRegister) return false;
  const NativeRow* row = native_row(in.run);
  return row && in.a != kNoRegister && (row->b == Element::kNone || in.b != kNoRegister) &&
         (row->c == Element::kNone || in.c != kNoRegister);
}

// Places that the run [begin, end) writes before it reads them and that no other instruction names.
std::vector<uint32_t> local_places(const Code& code, const std::vector<Instr>& instrs, size_t begin,
                                   size_t end) {
  std::vector<uint32_t> read, local;
  const auto has = [](const std::vector<uint32_t>& all, uint32_t p) {
    return std::find(all.begin(), all.end(), p) != all.end();
  };
  for (size_t i = begin; i < end; ++i) {
    const Instr& in = instrs[i];
    for (const uint32_t p : {in.a, in.b, in.c})
      if (p != kNoRegister && !has(local, p)) read.push_back(p);
    const auto uses = code.uses.find(in.d);
    if (uses == code.uses.end() || uses->second.begin < begin || uses->second.end > end) continue;
    if (!has(read, in.d) && !has(local, in.d)) local.push_back(in.d);
  }
  std::sort(local.begin(), local.end());
  return local;
}

// Pages with the code, or null where the system gives none.
std::shared_ptr<std::byte> executable(const std::vector<uint8_t>& bytes) {
  const size_t size = bytes.size();
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::memcpy(pages, bytes.data(), size);
  if (mprotect(pages, size, PROT_READ | PROT_EXEC) != 0) {
    munmap(pages, size);
    return nullptr;
  }
  return {static_cast<std::byte*>(pages), [size](std::byte* p) { munmap(p, size); }};
}
#endif

}  // namespace

#if NATIVE_CODE
void compile_runs(Code& code) {
  if (num::current_isa() != num::Isa::kAvx512) return;
  const std::vector<Instr> instrs = with_parameters(code);
  std::vector<uint32_t> uniform;
  for (const Constant& c : code.constants)
    if (c.kind != Constant::kThread) uniform.push_back(c.offset);
  std::sort(uniform.begin(), uniform.end());
  struct Found {
    size_t begin, count, at;
  };
  std::vector<Found> runs;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < instrs.size();) {
    const size_t begin = i;
    while (i < instrs.size() && i < begin + kMost && is_native(instrs[i]) &&
           (i == begin || !code.targets.contains(static_cast<uint32_t>(i))))
      ++i;
    if (i - begin >= kLeast) {
      const std::vector<uint32_t> local = local_places(code, instrs, begin, i);
      const std::vector<uint8_t> run = write_native({&instrs[begin], i - begin}, {uniform, local});
      runs.push_back({begin, i - begin, bytes.size()});
      bytes.insert(bytes.end(), run.begin(), run.end());
      bytes.resize((bytes.size() + 63) / 64 * 64);
    }
    i = std::max(i, begin + 1);
  }
  if (runs.empty()) return;
  const std::shared_ptr<std::byte> pages = executable(bytes);
  if (!pages) return;
  code.kept.push_back(pages);
  for (const Found& run : runs) {
    Instr& in = code.instrs[run.begin];
    in.native = code.keep(
        Native{in.run, static_cast<uint32_t>(run.count), reinterpret_cast<RunLanes>(pages.get() + run.at)});
    in.run = run_native;
  }
}
#else
void compile_runs(Code&) {}
#endif

}  // namespace triton_runner::simt
