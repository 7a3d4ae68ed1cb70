// hsaco to AMDGCN: functions are found by their symbols, places that are jumped to become labels, and addresses that are made
// relative to the program counter become the names of what lies there.
#include <triton_runner/amdgcn/code_object.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <triton_runner/amdgcn/decode.h>
#include <triton_runner/artifact/hsaco.h>
#include <triton_runner/base/text.h>
#include <triton_runner/base/try.h>

#include "descriptor.h"
#include "lines.h"

namespace triton_runner::amdgcn {
namespace {

using artifact::Json;

struct Function {
  std::string_view name;
  uint64_t address = 0, size = 0;
  bool is_wave32 = false;
};

struct Line {
  uint64_t address;
  Decoded decoded;
};

std::string_view string_of(const Json& map, std::string_view key) {
  const Json* value = map.get(key);
  return value && value->as_string() ? std::string_view(*value->as_string()) : std::string_view();
}

class Reader {
 public:
  Reader(const artifact::Elf& elf, const Json& metadata, Chip chip, const std::string& filename)
      : elf_(elf), metadata_(metadata), chip_(chip), filename_(filename), lines_(read_lines(elf)) {}

  base::Result<std::string> read() {
    text_ = elf_.section(".text");
    if (!text_ || text_->content.empty()) return bad("it has no .text");
    TRY(find_functions());
    out_ = "\t.amdgcn_target \"amdgcn-amd-amdhsa--" + std::string(name_of(chip_)) + "\"\n\t.text\n";
    for (size_t i = 0; i < lines_.files.size(); ++i)
      if (!lines_.files[i].empty())
        out_ += "\t.file\t" + std::to_string(i) + " \"" + lines_.files[i] + "\"\n";
    for (size_t i = 0; i < functions_.size(); ++i) TRY(write_function(functions_[i], i));
    for (const auto& [name, descriptor] : descriptors_) out_ += text_of(descriptor, name, chip_);
    out_ += "\t.amdgpu_metadata\n---\n";
    write_yaml(metadata_, 0, false);
    out_ += "...\n\t.end_amdgpu_metadata\n";
    return std::move(out_);
  }

 private:
  base::Diagnostic bad(std::string message, std::vector<std::string> notes = {}) const {
    base::Diagnostic d = base::failure("malformed hsaco: " + std::move(message), std::move(notes));
    d.location.file = filename_;
    return d;
  }

  // The bytes at an address of the loaded file; empty where it has none.
  std::string_view bytes_at(uint64_t address, uint64_t size) const {
    for (const artifact::Section& s : elf_.sections)
      if (s.address && address >= s.address && address - s.address <= s.content.size() &&
          s.content.size() - (address - s.address) >= size)
        return s.content.substr(address - s.address, size);
    return {};
  }

  base::Status find_functions() {
    constexpr uint8_t kObject = 1, kFunction = 2;
    std::map<std::string_view, const artifact::Symbol*> objects;
    for (const artifact::Symbol& s : elf_.symbols)
      if (s.type == kObject) objects[s.name] = &s;
    bool is_wave32 = false;
    std::set<std::string_view> kernels;
    for (const Json& kernel : *metadata_.get("amdhsa.kernels")->as_array()) {
      const std::string_view name = string_of(kernel, ".name"), symbol = string_of(kernel, ".symbol");
      const auto found = objects.find(symbol);
      if (name.empty() || name.find_first_of(" \t\n\"") != std::string_view::npos)
        return bad("a kernel has no name");
      if (found == objects.end()) return bad("kernel '" + std::string(name) + "' has no descriptor");
      const std::string_view bytes = bytes_at(found->second->value, kDescriptorBytes);
      if (bytes.empty()) return bad("the descriptor of kernel '" + std::string(name) + "' is cut off");
      if (!kernels.insert(name).second) continue;
      Descriptor d = read_descriptor(bytes, kernel);
      is_wave32 = d.is_wave32();
      descriptors_.emplace_back(name, std::move(d));
    }
    if (kernels.empty()) return bad("no kernel is in it");
    for (const artifact::Symbol& s : elf_.symbols) {
      if (s.type != kFunction || s.section == 0) continue;
      if (s.value < text_->address || s.value - text_->address > text_->content.size() ||
          text_->content.size() - (s.value - text_->address) < s.size ||
          text_->content.size() == s.value - text_->address)
        return bad("function '" + std::string(s.name) + "' lies outside of .text");
      if (s.size % 4 != 0 || s.value % 4 != 0)
        return bad("function '" + std::string(s.name) + "' has " + std::to_string(s.size) + " bytes at " +
                   base::hex(s.value));
      if (s.name.empty() || s.name.find_first_of(" \t\n\"") != std::string_view::npos)
        return bad("a function has no name");
      functions_.push_back({s.name, s.value, s.size, is_wave32});
      for (const auto& [name, d] : descriptors_)
        if (name == s.name) functions_.back().is_wave32 = d.is_wave32();
      kernels.erase(s.name);
    }
    if (!kernels.empty()) return bad("kernel '" + std::string(*kernels.begin()) + "' has no code");
    std::ranges::stable_sort(functions_, {}, &Function::address);
    const auto same = [](const Function& a, const Function& b) { return a.name == b.name; };
    functions_.erase(std::unique(functions_.begin(), functions_.end(), same), functions_.end());
    // Assembly by hand may not say where a function ends: before the next one, or with the section.
    for (size_t i = 0; i < functions_.size(); ++i)
      if (functions_[i].size == 0) {
        const uint64_t end =
            i + 1 < functions_.size() ? functions_[i + 1].address : text_->address + text_->content.size();
        functions_[i].size = (end - functions_[i].address) / 4 * 4;
      }
    for (const artifact::Symbol& s : elf_.symbols)
      if ((s.type == kObject || s.type == kFunction) && s.section && !s.name.empty())
        names_[s.value] = s.name;
    return base::success();
  }

