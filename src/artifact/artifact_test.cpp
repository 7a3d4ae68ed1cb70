// Tests what artifacts and their metadata tell, from hand-made ones; and that no broken one does harm.
#include <unistd.h>

#include <filesystem>
#include <random>

#include <triton_runner/artifact/artifact.h>
#include <triton_runner/artifact/fatbin.h>
#include <triton_runner/artifact/mix.h>
#include <triton_runner/artifact/occupancy.h>

#include "scan.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::artifact;

namespace {

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

Description told(std::string_view bytes, std::string_view level, std::string_view name = "",
                 std::string_view metadata = "") {
  auto d = describe(bytes, level, name, metadata, "k." + std::string(level));
  CHECK(d.ok());
  if (!d.ok()) unit::record_failure(__FILE__, __LINE__, d.error().str());
  return d.ok() ? *d : Description();
}
std::string refused(std::string_view bytes, std::string_view level, std::string_view name = "",
                    std::string_view metadata = "") {
  auto d = describe(bytes, level, name, metadata, "k." + std::string(level));
  CHECK(!d.ok());
  return d.ok() ? "" : d.error().str();
}

const char* const kPtx = R"(//
.version 8.7
.target sm_90a
.address_size 64
	// .globl	mm
.extern .shared .align 16 .b8 global_smem[];
.visible .entry mm( // two pointers of Triton's own
	.param .u64 .ptr .global .align 1 mm_param_0,
	.param .u32 mm_param_1,
	.param .f32 mm_param_2,
	.param .align 64 .b8 mm_param_3[128],
	.param .u64 .ptr .global .align 1 mm_param_4
)
.reqntid 128
{
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [mm_param_0]; { .reg .b32 t; }
	/* [mm_param_4] } */
	ret;
}
)";

const char* const kLlir = R"(; ModuleID = 'LLVMDialectModule'
@global_smem = external addrspace(3) global [0 x i8], align 16
define ptx_kernel void @add(ptr addrspace(1) align 16 %0, i32 %n, half %2, ptr byval([128 x i8]) align 64 %3, ptr addrspace(1) readnone captures(none) %4) local_unnamed_addr #0 !dbg !4 {
  ret void
}
define internal void @helper(i32 %0) {
  ret void
}
attributes #0 = { nounwind "nvvm.reqntid"="256" "nvvm.cluster_dim"="2,1,1" }
)";

// ---- a small ELF writer
// ------------------------------------------------------------------------------------------

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct FakeSection {
  std::string name;
  uint32_t type;
  std::string content;
  uint32_t link = 0;
  uint64_t size = 0;
};

std::string make_elf(uint16_t machine, uint8_t abi, uint32_t flags, std::vector<FakeSection> sections) {
  std::string names(1, '\0');
  sections.push_back({".shstrtab", 3, ""});
  std::vector<uint32_t> name_at;
  for (auto& s : sections) {
    name_at.push_back(static_cast<uint32_t>(names.size()));
    names += s.name + '\0';
  }
  sections.back().content = names;
  std::string body, table(64, '\0');
  for (size_t i = 0; i < sections.size(); i++) {
    auto& s = sections[i];
    put<uint32_t>(table, name_at[i]);
    put<uint32_t>(table, s.type);
    put<uint64_t>(table, 0);
    put<uint64_t>(table, 0);
    put<uint64_t>(table, 64 + body.size());
    put<uint64_t>(table, s.type == 8 ? s.size : s.content.size());
    put<uint32_t>(table, s.link);
    put<uint32_t>(table, 0);
    put<uint64_t>(table, 1);
    put<uint64_t>(table, 24);
    body += s.content;
  }
  std::string out =
      "\x7f"
      "ELF";
  put<uint8_t>(out, 2);
  put<uint8_t>(out, 1);
  put<uint8_t>(out, 1);
  put<uint8_t>(out, 0x33);
  put<uint8_t>(out, abi);
  out.append(7, '\0');
  put<uint16_t>(out, 2);
  put<uint16_t>(out, machine);
  put<uint32_t>(out, 1);
  put<uint64_t>(out, 0);
  put<uint64_t>(out, 0);
  put<uint64_t>(out, 64 + body.size());
  put<uint32_t>(out, flags);
  for (uint16_t value :
       {64, 56, 0, 64, static_cast<int>(sections.size()) + 1, static_cast<int>(sections.size())})
    put<uint16_t>(out, value);
  return out + body + table;
}

