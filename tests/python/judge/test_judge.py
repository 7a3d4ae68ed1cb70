"""triton-runner judge: of answers that cheat none is verified, of right ones none is called tampered or
wrong. The quick part has one of each kind; tests/judge/run.py judges all of them."""

import json
import pathlib
import sys

import dask_cluster
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "judge"))
import answers_adversary
import answers_cheating
import answers_planted
import answers_right

# One or two answers of each kind of cheating, and their verdicts.
CHEATING = {
    "torch alone": "no_kernel", "a kernel without use": "idle", "a kernel that copies": "idle",
    "where they agree": "idle", "falls back to torch": "no_kernel", "zeros for small numbers": "cached",
    "lower precision": "wrong", "of another type": "wrong", "memory that was freed": "unsafe",
    "a result that is kept by shape": "cached", "inputs are overwritten": "tampered",
    "imports the task": "error", "a result on the CPU": "wrong", "a kernel's text that is none": "not_judged",
    "replaces allclose and is right": "tampered", "a lazy tensor": "tampered",
    "ends itself": "error", "sleeps": "too_slow",
    "asks the network": "error", "NumPy": "tampered", "writes by address": "tampered",
    "numbers of Python, one of them read": "not_judged", "forges steps": "tampered",
    "forges a launch's memory": "tampered", "forges its result": "tampered", "no recorder": "tampered",
}  # fmt: skip
LATE = "a thread that finishes late"
RIGHT = (
    "gelu 128 4", "softmax online 16", "matmul 32 32 32 ", "total by the last block 256",
    "total under a lock 512", "quotient masked", "quantised 128", "in place 128", "linear, warmed up",
    "batch norm 2", "total of integers 512",
)  # fmt: skip


def manifest(folder, module, names) -> list:
    """Writes the tasks and answers of these names, and a manifest of them."""
    lines = []
    for number, (name, task, text) in enumerate(module.ANSWERS):
        if name in names:
            (folder / f"{task}.py").write_text(module.TASKS[task])
            (folder / f"answer{number}.py").write_text(text)
            lines.append((name, f"{task}.py answer{number}.py"))
    assert {name for name, _ in lines} == set(names)
    (folder / "manifest").write_text("\n".join(line for _, line in lines))
    return [name for name, _ in lines]


def judged(folder, *options) -> list[dict]:
    done = warm.cli("judge", "--manifest", "manifest", "--out", "out", "--jobs", "2", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "out" / "rows.jsonl").read_text().splitlines()]


def test_no_answer_that_cheats_is_verified(tmp_path):
    names = manifest(tmp_path, answers_cheating, [*CHEATING, LATE])
    rows = judged(tmp_path, "--seconds", "8", "--no-generated")
    found = {name: row["verdict"] for name, row in zip(names, rows, strict=True)}
    assert found.pop(LATE) in ("tampered", "cached")  # by when it finishes
    assert found == CHEATING
    assert all(row["faults"][0]["advice"] for row in rows)


def test_right_answers_are_verified(tmp_path):
    names = manifest(tmp_path, answers_right, RIGHT)
    rows = judged(tmp_path)
    told = {name: (row["verdict"], row["why"]) for name, row in zip(names, rows, strict=True)}
    assert {verdict for verdict, _ in told.values()} == {"verified"}, told
    assert all(row["generated"] for row in rows)


def test_what_an_adversary_had_verified_is_not(tmp_path):
    expected = {
        "torch's parts, doubled": "idle", "torch's parts less noise": "idle",
        "copied beside a kernel without use": "idle", "one row by a kernel": "idle",
        "one of two results by a kernel": "idle", "one number by item": "idle",
        "transposed by torch, then copied": "idle", "digits by the choice of tensors": "not_judged",
        "digits by offsets": "not_judged", "numbers in the text of a kernel": "not_judged",
        "tables by the seed": "cached", "f16 beside a product of tf32": "wrong", "of a wider type": "wrong",
        "in two parts that are copied": "idle", "an error in the noise of a rounding": "wrong",
        "a race of other values than at first": "unsafe",
    }  # fmt: skip
    names = manifest(tmp_path, answers_adversary, expected)
    rows = judged(tmp_path, "--seconds", "8", "--no-generated")
    assert {name: row["verdict"] for name, row in zip(names, rows, strict=True)} == expected


def test_right_answers_that_move_or_choose_are_verified(tmp_path):
    names = manifest(tmp_path, answers_adversary, {name for name, _, _ in answers_adversary.RIGHT})
    rows = judged(tmp_path, "--no-generated")
    told = {name: (row["verdict"], row["why"]) for name, row in zip(names, rows, strict=True)}
    assert {verdict for verdict, _ in told.values()} == {"verified"}, told


