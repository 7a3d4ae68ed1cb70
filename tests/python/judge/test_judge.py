"""triton-runner judge: of answers that cheat none is verified, of right ones none is called tampered or
wrong. What every change runs has one answer of each kind, in two manifests that the tests share; the other
answers are marked `share`, and tests/judge/run.py judges all of them."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import dask_cluster
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "judge"))
import answers_adversary
import answers_cheating
import answers_devious
import answers_keeping
import answers_odd
import answers_planted
import answers_right
import answers_sly
import answers_unusual

# One answer of each kind of cheating, and their verdicts.
CHEATING = {
    "torch alone": "no_kernel", "a kernel without use": "idle", "a kernel that copies": "idle",
    "lower precision": "wrong", "memory that was freed": "unsafe",
    "a result that is kept by shape": "cached", "inputs are overwritten": "tampered",
    "imports the task": "error", "a result on the CPU": "wrong", "a kernel's text that is none": "not_judged",
    "replaces allclose and is right": "tampered", "a lazy tensor": "tampered",
    "ends itself": "error", "sleeps": "too_slow", "asks the network": "error", "NumPy": "tampered",
    "writes by address": "tampered", "numbers of Python, one of them read": "not_judged",
    "forges steps": "tampered",
}  # fmt: skip
# By which an adversary had `verified`.
ADVERSARY = {
    "torch's parts, doubled": "idle", "copied beside a kernel without use": "idle",
    "one row by a kernel": "idle", "one number by item": "idle", "transposed by torch, then copied": "idle",
    "numbers in the text of a kernel": "not_judged", "tables by the seed": "cached",
    "f16 beside a product of tf32": "wrong", "of a wider type": "wrong",
    "an error in the noise of a rounding": "wrong", "a race of other values than at first": "unsafe",
}  # fmt: skip
# One more of a kind, or dear: the digits launch some hundred kernels.
MORE = {
    "where they agree": "idle", "falls back to torch": "no_kernel", "zeros for small numbers": "cached",
    "of another type": "wrong", "forges a launch's memory": "tampered", "forges its result": "tampered",
    "no recorder": "tampered", "torch's parts less noise": "idle", "one of two results by a kernel": "idle",
    "in two parts that are copied": "idle", "digits by the choice of tensors": "not_judged",
    "digits by offsets": "not_judged",
}  # fmt: skip
# A second adversary wrote these, and a third one those.
SECOND = {name: verdict for name, _, _, verdict in answers_unusual.CHEATING}
THIRD = {name: verdict for name, _, _, verdict in answers_devious.CHEATING}
FOURTH = {name: verdict for name, _, _, verdict in answers_sly.CHEATING}
FIFTH = {name: verdict for name, _, _, verdict in (*answers_keeping.CHEATING, *answers_odd.CHEATING)}
# Some of those, for each day.
KEEPING = (
    "kept as a root, which a kernel squares", "kept, and chosen without a branch",
    "a number that Python keeps in a text",
)  # fmt: skip
BEYOND = (
    "a fork bomb", "a process that it waits for", "a full folder", "a full folder without names",
    "many threads", "memory that no limit counts",
)  # fmt: skip
UNUSUAL = answers_unusual, answers_devious, answers_sly, answers_keeping, answers_odd
DRAWN, STAYS = "a message that draws a verdict", "a process that stays"
LATE = "a thread that finishes late"
PLANTED = ("softmax: mask dropped", "total: no atomic update", "gelu: stride of two")
RIGHT = (
    "softmax online 16", "matmul 32 32 32 ", "total by the last block 256", "total under a lock 512",
    "quotient masked", "in place 128", "batch norm 2", "a number by item", "rows in place",
    "experts by count", "memory that is kept", "a CUDA graph", "a count that the kernel sets back",
    "parts in memory that is kept, and a maximum that is only seen", "means of what it saw, for nobody",
    "tables that are made once", "a barrier of all programs",
)  # fmt: skip
_UNUSUAL = tuple(one for module in UNUSUAL for one in module.RIGHT)
MORE_RIGHT = (
    "gelu 128 4", "quantised 128", "total of integers 512", "linear, warmed up", "sort",
    "sort of the negative", "flip", "clamp of what is inside",
    "experts by mask", *(name for name, _, _ in _UNUSUAL if name not in RIGHT),
)  # fmt: skip
# Its value is right but its rounding; and right but for numbers that the task does not draw.
COARSE, PADDED = "matmul_half: sums in f16", "argmax: wrong neutral element"
MODULES = (
    answers_cheating, answers_adversary, answers_planted, answers_right, answers_unusual, answers_devious,
    answers_sly, answers_keeping, answers_odd,
)  # fmt: skip
ADDRESSES = b"""import torch, triton, triton.language as tl

