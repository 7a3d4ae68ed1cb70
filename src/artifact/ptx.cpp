// The outline of PTX: target, shared memory, and each entry's name, parameters and performance directives.
#include <set>

#include "scan.h"
#include "text.h"

namespace triton_runner::artifact {
namespace {

int bytes_of(std::string_view type) {
  static constexpr std::pair<std::string_view, int> kSizes[] = {
      {".u64", 8}, {".s64", 8}, {".b64", 8}, {".f64", 8}, {".u32", 4},  {".s32", 4}, {".b32", 4}, {".f32", 4},
      {".u16", 2}, {".s16", 2}, {".b16", 2}, {".f16", 2}, {".bf16", 2}, {".u8", 1},  {".s8", 1},  {".b8", 1},
  };
  for (auto [name, bytes] : kSizes)
    if (name == type) return bytes;
  return 0;
}

class PtxScanner {
 public:
  PtxScanner(std::string_view text, const std::string& filename)
      : text_(text), filename_(filename), clean_(without_comments(text, "//", true)), words_(clean_) {}

  Scanned scan() {
    if (!words_.take(".version")) return fail("expected '.version', with which PTX begins");
    int depth = 0;
    while (!words_.done()) {
      size_t at = words_.position();
      std::string_view word = words_.next();
      if (word == "{") depth++;
      if (word == "}" && --depth < 0) return fail("'}' without '{'", at);
      if (depth > 0) {
        if (word.starts_with("%cluster")) uses_clusters_ = true;
        if (word.find("_param_") != std::string_view::npos) read_.insert(word);
        continue;
      }
      if (word == ".target") target_ = words_.next();
      if (word == ".shared") declare_shared(last_is_extern_);
      last_is_extern_ = word == ".extern";
      if (word == ".entry" && !entry()) return error_;
    }
    if (depth != 0) return fail("the text ends inside a body: is it truncated?", clean_.size());
    for (Description& d : found_) finish(d);
    return std::move(found_);
  }

 private:
  base::Diagnostic fail(std::string message, size_t at) {
    return error_ = text_error(text_, at, filename_, std::move(message));
  }
  base::Diagnostic fail(std::string message) {
    words_.peek();
    return fail(std::move(message), words_.position());
  }
  bool expect(std::string_view word) {
    if (words_.take(word)) return true;
    fail("expected '" + std::string(word) + "'");
    return false;
  }

  // After ".shared": .align 16 .b8 name[1024];  an .extern one has no size.
  void declare_shared(bool is_extern) {
    int64_t bytes = 1;
    while (!words_.done()) {
      std::string_view word = words_.next();
      if (word == ";") break;
      if (word == ".align") words_.next();
      if (int size = bytes_of(word)) bytes = size;
      if (word != "[") continue;
      int count = to_int(words_.peek());
      if (count >= 0) bytes *= count;
      if (count < 0) is_extern = true;
    }
    if (is_extern)
      dynamic_shared_ = true;
    else
      static_shared_ += bytes;
  }

  bool entry() {
    Description d;
    d.level = "ptx";
    d.name = words_.next();
    if (words_.peek() == "(") {
      words_.next();
      while (!words_.take(")")) {
        if (words_.take(",")) continue;
        if (!parameter(d)) return false;
      }
    }
    std::optional<int> required, most;
    while (words_.peek() != "{") {
      if (words_.done())
        return fail("expected '{', the body of entry '" + d.name + "': is the text truncated?"), false;
      std::string_view word = words_.next();
      if (word == ";") break;  // a declaration
      if (word == ".reqntid") required = product();
      if (word == ".maxntid") most = product();
      if (word == ".reqnctapercluster") d.num_ctas = product();
    }
    d.max_threads = required ? required : most;
    d.threads_per_warp = 32;
    if (required && *required % 32 == 0) d.num_warps = *required / 32;
    if (most && !required) take_bound(d, *most, ".maxntid");
    found_.push_back(std::move(d));
    return true;
  }

  // .param .u64 .ptr .global .align 1 name   or   .param .align 64 .b8 name[128]
  bool parameter(Description& d) {
    if (!expect(".param")) return false;
    Param p;
    bool pointer = false;
    while (!words_.done() && words_.peek() != "," && words_.peek() != ")") {
      std::string_view word = words_.next();
      if (word == ".ptr") {
        pointer = true;
      } else if (word == ".align") {
        words_.next();
      } else if (int size = bytes_of(word)) {
        p.type = word;
        p.bytes = size;
      } else if (word == "[") {
        int count = to_int(words_.next());
        if (count < 0 || !expect("]")) return fail("expected a size"), false;
        p.type += "[" + std::to_string(count) + "]";
        p.bytes *= count;
      } else if (!word.starts_with(".")) {
        p.name = word;
      }
    }
    if (p.bytes == 0 || p.name.empty()) return fail("expected a parameter's type and name"), false;
    if (pointer) p.type = "ptr";
    d.params.push_back(std::move(p));
    return true;
  }

  std::optional<int> product() {
    int64_t value = 1;
    do {
      int n = to_int(words_.peek());
      if (n < 1) return std::nullopt;
      words_.next();
      value *= n;
    } while (words_.take(",") && value < 65536);
    return static_cast<int>(value);
  }

  void finish(Description& d) {
    std::string_view digits = std::string_view(target_).substr(std::min<size_t>(3, target_.size()));
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    if (target_.starts_with("sm_") && !digits.empty()) d.target = "cuda:" + std::string(digits);
    if (!dynamic_shared_) d.shared = 0;
    d.static_shared = static_shared_;
    if (!d.num_ctas && !uses_clusters_) d.num_ctas = 1;
    for (Param& p : d.params) p.unused = p.name.find("_param_") != std::string::npos && !read_.count(p.name);
  }

  std::string_view text_;
  const std::string& filename_;
  std::string clean_;
  Words words_;
  std::string target_;
  bool dynamic_shared_ = false, last_is_extern_ = false, uses_clusters_ = false;
  int64_t static_shared_ = 0;
  std::set<std::string_view> read_;  // parameters that a body names
  std::vector<Description> found_;
  base::Diagnostic error_;
};

}  // namespace

base::Diagnostic text_error(std::string_view text, size_t at, const std::string& filename,
                            std::string message) {
  base::Diagnostic d = base::failure(std::move(message));
  d.location = base::locate(text, at, filename);
  d.source_line = base::line_at(text, at);
  return d;
}

Scanned scan_ptx(std::string_view text, const std::string& filename) {
  return PtxScanner(text, filename).scan();
}

}  // namespace triton_runner::artifact
