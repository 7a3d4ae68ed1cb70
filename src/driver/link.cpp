// Implements the linker of PTX, and where the logs of a compilation go. What is linked is PTX text: modules
// of one program that name each other's functions become one text, which modules are loaded from as from a
// cubin.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include <triton_runner/base/text.h>

#include "calls.h"

namespace triton_runner::driver {
namespace {

constexpr int kMaxRegisters = 0, kInfoLog = 3, kInfoBytes = 4, kErrorLog = 5, kErrorBytes = 6;
constexpr int kCubinInput = 0, kPtxInput = 1, kFatbinInput = 2, kLibraryInput = 4;

// The functions of libcudadevrt.a that cooperative kernels call, in place of NVIDIA's machine code. The grid's barrier counts
// blocks in a word of the launch's workspace; the first block adds what makes all of them 2^31, so that its highest bit
// turns each time when the last one has come.
constexpr char kDeviceRuntime[] = R"(
.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	mov.u32 %r1, %envreg1;
	mov.u32 %r2, %envreg2;
	mov.b64 %rd1, {%r2, %r1};
	st.param.b64 [handle], %rd1;
	ret;
}
.visible .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
	.reg .pred %p<4>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<3>;
	ld.param.b64 %rd1, [handle];
	bar.sync 0;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	mov.u32 %r3, %tid.z;
	or.b32 %r1, %r1, %r2;
	or.b32 %r1, %r1, %r3;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra $together;
	mov.u32 %r4, %nctaid.x;
	mov.u32 %r5, %nctaid.y;
	mov.u32 %r6, %nctaid.z;
	mul.lo.u32 %r4, %r4, %r5;
	mul.lo.u32 %r4, %r4, %r6;
	sub.u32 %r4, -2147483647, %r4;
	mov.u32 %r7, %ctaid.x;
	mov.u32 %r8, %ctaid.y;
	mov.u32 %r9, %ctaid.z;
	or.b32 %r7, %r7, %r8;
	or.b32 %r7, %r7, %r9;
	setp.eq.u32 %p2, %r7, 0;
	selp.b32 %r10, %r4, 1, %p2;
	add.s64 %rd2, %rd1, 4;
	membar.gl;
	atom.global.add.u32 %r11, [%rd2], %r10;
$wait:
	ld.volatile.global.u32 %r12, [%rd2];
	xor.b32 %r13, %r11, %r12;
	setp.ge.s32 %p3, %r13, 0;
	@%p3 bra $wait;
	membar.gl;
$together:
	bar.sync 0;
	st.param.b32 [error], 0;
	ret;
}
)";

// The text from the first line on that is not .version, .target or .address_size.
std::string_view without_head(std::string_view text) {
  size_t at = 0;
  for (const char* word : {".version", ".target", ".address_size"})
    if (const size_t found = text.find(word); found != std::string_view::npos)
      at = std::max(at, std::min(text.find('\n', found), text.size()));
  return text.substr(at);
}

// The head of a function in `text`, which begins before its `.func`: the name and where it is, the results before it, and where
// the head ends, with `{` or `;`.
struct Head {
  std::string name;
  std::string_view results;
  size_t at = 0, body = 0;
};

std::optional<Head> head(std::string_view text) {
  Head out;
  out.body = text.find_first_of("{;");
  if (out.body == text.npos) return std::nullopt;
  size_t at = text.find(".func") + 5;
  while (text[at] == ' ' || text[at] == '\t') ++at;
  if (text[at] == '(') {
    const size_t end = std::min(text.find(')', at), out.body - 1) + 1;
    out.results = text.substr(at, end - at);
    at = end;
  }
  out.at = std::min(text.find_first_not_of(" \t\n", at), out.body);
  out.name = text.substr(out.at, text.find_first_of("( \t\n{", out.at) - out.at);
  return out;
}

// The name of the function that `text` begins to define, and how many characters that takes; nothing of a declaration.
std::pair<std::string, size_t> definition(std::string_view text) {
  const auto found = head(text);
  if (!found || text[found->body] == ';') return {};
  int depth = 0;
  for (size_t i = found->body; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return {found->name, i + 1};
  }
  return {};
}

// The text in which a function that is declared and defined has one head, as PTX wants it of one module. C's names do not tell
// results, so that programs declare one where a function has none (numba-cuda does): it gets that result, which nothing writes.
std::string with_one_head(const std::string& text) {
  std::vector<std::pair<size_t, Head>> functions;
  for (size_t at = text.find(".func"); at != text.npos; at = text.find(".func", at + 1)) {
    const size_t begin = text.rfind('\n', at) + 1;
    if (auto found = head(std::string_view(text).substr(begin)))
      functions.emplace_back(begin, std::move(*found));
  }
  std::map<std::string, std::string_view> declared;  // results
  for (const auto& [begin, f] : functions)
    if (text[begin + f.body] == ';') declared[f.name] = f.results;
  std::map<std::string, std::string> defined;
  for (const auto& [begin, f] : functions) {
    if (text[begin + f.body] == ';') continue;
    std::string& own = defined[f.name] = text.substr(begin, f.body);
    if (const auto it = declared.find(f.name); it != declared.end() && f.results.empty())
      own.insert(f.at, std::string(it->second) + ' ');
  }
  std::set<std::string> written;
  std::string out;
  size_t done = 0;
  for (const auto& [begin, f] : functions) {
    const auto it = defined.find(f.name);
    if (it == defined.end()) continue;
    out.append(text, done, begin - done);
    done = begin + f.body;
    const bool declares = text[done] == ';';
    if (declares && written.contains(f.name))
      ++done;  // after the definition it would be a second one
    else
      out += it->second;
    if (!declares) written.insert(f.name);
  }
  return out + text.substr(done);
}

