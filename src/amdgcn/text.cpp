// The reader of AMDGCN: a line is a label, a directive or an instruction. The kernel descriptor follows the code, and the
// metadata (YAML) with the arguments comes last.
#include <triton_runner/amdgcn/text.h>

#include <algorithm>
#include <charconv>
#include <list>
#include <set>

#include <triton_runner/amdgcn/facts.h>
#include <triton_runner/amdgcn/opcode.h>
#include <triton_runner/artifact/amdgcn_metadata.h>
#include <triton_runner/base/text.h>
#include <triton_runner/base/try.h>

namespace triton_runner::amdgcn {
namespace {

constexpr uint32_t kMaxRegisters = 32;  // of one operand
constexpr size_t kMaxObjectBytes = 1 << 24;

using base::take;
using base::trimmed;

std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

// All of the text is a number.
bool read_integer(std::string_view text, int64_t* out) {
  int64_t value = 0;
  if (!base::take_number(text, &value) || !text.empty()) return false;
  *out = value;
  return true;
}

bool read_float(std::string_view text, double* out) {
  if (text.find('.') == std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

struct Named {
  std::string_view name;
  uint32_t index, count;
};
constexpr Named kNamed[] = {{"vcc", kVccLo, 2},   {"vcc_lo", kVccLo, 1},   {"vcc_hi", kVccHi, 1},
                            {"exec", kExecLo, 2}, {"exec_lo", kExecLo, 1}, {"exec_hi", kExecHi, 1},
                            {"m0", kM0, 1},       {"null", kNull, 2}};

// "v1" or "v[2:3]" behind its letter.
bool read_register(std::string_view text, Operand& to) {
  Operand o = to;
  for (const Named& n : kNamed)
    if (text == n.name) return to.kind = OperandKind::kScalar, to.index = n.index, to.count = n.count, true;
  const uint32_t base = take(text, "ttmp") ? 108 : 0;
  if (base) {
    o.kind = OperandKind::kScalar;
  } else {
    if (text.empty()) return false;
    const size_t letter = std::string_view("vas").find(text[0]);
    if (letter == std::string_view::npos) return false;
    o.kind = static_cast<OperandKind>(letter);
    text.remove_prefix(1);
  }
  int64_t first = 0, last = 0;
  if (take(text, "[")) {
    if (!text.ends_with("]")) return false;
    text.remove_suffix(1);
    const size_t colon = text.find(':');
    if (!read_integer(text.substr(0, colon), &first)) return false;
    last = first;
    if (colon != std::string_view::npos && !read_integer(text.substr(colon + 1), &last)) return false;
  } else {
    if (text.empty() || !base::is_digit(text[0]) || !read_integer(text, &first)) return false;
    last = first;
  }
  const int64_t limit = o.kind == OperandKind::kScalar ? (base ? 16 : 106) : 512;
  if (first < 0 || last < first || last >= limit || last - first >= kMaxRegisters) return false;
  o.index = base + static_cast<uint32_t>(first);
  o.count = static_cast<uint32_t>(last - first + 1);
  to = o;
  return true;
}

Operand read_operand(std::string_view text) {
  Operand o;
  o.text = text;
  double number = 0;
  if (read_integer(text, &o.integer)) return o.kind = OperandKind::kInteger, o;
  if (read_float(text, &number)) return o.kind = OperandKind::kFloat, o.number = number, o;
  o.negated = take(text, "-") || (text.starts_with("neg(") && text.ends_with(")"));
  if (text.starts_with("neg(")) text = text.substr(4, text.size() - 5);
  if (text.size() > 2 && text.starts_with("|") && text.ends_with("|")) {
    o.absolute = true;
    text = text.substr(1, text.size() - 2);
  } else if (text.starts_with("abs(") && text.ends_with(")")) {
    o.absolute = true;
    text = text.substr(4, text.size() - 5);
  }
  if (text.starts_with("sext(") && text.ends_with(")")) {
    o.extends_sign = true;
    text = text.substr(5, text.size() - 6);
  }
  o.text = text;
  if (read_integer(text, &o.integer)) return o.kind = OperandKind::kInteger, o;
  if (text.starts_with("v") && (text.ends_with(".l") || text.ends_with(".h"))) {
    o.half = text.ends_with(".h") ? 1 : 0;
    text.remove_suffix(2);
  }
  read_register(text, o);
  return o;
}

// The end of the operand that the text begins with: a comma outside of brackets.
size_t operand_end(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] == ',' && depth <= 0) return i;
  }
  return text.size();
}

class ParsedModule final : public Module {
 public:
  ParsedModule(std::string text, std::string filename)
      : text_(std::move(text)), filename_(std::move(filename)) {}
  std::string_view text() const override { return text_; }
  const std::string& filename() const override { return filename_; }
  std::string_view target() const override { return target_; }
  const std::vector<Kernel>& kernels() const override { return kernels_; }
  const Object* object(std::string_view name) const override {
    const auto found = objects_.find(name);
    return found == objects_.end() ? nullptr : &found->second;
  }

