// Writes exec::Arguments as parameter bytes: words, floats of the kernel's width, tensor maps, descriptors in
// pieces, scratch buffers.
#include "code/arguments.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <triton_runner/base/try.h>
#include <triton_runner/exec/memory.h>
#include <triton_runner/exec/scalar.h>
#include <triton_runner/exec/tensor_map.h>
#include <triton_runner/num/types.h>

namespace triton_runner::simt {
namespace {

using exec::Argument;
using exec::Param;
using exec::ParamKind;

}  // namespace

uint64_t ArgumentPlan::pointers() const {
  uint64_t found = 0;
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].form == Form::kWord && entries_[i].place < 64 &&
        (params_[i].kind == ParamKind::kPointer || (from_text_ && places_[entries_[i].place].bytes == 8)))
      found |= uint64_t{1} << entries_[i].place;
  return found;
}

std::string ArgumentPlan::name_at(size_t place) const {
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].place == place) return params_[i].name;
  return places_[place].param.name;
}

base::Result<ArgumentPlan> ArgumentPlan::make(const Code& code, const LoadOptions& options) {
  ArgumentPlan plan;
  plan.kernel_ = code.kernel;
  plan.hidden_ = options.hidden_pointers;
  plan.scratch_[0] = options.global_scratch;
  plan.scratch_[1] = options.profile_scratch;
  plan.layouts_ = options.descriptors;
  plan.total_bytes_ = code.param_bytes;
  plan.places_ = code.params;
  if (plan.hidden_ < 0 || plan.hidden_ > 2 || static_cast<size_t>(plan.hidden_) > code.params.size())
    return base::failure("kernel '" + plan.kernel_ + "' has " + std::to_string(code.params.size()) +
                         " parameters, and " + std::to_string(plan.hidden_) + " hidden ones were asked for");
  plan.from_text_ = options.params.empty();
  plan.params_ = options.params;
  for (size_t i = 0; plan.from_text_ && i + static_cast<size_t>(plan.hidden_) < code.params.size(); ++i)
    plan.params_.push_back(code.params[i].param);
  // A tensor map is followed by its shape and strides in Triton's kernels, and stands alone in others.
  base::Status placed = plan.place_all(!plan.from_text_);
  if (!placed && !plan.from_text_ && plan.place_all(false)) placed = base::success();
  if (!placed) return placed.error();
  return plan;
}

base::Status ArgumentPlan::place_all(bool with_shapes) {
  entries_.clear();
  size_t next = 0, descriptors = 0;
  const size_t visible = places_.size() - static_cast<size_t>(hidden_);
  for (size_t i = 0; i < params_.size(); ++i) {
    const Param& p = params_[i];
    Entry entry{Form::kWord, next, 1};
    const uint32_t bytes = next < visible ? places_[next].bytes : 0;
    if (p.kind == ParamKind::kTensorDesc) {
      if (bytes == exec::kTensorMapBytes) {
        entry.form = Form::kMap;
        if (descriptors < layouts_.size()) {
          entry.layout = static_cast<int>(descriptors++);
          if (with_shapes)
            entry.count = 1 + 2 * rank_behind(next, layouts_[static_cast<size_t>(entry.layout)]);
        } else if (!layouts_.empty()) {
          return bad(i, "the metadata's tensordesc_meta has only " + std::to_string(layouts_.size()) +
                            " descriptors");
        }
      } else {
        // base, then shape and strides of 8 bytes, flags of 1 byte, shape of 4 bytes and strides of 8.
        entry.form = Form::kPieces;
        size_t words = 0;
        while (next + words < visible && places_[next + words].bytes == 8) ++words;
        const size_t rank = words / 2;  // 1 + 2 * rank words
        if (words % 2 == 0 || rank == 0 || rank > 5)
          return bad(i, "the text has no parameters for a tensor descriptor there");
        while (next + words + entry.flags < visible && places_[next + words + entry.flags].bytes == 1)
          ++entry.flags;
        entry.count = 1 + 4 * rank + entry.flags;
      }
    } else if (bytes > 8 && p.kind == ParamKind::kPointer) {
      entry.form = Form::kBytes;
    } else if (p.kind == ParamKind::kFloat) {
      entry.form = Form::kFloat;
    }
    next += entry.count;
    entries_.push_back(entry);
  }
  if (next == visible) return base::success();
  return base::failure("kernel '" + kernel_ + "': the text has " + std::to_string(visible) + " parameters" +
                           (hidden_ ? " (hidden ones left out)" : "") + ", and the arguments take " +
                           std::to_string(next),
                       {signature()});
}