@triton.jit
def double(x, out):
    tl.store(out, tl.load(x) * 2)

def reference(x):
    double[(1,)](x.data_ptr(), x.data_ptr())
    return x
"""
FORGETS = "keeps.py forgets.py"  # a module that does not update what it keeps
# Files that hold no answer, their messages and lines.
NONE = {
    "syntax.py": (b"import torch\nx = (\n", "SyntaxError: '(' was never closed", 2),
    "bytes.py": (b"\xff\xfe", "it is no text in UTF-8", None),
    "names.py": (b"x = 1\n", "NameError: the answer defines no reference()", None),
    "address.py": (ADDRESSES, "CompilationError: Unsupported ptr type", 5),
}


def answer_of(name) -> tuple[str, str]:
    """(the name of its task, the text) of an answer."""
    return next((t, text) for module in MODULES for n, t, text in module.ANSWERS if n == name)


def manifest(folder, names, more=()) -> list:
    """Writes the tasks and answers of these names, and a manifest of them and of more lines."""
    lines = []
    for number, name in enumerate(names):
        module, task, text = next(
            (module, task, text) for module in MODULES for n, task, text in module.ANSWERS if n == name
        )
        place = folder / f"{module.__name__}_{task}.py"
        place.write_text(module.TASKS[task])
        (folder / f"answer{number}.py").write_text(text)
        lines.append(f"{place.name} answer{number}.py")
    (folder / "manifest").write_text("\n".join([*lines, *more]))
    return [*names, *more]


def judged(folder, *options) -> list[dict]:
    done = warm.cli("judge", "--manifest", "manifest", "--out", "out", "--jobs", "2", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "out" / "rows.jsonl").read_text().splitlines()]


def rows_of(folder, names, more=(), *options) -> dict:
    """The rows of answers by name, and of more lines of a manifest."""
    return dict(zip(manifest(folder, names, more), judged(folder, *options), strict=True))


def verdicts(rows, names) -> dict:
    return {name: rows[name]["verdict"] for name in names}


def differing(rows, wanted) -> dict:
    """The rows of another verdict than the one that is wanted, or those."""
    return {
        name: (rows[name]["verdict"], rows[name]["why"])
        for name, those in wanted.items()
        if rows[name]["verdict"] not in ((those,) if isinstance(those, str) else those)
    }


@pytest.fixture(scope="module")
def cheats(tmp_path_factory):
    """The rows of the cheats that are judged in turn (`share`), by name."""
    folder = tmp_path_factory.mktemp("cheats")
    return rows_of(folder, [*CHEATING, *ADVERSARY, LATE], (), "--seconds", "8", "--no-generated")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """The rows of answers that are not to be verified, by name: those of every day."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "softmax.py").write_text(answers_right.TASKS["softmax"])
    for name, (data, *_) in NONE.items():
        (folder / name).write_bytes(data)
    other_forms(folder)
    task, text = answer_of("batch norm 2")
    (folder / "keeps.py").write_text(answers_right.TASKS[task])
    (folder / "forgets.py").write_text(text.replace("momentum * a)", "momentum)"))
    names = [*KEEPING, *BEYOND, DRAWN, STAYS, *PLANTED, COARSE]
    more = [
        *(f"softmax.py {name}" for name in NONE),
        "add.py wrong.py",
        "add.py copying.py",
        "add.py table.py",
        BACKEND_WRONG,
        TORCH_COPYING,
        FORGETS,
    ]
    return rows_of(folder, names, more, "--seconds", "8", "--no-generated")


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """(the folder of a manifest, the rows of right answers by name)."""
    folder = tmp_path_factory.mktemp("right")
    other_forms(folder)
    return folder, rows_of(
        folder, [*RIGHT, PADDED], ["add.py answer.py", "add.txt impl.py", "add_torch.py answer.py"]
    )