  base::Status read() {
    if (text_.size() > UINT32_MAX / 2) return base::failure(filename_ + ": the text is too large");
    find_kernels();
    if (kernels_.empty())
      return base::failure(filename_ + ": no kernel is in this text",
                           {"a kernel has a block .amdhsa_kernel"});
    const std::string_view all = text_;
    for (size_t at = 0; at < all.size();) {
      const size_t end = std::min(all.find('\n', at), all.size());
      TRY(read_line(all.substr(at, end - at)));
      at = end + 1;
    }
    if (metadata_) TRY(end_metadata(static_cast<uint32_t>(text_.size())));
    for (Kernel& k : kernels_) {
      if (k.body.empty())
        return diagnostic(offset_of(k.name), "kernel '" + std::string(k.name) + "' has no instructions");
      append_functions(k);
    }
    return base::success();
  }

 private:
  uint32_t offset_of(std::string_view part) const {
    return static_cast<uint32_t>(part.data() - text_.data());
  }

  // Functions are called by their names: s_add_u32 s0, s0, f@rel32@lo+4.
  void append_functions(Kernel& k) const {
    for (size_t i = 0; i < k.body.size(); ++i)
      for (size_t n = 0; n < k.body[i].operands.size(); ++n) {
        const std::string_view text = k.body[i].operands[n].text;
        if (text.starts_with("printfFormat_")) k.data.insert(text.substr(0, text.find('@')));
        const auto found = functions_.find(text.substr(0, text.find('@')));
        if (found == functions_.end() || k.labels.contains(found->first)) continue;
        const auto start = static_cast<uint32_t>(k.body.size());
        k.labels[found->first] = start;
        for (const auto& [label, at] : found->second.labels) k.labels[label] = start + at;
        k.body.insert(k.body.end(), found->second.body.begin(), found->second.body.end());
      }
  }

  void find_kernels() {
    const std::string_view all = text_;
    constexpr std::string_view kMark = ".amdhsa_kernel ";
    for (size_t at = all.find(kMark); at != std::string_view::npos; at = all.find(kMark, at + 1)) {
      const size_t from = at + kMark.size();
      Kernel k;
      const std::string_view rest = all.substr(from, all.find('\n', from) - from);
      k.name = trimmed(rest.substr(0, comment_at(rest)));
      if (!by_name_.try_emplace(k.name, kernels_.size()).second) continue;
      kernels_.push_back(std::move(k));
    }
  }

  base::Status read_line(std::string_view line) {
    if (metadata_) {
      return trimmed(line) == ".end_amdgpu_metadata" ? end_metadata(offset_of(line)) : base::success();
    }
    std::string_view text = trimmed(line.substr(0, comment_at(line)));
    if (text.empty()) return base::success();
    if (text.ends_with(":") && text.find_first_of(" \t\"") == std::string_view::npos)
      return read_label(text.substr(0, text.size() - 1)), base::success();
    if (text[0] == '.') return read_directive(text), base::success();
    if (open_ == nullptr) return base::success();
    const size_t two = text.find(" :: ");
    TRY(read_instruction(trimmed(text.substr(0, two))));
    if (two == std::string_view::npos) return base::success();
    TRY(read_instruction(trimmed(text.substr(two + 4))));
    open_->body.back().is_second = true;
    return base::success();
  }

