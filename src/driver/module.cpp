// Implements modules and libraries: PTX, cubins and fatbins, their functions and variables.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include <triton_runner/artifact/artifact.h>
#include <triton_runner/artifact/cubin_kernel.h>
#include <triton_runner/artifact/fatbin.h>
#include <triton_runner/base/try.h>
#include <triton_runner/simt/simt.h>

#include "calls.h"
#include "listing.h"
#include "variables.h"

namespace triton_runner::driver {
namespace {

constexpr uint32_t kFatbin = 0xba55ed50, kFatbinWrapper = 0x466243b1;
constexpr char kElf[] =
    "\x7f"
    "ELF";

template <class T>
T read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The bytes of an image whose size nobody gave: what its own headers say, or a text up to its NUL.
std::string image_bytes(const void* image) {
  const char* at = static_cast<const char*>(image);
  if (read<uint32_t>(at) == kFatbinWrapper) at = reinterpret_cast<const char*>(read<uint64_t>(at + 8));
  if (read<uint32_t>(at) == kFatbin) return {at, read<uint16_t>(at + 6) + read<uint64_t>(at + 8)};
  if (std::memcmp(at, kElf, 4) != 0) return at;
  uint64_t end = read<uint64_t>(at + 40) +
                 uint64_t{read<uint16_t>(at + 58)} * read<uint16_t>(at + 60);  // section headers
  end = std::max(end, read<uint64_t>(at + 32) + uint64_t{read<uint16_t>(at + 54)} * read<uint16_t>(at + 56));
  const char* headers = at + read<uint64_t>(at + 40);
  for (int i = 0; i < read<uint16_t>(at + 60); ++i) {
    const char* h = headers + i * read<uint16_t>(at + 58);
    constexpr uint32_t kNoBytes = 8;  // SHT_NOBITS
    if (read<uint32_t>(h + 4) != kNoBytes)
      end = std::max(end, read<uint64_t>(h + 24) + read<uint64_t>(h + 32));
  }
  return {at, end};
}

int number_of(const std::string& target) {
  return target.starts_with("cuda:") ? std::atoi(target.c_str() + 5) : 0;
}

// PTX goes before machine code: it has the program's lines, and no program has to disassemble it.
base::Result<artifact::DeviceCode> choose(const std::string& bytes) {
  auto pieces = TRY(artifact::device_code(bytes, "<image>"));
  const int capability = state().chip.capability;
  const artifact::DeviceCode* best = nullptr;
  std::vector<std::string> notes;
  for (const artifact::DeviceCode& piece : pieces) {
    const int target = number_of(piece.target);
    const bool fits =
        piece.level == "ptx" ? target <= capability : target / 10 == capability / 10 && target <= capability;
    notes.push_back(piece.level + " for " + piece.target +
                    (piece.problem.empty() ? "" : ": " + piece.problem));
    if (!fits || !piece.problem.empty()) continue;
    const bool is_better = !best || (piece.level == "ptx" && best->level != "ptx") ||
                           (piece.level == best->level && target > number_of(best->target));
    if (is_better) best = &piece;
  }
  if (!best) return base::failure("no piece of the image is for " + state().chip.target(), notes);
  return *best;
}

void add_function(Module& module, std::shared_ptr<Function> function) {
  State& s = state();
  function->module = &module;
  function->handle = s.functions.add(function);
  function->kernel = s.kernels.add(function);
  module.functions.push_back(std::move(function));
}

base::Status read_ptx(Module& module, std::string text) {
  module.level = "ptx";
  module.ptx = TRY(ptx::parse(std::move(text), "<module>"));
  module.target = "cuda:" + std::to_string(module.ptx->compute_capability());
  if (module.ptx->compute_capability() > state().chip.capability)
    return base::failure("this PTX is for " + std::string(module.ptx->target()) + ", and the device is " +
                             state().chip.name + " (sm_" + std::to_string(state().chip.capability) + ")",
                         {"--chip shows another device"});
  place_variables(module);
  for (const ptx::Function* entry : module.ptx->entries()) {
    auto f = std::make_shared<Function>();
    f->name = std::string(entry->name);
    for (const ptx::Variable& v : entry->params) {
      const size_t align = std::max(v.align, 1u);
      const size_t offset = (f->param_bytes + align - 1) / align * align;
      f->params.push_back({std::string(v.name), offset, v.bytes});
      f->param_bytes = offset + v.bytes;
    }
    const auto most = entry->reqntid[0] ? entry->reqntid : entry->maxntid;
    if (most[0]) f->max_threads = static_cast<int>(most[0] * std::max(most[1], 1u) * std::max(most[2], 1u));
    for (const ptx::Variable& v : module.ptx->variables())
      if (v.space == ptx::Space::kShared && !v.is_extern) f->static_shared += static_cast<int64_t>(v.bytes);
    for (const ptx::Variable& v : entry->variables) {
      if (v.space == ptx::Space::kShared) f->static_shared += static_cast<int64_t>(v.bytes);
      if (v.space == ptx::Space::kLocal) f->local_bytes += static_cast<int>(v.bytes);
    }
    for (const ptx::Variable& v : module.ptx->variables())
      if (v.space == ptx::Space::kConst) f->constant_bytes += static_cast<int>(v.bytes);
    f->cluster = entry->cluster;
    add_function(module, std::move(f));
  }
  return base::success();
}

base::Status read_cubin(Module& module, std::string bytes) {
  module.level = "cubin";
  module.bytes = std::move(bytes);
  module.listing = TRY(listing_of(module.bytes));
  for (const std::string& name : TRY(artifact::kernels(module.bytes, "cubin", "<module>"))) {
    const artifact::Description d = TRY(artifact::describe(module.bytes, "cubin", name, "", "<module>"));
    module.target = d.target;
    auto f = std::make_shared<Function>();
    f->name = name;
    const artifact::CubinKernel kernel = TRY(artifact::read_cubin_kernel(module.bytes, name, "<module>"));
    for (const auto& p : kernel.params) {
      f->params.push_back({"param " + std::to_string(f->params.size()), p.offset, p.bytes});
      f->param_bytes = std::max<size_t>(f->param_bytes, p.offset + p.bytes);
    }
    place_variables(module, kernel);
    if (d.max_threads) f->max_threads = *d.max_threads;
    f->registers = d.n_regs.value_or(0), f->local_bytes = static_cast<int>(d.local_bytes.value_or(0));
    f->static_shared = d.static_shared.value_or(0);
    if (auto bank = kernel.banks.find(3); bank != kernel.banks.end())
      f->constant_bytes = static_cast<int>(bank->second.size());
    if (d.cluster)
      for (size_t i = 0; i < 3; ++i) f->cluster[i] = static_cast<uint32_t>((*d.cluster)[i]);
    add_function(module, std::move(f));
  }
  return base::success();
}

base::Status read_image(Module& module, std::string bytes) {
  if (bytes.starts_with(kElf) || (bytes.size() > 4 && read<uint32_t>(bytes.data()) == kFatbin)) {
    artifact::DeviceCode code = TRY(choose(bytes));
    return code.level == "ptx" ? read_ptx(module, std::move(code.content))
                               : read_cubin(module, std::move(code.content));
  }
  if (const size_t end = bytes.find('\0'); end != std::string::npos)
    bytes.resize(end);  // a file may hold the byte that ends a text
  return read_ptx(module, std::move(bytes));
}

// Handles of functions go with their module, as its variables do.
Error with_handle(Error error, std::shared_ptr<Module> module, Handle* out) {
  if (error) return error;
  module->handle = state().modules.add(module);
  *out = module->handle;
  return kSuccess;
}

Error load_file(const char* path, std::shared_ptr<Module>* out, std::string* log) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return kFileNotFound;
  std::stringstream text;
  text << in.rdbuf();
  return load_module(text.str(), out, log);
}

Function* named(const Module& module, const char* name) {
  for (const auto& f : module.functions)
    if (f->name == name) return f.get();
  return nullptr;
}

Error list(const Module* module, Handle* out, unsigned count, bool kernels) {
  if (!module) return kInvalidHandle;
  if (!out) return kInvalidValue;
  for (unsigned i = 0; i < count && i < module->functions.size(); ++i)
    out[i] = kernels ? module->functions[i]->kernel : module->functions[i]->handle;
  return kSuccess;
}

Error global_of(const Module* module, Address* out, size_t* bytes, const char* name) {
  if (!module) return kInvalidHandle;
  if (!name || (!out && !bytes)) return kInvalidValue;
  auto it = module->variables.find(std::string_view(name));
  if (it == module->variables.end()) return kNotFound;
  if (out) *out = it->second.address;
  if (bytes) *bytes = it->second.bytes;
  return kSuccess;
}

Module* library_module(Handle library) {
  const Library* found = state().libraries.find(library);
  return found ? found->module.get() : nullptr;
}

}  // namespace

