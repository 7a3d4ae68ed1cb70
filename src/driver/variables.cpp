// Implements the variables of modules: where they lie, and code in which they begin with what they held.
#include "variables.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <triton_runner/base/try.h>
#include <triton_runner/simt/simt.h>

namespace triton_runner::driver {
namespace {

Address place_block(Module& module, const std::string& label, uint64_t bytes, uint64_t align,
                    bool is_writable) {
  Block* block = state().blocks.allocate(bytes, Kind::kVariable, "variable", std::max<uint64_t>(align, 256));
  if (!block) throw std::bad_alloc();
  block->label = label + " (" + std::to_string(bytes) + " bytes)";
  block->is_writable = is_writable;
  block->context = module.context;
  module.blocks.push_back(block->address);
  return block->address;
}

Module::Variable place(Module& module, std::string_view name, uint64_t bytes, uint64_t align,
                       bool is_writable) {
  const Address at = place_block(module, "variable '" + std::string(name) + "'", bytes, align, is_writable);
  (*module.addresses)[std::string(name)] = at;
  return module.variables[std::string(name)] = {at, bytes};
}

void put_pointer(Module& module, const artifact::CubinKernel::Pointer& p, Address holder, uint64_t bytes) {
  auto target = module.variables.find(p.symbol);
  if (target == module.variables.end() || p.offset + 8 > bytes) return;
  const uint64_t value = p.value + target->second.address;
  std::memcpy(reinterpret_cast<char*>(holder) + p.offset, &value, 8);
}

// The constant memory of a cubin, whose variables lie in one bank.
void place_constants(Module& module, const artifact::CubinKernel& kernel) {
  const std::string name(artifact::kConstantMemory);
  if (kernel.constants.empty() || module.addresses->contains(name)) return;
  const std::string& bank = kernel.banks.at(3);
  const Address at = place_block(module, name, bank.size(), 256, false);
  std::memcpy(reinterpret_cast<void*>(at), bank.data(), bank.size());
  (*module.addresses)[name] = at;
  for (const auto& c : kernel.constants) module.variables[c.name] = {at + c.offset, c.bytes};
  for (const auto& p : kernel.pointers)
    if (p.bank == 3) put_pointer(module, p, at, bank.size());
}

// Visits the variables of memory that a text declares, those in its functions too.
template <class Visit>
void each_variable(const ptx::Module& text, Visit&& visit) {
  auto each = [&](const ptx::Variable& v) {
    const bool is_memory = v.space == ptx::Space::kGlobal || v.space == ptx::Space::kConst;
    if (is_memory && !v.is_extern && v.bytes > 0) visit(v);
  };
  for (const ptx::Variable& v : text.variables()) each(v);
  for (const ptx::Function* fn : text.functions())
    for (const ptx::Variable& v : fn->variables) each(v);
}

uint64_t address_of(const Module& module, const ptx::Variable::Relocation& r) {
  const auto it = module.variables.find(r.symbol);
  const uint64_t base =
      it != module.variables.end() ? it->second.address : simt::function_address(*module.ptx, r.symbol);
  return base + static_cast<uint64_t>(r.addend);
}

uint64_t word_at(std::string_view bytes, size_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, 8);
  return word;
}

// Fails where words of a variable are addresses of memory, which a case does not have.
base::Status check_addresses(const std::string& name, std::string_view bytes) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8)
    if (const Block* block = state().blocks.find(word_at(bytes, at)))
      return base::failure("variable '" + name + "' holds an address of " + block->label +
                           ", and a case has only the memory that parameters point to");
  return base::success();
}

// A PTX variable as it is declared, with what it held. Values are kept by `bytes` and `relocations`.
struct Changed {
  std::string bytes;
  std::vector<ptx::Variable::Relocation> relocations;
  ptx::Variable variable;
};

base::Result<Changed> changed(const Module& module, const ptx::Variable& v, std::string bytes) {
  Changed out{std::move(bytes), {}, v};
  const size_t element = v.type == ptx::Mod::kNone ? 1 : static_cast<size_t>(ptx::bits(v.type) + 7) / 8;
  const auto point_to = [&](const ptx::Variable::Relocation& r) {
    out.relocations.push_back(r);
    if (r.offset + 8 <= out.bytes.size()) std::memset(out.bytes.data() + r.offset, 0, 8);
  };
  size_t next = 0;
  for (size_t at = 0; at < out.bytes.size(); ++at) {
    while (next < v.relocations.size() && v.relocations[next].offset < at) ++next;
    if (at + 8 > out.bytes.size()) break;
    const uint64_t word = word_at(out.bytes, at);
    if (next < v.relocations.size() && v.relocations[next].offset == at &&
        word == address_of(module, v.relocations[next])) {
      point_to(v.relocations[next]);
    } else if (at % 8 == 0 && (element == 8 || element == 1)) {
      for (const auto& [name, other] : module.variables)
        if (word - other.address < other.bytes)
          point_to({at, name, static_cast<int64_t>(word - other.address)});
    }
  }
  TRY(check_addresses(std::string(v.name), out.bytes));
  // The values after the last one that is not 0 need not be written.
  size_t last = out.relocations.empty() ? 0 : out.relocations.back().offset + 8;
  last = std::max(last, out.bytes.find_last_not_of('\0') + 1);
  out.bytes.resize(std::min(out.bytes.size(), std::max<size_t>(1, (last + element - 1) / element) * element));
  return out;
}