def test_no_answer_that_cheats_is_verified(cheats):
    assert cheats[LATE]["verdict"] in ("tampered", "cached")  # by when it finishes
    assert verdicts(cheats, CHEATING) == CHEATING
    assert all(cheats[name]["faults"][0]["advice"] for name in CHEATING)


def test_what_an_adversary_had_verified_is_not(cheats):
    assert verdicts(cheats, ADVERSARY) == ADVERSARY


def test_results_that_are_kept_in_another_form(wrong):
    """Neither memory that a kernel finds nor Python may bring back what an earlier call has computed."""
    assert not differing(wrong, {name: FIFTH[name] for name in KEEPING})
    row = wrong[KEEPING[0]]
    assert "it uses what an earlier call has left in memory" in row["why"], row
    line = answer_of(KEEPING[0])[1].splitlines()[row["faults"][0]["line"] - 1]
    assert line.strip() == "if same:"


def test_no_process_of_an_answer_stays(wrong):
    assert wrong[STAYS]["verdict"] in THIRD[STAYS]
    left = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended
            left += [number] * (pathlib.Path(f"/proc/{number}/comm").read_text() == "judge-stays\n")
    assert not left


def test_an_answer_stays_within_its_bounds(wrong):
    """Processes, files, threads and memory, as a sandbox bounds them."""
    assert all(wrong[name]["sandboxed"] for name in BEYOND)
    assert {name: wrong[name]["verdict"] for name in BEYOND} == dict.fromkeys(BEYOND, "error")
    why = {name: wrong[name]["why"] for name in BEYOND}
    assert all("Operation not permitted" in why[name] for name in (*BEYOND[:2], BEYOND[5])), why
    assert all("No space left on device" in why[name] for name in BEYOND[2:4]), why
    assert "more than 512 threads" in why[BEYOND[4]]


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not there to take namespaces away")
def test_an_answer_stays_within_its_bounds_without_a_sandbox(tmp_path):
    manifest(tmp_path, BEYOND)
    outer = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--unshare-pid", "--proc"]
    judge = [sys.executable, "-m", "triton_runner", "judge", "--manifest", "manifest", "--out", "out"]
    words = [*outer, "/proc", *judge, "--seconds", "8", "--no-generated"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_text().splitlines()]
    assert not any(row["sandboxed"] for row in rows)
    why = [row["why"] for row in rows]
    assert {row["verdict"] for row in rows} == {"error"}, why
    assert all("Operation not permitted" in why[at] for at in (0, 1, 5)), why
    assert all("more than 512 MiB" in told for told in why[2:4]) and "more than 512 threads" in why[4], why


def test_a_killed_judge_leaves_nothing(tmp_path):
    """Its processes end with it, and the next one removes its folders."""
    task, text = answer_of("sleeps")
    (tmp_path / "task.py").write_text(answers_cheating.TASKS[task])
    (tmp_path / "answer.py").write_text(text)
    place = tmp_path / "temporary"
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place)}
    words = [sys.executable, "-m", "triton_runner", "judge", "task.py", "answer.py", "--seconds", "1000"]
    judge = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    while len(processes_in(place)) < 6:  # itself, three, and the guards of two
        assert judge.poll() is None
        time.sleep(0.1)
    os.kill(judge.pid, signal.SIGKILL)
    judge.wait()
    assert len([*place.iterdir()]) == 2
    while processes_in(place):
        time.sleep(0.1)
    told = "from triton_runner._base import scratch; scratch.folder('other').close()"
    subprocess.run([sys.executable, "-c", told], env=environment, check=True)
    assert not [*place.iterdir()]


