"""TRITON_RUNNER_ISAS: `make demo` compiles the SIMD loops for this machine alone, and a build says what it
lacks. The copies of these loops for an instruction set give the link nothing that other code may take."""

import pathlib
import re
import subprocess
import sys

import pytest
from triton_runner import _core, _settings
from triton_runner._base.errors import DiagnosticError

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(sys.executable).parent
ORDER = ["portable", "avx2", "avx512"]
TOLD = """
#include <iostream>
#include <triton_runner/num/isas.h>
int main(int, char** words) {
  std::cout << triton_runner::num::limit_isa(words[1]) << triton_runner::num::why_no_isa(words[1]);
}
"""


def out(*command) -> str:
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """A build folder for this machine alone, of which nothing is compiled."""
    folder = tmp_path_factory.mktemp("native")
    only = ["-DTRITON_RUNNER_ISAS=native", "-DTRITON_RUNNER_PYTHON=OFF"]
    out(BIN / "cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *only)
    return folder


def test_a_native_build_has_the_best_instruction_set_and_portable_loops(native):
    if _core.built_isas().split(", ") != ORDER:
        pytest.skip("this build, from which the machine's best one is known, does not have all")
    targets = out(BIN / "ninja", "-C", native, "-t", "targets", "all")
    for library in ("num", "lanes", "simt"):
        built = [isa for isa in ORDER if f"{library}_{isa}.dir" in targets]
        assert built == list(dict.fromkeys(["portable", _core.isa()])), library


@pytest.mark.parametrize("isa", ["avx512", "avx2", "portable", "sse9"])
def test_what_a_native_build_lacks_is_said(native, isa, tmp_path):
    (tmp_path / "told.cpp").write_text(TOLD)
    includes = [f"-I{native / kind / 'num'}" for kind in ("include", "internal")]
    files = [tmp_path / "told.cpp", ROOT / "src" / "num" / "isa.cpp"]
    out("g++", "-std=c++20", *includes, *files, "-o", tmp_path / "told")
    told = out(tmp_path / "told", isa)
    best = _core.isa()
    if isa in ("portable", best):
        assert told == "1"
    elif isa == "sse9":
        assert told == "0the names are avx512, avx2 and portable"
    elif ORDER.index(isa) > ORDER.index(best):
        has = ", ".join(ORDER[: ORDER.index(best) + 1])
        assert told == f"0this machine has only {has}"
    else:
        assert told == (
            f"0this build has only portable, {best}: `make test` compiles all, as CMake does with"
            " -DTRITON_RUNNER_ISAS=all"
        )


def test_the_setting_says_what_the_core_says(monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_ISA", "avx2")
    monkeypatch.setattr(_core, "limit_isa", lambda isa: "this build has only portable: do this")
    with pytest.raises(
        DiagnosticError, match="TRITON_RUNNER_ISA is 'avx2', and this build has only portable: do"
    ):
        _settings._from_environment()


def given(*objects) -> list[str]:
    """Lists what objects give the link beside the functions of their instruction set's namespace."""
    names = out("nm", "-C", "--defined-only", "--extern-only", *objects)
    rows = re.findall(r"^[0-9a-f]{8,} (.) (.*)$", names, re.M)
    kept = tuple(f"::{isa}::" for isa in ORDER)
    return [name for kind, name in rows if not (kind == "V" and name.startswith("DW.ref."))
            and not any(one in name for one in kept)]  # fmt: skip


@pytest.mark.parametrize("isa", ["avx512", "avx2"])
def test_an_instruction_sets_code_is_its_own(isa):
    """Every object has a copy of an inline function that is not inlined, and the link keeps one of them for
    all: a lesser machine would run the one for AVX-512."""
    objects = sorted((ROOT / "build/release/CMakeFiles").glob(f"*_{isa}.dir/**/*.o"))
    if not objects:
        pytest.skip(f"this build has nothing for {isa}")
    mend = "make it always_inline, put it into the namespace SIMD_ISA, or define it in a .cpp"
    assert not given(*objects), mend


@pytest.mark.parametrize(
    "space, function, is_own",
    [
        ("base", "inline int f(int x)", False), ("base", "template <class T> int f(T x)", False),
        ("base", "constexpr int f(int x)", False),
        ("base", "[[gnu::always_inline]] inline int f(int x)", True),
        ("base::avx512", "inline int f(int x)", True),
    ],
)  # fmt: skip
def test_which_functions_of_a_header_are_given_to_all(space, function, is_own, tmp_path):
    """At -O0 nothing is inlined but what has to be."""
    header = f"namespace {space} {{ {function} {{ return x + 1; }} }}\n"
    loop = f"namespace num::avx512 {{ int g(int x) {{ return {space}::f(x); }} }}\n"
    (tmp_path / "one.cpp").write_text(header + loop)
    out("g++", "-std=c++20", "-O0", "-c", tmp_path / "one.cpp", "-o", tmp_path / "one.o")
    assert (given(tmp_path / "one.o") == []) is is_own
