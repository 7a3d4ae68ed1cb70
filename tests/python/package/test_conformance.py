"""tests/conformance on tests of our own: what passes at both levels, and that every outcome is told apart."""

import collections
import importlib.metadata
import json
import pathlib
import subprocess
import sys

import pytest

CONFORMANCE = pathlib.Path(__file__).resolve().parents[2] / "conformance"
SAMPLE = CONFORMANCE / "sample"


def conformance(*arguments, status):
    command = [sys.executable, str(CONFORMANCE / "run.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def outcomes(results):
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return {r["test"].split("::")[1]: r["outcome"] for r in lines if "test" in r}


@pytest.mark.parametrize(
    "level, target",
    [("ttir", "cuda:90"), pytest.param("ttgir", "cuda:80", marks=pytest.mark.long), ("ttgir", "cuda:100")],
)
def test_kernels_run_right(level, target, tmp_path):
    table = tmp_path / "out.json"
    output = conformance(
        SAMPLE / "language/test_works.py", "--level", level, "--target", target, "--json", table, "--each",
        0 if level == "ttir" else 4, status=0,
    )  # fmt: skip
    counts = collections.Counter(record["outcome"] for record in json.loads(table.read_text()))
    assert set(counts) <= {"passed", "skipped"} and sum(counts.values()) == (60 if level == "ttir" else 15)
    assert counts["skipped"] == (2 if target == "cuda:80" else 0)  # float8 products
    assert f"{level} {target}: {counts['passed']} passed, 0 failed" in output


@pytest.mark.long
def test_every_outcome_is_told_apart(tmp_path):
    """Behind each crash the run goes on; the list takes out only what it names, failing as it says."""
    results, table = tmp_path / "results.jsonl", tmp_path / "out.json"
    output = conformance(
        SAMPLE / "language/test_outcomes.py", "--results", results, "--json", table, "--timeout", 20,
        "--jobs", 2, "--categories", SAMPLE / "categories.json", status=1,
    )  # fmt: skip
    told = {r["test"].split("::")[1]: (r["outcome"], r["why"]) for r in json.loads(table.read_text())}
    assert {test: outcome for test, (outcome, _) in told.items()} == {
        "test_passes_before": "passed",
        "test_fails": "failed",
        "test_fails_with_known_cause": "failed",
        "test_skips": "skipped",
        "test_expected_to_fail": "skipped",
        "test_dies[signal]": "crashed",
        "test_dies[exit]": "crashed",
        "test_does_not_end": "crashed",
        "test_absent_name": "not in this Triton",
        "test_listed_but_passes[0]": "passed",
        "test_listed_but_passes[1]": "passed",
        "test_assembly_text": "tied to a GPU",
        "test_passes_behind": "passed",
    }
    assert "out of bounds in tt.store" in told["test_fails"][1]
    assert told["test_dies[signal]"][1] == "the process was ended by SIGSEGV"
    assert told["test_dies[exit]"][1] == "the process ended with status 3"
    assert told["test_does_not_end"][1] == "no end within 20 s"
    assert told["test_skips"][1] == "its own condition"
    assert "listed but passes: 2 of test_listed_but_passes (listed, and passes)" in output
    assert "1  a cause that is known" in output
    assert "ttir cuda:90: 4 passed, 5 failed, 2 skipped" in output


def test_a_run_goes_on_from_its_results(tmp_path):
    results = tmp_path / "results.jsonl"
    works = SAMPLE / "language/test_works.py"
    # Stopped before the first test: everything is listed as not run, and that is no success.
    output = conformance(works, "--each", 1, "--results", results, "--limit", 0.01, "-k", "unary", status=1)
    assert "0 passed, 0 failed, 0 skipped" in output
    conformance(works, "--each", 2, "--results", results, "-k", "unary", status=0)
    first = results.read_text()
    assert collections.Counter(outcomes(results).values()) == {"passed": 2}
    # A second call runs only what has no outcome; --again runs those outcomes once more.
    conformance(works, "--each", 4, "--results", results, "-k", "unary", status=0)
    added = results.read_text().removeprefix(first)
    assert added.count('"outcome": "started"') == 2 and len(outcomes(results)) == 4
    conformance(works, "--each", 4, "--results", results, "-k", "unary", "--again", "passed", status=0)
    assert collections.Counter(outcomes(results).values()) == {"passed": 4}


def test_a_list_of_tests_may_be_long(tmp_path):
    """A variable of the environment holds 128 KiB; Triton's tests have names of some megabytes."""
    works = SAMPLE / "language/test_works.py"
    names, results = tmp_path / "names.txt", tmp_path / "results.jsonl"
    conformance(works, "--each", 2, "--results", results, "-k", "unary", status=0)
    ran = [json.loads(line) for line in results.read_text().splitlines()]
    ran = sorted({record["test"] for record in ran if "test" in record})
    absent = [f"language/test_works.py::test_that_nobody_wrote[{i}]" for i in range(10_000)]
    names.write_text("\n".join([*absent, ran[0]]))
    output = conformance(works, "--only", names, "-k", "unary", status=0)
    assert "1 passed, 0 failed" in output


def test_llir_and_ptx_are_kept_for_the_next_level(tmp_path):
    works, kept = SAMPLE / "language/test_works.py", tmp_path / "kept"
    for level in ("ptx", "cubin"):
        conformance(works, "--each", 1, "-k", "unary", "--level", level, "--kept", kept, status=0)
        files = sorted(kept.iterdir())
        assert [file.name.split("-")[0] for file in files] == ["make_llir", "make_ptx"]  # made once
    for file in files:
        file.write_bytes(b"cut off")
    conformance(works, "--each", 1, "-k", "unary", "--level", "cubin", "--kept", kept, status=0)
    assert all(file.read_bytes() != b"cut off" for file in files)


def test_what_a_stage_says_is_kept_though_it_was_known(tmp_path):
    """At TTGIR a kernel has its name before the stage for PTX says it; a run at PTX learns it there."""
    sys.path.insert(0, str(CONFORMANCE))
    import kept_llir

    sys.path.remove(str(CONFORMANCE))

    def make_ptx(self, src, metadata, options):
        metadata["name"] = "add"
        return "ptx of " + src

    stage = kept_llir.keeping(make_ptx, tmp_path / "make_ptx")
    for metadata in ({"name": "add"}, {}):
        assert stage(None, "add.llir", metadata, ()) == "ptx of add.llir" and metadata == {"name": "add"}


GLUON = """
import pytest
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy(in_ptr, out_ptr, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(out_ptr + offsets, gl.load(in_ptr + offsets))


@pytest.mark.parametrize("block", [128, 256])
def test_copy(block):
    x = torch.arange(float(block), device="cuda")
    out = torch.zeros_like(x)
    copy[(1,)](x, out, block)
    assert (x == out).all()
"""


def test_all_gluon_tests_at_each_level(tmp_path):
    """whole.py runs each combination once, and says what each function's tests take."""
    pytest.importorskip("triton.experimental.gluon")
    (tmp_path / "conftest.py").write_text((SAMPLE / "conftest.py").read_text())
    (tmp_path / "gluon").mkdir()
    (tmp_path / "gluon/test_core.py").write_text(GLUON)
    command = [
        sys.executable,
        CONFORMANCE / "whole.py",
        tmp_path / "gluon",
        "--results",
        tmp_path / "results",
    ]
    command += ["--releases", importlib.metadata.version("triton"), "--targets", "cuda:90"]

    def whole(*more):
        done = subprocess.run([*map(str, (*command, *more))], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    assert [line.split()[1:] for line in whole("--cost")] == [["not", "begun"]] * 3
    rows = whole("--limit", 300)
    assert len(rows) == 3 and all("2 tests,      2 passed,    0 failed," in row for row in rows), rows
    files = {path.name: path.read_text() for path in (tmp_path / "results").glob("*.jsonl")}
    assert len(files) == 3
    costs = whole("--cost")
    assert len(costs) == 6 and all(
        "2      2" in line and "test_core.py::test_copy" in line for line in costs[1::2]
    )
    assert files == {path.name: path.read_text() for path in (tmp_path / "results").glob("*.jsonl")}


def test_a_file_that_cannot_be_imported_fails(tmp_path):
    (tmp_path / "conftest.py").write_text((SAMPLE / "conftest.py").read_text())
    (tmp_path / "test_broken.py").write_text("import of_no_package\n\n\ndef test_nothing():\n    pass\n")
    output = conformance(tmp_path, status=1)
    assert "the file cannot be imported" in output and "of_no_package" in output
    assert "0 passed, 1 failed" in output


def test_against_the_interpreter(tmp_path):
    """The same tests through TRITON_INTERPRET=1, which sees no CUDA device."""
    works = SAMPLE / "language/test_works.py"
    output = conformance(works, "--interpreter", "--marked", "--each", 1, "-k", "unary or reduce", status=0)
    assert "interpreter: 2 passed, 0 failed, 0 skipped" in output


def test_gluon_tests_get_the_names_of_this_release(tmp_path):
    """Calls by an old name change; other words, and what else the folder holds, do not."""
    source = tmp_path / "tests/gluon"
    source.mkdir(parents=True)
    (source.parent / "conftest.py").write_text("# kept\n")
    (source / "conftest.py").write_text("# skips everything\n")
    old = "tma.async_copy_global_to_shared(d, b, s)\nx._reinterpret(t)\nasync_copy_global_to_shared = 1\n"
    (source / "test_core.py").write_text(old)
    script = CONFORMANCE / "gluon_tests.py"
    subprocess.run([sys.executable, script, source, tmp_path / "new"], check=True)
    new = "tma.async_load(d, b, s)\nx.reinterpret(t)\nasync_copy_global_to_shared = 1\n"
    assert (tmp_path / "new/gluon/test_core.py").read_text() == new
    assert (tmp_path / "new/conftest.py").read_text() == "# kept\n"
    assert not (tmp_path / "new/gluon/conftest.py").exists()
