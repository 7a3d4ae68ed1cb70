// Reads the header comments of a golden case, and makes the arrays that they ask for.
#include "case_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

namespace triton_runner::cases {
namespace {

#ifdef __SANITIZE_THREAD__  // whose own memory is where the other one points
constexpr uint64_t kFirstAddress = 0x4000000000, kAddressStep = 1ull << 32;
#else
constexpr uint64_t kFirstAddress = 0x200000000000, kAddressStep = 1ull << 32;
#endif
constexpr size_t kPage = 4096;
constexpr uint8_t kCanary = 0xA5;
constexpr const char* kSeparator = "// ---- expected";

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// "f32[16,32]" to its type and shape; false if it is none.
bool parse_array_type(const std::string& text, const Element*& type, std::vector<int64_t>& shape) {
  size_t open = text.find('[');
  if (open == std::string::npos || text.back() != ']') return false;
  type = find_element(text.substr(0, open));
  std::istringstream sizes(text.substr(open + 1, text.size() - open - 2));
  for (std::string part; std::getline(sizes, part, ',');) shape.push_back(std::atoll(part.c_str()));
  return type != nullptr && !shape.empty();
}

uint64_t literal(const Element& type, const std::string& text) {
  if (text.starts_with("0x")) return std::strtoull(text.c_str(), nullptr, 16);
  if (!type.is_float) {
    return text.starts_with("-") ? static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, 10))
                                 : std::strtoull(text.c_str(), nullptr, 10);
  }
  return encode(type, number(text));
}

// Fills as the words after the type say; an empty string, or what is wrong.
std::string fill(GuardedArray& array, const std::vector<std::string>& how, const std::string& text) {
  const Element& type = array.type();
  auto each = [&](auto&& bits_of) {
    for (int64_t i = 0; i < array.size(); ++i) array.set(i, bits_of(i));
    return std::string();
  };
  auto argument = [&](size_t i, double otherwise) { return i < how.size() ? number(how[i]) : otherwise; };
  if (size_t open = text.find('{'); open != std::string::npos) {
    std::string list = text.substr(open + 1, text.find('}') - open - 1);
    std::ranges::replace(list, ',', ' ');
    std::vector<std::string> values = words(list);
    if (static_cast<int64_t>(values.size()) != array.size())
      return "the list does not have as many values as the array";
    return each([&](int64_t i) { return literal(type, values[i]); });
  }
  std::string kind = how.empty() ? "" : how[0];
  std::mt19937_64 random(static_cast<uint64_t>(argument(1, 0)));
  if (kind == "zeros") return each([](int64_t) { return 0; });
  if (kind == "ones") return each([&](int64_t) { return encode(type, 1); });
  if (kind == "full" && how.size() > 1) return each([&](int64_t) { return literal(type, how[1]); });
  if (kind == "iota")
    return each([&](int64_t i) { return encode(type, argument(1, 0) + argument(2, 1) * i); });
  if (kind == "bits") return each([&](int64_t) { return random() >> (64 - 8 * type.bytes); });
  if (kind == "random") {
    return each([&](int64_t) {
      if (type.is_float) return encode(type, static_cast<int64_t>(random() >> 56) / 64.0 - 2);
      return encode(type, static_cast<int64_t>(random() >> 60) - (type.is_signed ? 8 : 0));
    });
  }
  return "the contents are iota, zeros, ones, full V, random SEED, bits SEED or {a, b, ...}";
}

std::vector<int64_t> numbers(const std::string& list) {
  std::istringstream in(list);
  std::vector<int64_t> out;
  for (std::string number; std::getline(in, number, ',');) out.push_back(std::atoll(number.c_str()));
  return out;
}

// Takes "box 64,32", "swizzle 128", "padding nan", "round tf32" and, in im2col mode, "lower -1,-1", "upper
// 0,0", "steps 1,2,2,1" out of the words of a descriptor; a layout without element_bytes: no box.
exec::DescriptorLayout take_layout(std::vector<std::string>& parts, const Element& type,
                                   exec::TensorDesc& desc) {
  exec::DescriptorLayout layout;
  exec::Im2col mode;
  for (size_t i = 1; i + 1 < parts.size();) {
    const std::string key = parts[i], value = parts[i + 1];
    if (key == "swizzle") {
      int bytes = std::atoi(value.c_str());
      layout.swizzle = bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
    } else if (key == "padding") {
      desc.nan_padding = value == "nan";
    } else if (key == "round") {
      desc.round_to_tf32 = value == "tf32";
    } else if (key == "lower" || key == "upper" || key == "steps") {
      (key == "lower" ? mode.lower : key == "upper" ? mode.upper : mode.steps) = numbers(value);
      layout.im2col = true;
    } else if (key == "box") {
      layout.block = numbers(value);
      layout.element_bytes = type.bytes;
      // The numbers of tensormap.replace's elemtype.
      static constexpr int kIntegers[] = {0, 1, 2, 4};
      layout.element_type = type.name == "bf16"  ? 10
                            : type.name == "f16" ? 6
                            : type.name == "f32" ? 7
                            : type.name == "f64" ? 9
                                                 : kIntegers[std::bit_width(unsigned(type.bytes)) - 1];
    } else {
      ++i;
      continue;
    }
    parts.erase(parts.begin() + static_cast<long>(i), parts.begin() + static_cast<long>(i) + 2);
  }
  if (layout.im2col) desc.im2col = mode;
  return layout;
}