  base::Status write_function(const Function& f, size_t number) {
    const std::string_view bytes = text_->content.substr(f.address - text_->address, f.size);
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    std::vector<Line> lines;
    std::set<uint64_t> starts;
    std::map<uint64_t, std::string> labels;
    for (size_t at = 0; at < words.size();) {
      const auto rest = std::span<const uint32_t>(words).subspan(at);
      Line line{f.address + at * 4, decode(chip_, f.is_wave32, rest)};
      if (!line.decoded.error.empty()) return undecoded(f, at, rest, line.decoded.error);
      at += line.decoded.words;
      starts.insert(line.address);
      if (line.decoded.jump) labels[f.address + at * 4 + static_cast<uint64_t>(*line.decoded.jump)];
      lines.push_back(std::move(line));
    }
    size_t next = 0;
    for (auto& [address, label] : labels) {
      if (!starts.contains(address) && address != f.address + f.size)
        return bad("in '" + std::string(f.name) + "': a jump leads to " + base::hex(address) +
                   ", where no instruction begins");
      label = ".LBB" + std::to_string(number) + "_" + std::to_string(next++);
    }
    name_addresses(lines, words, f);
    out_ += "\t.globl\t" + std::string(f.name) + "\n\t.type\t" + std::string(f.name) + ",@function\n" +
            std::string(f.name) + ":\n";
    const SourceRow* last = nullptr;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (const size_t end = end_of_padding(lines, i, labels); end > i) {
        out_ += "\t.p2align\t8\n";
        i = end;
      }
      const Line& line = lines[i];
      if (const auto label = labels.find(line.address); label != labels.end()) out_ += label->second + ":\n";
      const SourceRow* place = lines_.at(line.address);
      if (place && place != last)
        out_ += "\t.loc\t" + std::to_string(place->file) + " " + std::to_string(place->line) + " " +
                std::to_string(place->column) + "\n";
      last = place;
      out_ += "\t" + line.decoded.text;
      if (line.decoded.jump)
        out_ += labels.at(line.address + line.decoded.words * 4 + static_cast<uint64_t>(*line.decoded.jump));
      out_ += "\n";
    }
    if (const auto label = labels.find(f.address + f.size); label != labels.end())
      out_ += label->second + ":\n";
    out_ += ".Lfunc_end" + std::to_string(number) + ":\n";
    return base::success();
  }

  // Between an instruction that always jumps and a place at a multiple of 256 bytes that is jumped to, s_nop fills the
  // space. Returns the line of that place, or `from`.
  static size_t end_of_padding(const std::vector<Line>& lines, size_t from,
                               const std::map<uint64_t, std::string>& labels) {
    if (from == 0 || !lines[from - 1].decoded.text.starts_with("s_branch")) return from;
    size_t at = from;
    while (at < lines.size() && lines[at].decoded.text == "s_nop 0" && !labels.contains(lines[at].address))
      ++at;
    return at < lines.size() && lines[at].address % 256 == 0 && labels.contains(lines[at].address) ? at
                                                                                                   : from;
  }

  base::Diagnostic undecoded(const Function& f, size_t at, std::span<const uint32_t> rest,
                             const std::string& why) const {
    const uint64_t offset = f.address - text_->address + at * 4;
    std::string words;
    for (size_t i = 0; i < std::min<size_t>(rest.size(), 2); ++i)
      words += (i ? " " : "") + base::hex(rest[i]);
    base::Diagnostic d =
        base::failure(".text+" + base::hex(offset) + ": " + words + " is no instruction of " +
                          std::string(name_of(chip_)) + " that is decoded: " + why,
                      {"it is byte " + std::to_string(at * 4) + " of '" + std::string(f.name) + "'",
                       "the text that Triton's cache has beside it (.amdgcn) is executed without decoding"});
    d.location.file = filename_;
    return d;
  }