  static size_t comment_at(std::string_view line) {
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') quoted = !quoted;
      if (line[i] == ';' && !quoted) return i;
      if (line[i] == '/' && i + 1 < line.size() && line[i + 1] == '/' && !quoted) return i;
    }
    return line.size();
  }

  void read_label(std::string_view label) {
    described_object_ = nullptr;
    if (is_object_.contains(label)) {
      described_object_ = &objects_[label];
      *described_object_ = {.align = align_};
    } else if (const auto found = by_name_.find(label); found != by_name_.end()) {
      open_ = &kernels_[found->second];
      if (!open_->body.empty()) open_ = nullptr;  // it was there already
      place_ = {};
    } else if (is_function_.contains(label)) {
      open_ = &functions_[label];
      if (!open_->body.empty()) open_ = nullptr;
      place_ = {};
    } else if (label.starts_with(".Lfunc_end")) {
      open_ = nullptr;
    } else if (open_) {
      open_->labels[label] = static_cast<uint32_t>(open_->body.size());
    }
  }

  void read_directive(std::string_view text) {
    const std::string_view name = take_word(text);
    if (name == ".amdgcn_target") {
      const size_t at = text.find("gfx");
      if (at != std::string_view::npos) {
        target_ = text.substr(at, text.find_first_of(":\"", at) - at);
        // ELF's name of the machine ends with it, and features follow a colon: "amdgcn-amd-amdhsa--gfx942:xnack-".
        if (const size_t last = target_.rfind("gfx"); last != 0) target_.remove_prefix(last);
      }
    } else if (name == ".amdhsa_kernel") {
      const auto found = by_name_.find(text);
      described_ = found == by_name_.end() ? nullptr : &kernels_[found->second];  // it has no name
    } else if (name == ".end_amdhsa_kernel") {
      described_ = nullptr;
    } else if (name == ".amdgpu_metadata") {
      metadata_ = offset_of(name) + static_cast<uint32_t>(name.size());
    } else if (described_ && name.starts_with(".amdhsa_")) {
      int64_t value = 0;
      if (read_integer(text, &value)) described_->directives[name.substr(8)] = value;
    } else if (name == ".type" && text.ends_with(",@function")) {
      is_function_.insert(text.substr(0, text.find(',')));
    } else if (name == ".type" && text.ends_with(",@object")) {
      is_object_.insert(text.substr(0, text.find(',')));
    } else if (name == ".p2align") {
      int64_t power = 0;
      align_ =
          read_integer(text.substr(0, text.find(',')), &power) && power >= 0 && power < 13 ? 1u << power : 1;
    } else if (name == ".size" || name == ".section") {
      described_object_ = nullptr;
    } else if (described_object_) {
      read_data(*described_object_, name, text);
    } else if (name == ".file") {
      read_file(text);
    } else if (name == ".loc") {
      int64_t numbers[3] = {};
      for (int64_t& n : numbers)
        if (!read_integer(take_word(text), &n)) return;
      const auto file = files_.find(numbers[0]);
      if (numbers[1] > 0)
        place_ = {file == files_.end() ? std::string_view() : file->second, static_cast<uint32_t>(numbers[1]),
                  static_cast<uint32_t>(numbers[2])};
    }
  }

