// Prints the canonical text of a module: everything the graph holds, in one way. Scopes are gone, so that
// what they hid is renamed; labels are numbered by their instruction; registers are declared as families
// again.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "parser.h"

namespace triton_runner::ptx {
namespace {

std::string space_text(Space space) {
  const std::string_view word = kSpaceWords[static_cast<int>(space)];
  return word.empty() ? "" : "." + std::string(word);
}
std::string linkage_text(Linkage linkage) {
  const std::string_view word = kLinkageWords[static_cast<int>(linkage)];
  return word.empty() ? "" : "." + std::string(word) + " ";
}
std::string digits_of(uint64_t value, int digits) {
  std::string out(static_cast<size_t>(digits), '0');
  for (int i = digits; i-- > 0; value >>= 4) out[static_cast<size_t>(i)] = "0123456789ABCDEF"[value & 15];
  return out;
}

size_t element_bytes(const Variable& v) { return static_cast<size_t>(std::max(1, (bits(v.type) + 7) / 8)); }

// "= {1, 2}", or nothing for a variable without initial values.
std::string initial_text(const Variable& v) {
  if (v.initial.empty()) return "";
  const size_t element = element_bytes(v);
  std::string out = v.is_array ? " = {" : " = ";
  const auto plain = [&](size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, v.initial.data() + at, std::min<size_t>(element, 8));
    if (v.type == Mod::kF32) return "0f" + digits_of(word, 8);
    if (v.type == Mod::kF64) return "0d" + digits_of(word, 16);
    return std::to_string(word);
  };
  const auto address = [](const Variable::Relocation& r) {
    std::string text(r.symbol);
    if (r.addend) text += "+" + std::to_string(r.addend);
    return text;
  };
  size_t next = 0;  // relocations come in the order of their offsets
  for (size_t at = 0; at < v.initial.size(); at += element) {
    if (at) out += ", ";
    while (next + 1 < v.relocations.size() && v.relocations[next + 1].offset <= at) ++next;
    const bool any = next < v.relocations.size() && v.relocations[next].offset <= at;
    const uint64_t byte = any ? at - v.relocations[next].offset : 0;
    if (any && element >= 4 && byte == 0) {
      out += address(v.relocations[next]);
    } else if (any && element == 1 && byte < 8) {
      out += "0xFF" + std::string(2 * byte, '0') + "(" + address(v.relocations[next]) + ")";
    } else {
      out += plain(at);
    }
  }
  if (v.is_array) out += "}";
  return out;
}

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {
    for (const Variable& v : module.variables()) global_names_.insert(std::string(v.name));
    for (const Function* f : module.functions()) global_names_.insert(std::string(f->name));
    for (std::string_view name : special_names()) global_names_.insert(std::string(name));
    global_names_.insert("WARP_SZ");
  }
  std::string print();

 private:
  void variable(const Variable& v);
  void signature(const Function& f, std::string_view name);
  void parameters(std::span<const Variable> list);
  void attributes(const Function& f);
  void body(const Function& f);
  void registers(const Function& f);
  void instruction(const Instruction& in);
  void operand(const Operand& o);
  void operands(std::span<const Operand> list);
  void source(const SourceLine& line);
  void number(int64_t value) { out_ += std::to_string(value); }
  std::string unique(std::string_view name);

  using LineKey = std::tuple<size_t, uint32_t, uint32_t>;
  LineKey key(const SourceLine& line) {
    const auto [at, fresh] = files_.try_emplace(std::string(line.file), files_.size() + 1);
    if (fresh) file_list_.push_back(at->first);
    return {at->second, line.line, line.column};
  }

  const Module& module_;
  std::string out_;
  std::unordered_set<std::string> global_names_, used_;
  std::unordered_map<std::string, size_t> renamed_;  // how often a name has been made unique
  std::vector<std::string> register_names_;
  size_t parameters_ = 0;  // of the registers, the first that are declared by the signature
  std::unordered_map<const Variable*, std::string> variable_names_;
  std::string label_;      // what labels of this function start with
  size_t lists_ = 0;       // .branchtargets and the like written so far
  std::string list_name_;  // of the instruction being written
  std::map<std::string, size_t> files_, strings_;
  std::vector<std::string> file_list_, string_list_;
  std::map<LineKey, const SourceLine*> written_;  // the .loc written last at a place
};