  // s_getpc_b64 s[0:1]; s_add_u32 s0, s0, 0x1234; s_addc_u32 s1, s1, 0: the sum is the address of a symbol, which stands in
  // the text as LLVM has it: s0, f@rel32@lo+4, and s1, f@rel32@hi+12.
  void name_addresses(std::vector<Line>& lines, const std::vector<uint32_t>& words, const Function& f) {
    constexpr size_t kReach = 8;  // instructions
    for (size_t i = 0; i < lines.size(); ++i) {
      std::string_view pair = lines[i].decoded.text;
      if (!base::take(pair, "s_getpc_b64 s[")) continue;
      const std::string low = "s" + std::string(pair.substr(0, pair.find(':')));
      const std::string high =
          "s" + std::string(pair.substr(pair.find(':') + 1, pair.size() - pair.find(':') - 2));
      const uint64_t base = lines[i].address + 4;
      std::string_view symbol;
      for (size_t k = i + 1; k < std::min(lines.size(), i + 1 + kReach); ++k) {
        std::string& text = lines[k].decoded.text;
        const bool is_low = text.ends_with(literal_of(lines[k], words, f)) &&
                            (text.starts_with("s_add_u32 " + low + ", " + low + ", ") ||
                             text.starts_with("s_add_co_u32 " + low + ", " + low + ", "));
        const bool is_high =
            symbol.data() && (text.starts_with("s_addc_u32 " + high + ", " + high + ", ") ||
                              text.starts_with("s_add_co_ci_u32 " + high + ", " + high + ", "));
        if (!(symbol.data() ? is_high : is_low) || lines[k].decoded.words != 2) continue;
        const uint64_t place = lines[k].address + 4;
        if (is_low) {
          const auto value = static_cast<int32_t>(words[(place - f.address) / 4]);
          const auto found = names_.find(base + static_cast<uint64_t>(int64_t{value}));
          if (found == names_.end()) break;
          symbol = found->second;
        }
        text.resize(text.rfind(' ') + 1);
        text += std::string(symbol) + (is_low ? "@rel32@lo+" : "@rel32@hi+") + std::to_string(place - base);
        if (is_high) break;
      }
    }
  }

  static std::string literal_of(const Line& line, const std::vector<uint32_t>& words, const Function& f) {
    if (line.decoded.words != 2) return "\n";
    return base::hex(words[(line.address + 4 - f.address) / 4]);
  }

  void write_yaml(const Json& value, int depth, bool begins) {
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    if (const Json::Object* map = value.as_object()) {
      for (const auto& [key, item] : *map) {
        out_ += begins ? "" : indent;
        begins = false;
        const std::string name = one_line(key) + ":";
        out_ += name;
        if (item.as_array() || item.as_object()) {
          out_ += "\n";
          write_yaml(item, depth + 1, false);
        } else {
          out_ += std::string(name.size() < 16 ? 17 - name.size() : 1, ' ');
          write_yaml(item, depth, false);
        }
      }
    } else if (const Json::Array* list = value.as_array()) {
      for (const Json& item : *list) {
        out_ += indent + "- ";
        write_yaml(item, depth + 1, true);
      }
    } else if (const int64_t* number = value.as_int()) {
      out_ += std::to_string(*number) + "\n";
    } else if (const bool* yes = value.as_bool()) {
      out_ += *yes ? "true\n" : "false\n";
    } else {
      out_ += (value.as_string() ? one_line(*value.as_string()) : "") + "\n";
    }
  }

  static std::string one_line(std::string text) {
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    return text;
  }

  const artifact::Elf& elf_;
  const Json& metadata_;
  Chip chip_;
  const std::string& filename_;
  LineTable lines_;
  const artifact::Section* text_ = nullptr;
  std::vector<Function> functions_;
  std::vector<std::pair<std::string_view, Descriptor>> descriptors_;
  std::map<uint64_t, std::string_view> names_;
  std::string out_;
};

}  // namespace

base::Result<std::string> listing(std::string_view bytes, const std::string& filename) {
  const artifact::Elf elf = TRY(artifact::read_elf(bytes, "hsaco", filename));
  const Json metadata = TRY(artifact::hsaco_metadata(elf, filename));
  const auto failed = [&](std::string message, std::string note) {
    base::Diagnostic d = base::failure(std::move(message), {std::move(note)});
    d.location.file = filename;
    return d;
  };
  const std::optional<Chip> chip = chip_of_flags(elf.flags);
  if (!chip) {
    const std::string_view target = string_of(metadata, "amdhsa.target");
    return failed("hsaco of " + std::string(target.substr(std::min(target.rfind("gfx"), target.size()))) +
                      " (machine " + base::hex(elf.flags & 0xff) + ") is not decoded",
                  "those of gfx90a, gfx942, gfx950, gfx1100 and gfx1201 are");
  }
  constexpr char kRelocatable = 1;
  if (bytes[16] == kRelocatable)
    return failed("the file is an object that was not linked: its addresses are not known",
                  "ld.lld -shared links it, as Triton does for its hsaco");
  // Versions of code objects: 1 is 3, ..., 3 is 5 and 4 is 6.
  if (elf.abi_version < 1 || elf.abi_version > 4)
    return failed(
        "the code object's version is not known (ABI version " + std::to_string(elf.abi_version) + ")",
        "versions 3 to 6 are read");
  return Reader(elf, metadata, *chip, filename).read();
}

}  // namespace triton_runner::amdgcn