std::string attribute(uint8_t id, std::vector<uint32_t> words) {
  std::string out;
  put<uint8_t>(out, 4);
  put<uint8_t>(out, id);
  put<uint16_t>(out, static_cast<uint16_t>(4 * words.size()));
  for (uint32_t w : words) put(out, w);
  return out;
}

std::string make_cubin(uint8_t abi, uint32_t flags, bool required = true) {
  std::string names = std::string("\0add\0helper\0", 12), symbols(24, '\0');
  auto symbol = [&](uint32_t name, uint8_t other) {
    put<uint32_t>(symbols, name);
    put<uint8_t>(symbols, 0x12);
    put<uint8_t>(symbols, other);
    put<uint16_t>(symbols, 1);
    symbols.append(16, '\0');
  };
  symbol(1, 0x10);
  symbol(5, 0);
  std::string info = attribute(0x2f, {1, 40}) + attribute(0x11, {1, 8});
  std::string kernel_info =
      std::string("\x03\x1b\xff\x00", 4) + attribute(0x17, {0, 1u | 8u << 16, 4u << 18 | 0x1f000}) +
      attribute(0x17, {0, 0, 8u << 18 | 0x1f400}) + attribute(required ? 0x10 : 0x05, {128, 1, 1});
  return make_elf(190, abi, flags,
                  {{".strtab", 3, names},
                   {".symtab", 2, symbols, 1},
                   {".nv.info", 0x70000000, info},
                   {".nv.info.add", 0x70000000, kernel_info},
                   {".text.add", 1, "code"},
                   {".nv.shared.add", 8, "", 0, 1040}});
}

std::string make_hsaco(const std::string& threads = std::string("\xcd\x01\0", 3)) {
  auto text = [](std::string s) { return std::string(1, static_cast<char>(0xa0 + s.size())) + s; };
  std::string arg = "\x83" + text(".size") + "\x08" + text(".value_kind") + text("global_buffer") +
                    text(".offset") + std::string(1, '\0');
  std::string hidden = "\x82" + text(".size") + "\x08" + text(".value_kind") + text("hidden_queue_ptr");
  std::string kernel = "\x86" + text(".name") + text("add") + text(".args") + "\x92" + arg + hidden +
                       text(".wavefront_size") + "\x40" + text(".max_flat_workgroup_size") + threads +
                       text(".vgpr_count") + "\x0c" + text(".vgpr_spill_count") + std::string(1, '\0');
  std::string target = "amdgcn-amd-amdhsa--gfx942:sramecc+";
  std::string map = "\x82" + text("amdhsa.kernels") + "\x91" + kernel + text("amdhsa.target") + "\xd9" +
                    std::string(1, static_cast<char>(target.size())) + target;
  std::string note;
  put<uint32_t>(note, 7);
  put<uint32_t>(note, static_cast<uint32_t>(map.size()));
  put<uint32_t>(note, 32);
  note += std::string("AMDGPU\0\0", 8) + map;
  while (note.size() % 4) note += '\0';
  return make_elf(224, 3, 0x54c, {{".note", 7, note}});
}

struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    path = (std::filesystem::temp_directory_path() / "artifact_test_XXXXXX").string();
    mkdtemp(path.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST(json) {
  auto j = parse_json(
      R"({"a": [1, -2, 2.5, 1e3, true, null, "x\n\u00e9\ud83d\ude00"], "b": {"c": 18446744073709551615}, "a2": NaN})");
  CHECK(j.ok());
  const Json::Array& a = *j->get("a")->as_array();
  CHECK_EQ(*a[1].as_int(), -2);
  CHECK_EQ(*a[2].as_double(), 2.5);
  CHECK_EQ(*a[3].as_double(), 1000.0);
  CHECK(a[5].is_null());
  CHECK_EQ(*a[6].as_string(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  CHECK(j->get("b")->get("c")->as_double());
  auto bad = parse_json("{\n  \"a\": 1,\n  b: 2}", "m.json");
  CHECK(has(bad.error().str(), "m.json:3:3: error: malformed JSON: expected a key in quotes"));
  for (const char* text :
       {"", "{", "[1,", "\"abc", "{\"a\" 1}", "nul", "[1] 2", "\"\\u12", "\"\\ud800\"", "-"})
    (void)parse_json(text);
  CHECK(!parse_json(std::string(100000, '[')).ok());
}

TEST(ptx_outline) {
  Description d = told(kPtx, "ptx");
  CHECK_EQ(d.name, "mm");
  CHECK_EQ(d.target, "cuda:90");
  CHECK_EQ(d.params.size(), size_t{5});
  CHECK_EQ(d.params[0].type, "ptr");
  CHECK_EQ(d.params[1].type, ".u32");
  CHECK_EQ(d.params[2].bytes, 4);
  CHECK_EQ(d.params[3].bytes, 128);
  CHECK(!d.params[0].unused);
  CHECK(d.params[4].unused);  // only a comment names it
  CHECK_EQ(*d.num_warps, 4);
  CHECK_EQ(*d.num_ctas, 1);
  CHECK(!d.shared);  // .extern: its size is in the metadata
  CHECK(d.missing == (std::vector<std::string>{"shared", "tensordesc_meta", "hidden_pointers"}));

  std::string two(kPtx);
  two +=
      ".entry other() .maxntid 64, 1, 1 .explicitcluster .reqnctapercluster 2 { .reg .b32 %r; mov.u32 %r, "
      "%clusterid.x; "
      "}\n.shared .align 4 .b8 s[12];";
  CHECK(has(refused(two, "ptx"), "2 kernels in the ptx, and none is named"));
  d = told(two, "ptx", "other");
  CHECK_EQ(*d.num_warps, 2);
  CHECK_EQ(*d.num_ctas, 2);
  CHECK_EQ(*d.static_shared, 12);
  CHECK(has(d.warnings.at(0), ".maxntid"));
  CHECK(has(refused(kPtx, "ptx", "mn"), "did you mean mm?"));

  std::string no_smem = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }";
  CHECK_EQ(*told(no_smem, "ptx").shared, 0);
}

TEST(ptx_errors_have_places) {
  std::string cut = std::string(kPtx).substr(0, 420);
  CHECK(has(refused(cut, "ptx"), "found the end of the text"));
  CHECK(has(refused("hello", "ptx"), "k.ptx:1:1: error: this is not PTX: expected .version"));
  CHECK(has(refused(".version 8.0\n.entry k(\n  .u64 x)\n{}", "ptx"),
            "k.ptx:3:3: error: a parameter is .param"));
  CHECK(has(refused(".version 8.0\n}", "ptx"), "k.ptx:2:1: error: expected a directive"));
  CHECK(has(refused(".version 8.0\n", "ptx"), "no kernel in the ptx"));
}

TEST(llir_outline) {
  Description d = told(kLlir, "llir");
  CHECK_EQ(d.name, "add");
  CHECK_EQ(d.params.size(), size_t{5});
  CHECK_EQ(d.params[0].type, "ptr");
  CHECK_EQ(d.params[1].name, "n");
  CHECK_EQ(d.params[2].type, "half");
  CHECK_EQ(d.params[3].type, "byval");
  CHECK(d.params[4].unused && !d.params[0].unused);
  CHECK_EQ(*d.num_warps, 8);
  CHECK_EQ(*d.num_ctas, 2);
  CHECK(!d.shared);
  CHECK_EQ(d.target, "");

  Description old = told(
      "define void @k(ptr addrspace(1) %0, float %1) local_unnamed_addr !dbg !7 {\n  ret void\n}\n"
      "!nvvm.annotations = !{!4, !5}\n!4 = !{ptr @k, !\"kernel\", i32 1}\n!5 = !{ptr @k, !\"maxntidx\", i32 "
      "128}\n",
      "llir");
  CHECK_EQ(*old.num_warps, 4);
  CHECK_EQ(*old.shared, 0);
  CHECK_EQ(old.params[1].type, "float");
  Description amd = told(
      "target triple = \"amdgcn-amd-amdhsa\"\ndefine amdgpu_kernel void @k(ptr addrspace(1) inreg %0) #0 {\n "
      " ret void\n}\n"
      "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"1,256\" \"target-cpu\"=\"gfx942\" }\n",
      "llir");
  CHECK_EQ(amd.target, "hip:gfx942");
  CHECK_EQ(*amd.max_threads, 256);

  CHECK(has(refused("", "llir"), "found nothing"));
  CHECK(has(refused("define void @k(ptr %0, i32", "llir"), "inside a parameter list"));
  CHECK(has(refused("define ptx_kernel void @k(ptr %0) {\n  ret", "llir"), "does not end"));
}

TEST(cubin_outline) {
  for (auto [abi, flags] : {std::pair<uint8_t, uint32_t>{7, 0x5a0d5a}, {8, 0x9005a04}}) {
    Description d = told(make_cubin(abi, flags), "cubin");
    CHECK_EQ(d.name, "add");  // helper is not an entry
    CHECK_EQ(d.target, "cuda:90");
    CHECK_EQ(d.params.size(), size_t{2});
    CHECK_EQ(d.params[0].bytes, 8);
    CHECK_EQ(d.params[1].bytes, 4);
    CHECK_EQ(*d.num_warps, 4);
    CHECK_EQ(*d.n_regs, 40);
    CHECK_EQ(*d.n_spills, 2);
    CHECK_EQ(*d.static_shared, 16);
    CHECK(!d.num_ctas);
    CHECK(!d.shared);
  }
  Description old = told(make_cubin(7, 0x500550, false), "cubin");
  CHECK_EQ(old.target, "cuda:80");
  CHECK_EQ(*old.num_ctas, 1);
  CHECK_EQ(*old.static_shared, 1040);
  CHECK(has(old.warnings.at(0), "upper bound"));
  CHECK(has(refused(kPtx, "cubin"), "it looks like text"));
  CHECK(has(refused("", "cubin"), "it is empty"));
  CHECK(has(refused(make_hsaco(), "cubin"), "the level hsaco reads it"));
  CHECK(has(refused(make_cubin(8, 0).substr(0, 200), "cubin"), "truncated"));
}

// An entry of a fatbin; flags 0x2000: `payload` is a block of LZ4 that expands to `expanded` bytes.
std::string entry(uint16_t kind, uint32_t arch, std::string payload, uint64_t flags, uint64_t expanded) {
  std::string out;
  const auto compressed = static_cast<uint32_t>(flags ? payload.size() : 0);
  payload.resize((payload.size() + 7) / 8 * 8);
  put<uint16_t>(out, kind), put<uint16_t>(out, 0x101), put<uint32_t>(out, 64),
      put<uint64_t>(out, payload.size());
  put<uint32_t>(out, compressed), put<uint32_t>(out, 0), put<uint16_t>(out, 8), put<uint16_t>(out, 1);
  put<uint32_t>(out, arch), put<uint64_t>(out, 0), put<uint64_t>(out, flags), put<uint64_t>(out, 0);
  put<uint64_t>(out, expanded);
  return out + payload;
}
std::string fatbin(const std::string& entries) {
  std::string out;
  put<uint32_t>(out, 0xBA55ED50), put<uint16_t>(out, 1), put<uint16_t>(out, 16),
      put<uint64_t>(out, entries.size());
  return out + entries;
}

TEST(fatbin_pieces) {
  const std::string cubin = make_cubin(8, 0x9005a04);
  // Two literals, then a copy that overlaps itself: "ab" eight times.
  std::string packed(
      "\x2a"
      "ab\x02\x00\x00",
      6);
  // A frame of Zstandard: four bytes of content, in one block that is stored as it is.
  const std::string frame("(\xb5/\xfd\x20\x04\x21\x00\x00ptx!", 13);
  const std::string whole =
      fatbin(entry(2, 90, cubin, 0, 0) + entry(1, 90, packed, 0x2000, 16) +
             entry(2, 100, "(\xb5/\xfd", 0x8000, 4096) + entry(1, 90, frame, 0x8000, 4));
  for (const std::string& bytes :
       {whole, make_elf(62, 0, 0, {{".text", 1, "x"}, {".nv_fatbin", 1, whole + std::string(8, '\0')}})}) {
    auto found = device_code(bytes, "k.so");
    CHECK(found.ok());
    if (!found.ok()) continue;
    CHECK_EQ(found->size(), 4u);
    CHECK_EQ((*found)[0].target, "cuda:90");
    CHECK((*found)[0].content.starts_with(cubin) && (*found)[0].kernels == kernels(cubin, "cubin").value());
    CHECK_EQ((*found)[1].content, "abababababababab");
    const bool has_library = !has((*found)[2].problem, "no libzstd.so.1");
    CHECK(!has_library || has((*found)[2].problem, "malformed"));
    CHECK_EQ((*found)[3].content, has_library ? "ptx!" : "");
  }
  CHECK_EQ(device_code(cubin, "k.cubin").value().size(), 1u);
  CHECK(has(device_code(whole.substr(0, 200), "k").error().str(), "cut off"));
  CHECK(has(device_code(make_elf(62, 0, 0, {{".text", 1, "x"}}), "k").error().str(), "no code for NVIDIA"));
  CHECK(has(device_code("text", "k").error().str(), "ELF magic"));
  auto broken = device_code(fatbin(entry(1, 90, packed, 0x2000, 17)), "k");
  CHECK(has(broken.value()[0].problem, "malformed"));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {  // whatever the bytes: an answer or an error
    std::string bytes = whole;
    for (int n = 0; n < 4; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    auto answer = device_code(bytes, "k");
    CHECK(answer.ok() || !answer.error().message.empty());
  }
}

TEST(hsaco_outline) {
  Description d = told(make_hsaco(), "hsaco");
  CHECK_EQ(d.name, "add");
  CHECK_EQ(d.target, "hip:gfx942");
  CHECK_EQ(d.params.size(), size_t{1});
  CHECK_EQ(d.params[0].type, "ptr");
  CHECK_EQ(*d.threads_per_warp, 64);
  CHECK_EQ(*d.max_threads, 256);
  CHECK_EQ(*d.vgprs, 12);
  CHECK_EQ(*d.num_warps, 4);
  CHECK(has(d.warnings.at(0), "upper bound"));
  CHECK(has(refused(make_cubin(8, 0x5a00), "hsaco"), "the level cubin reads it"));
  const std::string large = std::string("\xcf\0\0\0\1\0\0\0\x80", 9);  // 2^32 + 128
  CHECK(has(refused(make_hsaco(large), "hsaco"),
            "'.max_flat_workgroup_size' is to be a number from 1 to 1024"));
}

TEST(amdgcn_outline) {
  const char* text =
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n\t.amdgpu_metadata\n---\namdhsa.kernels:\n  - "
      ".agpr_count:     0\n    .args:\n"
      "      - .address_space:  global\n        .offset:         0\n        .size:           8\n        "
      ".value_kind:     global_buffer\n"
      "      - .offset:         8\n        .size:           4\n        .value_kind:     by_value\n    "
      ".group_segment_fixed_size: 16\n"
      "    .name:           add\n    .vgpr_count:     107\n    .wavefront_size: 64\namdhsa.target:   "
      "amdgcn-amd-amdhsa--gfx942\namdhsa.version:\n  - 1\n  - 2\n...\n\n\t.end_amdgpu_metadata\n";
  Description d = told(text, "amdgcn");
  CHECK_EQ(d.name, "add");
  CHECK_EQ(d.target, "hip:gfx942");
  CHECK_EQ(d.params.size(), size_t{2});
  CHECK_EQ(d.params[1].bytes, 4);
  CHECK_EQ(*d.vgprs, 107);
  CHECK_EQ(*d.static_shared, 16);
  CHECK(!d.code_bytes && !d.waves);
  d = told(std::string("\nadd:\n; codeLenInByte = 132\n; Occupancy: 8\n") + text, "amdgcn");
  CHECK_EQ(*d.code_bytes, 132);
  CHECK_EQ(*d.waves, 8);
  for (const std::string wrong : {"-1", "4294967403", "99999999999999999999"}) {
    std::string other = text;
    const std::string said = refused(other.replace(other.find("107"), 3, wrong), "amdgcn");
    CHECK(has(said, "'.vgpr_count' is to be a number from 0 to 2147483647"));
  }
  CHECK(has(refused(std::string(text).substr(0, 200), "amdgcn"), "truncated"));
  CHECK(has(refused("s_endpgm", "amdgcn"), "metadata block"));
}

TEST(metadata_completes_and_is_contradicted) {
  const char* json =
      R"({"name": "mm", "num_warps": 8, "num_ctas": 1, "shared": 1024, "target": {"backend": "cuda", "arch": 80, "warp_size": 32},
    "global_scratch_size": 0, "global_scratch_align": 1, "profile_scratch_size": 0, "tensordesc_meta": [{"swizzle": 3}], "triton_version": "3.6.0", "launch_pdl": true})";
  Description d = told(kPtx, "ptx", "", json);
  CHECK_EQ(*d.num_warps, 4);  // the artifact's
  CHECK_EQ(*d.shared, 1024);
  CHECK_EQ(*d.hidden_pointers, 2);
  CHECK_EQ(d.target, "cuda:90");
  CHECK(*d.pdl);
  CHECK(d.missing.empty());
  CHECK_EQ(d.warnings.size(), size_t{2});
  CHECK(has(d.warnings[0], "metadata says cuda:80"));
  CHECK(has(d.warnings[1], "num_warps = 4, its metadata says 8"));
  // For a warp-specialised kernel the launch's number is the smaller one.
  CHECK(told(kPtx, "ptx", "", R"({"num_warps": 2, "shared": 0})").warnings.empty());
  CHECK_EQ(*told(kPtx, "ptx", "", R"({"shared": 0, "global_scratch_size": 0})").hidden_pointers, 1);
  CHECK_EQ(*told(kPtx, "ptx", "", R"({"shared": 0, "hash": "c0ffee"})").hidden_pointers, 0);
  CHECK(!told(kPtx, "ptx", "", R"({"shared": 0})").hidden_pointers);
  CHECK(has(refused(kPtx, "ptx", "", R"({"shared": -1})"), "shared is not a number"));
  CHECK(has(refused(kPtx, "ptx", "", "[]"), "it is not an object"));
  CHECK(has(refused(kPtx, "ptx", "", "{"), "k.json:1:2: error: malformed JSON"));
  Description clusters =
      told(make_cubin(8, 0x5a00), "cubin", "", R"({"num_ctas": 2, "cluster_dims": [1, 2, 1], "shared": 0})");
  CHECK((clusters.cluster == std::array<int, 3>{1, 2, 1}));
}

TEST(store) {
  TemporaryFolder folder;
  CHECK(write_file(folder.path + "/a/add.ptx", "old").ok());
  CHECK(write_file(folder.path + "/a/add.ptx", kPtx).ok());
  CHECK(write_file(folder.path + "/a/add.json", "{}").ok());
  CHECK_EQ(std::distance(std::filesystem::directory_iterator(folder.path + "/a"), {}),
           2);  // nothing temporary is left
  std::string direct = *find(folder.path + "/a", "add", "ptx");
  CHECK_EQ(direct, folder.path + "/a/add.ptx");
  CHECK_EQ(*read_file(direct), kPtx);
  CHECK_EQ(find_metadata(direct), folder.path + "/a/add.json");
  CHECK_EQ(*find(folder.path, "add", "ptx"), direct);  // a cache: one folder an entry
  CHECK_EQ(*find(folder.path, "", "ptx"), direct);
  CHECK(
      has(find(folder.path + "/a", "add", "ttgir").error().str(), "holds kernel 'add' at ptx: use ptx_dir="));
  CHECK(has(find(folder.path + "/a", "ad", "ptx").error().str(), "kernels at ptx there: add"));
  CHECK(has(find(folder.path + "/no", "add", "ptx").error().str(), "no folder"));
  CHECK(has(find(direct, "add", "ptx").error().str(), "is a file"));
  CHECK(has(find(folder.path, "add", "sass").error().str(), "is not a level"));
  CHECK(write_file(folder.path + "/b/add.ptx", kPtx).ok());
  CHECK(find(folder.path, "add", "ptx").ok());  // twice the same
  CHECK(write_file(folder.path + "/b/add.ptx", "other").ok());
  CHECK(has(find(folder.path, "add", "ptx").error().str(), "2 times, with different content"));
  CHECK(has(write_file("/proc/no/file", "x").error().str(), "cannot create /proc/no/file"));
  CHECK(has(read_file(folder.path + "/none").error().str(), "No such file"));

  CHECK(write_file(folder.path + "/b/__grp__mul.json",
                   "{\"child_paths\": {\"mul.json\": \"" + folder.path + "/a/add.json\"}}")
            .ok());
  CHECK_EQ(find_metadata(folder.path + "/b/mul.ptx"), folder.path + "/a/add.json");
  CHECK_EQ(find_metadata(folder.path + "/b/add.ptx"), "");
}

// Broken artifacts: whatever is flipped, cut or repeated, a scan ends with an answer. Sanitizers see the
// rest.
TEST(mutated_artifacts) {
  std::mt19937 random(7);
  std::vector<std::pair<std::string, std::string>> seeds = {{"cubin", make_cubin(8, 0x9005a04)},
                                                            {"cubin", make_cubin(7, 0x500550)},
                                                            {"hsaco", make_hsaco()},
                                                            {"ptx", kPtx},
                                                            {"llir", kLlir}};
  for (const auto& [level, seed] : seeds)
    for (int round = 0; round < 3000; round++) {
      std::string bytes = seed;
      for (int edits = 1 + random() % 4; edits > 0; edits--) {
        size_t at = random() % bytes.size();
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes[at] = static_cast<char>(0xff);
            break;
          case 2:
            bytes.resize(at + 1);
            break;
          default:
            bytes.insert(at, bytes.substr(at, random() % 16));
            break;
        }
      }
      auto d = describe(bytes, level, "", round % 2 ? "" : "{\"shared\": 4}", "f");
      CHECK(d.ok() || !d.error().message.empty());
    }
}

