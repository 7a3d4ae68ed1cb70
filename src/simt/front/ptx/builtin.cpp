// Runs calls of vprintf, __assertfail, malloc, free and cudaGraphSetConditional. Arguments come as .param variables of the call, in the thread's
// local memory. Each thread that is on makes its call by itself, in order.
#include "front/ptx/builtin.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/heap.h>
#include <triton_runner/exec/observer.h>

#include "ops/control.h"
#include "state/divergence.h"

namespace triton_runner::simt {
namespace {

constexpr size_t kMaxText = 4096;  // of one string that a kernel passes

// The thread's memory at an offset of the call.
std::byte* in_frame(const Exec& x, const BuiltinCall& call, uint32_t lane, uint32_t offset) {
  const uint64_t frame = call.frame == kNoRegister ? 0 : x.reg<uint64_t>(call.frame)[lane];
  return x.cta->local + uint64_t{x.first + lane} * x.code().local_bytes + frame + offset;
}

template <class T>
void give(const Exec& x, const BuiltinCall& call, uint32_t lane, T value) {
  if (call.in_registers) {
    x.reg<uint32_t>(call.result)[lane] = static_cast<uint32_t>(value);
    if (sizeof(T) == 8)
      x.reg<uint32_t>(call.upper)[lane] = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
  } else if (call.result != kNoRegister) {
    std::memcpy(in_frame(x, call, lane, call.result), &value, sizeof value);
  }
}

template <class T>
T argument(const Exec& x, const BuiltinCall& call, uint32_t lane, size_t k) {
  const uint32_t offset = call.args[k];
  if (call.in_registers) return x.reg<T>(offset)[lane];
  T v;
  std::memcpy(&v, in_frame(x, call, lane, offset), sizeof v);
  return v;
}

// A zero-terminated string in memory that the launch may read.
bool read_string(Exec& x, const Operands& in, uint32_t lane, uint64_t address, std::string* out) {
  for (size_t i = 0; i < kMaxText; ++i) {
    const std::byte* p = x.generic(in, lane, address + i, 1, false);
    if (!p) return false;
    if (*p == std::byte{0}) return true;
    out->push_back(static_cast<char>(*p));
  }
  return true;
}

void assert_fail(Exec& x, const Operands& in, const BuiltinCall& call) {
  const uint32_t lane = first_on(x);
  std::string message, file, function;
  if (!read_string(x, in, lane, argument<uint64_t>(x, call, lane, 0), &message) ||
      !read_string(x, in, lane, argument<uint64_t>(x, call, lane, 1), &file) ||
      !read_string(x, in, lane, argument<uint64_t>(x, call, lane, 3), &function))
    return;
  x.trap(in, exec::TrapKind::kAssert,
         message + " (" + file + ":" + std::to_string(argument<uint32_t>(x, call, lane, 2)) +
             (function.empty() ? "" : ", in " + function) + ")",
         lane);
}

// One conversion of the format, from '%' to its letter, with the argument at `at` in the buffer.
class Formatter {
 public:
  Formatter(Exec& x, const Operands& in, uint32_t lane, uint64_t buffer)
      : x_(x), in_(in), lane_(lane), buffer_(buffer) {}

  int32_t arguments() const { return arguments_; }  // that were read

  bool format(const std::string& text, std::string* out) {
    for (size_t i = 0; i < text.size();) {
      if (text[i] != '%') {
        out->push_back(text[i++]);
        continue;
      }
      size_t end = text.find_first_of("diouxXfFeEgGaAcsp%", i + 1);
      if (end == std::string::npos) {
        out->append(text, i);
        return true;
      }
      if (!convert(text.substr(i, end - i), text[end], out)) return false;
      i = end + 1;
    }
    return true;
  }

 private:
  template <class T>
  bool next(T* value) {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const std::byte* p = x_.generic(in_, lane_, buffer_ + at_, sizeof(T), false);
    if (!p) return false;
    std::memcpy(value, p, sizeof(T));
    at_ += sizeof(T);
    ++arguments_;
    return true;
  }

