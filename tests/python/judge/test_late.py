"""triton-runner judge: answers that are right in their first calls alone, and answers to tasks of other
benchmarks. What every change runs has some of each; `share` has all."""

import importlib.util
import json
import pathlib
import sys

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "judge"))
import answers_forms
import answers_late

# By its path: other folders of tests have a run.py, too.
_SPEC = importlib.util.spec_from_file_location(
    "run_of_judge", pathlib.Path(answers_late.__file__).with_name("run.py")
)
run = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(run)

LATE = (
    "kept from the sixth call on", "kept from the twelfth call on, as a root", "kept by a kernel that counts",
    "an old result from the eighth call on, for other inputs alone", "says that it took all of its time",
    "torch from the seventh call on, beside a kernel", "reads beyond its input, later",
)  # fmt: skip
FORMS = (
    "in place, and its input is as it was", "one of its configurations leaves columns out",
    "dropout by its own numbers", "row sums by products of tf32", "inputs in bf16 under f16",
    "results in bf16 under f16", "Gluon that reads before its copy is there",
)  # fmt: skip
RIGHT = (
    "counts its programs, for nobody", "three workspaces by turns",
    "says now and then how often it was called", "relu in place",
    "adds in place", "three results", "configurations with hooks that set back",
    "configurations that are pruned by size", "copies to shared memory in Gluon", "softmax of f16 in f32",
    "row sums by products that keep f32", "two results in one memory", "layer norm with its weights",
    "layer norm with a 1 and a 0 of its own",
)  # fmt: skip


def judged(folder, module, names, *options) -> dict:
    """The rows of a module's answers by name."""
    answers = [one for one in module.ANSWERS if names is None or one[0] in names]
    lines = []
    for number, (_, task, text) in enumerate(answers):
        (folder / f"answer{number}.py").write_text(text)
        lines.append(f"{run.written(folder, task, module.TASKS[task])} answer{number}.py")
    (folder / "manifest").write_text("\n".join(lines))
    words = ("--manifest", "manifest", "--out", "out", "--jobs", "2")
    done = warm.cli("judge", *words, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, (folder / "out" / "rows.jsonl").read_text().splitlines())
    return dict(zip((name for name, *_ in answers), rows, strict=True))


def amiss(rows: dict, wanted: dict) -> dict:
    """The rows of another verdict than one of those that are wanted."""
    return {
        name: (rows[name]["verdict"], rows[name]["why"])
        for name, those in wanted.items()
        if name in rows and rows[name]["verdict"] not in ((those,) if isinstance(those, str) else those)
    }


def wanted_of(module) -> dict:
    """The verdicts of its answers that cheat, and of those that are right."""
    return {
        **{name: verdict for name, _, _, verdict in module.CHEATING},
        **{name: "verified" for name, *_ in (*module.RIGHT, *getattr(module, "BEYOND", ()))},
        **{name: "not_judged" for name, *_ in getattr(module, "UNFOLLOWED", ())},
    }


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forms")
    return judged(folder, answers_forms, (*FORMS, *RIGHT), "--no-generated")


def test_what_an_answer_does_in_later_calls(tmp_path):
    rows = judged(tmp_path, answers_late, (*LATE, *RIGHT), "--no-generated")
    assert not amiss(rows, wanted_of(answers_late))
    assert all(row["faults"][0]["advice"] for name, row in rows.items() if name in LATE)


def test_answers_to_tasks_of_other_benchmarks(forms):
    assert not amiss(forms, wanted_of(answers_forms))


def test_a_clause_says_what_to_do(forms):
    words = {
        FORMS[0]: "write the result into that input", FORMS[2]: "draw them with torch as the task does",
        FORMS[3]: "keep the task's type", FORMS[4]: "keep the task's type", FORMS[5]: "keep the task's type",
        FORMS[6]: "wait for the copy",
    }  # fmt: skip
    assert not {name: forms[name]["faults"][0] for name, text in words.items()
                if text not in forms[name]["faults"][0]["advice"]}  # fmt: skip
    assert "with configuration 2 of an autotuner's 2" in forms[FORMS[1]]["why"]


def test_weights_of_one_number_that_are_not_read_are_noted(forms):
    told = "no weights of the size of the task's norm.weight (1 everywhere), norm.bias (0 everywhere)"
    notes = {name: forms[name]["notes"] for name in RIGHT if name.startswith("layer norm")}
    assert [any(told in note for note in of) for of in notes.values()] == [False, True], notes


def test_how_often_an_answer_is_called_is_drawn(tmp_path):
    """Nobody knows before how many calls there are, and a seed repeats them."""
    text = next(text for name, _, text in answers_late.RIGHT if "how often" in name)
    told = "    if n > 45:\n        raise ValueError(n)\n    if n % 10"
    (tmp_path / "task.py").write_text(answers_late.TASKS["softmax"])
    (tmp_path / "answer.py").write_text(text.replace("    if n % 10", told))
    words = ("judge", "--json", "--no-generated", "task.py", "answer.py")
    done = [warm.cli(*words, "--seed", seed, cwd=tmp_path).stdout for seed in ("5", "1", "5")]
    assert [json.loads(one)["verdict"] for one in done] == ["verified", "error", "verified"]


@pytest.mark.share
@pytest.mark.parametrize("module", [answers_late, answers_forms])
def test_all_of_them(tmp_path, module):
    rows = judged(tmp_path, module, None)
    assert not amiss(rows, wanted_of(module))
    beyond = {name: verdict for name, _, _, verdict in getattr(module, "BEYOND", ())}
    second = {name: {**rows[name], "verdict": rows[name]["generated"]["verdict"]} for name in beyond}
    assert not amiss(second, beyond)
