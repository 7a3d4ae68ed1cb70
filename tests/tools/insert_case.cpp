// Puts the stores of a dump into a kernel, runs it, and prints the text and what it recorded.
#include "insert_case.h"

#include <cstdio>
#include <cstring>
#include <memory>

#include <triton_runner/ir/module.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/insert.h>
#include <triton_runner/tile/tile.h>

namespace triton_runner::cases {
namespace {

std::optional<ir::Module> parse(const std::string& text, const std::string& name) {
  base::Diagnostics sink;
  auto module = ir::parse(text, name, &sink);
  if (module) ir::verify(*module, sink);
  std::fputs(sink.str().c_str(), stdout);
  if (!module || sink.has_errors()) return std::nullopt;
  return std::move(module).value();
}

int failed(const base::Diagnostic& error) {
  std::fputs(error.str().c_str(), stdout);
  return 0;
}

void print_record(const probe::Series& s, size_t i) {
  const Element* type = find_element(num::type_name(s.site.type));
  std::printf("%s program %lld,%lld,%lld", s.site.value.c_str(), static_cast<long long>(s.programs[i][0]),
              static_cast<long long>(s.programs[i][1]), static_cast<long long>(s.programs[i][2]));
  for (int loop = 0; loop < s.site.loops; ++loop)
    std::printf(" iteration %lld",
                static_cast<long long>(
                    s.iterations[i * static_cast<size_t>(s.site.loops) + static_cast<size_t>(loop)]));
  for (int k = 0; k < s.extras; ++k)
    std::printf(" %s%lld", k == 0 ? "numbers " : "",
                static_cast<long long>(s.extra[i * static_cast<size_t>(s.extras) + static_cast<size_t>(k)]));
  std::string line = ":";
  const auto size = static_cast<size_t>(s.site.record_bytes()),
             count = static_cast<size_t>(s.site.num_elements());
  for (size_t e = 0; e < count && e < 16; ++e) {
    uint64_t bits = 0;
    std::memcpy(&bits, s.data.data() + i * size + e * size / count, size / count);
    const bool there = s.mask.empty() || s.mask[i * count + e];
    line += " " + (!there ? "-" : type ? shown(*type, bits, 0) : std::to_string(bits));
  }
  std::printf("%s%s\n", line.c_str(), count > 16 ? " ..." : "");
}

}  // namespace

void print_recording(const probe::Recording& recording, int64_t bytes) {
  std::printf("// ---- %lld bytes\n", static_cast<long long>(bytes));
  for (const probe::Series& s : recording.series) {
    for (size_t i = 0; i < s.size(); ++i) print_record(s, i);
    if (s.dropped) std::printf("%s: %lld dropped\n", s.site.value.c_str(), static_cast<long long>(s.dropped));
  }
  for (const std::string& note : recording.notes) std::printf("note: %s\n", note.c_str());
}

int run_insert(const CaseFile& file) {
  auto module = parse(file.source, file.filename);
  if (!module) return 0;
  const std::string kernel =
      file.kernel.empty() ? std::string(module->kernels().at(0)->attr("sym_name")->string) : file.kernel;
  probe::InsertOptions options = file.insert;
  options.grid = {file.options.grid[0], file.options.grid[1], file.options.grid[2]};
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  for (const CaseArgument& argument : file.arguments) {
    if (argument.array)
      memory.push_back({reinterpret_cast<uint64_t>(argument.array->data()), argument.array->bytes(),
                        argument.array->name(), true});
    options.arguments.push_back(argument.scalar && !argument.scalar->is_float
                                    ? std::optional(static_cast<int64_t>(argument.value.bits))
                                    : std::nullopt);
    arguments.push_back(argument.value);
  }
  std::vector<probe::Selector> selectors;
  for (const std::string& text : file.dump) selectors.push_back({text, {}});
  // Without layouts it is TTIR: markers, which Triton would carry to TTGIR, and then stores in their place.
  const bool is_ttir = file.source.find("num-warps") == std::string::npos;
  auto inserted = is_ttir ? probe::insert_markers(*module, kernel, selectors, options)
                          : probe::insert_stores(*module, kernel, selectors, options);
  if (!inserted) return failed(inserted.error());
  std::fputs(inserted->text.c_str(), stdout);
  auto changed = parse(inserted->text, "inserted");
  if (!changed) return 0;
  if (is_ttir) {
    if (auto status = probe::replace_markers(*changed, kernel, *inserted); !status)
      return failed(status.error());
    changed = parse(inserted->text, "replaced");
    if (!changed) return 0;
  }
  std::vector<std::byte> buffer(static_cast<size_t>(inserted->bytes) + 128);
  auto address = (reinterpret_cast<uint64_t>(buffer.data()) + 127) / 128 * 128;
  memory.push_back({address, static_cast<size_t>(inserted->bytes), "the buffer", true});
  arguments.push_back({exec::ParamKind::kPointer, address, {}});
  auto loaded = tile::load(std::make_shared<const ir::Module>(std::move(*changed)), kernel, {});
  if (!loaded) return failed(loaded.error());
  if (exec::LaunchResult result = (*loaded)->launch(file.options, arguments, memory))
    std::fputs(result->str().c_str(), stdout);
  probe::Recording recording = probe::decode(
      *inserted, {reinterpret_cast<const std::byte*>(address), static_cast<size_t>(inserted->bytes)},
      options.programs);
  print_recording(recording, inserted->bytes);
  return 0;
}

}  // namespace triton_runner::cases