// The name that a declaration of a variable gives, and how many characters the declaration takes.
std::pair<std::string, size_t> variable(std::string_view text) {
  const size_t bytes = std::min(text.find(';'), text.size() - 1) + 1;
  const size_t last = text.find_last_not_of(" \t\n", std::min(text.find_first_of(";[="), bytes) - 1);
  if (last == text.npos) return {"", bytes};
  const size_t begin = text.find_last_of(" \t", last) + 1;
  return {std::string(text.substr(begin, last + 1 - begin)), bytes};
}

// The text without the .common and .weak variables and the .weak functions that texts before it have: all of a name are one.
std::string without_known(std::string_view text, std::set<std::string>* known) {
  std::string out;
  while (!text.empty()) {
    std::string name;
    size_t bytes = 0;
    if (text.starts_with(".weak .func")) {
      std::tie(name, bytes) = definition(text);
    } else if (text.starts_with(".common ") || text.starts_with(".weak .global ") ||
               text.starts_with(".weak .const ")) {
      std::tie(name, bytes) = variable(text);
    }
    const bool is_known = bytes && !known->insert(name).second;
    if (!bytes) bytes = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!is_known) out += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return out;
}

// The names that a text declares outside of functions, and whether each is the text's own.
std::map<std::string, bool> declared(std::string_view text) {
  std::map<std::string, bool> out;
  int depth = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    const bool is_own = line.starts_with(".global ") || line.starts_with(".const ") ||
                        line.starts_with(".shared ") || line.starts_with(".func ");
    const bool is_shared = line.starts_with(".visible ") || line.starts_with(".weak ") ||
                           line.starts_with(".common ") || line.starts_with(".extern ");
    if (depth == 0 && (is_own || is_shared)) {
      const bool is_function = line.find(".func") != line.npos || line.find(".entry") != line.npos;
      const auto function = line.find(".func") != line.npos ? head(text) : std::nullopt;
      const std::string name = is_function ? function ? function->name : "" : variable(text).first;
      if (!name.empty()) out.emplace(name, is_own);
    }
    depth += static_cast<int>(std::ranges::count(line, '{') - std::ranges::count(line, '}'));
    text.remove_prefix(line.size());
  }
  return out;
}

// The text with another name for each that `names` has.
std::string renamed(std::string_view text, const std::set<std::string>& names, const std::string& suffix) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
  std::string out;
  while (!text.empty()) {
    const size_t begin = std::min(text.find_first_of(kLetters), text.size());
    const size_t end = std::min(text.find_first_not_of(kLetters, begin), text.size());
    out += text.substr(0, end);
    if (names.contains(std::string(text.substr(begin, end - begin)))) out += suffix;
    text.remove_prefix(end);
  }
  return out;
}

// All of the inputs as one text. What is a text's own (C++ makes `$str` of a string) gets a name of its own.
std::string joined(const std::vector<std::pair<std::string, std::string>>& inputs) {
  std::string out;
  std::set<std::string> known;
  std::vector<std::map<std::string, bool>> names;
  for (const auto& [name, text] : inputs) names.push_back(declared(text));
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::set<std::string> clashing;
    for (const auto& [name, is_own] : names[i])
      for (size_t j = 0; is_own && j < inputs.size(); ++j)
        if (const auto it = names[j].find(name); it != names[j].end() && (j < i || (j > i && !it->second)))
          clashing.insert(name);
    const std::string text = renamed(inputs[i].second, clashing, "$" + std::to_string(i));
    out += without_known(out.empty() ? text : "\n" + std::string(without_head(text)), &known);
  }
  return with_one_head(out);
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
  if (type == kLibraryInput && content.find("cuda_device_runtime") != std::string::npos)
    return link.has_device_runtime = true, kSuccess;
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
Error cuLinkCreate(unsigned count, int* options, void** values, Handle* out) {
  return cuLinkCreate_v2(count, options, values, out);
}

Error cuLinkAddData_v2(Handle handle, int type, void* data, size_t bytes, const char* name, unsigned, int*,
                       void**) {
  Link* link = state().links.find(handle);
  if (!link) return kInvalidHandle;
  if (!data || bytes == 0) return kInvalidValue;
  return add(*link, type, std::string(static_cast<const char*>(data), bytes), name);
}
Error cuLinkAddData(Handle handle, int type, void* data, size_t bytes, const char* name, unsigned count,
                    int* options, void** values) {
  return cuLinkAddData_v2(handle, type, data, bytes, name, count, options, values);
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
Error cuLinkAddFile(Handle handle, int type, const char* path, unsigned count, int* options, void** values) {
  return cuLinkAddFile_v2(handle, type, path, count, options, values);
}

Error cuLinkComplete(Handle handle, void** out, size_t* bytes) {
  Link* link = state().links.find(handle);
  if (!link) return kInvalidHandle;
  if (!out || !bytes) return kInvalidValue;
  link->result = joined(link->inputs);
  if (link->has_device_runtime && !link->inputs.empty()) link->result += kDeviceRuntime;
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
