"""tests/room.py tells where a file stands: one file of each kind of room, and what it answers otherwise."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import folders  # noqa: E402
import layers  # noqa: E402
import words  # noqa: E402
from coverage import reach  # noqa: E402
from rooms import cpp, imports, modules, sources, suites, tested, tree  # noqa: E402

TOLD = {
    "src/num/dot.cpp": [
        "src/num: element types", "src/num/dot_test.cpp", "own names    of types and constants must differ",
        '"x.h" of src/num; <triton_runner/LIBRARY/x.h> of num, base: '],
    "src/simt/ops/warp.cpp": [
        "src/simt/ops: handlers of what is done when",
        "src/simt/check, src/simt/state; of src/simt/code it would be the first include",
        "ptx, sass, amdgcn, artifact, ir are for src/simt/front/ alone", "doc/internals/simt.md",
        "python tests/run_cases.py ptx/warp-"],
    "src/ptx/constant.cpp": ["doc/internals/ptx.md (Numbers)"],
    "src/tile/check/family.h": [
        "check/bad-overflow-sum check/bad-uninit-select", "tile-engine.md (How checks follow values)"],
    "src/driver/graph_nodes.cpp": ["tests        src/driver/graph_test.cpp"],
    "src/driver/tensor.cpp": ["tests        src/driver/driver_test.cpp"],
    "src/driver/at_work.cpp": ["tests        tests/python/launch/test_cuda_program.py"],  # its header says so
    "src/driver/at_work.h": ["as the verbs do (_base/progress.py).\n"],  # an example follows
    "src/simt/matrix/tcgen05_shape.cpp": ["tests        tests/cases/ptx/tcgen05-mma-ws", "; make lint"],
    "src/launch/gpu_kernel.cpp": ["is used by   python/bindings/device.cpp, ", "python/bindings/queue.cpp\n"],
    "python/triton_runner/verbs/verify/ci.py": ["-q tests/python/cli/test_ci_files.py tests/python/prove"],
    "python/triton_runner/_kernel/page/profiles.py": ["python/triton_runner/_kernel/page/assets/profile.js"],
    "tests/strangers/softmax_of_infinities.py": [
        "is used by   tests/python/case/test_strangers.py", "-k infinities"],
    "tests/right/programs/masked/stencil_at_borders.py": ["right/run.py", '"--only stencil_at_borders"'],
    "tests/libraries/cases_fla.py": ["is used by   tests/libraries/cases.py\n", "libraries/run.py fla"],
    "tests/releases/tlx_kernels.py": [
        "is used by   tests/releases/test_tlx.py, ", "and no torch", "tools/releases.py test 3.6.0"],
    "tests/judge/run.py": ["is used by   tests/judge/throughput.py\n", "alone   python tests/judge/run.py"],
    "tests/rooms/commands.py": ["is used by   tests/rooms/bindings.py, tests/rooms/cpp.py, "],
    "tests/kinds.py": ["is used by   tests/lint.py, tests/rooms/cpp.py"],
    "tests/planted/lines.py": ["runs alone   python tests/planted/lines.py --liger"],
    "tests/python/prove/test_prove_ci.py": ["page         doc/guide/prove.md, "],
    "tests/python/bisect/test_reduce.py": ["page         doc/guide/reduce.md, "],
    "tests/python/bisect/test_solved_issues.py": ["page         doc/solving_triton_issues, "],
    "tests/python/ptx/test_ptx_arithmetic.py": ["page         doc/internals/ptx.md, ", "on     CONTRIB"],
    "python/triton_runner/_kernel/dumps/registers.py": [
        "page         doc/reference/dumps.md, doc/internals/dumps.md\n"],
    "src/simt/front/amdgcn/simd/steps.cpp": ["by its table: src/simt/front/amdgcn/look.cpp, "],
    "src/lanes/simd/memory.cpp": ["by its table: src/simt/async/copy.cpp, "],
    "tests/shapes/subjects/segment_sum.py": [
        "tests/shapes/faults.py, tests/shapes/right.py", "faults --only"],
    "tests/python/package/test_pages.py": ["reads        doc", "CONTRIBUTING.md"],
    "src/lanes/simd/compare.cpp": ["the rows of kTestp", "kSetp (src/simt/", "namespace SIMD_ISA"],
    "python/triton_runner/__main__.py": ["room         _cli: ", "verbs.cuda.run", "test_cli.py"],
    "tests/python/cli/test_bad_input.py": ["doc/reference/cli.md"],
    "src/simt/front/amdgcn/lower.cpp": ["doc/internals/simt-amdgcn.md", "tests/cases/amdgcn/"],
    "src/amdgcn/internal/facts.h": ["arrays of kCounters in src/amdgcn/waits.cpp"],
    "python/triton_runner/verbs/bits/compare.py": [
        "pytest -q tests/python/compare/test_bits.py", "color_print, tlx, ",
        "as the first module of verbs that does so (lint allows", "no private names (_x)\n"],
    "src/num/internal/by_size.h": [
        "is built     once for each instruction set too", "may not      print, ", "one-of-each.md"],
    "src/probe/elements.h": ["page         doc/guide/debug.md\n"],  # all of its users are in src/probe/debug
    "src/launch/internal/key.h": ["page         doc/internals/devices.md"],  # a tool writes releases.md
    "src/simt/launch/observe.h": ["pytest -q tests/python/dump/test_dump_registers.py"],
    "src/simt/front/sass/lower.cpp": ["src/simt/front/sass, src/simt/front/ptx, src/simt/launch, "],
    "src/tile/machine/amd.cpp": ["src/tile/machine: handlers of ops", "amdg.buffer_load"],
    "src/tile/ops/shape.cpp": ["the rows of tt.get_program_id, ", "src/tile/ops, the core"],
    "src/tile/ops/fp4.cpp": ["build/golden/op/ttg.fp4_to_fp.ttgir", "made by tests/golden/gpu.py"],
    "src/tile/stop.cpp": ["src/tile/finish.cpp, src/tile/kernel.cpp", "tests/python/debug/test_"],
    "src/ir/verify_shapes.cpp": ["the rows of tt.addptr, ", "tests/cases/bad-input/"],
    "src/ir/internal/translate.h": ["implemented  in src/ir/translate.cpp", "python/bindings/translate.cpp"],
    "src/artifact/occupancy.cpp": ["python/bindings/artifact.cpp", "devices.md", "tests/python/"],
    "src/machine/internal/clock.h": ["<triton_runner/machine/clock.h>", "architecture.md"],
    "src/machine/internal/launch_control.h": ["tests/cases/ptx/clusterlaunchcontrol"],
    "src/probe/internal/register_stores.h": [
        "src/probe/insert: ", "implemented  in src/probe/insert/register_stores.cpp", "dump/test_dump_reg",
        "doc/internals/dumps.md"],
    "src/probe/debug/debugger.cpp": ["doc/guide/debug.md", "tests/python/debug/test_"],
    "src/simt/check/count.cpp": ["doc/reference/profile.md", "tests/python/profile/test_counts.py"],
    "python/bindings/given.cpp": ["python/bindings: what Python sees", "is used by   python/bindings/"],
    "python/bindings/probe_counts.cpp": ["page         doc/reference/profile.md"],
    "python/bindings/probe_debugger.cpp": [  # values() is a method of others too
        "is used by   verbs.debug.", "pytest -q tests/python/debug/test_back.py"],
    "python/bindings/probe_amdgcn.cpp": ["tests/python/amdgcn/test_amd_values.py"],
    "python/triton_runner/verbs/debug/dap/guard.py": [
        "(but not dap.serve, which would", "), verbs/debug (but not command, which", "debug-editors.md",
        "pytest -q tests/python/debug/test_dap_ro"],
    "python/triton_runner/verbs/debug/dap/life.py": ["pytest -q tests/python/debug/test_dap_ro"],
    "python/triton_runner/verbs/bisect/inductor/compiled.py": [
        "its own folder (but not inductor.captured, ", "); of other verbs none", "torch-bisect.md",
        "bisect/test_torch_stages.py"],
    "python/triton_runner/verbs/passes/command.py": ["is used by   _cli (imports the command of"],
    "python/triton_runner/_artifact/kernel.py": ["_kernel.cost.profiling", "devices.md"],
    "src/num/simd/dot_amx.cpp": ["src/num/dot_bf16.cpp", "src/num/dot_t", 'PARTS="build isas"'],
    "src/simt/code/spaces.h": ["src/simt/state/block.h"],
    "src/simt/front/amdgcn/memory.cpp": ["is used by   the rows of s_load_dword, "],
    "src/simt/front/sass/mbarriers.cpp": ["is used by   the rows of ACQBULK, "],
    "src/replay/internal/trace_bytes.h": ["pytest -q tests/python/profile/test_replay.py"],
    "src/tile/check/shadow.cpp": [
        "src/tile/check/uninit", "(How checks follow values)",
        "of its users: tests/cases/check/bad-overflow"],
    "src/lanes/functions.cpp": [
        "tests        src/ptx/alu_test.cpp, tests/python/ptx/test_ptx_arithmetic.py", 'PARTS="build isas"'],
    "src/simt/launch/observe.cpp": ["registers-cap.ptx, tests/python/dump/test_dump_registers.py"],
    "src/simt/async/tma_ops.cpp": ["is used by   src/simt/front/ptx/tma.cpp"],  # as l.emit<run_box_load>
    "python/triton_runner/_launch/gpu_driver.py": ["tests/python/launch/test_gpu_launch.py", "devices.md"],
    "src/artifact/cubin.cpp": ["is used by   src/artifact/describe.cpp, src/artifact/fatbin.cpp\n"],
    "src/tile/ops/reduce.cpp": ["tests        build/golden/op/tt.reduce.ttir, build/golden/op/tt.scan.ttir"],
    "include/triton_runner/base/result.h": ["src/base/result_test.cpp\n", "public_headers; make test PARTS"],
    "python/triton_runner/verbs/prove/facts.py": ["doc/guide/prove.md", "test_prove_odd.py"],
    "python/triton_runner/verbs/profile/text.py": ["page         doc/reference/profile.md"],
    "python/triton_runner/verbs/cuda/__init__.py": ["tests/python/launch/test_cuda_program.py"],
    "src/lanes/simd/cvt.cpp": ["a member of a table of functions", "doc/internals/simt.md"],
    "src/tile/internal/encoding.h": ["room         src/tile/machine: ", "encoding_test.cpp", "layouts.md"],
    "python/triton_runner/_base/levels.py": ["layer        base", "test_levels.py"],
    "python/triton_runner/verbs/judge/answer.py": ["doc/guide/judge.md", "verbs.judge.trial"],
    "python/triton_runner/testing.py": ["layer        launches", "triton_runner.testing: programs import it"],
    "python/triton_runner/_memory/registry.py": ["python/bindings/launch.cpp", "examples/kernels/harness.py"],
    "python/triton_runner/_memory/arrays.py": [
        "tests        tests/python/launch/test_jit", "test_pointer_objects.py"],
    "python/triton_runner/_worker/child.py": [
        "library of Python 3.10, numpy, torch, triton; ", "in the Python of any release (they import each"],
    "python/triton_runner/verbs/ops/run.py": ["tools/next.py", "reference/cli.md, doc/internals/tables.md"],
    "python/triton_runner/_kernel/source_map.py": ["doc/guide/see.md"],
    "python/triton_runner/_kernel/dumps/__init__.py": [
        "_kernel: what is known of one kernel", "holds        accesses: Reads the loads", "_jit.dispatch, "],
    "include/triton_runner/ir/ops.def": ["/x.h> of ir, base: public headers alone", "src/ir/op_table.cpp"],
    "include/triton_runner/exec/heap.h": ["<triton_runner/exec/heap.h>, and its names are promised"],
    "include/triton_runner/triton_runner.h": ["the whole API in one header"],
    "src/num/cast_test.cpp": [
        "library      src/num: ", "it tests     src/num/", "num_test cast_", "other tests of src/num"],
    "src/machine/exact_test.cpp": [
        "library      src/machine: ", "checks.md (overflow)", "of machine, exec, num", "test; make lint"],
    "src/deploy/kernel.h": [
        "layout, sass, amdgcn are for src/deploy/on_cpu.cpp alone",
        "library: tests/python/artifact/test_deploy.py"],
    "python/bindings/queue.h": [
        "replay, report, device", "page         doc/internals/architecture.md (How a la"],
    "fuzz/fuzz_ir.cpp": ["fuzz/CMakeLists.txt, as fuzz_ir", "is used by   nobody", "make fuzz"],
    "benchmark/approx.cpp": ["is used by   tests/gpu/approx_fit.py\n"],
    "python/triton_runner/_kernel/dumps/boxes.py": [
        "test_strangers.py", "page         doc/reference/dumps.md, doc/internals/dumps.md"],
    "tests/python/launch/test_jit.py": [
        "folder       tests/python/launch: launches", "as `import x`", "pytest -q tests/python/la"],
    "tests/python/helpers/warm.py": [
        "folder       tests/python/helpers: no tests", "pytest -q tests/python/cli/"],
    "tests/golden/gpu.py": ["is used by   tests/golden/amd.py", "python tests/golden/make.py"],
    "src/simt/front/ptx/load.cpp": [  # its name is a word of many files: callers write simt::load()
        "is used by   python/bindings/simt.cpp, src/deploy/on_cpu.cpp, src/driver/launch.cpp\n"],
    "src/simt/front/sass/warpgroups.cpp": ["run_cases.py ptx/wgmma-", "simt-sass.md"],
    "src/tile/machine/shared_state.cpp": [
        "goes with    src/tile/machine/shared_kept.cpp (SharedState)\n",
        "goes with: tests/python/debug/test_back.py"],
    "src/tile/machine/shared_state.h": [
        "in src/tile/machine/shared_state.cpp, src/tile/machine/shared_kept.cpp\n"],
    "src/simt/front/ptx/exact.cpp": ["page         doc/reference/checks.md (overflow)\n"],
    "src/tile/check/perturb.cpp": ["page         doc/reference/experiments.md (perturb)\n"],
    "src/num/internal/functors.h": [
        "goes with    src/num/elementwise.cpp (TRITON_RUNNER_", "libdevice.cpp (LibdeviceFunctor)",
        "of num, base: public headers and those of src/LIBRARY/internal\n",
        "num_test && build/release/num_test; make lint"],
    "python/triton_runner/_kernel/cells/measure.py": [
        "its own folder (_kernel.cells)", ", and _kernel.asynchronous, _kernel.layout, _kernel.material, "],
    "src/tile/hardware/functions.h": ["the rows of tt.approx_divf, tt.extern_elementwise, "],
    "src/amdgcn/vector.cpp": ["goes with    src/amdgcn/decoder.h (Decoder), "],
    "src/num/simd/coefficients.h": ["is written   by tools/math_coefficients.py"],
    "src/amdgcn/internal/encodings.def": ["is written   by tools/amd_encodings.py"],
    "python/triton_runner/_kernel/compiling/passes_names.py": ["is written   by tools/pass_names.py"],
    "include/triton_runner/num/type.h": [
        "src/num/type_test.cpp would be", 'make test PARTS="build unit"',
        "order        of Type's enumerators is asked for by src/num/simd/cast"],
    "include/triton_runner/ptx/special.def": ["of Special's enumerators is asked for by src/simt/front"],
    "src/artifact/ir_level.cpp": ["build/release/artifact_test"],
    "python/triton_runner/verbs/cuda/command.py": ["tests/python/launch/test_cuda_program.py"],
    "src/driver/context.cpp": ["may          print, ", "rows of cuDevicePrimaryCtxRetain, "],
    "src/exec/undo.cpp": ["may not      allocate, "],
    "src/simt/front/ptx/atomic.cpp": ["is built     at -O1 (COLD"],
    "src/simt/front/ptx/alu.cpp": ["is built     for speed"],
    "src/tile/lowering.cpp": ["is built     by itself, and again in tests/unit/invented"],
    "python/bindings/site.cpp": ["is built     for speed, as each launch"],
    "python/triton_runner/verbs/compare/table.py": ["(but not command, results, run, text, which would"],
    "python/triton_runner/verbs/compare/results.py": ["(but not command, run, text, which"],
    "python/triton_runner/_worker/llvm_passes.py": [
        "(but not architectures, job, recorder_job, times_job", "_worker.recorder_job, _worker.times_job;",
        "doc/guide/passes.md (Inside LLVM)"],
    "python/triton_runner/_worker/times_job.py": ["is used by   verbs.passes.times\n"],
    "python/triton_runner/_base/renamed.py": ["no module of this package; ", "_worker.child, "],
    "python/triton_runner/bench/kernels.py": ["loaded without the package, by bench/peer.py", "bench.peer"],
    "python/triton_runner/verbs/export/__init__.py": [
        "imports      nothing: ", "programs, as triton_runner.export\n",
        "pytest -q tests/python/artifact/test_deploy"],
    "python/triton_runner/verbs/cache/__init__.py": ["pytest -q tests/python/cli/test_doctor.py"],
    "python/triton_runner/verbs/opt/__init__.py": ["tests/python/cli/test_mistakes.py"],
    "python/triton_runner/_settings/messages.py": ["doc/reference/errors.md (Messages)"],
    "src/simt/matrix/wgmma.h": ["tests        tests/cases/ptx/wgmma-"],
    "src/ir/translate_ops.cpp": [
        "page         doc/guide/compiler.md (IR of another release)\n",
        "a word in TRANSLATED of tests/kinds.py",
        "goes with    src/ir/translate.h (Translator), src/ir/translate.cpp"],
    "src/artifact/cubin_variables.cpp": ["goes with    src/artifact/cubin_kernel.cpp (cubin_kernel.h)\n"],
    "include/triton_runner/simt/simt.h": ["src/simt/front/ptx/load.cpp, ", "doc/internals/simt.md"],
    "python/triton_runner/verbs/prove/flow.py": ["pytest -q tests/python/prove/test_prove_odd.py"],
    "python/triton_runner/_kernel/lockstep/subject.py": [
        "pytest -q tests/python/compare/test_lockstep_loaded.py"],
    "python/triton_runner/_memory/views.py": ["page         doc/reference/views.md"],
    "src/simt/front/ptx/async.h": ["implemented  in src/simt/front/ptx/bulk.cpp, "],
    "python/triton_runner/verbs/debug/recording.py": ["pytest -q tests/python/debug/test_terminal.py"],
    "python/triton_runner/_pipeline/abilities.py": ["pytest -q tests/python/compiler/test_compile.py"],
    "src/simt/front/ptx/move.cpp": ["ptx/memory-constant-generic ptx/spaces"],
    "src/ir/internal/enums.def": ["pytest -q tests/python/tile/test_ir.py; "],
    "python/triton_runner/verbs/assemble/run.py": [
        "verbs.assemble.command; tests/differential/assembler.py"],
    "src/simt/front/ptx/tma.cpp": [  # cases of its engine, and lines of PTX that machine code is lowered by
        "by its lines of PTX: src/simt/front/sass/copies.cpp\n",
        "run_cases.py ptx/tensormap- ptx/bad-tensormap-",
        "of its users: tests/cases/ptx/bulk-cache-hint.ptx"],
    "src/simt/front/ptx/wgmma.cpp": ["by its lines of PTX: src/simt/front/sass/warpgroups.cpp\n"],
    "src/ir/internal/releases.def": [
        "python tools/stubs.py, which writes python/triton_runner/_core/ir.pyi", "doc/internals/tables.md\n",
        "test_translate.py tests/python/package/test_stubs.py; ninja -C build/release invented_test"],
    "python/bindings/releases.cpp": ["_core/ir.pyi\n", "package/test_stubs.py; make lint"],
    "python/bindings/sass.cpp": ["python tools/stubs.py, which writes python/triton_runner/_core/sass.pyi\n"],
    "python/triton_runner/_kernel/layout.py": [
        "tools/api_page.py, which writes docstrings of it into doc/reference/looking.md, doc/reference/obj",
        "package/test_stubs.py; make lint"],
    "python/triton_runner/tlx.py": ["which writes docstrings of it into doc/reference/modules.md\n"],
    "python/triton_runner/_base/releases.py": ["its own room (_base), and _core (which"],
    "src/tile/check/warps.h": ["run_cases.py check/race-warps- check/bad-race-warps- "],
    "src/simt/native/silent.h": ["is used by   src/simt/native/span.cpp, src/simt/native/span.h\n"],
    "src/num/simd/mma_lanes.h": ["num_test && build/release/num_test; make test"],
    "src/machine/internal/history.h": ['make test PARTS="build unit"; make lint'],
    "src/amdgcn/facts.cpp": ["amdgcn/test_amd_faults.py", "test_amd_values.py tests/python/amdgcn/te"],
    "python/triton_runner/_memory/uninit_numpy.py": ["page         doc/reference/unwritten.md"],
    "tests/tools/element.h": ["as case_tool\n", "case_tool; python tests/run_cases.py; make lint"],
    "tests/tools/case_tool.cpp": ["is built by  tests/tools/CMakeLists.txt", "tests/run_cases.py"],
}  # fmt: skip


def ask(*names: str):
    return subprocess.run(
        [sys.executable, "tests/room.py", *names], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_each_kind_of_room():
    files = [name for name in TOLD if (ROOT / name).is_file()]
    assert files == list(TOLD)
    done = ask(*files)
    assert done.returncode == 0, done.stderr
    told = dict(zip(files, done.stdout.split("\n\n"), strict=False))
    assert not [name for name in files if not told[name].startswith(f"{name}: ")]
    assert not [(name, said, told[name]) for name in files for said in TOLD[name] if said not in told[name]]


@pytest.mark.parametrize(
    "names, says",
    [(["nofile.cpp"], "nofile.cpp: no such file"), (["Makefile"], "Makefile: this tells files of C++")],
)
def test_what_has_no_room(names, says):
    done = ask(*names)
    assert done.returncode == 2 and says in done.stderr


def test_a_user_of_a_member_means_its_class():
    """SharedState has hand_over() and complete_copies() too, whose callers do not use Shadows."""
    users = sources.users_of(ROOT / "src/tile/check/shadow.cpp")
    assert "src/tile/check/uninit_shared.cpp" in users
    assert not [one for one in users if one.startswith("src/tile/machine/")]


def test_a_statement_defines_nothing():
    """shadow.cpp calls members of SharedState at the beginning of lines, and defines those of Shadows."""
    assert not [one for one in sources.defined(ROOT / "src/tile/check/shadow.cpp") if "SharedState" in one]


def test_a_public_header_of_several_rooms_has_none():
    assert sources.room_of(ROOT / "include/triton_runner/simt/simt.h") == "simt"
    assert sources.room_of(ROOT / "src/machine/internal/clock.h") == "machine"


def test_no_bare_short_name_is_looked_for():
    """A user of a file is found by the header that it includes, by a name that is not a common word, or by
    the namespace in front of the name."""
    load = ROOT / "src/simt/front/ptx/load.cpp"
    for name in sources.users_of(load):
        assert "simt::load(" in (ROOT / name).read_text() or "simt.h" in (ROOT / name).read_text()


def test_tests_of_a_module_are_those_that_enter_it():
    """No test that is named as a picture draws a dump, and two modules have the same tests by name."""
    names = {"_kernel/dumps/picture": "test_dump", "_pretend/compiling": "test_torch_compile",
             "verbs/debug/parts": "test_session", "verbs/verify/spoilt": "test_spoilt"}  # fmt: skip
    told = {name: modules.tests_of(layers.PACKAGE / f"{name}.py") for name in names}
    assert not {name: told[name] for name, test in names.items() if test not in str(told[name])}


def test_tests_that_most_enter_are_told_by_their_names_alone():
    """Every test enters spine(), and one of them also own(): it alone says something of its file, and of the
    file that all enter those are told that are named as one of its functions."""
    entered = {f"tests/python/a/test_{name}.py": {"spine"} for name in ("messages", "advice", "registers")}
    entered["tests/python/a/test_loops.py"] = {"spine", "own"}
    files = {"spine": {"src/simt/observe.cpp"}, "own": {"src/simt/find.cpp"}}
    names = {"src/simt/observe.cpp": "show_registers", "src/simt/find.cpp": "own"}
    found = reach.chosen(entered, files.get, names.get, 2)
    assert [test for *_, test in found["src/simt/find.cpp"]] == ["tests/python/a/test_loops.py"]
    assert [test for *_, test in found["src/simt/observe.cpp"]] == ["tests/python/a/test_registers.py"]
    assert reach.chosen(entered, files.get, lambda file: "f", 2)["src/simt/observe.cpp"] == []


def test_tests_that_enter_what_no_other_does_stand_beside_the_best():
    """Two tests enter most of a file; one, which is long and named otherwise, alone enters rare()."""
    entered = {f"tests/python/a/test_boxes_{n}.py": {"load", "store"} for n in (1, 2)}
    entered["tests/python/b/test_strangers.py"] = {"load", "rare", *(f"other{n}" for n in range(40))}
    entered |= {f"tests/python/c/test_{n}.py": {"more"} for n in range(6)}
    files = {name: {"src/boxes.cpp"} for name in ("load", "store", "rare")}
    found = reach.chosen(entered, lambda name: files.get(name, set()), lambda file: "", 2)
    assert [test for *_, test in found["src/boxes.cpp"]] == [*entered][:3]
    held = {test: names & {*files} for test, names in entered.items()}
    assert reach.left_out([*entered][:3], held) == []
    assert reach.left_out([*entered][2:3], held) == ["tests/python/a/test_boxes_2.py"]


def test_a_kind_of_tests_keeps_what_it_alone_enters():
    """The unit test enters most; of two Python tests one enters a function that it does not."""
    kinds = {"python": [(1, 1, "test_rare.py"), (1, 1, "test_most.py")], "unit": [(3, 9, "a_test.cpp")]}
    held = {"a_test.cpp": {*"abcdefghi"}, "test_rare.py": {"a", "rare"}, "test_most.py": {"a"}}
    assert reach.of_kinds(kinds, held) == ["test_rare.py", "a_test.cpp"]
    assert reach.of_kinds({"python": [(1, 4, "test_most.py")], "unit": kinds["unit"]}, held) == [
        "test_most.py", "a_test.cpp"]  # fmt: skip


def test_functions_of_a_source_file_are_read_whole():
    text = """Shadows::Shadows(int n) : n_(n) {
AtWork::~AtWork() {
const char* decode_types(Kind kind) {
std::vector<int> Kernel::Inner::rows(int n) const {
  if (n) {
"""
    assert reach.functions_in(text) == [
        "Shadows::Shadows", "AtWork::~AtWork", "decode_types", "Inner::rows"]  # fmt: skip


def test_programs_on_another_library_do_not_test_the_driver():
    """tests/gpu/fake_cuda.cpp runs in place of libcuda.so.1: no such test enters src/driver."""
    found = tested.using("cuLaunchKernel", tested.DRIVER)
    assert "src/driver/driver_test.cpp" in found
    assert not [one for one in found if one.endswith(("test_gpu_launch.py", "test_device_fake.py"))]


def test_plain_cases_go_before_those_of_reports():
    cases = tested.plain_cases(ROOT / "src/simt/matrix/tcgen05_shape.cpp")
    assert cases[0] == "tests/cases/ptx/tcgen05-mma.ptx" and len(cases) > 3
    assert not [one for one in cases if "tcgen05-ld" in one]


def test_no_case_of_another_engine_tests_a_file():
    """Cases of the tile engine do not enter src/simt, but for those that were seen to."""
    names = ("front/ptx/tma", "front/ptx/contract", "front/ptx/wgmma", "matrix/matrix_descriptor")
    files = [ROOT / "src/simt" / f"{name}.cpp" for name in names]
    near = {path: tested.reached()[str(path.relative_to(ROOT))] for path in files}
    found = [(path, one) for path, own in near.items() for one in tested.tests_of(path) if "cases/tile" in one
             and one not in own]  # fmt: skip
    assert not found


def test_tests_whose_opening_names_a_file_are_its_own():
    """A name that several files have says of none of them that it is meant."""
    assert "tests/python/compiler/test_releases.py" in tested.named_in_openings(
        ROOT / "src/ir/internal/releases.def"
    )
    assert tested.named_in_openings(ROOT / "src/simt/front/ptx/memory.cpp") == []


def test_tests_that_are_named_as_a_module_stand_first_or_beside():
    ci = layers.PACKAGE / "_base/ci_files.py"
    assert modules.tests_of(ci)[0] == "tests/python/cli/test_ci_files.py"
    also = modules.also(layers.PACKAGE / "verbs/verify/ci.py", "verbs.verify.ci", [])
    assert "tests/python/prove/test_prove_ci.py" in also
    assert "run" not in str(modules.also(layers.PACKAGE / "verbs/verify/run.py", "verbs.verify.run", []))


@pytest.mark.parametrize(
    "file, users, others",
    [  # no file takes tests/releases that does not name it, and pytest takes tests/python by itself
        ("tests/releases/test_launch_hooks.py", ["tools/releases.py"], "tests/conformance/run.py"),
        ("tests/releases/conftest.py", ["tools/releases.py"], "tests/python/package/test_pages.py"),
        ("tests/python/prove/test_prove_sound.py", [], "tests/python/package/test_suite.py"),
        (
            "tests/python/launch/test_device_fake.py",
            ["tests/python/artifact/test_deploy.py"],
            "tests/run_all.py",
        ),
        (
            "tests/python/gluon/test_gluon_hopper.py",
            ["tests/python/helpers/programs_broken.py"],
            "tests/gpu/run.sh",
        ),
        (
            "tests/strangers/softmax_of_infinities.py",
            ["tests/python/case/test_strangers.py"],
            "tests/right/run.py",
        ),
        ("tests/right/programs/masked/stencil_at_borders.py", ["tests/right/run.py"], "tests/run_cases.py"),
        ("tests/libraries/cases_fla.py", ["tests/libraries/cases.py"], "tests/libraries/suites.py"),
        ("tests/conformance/plugin.py", ["tests/conformance/run.py"], "tests/conformance/report.py"),
        ("tests/amd/decoded.py", [], "tests/python/package/test_pages.py"),
    ],
)
def test_users_of_a_file_of_tests_name_it_or_take_its_folder(file, users, others):
    found = suites.users_of(ROOT / file)
    assert {*users} <= {*found} and others not in found


def test_users_are_followed_to_the_tests():
    """A table has the kernels of kernels_varied.py, and tests have the table; sessions name a program."""
    found = suites.tests_through(ROOT / "tests/python/prove/kernels_varied.py")
    named = {f"tests/python/prove/test_prove_{name}.py" for name in ("planted", "sound")}
    assert named <= {*found} and len(found) < 12
    program = ROOT / "tests/python/debug/debugged_attention.py"
    assert suites.tests_through(program) == ["tests/python/debug/test_sessions.py"]
    shared = [path for path in (ROOT / "tests/python").glob("*/*.py") if not path.name.startswith("test_")]
    whole = [path for path in shared if suites.alone(path, [], False) == "pytest -q tests/python"]
    assert shared and not whole


def test_what_is_read_by_its_path_imports_what_its_like_do():
    varied = ROOT / "tests/python/prove/kernels_varied.py"
    told = suites.may_import(varied, suites.users_of(varied))
    assert "kernels_*.py has already: triton;" in told and "torch" not in told
    hooks = suites.may_import(ROOT / "tests/releases/test_launch_hooks.py", ["tools/releases.py"])
    assert {"numpy", "pytest", "triton"} <= {*hooks.replace(",", "").replace(";", "").split()}
    assert "torch" not in hooks


def test_conftest_lists_tests_by_name():
    listed = dict(suites.listed(ROOT / "tests/python/checks/test_broken_programs.py"))["listed"]
    assert listed.startswith("MACHINE (test_machine_code_is_reported_as_its_ptx_is)")
    assert suites.listed(ROOT / "tests/python/tile/test_arithmetic.py") == []


def test_optional_packages_are_imported_in_functions():
    """torch and triton may be missing, and lint's rules of rooms do not say it."""
    top, late = imports.outside()
    assert "numpy" in top and {"torch", "triton", "rich"} <= {*late}
    assert "has torch at its top" in imports.packages("_pretend.tensors")
    assert "at its top" not in imports.packages("_kernel.dumps.boxes")


def test_headers_of_the_machine_are_in_the_table():
    table = (ROOT / "doc/internals/architecture.md").read_text()
    names = [path.name for path in (ROOT / "src/machine/internal").glob("*.h")]
    assert names and not [name for name in names if f"`{name}`" not in table]


def test_every_room_has_a_sentence():
    rows, simt = tree.table("architecture.md"), tree.table("simt.md")
    names = {folder.name for folder in layers.PACKAGE.iterdir() if (folder / "__init__.py").is_file()}
    for folder in (ROOT / "src").rglob("*"):
        name = str(folder.relative_to(ROOT / "src"))
        if folder.is_dir() and folder.name != "internal" and not name.startswith(("tile/", "simt/")):
            names.add(name)
    assert not [name for name in sorted(names) if not tree.plain(" ".join(rows.get(name, ([], ""))[0][1:]))]
    assert not [name for name in folders.SIMT_ROOMS if name not in simt]


def test_tests_that_an_opening_names_are_there():
    files = [*layers.PACKAGE.rglob("*.py"), *(ROOT / "src").rglob("*.cpp"), *(ROOT / "src").rglob("*.h")]
    named = {file: tree.told(file) for file in files if "ested " in file.read_text()[:2000]}
    assert any(named.values())
    assert not [(file, one) for file, tests in named.items() for one in tests if not (ROOT / one).exists()]


def test_every_folder_of_tests_has_a_sentence():
    folders_of_tests = {
        path.parent for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "tests").rglob("*.cpp")]
    }
    folders_of_tests -= {ROOT / "tests", ROOT / "tests" / "python"}
    told = {str(one.relative_to(ROOT)): cpp.folder_says(one) for one in folders_of_tests}
    assert not [name for name, says in told.items() if says == name]
    python = [path for path in (ROOT / "tests" / "python").iterdir() if [*path.glob("*.py")]]
    assert not [
        path for path in python if not cpp.folder_says(path).startswith(f"tests/python/{path.name}: ")
    ]


def test_files_of_the_tests_that_were_measured_are_there():
    rows = tested.reached()
    assert len(rows) > 400
    absent = [one for tests in rows.values() for one in tests if not one.startswith("build/")]
    assert not [one for one in absent if not (ROOT / one).is_file()]
    assert not [name for name in rows if not (ROOT / name).is_file()]


@pytest.mark.parametrize(
    "sentence, has",
    [
        ("Reads ELF files.", True), ("The reader of ELF files.", False), ("Launches:", False),
        ("Copies and fills.", False), ("Tensor maps: the bytes that kernels pass.", False),
        ("Registers, constants and literals as LLVM prints them.", False),
        ("Lists, adds and removes releases.", True), ("Names and sums counters.", True),
        ("Values in the registers of a kernel that runs.", False), ("RaceCheck reports races.", True),
        ("Each fault that a check reports says what to do.", True),
        ("The heap from which malloc takes.", False),
        ("Registers of PTX, by name.", False), ("Registers a verb.", True),
        ("run_grid() runs.", True), ("The process of an answer.", False),
    ],
)  # fmt: skip
def test_which_first_sentences_have_a_verb(sentence, has):
    assert words.has_verb(sentence) is has