base::Result<std::string> text_with(const Module& module, const Contents& held) {
  std::vector<const ptx::Variable*> all;
  each_variable(*module.ptx, [&](const ptx::Variable& v) { all.push_back(&v); });
  std::vector<Changed> kept;
  for (const ptx::Variable* v : all) {
    const auto it = held.find(v->name);
    if (it == held.end()) continue;
    Changed now = TRY(changed(module, *v, it->second));
    std::string before(reinterpret_cast<const char*>(v->initial.data()), v->initial.size());
    const bool is_same =
        now.relocations.size() == v->relocations.size() &&
        std::ranges::equal(now.relocations, v->relocations, {}, &ptx::Variable::Relocation::offset,
                           &ptx::Variable::Relocation::offset);
    const size_t most = std::max(before.size(), now.bytes.size());
    std::string after = now.bytes;
    before.resize(most), after.resize(most);
    if (!is_same || before != after) kept.push_back(std::move(now));
  }
  std::vector<ptx::Variable> variables;
  for (Changed& c : kept) {
    c.variable.initial = std::as_bytes(std::span<const char>(c.bytes));
    c.variable.relocations = c.relocations;
    variables.push_back(c.variable);
  }
  return ptx::with_initial_values(*module.ptx, std::move(variables));
}

base::Result<std::string> machine_code_with(const Module& module, const Contents& held) {
  Contents now = held;
  for (const auto& f : module.functions) {
    const artifact::CubinKernel kernel = TRY(artifact::read_cubin_kernel(module.bytes, f->name, "<module>"));
    // An address that a loader puts into a variable stays as the code has it.
    const auto restore = [&](const artifact::CubinKernel::Pointer& p, const std::string& name, size_t offset,
                             const std::string& bytes, size_t from) {
      const auto holder = now.find(name);
      const auto target = module.variables.find(p.symbol);
      if (holder == now.end() || target == module.variables.end() || offset + 8 > holder->second.size())
        return;
      if (word_at(holder->second, offset) == p.value + target->second.address)
        std::memcpy(holder->second.data() + offset, bytes.data() + from, 8);
    };
    for (const auto& p : kernel.pointers) {
      if (p.bank < 0) {
        const auto& v = kernel.variables[p.variable];
        restore(p, v.name, p.offset, v.bytes, p.offset);
      }
      for (const auto& c : kernel.constants)
        if (p.bank == 3 && p.offset >= c.offset)
          restore(p, c.name, p.offset - c.offset, kernel.banks.at(3), p.offset);
    }
  }
  for (const auto& [name, bytes] : now) TRY(check_addresses(name, bytes));
  return artifact::with_variables(module.bytes, now, "<module>");
}

}  // namespace

void place_variables(Module& module) {
  const ptx::Module& text = *module.ptx;
  each_variable(text, [&](const ptx::Variable& v) {
    const Module::Variable at = place(module, v.name, v.bytes, v.align, v.space == ptx::Space::kGlobal);
    std::copy_n(v.initial.begin(), std::min<size_t>(v.initial.size(), v.bytes),
                reinterpret_cast<std::byte*>(at.address));
  });
  each_variable(text, [&](const ptx::Variable& v) {
    for (const auto& r : v.relocations) {
      const uint64_t value = address_of(module, r);
      if (r.offset + 8 <= v.bytes)
        std::memcpy(reinterpret_cast<char*>(module.variables.find(v.name)->second.address) + r.offset, &value,
                    8);
    }
  });
}

void place_variables(Module& module, const artifact::CubinKernel& kernel) {
  std::vector<bool> is_new;
  for (const auto& v : kernel.variables) {
    is_new.push_back(!module.variables.contains(v.name));
    if (!is_new.back()) continue;
    const Module::Variable at = place(module, v.name, v.bytes.size(), v.align, true);
    std::copy(v.bytes.begin(), v.bytes.end(), reinterpret_cast<char*>(at.address));
  }
  for (const auto& p : kernel.pointers) {
    if (p.bank >= 0 || !is_new[p.variable]) continue;
    const auto& holder = module.variables.find(kernel.variables[p.variable].name)->second;
    put_pointer(module, p, holder.address, holder.bytes);
  }
  place_constants(module, kernel);
}

Contents contents_of(const Module& module) {
  Contents out;
  for (const auto& [name, v] : module.variables)
    out.emplace(name, std::string(reinterpret_cast<const char*>(v.address), v.bytes));
  return out;
}

base::Result<std::string> code_with(const Module& module, const Contents& held) {
  return module.ptx ? text_with(module, held) : machine_code_with(module, held);
}

}  // namespace triton_runner::driver