  template <class T>
  static void print(const std::string& spec, T value, std::string* out) {
    char text[512];
    int n = std::snprintf(text, sizeof text, spec.c_str(), value);
    if (n > 0) out->append(text, std::min<size_t>(static_cast<size_t>(n), sizeof text - 1));
  }

  bool convert(std::string spec, char letter, std::string* out) {
    std::string flags;
    bool wide = false;
    int halves = 0;  // h: 16 bits, hh: 8
    for (char c : spec.substr(1)) {
      int32_t number = 0;
      if (c == 'l' || c == 'j' || c == 'z' || c == 't')
        wide = true;
      else if (c == 'h')
        ++halves;
      else if (c == '*' && !next(&number))
        return false;
      else if (c == '*' && flags.ends_with('.') && number < 0)  // such a precision counts as none
        flags.pop_back();
      else if (c == '*')
        flags += std::to_string(number);
      else if (base::is_digit(c) || c == '.' || c == '-' || c == '+' || c == ' ' || c == '#')
        flags.push_back(c);
    }
    if (flags.size() > 16) flags.clear();
    switch (letter) {
      case '%':
        out->push_back('%');
        return true;
      case 's': {
        uint64_t address = 0;
        std::string value;
        if (!next(&address) || !read_string(x_, in_, lane_, address, &value)) return false;
        print("%" + flags + "s", value.c_str(), out);
        return true;
      }
      case 'p': {
        uint64_t value = 0;
        if (!next(&value)) return false;
        print("0x%" PRIx64, value, out);
        return true;
      }
      case 'c': {
        uint32_t value = 0;
        if (!next(&value)) return false;
        print("%" + flags + "c", static_cast<int>(value), out);
        return true;
      }
      case 'd':
      case 'i':
      case 'o':
      case 'u':
      case 'x':
      case 'X': {
        const bool is_signed = letter == 'd' || letter == 'i';
        uint64_t value = 0;
        uint32_t narrow = 0;
        if (wide ? !next(&value) : !next(&narrow)) return false;
        const int unused = halves == 0 ? 0 : halves == 1 ? 16 : 24;
        narrow <<= unused;
        if (!wide)
          value =
              is_signed ? static_cast<uint64_t>(static_cast<int32_t>(narrow) >> unused) : narrow >> unused;
        print("%" + flags + "ll" + letter, static_cast<long long>(value), out);
        return true;
      }
      default: {
        double value = 0;
        if (!next(&value)) return false;
        print("%" + flags + letter, value, out);
        return true;
      }
    }
  }