  static void read_data(Object& to, std::string_view name, std::string_view text) {
    constexpr std::pair<std::string_view, size_t> kWidths[] = {{".byte", 1}, {".short", 2}, {".2byte", 2},
                                                               {".long", 4}, {".4byte", 4}, {".int", 4},
                                                               {".quad", 8}, {".8byte", 8}};
    int64_t number = 0;
    if (name == ".zero") {
      to.is_known &= read_integer(text, &number) && number >= 0 &&
                     static_cast<size_t>(number) + to.bytes.size() <= kMaxObjectBytes;
      if (to.is_known) to.bytes.append(static_cast<size_t>(number), '\0');
      return;
    }
    const auto width = std::ranges::find(kWidths, name, &std::pair<std::string_view, size_t>::first);
    if (width == std::end(kWidths)) {  // .ascii is what is printed, and nobody reads it
      to.is_known = false;
      return;
    }
    while (!text.empty()) {
      const size_t end = std::min(text.find(','), text.size());
      to.is_known &= read_integer(trimmed(text.substr(0, end)), &number) && to.bytes.size() < kMaxObjectBytes;
      if (!to.is_known) return;
      for (size_t k = 0; k < width->second; ++k) to.bytes += static_cast<char>(number >> 8 * k);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  // 1 "/folder" "kernel.py"
  void read_file(std::string_view text) {
    int64_t number = 0;
    if (!read_integer(take_word(text), &number)) return;
    std::string parts[2];
    size_t n = 0;
    for (; n < 2; ++n) {
      const size_t from = text.find('"');
      const size_t to = from == std::string_view::npos ? from : text.find('"', from + 1);
      if (to == std::string_view::npos) break;
      parts[n] = std::string(text.substr(from + 1, to - from - 1));
      text.remove_prefix(to + 1);
    }
    if (n == 0) return;
    names_.push_back(n == 1 || parts[1].starts_with("/") ? parts[n - 1] : parts[0] + "/" + parts[1]);
    files_[number] = names_.back();
  }

  base::Status read_instruction(std::string_view text) {
    Instruction in;
    in.offset = offset_of(text);
    in.length = static_cast<uint32_t>(text.size());
    in.place = place_;
    in.spelling = in.name = take_word(text);
    const std::pair<std::string_view, Instruction::Encoding> kSuffixes[] = {
        {"_e32", Instruction::kPlain}, {"_e64_dpp", Instruction::kDpp}, {"_e64", Instruction::kE64},
        {"_dpp8", Instruction::kDpp},  {"_dpp", Instruction::kDpp},     {"_sdwa", Instruction::kSdwa}};
    for (const auto& [suffix, encoding] : kSuffixes)
      if (in.name.ends_with(suffix)) {
        in.name.remove_suffix(suffix.size());
        in.encoding = encoding;
        break;
      }
    std::string single;  // v_dual_mov_b32
    if (in.name.starts_with("v_dual_")) single = "v_" + std::string(in.name.substr(7));
    in.row = row_of(single.empty() ? in.name : single);
    while (!text.empty()) {
      const size_t end = operand_end(text);
      std::string_view piece = trimmed(text.substr(0, end));
      text = end < text.size() ? trimmed(text.substr(end + 1)) : std::string_view();
      if (piece.empty()) return diagnostic(in.offset, "an operand is missing", {std::string(in.spelling)});
      // Modifiers follow the last operand, and stand alone where there is none.
      if (!piece.starts_with("instid") && !piece.starts_with("hwreg(") && !in.name.starts_with("s_wait")) {
        const std::string_view all = piece;
        std::string_view rest = piece;
        piece = take_word(rest);
        if (!text.empty() && !rest.empty())
          return diagnostic(offset_of(all), "'" + std::string(all) + "' is not one operand");
        if (text.empty()) read_modifiers(in, rest);
      }
      in.operands.push_back(read_operand(piece));
      if (in.operands.size() > 16) return diagnostic(in.offset, "an instruction with more than 16 operands");
    }
    open_->body.push_back(std::move(in));
    return base::success();
  }

  static void read_modifiers(Instruction& in, std::string_view text) {
    while (!text.empty()) {
      const std::string_view word = take_word(text);
      const size_t colon = word.find(':');
      in.modifiers.push_back({word.substr(0, colon),
                              colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1)});
    }
  }

  base::Status end_metadata(uint32_t at) {
    const std::string_view block = text().substr(metadata_, at - metadata_);
    metadata_ = 0;
    return read_metadata(block);
  }

  // block: from the directive that begins it up to the next one.
  base::Status read_metadata(std::string_view block) {
    const artifact::AmdMetadataBlock all = artifact::read_amdgcn_metadata(block);
    if (!all.unfit.empty()) return diagnostic(offset_of(all.unfit), all.fault);
    for (const artifact::AmdMetadata& from : all.kernels) {
      const auto found = by_name_.find(from.name);
      if (found == by_name_.end()) continue;
      Kernel& k = kernels_[found->second];
      for (const artifact::AmdArgument& a : from.arguments)
        if (a.kind.starts_with("hidden_"))
          k.hidden.push_back({a.kind.substr(7), a.offset, a.bytes});
        else
          k.parameters.push_back({a.offset, a.bytes, a.kind == "global_buffer"});
      const auto number = [&](std::string_view key) {
        const auto at = from.numbers.find(key);
        return at == from.numbers.end() ? 0 : static_cast<uint32_t>(at->second);
      };
      k.kernarg_bytes = number(".kernarg_segment_size");
      k.threads = std::max(k.threads, number(".max_flat_workgroup_size"));
    }
    return base::success();
  }

  std::string text_, filename_;
  std::string_view target_;
  std::vector<Kernel> kernels_;
  std::map<std::string_view, size_t> by_name_;
  std::map<std::string_view, Kernel> functions_;  // that are not kernels
  std::set<std::string_view> is_function_, is_object_;
  std::map<std::string_view, Object> objects_;
  Object* described_object_ = nullptr;
  uint32_t align_ = 1;
  Kernel *open_ = nullptr, *described_ = nullptr;
  uint32_t metadata_ = 0;  // where the block begins that is being read; 0: none is
  Place place_;
  std::map<int64_t, std::string_view> files_;
  std::list<std::string> names_;
};

}  // namespace

