// Tests the rows and places of each level, from hand-made texts in the form that compilers write.
#include <triton_runner/report/layouts.h>
#include <triton_runner/report/map.h>

#include "test.h"

using namespace triton_runner;
using namespace triton_runner::report;

namespace {

std::string place(const Places& places, int32_t number) {
  std::string out;
  for (; number != kNone; number = places.all()[static_cast<size_t>(number)].caller) {
    const Place& at = places.all()[static_cast<size_t>(number)];
    if (!out.empty()) out += " in ";
    out += places.files()[static_cast<size_t>(at.file)] + ":" + std::to_string(at.line);
    if (at.column) out += ":" + std::to_string(at.column);
  }
  return out;
}

// "3 fadd a.py:7:12 in a.py:13:28" for each row, one a line; places of merged ops are joined by " and ".
std::string shown(const Map& map, std::string_view level) {
  std::string out;
  const Level* found = map.level(level);
  if (!found) return "no such level";
  for (const Row& row : found->rows) {
    out += std::to_string(row.line) + " " + row.op;
    for (size_t i = 0; i < row.places.size(); ++i)
      out += (i ? " and " : " ") + place(map.places(), row.places[i]);
    if (row.ptx_line) out += " (ptx " + std::to_string(row.ptx_line) + ")";
    out += "\n";
  }
  return out;
}

void add(Map& map, std::string_view text, std::string_view level) {
  if (base::Status done = map.add(text, level); !done)
    unit::record_failure(__FILE__, __LINE__, done.error().str());
}

std::string rows(std::string_view text, std::string_view level) {
  Map map;
  add(map, text, level);
  return shown(map, level);
}

// A kernel of which line 12 is inlined at 13:28, and whose load is inline assembly of two lines.
constexpr std::string_view kPtx = R"(.version 8.7
.target sm_90a
.address_size 64
.file 1 "/src/a.py"
.visible .entry k(.param .u64 k_0)
.reqntid 128
{
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<6>;
	ld.param.b64 	%rd1, [k_0];
	.loc	1 13 35
	// begin inline asm
	.loc	1 13 35
	mov.u32 %r1, 0x0;
	.loc	1 14 35
	ld.global.b32 { %r1 }, [ %rd1 + 0 ];

	// end inline asm
	.loc	1 7 12, function_name $name, inlined_at 1 13 28
	add.f32 	%r2, %r1, %r1;
	.loc	1 15 1
	ret;
}
.section .debug_str
{
$name:
.b8 100
.b8 0
}
)";

constexpr std::string_view kSass = R"(
	.section	.text.k,"ax",@progbits
.text.k:
	//## File "/src/a.py", line 14
	//## File ".nv_debug_ptx_txt", line 16
        /*0000*/                   LDG.E R4, [R4.64] ;
	//## File "/src/a.py", line 7 inlined at "/src/a.py", line 13
	//## File "/src/a.py", line 13
	//## File ".nv_debug_ptx_txt", line 20
        /*0010*/              @!P0 FADD R7, R4, R4 ;
	//## File ".nv_debug_ptx_txt", line 22
        /*0020*/                   NOP ;
	//## File "/src/a.py", line 15
        /*0030*/                   EXIT ;
