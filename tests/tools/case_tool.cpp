// Runs one golden case (tests/README.md) and prints what came of it; tests/run_cases.py compares that with
// the case.
//
//   case_tool [--isa avx512|avx2|portable] [--no-fusion] [--observed] [--checks oob,nan,...]
//             [--assembled CUBIN LISTING] FILE
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include <triton_runner/exec/faults.h>
#include <triton_runner/exec/observer.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/num/isas.h>
#include <triton_runner/ptx/module.h>
#include <triton_runner/simt/simt.h>
#include <triton_runner/tile/tile.h>

#include "case_file.h"
#include "insert_case.h"
#include "sass_case.h"

namespace triton_runner::cases {
namespace {

constexpr int64_t kShownElements = 1024, kShownOfLong = 64;
constexpr size_t kColumns = 110;

tile::LoadOptions load_options;

std::optional<ir::Module> parse(const CaseFile& file) {
  base::Diagnostics sink;
  auto module = ir::parse(file.source, file.filename, &sink);
  std::fputs(sink.str().c_str(), stdout);
  if (!module.ok()) return std::nullopt;
  return std::move(module).value();
}

int run_parse(const CaseFile& file) {
  if (parse(file)) std::puts("ok");
  return 0;
}

int run_verify(const CaseFile& file) {
  auto module = parse(file);
  if (!module) return 0;
  base::Diagnostics sink;
  bool good = ir::verify(*module, sink);
  std::fputs(sink.str().c_str(), stdout);
  if (good) std::puts("ok");
  return 0;
}

int run_roundtrip(const CaseFile& file) {
  auto module = parse(file);
  if (!module) return 0;
  std::string printed = module->str();
  size_t same = 0;
  while (same < printed.size() && same < file.source.size() && printed[same] == file.source[same]) ++same;
  if (printed == file.source) {
    std::puts("ok");
  } else {
    std::printf("differs at %s\n", base::locate(file.source, same, file.filename).str().c_str());
  }
  return 0;
}

int run_canonical(const CaseFile& file) {
  auto module = parse(file);
  if (!module) return 0;
  std::string printed = module->print_canonical();
  std::fputs(printed.c_str(), stdout);
  auto again = ir::parse(printed, "canonical", nullptr);
  if (!again.ok()) {
    std::printf("the canonical text does not parse:\n%s", again.error().str().c_str());
  } else if (again->print_canonical() != printed) {
    std::puts("the canonical text of the canonical text differs");
  }
  return 0;
}

uint64_t fnv1a(const uint8_t* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001b3;
  return hash;
}

// "0 1 2 3 x14 5": values of one row, equal neighbours counted from four on, wrapped.
void print_values(const GuardedArray& array, int64_t begin, int64_t end, int digits) {
  std::string line = " ";
  for (int64_t i = begin; i < end;) {
    int64_t next = i + 1;
    std::string value = shown(array.type(), array.get(i), digits);
    while (next < end && shown(array.type(), array.get(next), digits) == value) ++next;
    if (next - i < 4) next = i + 1;
    if (next - i >= 4) value += " x" + std::to_string(next - i);
    if (line.size() + 1 + value.size() > kColumns) {
      std::puts(line.c_str());
      line = " ";
    }
    line += " " + value;
    i = next;
  }
  std::puts(line.c_str());
}

void print_array(const GuardedArray& array, int index, int digits) {
  std::printf("arg%d %s:\n", index, array.name().c_str());
  if (array.size() > kShownElements) {
    print_values(array, 0, kShownOfLong, digits);
    if (digits == 0) {
      auto hash = static_cast<unsigned long long>(fnv1a(array.data(), array.bytes()));
      std::printf("  ... %lld elements, fnv1a %016llx\n", static_cast<long long>(array.size()), hash);
    }
    return;
  }
  int64_t row = array.shape().back();
  for (int64_t begin = 0; begin < array.size(); begin += row) print_values(array, begin, begin + row, digits);
}

// tt.print's text is output like any other.
class Printer : public exec::Observer {
 public:
  bool wants(const exec::ValueSite&) override { return false; }
  void on_value(const exec::ValueEvent&) override {}
  void on_print(std::string_view text, const std::array<int64_t, 3>&) override {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
};

// Wants every value, and does nothing with it: --observed.
struct Watcher final : exec::Observer {
  Printer printer;
  bool wants(const exec::ValueSite&) override { return true; }
  void on_value(const exec::ValueEvent& event) override {
    seen.fetch_add(event.data != nullptr, std::memory_order_relaxed);
  }
  void on_print(std::string_view text, const std::array<int64_t, 3>& program) override {
    printer.on_print(text, program);
  }
  std::atomic<int64_t> seen{0};
};
bool observed = false;

// Launches the case's kernel, and prints its fault and the arrays that changed.
int run_kernel(const CaseFile& file, exec::Kernel& kernel, bool prints) {
  const std::vector<exec::Param>& params = kernel.params();
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  for (const CaseArgument& argument : file.arguments) {
    if (argument.array) {
      size_t index = arguments.size();
      std::string name = index < params.size() ? params[index].name : std::to_string(index);
      memory.push_back({reinterpret_cast<uint64_t>(argument.array->data()), argument.array->bytes(),
                        "argument '" + name + "' (" + argument.array->name() + ")", true});
    }
    arguments.push_back(argument.value);
  }
  Printer printer;
  exec::LaunchOptions options = file.options;
  Watcher watcher;
  if (prints) options.printer = &printer;
  if (observed) options.observer = &watcher;
  exec::Faults faults;
  if (file.report_faults) options.faults = &faults;
  options.substitution = file.substitution.get();
  exec::LaunchResult result = kernel.launch(options, arguments, memory);
  std::vector<exec::Fault> noted = faults.take();
  if (file.substitution)
    for (exec::Fault& place : file.substitution->places.take()) noted.push_back(std::move(place));
  for (const exec::Fault& fault : noted)
    std::printf("%s\n  times: %llu\n", fault.first.str().c_str(),
                static_cast<unsigned long long>(fault.count));
  if (result) {
    std::string text = result->str();
    std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
  }
  bool changed = false;
  for (size_t i = 0; i < file.arguments.size(); ++i) {
    const auto& array = file.arguments[i].array;
    if (!array) continue;
    if (!array->canaries_intact()) std::printf("arg%zu: bytes around the array were written\n", i);
    if (!array->changed()) continue;
    changed = true;
    print_array(*array, static_cast<int>(i), file.digits);
  }
  if (!changed && !result && noted.empty()) std::puts("no array changed");
  return 0;
}

int run_tile(const CaseFile& file) {
  auto module = parse(file);
  if (!module) return 0;
  auto kernel = tile::load(std::make_shared<const ir::Module>(std::move(*module)), file.kernel, load_options);
  if (kernel) return run_kernel(file, **kernel, file.source.find("tt.print") != std::string::npos);
  std::fputs(kernel.error().str().c_str(), stdout);
  return 0;
}

// ---- PTX

std::shared_ptr<const ptx::Module> parse_ptx(const CaseFile& file) {
  auto module = ptx::parse(file.source, file.filename);
  if (module) return *module;
  std::fputs(module.error().str().c_str(), stdout);
  return nullptr;
}

int run_ptx_parse(const CaseFile& file) {
  if (parse_ptx(file)) std::puts("ok");
  return 0;
}

int run_ptx_roundtrip(const CaseFile& file) {
  if (auto module = parse_ptx(file)) std::puts(module->text() == file.source ? "ok" : "the text differs");
  return 0;
}

int run_ptx_canonical(const CaseFile& file) {
  auto module = parse_ptx(file);
  if (!module) return 0;
  std::string printed = ptx::print_canonical(*module);
  std::fputs(printed.c_str(), stdout);
  auto again = ptx::parse(printed, "canonical");
  if (!again) {
    std::printf("the canonical text does not parse:\n%s", again.error().str().c_str());
  } else if (ptx::print_canonical(**again) != printed) {
    std::puts("the canonical text of the canonical text differs");
  }
  return 0;
}

// The machine code that runs in the place of a PTX case's text: --assembled.
const char *cubin_path = nullptr, *listing_path = nullptr;

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run_ptx(const CaseFile& file) {
  auto module = parse_ptx(file);
  if (!module) return 0;
  simt::LoadOptions options;
  options.block = file.block;
  options.cluster = file.cluster;
  std::vector<const ptx::Function*> entries = module->entries();
  for (size_t i = 0; i < file.arguments.size(); ++i) {
    const CaseArgument& argument = file.arguments[i];
    exec::Param param{"arg" + std::to_string(i), argument.value.kind, "pointer"};
    if (entries.size() == 1 && i < entries[0]->params.size())
      param.name = std::string(entries[0]->params[i].name);
    if (argument.scalar) {
      param.type = std::string(argument.scalar->name);
      param.bits = 8 * argument.scalar->bytes;
    } else if (argument.value.descriptor) {
      param.type = "tensordesc";
      if (argument.layout.element_bytes) options.descriptors.push_back(argument.layout);
    }
    options.params.push_back(std::move(param));
  }
  auto kernel = cubin_path ? simt::load_cubin(content_of(cubin_path), content_of(listing_path), file.kernel,
                                              options, file.filename)
                           : simt::load(module, file.kernel, options);
  if (kernel) return run_kernel(file, **kernel, file.source.find("vprintf") != std::string::npos);
  std::fputs(kernel.error().str().c_str(), stdout);
  return 0;
}

int run_amdgcn(const CaseFile& file) {
  simt::LoadOptions options;
  options.block = file.block;
  auto kernel = simt::load_amdgcn(file.source, file.kernel, options, file.filename);
  if (kernel) return run_kernel(file, **kernel, false);
  std::fputs(kernel.error().str().c_str(), stdout);
  return 0;
}

enum class Of : uint8_t { kIr, kPtx, kAmdgcn };
struct Tool {
  const char* name;
  int (*run)(const CaseFile&);
  Of of = Of::kIr;
};
constexpr Tool kTools[] = {{"parse", run_parse},
                           {"verify", run_verify},
                           {"roundtrip", run_roundtrip},
                           {"canonical", run_canonical},
                           {"tile", run_tile},
                           {"insert", run_insert},
                           {"parse", run_ptx_parse, Of::kPtx},
                           {"roundtrip", run_ptx_roundtrip, Of::kPtx},
                           {"canonical", run_ptx_canonical, Of::kPtx},
                           {"ptx", run_ptx, Of::kPtx},
                           {"insert", run_insert_registers, Of::kPtx},
                           {"sass", run_sass, Of::kPtx},
                           {"amdgcn", run_amdgcn, Of::kAmdgcn}};

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--isa") == 0) {  // as on a machine that has no better one
    if (!num::limit_isa(argv[2])) {
      std::fprintf(stderr, "no %s: %s\n", argv[2], num::why_no_isa(argv[2]).c_str());
      return 3;
    }
    argv += 2;
    argc -= 2;
  }
  if (argc > 2 && std::strcmp(argv[1], "--no-fusion") == 0) {
    load_options.fuse = false;
    ++argv, --argc;
  }
  if (argc > 2 && std::strcmp(argv[1], "--observed") == 0) {
    observed = true;
    ++argv, --argc;
  }
  const char* checks = nullptr;  // in place of what the case says
  if (argc > 3 && std::strcmp(argv[1], "--checks") == 0) {
    checks = argv[2];
    argv += 2;
    argc -= 2;
  }
  if (argc > 4 && std::strcmp(argv[1], "--assembled") == 0) {
    cubin_path = argv[2], listing_path = argv[3];
    argv += 3;
    argc -= 3;
  }
  if (argc != 2) {
    std::fputs(
        "usage: case_tool [--isa avx512|avx2|portable] [--no-fusion] [--observed] [--checks oob,nan,...] "
        "[--assembled CUBIN LISTING] FILE\n",
        stderr);
    return 2;
  }
  CaseFile file;
  if (std::string problem = read_case(argv[1], file); !problem.empty()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], problem.c_str());
    return 2;
  }
  if (checks) file.options.checks = parse_checks(checks);
  const Of of = file.filename.ends_with(".ptx")      ? Of::kPtx
                : file.filename.ends_with(".amdgcn") ? Of::kAmdgcn
                                                     : Of::kIr;
  for (const Tool& tool : kTools)
    if (file.tool == tool.name && tool.of == of) return tool.run(file);
  std::fprintf(stderr, "%s: no tool '%s'\n", argv[1], file.tool.c_str());
  return 2;
}

}  // namespace
}  // namespace triton_runner::cases

int main(int argc, char** argv) { return triton_runner::cases::main(argc, argv); }
