// Implements the tool "insert" at PTX: the stores that a dump puts behind instructions, and what they record.
#include <algorithm>
#include <cstdio>

#include <triton_runner/probe/register_stores.h>
#include <triton_runner/simt/simt.h>

#include "insert_case.h"

namespace triton_runner::cases {
namespace {

int failed(const base::Diagnostic& error) {
  std::fputs(error.str().c_str(), stdout);
  return 0;
}

using Bytes = std::vector<std::vector<uint8_t>>;

Bytes contents(const CaseFile& file) {
  Bytes out;
  for (const CaseArgument& argument : file.arguments)
    if (argument.array)
      out.emplace_back(argument.array->data(), argument.array->data() + argument.array->bytes());
  return out;
}

void put_back(const CaseFile& file, const Bytes& from) {
  size_t i = 0;
  for (const CaseArgument& argument : file.arguments)
    if (argument.array) {
      std::copy(from[i].begin(), from[i].end(), argument.array->data());
      ++i;
    }
}

// Launches a text with the case's arguments, and the buffer if there is one; prints a fault.
bool launch(const CaseFile& file, std::shared_ptr<const ptx::Module> module, exec::RegisterObserver* observer,
            std::vector<std::byte>* buffer) {
  simt::LoadOptions load;
  load.block = file.block;
  load.cluster = file.cluster;
  auto kernel = simt::load(std::move(module), file.kernel, load);
  if (!kernel) {
    failed(kernel.error());
    return false;
  }
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  for (const CaseArgument& argument : file.arguments) {
    arguments.push_back(argument.value);
    if (argument.array)
      memory.push_back({reinterpret_cast<uint64_t>(argument.array->data()), argument.array->bytes(),
                        argument.array->name(), true});
  }
  if (buffer) {
    const auto address = reinterpret_cast<uint64_t>(buffer->data());
    memory.push_back({address, buffer->size(), "the buffer", true});
    arguments.push_back({exec::ParamKind::kPointer, address, {}});
  }
  exec::LaunchOptions options = file.options;
  options.registers = observer;
  if (exec::LaunchResult result = (*kernel)->launch(options, arguments, memory)) {
    std::fputs(result->str().c_str(), stdout);
    return false;
  }
  return true;
}

bool same(const probe::Recording& x, const probe::Recording& y) {
  return x.series.size() == y.series.size() &&
         std::equal(x.series.begin(), x.series.end(), y.series.begin(), [](const auto& a, const auto& b) {
           return a.programs == b.programs && a.iterations == b.iterations && a.data == b.data &&
                  a.mask == b.mask;
         });
}

}  // namespace

int run_insert_registers(const CaseFile& file) {
  auto module = ptx::parse(file.source, file.filename);
  if (!module) return failed(module.error());
  const ptx::Function* entry =
      file.kernel.empty() ? (*module)->entries().at(0) : (*module)->find_function(file.kernel);
  auto count = [](const std::array<uint32_t, 3>& n) {
    return std::max(1u, n[0]) * std::max(1u, n[1]) * std::max(1u, n[2]);
  };
  auto plan = probe::plan_named_registers(**module, entry->name, file.dump, "ptx",
                                          count(entry->reqntid[0] ? entry->reqntid : file.block),
                                          count(entry->cluster[0] ? entry->cluster : file.cluster));
  if (!plan) return failed(plan.error());
  probe::RegisterStoreOptions options;
  options.every_iteration = file.insert.every_iteration;
  options.programs = file.insert.programs;
  options.max_bytes = file.insert.max_bytes;
  for (size_t i = 0; i < 3; ++i) options.grid[i] = file.options.grid[i];
  auto stores = probe::insert_register_stores(**module, entry->name, *plan, options);
  if (!stores) return failed(stores.error());
  std::fputs(stores->text.c_str(), stdout);
  auto edited = ptx::parse(stores->text, "inserted");
  if (!edited) return failed(edited.error());

  const Bytes before = contents(file);
  probe::RegisterRecorder observer(*plan,
                                   {{}, false, options.every_iteration, options.programs, int64_t{1} << 30});
  if (!launch(file, *module, &observer, nullptr)) return 0;
  const Bytes after = contents(file);
  put_back(file, before);
  std::vector<std::byte> buffer(static_cast<size_t>(stores->bytes));
  if (!launch(file, *edited, nullptr, &buffer)) return 0;
  const probe::Recording recording = probe::decode(*stores, buffer, options.programs);
  print_recording(recording, stores->bytes);
  const bool whole =
      stores->without_room == 0 && std::all_of(recording.series.begin(), recording.series.end(),
                                               [](const probe::Series& s) { return s.dropped == 0; });
  std::printf("the observer's records: %s\n", !whole                             ? "more"
                                              : same(recording, observer.take()) ? "the same"
                                                                                 : "others");
  std::printf("outputs: %s\n", contents(file) == after ? "the same" : "others");
  return 0;
}

}  // namespace triton_runner::cases
