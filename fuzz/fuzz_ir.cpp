// Any text: parsing reports or accepts; what it accepts prints back byte for byte, and its canonical text is
// stable.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <triton_runner/ir/module.h>

namespace {

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_ir: %s\n", what.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ir = triton_runner::ir;
  std::string text(reinterpret_cast<const char*>(data), size);
  triton_runner::base::Diagnostics sink;
  auto module = ir::parse(text, "fuzz.ttir", &sink);
  if (!module.ok()) {
    require(sink.has_errors(), "a failed parse reported nothing");
    sink.str();
    return 0;
  }
  require(module->str() == text, "an accepted module does not print back byte for byte");
  triton_runner::base::Diagnostics findings;
  if (!ir::verify(*module, findings)) return 0;
  std::string canonical = module->print_canonical();
  auto again = ir::parse(canonical, "canonical.ttir", nullptr);
  if (!again.ok())
    require(false, "the canonical text of a valid module does not parse: " + again.error().str());
  require(again->print_canonical() == canonical, "the canonical text is not stable");
  return 0;
}
