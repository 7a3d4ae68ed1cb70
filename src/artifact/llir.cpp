// Reads the outline of LLVM IR as Triton writes it: kernel definitions, their attributes and annotations,
// shared memory.
#include <map>

#include "scan.h"
#include "text.h"

namespace triton_runner::artifact {
namespace {

class LlirScanner {
 public:
  LlirScanner(std::string_view text, const std::string& filename)
      : text_(text), filename_(filename), clean_(without_comments(text, ";")) {}

  Scanned scan() {
    if (clean_.find_first_not_of(" \t\r\n") == std::string::npos)
      return text_error(text_, 0, filename_, "expected LLVM IR, found nothing");
    size_t at = 0;
    while (at < clean_.size()) {
      size_t end = std::min(clean_.find('\n', at), clean_.size());
      std::string_view line = std::string_view(clean_).substr(at, end - at);
      if (line.starts_with("define ")) {
        if (!define(at)) return error_;
      } else if (line.starts_with("@")) {
        global(line);
      } else if (line.starts_with("attributes ")) {
        attributes(line);
      } else if (line.starts_with("!")) {
        annotation(line);
      } else if (line.starts_with("target triple")) {
        if (line.find("nvptx") != std::string_view::npos) backend_ = "cuda";
        if (line.find("amdgcn") != std::string_view::npos || line.find("amdgpu") != std::string_view::npos)
          backend_ = "hip";
      }
      at = end + 1;
    }
    if (functions_.empty())
      return text_error(text_, 0, filename_, "expected LLVM IR with at least one 'define'");
    std::vector<Description> found;
    for (Function& f : functions_)
      if (f.is_kernel || annotated_[f.description.name]["kernel"]) found.push_back(finish(f));
    return found;
  }

 private:
  struct Function {
    Description description;
    bool is_kernel = false, is_amd = false;
    std::string group;  // "#0"
  };

  bool fail(size_t at, std::string message) {
    error_ = text_error(text_, at, filename_, std::move(message));
    return false;
  }

  // define ptx_kernel void @name(ptr addrspace(1) %0, i32 %1) local_unnamed_addr #0 !dbg !4 {
  bool define(size_t at) {
    Function f;
    f.description.level = "llir";
    Words words(clean_, at);
    while (!words.done() && !words.peek().starts_with("@") && words.peek() != "{") {
      std::string_view word = words.next();
      if (word == "ptx_kernel" || word == "amdgpu_kernel") f.is_kernel = true;
      if (word == "amdgpu_kernel") f.is_amd = true;
    }
    std::string_view name = words.next();
    if (name == "@")
      name = words.next();  // @"quoted name"
    else if (name.starts_with("@"))
      name.remove_prefix(1);
    if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
    f.description.name = name;
    if (name.empty() || !words.take("(")) return fail(words.position(), "expected '@name(' of a function");
    while (!words.take(")")) {
      if (words.done()) return fail(clean_.size(), "the text ends inside a parameter list: is it truncated?");
      if (words.take(",")) continue;
      parameter(words, f.description);
    }
    while (!words.done() && words.peek() != "{") {
      std::string_view word = words.next();
      if (word.starts_with("#")) f.group = word;
    }
    if (!words.take("{"))
      return fail(clean_.size(),
                  "expected '{', the body of function '" + f.description.name + "': is the text truncated?");
    if (clean_.find("\n}", words.position()) == std::string::npos)
      return fail(clean_.size(),
                  "function '" + f.description.name + "' does not end: is the text truncated?");
    functions_.push_back(std::move(f));
    return true;
  }

  static void parameter(Words& words, Description& d) {
    Param p;
    p.type = words.next();
    static constexpr std::pair<std::string_view, int> kSizes[] = {
        {"ptr", 8}, {"i64", 8},  {"double", 8}, {"i32", 4}, {"float", 4},
        {"i16", 2}, {"half", 2}, {"bfloat", 2}, {"i8", 1},  {"i1", 1},
    };
    for (auto [name, bytes] : kSizes)
      if (name == p.type) p.bytes = bytes;
    bool by_value = false;
    while (!words.done() && words.peek() != "," && words.peek() != ")") {
      std::string_view word = words.next();
      if (word == "byval") by_value = true;
      if (word == "readnone") p.unused = true;
      if (word.starts_with("%") && words.peek() != "(") p.name = word.substr(1);
      if (word == "(") skip_parentheses(words);
    }
    if (by_value) {  // the 128 bytes of a tensor map
      p.type = "byval";
      p.bytes = 0;
    }
    if (to_int(p.name) >= 0) p.name.clear();  // %0: a number, no name
    d.params.push_back(std::move(p));
  }
  static void skip_parentheses(Words& words) {
    for (int depth = 1; depth > 0 && !words.done();) {
      std::string_view word = words.next();
      depth += word == "(" ? 1 : word == ")" ? -1 : 0;
    }
  }