const Modifier* Instruction::find(std::string_view modifier) const {
  for (const Modifier& m : modifiers)
    if (m.name == modifier) return &m;
  return nullptr;
}

int64_t Instruction::number(std::string_view modifier, int64_t otherwise) const {
  int64_t out = 0;
  const Modifier* m = find(modifier);
  return m && read_integer(m->value, &out) ? out : otherwise;
}

int64_t Instruction::number_at(std::string_view modifier, size_t k, int64_t otherwise) const {
  const Modifier* m = find(modifier);
  if (!m || !m->value.starts_with("[") || !m->value.ends_with("]")) return otherwise;
  std::string_view list = m->value.substr(1, m->value.size() - 2);
  for (; k > 0; --k) {
    const size_t comma = list.find(',');
    if (comma == std::string_view::npos) return otherwise;
    list.remove_prefix(comma + 1);
  }
  int64_t out = 0;
  return read_integer(trimmed(list.substr(0, list.find(','))), &out) ? out : otherwise;
}

std::string register_name(uint32_t code) {
  const uint32_t index = index_of(code);
  if (is_scalar(code))
    for (const Named& n : kNamed)
      if (n.index == index && n.count == 1) return std::string(n.name);
  static constexpr char kLetters[] = "vas";
  return kLetters[static_cast<size_t>(kind_of(code))] + std::to_string(index);
}

std::vector<uint32_t> registers_named(std::string_view name) {
  Operand o;
  std::vector<uint32_t> out;
  if (read_register(name, o))
    for (uint32_t k = 0; k < o.count; ++k) out.push_back(register_code(o.kind, o.index + k));
  return out;
}

base::Result<std::shared_ptr<const Module>> parse(std::string text, std::string filename) {
  auto module = std::make_shared<ParsedModule>(std::move(text), std::move(filename));
  TRY(module->read());
  return std::shared_ptr<const Module>(std::move(module));
}

}  // namespace triton_runner::amdgcn