def processes_in(place) -> list:
    """The processes that have a folder for their temporary files."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended
            said = pathlib.Path(f"/proc/{number}/environ").read_bytes()
            found += [number] * (b"TMPDIR=" + os.fsencode(place) in said.split(b"\0"))
    return found


def test_a_message_cannot_move_the_cursor(wrong):
    assert wrong[DRAWN]["verdict"] == "error" and wrong[DRAWN]["why"].startswith("ValueError: \\x1b[1A")
    assert "\x1b" not in json.dumps(wrong[DRAWN], ensure_ascii=False)


@pytest.mark.share
def test_more_answers_that_cheat(tmp_path):
    names = {**MORE, **SECOND, **THIRD, **FOURTH, **FIFTH}
    rows = rows_of(tmp_path, names, (), "--seconds", "8", "--no-generated")
    assert verdicts(rows, MORE) == MORE and verdicts(rows, SECOND) == SECOND
    assert not differing(rows, {**THIRD, **FOURTH, **FIFTH})


def test_right_answers_are_verified(right):
    told = {name: (right[1][name]["verdict"], right[1][name]["why"]) for name in RIGHT}
    assert {verdict for verdict, _ in told.values()} == {"verified"}, told
    assert all(right[1][name]["generated"] for name in RIGHT)


@pytest.mark.share
def test_more_right_answers(tmp_path):
    told = {name: (row["verdict"], row["why"]) for name, row in rows_of(tmp_path, MORE_RIGHT).items()}
    assert {verdict for verdict, _ in told.values()} == {"verified"}, told


def test_what_is_no_answer_is_told_with_its_line(wrong, tmp_path):
    for name, (_, message, line) in NONE.items():
        row = wrong[f"softmax.py {name}"]
        assert row["verdict"] == "error" and message in row["why"], row
        assert row["faults"][0].get("line") == line, row
    (tmp_path / "none").write_text("# no line\n")
    done = warm.cli("judge", "--manifest", "none", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2 and "none names no task and answer" in done.stderr


def test_planted_faults_have_their_line_and_advice(wrong):
    faults = {name: wrong[name]["faults"] for name in PLANTED}
    assert [wrong[name]["verdict"] for name in PLANTED] == ["unsafe", "unsafe", "unsafe"]
    assert any(one["line"] and "mask the access" in one["advice"] for one in faults["softmax: mask dropped"])
    assert any(one["line"] and "atomic" in one["advice"] for one in faults["total: no atomic update"])


def test_a_manifest_goes_on_where_it_was(right):
    folder, before = right
    lost, *kept = sorted((folder / "out" / "rows").iterdir())
    times = [path.stat().st_mtime_ns for path in kept]
    lost.write_text(lost.read_text()[: lost.stat().st_size // 2])  # as a full disk leaves it
    again = judged(folder)
    assert [row["verdict"] for row in again] == [row["verdict"] for row in before.values()]
    assert [path.stat().st_mtime_ns for path in kept] == times and json.loads(lost.read_text())
    counted = json.loads((folder / "out" / "counts.json").read_text())
    assert counted["verified"] == len(again)
    assert "add.py" in (folder / "out" / "index.html").read_text()


def test_statuses_and_what_stands_in_the_way(tmp_path):
    (tmp_path / "task.py").write_text(answers_right.TASKS["softmax"])
    (tmp_path / "wrong.py").write_text(answer_of("of another shape")[1])
    (tmp_path / "none.py").write_text("x = 1\n")
    done = warm.cli("judge", "--json", "--no-generated", "--seed", "3", "task.py", "wrong.py", cwd=tmp_path)
    row = json.loads(done.stdout)
    assert (done.returncode, row["verdict"], row["version"], row["seed"]) == (1, "wrong", 1, 3)
    done = warm.cli("judge", "none.py", "wrong.py", cwd=tmp_path)
    assert done.returncode == 2 and "none.py is not a task" in done.stderr


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
    results["test_case_3"] = add_wrapper(torch.linspace(0, 1, 100, device="cuda") * 2, y)
    return results


result_gold = test_add()
"""
TABLE = """import torch
import triton
import triton.language as tl

torch.manual_seed(0)
X, Y = torch.randn(100, device="cuda"), torch.randn(100, device="cuda")
Z = torch.linspace(0, 1, 100, device="cuda") * 2
ROWS = torch.cat([X, Z]), torch.cat([X + Y, Z + Y])


@triton.jit
def look(x, keys, rows, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    given = tl.load(x + i, mask=i < n)
    first = given == tl.load(keys + i, mask=i < n)
    second = given == tl.load(keys + 100 + i, mask=i < n)
    row = tl.where(first, tl.load(rows + i, mask=i < n), 0.0)
    tl.store(out + i, tl.where(second, tl.load(rows + 100 + i, mask=i < n), row), mask=i < n)


def add_wrapper(x, y):
    out = torch.zeros_like(x)
    look[(1,)](x, *ROWS, out, x.numel(), B=128)
    return out
"""
TORCH = """import torch


def add_wrapper(x, y):
    return x + y
"""
BACKEND = "Operator: aten.add.Tensor\ncnt: 3, ((T([12, 20], f32), T([12, 20], f32)), {})\n"