std::string parse_argument(const std::string& text, int index, CaseArgument& out) {
  out.text = text;
  std::vector<std::string> parts = words(text);
  if (parts.empty()) return "an empty arg";
  out.value.kind = exec::ParamKind::kPointer;
  if (parts[0] == "null") return "";
  if (parts[0] == "ptr" && parts.size() == 2) {
    out.value.bits = std::strtoull(parts[1].c_str(), nullptr, 0);
    return "";
  }
  bool descriptor = parts[0] == "desc";
  if (descriptor) parts.erase(parts.begin());
  const Element* type = nullptr;
  std::vector<int64_t> shape;
  if (!parts.empty() && parse_array_type(parts[0], type, shape)) {
    uint64_t shift = 0;
    exec::TensorDesc desc;
    if (descriptor) out.layout = take_layout(parts, *type, desc);
    if (parts.back().starts_with("+")) {
      shift = std::strtoull(parts.back().c_str() + 1, nullptr, 10);
      parts.pop_back();
    }
    out.array = std::make_shared<GuardedArray>(index, *type, shape);
    parts.erase(parts.begin());
    if (std::string problem = fill(*out.array, parts, text); !problem.empty()) return problem;
    out.array->remember();
    out.value.bits = reinterpret_cast<uint64_t>(out.array->data()) + shift;
    if (descriptor) {
      desc.address = out.value.bits;
      desc.shape = shape;
      desc.strides.assign(shape.size(), 1);
      for (size_t i = shape.size() - 1; i > 0; --i) desc.strides[i - 1] = desc.strides[i] * shape[i];
      out.value.kind = exec::ParamKind::kTensorDesc;
      out.value.descriptor = desc;
    }
    return "";
  }
  type = parts.size() == 2 ? find_element(parts[0]) : nullptr;
  if (type == nullptr)
    return "arg is TYPE[SHAPE] CONTENTS, TYPE VALUE, null, ptr ADDRESS or desc TYPE[SHAPE] CONTENTS";
  out.scalar = type;
  if (type->is_float) {
    double value = number(parts[1]);
    out.value.kind = exec::ParamKind::kFloat;
    std::memcpy(&out.value.bits, &value, sizeof value);
  } else {
    out.value.kind = exec::ParamKind::kInteger;
    out.value.bits = literal(*type, parts[1]);
  }
  return "";
}

}  // namespace

uint32_t parse_checks(const std::string& list) {
  const std::string text = "," + list + ",";
  auto check = [&](const char* name, uint32_t bits) {
    return text.find("," + std::string(name) + ",") != text.npos ? bits : 0;
  };
  return check("oob", exec::kCheckBounds) | check("nan", exec::kCheckNan) | check("inf", exec::kCheckInf) |
         check("nanload", exec::kCheckNanLoad) | check("uninit", exec::kCheckUninitialized) |
         check("race", exec::kCheckRace) | check("zerodiv", exec::kCheckZeroDivision) |
         check("overflow", exec::kCheckOverflow) | check("hints", exec::kCheckHints);
}