TEST(occupancy_is_the_calculators) {
  auto of = [](std::string_view target, int threads, int registers, int64_t shared) {
    auto o = occupancy(target, threads, registers, shared);
    CHECK(o.ok());
    std::string limits;
    for (const std::string& l : o.ok() ? o->limits : std::vector<std::string>()) limits += " " + l;
    return o.ok() ? std::to_string(o->blocks) + "x" + std::to_string(o->warps) + limits : o.error().str();
  };
  CHECK_EQ(of("cuda:90", 256, 64, 0), "4x32 registers");
  CHECK_EQ(of("cuda:90", 128, 32, 0), "16x64 warps registers");
  CHECK_EQ(of("cuda:90", 128, 40, 0), "12x48 registers");  // 1,280 registers a warp, 12 warps a side
  // An H200's driver says these (tests/gpu/check_occupancy.py): the warps of a block share no side's rest.
  CHECK_EQ(of("cuda:90", 32, 254, 0), "8x8 registers");
  CHECK_EQ(of("cuda:90", 96, 32, 0), "21x63 warps registers");
  CHECK_EQ(of("cuda:90", 160, 40, 0), "9x45 registers");
  CHECK_EQ(of("cuda:90", 32, 16, 0), "32x32 blocks");
  CHECK_EQ(of("cuda:90", 96, 168, 0), "4x12 registers");  // three warps on each of four sides: four blocks
  // The system has 1 KiB of each block's: two of 113 KiB fill the SM's 228.
  CHECK_EQ(of("cuda:90", 128, 168, 115712), "2x8 shared memory");
  CHECK_EQ(of("cuda:90", 128, 168, 115713), "1x4 shared memory");
  CHECK_EQ(of("cuda:75", 128, 64, 32768), "2x8 shared memory");
  CHECK_EQ(of("cuda:89", 128, 255, 0), "2x8 registers");
  CHECK(!occupancy("hip:gfx942", 256, 64, 0).ok());
  CHECK(has(occupancy("cuda:90", 1024, 255, 0).error().str(), "too much registers"));
  CHECK(has(occupancy("cuda:90", 128, 32, 300000).error().str(), "too much shared memory"));
  CHECK(!occupancy("cuda:90", 0, 32, 0).ok());
}