.L_x_0:
        /*0040*/                   BRA `(.L_x_0);
	.section	.nv.info,"",@"SHT_CUDA_INFO"
        /*0050*/                   NOT CODE ;
)";

}  // namespace

TEST(mlir_says_names_calls_and_merged_ops) {
  CHECK_EQ(rows(R"(module {
  tt.func public @k(%x: i32 loc("x"(#loc))) {
    %0 = arith.addi %x, %x : i32 loc("sum"(#loc1))
    %1 = arith.muli %0, %0 : i32 loc(#loc3)
    %2 = arith.subi %1, %0 : i32 loc(#loc4)
    %3 = arith.subi %2, %0 : i32 loc(unknown)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc("a.py":1:1)
#loc1 = loc("a.py":2:5)
#loc2 = loc("b.py":3:7)
#loc3 = loc(callsite(#loc2 at #loc1))
#loc4 = loc(fused[#loc1, #loc3, #loc1])
)",
                "ttir"),
           "1 module a.py:1:1\n"
           "2 tt.func a.py:1:1\n"
           "3 arith.addi a.py:2:5\n"
           "4 arith.muli b.py:3:7 in a.py:2:5\n"
           "5 arith.subi a.py:2:5 and b.py:3:7 in a.py:2:5\n"
           "6 arith.subi\n"
           "7 tt.return a.py:1:1\n");
}

TEST(ptx_within_inline_assembly_keeps_its_line) {
  CHECK_EQ(rows(kPtx, "ptx"),
           "10 ld.param.b64\n"
           "14 mov.u32 /src/a.py:13:35\n"
           "16 ld.global.b32 /src/a.py:13:35\n"
           "20 add.f32 /src/a.py:7:12 in /src/a.py:13:28\n"
           "22 ret /src/a.py:15:1\n");
}

TEST(llir_follows_scopes_and_calls) {
  CHECK_EQ(rows(R"(; as LLVM prints it
define void @k(ptr %0) {
  %2 = tail call i32 @f(), !dbg !12
  switch i32 %2, label %4 [
    i32 1, label %4
  ], !dbg !13
  ; a comment
  store i32 %2, ptr %0, !dbg !99
  ret void, !dbg !20
}
declare i32 @f()
!1 = !DIFile(filename: "a.py", directory: "/src")
!2 = !DIFile(filename: "/lib/b.py", directory: "/src")
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1)
!5 = distinct !DISubprogram(name: "g", scope: !2, file: !2, line: 1)
!6 = distinct !DILexicalBlock(scope: !5, line: 2)
!12 = !DILocation(line: 2, column: 3, scope: !4)
!13 = distinct !DILocation(line: 9, column: 1, scope: !6, inlinedAt: !12)
!20 = !DILocation(line: 5, column: 5, scope: !4, inlinedAt: !20)
)",
                "llir"),
           "3 call /src/a.py:2:3\n"
           "4 switch\n"
           "8 store\n"
           "9 ret /src/a.py:5:5\n");
}

TEST(llir_names_the_file_of_an_inlined_scope) {
  CHECK_EQ(rows(R"(; as LLVM prints it
define void @k() {
  ret void, !dbg !13
}
!2 = !DIFile(filename: "/lib/b.py", directory: "/src")
!4 = distinct !DISubprogram(name: "k", scope: !2, file: !2, line: 1)
!6 = distinct !DILexicalBlock(scope: !4, line: 2)
!12 = !DILocation(line: 2, column: 3, scope: !4)
!13 = distinct !DILocation(line: 9, column: 1, scope: !6, inlinedAt: !12)
)",
                "llir"),
           "3 ret /lib/b.py:9:1 in /lib/b.py:2:3\n");
}

TEST(amdgcn_reads_call_sites_out_of_the_comment) {
  CHECK_EQ(rows("\t.text\n"
                "\t.file\t1 \"/src\" \"a.py\"\n"
                "k:\n"
                "\ts_nop 0\n"
                "\t.loc\t1 12 10   ; a.py:12:10\n"
                "\tv_and_b32_e32 v0, 63, v0\n"
                "\t.loc\t1 7 12 is_stmt 1 ; a.py:7:12 @[ a.py:13:28 @[ a.py:40:2 ] ]\n"
                "\tv_add_f32_e32 v1, v1, v1\n"
                "\t.loc\t1 0 0 ; :0:0\n"
                "\ts_endpgm\n"
                "\t.section .rodata\n"
                "\tnot_code\n",
                "amdgcn"),
           "4 s_nop\n"
           "6 v_and_b32_e32 /src/a.py:12:10\n"
           "8 v_add_f32_e32 /src/a.py:7:12 in /src/a.py:13:28 in /src/a.py:40:2\n"
           "10 s_endpgm\n");
}

TEST(sass_alone_has_the_lines_of_the_cubin) {
  Map map;
  add(map, kSass, "sass");
  CHECK_EQ(shown(map, "sass"),
           "2 LDG.E /src/a.py:14 (ptx 16)\n"
           "3 FADD /src/a.py:7 in /src/a.py:13 (ptx 20)\n"
           "4 NOP /src/a.py:7 in /src/a.py:13 (ptx 22)\n"
           "5 EXIT /src/a.py:15 (ptx 22)\n"
           "7 BRA /src/a.py:15 (ptx 22)\n");
  CHECK_EQ(map.level("sass")->text,
           ".text.k:\n/*0000*/  LDG.E R4, [R4.64];\n/*0010*/  @!P0 FADD R7, R4, R4;\n/*0020*/  NOP;\n"
           "/*0030*/  EXIT;\n.L_x_0:\n/*0040*/  BRA `(.L_x_0);\n");
}

TEST(sass_takes_columns_and_lines_of_assembly_from_its_ptx) {
  Map map;
  add(map, kPtx, "ptx");
  add(map, kSass, "sass");
  CHECK_EQ(shown(map, "sass"),
           "2 LDG.E /src/a.py:13:35 (ptx 16)\n"
           "3 FADD /src/a.py:7:12 in /src/a.py:13:28 (ptx 20)\n"
           "4 NOP /src/a.py:7 in /src/a.py:13\n"  // its PTX is of another line
           "5 EXIT /src/a.py:15:1 (ptx 22)\n"
           "7 BRA /src/a.py:15:1 (ptx 22)\n");
}