  Exec& x_;
  const Operands& in_;
  uint32_t lane_;
  uint64_t buffer_;
  uint64_t at_ = 0;
  int32_t arguments_ = 0;
};

void print_formatted(Exec& x, const Operands& in, const BuiltinCall& call) {
  const exec::LaunchOptions& options = *x.launch().options;
  exec::Observer* printer = options.printer ? options.printer : options.observer;
  std::string text;
  for (uint32_t i : x.lanes()) {
    std::string format;
    if (!read_string(x, in, i, argument<uint64_t>(x, call, i, 0), &format)) return;
    Formatter formatter(x, in, i, argument<uint64_t>(x, call, i, 1));
    if (!formatter.format(format, &text)) return;
    give(x, call, i, formatter.arguments());
  }
  if (!printer || text.empty()) return;
  std::lock_guard lock(x.worker->launch->print_mutex);
  printer->on_print(text, {x.cta->id[0], x.cta->id[1], x.cta->id[2]});
}

void allocate(Exec& x, const Operands&, const BuiltinCall& call) {
  for (uint32_t i : x.lanes()) give(x, call, i, x.launch().heap->allocate(argument<uint64_t>(x, call, i, 0)));
}

void release(Exec& x, const Operands& in, const BuiltinCall& call) {
  for (uint32_t i : x.lanes()) {
    const auto address = argument<uint64_t>(x, call, i, 0);
    if (address != 0 && !x.launch().heap->release(address))
      return x.trap(in, exec::TrapKind::kInvalid,
                    "free() of " + base::hex(address) +
                        ", which is not the start of a block from malloc that lives: it is " +
                        (x.launch().heap->contains(address) ? x.launch().heap->describe(address, 1)
                                                            : "outside of the heap"),
                    i);
  }
}

// A condition of a graph is a word of memory, whose address is the program's handle of it.
void set_conditional(Exec& x, const Operands& in, const BuiltinCall& call) {
  for (uint32_t i : x.lanes()) {
    const auto value = call.in_registers ? static_cast<uint32_t>(argument<uint64_t>(x, call, i, 1))
                                         : argument<uint32_t>(x, call, i, 1);
    std::byte* to = x.generic(in, i, argument<uint64_t>(x, call, i, 0), sizeof value, true);
    if (!to) return;
    std::memcpy(to, &value, sizeof value);
  }
}

struct Builtin {
  std::string_view name;
  size_t args;
  Handler run;
  bool allocates = false;
};
constexpr Builtin kBuiltins[] = {
    {"vprintf", 2, handler<print_formatted>},
    {"__assertfail", 5, handler<assert_fail>},
    {"malloc", 1, handler<allocate>, true},
    {"free", 1, handler<release>},
    {"cudaGraphSetConditional", 2, handler<set_conditional>},
};

const Builtin* find(const ptx::Function& f) {
  if (!f.is_declaration) return nullptr;
  for (const Builtin& b : kBuiltins)
    if (b.name == f.name) return &b;
  return nullptr;
}

}  // namespace

std::string builtin_names() {
  std::string out;
  for (const Builtin& b : kBuiltins) out += (out.empty() ? "" : ", ") + std::string(b.name);
  return out;
}

int builtin_number(std::string_view name) {
  for (size_t i = 0; i < std::size(kBuiltins); ++i)
    if (kBuiltins[i].name == name) return static_cast<int>(i);
  return -1;
}

void call_builtin(Exec& x, const Operands& in) {
  const uint32_t first = first_on(x);
  const uint64_t* a = x.reg<uint64_t>(in.a);
  bool same = true;
  for (uint32_t i = first; i < x.count; ++i) same = same && (!x.on(i) || a[i] == a[first]);
  const uint64_t number = a[first] - kFunctionWindow;
  if (same && number < std::size(kBuiltins)) return kBuiltins[number].run(x, in);
  x.trap(in, exec::TrapKind::kUnsupported,
         same ? "it calls a function that the engine does not have (it has " + builtin_names() + ")"
              : std::string("threads call different functions"),
         first);
}

bool is_builtin(const ptx::Function& function) { return find(function) != nullptr; }

bool lower_builtin(Lowering& l, const ptx::Instruction& in, const ptx::Function& function,
                   std::span<const ptx::Operand> returns, std::span<const ptx::Operand> args) {
  const Builtin& builtin = *find(function);
  if (args.size() != builtin.args)
    return l.fail(in,
                  "'" + std::string(builtin.name) + "' takes " + std::to_string(builtin.args) + " arguments");
  if (function.params.size() != builtin.args || returns.size() > function.returns.size())
    return l.fail(in,
                  "'" + std::string(builtin.name) + "' is declared otherwise than the CUDA runtime has it");
  BuiltinCall call{};
  call.frame = l.frame_place();
  for (size_t i = 0; i < args.size(); ++i) {
    if (!l.fits(function.params[i], args[i], false))
      return l.fail(args[i].offset,
                    "expected a .param variable, a register or a number of the parameter's size");
    call.args[i] = l.argument_memory(function.params[i], args[i]);
  }
  if (!returns.empty()) {
    if (!l.fits(function.returns[0], returns[0], true))
      return l.fail(returns[0].offset, "expected a .param variable or a register of the result's size");
    call.result = l.result_memory(function.returns[0], returns[0]);
  }
  l.code.uses_heap |= builtin.allocates;
  l.emit(builtin.run, {}, call);
  if (!returns.empty()) l.take_result(function.returns[0], returns[0], call.result);
  return true;
}

}  // namespace triton_runner::simt
