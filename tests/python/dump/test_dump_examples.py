"""Every script of examples/dump and examples/debugging runs on the CPU and matches its reference."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
import triton_runner
from triton_runner._kernel.dumps import instrument, launches

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SCRIPTS = sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("d[ue]*/*/*/*.py"))
# In TLX: tests/releases/test_tlx.py runs them with the release that has TLX.
SCRIPTS = [script for script in SCRIPTS if not script.startswith("dump/tlx/python/")]
FROM_PYTHON = [script for script in SCRIPTS if "/python/" in script]


def run(script: str, capfd, **settings) -> str:
    """Returns what a script printed; it must have ended with exit status 0."""
    launches._said.clear()
    capfd.readouterr()
    with triton_runner.using(device="cpu", **settings), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / script))
    said = capfd.readouterr().out
    assert not ended.value.code, said
    assert "debug tensor(" in said and "✅ Triton and Torch match" in said
    assert re.search(r"^The maximum difference between torch and dump is \d", said, re.M), said
    return said


def test_the_names_of_the_original_are_there():
    for name in (
        "dump/python/01-vec_add/dump_output.py", "dump/ttir/01-vector_add/dump_load.py",
        "debugging/python/01-vec_add/debug_output.py",
        "debugging/python/03-matrix_multiplication/debug_acc.py",
        "debugging/python/04-softmax/debug_max_in_loop.py",
        "debugging/python/05-softmax_lse/debug_log_acc.py", "debugging/python/06-attention/debug_out.py",
        *(f"debugging/{level}/{vector}/debug_addf.py"
          for level, vector in (("ttir", "01-vector_add"), ("ttgir", "01-vec_add"))),
        *(f"debugging/{level}/{script}" for level in ("ttir", "ttgir") for script in (
            "03-matrix_multiplication/debug_acc.py", "04-softmax/debug_maxnumf.py",
            "05-softmax_lse/debug_more.py", "06-attention/debug_out.py")),
    ):  # fmt: skip
        assert name in SCRIPTS
    assert (EXAMPLES / "debugging" / "README.md").is_file()


@pytest.mark.parametrize("script", SCRIPTS)
def test_example(script, capfd):
    said = run(script, capfd)
    ssa = r"%\w+" if "/tlx/" in script else r"%\d+"  # 3.8 gives values the names of variables
    modes = re.findall(
        rf"^\[Triton Runner\] In dump mode, ssa={ssa}, op=[\w.]+, loc=loc\(#loc\d+\), size=\d+$", said, re.M
    )
    by_statement = "/python/" in script or "/gluon/" in script
    assert len(modes) == (0 if by_statement else 4 if "debug_more" in script else 1), said


@pytest.mark.parametrize("level", ["ttgir", "ptx"])
@pytest.mark.parametrize("script", FROM_PYTHON)
def test_statements_at_other_levels(script, level, capfd):
    run(script, capfd, level=level)


@pytest.mark.parametrize("script", [s for s in SCRIPTS if "/ttir/" in s or "/ttgir/" in s])
def test_by_stores(script, capfd, monkeypatch):
    """As a GPU does it: stores are put into the TTIR or TTGIR; here the PTX runs on the CPU."""
    monkeypatch.setattr(launches, "_way", lambda request, plan: instrument.run)
    assert "In dump mode, ssa=%" in run(script, capfd, level="ptx")
