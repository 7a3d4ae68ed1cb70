// Compiles the forms column of opcodes.def, on first use, into sets of modifiers, and matches an
// instruction's modifiers with them: every modifier fills one slot, every required slot is filled, in any
// order.
#include "forms.h"

#include <bitset>
#include <charconv>

namespace triton_runner::ptx {
namespace {

constexpr size_t kModCount = 0
#define TYPE(...) +1
#define MOD(...) +1
#include <triton_runner/ptx/modifiers.def>
    ;

struct Slot {
  std::bitset<kModCount> mods;
  bool optional = false;
};
struct Form {
  std::vector<Slot> slots;
  bool anything = false;
  uint32_t least = 0, most = ~0u;
};

struct Set {
  std::string_view name, alternatives;
};
constexpr Set kSets[] = {
#define SET(name, alternatives) {name, alternatives},
#include <triton_runner/ptx/opcodes.def>
};

// The pieces of `text` between `separator`s.
template <class F>
void split(std::string_view text, std::string_view separator, F&& take) {
  while (true) {
    const size_t end = text.find(separator);
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + separator.size());
  }
}

void add_alternatives(std::string_view text, Slot* slot) {
  split(text, "|", [&](std::string_view name) {
    if (name.starts_with('<')) {
      for (const Set& set : kSets)
        if (set.name == name.substr(1, name.size() - 2)) add_alternatives(set.alternatives, slot);
    } else if (name.ends_with('*')) {
      for (size_t m = 1; m < kModCount; ++m)
        if (text.size() > 1 && ptx::text(static_cast<Mod>(m)).starts_with(name.substr(0, name.size() - 1)))
          slot->mods.set(m);
    } else if (Mod mod = find_mod(name); mod != Mod::kNone) {
      slot->mods.set(static_cast<size_t>(mod));
    }
  });
}

std::vector<Form> compile(std::string_view text) {
  std::vector<Form> forms;
  split(text, " / ", [&](std::string_view form_text) {
    Form form;
    split(form_text, " ", [&](std::string_view word) {
      if (word.empty()) return;
      if (word == "*") {
        form.anything = true;
      } else if (word[0] == ':') {
        const char* end = word.data() + word.size();
        const char* p = std::from_chars(word.data() + 1, end, form.least).ptr;
        form.most = form.least;
        if (p != end) std::from_chars(p + 1, end, form.most);
      } else {
        Slot slot;
        slot.optional = word.ends_with('?');
        if (slot.optional) word.remove_suffix(1);
        add_alternatives(word, &slot);
        form.slots.push_back(slot);
      }
    });
    forms.push_back(std::move(form));
  });
  return forms;
}

const std::vector<Form>& forms_of(Opcode opcode) {
  static const std::vector<std::vector<Form>> all = [] {
    std::vector<std::vector<Form>> out;
    for (const OpcodeRow& row : opcode_table()) out.push_back(compile(row.forms));
    return out;
  }();
  return all[static_cast<size_t>(opcode)];
}

std::string list(const std::bitset<kModCount>& mods, size_t limit) {
  std::string out;
  size_t n = 0;
  for (size_t m = 0; m < kModCount; ++m) {
    if (!mods[m]) continue;
    if (n++ == limit) return out + ", ...";
    out += (out.empty() ? "." : ", .") + std::string(text(static_cast<Mod>(m)));
  }
  return out;
}

// How far `mods` fit one form.
struct Match {
  int wrong = -1;    // the first modifier that fills no slot
  size_t left = 0;   // how many of them
  int missing = -1;  // the first required slot that stays empty
  size_t lacking = 0;
};
Match match(const Form& form, std::span<const Mod> mods) {
  Match out;
  uint64_t filled = 0;
  for (size_t i = 0; i < mods.size(); ++i) {
    bool found = false;
    for (size_t s = 0; s < form.slots.size() && !found; ++s) {
      if (filled >> s & 1 || !form.slots[s].mods[static_cast<size_t>(mods[i])]) continue;
      filled |= uint64_t{1} << s;
      found = true;
    }
    if (found) continue;
    if (out.wrong < 0) out.wrong = static_cast<int>(i);
    ++out.left;
  }
  for (size_t s = 0; s < form.slots.size(); ++s) {
    if (filled >> s & 1 || form.slots[s].optional) continue;
    if (out.missing < 0) out.missing = static_cast<int>(s);
    ++out.lacking;
  }
  return out;
}

}  // namespace

FormCheck check_form(Opcode opcode, std::span<const Mod> mods) {
  FormCheck out;
  const Form* closest = nullptr;
  Match best;
  bool any = false;
  for (const Form& form : forms_of(opcode)) {
    if (form.anything) return out;
    const Match m = match(form, mods);
    if (m.left == 0 && m.lacking == 0) {
      out.least = any ? std::min(out.least, form.least) : form.least;
      out.most = any ? std::max(out.most, form.most) : form.most;
      any = true;
    } else if (!closest || m.left * 4 + m.lacking < best.left * 4 + best.lacking) {
      closest = &form, best = m;
    }
  }
  if (any || !closest) return out;
  out.ok = false;
  out.wrong = best.wrong;
  const std::string name(text(opcode));
  if (best.wrong >= 0) {
    const Mod mod = mods[static_cast<size_t>(best.wrong)];
    bool known = false, twice = false;
    for (const Form& form : forms_of(opcode))
      for (const Slot& slot : form.slots) known |= slot.mods[static_cast<size_t>(mod)];
    for (int i = 0; i < best.wrong; ++i) twice |= mods[static_cast<size_t>(i)] == mod;
    out.message = "'." + std::string(text(mod)) + "' " +
                  (!known  ? "is not a modifier of " + name
                   : twice ? "stands too often in this " + name
                           : "does not go with the other modifiers of this " + name);
  } else {
    out.message = name + " lacks one of " + list(closest->slots[static_cast<size_t>(best.missing)].mods, 16);
  }
  out.notes.push_back("see PTX ISA " + std::string(row(opcode).section));
  return out;
}

bool takes_anything(Opcode opcode) {
  for (const Form& form : forms_of(opcode))
    if (form.anything) return true;
  return false;
}

std::vector<std::string> modifiers_of(Opcode opcode) {
  std::bitset<kModCount> all;
  for (const Form& form : forms_of(opcode))
    for (const Slot& slot : form.slots) all |= slot.mods;
  std::vector<std::string> out;
  for (size_t m = 0; m < kModCount; ++m)
    if (all[m]) out.push_back("." + std::string(text(static_cast<Mod>(m))));
  return out;
}

}  // namespace triton_runner::ptx
