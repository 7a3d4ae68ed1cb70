// Parses regions, blocks, their labels and arguments, and the successors that branches name.

#include "parser.h"

namespace triton_runner::ir {
namespace {
constexpr int kMaxRegionDepth = 200;
}

Region* Parser::region(std::span<const BlockArg> args, bool isolated) {
  Region* made = m_.arena.make<Region>();
  if (depth_ > kMaxRegionDepth) return fail(p_, "regions are nested too deep"), made;
  ws();
  const char* start = p_;
  if (!expect("{")) return made;
  ++depth_;
  uint32_t outer_isolation = isolation_;
  size_t forward_mark = forwards_.size();
  size_t undo_mark = undo_.size();
  if (isolated) isolation_ = static_cast<uint32_t>(undo_.size()) + 1 + outer_isolation;
  block_names_.push_back(nullptr);

  Block* block = m_.arena.make<Block>();
  block->region = made;
  made->first = made->last = block;
  add_block_args(block, args);
  bool bare = args.empty();  // the first block may still get a label
  while (!failed()) {
    char c = peek();
    if (c == '}') {
      ++p_;
      break;
    }
    if (p_ >= end_) {
      base::Location opened = m_.location_of({start, 1});
      expected("'}'", {"the region is opened at " + opened.str()});
      break;
    }
    if (c == '^') {
      if (!bare && block == made->first && !block->first && !args.empty()) {
        fail(p_, "the first block has its arguments from the op and takes no label");
        break;
      }
      if (bare && block == made->first && !block->first) made->first = made->last = nullptr;
      label(made, block);
      bare = false;
      continue;
    }
    Op* o = op();
    if (failed()) break;
    o->block = block;
    o->prev = block->last;
    (block->last ? block->last->next : block->first) = o;
    block->last = o;
  }
  made->text = since(start);
  report_missing_blocks();
  block_names_.pop_back();
  if (isolated && !failed()) report_undefined(forward_mark);
  while (undo_.size() > undo_mark) {
    Undo& u = undo_.back();
    NameEntry& entry = entries_[u.entry];
    entry.value = u.value;
    entry.isolation = u.isolation;
    undo_.pop_back();
  }
  isolation_ = outer_isolation;
  --depth_;
  return made;
}

void Parser::report_missing_blocks() {
  if (failed() || !block_names_.back()) return;
  for (auto [block, at] : block_names_.back()->undefined)
    if (!block->region) fail(at, "the block ^" + std::string(block->name) + " is not in this region");
}

Block* Parser::find_block(std::string_view name, const char* at) {
  auto& names = block_names_.back();
  if (!names) names = std::make_unique<BlockNames>();
  bool fresh;
  Block*& slot = names->map.at(name, &fresh);
  if (fresh) {
    slot = m_.arena.make<Block>();
    slot->name = name;
    names->undefined.push_back({slot, at});
  }
  return slot;
}

// ^bb1(%a: i32 loc(...), %b: f32):
void Parser::label(Region* region, Block*& block) {
  const char* start = p_++;
  std::string_view name = suffix_id();
  if (name.empty()) return expected("a block's name after '^'");
  Block* made = find_block(name, start);
  if (made->region) return fail(start, "the block ^" + std::string(name) + " is defined twice");
  made->region = region;
  if (region->last) {
    made->index = region->last->index + 1;
    region->last->next = made;
  } else {
    region->first = made;
  }
  region->last = made;
  std::vector<BlockArg> args;
  if (eat('(')) block_args(args, ')');
  expect(":");
  if (failed()) return;
  made->text = since(start);
  add_block_args(made, args);
  block = made;
}

bool Parser::argument_name(BlockArg& arg, std::string_view wanted) {
  ws();
  arg.at = p_;
  if (*p_ != '%') return expected(wanted), false;
  ++p_;
  arg.name = suffix_id();
  return true;
}

void Parser::block_args(std::vector<BlockArg>& into, char close) {
  char text[2] = {close, 0};
  if (eat(close)) return;
  do {
    BlockArg arg{};
    if (!argument_name(arg, "an argument (%name: type)")) return;
    if (arg.name.empty()) return expected("an argument's name after '%'");
    if (!expect(":")) return;
    arg.type = type();
    if (!failed() && peek() == 'l' && next_is("loc")) arg.loc = location();
    into.push_back(arg);
  } while (!failed() && eat(','));
  expect(text);
}

void Parser::add_block_args(Block* block, std::span<const BlockArg> args) {
  block->args = m_.arena.array<Value>(args.size());
  for (size_t i = 0; i < args.size() && !failed(); ++i) {
    Value& value = block->args[i];
    value.type = args[i].type;
    value.block = block;
    value.index = static_cast<uint32_t>(i);
    value.loc = args[i].loc;
    define(args[i].name, block->args.subspan(i, 1), args[i].at);
  }
}

// ^bb1 or ^bb1(%a, %b : i32, f32); the arguments are operands of `group`.
void Parser::successor(uint8_t group) {
  ws();
  const char* at = p_;
  if (*p_ != '^') return expected("a block (^name)");
  ++p_;
  std::string_view name = suffix_id();
  if (name.empty()) return expected("a block's name after '^'");
  if (block_names_.empty()) return fail(at, "there are no blocks here");
  successors_.push_back(find_block(name, at));
  if (!eat('(')) return;
  size_t first = operands_.size();
  operand_list(group);
  if (!expect(":")) return;
  for (size_t i = first; i < operands_.size() && !failed(); ++i) {
    if (i > first && !expect(",")) return;
    read_type(operands_[i]);
  }
  expect(")");
}

}  // namespace triton_runner::ir
