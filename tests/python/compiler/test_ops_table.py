"""Tests the op table: `triton-runner ops`, the golden case that each row names, and the ops that Triton's
compiler produces.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import warm
from triton_runner import ir
from triton_runner.verbs.ops import run as op_listing

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from golden import ask_ops, make  # noqa: E402

TABLE = {row["name"]: row for row in op_listing.table()}


def cli(*arguments):
    command = [sys.executable, "-m", "triton_runner", "ops", *arguments]
    return warm.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def case_of(tested: str) -> Path:
    make.write()
    folders = (ROOT / "tests" / "cases", make.INTO)
    found = [folder / f"{tested}.{suffix}" for folder in folders for suffix in ("ttir", "ttgir")]
    found = [path for path in found if path.exists()]
    assert found, f"there is no case {tested}.ttir or .ttgir in tests/cases, and tests/golden makes none"
    return found[0]


def names_in(path: Path) -> set[str]:
    """The ops of a case under the names of the table: older dialects are translated."""
    text = path.read_text().partition("\n// ---- expected")[0]
    names = {op.name for op in ir.parse(text, str(path)).walk()}
    return names | {newest(name) for name in names}


def newest(name: str) -> str:
    """The name with what its dialect is called now."""
    old = next((old for old in op_listing.OLD_DIALECTS if name.startswith(old)), "")
    return op_listing.OLD_DIALECTS.get(old, "") + name.removeprefix(old)


@pytest.mark.parametrize("name", sorted(n for n, row in TABLE.items() if row["status"] != "parsed only"))
def test_every_executed_row_names_a_case_that_contains_it(name):
    row = TABLE[name]
    assert row["tested"], f"{name} is executed, and its row of ops.def names no case"
    case, (op, _, attribute) = case_of(row["tested"]), name.rstrip("}").partition("{")
    assert op in names_in(case), f"{row['tested']} does not contain {op}"
    assert not attribute or f"{attribute} = true" in case.read_text()


@pytest.mark.parametrize("name, old", [(n, old) for n, row in TABLE.items() for old in row["old_names"]])
def test_every_old_name_has_a_case_that_writes_it(name, old):
    assert f"{old['name']} " in case_of(old["tested"]).read_text()


def misplaced(table: dict[str, dict]) -> list[str]:
    """Names the rows that differ from a release's parser. TLX is a plug-in; braces name a variant."""
    rows = [row for row in table.values() if row["dialect"] not in ("tlx", "builtin")]
    names = {
        newest(one["name"]): one for row in rows for one in (row, *row["old_names"]) if "{" not in one["name"]
    }
    wrong = []
    for release, ops in ask_ops.kept().items():
        here = {newest(name) for name in ops}
        wrong += [
            f"{name} in {release}"
            for name, one in names.items()
            if (name in here) != op_listing._has(one, release)
        ]
    return wrong


def test_every_row_says_which_releases_have_it():
    assert not misplaced(TABLE)


@pytest.mark.parametrize(
    "column, value", [("since", "3.3"), ("since", "3.1"), ("until", "3.7"), ("since", None)]
)
def test_a_row_with_another_release_is_found(column, value):
    row = {**TABLE["tt.dot_scaled"], column: value}  # 3.2 and on
    assert misplaced({row["name"]: row})


def test_listing():
    rows = json.loads(cli("--json").stdout)
    assert {row["name"] for row in rows} == set(TABLE)
    load = next(row for row in rows if row["name"] == "tt.load")
    assert load["status"] == "executed" and load["handler"] == "lower_load" and load["tested"] == "op/tt.load"
    assert load["dialect"] == "tt" and load["since"] == "3.0" and load["until"] is None
    assert next(row for row in rows if row["name"] == "scf.yield")["status"] == "structure"
    text = cli().stdout
    line = next(line for line in text.splitlines() if line.startswith("tt.load "))
    assert line.split() == ["tt.load", "executed", "3.0", "on", "lower_load", "op/tt.load"]
    assert text.splitlines()[-1].startswith(f"{len(TABLE)} ops: ")


@pytest.mark.parametrize(
    "arguments, present, absent",
    [
        (("--dialect", "math"), "math.exp", "tt.load"),
        (("--release", "3.2"), "tt.make_tensor_ptr", "tt.map_elementwise"),
        (("--release", "3.9"), "tt.map_elementwise", "tt.make_tensor_ptr"),
        (("--release", "3.2", "experimental_descriptor_load"), "tt.descriptor_load", "tt.load"),
        (("--unsupported",), "ttng.two_cta_peer_gather", "tt.load"),
        (("atomic",), "tt.atomic_cas", "tt.load"),
    ],
)
def test_filters(arguments, present, absent):
    names = [row["name"] for row in json.loads(cli(*arguments, "--json").stdout)]
    assert present in names and absent not in names


def test_bad_filters():
    done = cli("--dialect", "nosuch")
    assert done.returncode == 2 and "no dialect 'nosuch'" in done.stdout and "ttng" in done.stdout
    done = cli("tt.laod")
    assert done.returncode == 2 and "has 'tt.laod' in its name" in done.stdout
    done = cli("--release", "2.1")
    assert done.returncode == 2 and "not a Triton release" in done.stdout


@pytest.mark.parametrize(
    "file, present, absent",
    [
        ("examples/exec/add_kernel.ttir", "tt.load", "tt.dot"),
        ("build/corpus/3.1.0/sm80/matmul_kernel.ttgir", "ttg.local_load", "tt.trans"),
        ("examples/exec/add_kernel.ptx", "add", "mma"),
    ],
)
def test_the_ops_of_a_file(file, present, absent):
    rows = json.loads(cli(str(ROOT / file), "--json").stdout)
    names = {row.get("name") or row["opcode"] for row in rows}
    assert present in names and absent not in names and len(names) < 60


def test_ops_without_triton():
    code = (
        "import sys; sys.modules['triton'] = sys.modules['torch'] = None\n"
        "from triton_runner._cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "ops", str(ROOT / "examples/exec/add_kernel.ttir")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "tt.load" in done.stdout, done.stderr


def test_a_file_without_what_is_asked_for(tmp_path):
    done = cli("--unsupported", str(ROOT / "examples/exec/add_kernel.ttir"))
    assert done.returncode == 0 and done.stdout.startswith("0 ops")
    done = cli(str(tmp_path / "missing.ttir"))
    assert done.returncode == 2 and "cannot read" in done.stdout


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_what_triton_compiles_to_is_executed(level):
    """Every op that Triton 3.9 made of its own tests' kernels for sm80, 90, 100 and 120."""
    text = (ROOT / "tests" / "python" / "helpers" / "triton_ops.txt").read_text()
    names = [line.split()[0] for line in text.splitlines() if level in line.split()[1:]]
    assert len(names) == {"ttir": 109, "ttgir": 153}[level]
    not_executed = [n for n in names if n not in TABLE or TABLE[n]["status"] == "parsed only"]
    assert not not_executed
