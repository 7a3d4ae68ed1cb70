// Reads the rows of the levels that the core parses anyway: TTIR, TTGIR (and LLVM's dialect), PTX. The others
// are in listings.cpp.
#include <triton_runner/base/try.h>
#include <triton_runner/ir/text.h>
#include <triton_runner/ir/walk.h>
#include <triton_runner/ptx/module.h>

#include <algorithm>

#include "readers.h"

namespace triton_runner::report {
namespace {

class MlirReader {
 public:
  MlirReader(const ir::Module& module, Level& into, Places& places)
      : module_(module), level_(into), places_(places) {}

  void walk(const ir::Op* op) {
    ir::for_each_op(op, [&](const ir::Op* each) {
      if (each->block) add(each);
    });
  }

 private:
  void add(const ir::Op* op) {
    // An op that the text implies has no place in it: it goes after the end.
    const std::string_view text = module_.source();
    const auto line =
        op->text.empty() ? std::count(text.begin(), text.end(), '\n') + 1 : ir::line_of(module_, *op);
    Row row{static_cast<uint32_t>(line), std::string(op->name), {}};
    if (op->loc) row.places = of(op->loc, kNone);
    level_.rows.push_back(std::move(row));
  }

  // The places of a location that was reached from `caller`. Merged ops have several.
  std::vector<int32_t> of(const ir::Location* loc, int32_t caller) {
    std::vector<int32_t> out;
    switch (loc->kind) {
      case ir::LocKind::kFile: {
        const int32_t made = places_.place(places_.file(loc->file), static_cast<uint32_t>(loc->line),
                                           static_cast<uint32_t>(loc->column), caller);
        if (made != kNone) out.push_back(made);
        break;
      }
      case ir::LocKind::kName:
        if (loc->child) return of(loc->child, caller);
        break;
      case ir::LocKind::kCallSite: {
        if (!loc->child || !loc->caller) break;
        const std::vector<int32_t> callers = of(loc->caller, caller);
        if (callers.empty()) return of(loc->child, caller);
        for (int32_t from : callers)
          for (int32_t made : of(loc->child, from)) add_once(out, made);
        break;
      }
      case ir::LocKind::kFused:
        for (const ir::Location* child : loc->children)
          for (int32_t made : of(child, caller)) add_once(out, made);
        break;
      default:
        break;
    }
    return out;
  }
  static void add_once(std::vector<int32_t>& list, int32_t value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  }

  const ir::Module& module_;
  Level& level_;
  Places& places_;
};

int32_t place_of(const ptx::SourceLine* at, Places& places) {
  const int32_t caller = at->inlined_at ? place_of(at->inlined_at, places) : kNone;
  return places.place(places.file(at->file), at->line, at->column, caller);
}

// How far the .loc of each instruction in turn is too far down, as machine code has it. Where inline assembly has
// several lines LLVM writes a .loc before each of them, counted on from the source's line, and what follows keeps
// the last. The parser of PTX leaves them out.
class LinesOfAssembly {
 public:
  LinesOfAssembly(std::string_view text, size_t from) : text_(text), at_(from) {}

  uint32_t before(const ptx::Instruction& in) {
    while (at_ < in.offset) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      read(text_.substr(at_, end - at_));
      at_ = end + 1;
    }
    return shift_;
  }

 private:
  void read(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("// begin inline asm")) {
      in_asm_ = true;
      lines_ = locs_ = 0;
      return;
    }
    if (line.starts_with("// end inline asm")) {
      in_asm_ = false;
    } else if (line.starts_with(".loc\t") || line.starts_with(".loc ")) {
      shift_ = in_asm_ ? lines_ - locs_++ : 0;
    }
    ++lines_;
  }

  std::string_view text_;
  size_t at_;
  bool in_asm_ = false;
  uint32_t lines_ = 0, locs_ = 0, shift_ = 0;
};

}  // namespace

base::Status read_mlir(std::string_view text, Level& into, Places& places) {
  auto module = TRY(ir::parse(std::string(text)));
  MlirReader(module, into, places).walk(module.op());
  return base::success();
}

base::Status read_ptx(std::string_view text, Level& into, Places& places) {
  auto parsed = TRY(ptx::parse(std::string(text)));
  const ptx::Module& module = *parsed;
  for (const ptx::Function* function : module.functions()) {
    LinesOfAssembly assembly(module.text(), function->offset);
    const ptx::SourceLine* source = nullptr;  // of the instruction before
    int32_t place = kNone;
    for (const ptx::Instruction& in : function->body) {
      Row row{static_cast<uint32_t>(module.location(in.offset).line), std::string(in.spelling), {}};
      if (in.source != source) {
        source = in.source;
        place = source ? place_of(source, places) : kNone;
      }
      if (place != kNone) row.places = {place};
      row.too_far = assembly.before(in);
      into.rows.push_back(std::move(row));
    }
  }
  return base::success();
}

base::Result<Level> read_level(std::string_view text, std::string_view level, Places& places) {
  Level out;
  out.name = level;
  base::Status done = base::success();
  if (level == "ttir" || level == "ttgir")
    done = read_mlir(text, out, places);
  else if (level == "ptx")
    done = read_ptx(text, out, places);
  else if (level == "llir")
    read_llir(text, out, places);
  else if (level == "amdgcn")
    read_amdgcn(text, out, places);
  else if (level == "sass")
    done = read_sass(text, out, places);
  else
    return base::failure("level '" + std::string(level) + "' has no lines to map",
                         {"levels: ttir, ttgir, llir, ptx, amdgcn, sass"});
  if (!done) return done.error();
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const Row& a, const Row& b) { return a.line < b.line; });
  return out;
}

}  // namespace triton_runner::report
