// Reads the parameters of encodings. Spellings changed from release to release; each is mapped to the
// newest meaning.
#include <triton_runner/base/try.h>
#include <triton_runner/tile/encoding.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace triton_runner::tile {

using base::failure;
using base::Result;
using base::Status;
using layout::Basis;
using layout::Encoding;
using layout::EncodingKind;

namespace {

std::vector<int64_t> ints(const ir::Attr* attr) {
  std::vector<int64_t> out;
  if (!attr) return out;
  if (attr->kind == ir::AttrKind::kDenseArray) {
    for (uint64_t bits : attr->raw) out.push_back(static_cast<int64_t>(bits));
  }
  for (const ir::Attr* e : attr->elements) out.push_back(e->integer);
  return out;
}

Basis basis_of(const std::vector<int64_t>& values) {
  Basis basis;
  for (int64_t v : values) basis.push_back(static_cast<int32_t>(std::min<int64_t>(v, INT32_MAX)));
  return basis;
}

std::vector<Basis> bases(const ir::Attr* attr) {
  std::vector<Basis> out;
  if (!attr) return out;
  for (const ir::Attr* e : attr->elements) out.push_back(basis_of(ints(e)));
  return out;
}

int64_t integer(const ir::Attr& attr, std::string_view key, int64_t otherwise) {
  const ir::Attr* a = attr.get(key);
  return a ? a->integer : otherwise;
}

constexpr int32_t kLargestBasis = (1 << 30) - 1;  // what it spans is a number of 32 bits

// Makes the encoding's layout of lists of bases; output sizes are what the bases span.
Status span(std::vector<layout::InDim> ins, Encoding& e) {
  size_t rank = 0;
  for (const layout::InDim& in : ins) {
    for (const Basis& basis : in.bases) {
      rank = std::max(rank, basis.size());
      for (const int32_t b : basis)
        if (b < 0 || b > kLargestBasis)
          return failure("a linear layout has bases from 0 to " + std::to_string(kLargestBasis) + ", not " +
                         std::to_string(b));
    }
  }
  std::vector<layout::OutDim> outs;
  for (const std::string& name : layout::dim_names(rank)) outs.push_back({name, 1});
  for (const layout::InDim& in : ins) {
    for (const Basis& basis : in.bases) {
      for (size_t d = 0; d < basis.size(); d++) {
        while (outs[d].size <= basis[d]) outs[d].size *= 2;
      }
    }
  }
  e.linear = {std::move(ins), std::move(outs)};
  return base::success();
}

Status span_named(const ir::Attr& attr, std::initializer_list<const char*> inputs, Encoding& e) {
  std::vector<layout::InDim> ins;
  for (const char* name : inputs) ins.push_back({name, bases(attr.get(name))});
  return span(std::move(ins), e);
}

void read_cga(const ir::Attr& attr, Encoding& e) {
  if (const ir::Attr* cga = attr.get("CGALayout")) {
    e.cga = bases(cga);
  } else if (attr.get("CTAsPerCGA")) {
    const auto ctas = ints(attr.get("CTAsPerCGA")), splits = ints(attr.get("CTASplitNum"));
    auto order = ints(attr.get("CTAOrder"));
    if (splits.size() == ctas.size() && order.size() == ctas.size())
      e.cga = layout::cga_bases(ctas, splits, order);
  }
}

// "<[32:+4, 256:+8] {order = ..., shape = ...}>": the list is no MLIR attribute, so it is read from the text.
bool read_padding(std::string_view text, Encoding& e) {
  size_t at = text.find('[');
  const size_t end = text.find(']', at);
  if (at == std::string_view::npos || end == std::string_view::npos) return false;
  const char* p = text.data() + at + 1;
  const char* stop = text.data() + end;
  while (p < stop) {
    int64_t interval = 0, amount = 0;
    while (p < stop && (*p == ' ' || *p == ',')) p++;
    auto [q, bad] = std::from_chars(p, stop, interval);
    if (bad != std::errc() || stop - q < 2 || q[0] != ':' || q[1] != '+' || interval <= 0) return false;
    auto [r, bad2] = std::from_chars(q + 2, stop, amount);
    if (bad2 != std::errc()) return false;
    e.padding.emplace_back(interval, amount);
    p = r;
    while (p < stop && *p == ' ') p++;
  }
  return !e.padding.empty();
}

// Entries of "{order = [1, 0], shape = [64, 64]}" after the list of paddings, where the graph has only
// the text.
std::vector<int64_t> ints_in_text(std::string_view text, std::string_view key) {
  std::vector<int64_t> out;
  size_t at = text.find('[', std::min(text.find(key), text.size()));
  const size_t end = text.find(']', at);
  if (at == std::string_view::npos || end == std::string_view::npos) return out;
  const char* p = text.data() + at + 1;
  const char* stop = text.data() + end;
  while (p < stop) {
    int64_t v;
    while (p < stop && (*p == ' ' || *p == ',')) p++;
    auto [q, bad] = std::from_chars(p, stop, v);
    if (bad != std::errc()) break;
    out.push_back(v);
    p = q;
  }
  return out;
}

std::vector<Basis> bases_in_text(std::string_view text, std::string_view key) {
  std::vector<Basis> out;
  size_t at = text.find('[', std::min(text.find(key), text.size()));
  if (at == std::string_view::npos) return out;
  for (at++; at < text.size() && text[at] != ']';) {
    if (text[at] != '[') {
      at++;
      continue;
    }
    out.push_back(basis_of(ints_in_text(text.substr(at), "[")));
    at = text.find(']', at) + 1;
  }
  return out;
}

Status span_in_text(std::string_view text, Encoding& e) {
  return span({{"offset", bases_in_text(text, "offset")}, {"block", bases_in_text(text, "block")}}, e);
}

// ---- one reader an encoding

Status read_parent(const ir::Attr& attr, Encoding& e) {
  const ir::Attr* p = attr.get("parent");
  if (!p) return failure("#" + std::string(attr.string) + " has no parent");
  auto read = TRY(encoding_of(*p));
  e.parent = std::make_shared<const Encoding>(std::move(read));
  return base::success();
}

Status read_blocked(const ir::Attr& attr, Encoding& e) {
  e.size_per_thread = ints(attr.get("sizePerThread"));
  e.threads_per_warp = ints(attr.get("threadsPerWarp"));
  e.warps_per_cta = ints(attr.get("warpsPerCTA"));
  e.order = ints(attr.get("order"));
  const size_t rank = e.order.size();
  if (rank == 0 || e.size_per_thread.size() != rank || e.threads_per_warp.size() != rank ||
      e.warps_per_cta.size() != rank)
    return failure("#ttg.blocked needs sizePerThread, threadsPerWarp, warpsPerCTA and order of one length");
  return base::success();
}

Status read_slice(const ir::Attr& attr, Encoding& e) {
  e.dim = integer(attr, "dim", 0);
  return read_parent(attr, e);
}

Status read_dot_operand(const ir::Attr& attr, Encoding& e) {
  e.op_idx = integer(attr, "opIdx", 0);
  e.k_width = integer(attr, "kWidth", 0);
  return read_parent(attr, e);
}

Status read_nvidia_mma(const ir::Attr& attr, Encoding& e) {
  e.version = integer(attr, "versionMajor", 2);
  e.warps_per_cta = ints(attr.get("warpsPerCTA"));
  e.instr_shape = ints(attr.get("instrShape"));
  return base::success();
}

Status read_mfma(const ir::Attr& attr, Encoding& e) {
  e.version = integer(attr, "version", integer(attr, "versionMajor", 3));
  e.warps_per_cta = ints(attr.get("warpsPerCTA"));
  e.instr_shape = ints(attr.get("instrShape"));
  e.is_transposed = integer(attr, "isTransposed", 0) != 0;
  e.element_bits = integer(attr, "elementBitWidth", 32);
  e.tiles_per_warp = ints(attr.get("tilesPerWarp"));
  return base::success();
}

Status read_wmma(const ir::Attr& attr, Encoding& e) {
  e.version = integer(attr, "version", 1);
  e.is_transposed = integer(attr, "isTranspose", integer(attr, "isTransposed", 0)) != 0;
  e.instr_shape = ints(attr.get("instrShape"));
  e.warps_per_cta = ints(attr.get("warpsPerCTA"));
  e.explicit_rank = integer(attr, "rank", 0);
  if (const ir::Attr* cta = attr.get("ctaLayout")) {
    e.warp_bases = bases(cta->get("warp"));
    e.register_bases = bases(cta->get("register"));
  }
  return base::success();
}

Status read_linear_layout(const ir::Attr& attr, Encoding& e) {
  return span_named(attr, {"register", "lane", "warp", "block"}, e);
}

Status read_shared_linear(const ir::Attr& attr, Encoding& e) {
  const ir::Attr* inner = attr.get("offset") ? &attr : nullptr;
  for (const ir::Attr* p : attr.elements) {
    if (!inner && p->get("offset")) inner = p;
  }
  if (inner) return span_named(*inner, {"offset", "block"}, e);
  return span_in_text(attr.text, e);
}

void set_swizzling(const ir::Attr& attr, Encoding& e) {
  e.vec = integer(attr, "vec", 1);
  e.per_phase = integer(attr, "perPhase", 1);
  e.max_phase = integer(attr, "maxPhase", 1);
  e.order = ints(attr.get("order"));
}
Status read_swizzling(const ir::Attr& attr, Encoding& e) {
  set_swizzling(attr, e);
  if (e.vec < 1 || e.per_phase < 1 || e.max_phase < 1 || e.order.empty())
    return failure("#" + std::string(attr.string) +
                   " needs vec, perPhase, maxPhase of at least 1 and an order");
  return base::success();
}

// Shared encodings up to 3.2: one kind, in which hasLeadingOffset says that it is Hopper's.
Status read_old_shared(const ir::Attr& attr, Encoding& e) {
  set_swizzling(attr, e);
  if (integer(attr, "hasLeadingOffset", 0) == 0) return base::success();
  e.kind = EncodingKind::kNvmmaShared;
  e.explicit_rank = static_cast<int64_t>(e.order.size());
  e.swizzle_bytes = e.max_phase > 1 ? e.max_phase * 16 : 0;
  e.element_bits = 128 / std::max<int64_t>(e.vec, 1);
  e.is_transposed = !e.order.empty() && e.order[0] == 0 && e.order.size() > 1;
  return base::success();
}

Status read_nvmma(const ir::Attr& attr, Encoding& e) {
  e.swizzle_bytes = integer(attr, "swizzlingByteWidth", 0);
  e.is_transposed = integer(attr, "transposed", 0) != 0;
  e.element_bits = integer(attr, "elementBitWidth", 16);
  e.fp4_padded = integer(attr, "fp4Padded", 0) != 0;
  e.explicit_rank = integer(attr, "rank", 0);
  if (e.explicit_rank == 0 && attr.get("CTAOrder")) e.explicit_rank = ints(attr.get("CTAOrder")).size();
  if (e.explicit_rank == 0 && !e.cga.empty()) e.explicit_rank = static_cast<int64_t>(e.cga.front().size());
  return base::success();
}

Status read_padded(const ir::Attr& attr, Encoding& e) {
  if (!read_padding(attr.text, e))
    return failure("#ttg.padded_shared without its list of [interval:+padding]");
  if (!bases_in_text(attr.text, "offset").empty()) return span_in_text(attr.text, e);
  e.order = ints_in_text(attr.text, "order");
  if (e.order.empty()) return failure("#ttg.padded_shared with neither an order nor offset bases");
  return base::success();
}

Status read_partitioned(const ir::Attr& attr, Encoding& e) {
  const int64_t partitions = integer(attr, "numPartitions", 1), groups = integer(attr, "numGroups", 1);
  for (const int64_t n : {partitions, groups})
    if (n < 1 || n > 1 << 10 || (n & (n - 1)) != 0)
      return failure("#ttg.partitioned_shared has a power of two of partitions and groups, not " +
                     std::to_string(n));
  e.pieces = partitions * groups;
  e.dim = integer(attr, "partitionDim", 0);
  const ir::Attr* piece = attr.get("partitionLayout");
  if (!piece) return failure("#ttg.partitioned_shared without the layout of a piece");
  auto inner = TRY(encoding_of(*piece));
  if (!is_shared(inner.kind))
    return failure("pieces of #ttg.partitioned_shared lie in shared memory, not in #ttg." +
                   std::string(encoding_name(inner.kind)));
  e.padding = inner.padding;
  e.cga = std::exchange(inner.cga, {});
  e.parent = std::make_shared<const Encoding>(std::move(inner));
  return base::success();
}

Status read_split(const ir::Attr& attr, Encoding& e) {
  if (integer(attr, "CTASplitM", 1) > 1) e.cga.push_back({1, 0});
  if (integer(attr, "CTASplitN", 1) > 1) e.cga.push_back({0, 1});
  return base::success();
}

Status read_tensor_memory(const ir::Attr& attr, Encoding& e) {
  e.block_m = integer(attr, "blockM", 128);
  e.block_n = integer(attr, "blockN", 0);
  // fbtriton calls it a mode, which accumulators of blocks with 64 rows have.
  const ir::Attr* mode = attr.get("ctaMode");
  const bool is_half = mode && (mode->string == "twocta_rhs" || mode->text == "twocta_rhs");
  e.two_ctas = is_half || integer(attr, "twoCTAs", 0) != 0;
  e.fp4_padded = integer(attr, "fp4Padded", 0) != 0;
  // Up to 3.5: unpacked = true puts every element in a column of its own; 3.6 says by how many elements
  // apart.
  e.col_stride = integer(attr, "colStride", 0);
  if (e.col_stride == 0) e.col_stride = integer(attr, "unpacked", 1) ? -1 : 1;
  return read_split(attr, e);
}

Status read_tensor_memory_scales(const ir::Attr& attr, Encoding& e) {
  const ir::Attr* order = attr.get("blockRepOrder");
  e.order = order && (order->string == "kThenMn" || order->text == "kThenMn") ? std::vector<int64_t>{1, 0}
                                                                              : std::vector<int64_t>{0, 1};
  return read_split(attr, e);
}

struct Reader {
  std::string_view name;
  EncodingKind kind;
  Status (*read)(const ir::Attr& attr, Encoding& e);
};
constexpr Reader kReaders[] = {
    {"blocked", EncodingKind::kBlocked, read_blocked},
    {"slice", EncodingKind::kSlice, read_slice},
    {"dot_op", EncodingKind::kDotOperand, read_dot_operand},
    {"nvidia_mma", EncodingKind::kNvidiaMma, read_nvidia_mma},
    {"amd_mfma", EncodingKind::kAmdMfma, read_mfma},
    {"mfma", EncodingKind::kAmdMfma, read_mfma},
    {"amd_wmma", EncodingKind::kAmdWmma, read_wmma},
    {"wmma", EncodingKind::kAmdWmma, read_wmma},
    {"linear", EncodingKind::kLinear, read_linear_layout},
    {"generic_linear", EncodingKind::kLinear, read_linear_layout},
    {"shared_linear", EncodingKind::kSharedLinear, read_shared_linear},
    {"swizzled_shared", EncodingKind::kSwizzledShared, read_swizzling},
    {"amd_rotating_shared", EncodingKind::kRotatingShared, read_swizzling},
    {"shared", EncodingKind::kSwizzledShared, read_old_shared},
    {"nvmma_shared", EncodingKind::kNvmmaShared, read_nvmma},
    {"padded_shared", EncodingKind::kPaddedShared, read_padded},
    {"partitioned_shared", EncodingKind::kPartitionedShared, read_partitioned},
    {"tensor_memory_encoding", EncodingKind::kTensorMemory, read_tensor_memory},
    {"tensor_memory_scales_encoding", EncodingKind::kTensorMemoryScales, read_tensor_memory_scales},
};

}  // namespace

