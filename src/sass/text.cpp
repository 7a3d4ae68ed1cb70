// Implements the reader of listings: a line is a label, a mark of a source line, an instruction with the
// lower half of its bits, or the upper half.
#include <triton_runner/base/try.h>
#include <triton_runner/sass/text.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include <triton_runner/base/diagnostic.h>
#include <triton_runner/base/text.h>
#include <triton_runner/sass/opcode.h>

namespace triton_runner::sass {
namespace {

using base::take;
using base::take_number;
using base::trimmed;

// "R12" with the prefix R; the zero register of the file is `zero`.
bool take_register(std::string_view& text, std::string_view prefix, std::string_view zero, uint32_t none,
                   uint32_t* index) {
  std::string_view rest = text;
  if (take(rest, zero)) {
    *index = none;
  } else {
    int64_t number = 0;
    if (!take(rest, prefix) || rest.empty() || !base::is_digit(rest[0]) || !take_number(rest, &number))
      return false;
    if (number > 254) return false;
    *index = static_cast<uint32_t>(number);
  }
  if (!rest.empty() && rest[0] != '.' && rest[0] != '|') return false;
  text = rest;
  return true;
}

bool read_register(std::string_view& text, Operand& o) {
  const struct {
    OperandKind kind;
    std::string_view prefix, zero;
    uint32_t none;
  } files[] = {{OperandKind::kRegister, "R", "RZ", kZero},
               {OperandKind::kUniform, "UR", "URZ", kZero},
               {OperandKind::kPredicate, "P", "PT", kTrue},
               {OperandKind::kUniformPredicate, "UP", "UPT", kTrue},
               {OperandKind::kBarrier, "B", "BZ", kZero}};
  for (const auto& f : files)
    if (take_register(text, f.prefix, f.zero, f.none, &o.index)) return o.kind = f.kind, true;
  return false;
}

// Reads what follows a register: ".reuse" goes, the rest is its selector.
void read_selector(std::string_view text, Operand& o) {
  take(text, "|");
  take(text, ".reuse");  // it may stand in front of the selector: R2.reuse.H1_H1
  if (text.ends_with(".reuse")) text.remove_suffix(6);
  take(text, ".");
  o.selector = text;
}

Operand read_operand(std::string_view text);

// "R4.64+UR6+0x10" inside of brackets: registers and an offset.
void read_sum(std::string_view text, Operand& o) {
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '+') continue;
    std::string_view part = trimmed(text.substr(from, i - from));
    from = i + 1;
    if (part.empty()) continue;
    int64_t number = 0;
    if (std::string_view rest = part; take_number(rest, &number) && rest.empty())
      o.integer = static_cast<int64_t>(static_cast<uint64_t>(o.integer) + static_cast<uint64_t>(number));
    else
      o.parts.push_back(read_operand(part));
  }
}

// "name[first][second]": an address or a constant; false if the text is neither.
bool read_brackets(std::string_view text, Operand& o) {
  const size_t open = text.find('['), last = text.rfind(']');
  if (open == std::string_view::npos || last == std::string_view::npos || last < open) return false;
  if (std::string_view rest = text.substr(last + 1); take(rest, "."))  // gdesc[UR8].tnspB
    o.selector = rest;
  else if (!rest.empty())
    return false;
  text = text.substr(0, last + 1);
  const std::string_view name = text.substr(0, open);
  const size_t close = text.find(']', open);
  const std::string_view first = text.substr(open + 1, close - open - 1);
  std::string_view second = trimmed(text.substr(close + 1));
  if (second.starts_with('[')) second = second.substr(1, second.size() - 2);
  if (name == "c" || name == "cx") {
    o.kind = OperandKind::kConstant;
    o.space = name;
    int64_t bank = 0;
    if (std::string_view rest = first; take_number(rest, &bank) && rest.empty())
      o.bank = static_cast<uint32_t>(bank);
    else
      o.descriptor = read_operand(first).index;
    read_sum(second, o);
    return true;
  }
  o.kind = OperandKind::kAddress;
  o.space = name;
  if (name == "desc") {
    o.descriptor = read_operand(first).index;
    read_sum(second, o);
  } else {
    read_sum(first, o);
  }
  return true;
}

bool looks_like_float(std::string_view text) {
  take(text, "+");
  if (text == "INF" || text.starts_with("QNAN") || text.starts_with("SNAN")) return true;
  return !text.empty() && base::is_digit(text[0]) &&
         text.find_first_not_of("0123456789.e+-") == std::string_view::npos;
}

