// Chooses the instruction set: the best that the machine has, unless a test or a user forces a lesser one.
#include <triton_runner/num/isas.h>
#include <triton_runner/num/of_isa.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>

namespace triton_runner::num {
namespace {

std::atomic<Isa>& limit() {
  static std::atomic<Isa> isa{Isa::kAvx512};
  return isa;
}

Isa best_isa() {
  if (isa_available(Isa::kAvx512)) return Isa::kAvx512;
  if (isa_available(Isa::kAvx2)) return Isa::kAvx2;
  return Isa::kPortable;
}

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{best_isa()};
  return isa;
}

// Returns what this machine has, asked once: cpuid leaves a virtual machine for its host, which takes
// microseconds, and some callers ask at each dot.
Isa isa_of_machine() {
#if defined(__x86_64__)
  // This is __builtin_cpu_supports("f16c"), which not every compiler knows. Saving its registers is AVX's.
  unsigned a, b, c = 0, d;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::kPortable;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
             ? Isa::kAvx512
             : Isa::kAvx2;
#else
  return Isa::kPortable;
#endif
}

}  // namespace

bool isa_is_built(Isa isa) {
  return isa == Isa::kPortable || (isa == Isa::kAvx2 ? NUM_HAS_AVX2 : NUM_HAS_AVX512);
}

bool machine_has_isa(Isa isa) {
  static const Isa machine = isa_of_machine();
  return isa <= machine;
}

bool isa_available(Isa isa) {
  return isa_is_built(isa) && machine_has_isa(isa) && isa <= limit().load(std::memory_order_relaxed);
}

Isa current_isa() { return chosen().load(std::memory_order_relaxed); }

static std::optional<Isa> isa_named(std::string_view name) {
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa_name(isa) == name) return isa;
  return {};
}

static std::optional<Isa> find_isa(std::string_view name) {  // if it is available
  const std::optional<Isa> isa = isa_named(name);
  return isa && isa_available(*isa) ? isa : std::nullopt;
}

static std::string names_of(bool (*has)(Isa)) {
  std::string names;
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (has(isa)) names += (names.empty() ? "" : ", ") + std::string(isa_name(isa));
  return names;
}

std::string why_no_isa(std::string_view name) {
  const std::optional<Isa> isa = isa_named(name);
  if (!isa) return "the names are avx512, avx2 and portable";
  if (!machine_has_isa(*isa)) return "this machine has only " + names_of(machine_has_isa);
  if (isa_is_built(*isa)) return "";
  return "this build has only " + built_isas() +
         ": `make test` compiles all, as CMake does with -DTRITON_RUNNER_ISAS=all";
}

std::string built_isas() { return names_of(isa_is_built); }

bool limit_isa(std::string_view name) {
  const std::optional<Isa> isa = find_isa(name);
  if (isa) limit().store(*isa, std::memory_order_relaxed);
  return isa && force_isa("");
}

bool force_isa(std::string_view name) {
  const std::optional<Isa> isa = name.empty() ? best_isa() : find_isa(name);
  if (isa) chosen().store(*isa, std::memory_order_relaxed);
  return isa.has_value();
}

std::string_view isa_name(Isa isa) {
  return isa == Isa::kAvx512 ? "avx512" : isa == Isa::kAvx2 ? "avx2" : "portable";
}

}  // namespace triton_runner::num