void Printer::variable(const Variable& v) {
  const size_t element = element_bytes(v);
  out_ += linkage_text(v.linkage);
  out_ += space_text(v.space);
  if (!v.is_pointer && v.align != element) out_ += " .align " + std::to_string(v.align);
  out_ += " ." + std::string(text(v.type));
  if (v.is_pointer) out_ += " .ptr";
  if (v.is_pointer && v.points_to != Space::kNone) out_ += " " + space_text(v.points_to);
  const auto renamed = variable_names_.find(&v);
  out_ += " " + (renamed != variable_names_.end() ? renamed->second : std::string(v.name));
  if (v.is_array) out_ += v.bytes ? "[" + std::to_string(v.bytes / element) + "]" : "[]";
  out_ += initial_text(v);
}

void Printer::parameters(std::span<const Variable> list) {
  out_ += "(";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out_ += ", ";
    variable(list[i]);
  }
  out_ += ")";
}

void Printer::signature(const Function& f, std::string_view name) {
  if (!f.returns.empty()) {
    parameters(f.returns);
    out_ += " ";
  }
  out_ += name;
  parameters(f.params);
}

void Printer::attributes(const Function& f) {
  const auto size = [&](const char* name, const std::array<uint32_t, 3>& n) {
    if (n[0] == 0) return;
    out_ += std::string("\n.") + name + " " + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " +
            std::to_string(n[2]);
  };
  const auto count = [&](const char* name, uint32_t n) {
    if (n) out_ += std::string("\n.") + name + " " + std::to_string(n);
  };
  size("reqntid", f.reqntid);
  size("maxntid", f.maxntid);
  size("reqnctapercluster", f.cluster);
  if (f.explicit_cluster) out_ += "\n.explicitcluster";
  count("maxclusterrank", f.max_cluster_rank);
  count("minnctapersm", f.minnctapersm);
  count("maxnreg", f.maxnreg);
  if (f.noreturn) out_ += "\n.noreturn";
}

std::string Printer::unique(std::string_view name) {
  std::string out(name);
  size_t& last = renamed_[out];
  while (global_names_.count(out) || !used_.insert(out).second)
    out = std::string(name) + "$" + std::to_string(++last);
  return out;
}

// Registers whose names are a prefix and a number are declared as one family a prefix.
void Printer::registers(const Function& f) {
  struct Family {
    Mod type;
    uint64_t count = 0;
  };
  std::map<std::string, Family> families;
  std::vector<std::string> order;  // prefixes
  std::vector<size_t> single;
  for (size_t i = parameters_; i < f.registers.size(); ++i) {
    const std::string& name = register_names_[i];
    size_t split = name.size();
    while (split > 1 && is_digit(name[split - 1])) --split;
    uint64_t number = 0;
    const bool numbered =
        split < name.size() && name.size() - split < 8 && (name[split] != '0' || split + 1 == name.size());
    std::from_chars(name.data() + split, name.data() + name.size(), number);
    if (!numbered || number >= (1u << 22)) {
      single.push_back(i);
      continue;
    }
    const auto [at, fresh] = families.try_emplace(name.substr(0, split), Family{f.registers[i].type});
    if (fresh) order.push_back(at->first);
    if (at->second.type != f.registers[i].type)
      single.push_back(i);
    else
      at->second.count = std::max(at->second.count, number + 1);
  }
  for (const std::string& prefix : order) {
    const Family& family = families[prefix];
    out_ += "\t.reg ." + std::string(text(family.type)) + " " + prefix + "<" + std::to_string(family.count) +
            ">;\n";
  }
  for (size_t i : single)
    out_ += "\t.reg ." + std::string(text(f.registers[i].type)) + " " + register_names_[i] + ";\n";
}

void Printer::operands(std::span<const Operand> list) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out_ += ", ";
    operand(list[i]);
  }
}