Operand read_operand(std::string_view text) {
  Operand o;
  o.text = text;
  if (text.starts_with("`(") && text.ends_with(')')) {
    o.kind = OperandKind::kLabel;
    o.selector = text.substr(2, text.size() - 3);
    return o;
  }
  if (std::string_view rest = text; take_number(rest, &o.integer) && rest.empty()) {
    o.kind = OperandKind::kInteger;
    return o;
  }
  o.integer = 0;
  std::string_view number = text;
  take(number, "-");
  if (number.ends_with(".H0")) number.remove_suffix(3);  // of the lower half of the encoding's number
  if (looks_like_float(number)) {
    o.kind = OperandKind::kFloat;
    return o;
  }
  for (bool more = true; more;) {
    more = false;
    if (take(text, "-")) o.minus = !o.minus, more = true;
    if (take(text, "~") || take(text, "!")) o.inverted = !o.inverted, more = true;
  }
  o.absolute = take(text, "|");
  if (read_register(text, o)) {
    read_selector(text, o);
    return o;
  }
  if (o.absolute && text.ends_with('|')) text.remove_suffix(1);
  if (text.ends_with(".reuse")) text.remove_suffix(6);
  if (read_brackets(text, o)) return o;
  o.kind = text.starts_with("SR") ? OperandKind::kSpecial : OperandKind::kName;
  o.selector = text;
  return o;
}

// "a, b[c, d], e" in its parts.
std::vector<Operand> read_operands(std::string_view text) {
  std::vector<Operand> out;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      if (text[i] == '[' || text[i] == '(' || text[i] == '{') ++depth;
      if (text[i] == ']' || text[i] == ')' || text[i] == '}') --depth;
      if ((text[i] != ',' && text[i] != ' ') || depth != 0) continue;  // "R2 `(kernel)" are two,
      if (text.substr(i).starts_with(" [") && i > 0 && text[i - 1] == ']') continue;  // "c[0x0] [0x168]" one
    }
    const std::string_view part = trimmed(text.substr(from, i - from));
    if (part.starts_with('&') || part.starts_with('?')) break;  // what nvdisasm 12.8 says of a control word
    if (!part.empty()) out.push_back(read_operand(part));
    from = i + 1;
  }
  return out;
}

class ParsedModule final : public Module {
 public:
  ParsedModule(std::string text, std::string filename)
      : text_(std::move(text)), filename_(std::move(filename)) {}

  std::string_view text() const override { return text_; }
  const std::string& filename() const override { return filename_; }
  const std::vector<Function>& functions() const override { return functions_; }