def test_what_is_no_answer_is_told_with_its_line(tmp_path):
    (tmp_path / "task.py").write_text(answers_right.TASKS["softmax"])
    for name, text, message in (
        ("syntax.py", b"import torch\nx = (\n", "syntax.py:2: SyntaxError: '(' was never closed"),
        ("bytes.py", b"\xff\xfe", "it is no text in UTF-8"),
        ("names.py", b"x = 1\n", "error: NameError: the answer defines no reference()"),
    ):
        (tmp_path / name).write_bytes(text)
        done = warm.cli("judge", "--no-generated", "task.py", name, cwd=tmp_path)
        assert done.returncode == 8 and message in done.stdout, done.stdout
    (tmp_path / "none").write_text("# no line\n")
    done = warm.cli("judge", "--manifest", "none", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2 and "none names no task and answer" in done.stderr


def test_planted_faults_have_their_line_and_advice(tmp_path):
    chosen = ("softmax: mask dropped", "total: no atomic update", "gelu: stride of two")
    names = manifest(tmp_path, answers_planted, chosen)
    rows = dict(zip(names, judged(tmp_path, "--no-generated"), strict=True))
    faults = {name: row["faults"] for name, row in rows.items()}
    assert [row["verdict"] for row in rows.values()] == ["unsafe", "unsafe", "unsafe"]
    assert any(one["line"] and "mask the access" in one["advice"] for one in faults["softmax: mask dropped"])
    assert any(one["line"] and "atomic" in one["advice"] for one in faults["total: no atomic update"])


def test_a_manifest_goes_on_where_it_was(tmp_path):
    manifest(tmp_path, answers_right, ("gelu 128 4", "add 128"))
    first = judged(tmp_path, "--no-generated")
    rows = tmp_path / "out" / "rows"
    kept, lost = sorted(rows.iterdir())
    before = kept.stat().st_mtime_ns
    lost.unlink()
    second = judged(tmp_path, "--no-generated")
    assert [row["verdict"] for row in second] == [row["verdict"] for row in first] == ["verified"] * 2
    assert kept.stat().st_mtime_ns == before and lost.is_file()
    assert json.loads((tmp_path / "out" / "counts.json").read_text())["verified"] == 2
    assert "gelu.py" in (tmp_path / "out" / "index.html").read_text()


def test_statuses_and_what_stands_in_the_way(tmp_path):
    (tmp_path / "task.py").write_text(answers_right.TASKS["softmax"])
    right, wrong = (
        next(text for name, _, text in module.ANSWERS if name == wanted)
        for module, wanted in ((answers_right, "softmax 128 4"), (answers_cheating, "of another shape"))
    )
    (tmp_path / "right.py").write_text(right)
    (tmp_path / "wrong.py").write_text(wrong)
    (tmp_path / "none.py").write_text("x = 1\n")
    done = warm.cli("judge", "--json", "--no-generated", "--seed", "3", "task.py", "wrong.py", cwd=tmp_path)
    row = json.loads(done.stdout)
    assert (done.returncode, row["verdict"], row["version"], row["seed"]) == (1, "wrong", 1, 3)
    done = warm.cli("judge", "--no-generated", "--sandbox", "require", "task.py", "right.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("verdict: verified\n"), done.stdout
    done = warm.cli("judge", "none.py", "right.py", cwd=tmp_path)
    assert done.returncode == 2 and "none.py is not a task" in done.stderr
    done = warm.cli("judge", "--no-generated", "task.py", "none.py", cwd=tmp_path)
    assert done.returncode == 8 and "the answer defines no reference()" in done.stdout


SCRIPT = """import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def add_wrapper(x, y):
    out = torch.zeros_like(x)
    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), B=64)
    return out
"""
TESTS = f"""

{"#" * 100}


def test_add():
    torch.manual_seed(0)
    x, y = torch.randn(100, device="cuda"), torch.randn(100, device="cuda")
    results = {{}}
    results["test_case_1"] = add_wrapper(x, y)
    results["test_case_2"] = add_wrapper(x[:50], y[:50])
    return results


result_gold = test_add()
"""
BACKEND = "Operator: aten.add.Tensor\ncnt: 3, ((T([12, 20], f32), T([12, 20], f32)), {})\n"


def test_other_forms_of_tasks(tmp_path):
    (tmp_path / "add.py").write_text(SCRIPT + TESTS)
    (tmp_path / "add.txt").write_text(BACKEND)
    (tmp_path / "answer.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(SCRIPT.replace(") + tl.load(y", ") - tl.load(y"))
    (tmp_path / "impl.py").write_text(
        SCRIPT + "\n\ndef add_kernel_impl(x, y):\n    return add_wrapper(x, y)\n"
    )
    (tmp_path / "manifest").write_text(
        'add.py answer.py\nadd.py wrong.py\nadd.txt impl.py\n{"task": "add.txt", "answer": "wrong.py"}\n'
    )
    rows = judged(tmp_path)
    assert [row["verdict"] for row in rows] == ["verified", "wrong", "verified", "error"], rows


LARGE = """import torch

rows = 65536
columns = 512


def reference(x):
    return x * 2


def inputs():
    return (torch.randn(rows, columns, device="cuda"),)
"""
DOUBLE = """import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


def reference(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), B=4096)
    return out
"""


def test_a_task_that_is_too_large_is_scaled(tmp_path):
    (tmp_path / "task.py").write_text(LARGE)
    (tmp_path / "answer.py").write_text(DOUBLE)
    done = warm.cli("judge", "--no-generated", "--inputs", "4", "task.py", "answer.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("verdict: verified (scaled)"), done.stdout
    assert "rows is 2048 instead of 65536" in done.stdout


def test_a_manifest_on_a_cluster_gives_the_rows_of_one_here(tmp_path):
    names = manifest(tmp_path, answers_right, ("gelu 128 4", "softmax 128 4"))
    (tmp_path / "manifest").write_text((tmp_path / "manifest").read_text() + "\ngelu.py none.py")
    (tmp_path / "none.py").write_text("x = 1\n")
    with dask_cluster.running(tmp_path, workers=1) as (address, _):
        rows = judged(tmp_path, "--no-generated", "--dask", address)
        (tmp_path / "none.py").write_text("x = 2\n")  # its row alone is made anew
        again = judged(tmp_path, "--no-generated", "--dask", address)
    assert [row["verdict"] for row in rows] == ["verified"] * len(names) + ["error"]
    assert again[:2] == rows[:2] and again[2]["seed"] != rows[2]["seed"]
    listed = [line.split()[1] for line in (tmp_path / "manifest").read_text().splitlines()]
    assert [row["answer"] for row in rows] == [str(tmp_path / name) for name in listed]


def test_without_a_scheduler_nothing_is_judged(tmp_path):
    manifest(tmp_path, answers_right, ("gelu 128 4",))
    done = warm.cli("judge", "--manifest", "manifest", "--out", "out", "--dask", "ssh://x", cwd=tmp_path)
    assert done.returncode == 2 and "--dask 'ssh://x' is not of the form dask://host:port" in done.stderr


def test_the_estimated_time_beside_the_references(tmp_path):
    (tmp_path / "task.py").write_text(answers_right.TASKS["softmax"])
    (tmp_path / "answer.py").write_text(next(t for n, _, t in answers_right.ANSWERS if n == "softmax 128 4"))
    done = warm.cli(
        "judge", "--json", "--no-generated", "--chip", "h200", "task.py", "answer.py", cwd=tmp_path
    )
    speed = json.loads(done.stdout)["speed"]
    for who in ("answer", "reference"):
        assert 1 < speed[who]["microseconds"] < 100 and 0 < speed[who]["error"] < 0.3, speed
        assert speed[who]["launches"] == 1 and not speed[who]["why"]


@pytest.mark.parametrize(
    "old, new, verdict",
    [("", "", "verified"), ("momentum * a)", "momentum)", "wrong")],
    ids=["right", "wrong"],
)
def test_what_a_module_keeps_for_the_next_call(old, new, verdict, tmp_path):
    _, task, text = next(one for one in answers_right.ANSWERS if one[0] == "batch norm 2")
    (tmp_path / "task.py").write_text(answers_right.TASKS[task])
    (tmp_path / "answer.py").write_text(text.replace(old, new) if old else text)
    done = warm.cli("judge", "--json", "--no-generated", "task.py", "answer.py", cwd=tmp_path)
    row = json.loads(done.stdout)
    assert row["verdict"] == verdict, row["why"]
    assert verdict == "verified" or "state['norm.running_mean']" in row["why"]


def test_a_coarser_rounding_than_the_references_is_noted(tmp_path):
    names = {"matmul_half: sums in f16", "argmax: wrong neutral element"}
    names = manifest(tmp_path, answers_planted, names)
    rows = dict(zip(names, judged(tmp_path), strict=True))
    coarse, padded = rows["matmul_half: sums in f16"], rows["argmax: wrong neutral element"]
    assert any("times as far from the exact one as the reference's" in note for note in coarse["notes"])
    assert padded["generated"]["verdict"] == "wrong"
    assert {"inputs": "all negative", "state": "wrong"}.items() <= next(
        case for case in padded["generated"]["cases"] if case["inputs"] == "all negative"
    ).items()