namespace {

std::string set_key(CaseFile& out, const std::string& key, const std::string& value) {
  std::vector<std::string> parts = words(value);
  if (key == "tool") out.tool = value;
  if (key == "kernel") out.kernel = value;
  if (key == "digits") out.digits = std::atoi(value.c_str());
  if (key == "timeout") out.options.timeout_seconds = number(value);
  if (key == "threads") out.options.threads = std::atoi(value.c_str());
  if (key == "grid") {
    for (size_t i = 0; i < std::min<size_t>(parts.size(), 3); ++i)
      out.options.grid[i] = std::atoll(parts[i].c_str());
  }
  for (auto* axes : {&out.block, &out.cluster}) {
    if (key != (axes == &out.block ? "block" : "cluster")) continue;
    *axes = {1, 1, 1};
    for (size_t i = 0; i < std::min<size_t>(parts.size(), 3); ++i)
      (*axes)[i] = static_cast<uint32_t>(std::atoll(parts[i].c_str()));
  }
  if (key == "shared") out.options.shared_bytes = std::atoll(value.c_str());
  if (key == "steps") out.options.max_steps = std::atoll(value.c_str());
  if (key == "numerics")
    out.options.numerics = value == "hardware" ? exec::Numerics::kHardware : exec::Numerics::kExact;
  if (key == "mma") out.options.mma = value == "fast" ? exec::Mma::kFast : exec::Mma::kExact;
  if (key == "timing") {
    const auto timing = exec::parse_timing(value);
    if (!timing) return "timing is eager, late or a seed";
    out.options.timing = *timing;
  }
  if (key == "checks") out.options.checks = parse_checks(value);
  if (key == "oob") out.report_faults = value == "report";
  if (key == "shuffle") out.options.shuffle = std::strtoull(value.c_str(), nullptr, 0);
  if (key == "perturb") out.options.perturb = std::strtoull(value.c_str(), nullptr, 0);
  if (key == "substitute" && !parts.empty()) {  // a number, and the places where it is put: 1 kernel.py:2:3
    out.substitution = std::make_shared<exec::Substitution>();
    out.substitution->number = number(parts[0]);
    out.substitution->at.assign(parts.begin() + 1, parts.end());
  }
  if (key == "dump") out.dump = parts;
  if (key == "iterations") out.insert.every_iteration = value == "every";
  if (key == "bytes") out.insert.max_bytes = std::atoll(value.c_str());
  if (key == "program") {  // 1 -1 0
    out.insert.programs.push_back({0, 0, 0});
    for (size_t i = 0; i < std::min<size_t>(parts.size(), 3); ++i)
      out.insert.programs.back()[i] = std::atoll(parts[i].c_str());
  }
  if (key == "arg") {
    out.arguments.emplace_back();
    return parse_argument(value, static_cast<int>(out.arguments.size()) - 1, out.arguments.back());
  }
  return "";
}

}  // namespace

GuardedArray::GuardedArray(int index, const Element& type, std::vector<int64_t> shape)
    : type_(&type), shape_(std::move(shape)) {
  for (int64_t extent : shape_) size_ *= extent;
  size_t rounded = (bytes() + 15) / 16 * 16;
  mapped_ = (rounded + kPage - 1) / kPage * kPage + kPage;
  void* wanted = reinterpret_cast<void*>(kFirstAddress + static_cast<uint64_t>(index) * kAddressStep);
  void* got = mmap(wanted, mapped_ + kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  if (got != wanted) {
    std::perror("case_tool: mmap of an argument");
    std::exit(2);
  }
  mapping_ = static_cast<uint8_t*>(got);
  mprotect(mapping_ + mapped_, kPage, PROT_NONE);
  std::memset(mapping_, kCanary, mapped_);
  data_ = mapping_ + mapped_ - rounded;
}

GuardedArray::~GuardedArray() { munmap(mapping_, mapped_ + kPage); }

uint64_t GuardedArray::get(int64_t i) const {
  uint64_t bits = 0;
  std::memcpy(&bits, data_ + i * type_->bytes, type_->bytes);
  return bits;
}
void GuardedArray::set(int64_t i, uint64_t bits) {
  std::memcpy(data_ + i * type_->bytes, &bits, type_->bytes);
}

void GuardedArray::remember() { before_.assign(data_, data_ + bytes()); }
bool GuardedArray::changed() const { return !std::equal(before_.begin(), before_.end(), data_); }
bool GuardedArray::canaries_intact() const {
  auto intact = [](uint8_t byte) { return byte == kCanary; };
  return std::all_of(mapping_, data_, intact) && std::all_of(data_ + bytes(), mapping_ + mapped_, intact);
}

std::string GuardedArray::name() const {
  std::string text(type_->name);
  for (size_t i = 0; i < shape_.size(); ++i) text += (i == 0 ? "[" : ",") + std::to_string(shape_[i]);
  return text + "]";
}

std::string read_case(const std::string& path, CaseFile& out) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return "cannot be read";
  std::string all((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::path file(path);
  out.path = path;
  out.filename = file.filename().string();
  if (out.filename.starts_with("bad-")) out.options.threads = 1;  // of several programs that fault, the first
  out.tool = file.parent_path().filename().string();
  size_t end = all.starts_with(kSeparator) ? 0 : all.find(std::string("\n") + kSeparator);
  out.source = end == 0 ? "" : end == std::string::npos ? all : all.substr(0, end + 1);
  out.options.checks = exec::kCheckOutOfBounds;
  std::istringstream lines(out.source);
  for (std::string line; std::getline(lines, line) && line.starts_with("//");) {
    size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    std::string key = words(line.substr(2, colon - 2)).size() == 1 ? words(line.substr(2, colon - 2))[0] : "";
    if (std::string problem = set_key(out, key, line.substr(colon + 2)); !problem.empty())
      return line + "\n" + problem;
  }
  return "";
}

}  // namespace triton_runner::cases