void Printer::operand(const Operand& o) {
  if (o.negated) out_ += "!";
  switch (o.kind) {
    case OperandKind::kRegister:
      out_ += register_names_[o.reg];
      if (o.selector.count) {
        out_ += std::string(".") + o.selector.unit;
        for (int i = o.selector.count; i-- > 0;)
          out_ += static_cast<char>('0' + (o.selector.lanes >> (4 * i) & 15));
      }
      return;
    case OperandKind::kSpecial:
      out_ += text(o.special);
      return;
    case OperandKind::kInteger:
      return number(o.integer);
    case OperandKind::kFloat:
      out_ += (o.is_wide ? "0d" : "0f") + digits_of(static_cast<uint64_t>(o.integer), o.is_wide ? 16 : 8);
      return;
    case OperandKind::kVariable: {
      const auto renamed = variable_names_.find(o.variable);
      out_ += renamed != variable_names_.end() ? renamed->second : std::string(o.variable->name);
      if (o.integer) out_ += "+", number(o.integer);
      return;
    }
    case OperandKind::kFunction:
      out_ += o.function->name;
      return;
    case OperandKind::kLabel:
      out_ += list_name_.empty() ? label_ + std::to_string(o.integer) : list_name_;
      return;
    case OperandKind::kVector:
      out_ += "{";
      operands(o.parts);
      out_ += "}";
      return;
    case OperandKind::kGroup:
      out_ += "(";
      operands(o.parts);
      out_ += ")";
      return;
    case OperandKind::kAddress:
      out_ += "[";
      operand(o.parts[0]);
      if (o.integer) out_ += "+", number(o.integer);
      for (const Operand& part : o.parts.subspan(1)) {
        out_ += ", ";
        operand(part);
      }
      out_ += "]";
      return;
    case OperandKind::kPair:
      operand(o.parts[0]);
      out_ += "|";
      operand(o.parts[1]);
      return;
    case OperandKind::kSink:
      out_ += "_";
      return;
  }
}

void Printer::source(const SourceLine& line) {
  if (line.inlined_at) {
    const SourceLine*& last = written_[key(*line.inlined_at)];
    if (last != line.inlined_at) source(*line.inlined_at);
  }
  const auto [file, row, column] = key(line);
  out_ += "\t.loc " + std::to_string(file) + " " + std::to_string(row) + " " + std::to_string(column);
  if (!line.function.empty()) {
    const auto [at, fresh] = strings_.try_emplace(std::string(line.function), strings_.size());
    if (fresh) string_list_.push_back(at->first);
    out_ += ", function_name $str" + std::to_string(at->second);
  }
  if (line.inlined_at) {
    const auto [outer_file, outer_row, outer_column] = key(*line.inlined_at);
    out_ += ", inlined_at " + std::to_string(outer_file) + " " + std::to_string(outer_row) + " " +
            std::to_string(outer_column);
  }
  out_ += "\n";
  written_[key(line)] = &line;
}

void Printer::instruction(const Instruction& in) {
  list_name_.clear();
  if (!in.targets.empty() || !in.callees.empty() || in.prototype) {
    list_name_ = label_ + "T" + std::to_string(lists_++);
    out_ += list_name_ + ":\n\t";
    if (in.prototype) {
      out_ += ".callprototype ";
      signature(*in.prototype, "_");
      if (in.prototype->noreturn) out_ += " .noreturn";
    } else {
      out_ += in.targets.empty() ? ".calltargets " : ".branchtargets ";
      for (size_t i = 0; i < in.targets.size(); ++i)
        out_ += (i ? ", " : "") + label_ + std::to_string(in.targets[i]);
      for (size_t i = 0; i < in.callees.size(); ++i)
        out_ += (i ? ", " : "") + std::string(in.callees[i]->name);
    }
    out_ += ";\n";
  }
  out_ += "\t";
  if (in.guard >= 0) {
    out_ += in.guard_negated ? "@!" : "@";
    out_ += register_names_[static_cast<size_t>(in.guard)];
    out_ += " ";
  }
  out_ += in.spelling;
  if (!in.operands.empty()) {
    out_ += " ";
    operands(in.operands);
  }
  out_ += ";\n";
}