void forget(Module& module) {
  State& s = state();
  for (const auto& f : module.functions) s.functions.remove(f->handle), s.kernels.remove(f->kernel);
}

Module::~Module() {
  for (const Address block : blocks) state().blocks.release(block);
}

Error load_module(std::string image, std::shared_ptr<Module>* out, std::string* log) {
  auto module = std::make_shared<Module>();
  module->context = current_context() ? current_context()->handle : nullptr;
  module->addresses = std::make_shared<std::map<std::string, uint64_t, std::less<>>>();
  const bool is_text = !image.starts_with(kElf) && image.find(".version") != std::string::npos;
  const base::Status read = read_image(*module, std::move(image));
  if (!read) {
    *log = read.error().str();
    forget(*module);
    return is_text ? kInvalidPtx : module->level == "cubin" ? kJitCompilerNotFound : kInvalidImage;
  }
  *out = std::move(module);
  return kSuccess;
}

Error load_module(const void* image, std::shared_ptr<Module>* out, std::string* log) {
  return load_module(image_bytes(image), out, log);
}

Function* function_of(Handle handle) {
  State& s = state();
  Function* f = s.functions.find(handle);
  return f ? f : s.kernels.find(handle);
}

namespace call {

Error cuModuleLoadDataEx(Handle* out, const void* image, unsigned count, int* options, void** values) {
  if (!out || !image || (count && (!options || !values))) return kInvalidValue;
  *out = nullptr;
  std::shared_ptr<Module> module;
  std::string log;
  const Error error = load_module(image, &module, &log);
  const JitLogs logs = jit_logs(count, options, values);
  logs.write(1, log), logs.write(0, "");
  if (error) say("a module was not loaded: " + log);
  return with_handle(error, std::move(module), out);
}
Error cuModuleLoadData(Handle* out, const void* image) {
  return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}
Error cuModuleLoadFatBinary(Handle* out, const void* image) { return cuModuleLoadData(out, image); }

Error cuModuleLoad(Handle* out, const char* path) {
  if (!out || !path) return kInvalidValue;
  std::shared_ptr<Module> module;
  std::string log;
  const Error error = load_file(path, &module, &log);
  if (!log.empty()) say(log);
  return with_handle(error, std::move(module), out);
}

Error cuModuleUnload(Handle handle) {
  State& s = state();
  Module* module = s.modules.find(handle);
  if (!module || module->library) return kInvalidHandle;
  forget(*module);
  s.modules.remove(handle);
  return kSuccess;
}

Error cuModuleGetFunction(Handle* out, Handle handle, const char* name) {
  const Module* module = state().modules.find(handle);
  if (!module) return kInvalidHandle;
  if (!out || !name || !*name) return kInvalidValue;
  const Function* f = named(*module, name);
  *out = f ? f->handle : nullptr;
  return f ? kSuccess : kNotFound;
}

Error cuModuleGetGlobal_v2(Address* out, size_t* bytes, Handle handle, const char* name) {
  return global_of(state().modules.find(handle), out, bytes, name);
}

Error cuModuleGetFunctionCount(unsigned* out, Handle handle) {
  return give(state().modules.find(handle), out,
              [](const Module& module) { return module.functions.size(); });
}
Error cuModuleEnumerateFunctions(Handle* out, unsigned count, Handle handle) {
  return list(state().modules.find(handle), out, count, false);
}
Error cuModuleGetLoadingMode(int* out) {
  return give(out, 1);  // eager: a module is parsed when it is loaded
}

Error cuLibraryLoadData(Handle* out, const void* code, int* options, void** values, unsigned count, int*,
                        void**, unsigned) {
  if (!out || !code || (count && (!options || !values))) return kInvalidValue;
  *out = nullptr;
  auto library = std::make_shared<Library>();
  std::string log;
  const Error error = load_module(code, &library->module, &log);
  const JitLogs logs = jit_logs(count, options, values);
  logs.write(1, log), logs.write(0, "");
  if (error) return refuse(error, "a library was not loaded: " + log);
  Module& module = *library->module;
  *out = state().libraries.add(library);
  module.library = *out;
  module.handle = state().modules.add(library->module);
  return kSuccess;
}

Error cuLibraryLoadFromFile(Handle* out, const char* path, int* options, void** values, unsigned count, int*,
                            void**, unsigned) {
  if (!out || !path || (count && (!options || !values))) return kInvalidValue;
  auto library = std::make_shared<Library>();
  std::string log;
  const Error error = load_file(path, &library->module, &log);
  if (error) return log.empty() ? error : refuse(error, log);
  *out = state().libraries.add(library);
  library->module->library = *out;
  library->module->handle = state().modules.add(library->module);
  return kSuccess;
}

Error cuLibraryUnload(Handle handle) {
  State& s = state();
  Library* library = s.libraries.find(handle);
  if (!library) return kInvalidHandle;
  forget(*library->module);
  s.modules.remove(library->module->handle);
  s.libraries.remove(handle);
  return kSuccess;
}

Error cuLibraryGetKernel(Handle* out, Handle handle, const char* name) {
  const Module* module = library_module(handle);
  if (!module) return kInvalidHandle;
  if (!out || !name) return kInvalidValue;
  const Function* f = named(*module, name);
  *out = f ? f->kernel : nullptr;
  return f ? kSuccess : kNotFound;
}
Error cuLibraryGetKernelCount(unsigned* out, Handle handle) {
  return give(library_module(handle), out, [](const Module& module) { return module.functions.size(); });
}
Error cuLibraryEnumerateKernels(Handle* out, unsigned count, Handle handle) {
  return list(library_module(handle), out, count, true);
}
Error cuLibraryGetModule(Handle* out, Handle handle) {
  return give(library_module(handle), out, &Module::handle);
}
Error cuLibraryGetGlobal(Address* out, size_t* bytes, Handle handle, const char* name) {
  return global_of(library_module(handle), out, bytes, name);
}
Error cuLibraryGetManaged(Address* out, size_t* bytes, Handle handle, const char* name) {
  return global_of(library_module(handle), out, bytes, name);
}

}  // namespace call
}  // namespace triton_runner::driver