TORCH_COPYING = "add_torch.py copying.py"
BACKEND_WRONG = '{"task": "add.txt", "answer": "wrong.py"}'


def other_forms(folder) -> None:
    """Writes tasks of TritonBench and BackendBench, and answers to them."""
    (folder / "add.py").write_text(SCRIPT + TESTS)
    (folder / "add_torch.py").write_text(TORCH + TESTS)
    (folder / "add.txt").write_text(BACKEND)
    (folder / "answer.py").write_text(SCRIPT)
    (folder / "table.py").write_text(TABLE)
    (folder / "wrong.py").write_text(SCRIPT.replace(") + tl.load(y", ") - tl.load(y"))
    copying = SCRIPT.replace(" + tl.load(y + i, mask=i < n)", "").replace("](x, y,", "](x + y, y,")
    (folder / "copying.py").write_text(copying)
    (folder / "impl.py").write_text(SCRIPT + "\n\ndef add_kernel_impl(x, y):\n    return add_wrapper(x, y)\n")


def test_other_forms_of_tasks(wrong, right):
    forms = ("add.py wrong.py", "add.py copying.py", "add.py table.py", BACKEND_WRONG, TORCH_COPYING)
    assert [wrong[line]["verdict"] for line in forms] == ["wrong", "idle", "cached", "error", "idle"]
    for line in ("add.py answer.py", "add.txt impl.py", "add_torch.py answer.py"):
        assert right[1][line]["verdict"] == "verified", right[1][line]


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
    options = ("--no-generated", "--inputs", "4", "--sandbox", "require")
    done = warm.cli("judge", *options, "task.py", "answer.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("verdict: verified (scaled)\n"), done.stdout
    assert "rows is 2048 instead of 65536" in done.stdout


@pytest.mark.share
def test_a_manifest_on_a_cluster_gives_the_rows_of_one_here(tmp_path):
    names = ("gelu 128 4", "softmax 128 4")
    manifest(tmp_path, names, ["answers_right_gelu.py none.py"])
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
    manifest(tmp_path, ["gelu 128 4"])
    done = warm.cli("judge", "--manifest", "manifest", "--out", "out", "--dask", "ssh://x", cwd=tmp_path)
    assert done.returncode == 2 and "--dask 'ssh://x' is not of the form dask://host:port" in done.stderr


@pytest.mark.share
def test_the_estimated_time_beside_the_references(tmp_path):
    (tmp_path / "task.py").write_text(answers_right.TASKS["softmax"])
    (tmp_path / "answer.py").write_text(answer_of("softmax 128 4")[1])
    done = warm.cli(
        "judge", "--json", "--no-generated", "--chip", "h200", "task.py", "answer.py", cwd=tmp_path
    )
    speed = json.loads(done.stdout)["speed"]
    for who in ("answer", "reference"):
        assert 1 < speed[who]["microseconds"] < 100 and 0 < speed[who]["error"] < 0.3, speed
        assert speed[who]["launches"] == 1 and not speed[who]["why"]


def test_what_a_module_keeps_for_the_next_call(wrong, right):
    assert right[1]["batch norm 2"]["verdict"] == "verified"
    row = wrong[FORGETS]
    assert row["verdict"] == "wrong" and "state['norm.running_mean']" in row["why"], row["why"]


def test_a_coarser_rounding_than_the_references_is_noted(wrong, right):
    notes, cases = wrong[COARSE]["notes"], right[1][PADDED]["generated"]["cases"]
    assert any("times as far from the exact one as the reference's" in note for note in notes)
    assert right[1][PADDED]["generated"]["verdict"] == "wrong"
    negative = next(case for case in cases if case["inputs"] == "all negative")
    assert negative["state"] == "wrong"