void Printer::body(const Function& f) {
  used_.clear();
  renamed_.clear();
  register_names_.clear();
  variable_names_.clear();
  for (const Variable& v : f.params) used_.insert(std::string(v.name));
  for (const Variable& v : f.returns) used_.insert(std::string(v.name));
  parameters_ = 0;
  for (const auto& list : {f.returns, f.params})
    for (const Variable& v : list) parameters_ += v.space == Space::kReg;
  for (const Register& r : f.registers)
    register_names_.push_back(register_names_.size() < parameters_ ? std::string(r.name) : unique(r.name));
  for (const Variable& v : f.variables) variable_names_[&v] = unique(v.name);
  label_ = "L";
  const auto taken = [&](const std::unordered_set<std::string>& names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.starts_with(label_); });
  };
  while (taken(used_) || taken(global_names_)) label_ = "$" + label_;

  std::vector<bool> targeted(f.body.size() + 1);
  for (const Instruction& in : f.body) {
    if (in.opcode == Opcode::kBra && in.operands[0].kind == OperandKind::kLabel)
      targeted[static_cast<size_t>(in.operands[0].integer)] = true;
    for (uint32_t target : in.targets) targeted[target] = true;
  }
  out_ += "\n{\n";
  registers(f);
  for (const Variable& v : f.variables) {
    out_ += "\t";
    variable(v);
    out_ += ";\n";
  }
  const SourceLine* last = nullptr;
  for (size_t i = 0; i <= f.body.size(); ++i) {
    if (targeted[i]) out_ += label_ + std::to_string(i) + ":\n";
    if (i == f.body.size()) break;
    if (f.body[i].source && f.body[i].source != last) source(*f.body[i].source);
    last = f.body[i].source;
    instruction(f.body[i]);
  }
  out_ += "}\n";
}

std::string Printer::print() {
  // Functions that others name are declared first, in the order of the module.
  std::unordered_set<const Function*> named;
  const auto name = [&](const auto& self, std::span<const Operand> list) -> void {
    for (const Operand& o : list) {
      if (o.function) named.insert(o.function);
      self(self, o.parts);
    }
  };
  for (const Function* f : module_.functions())
    for (const Instruction& in : f->body) {
      name(name, in.operands);
      for (const Function* callee : in.callees) named.insert(callee);
    }
  const auto head = [&](const Function& f) {
    out_ += "\n" + linkage_text(f.linkage) + (f.is_entry ? ".entry " : ".func ");
    signature(f, f.name);
  };
  for (const Variable& v : module_.variables()) {
    variable(v);
    out_ += ";\n";
  }
  for (const Function* f : module_.functions()) {
    if (!f->is_declaration && !named.count(f)) continue;
    head(*f);
    if (f->is_declaration) attributes(*f);
    out_ += ";\n";
  }
  for (bool first : {true, false})
    for (const Function* f : module_.functions()) {
      if (f->is_declaration || (named.count(f) > 0) != first) continue;
      head(*f);
      attributes(*f);
      body(*f);
    }

  std::string top;
  if (!module_.version().empty()) top += ".version " + std::string(module_.version()) + "\n";
  if (!module_.target().empty()) top += ".target " + std::string(module_.target()) + "\n";
  top += ".address_size 64\n";
  for (size_t i = 0; i < file_list_.size(); ++i)
    top += ".file " + std::to_string(i + 1) + " \"" + file_list_[i] + "\"\n";
  std::string strings;
  for (size_t i = 0; i < string_list_.size(); ++i) {
    strings += (i ? "" : "\n.section .debug_str\n{\n") + std::string("$str") + std::to_string(i) + ": .b8 ";
    for (const char c : string_list_[i]) strings += std::to_string(static_cast<unsigned char>(c)) + ", ";
    strings += "0\n";
  }
  if (!strings.empty()) strings += "}\n";
  return top + out_ + strings;
}

}  // namespace

std::string with_initial_values(const Module& module, std::vector<Variable> variables) {
  std::ranges::sort(variables, {}, &Variable::initial_offset);
  const std::string_view text = module.text();
  std::string out;
  size_t from = 0;
  for (const Variable& v : variables) {
    out += text.substr(from, v.initial_offset - from);
    out += initial_text(v);
    from = size_t{v.initial_offset} + v.initial_length;
  }
  return out += text.substr(from);
}

std::string print_canonical(const Module& module) { return Printer(module).print(); }

}  // namespace triton_runner::ptx