// Dimensions of the shape behind a tensor map: the block's, but in im2col mode, where 4-byte sizes count.
size_t ArgumentPlan::rank_behind(size_t map, const exec::DescriptorLayout& layout) const {
  if (!layout.im2col) return layout.block.size();
  size_t rank = 0;
  while (map + 1 + rank < places_.size() && places_[map + 1 + rank].bytes == 4) ++rank;
  return rank;
}

std::string ArgumentPlan::signature() const {
  std::string out = "the kernel's parameters are (";
  for (const Param& p : params_) {
    if (out.back() != '(') out += ", ";
    out += p.name + ": " + p.type;
  }
  return out + ")";
}

base::Diagnostic ArgumentPlan::bad(size_t i, const std::string& what) const {
  return base::failure("kernel '" + kernel_ + "': argument " + std::to_string(i) + " ('" + params_[i].name +
                           "', " + params_[i].type + "): " + what,
                       {signature()});
}

// The argument as the parameter's kind, where the text leaves the kind open; errors where they do not fit.
base::Result<Argument> ArgumentPlan::accepted(size_t i, const Argument& arg) const {
  const Param& p = params_[i];
  const Entry& entry = entries_[i];
  static const char* const kNames[] = {"a pointer", "an integer", "a float", "a tensor descriptor"};
  const auto wrong = [&] {
    return bad(i, std::string("expected ") + kNames[static_cast<int>(p.kind)] + ", got " +
                      kNames[static_cast<int>(arg.kind)]);
  };
  if (entry.form == Form::kMap || entry.form == Form::kPieces) {
    if (arg.kind == ParamKind::kPointer && entry.form == Form::kMap && arg.bits)
      return arg;  // bytes of a map
    if (arg.kind != ParamKind::kTensorDesc || !arg.descriptor) return wrong();
    if (std::string fault = exec::descriptor_fault(*arg.descriptor); !fault.empty()) return bad(i, fault);
    return arg;
  }
  if (arg.kind == ParamKind::kTensorDesc) return wrong();
  if (from_text_ && entry.form == Form::kWord && arg.kind != p.kind) {
    Argument out = arg;
    const uint32_t bytes = places_[entry.place].bytes;
    if (arg.kind == ParamKind::kFloat) {
      if (p.kind == ParamKind::kPointer) return wrong();
      if (bytes == 4) out.bits = exec::float_bits(num::Type::kF32, arg.bits);
      if (bytes < 4)
        return bad(i, "the text does not say which float of " + std::to_string(8 * bytes) + " bits it is");
      return out;
    }
    if (arg.kind == ParamKind::kPointer && bytes != 8) return wrong();
    if (p.kind == ParamKind::kFloat) return wrong();
    return out;
  }
  if (arg.kind != p.kind) return wrong();
  if (!exec::takes(p, arg.bits)) return bad(i, exec::misfit(p, arg.bits));
  return arg;
}

base::Status ArgumentPlan::put(PackedArguments& out, size_t place, uint64_t word) const {
  const Code::Parameter& p = places_[place];
  if (p.bytes > 8)
    return base::failure("kernel '" + kernel_ + "': parameter '" + p.param.name + "' is " +
                         std::to_string(p.bytes) + " bytes by value, which no argument gives");
  std::memcpy(out.bytes.data() + p.offset, &word, p.bytes);  // little-endian: the first bytes of it
  return base::success();
}

base::Status ArgumentPlan::put_map(PackedArguments& out, const Entry& entry,
                                   const exec::TensorDesc& desc) const {
  const exec::DescriptorLayout* layout =
      entry.layout < 0 ? nullptr : &layouts_[static_cast<size_t>(entry.layout)];
  if (layout) {
    const size_t rank = !layout->im2col    ? layout->block.size()
                        : entry.count == 1 ? desc.shape.size()
                                           : (entry.count - 1) / 2;
    if (layout->im2col != desc.im2col.has_value())
      return base::failure(layout->im2col ? "expected a TensorDescriptorIm2Col, got a tiled descriptor"
                                          : "expected a tiled TensorDescriptor, got one in im2col mode");
    if (rank != desc.shape.size())
      return base::failure("a tensor descriptor of " + std::to_string(desc.shape.size()) +
                           " dimensions, and the kernel was compiled for " + std::to_string(rank));
  }
  exec::encode_tensor_map(desc, out.bytes.data() + places_[entry.place].offset, layout);
  size_t at = entry.place + 1;
  if (entry.count == 1) return base::success();
  for (int64_t size : desc.shape) TRY(put(out, at++, static_cast<uint64_t>(size)));
  for (int64_t stride : desc.strides) TRY(put(out, at++, static_cast<uint64_t>(stride)));
  return base::success();
}