Result<Encoding> encoding_of(const ir::Attr& attr) {
  if (attr.kind != ir::AttrKind::kDialect) return failure("not an encoding: " + std::string(attr.text));
  std::string_view name = attr.string;
  for (std::string_view dialect :
       {"ttg.", "triton_gpu.", "ttng.", "triton_nvidia_gpu.", "amdg.", "amdgpu."}) {
    if (name.substr(0, dialect.size()) == dialect) {
      name.remove_prefix(dialect.size());
      break;
    }
  }
  Encoding e{};
  read_cga(attr, e);
  const auto* reader = std::ranges::find(kReaders, name, &Reader::name);
  if (reader == std::end(kReaders)) return failure("unknown encoding #" + std::string(attr.string));
  e.kind = reader->kind;
  TRY(reader->read(attr, e));
  if (e.kind == EncodingKind::kNvmmaShared) {
    if (e.element_bits < 4 || e.element_bits > 64)
      return failure("#" + std::string(attr.string) + " of elements of " + std::to_string(e.element_bits) +
                     " bits");
    if (int64_t b = e.swizzle_bytes; b != 0 && b != 32 && b != 64 && b != 128)
      return failure("#" + std::string(attr.string) + " swizzles 0, 32, 64 or 128 bytes, not " +
                     std::to_string(b));
  }
  if (is_distributed(e.kind) && e.rank() == 0)
    return failure("#" + std::string(attr.string) + " lacks parameters");
  return e;
}

}  // namespace triton_runner::tile