  base::Status read() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      const std::string_view line = trimmed(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (auto done = read_line(line); !done) return done;
    }
    for (Function& f : functions_)
      for (Instruction& in : f.body)
        for (Operand& o : in.operands)
          if (o.kind == OperandKind::kLabel)
            if (auto done = resolve(f, o); !done) return done;
    if (functions_.empty() || functions_.front().body.empty())
      return diagnostic(0, "there is no machine code in this listing",
                        {"it is what `nvdisasm -c -hex` prints for a cubin"});
    return base::success();
  }

 private:
  uint32_t offset_of(std::string_view part) const {
    return static_cast<uint32_t>(part.data() - text_.data());
  }

  base::Status read_line(std::string_view line) {
    if (line.starts_with(".section") || line.starts_with("//--")) {
      inside_ = false;
    } else if (line.starts_with(".text.") && line.ends_with(':')) {
      inside_ = true;
      functions_.push_back({line.substr(6, line.size() - 7), {}});
      labels_[functions_.back().name] = {functions_.size() - 1, 0};
      places_.clear();
      ptx_line_ = 0;
      waiting_.clear();
    } else if (!inside_) {
      return base::success();
    } else if (line.starts_with(".type") && line.ends_with("@function")) {
      places_.clear();  // nvdisasm repeats no marks: those of a function are before its first instruction
      ptx_line_ = 0;
    } else if (line.starts_with("//## File")) {
      read_mark(line);
    } else if (line.starts_with("/*")) {
      return read_code(line);
    } else if (line.ends_with(':')) {
      waiting_.push_back(line.substr(0, line.size() - 1));
    }
    return base::success();
  }

  void read_mark(std::string_view line) {
    const size_t open = line.find('"'), close = line.find('"', open + 1), at = line.find(", line ");
    if (close == std::string_view::npos || at == std::string_view::npos) return;
    const std::string_view file = line.substr(open + 1, close - open - 1);
    std::string_view rest = line.substr(at + 7);
    int64_t number = 0;
    if (!take_number(rest, &number)) return;
    if (file.starts_with(".nv_debug_ptx_txt")) {
      ptx_line_ = static_cast<uint32_t>(number);
    } else {
      if (!open_) places_.clear();
      open_ = true;
      places_.push_back({file, static_cast<uint32_t>(number)});
    }
  }

  base::Status read_code(std::string_view line) {
    const size_t close = line.find("*/");
    std::string_view head = line.substr(2, close == std::string_view::npos ? close : close - 2);
    if (head = trimmed(head); head.starts_with("0x")) {  // the upper half of the instruction before it
      if (functions_.back().body.empty() || functions_.back().body.back().words[1])
        return diagnostic(offset_of(line), "the upper half of an instruction stands alone");
      Instruction& in = functions_.back().body.back();
      if (!hex_word(head, &in.words[1])) return diagnostic(offset_of(head), "expected 64 bits, as 0x...");
      in.control = control_of(in.words);
      return base::success();
    }
    const size_t semicolon = line.find(';');
    if (close == std::string_view::npos || semicolon == std::string_view::npos)
      return diagnostic(offset_of(line), "expected an instruction: /*address*/ opcode operands ;");
    Instruction in;
    if (std::from_chars(head.data(), head.data() + head.size(), in.address, 16).ec != std::errc())
      return diagnostic(offset_of(head), "expected the address of an instruction");
    std::string_view text = trimmed(line.substr(close + 2, semicolon - close - 2));
    in.offset = offset_of(text);
    in.length = static_cast<uint32_t>(text.size());
    in.ptx_line = ptx_line_;
    in.places = places_;
    open_ = false;
    read_instruction(text, in);
    if (in.name.empty()) return diagnostic(in.offset, "expected an opcode");
    // Without -hex there are none: who executes the code asks for them.
    if (const size_t word = line.find("/* 0x", semicolon); word != std::string_view::npos)
      hex_word(line.substr(word + 3, 18), &in.words[0]);
    for (std::string_view label : waiting_) labels_[label] = {functions_.size() - 1, in.address};
    in.labels = std::exchange(waiting_, {});
    functions_.back().body.push_back(std::move(in));
    return base::success();
  }

  static bool hex_word(std::string_view text, uint64_t* out) {
    text = trimmed(text);
    return take(text, "0x") &&
           std::from_chars(text.data(), text.data() + text.size(), *out, 16).ec == std::errc();
  }

  static void read_instruction(std::string_view text, Instruction& in) {
    auto word = [&] {
      const size_t end = std::min(text.find_first_of(" \t"), text.size());
      const std::string_view out = text.substr(0, end);
      text = trimmed(text.substr(end));
      return out;
    };
    if (text.starts_with('@')) in.guard = read_operand(word().substr(1));
    in.spelling = word();
    std::string_view rest = in.spelling;
    for (bool first = true; !rest.empty(); first = false) {
      const size_t dot = std::min(rest.find('.'), rest.size());
      if (first)
        in.name = rest.substr(0, dot);
      else
        in.mods.push_back(rest.substr(0, dot));
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    if (const size_t open = text.find("(*"); open != std::string_view::npos) {
      in.note = text.substr(open);
      text = trimmed(text.substr(0, open));
    }
    in.operands = read_operands(text);
    in.row = row_of(in);
  }

  // A label of another section stays unresolved: only who jumps there has to know it.
  base::Status resolve(const Function& f, Operand& o) const {
    auto found = labels_.find(o.selector);
    if (found == labels_.end())
      return diagnostic(offset_of(o.text),
                        "there is no label '" + std::string(o.selector) + "' in this listing");
    o.integer = &functions_[found->second.first] == &f ? static_cast<int64_t>(found->second.second) : -1;
    return base::success();
  }

  std::string text_, filename_;
  std::vector<Function> functions_;
  bool inside_ = false, open_ = false;  // of a function; of the marks before an instruction
  uint32_t ptx_line_ = 0;
  std::vector<Place> places_;
  std::vector<std::string_view> waiting_;  // labels of the instruction to come
  std::unordered_map<std::string_view, std::pair<size_t, uint64_t>> labels_;  // function and address
};

}  // namespace

Control control_of(const std::array<uint64_t, 2>& words) {
  const uint64_t bits = words[1] >> 41;
  return {static_cast<uint8_t>(bits & 15),       (bits >> 4 & 1) != 0,
          static_cast<uint8_t>(bits >> 5 & 7),   static_cast<uint8_t>(bits >> 8 & 7),
          static_cast<uint8_t>(bits >> 11 & 63), static_cast<uint8_t>(bits >> 17 & 15)};
}

size_t index_of(const Function& f, uint64_t address) {
  const auto found = std::lower_bound(f.body.begin(), f.body.end(), address,
                                      [](const Instruction& in, uint64_t a) { return in.address < a; });
  return static_cast<size_t>(found - f.body.begin());
}

bool is_always(const Instruction& in) {
  return !in.guard || (in.guard->index == kTrue && !in.guard->inverted);
}

const Function* Module::find(std::string_view name) const {
  for (const Function& f : functions())
    if (f.name == name) return &f;
  return nullptr;
}

base::Result<std::shared_ptr<const Module>> parse(std::string listing, std::string filename) {
  auto module = std::make_shared<ParsedModule>(std::move(listing), std::move(filename));
  TRY(module->read());
  return std::shared_ptr<const Module>(std::move(module));
}

const Place* Instruction::place() const {
  const auto at = std::find_if(places.begin(), places.end(),
                               [](const Place& place) { return !base::is_of_language(place.file); });
  return places.empty() ? nullptr : at == places.end() ? &places.front() : &*at;
}

}  // namespace triton_runner::sass
