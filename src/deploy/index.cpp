// Reads index.json, which verbs/export/run.py writes: every field by name, and every error with its path in the file.
#include "index.h"

#include <algorithm>
#include <charconv>

#include <triton_runner/base/try.h>

namespace triton_runner::deploy {
namespace {

using artifact::Json;
using base::failure;

constexpr int64_t kFormat = 1;

// A value of the file with its place: "kernels[0].variants[2].target".
class Node {
 public:
  Node(const Json* json, std::string path, const std::string* file)
      : json_(json), path_(std::move(path)), file_(file) {}

  Node operator[](std::string_view key) const {
    return {json_ ? json_->get(key) : nullptr,
            path_.empty() ? std::string(key) : path_ + "." + std::string(key), file_};
  }
  Node operator[](size_t i) const {
    return {&(*json_->as_array())[i], path_ + "[" + std::to_string(i) + "]", file_};
  }
  const Json* json() const { return json_; }
  const std::string* string() const { return json_ ? json_->as_string() : nullptr; }
  const Json::Array* array() const { return json_ ? json_->as_array() : nullptr; }
  const Json::Object* object() const { return json_ ? json_->as_object() : nullptr; }

  base::Diagnostic wrong(const std::string& expected) const {
    base::Diagnostic d = failure(path_ + (json_ ? " is not " : " is missing: ") + expected,
                                 {"triton-runner export writes this file; write it again"});
    d.location.file = *file_;
    return d;
  }

 private:
  const Json* json_;
  std::string path_;
  const std::string* file_;
};

base::Result<std::string> text_of(const Node& node) {
  if (!node.string()) return node.wrong("a text");
  return *node.string();
}

// Files lie in the folder itself: a name that leads elsewhere is refused.
base::Result<std::string> file_of(const Node& node) {
  auto name = text_of(node);
  if (!name) return name;
  if (name->empty() || name->find_first_of("/\\") != std::string::npos || name->starts_with('.'))
    return node.wrong("the name of a file in the folder");
  return name;
}

base::Result<std::vector<std::string>> texts_of(const Node& node) {
  if (!node.array()) return node.wrong("a list of texts");
  std::vector<std::string> out;
  for (size_t i = 0; i < node.array()->size(); i++) {
    out.push_back(TRY(text_of(node[i])));
  }
  return out;
}

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

base::Result<Entry::Variant> variant_of(const Node& node, const Entry& entry) {
  Entry::Variant out;
  out.symbol = TRY(text_of(node["symbol"]));
  out.target = TRY(text_of(node["target"]));
  if (const Node exact = node["exact_target"]; exact.json()) {
    if (!exact.json()->as_bool()) return exact.wrong("true or false");
    out.exact_target = *exact.json()->as_bool();
  }
  const Node files = node["files"];
  if (!files.object() || files.object()->empty()) return files.wrong("an object of levels and file names");
  for (const auto& [level, name] : *files.object()) {
    out.files.emplace_back(level, TRY(file_of(files[level])));
  }
  out.metadata = TRY(file_of(node["metadata"]));

  const Node types = node["types"], constants = node["constants"];
  if (!types.object()) return types.wrong("an object of parameters and types");
  if (!constants.object()) return constants.wrong("an object of parameters and values");
  out.constants = *constants.json();
  for (const auto& [name, value] : *constants.object())
    if (value.as_array() || value.as_object())
      return constants[name].wrong("a number, a text, true, false or null");
  for (const std::string& name : entry.parameters) {
    const Node type = types[name];
    if (!type.json() == !constants[name].json())
      return type.wrong("given in exactly one of types and constants");
    if (!type.json()) continue;
    auto text = TRY(text_of(type));
    auto param = parameter_of(name, text);
    if (!param) return type.wrong("a type: *fp32, i32, fp32, tensordesc<fp16[64,64]>");
    out.passed.push_back(std::move(*param));
  }
  for (const Node& given : {types, constants})
    for (const auto& [name, _] : *given.object())
      if (!is_one_of(entry.parameters, name)) return given[name].wrong("one of the kernel's parameters");
  if (const Node multiples = node["multiples_of_16"]; multiples.json()) {
    out.multiples_of_16 = TRY(texts_of(multiples));
  }
  return out;
}

base::Result<Entry> entry_of(const Node& node) {
  Entry out;
  out.name = TRY(text_of(node["name"]));
  out.parameters = TRY(texts_of(node["parameters"]));
  const Node variants = node["variants"];
  if (!variants.array()) return variants.wrong("a list of variants");
  for (size_t i = 0; i < variants.array()->size(); i++) {
    out.variants.push_back(TRY(variant_of(variants[i], out)));
  }
  return out;
}

// The number after a prefix that is the whole rest of the text; 0 if it is not.
int width(std::string_view text) {
  int bits = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  return error == std::errc() && end == text.data() + text.size() ? bits : 0;
}

}  // namespace

base::Result<exec::Param> parameter_of(const std::string& name, const std::string& type) {
  using exec::ParamKind;
  if (type.starts_with('*') || type == "nvTmaDesc") return exec::Param{name, ParamKind::kPointer, type, 64};
  if (type.starts_with("tensordesc")) return exec::Param{name, ParamKind::kTensorDesc, type, 0};
  for (std::string_view prefix : {"fp", "f", "bf"})
    if (int bits = type.starts_with(prefix) ? width(std::string_view(type).substr(prefix.size())) : 0;
        bits == 16 || (prefix != "bf" && (bits == 32 || bits == 64)))
      return exec::Param{name, ParamKind::kFloat, type, bits};
  if (type.starts_with('i') || type.starts_with('u'))
    if (int bits = width(std::string_view(type).substr(1));
        bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64)
      return exec::Param{name, ParamKind::kInteger, type, bits, type[0] == 'i'};
  return failure("'" + type + "' is not a type of an argument");
}

Element element_of(const std::string& type) {
  if (!type.starts_with('*')) return {};
  std::string_view name = std::string_view(type).substr(1);
  if (name.starts_with('k')) name.remove_prefix(1);  // a pointer to constant memory
  if (name.starts_with("fp8")) return {8, true};
  for (std::string_view prefix : {"fp", "bf", "f", "i", "u"})
    if (int bits = name.starts_with(prefix) ? width(name.substr(prefix.size())) : 0)
      return {bits, prefix != "i" && prefix != "u"};
  return {};
}

base::Result<std::vector<Entry>> parse_index(std::string_view text, const std::string& filename) {
  auto json = TRY(artifact::parse_json(text, filename));
  const Node root(&json, "", &filename);
  const Node format = root["format"];
  if (!format.json() || !format.json()->as_int()) return format.wrong("the number of the file's format");
  if (*format.json()->as_int() > kFormat) {
    base::Diagnostic d = failure("the file has format " + std::to_string(*format.json()->as_int()) +
                                     ", and this program reads formats up to " + std::to_string(kFormat),
                                 {"a newer triton_runner wrote it: build the program with that one"});
    d.location.file = filename;
    return d;
  }
  const Node kernels = root["kernels"];
  if (!kernels.array()) return kernels.wrong("a list of kernels");
  std::vector<Entry> out;
  for (size_t i = 0; i < kernels.array()->size(); i++) {
    out.push_back(TRY(entry_of(kernels[i])));
  }
  return out;
}

}  // namespace triton_runner::deploy