  // @global_smem = external addrspace(3) global [0 x i8], align 16
  void global(std::string_view line) {
    if (line.find("addrspace(3) global") == std::string_view::npos) return;
    size_t open = line.find('[', line.find("addrspace(3) global"));
    int count = open == std::string_view::npos ? -1
                : Words(line, open + 1).done() ? -1
                                               : to_int(Words(line, open + 1).next());
    if (count > 0)
      static_shared_ += count;
    else
      dynamic_shared_ = true;
  }

  // attributes #0 = { nounwind "nvvm.reqntid"="128" }
  void attributes(std::string_view line) {
    Words words(line);
    words.next();
    auto& group = groups_[std::string(words.next())];
    std::string_view key;
    while (!words.done()) {
      std::string_view word = words.next();
      if (word.front() != '"') continue;
      std::string_view inside = word.substr(1, word.size() >= 2 ? word.size() - 2 : 0);
      if (key.empty()) {
        if (words.take("=")) key = inside;
      } else {
        group[std::string(key)] = inside;
        key = {};
      }
    }
  }

  // !5 = !{ptr @mm_kernel, !"reqntidx", i32 128}
  void annotation(std::string_view line) {
    size_t open = line.find("!{ptr @");
    if (open == std::string_view::npos) return;
    Words words(line, open + 2);
    words.next();
    std::string name(words.next().substr(1));
    while (words.take(",")) {
      words.take("!");
      std::string_view key = words.next();
      if (key.size() < 2 || key.front() != '"' || !words.take(",")) return;
      words.next();  // i32
      annotated_[name][std::string(key.substr(1, key.size() - 2))] = to_int(words.next(), 0);
    }
  }

  static int product(const std::string& list) {
    Words words(list);
    int64_t value = 1;
    while (!words.done()) {
      int n = to_int(words.next());
      words.take(",");
      if (n < 1 || (value *= n) > 65536) return 0;
    }
    return static_cast<int>(value);
  }

  Description finish(Function& f) {
    Description& d = f.description;
    auto& group = groups_[f.group];
    auto& notes = annotated_[d.name];
    int required = notes["reqntidx"], most = notes["maxntidx"];
    if (group.count("nvvm.reqntid")) required = product(group["nvvm.reqntid"]);
    if (group.count("nvvm.maxntid")) most = product(group["nvvm.maxntid"]);
    if (required > 0)
      d.max_threads = required;
    else if (most > 0)
      d.max_threads = most;
    if (group.count("nvvm.cluster_dim")) d.num_ctas = product(group["nvvm.cluster_dim"]);
    bool amd = f.is_amd || backend_ == "hip";
    if (amd) {
      std::string size = group["amdgpu-flat-work-group-size"];  // "1,256"
      if (size_t comma = size.find(','); comma != std::string::npos)
        if (int n = to_int(std::string_view(size).substr(comma + 1)); n > 0) d.max_threads = n;
      if (group.count("target-cpu")) d.target = "hip:" + group["target-cpu"];
      d.num_ctas = 1;
    } else {
      d.threads_per_warp = 32;
      if (required > 0 && required % 32 == 0)
        d.num_warps = required / 32;
      else if (most > 0)
        take_bound(d, most, "maxntidx");
      bool clusters = clean_.find("cluster.ctaid") != std::string::npos ||
                      clean_.find("%cluster") != std::string::npos ||
                      clean_.find("sreg.clusterid") != std::string::npos ||
                      clean_.find("cluster.ctarank") != std::string::npos;
      if (!d.num_ctas && !clusters) d.num_ctas = 1;
    }
    if (!dynamic_shared_) d.shared = 0;
    d.static_shared = static_shared_;
    return d;
  }

  std::string_view text_;
  const std::string& filename_;
  std::string clean_;
  std::vector<Function> functions_;
  std::map<std::string, std::map<std::string, std::string>> groups_;
  std::map<std::string, std::map<std::string, int>> annotated_;
  std::string backend_;
  bool dynamic_shared_ = false;
  int64_t static_shared_ = 0;
  base::Diagnostic error_;
};

}  // namespace

Scanned scan_llir(std::string_view text, const std::string& filename) {
  return LlirScanner(text, filename).scan();
}

}  // namespace triton_runner::artifact