base::Status ArgumentPlan::put_pieces(PackedArguments& out, const Entry& entry,
                                      const exec::TensorDesc& desc) const {
  const size_t rank = (entry.count - 1 - entry.flags) / 4;
  if (rank != desc.shape.size())
    return base::failure("a tensor descriptor of " + std::to_string(desc.shape.size()) +
                         " dimensions, and the kernel was compiled for " + std::to_string(rank));
  size_t at = entry.place;
  std::vector<uint64_t> words{desc.address};
  for (int pass = 0; pass < 2; ++pass) {
    words.insert(words.end(), desc.shape.begin(), desc.shape.end());
    words.insert(words.end(), desc.strides.begin(), desc.strides.end());
    const bool of_desc[] = {desc.nan_padding, desc.round_to_tf32};
    if (pass == 0)
      for (size_t i = 0; i < entry.flags; ++i) words.push_back(i < 2 && of_desc[i] ? 1 : 0);
  }
  for (uint64_t word : words) TRY(put(out, at++, word));
  return base::success();
}

base::Result<PackedArguments> ArgumentPlan::pack(std::span<const Argument> args, int64_t blocks) const {
  if (args.size() != params_.size())
    return base::failure("kernel '" + kernel_ + "' takes " + std::to_string(params_.size()) + " argument" +
                             (params_.size() == 1 ? "" : "s") + ", and " + std::to_string(args.size()) +
                             (args.size() == 1 ? " was" : " were") + " given",
                         {signature()});
  PackedArguments out;
  out.bytes.resize(total_bytes_);
  for (size_t i = 0; i < args.size(); ++i) {
    auto arg = TRY(accepted(i, args[i]));
    const Entry& entry = entries_[i];
    base::Status done = base::success();
    switch (entry.form) {
      case Form::kWord:
        done = put(out, entry.place, arg.bits);
        break;
      case Form::kFloat:
        done = put(out, entry.place, exec::float_bits(exec::float_type(params_[i]), arg.bits));
        break;
      case Form::kMap:
        if (arg.descriptor) {
          done = put_map(out, entry, *arg.descriptor);
          break;
        }
        [[fallthrough]];
      case Form::kBytes:
        if (arg.bits == 0) return bad(i, "a null pointer in place of the parameter's bytes");
        std::memcpy(out.bytes.data() + places_[entry.place].offset, reinterpret_cast<const void*>(arg.bits),
                    places_[entry.place].bytes);
        break;
      case Form::kPieces:
        done = put_pieces(out, entry, *arg.descriptor);
        break;
    }
    if (!done) return bad(i, done.error().message);
  }
  for (int h = 0; h < hidden_; ++h) {
    const exec::Scratch& wanted = scratch_[h];
    uint64_t address = 0;
    if (wanted.bytes_per_block > 0) {
      const uint64_t align = static_cast<uint64_t>(std::max<int64_t>(wanted.align, 16));
      const uint64_t bytes = static_cast<uint64_t>(wanted.bytes_per_block) * static_cast<uint64_t>(blocks);
      if (bytes > exec::usable_memory())
        return base::failure("kernel '" + kernel_ + "' asks for " + std::to_string(bytes) +
                             " bytes of scratch memory");
      out.owned.push_back(std::make_unique<std::byte[]>(bytes + align));
      address = (reinterpret_cast<uint64_t>(out.owned.back().get()) + align - 1) / align * align;
      out.memory.push_back(
          {address, bytes, h == 0 ? "global scratch memory" : "profile scratch memory", true});
    }
    TRY(put(out, places_.size() - static_cast<size_t>(hidden_ - h), address));
  }
  return out;
}

}  // namespace triton_runner::simt
