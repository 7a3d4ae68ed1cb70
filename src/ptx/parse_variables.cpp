// Parses variables, parameters and their initial values. See PTX ISA 5.4.

#include "parser.h"

namespace triton_runner::ptx {
namespace {

constexpr size_t kLargestInitial = size_t{1} << 28;  // bytes that one variable may write
constexpr int kDeepestInitial = 8;                   // braces in braces

}  // namespace

bool Parser::parse_variables(Space space, Linkage linkage, bool parameter, std::vector<Variable*>* out) {
  Variable common;
  common.space = space;
  common.linkage = linkage;
  common.is_extern = linkage == Linkage::kExtern;
  uint64_t align = 0, vector = 1;
  while (true) {
    skip();
    if (*p_ != '.') break;
    const uint32_t at = here();
    const std::string_view name = after_dot();
    if (name == "align") {
      if (!unsigned_integer(&align, "an alignment")) return false;
      if (align == 0 || align > (1u << 30) || (align & (align - 1)))
        return fail(at, "an alignment is a power of two, at most 2^30");
    } else if (name == "ptr") {
      common.is_pointer = true;
    } else if (common.is_pointer && memory_space(name) != Space::kNone) {
      common.points_to = memory_space(name);
    } else if (name == "v2" || name == "v4" || name == "v8") {
      vector = static_cast<uint64_t>(name[1] - '0');
    } else if (name == "attribute") {
      skip();
      while (p_ < end_ && *p_ != ')' && *p_ != ';') ++p_;
      if (!expect(')', ".attribute(")) return false;
    } else if (const Mod type = find_mod(name); is_type(type)) {
      if (common.type != Mod::kNone) return fail(at, "a second type");
      common.type = type;
    } else {
      return fail(at, "'." + std::string(name) + "' is not part of a declaration",
                  {"a declaration has a space, .align, a type and a name"});
    }
  }
  if (common.type == Mod::kNone) return fail_here("a type (.b8, .u32, .f32, ...)");
  if (common.type == Mod::kPred && space != Space::kReg)
    return fail_here("a type that memory holds, not .pred");
  const uint64_t element = static_cast<uint64_t>((bits(common.type) + 7) / 8) * vector;
  // The alignment of .ptr is that of what it points to.
  common.align = align && !common.is_pointer ? static_cast<uint32_t>(align) : static_cast<uint32_t>(element);
  do {
    skip();
    Variable v = common;
    v.offset = here();
    v.name = identifier();
    if (v.name.empty()) return fail_here("the name of a variable");
    v.bytes = element;
    v.is_array = vector > 1;
    bool open = false;
    v.initial_offset = here();
    skip();
    while (*p_ == '[') {
      ++p_;
      v.is_array = true;
      skip();
      if (*p_ == ']') {
        if (open || v.bytes != element) return fail_here("a size: only the first dimension may be open");
        ++p_, open = true;
      } else {
        const uint32_t at = here();
        uint64_t n;
        if (!unsigned_integer(&n, "a size")) return false;
        if (n != 0 && v.bytes > (uint64_t{1} << 47) / n)
          return fail(at, "a variable of more than 2^47 bytes");
        v.bytes *= n;
        if (!expect(']', "a size")) return false;
      }
      v.initial_offset = here();
      skip();
    }
    const uint64_t row = v.bytes;
    if (open) v.bytes = 0;
    if (*p_ == '=' && !parameter) {
      ++p_;
      if (!parse_initial(v, static_cast<uint32_t>(element / vector))) return false;
      v.initial_length = here() - v.initial_offset;
      if (open && row) v.bytes = (v.initial.size() + row - 1) / row * row;
      if (v.initial.size() > v.bytes)
        return fail(v.offset, "'" + std::string(v.name) + "' has " + std::to_string(v.bytes) +
                                  " bytes, its initial values " + std::to_string(v.initial.size()));
    }
    out->push_back(arena_.make(v));
  } while (!parameter && take(','));
  return true;
}

bool Parser::parse_initial(Variable& v, uint32_t element) {
  std::string bytes;
  std::vector<Variable::Relocation> addresses;
  skip();
  if (*p_ == '"') {
    std::string_view text;
    if (!string(&text)) return false;
    if (element != 1) return fail(v.offset, "a string is for elements of one byte");
    bytes = std::string(text) + '\0';
  } else if (*p_ == '{') {
    if (!parse_initial_list(bytes, addresses, v, element, 0)) return false;
  } else if (!parse_initial_value(bytes, addresses, v, element)) {
    return false;
  }
  const auto kept = arena_.copy(bytes.data(), bytes.size());
  v.initial = std::as_bytes(std::span<const char>(kept.data(), kept.size()));
  v.relocations = arena_.copy(addresses.data(), addresses.size());
  return true;
}

bool Parser::parse_initial_list(std::string& bytes, std::vector<Variable::Relocation>& addresses, Variable& v,
                                uint32_t element, int depth) {
  if (depth == kDeepestInitial) return fail_here("fewer braces in each other");
  ++p_;
  if (take('}')) return true;
  do {
    skip();
    if (*p_ == '{' ? !parse_initial_list(bytes, addresses, v, element, depth + 1)
                   : !parse_initial_value(bytes, addresses, v, element))
      return false;
  } while (take(','));
  return expect('}', "an initial value");
}

// 7, 0f3F800000, 1.5, name, name+4, generic(name)+4, 0xFF00(name): a byte of an address
bool Parser::parse_initial_value(std::string& bytes, std::vector<Variable::Relocation>& addresses,
                                 Variable& v, uint32_t element) {
  const uint32_t at = next_at();
  if (bytes.size() > kLargestInitial) return fail(at, "initial values of more than 256 MiB");
  Operand value;
  const char c = *p_;
  bool is_address = true;
  uint64_t mask = 0;
  if (at_constant() || c == '(' || c == '!') {
    if (!constant(&value)) return false;
    if (value.kind == OperandKind::kInteger && take('('))
      mask = static_cast<uint64_t>(value.integer);
    else
      is_address = false;
  }
  if (!is_address) {
    if (value.kind == OperandKind::kFloat && element < 4)
      return fail(at, "a value of ." + std::string(text(v.type)) + " is written as its bits");
    // For .b32 and .b64, other than operands: a float of either spelling.
    const Mod as = v.type == Mod::kB32 ? Mod::kF32 : v.type == Mod::kB64 ? Mod::kF64 : v.type;
    uint64_t word;
    if (!literal_bits(value, value.kind == OperandKind::kFloat ? as : v.type, &word))
      return fail(at,
                  value.kind == OperandKind::kFloat
                      ? "a float as the value of ." + std::string(text(v.type))
                      : "an integer as the value of ." + std::string(text(v.type)) + ": write 1.0, not 1");
    for (uint32_t i = 0; i < element; ++i) bytes += static_cast<char>(i < 8 ? word >> (8 * i) : 0);
    return true;
  }
  skip();
  std::string_view name = identifier();
  bool parenthesis = mask != 0;
  if (name == "generic" && take('(')) {
    skip();
    name = identifier();
    if (name.empty()) return fail_here("the name of a variable");
    if (!expect(')', "generic(")) return false;
  }
  if (name.empty()) return fail_here("a number or the name of a variable");
  int64_t addend = 0;
  skip();
  if (take('+') && !integer(&addend, "a number to add to the address")) return false;
  if (parenthesis && !expect(')', "a byte of an address")) return false;
  const uint64_t offset = bytes.size();
  if (mask == 0) {
    if (element != 8 && element != 4)
      return fail(at, "an address does not fit ." + std::string(text(v.type)));
    addresses.push_back({offset, name, addend});
  } else if (mask == 0xff) {
    addresses.push_back({offset, name, addend});  // the first of eight bytes
  }
  bytes.append(element, '\0');
  return true;
}

}  // namespace triton_runner::ptx
