"""The scripts of examples/runner, under their older names too, run on the CPU with the installed Triton."""

import runpy

import matrix
import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
import triton_runner
from triton_runner import DiagnosticError

EXAMPLES = matrix.EXAMPLES
# Only Triton 3.2 and 3.3 take these descriptors as arguments in Python: tests/releases runs the script.
OF_OLD_RELEASES = {"runner/v3.3.x/python/matmul-with-tma-v3.py"}
# Python kernels in TLX need Triton 3.8 and its plug-in, or Meta's fork: tests/releases runs them.
OF_TLX = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("runner/tlx/v*/python/*.py")}
OLDEST = [
    "python_runner/matmul.py", "ttir_runner/matmul.py", "ttir_runner/matmul/matmul.py",
    *(f"{level}_runner/sm90/matmul-with-tma-v3.py" for level in ("ttgir", "llir", "ptx", "cubin")),
]  # fmt: skip
SCRIPTS = sorted(
    {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("runner/**/*.py")}
    - OF_OLD_RELEASES
    - OF_TLX
)


def test_the_names_of_the_original_are_there():
    of_34 = [
        "python/matmul", "python/matmul-with-tma-v4",
        "ttir/matmul/matmul", "ttir/matmul-with-tma/matmul-with-tma-v4",
        *(f"{level}/sm90/matmul-with-tma-v4" for level in ("ttgir", "llir", "ptx", "cubin")),
        "ttgir/sm75/matmul", "gluon/01-intro", "gluon/02-layouts",
    ]  # fmt: skip
    assert {f"runner/v3.4.0/{name}.py" for name in of_34} <= set(SCRIPTS)
    for level in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        for version in ("v3.4.0", "v3.8.0"):
            assert f"runner/tlx/{version}/{level}/sm90/hopper-fa-ws-pipelined-pingpong.py" in SCRIPTS
    for folder in ("v3.3.x", "v3.2.0", "v3.1.0", "v3.0.0"):
        assert f"runner/{folder}/python/matmul.py" in SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS + OLDEST)
def test_example(script, capfd):
    with triton_runner.using(device="cpu"), pytest.raises((SystemExit, DiagnosticError)) as ended:
        runpy.run_path(str(EXAMPLES / script))
    said = capfd.readouterr()
    if "cubin/sm100" in script and ended.type is DiagnosticError:
        assert "the engine does not execute the machine instruction 'UTC" in str(ended.value)
    else:
        assert not ended.value.code and "✅ Triton and Torch match" in said.out, said


def test_artifacts_are_those_of_the_corpus():
    """`python tests/corpus/generate.py` writes both."""
    assert len(matrix.copies()) >= 40
    for copy, original in matrix.copies():
        assert copy.read_bytes() == original.read_bytes(), f"{copy} is not {original}"


def test_every_row_has_its_artifact():
    for row in matrix.ROWS:
        if row.compiled_for:
            assert any(row.folder.glob(f"*.{row.level}")), row.name
    names = [row.name for row in matrix.ROWS]
    assert len(names) == len(set(names))