TEST(products_of_warp_groups_are_paired_in_order) {
  constexpr std::string_view kProducts = R"(.version 8.7
.target sm_90a
.address_size 64
.file 1 "a.py"
.visible .entry k()
{
	.reg .f32 %f<2>;
	.reg .b64 %rd<1>;
	.loc 1 5 1
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f0, %f1}, %rd0, %rd0, 1, 1, 1, 0, 0;
	.loc 1 6 1
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f0, %f1}, %rd0, %rd0, 1, 1, 1, 0, 0;
	ret;
}
)";
  const std::string one = "\t//## File \"a.py\", line 9\n\t/*0*/ HGMMA.64x8x16.F32 R0 ;\n";
  Map map;
  add(map, kProducts, "ptx");
  add(map, ".text.k:\n" + one + one, "sass");
  CHECK_EQ(shown(map, "sass"),
           "2 HGMMA.64x8x16.F32 a.py:5:1 (ptx 10)\n3 HGMMA.64x8x16.F32 a.py:6:1 (ptx 12)\n");
  add(map, ".text.k:\n" + one, "sass");  // fewer than the PTX has: none is paired
  CHECK_EQ(shown(map, "sass"), "2 HGMMA.64x8x16.F32 a.py:9\n");
}

TEST(places_are_kept_once_for_all_levels) {
  Map map;
  add(map, "#loc1 = loc(\"/src/a.py\":13:35)\nmodule {\n  tt.func @k() {\n    tt.return loc(#loc1)\n  }\n}\n",
      "ttir");
  const size_t before = map.places().all().size();
  CHECK_EQ(before, size_t{1});
  add(map, kPtx, "ptx");
  CHECK_EQ(map.places().files().size(), size_t{1});
  CHECK_EQ(map.places().all().size(), size_t{4});
}

TEST(json_escapes_what_a_text_may_hold) {
  Map map;
  add(map,
      "define void @k() {\n  a\"\\\x01 x, !dbg !2\n}\n!1 = !DIFile(filename: \"a.py\", directory: \"\")\n"
      "!2 = !DILocation(line: 4, column: 0, scope: !1)\n",
      "llir");
  CHECK_EQ(map.json(),
           "{\"files\":[\"a.py\"],\"places\":[[0,4,0,-1]],"
           "\"levels\":{\"llir\":[[2,\"a\\\"\\\\\\u0001\",[0],0]]}}");
  CHECK_EQ(Map().json(), "{\"files\":[],\"places\":[],\"levels\":{}}");
}

TEST(lines_of_a_pass_have_their_first_place) {
  Map map;
  auto found = map.places_of_lines("module {\n  tt.func @k() {\n    tt.return loc(\"a.py\":3:1)\n  }\n}\n");
  CHECK(found.ok());
  CHECK(*found == (std::vector<int32_t>{kNone, kNone, 0, kNone, kNone, kNone}));
  CHECK(!map.places_of_lines("module {").ok());
}

TEST(texts_that_cannot_be_read_are_errors) {
  Map map;
  CHECK(!map.add("module {", "ttir").ok());
  CHECK(!map.add("nonsense", "ptx").ok());
  const base::Status unknown = map.add("", "cubin");
  CHECK(!unknown.ok());
  CHECK(unknown.ok() ||
        unknown.error().str().find("ttir, ttgir, llir, ptx, amdgcn, sass") != std::string::npos);
  CHECK(map.levels().empty());
}

TEST(layouts_are_drawn_element_by_element) {
  auto drawn = draw_layouts(
      R"(#row = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @k() {
    %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #row>
    %1 = arith.addi %0, %0 : tensor<128xi32, #row>
    tt.return
  }
}
)");
  CHECK(drawn.ok());
  if (!drawn.ok()) return;
  CHECK_EQ(drawn->size(), size_t{1});
  const Drawing& one = (*drawn)[0];
  CHECK_EQ(one.name, std::string("#row"));
  CHECK_EQ(one.type, std::string("i32"));
  CHECK_EQ(one.line, 4u);
  CHECK_EQ(one.count, 2u);
  CHECK(!one.is_shared);
  CHECK_EQ(one.cells.size(), size_t{4} * one.rows * one.columns);
  // Element 3 is register 1 of lane 1 of warp 0, element 65 register 3 of lane 0; one thread holds each.
  CHECK((std::vector<int32_t>(one.cells.begin() + 12, one.cells.begin() + 16)) ==
        (std::vector<int32_t>{1, 1, 0, 1}));
  CHECK((std::vector<int32_t>(one.cells.begin() + 260, one.cells.begin() + 264)) ==
        (std::vector<int32_t>{3, 0, 0, 1}));
  CHECK(!draw_layouts("module {").ok());
}
