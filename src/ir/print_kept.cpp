// Prints a module of which parts were edited: everything else keeps the text that it was read from.
// printer.cpp writes the edited parts.
#include <functional>

#include "parser.h"
#include "printer.h"

namespace triton_runner::ir {

// A stretch of the source without the ops that were erased from it.
void Printer::source(const char* from, const char* to) {
  for (std::string_view gone : m_.erased) {
    if (gone.data() < from || gone.data() >= to) continue;
    const char* lead = gone.data();
    while (lead > from && is_space(lead[-1])) --lead;
    out.append(from, lead);
    from = gone.data() + gone.size();
  }
  if (from < to) out.append(from, to);
}

void Printer::kept_op(const Op& op) {
  if (!op.edited_inside) {
    out += op.text;
    return;
  }
  const char* at = op.text.data();
  std::function<void(const Op&)> regions = [&](const Op& holder) {
    for (const Region* inner : holder.regions) {
      if (inner->text.empty()) {  // of an op that the text implies
        for (const Block* block = inner->first; block; block = block->next)
          for (const Op* o = block->first; o; o = o->next) regions(*o);
        continue;
      }
      source(at, inner->text.data());
      kept_region(inner);
      at = inner->text.data() + inner->text.size();
    }
  };
  regions(op);
  source(at, op.text.data() + op.text.size());
}

void Printer::kept_region(const Region* region, bool entry_args) {
  const char* at = region->text.data();
  auto column = [&](const Op* o) {
    int n = 0;
    for (const char* q = o->text.data(); q > m_.source.data() && q[-1] == ' '; --q) ++n;
    return n;
  };
  for (const Block* block = region->first; block; block = block->next) {
    if (!block->text.empty()) {
      source(at, block->text.data());
      if (block->edited)
        label_head(block);
      else
        out += block->text;
      at = block->text.data() + block->text.size();
    } else if (block->edited && entry_args && !block->args.empty() && block == region->first) {
      source(at, at + 1), ++at;  // the brace; the text named no block here
      new_line();
      label_head(block);
    }
    for (const Op* o = block->first; o; o = o->next) {
      int outer = indent_;
      if (o->text.empty()) {
        const Op* near = nullptr;
        for (const Op* p = o->prev; p && !near; p = p->prev)
          if (!p->text.empty()) near = p;
        for (const Op* n = o->next; n && !near; n = n->next)
          if (!n->text.empty()) near = n;
        if (near)
          indent_ = column(near);
        else if (region->parent && !region->parent->text.empty())
          indent_ = column(region->parent) + 2;
        if (at == region->text.data()) source(at, at + 1), ++at;  // the brace
        new_line();
        op(*o);
      } else {
        source(at, o->text.data());
        indent_ = column(o);
        op(*o);
        at = o->text.data() + o->text.size();
      }
      indent_ = outer;
    }
  }
  source(at, region->text.data() + region->text.size());
}

}  // namespace triton_runner::ir