TEST(mix_counts_what_is_the_kernels) {
  const char* sass =
      "\t.section\t.text.other,\"ax\"\n.text.other:\n        /*0000*/                   NOP ;\n"
      "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
      "        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;\n"
      "        /*0020*/               @P1 LDG.E.128 R8, desc[UR4][R6.64] ;\n"
      ".L_x_1:\n        /*0030*/                   BRA `(.L_x_1);\n"
      "\t.section\t.text.k2,\"ax\"\n.text.k2:\n        /*0000*/                   EXIT ;\n";
  Mix mix = instruction_mix(sass, true, "k");
  CHECK_EQ(mix.size(), 3u);
  CHECK_EQ(mix[0].first, "LDG.E.128");
  CHECK_EQ(mix[0].second, 2);
  const char* amd =
      "k:\n; %bb.0:\n\ts_load_dwordx2 s[2:3], s[0:1], 0x0\n\t.loc 1 2 3\n\tv_add_f32_e32 v0, v1, v2\n"
      "\ts_endpgm\n.Lfunc_end0:\n\tv_add_f32_e32 v0, v1, v2\n";
  mix = instruction_mix(amd, false, "k");
  CHECK_EQ(mix.size(), 3u);
  CHECK(instruction_mix(amd, false, "absent").empty());
}
