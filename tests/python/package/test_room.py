"""tests/room.py tells where a file stands: one file of each kind of room, and what it answers otherwise."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import folders  # noqa: E402
import layers  # noqa: E402
import room  # noqa: E402

TOLD = {
    "src/num/dot.cpp": ["src/num: element types", "src/num/dot_test.cpp", "base"],
    "src/simt/ops/warp.cpp": [
        "src/simt/ops: handlers of what threads do", "code, state, check", "doc/internals/simt.md"],
    "src/simt/front/amdgcn/lower.cpp": ["doc/internals/simt-amdgcn.md", "tests/cases/amdgcn"],
    "src/tile/machine/amd.cpp": ["src/tile/machine: handlers of hardware", "the row of amdg.buffer_load, "],
    "src/tile/ops/shape.cpp": ["the row of tt.get_program_id, ", "its own folder, the core"],
    "src/artifact/occupancy.cpp": ["python/bindings/artifact.cpp", "devices.md", "tests/python/artifact"],
    "python/bindings/apart.cpp": ["python/bindings: nanobind", "is used by  python/bindings/"],
    "python/triton_runner/verbs/debug/dap/guard.py": [
        "its own folder, verbs/debug, of", "debug-editors.md", "pytest -q tests/python/debug/test_dap_ro"],
    "python/triton_runner/verbs/bisect/inductor/compiled.py": [
        "its own folder, of other verbs none", "torch-bisect.md", "bisect/test_torch_stages.py"],
    "python/triton_runner/verbs/bisect/fault.py": ["its own folder, verbs/bisect/inductor, of other"],
    "python/triton_runner/_artifact/kernel.py": ["_kernel.cost.profiling, and 3 more", "dump/test_dump_inse"],
    "src/num/simd/dot_amx.cpp": ["by  src/num/dot_bf16.cpp, src/num/simd/tables.h\n", "src/num/dot_t"],
    "src/simt/code/spaces.h": ["src/simt/state/block.h", " more\n", "tests/cases/amdgcn"],
    "src/simt/front/amdgcn/memory.cpp": ["is used by  the row of s_load_dword, "],
    "src/simt/front/sass/mbarriers.cpp": ["is used by  the row of ACQBULK, "],
    "src/replay/internal/trace_bytes.h": ["pytest -q tests/python/profile/test_replay.py"],
    "python/bindings/probe_replay.cpp": ["_kernel.cost.replay\n", "pytest -q tests/python/profile/test_repl"],
    "src/ir/text_writer.cpp": ["src/ir/module.cpp, src/ir/p", "tests/python/tile/test_ir.py"],
    "src/tile/check/shadow.cpp": ["src/tile/check/uninit.h", "cases\"; pytest -q tests/python/checks"],
    "src/amdgcn/memory.cpp": ["is used by  src/amdgcn/decode.cpp\n", "of the folder: src/amdgcn/decode_test"],
    "src/simt/front/sass/moves.cpp": ["tests/cases/ptx (run again as machine code)", "test_sass_pairs.py"],
    "src/tile/internal/encoding.h": ["the core"],
    "python/triton_runner/_base/levels.py": ["layer       base", "test_levels.py"],
    "python/triton_runner/verbs/judge/answer.py": ["doc/guide/judge.md", "verbs.judge.trial"],
    "python/triton_runner/testing.py": ["layer       launches", "triton_runner.testing: programs import it"],
    "python/triton_runner/_memory/registry.py": [
        "python/bindings/launch.cpp", "examples/kernels/harness.py", "tests       tests/python/launch/"],
    "python/triton_runner/_memory/arrays.py": ["tests       tests/python/launch/test_jit", "that use it: "],
    "python/triton_runner/_code/walk.py": ["through _kernel.compiling.ledger: tests/python/artifact/test_le"],
    "python/triton_runner/verbs/ops/run.py": ["tools/next.py", "reference/cli.md, doc/internals/tables.md"],
    "src/lanes/simd/sums.cpp": ["src/lanes/simd: loops that are compiled once for", "internals/simt-sass"],
    "python/triton_runner/_kernel/dumps/__init__.py": [
        "_kernel: what is known of one kernel", "is used by  _jit.dispatch, ", "doc/internals/dumps.md"],
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
    for name in files:
        assert told[name].startswith(f"{name}: "), told[name]
        for words in TOLD[name]:
            assert words in told[name], (name, words, told[name])


@pytest.mark.parametrize(
    "names, says", [(["nofile.cpp"], "nofile.cpp: no such file"), (["Makefile"], "Makefile: not in src")]
)
def test_what_has_no_room(names, says):
    done = ask(*names)
    assert done.returncode == 2 and says in done.stderr


def test_every_room_has_a_sentence():
    rows, simt = room.table("architecture.md"), room.table("simt.md")
    names = {folder.name for folder in layers.PACKAGE.iterdir() if (folder / "__init__.py").is_file()}
    for folder in (ROOT / "src").rglob("*"):
        name = str(folder.relative_to(ROOT / "src"))
        if folder.is_dir() and folder.name != "internal" and not name.startswith(("tile/", "simt/")):
            names.add(name)
    assert not [name for name in sorted(names) if not room.plain(" ".join(rows.get(name, ([], ""))[0][1:]))]
    assert not [name for name in folders.SIMT_ROOMS if name not in simt]


def test_tests_that_an_opening_names_are_there():
    files = [*layers.PACKAGE.rglob("*.py"), *(ROOT / "src").rglob("*.cpp"), *(ROOT / "src").rglob("*.h")]
    named = {file: room.told(file) for file in files if "ested " in file.read_text()[:2000]}
    assert any(named.values())
    assert not [(file, one) for file, tests in named.items() for one in tests if not (ROOT / one).exists()]
