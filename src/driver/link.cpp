// The linker of PTX, and where the logs of a compilation go. What is linked is PTX text: modules of one program that name each other's
// functions become one text, which modules are loaded from as from a cubin.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include <triton_runner/base/text.h>

#include "calls.h"

namespace triton_runner::driver {
namespace {

constexpr int kMaxRegisters = 0, kInfoLog = 3, kInfoBytes = 4, kErrorLog = 5, kErrorBytes = 6;
constexpr int kCubinInput = 0, kPtxInput = 1, kFatbinInput = 2;

// The text from the first line on that is not .version, .target or .address_size.
std::string_view without_head(std::string_view text) {
  size_t at = 0;
  for (const char* word : {".version", ".target", ".address_size"})
    if (const size_t found = text.find(word); found != std::string_view::npos)
      at = std::max(at, std::min(text.find('\n', found), text.size()));
  return text.substr(at);
}

// All of the inputs as one text: declarations of what another input defines stay, as PTX allows both in one module.
std::string joined(const std::vector<std::pair<std::string, std::string>>& inputs) {
  std::string out;
  for (const auto& [name, text] : inputs) out += out.empty() ? text : "\n" + std::string(without_head(text));
  return out;
}

// The text with a limit of registers at each of its entries: `.entry name(...)` is followed by .maxnreg.
std::string limited(const std::string& text, unsigned registers) {
  std::string out;
  size_t done = 0;
  for (size_t at; (at = text.find(".entry ", done)) != std::string::npos;) {
    const size_t body = text.find('{', at);
    if (body == std::string::npos) break;
    out.append(text, done, body - done);
    const bool is_limited = text.substr(at, body - at).find(".maxnreg") != std::string::npos;
    if (!is_limited) out += ".maxnreg " + std::to_string(registers) + "\n";
    out += '{';
    done = body + 1;
  }
  return out + text.substr(done);
}

Error add(Link& link, int type, std::string content, const char* name) {
  while (!content.empty() && content.back() == '\0') content.pop_back();
  const bool is_text = content.find(".version") != std::string::npos && !content.starts_with("\x7f");
  if (type == kCubinInput && !is_text)
    return refuse(kNotSupported, "cuLinkAddData: machine code is not linked here; PTX is");
  if (type > kFatbinInput || !is_text)
    return refuse(kNotSupported, "cuLinkAddData: this driver links PTX, and no other kind of input (" +
                                     std::to_string(type) + ")");
  link.inputs.emplace_back(name ? name : "<input>", std::move(content));
  return kSuccess;
}

}  // namespace

JitLogs jit_logs(unsigned count, const int* options, void** values) {
  JitLogs logs;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kInfoLog || options[i] == kErrorLog)
      logs.text[options[i] == kErrorLog] = static_cast<char*>(values[i]);
    if (options[i] == kInfoBytes || options[i] == kErrorBytes) {
      const int which = options[i] == kErrorBytes;
      logs.slots[which] = &values[i];
      logs.bytes[which] = static_cast<size_t>(reinterpret_cast<uintptr_t>(values[i]) & 0xffffffff);
    }
  }
  return logs;
}

void JitLogs::write(int which, const std::string& what) const {
  if (!text[which] || bytes[which] == 0) return;
  const size_t n = std::min(what.size(), bytes[which] - 1);
  std::memcpy(text[which], what.data(), n);
  text[which][n] = '\0';
  if (slots[which]) *slots[which] = reinterpret_cast<void*>(uintptr_t{n + (n > 0)});
}

namespace call {

Error cuLinkCreate_v2(unsigned count, int* options, void** values, Handle* out) {
  if (!out || (count && (!options || !values))) return kInvalidValue;
  auto link = std::make_shared<Link>();
  for (unsigned i = 0; i < count; ++i) link->options.push_back({options[i], values[i]});
  link->values = values;
  *out = state().links.add(std::move(link));
  return kSuccess;
}

Error cuLinkAddData_v2(Handle handle, int type, void* data, size_t bytes, const char* name, unsigned, int*,
                       void**) {
  Link* link = state().links.find(handle);
  if (!link) return kInvalidHandle;
  if (!data || bytes == 0) return kInvalidValue;
  return add(*link, type, std::string(static_cast<const char*>(data), bytes), name);
}

Error cuLinkAddFile_v2(Handle handle, int type, const char* path, unsigned, int*, void**) {
  Link* link = state().links.find(handle);
  if (!link) return kInvalidHandle;
  if (!path) return kInvalidValue;
  std::ifstream in(path, std::ios::binary);
  if (!in) return kFileNotFound;
  std::stringstream text;
  text << in.rdbuf();
  return add(*link, type, text.str(), path);
}

Error cuLinkComplete(Handle handle, void** out, size_t* bytes) {
  Link* link = state().links.find(handle);
  if (!link) return kInvalidHandle;
  if (!out || !bytes) return kInvalidValue;
  link->result = joined(link->inputs);
  std::string log;
  std::vector<int> options;
  for (const Link::Option& o : link->options) {
    options.push_back(o.option);
    const auto value = static_cast<unsigned>(reinterpret_cast<uintptr_t>(o.value));
    if (o.option == kMaxRegisters && value > 0) link->result = limited(link->result, value);
  }
  const auto parsed = ptx::parse(link->result, "<linked>");
  if (!parsed) log = parsed.error().str();
  const JitLogs logs = jit_logs(static_cast<unsigned>(options.size()), options.data(), link->values);
  logs.write(1, log), logs.write(0, "");
  if (!parsed) return refuse(kInvalidPtx, log);
  *out = link->result.data();
  *bytes = link->result.size() + 1;  // with its NUL, so that a module can be loaded of it
  return kSuccess;
}

Error cuLinkDestroy(Handle handle) { return state().links.remove(handle) ? kSuccess : kInvalidHandle; }

}  // namespace call
}  // namespace triton_runner::driver
