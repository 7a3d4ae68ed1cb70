"""bisect --torch-versions fetches a release of torch, and says what is in the way where there is none."""

import pytest
from triton_runner import DiagnosticError
from triton_runner._pipeline import torch_releases, versions
from triton_runner.verbs.bisect import torch_search
from triton_runner.verbs.bisect.runs import BisectedProgram
from triton_runner.verbs.bisect.torch_results import Judged

NONE = "ERROR: Could not find a version that satisfies the requirement torch==2.99.0 (from versions: {})\n"
NONE += "ERROR: No matching distribution found for torch==2.99.0\n"
BOUND = "ERROR: Cannot install torch==2.99.0 because these package versions have conflicting dependencies.\n"
BOUND += "ERROR: ResolutionImpossible: for help visit https://pip.pypa.io\n"


@pytest.mark.parametrize(
    ("reason", "message", "note"),
    [
        (NONE.format("2.5.0, 2.6.0, 2.10.0, 2.12.1, 2.13.0, 2.14.1"), "has no torch 2.99.0 for Python 3",
         "the newest that it has: 2.6.0, 2.10.0, 2.12.1, 2.13.0, 2.14.1"),
        (BOUND, "a constraint of pip here does not allow it", "take the constraint away"),
        ("Max retries exceeded", "the package index did not answer", None),
    ],
)  # fmt: skip
def test_a_release_that_cannot_be_fetched(reason, message, note, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(versions, "pip", lambda target, *words: asked.append(words[-1]) or reason)
    monkeypatch.setattr(torch_releases, "_place", lambda version: tmp_path / "torch" / f"{version}-cp3")
    with pytest.raises(DiagnosticError) as caught:
        torch_releases.ensure("2.99.0")
    assert asked == ["torch==2.99.0+cpu", "torch==2.99.0"]
    assert message in caught.value.message and (note is None or note in " ".join(caught.value.notes))
    assert not [one for one in (tmp_path / "torch").iterdir() if one.is_dir()]


def test_torch_for_cpus_is_taken_first(tmp_path, monkeypatch):
    place, asked = tmp_path / "torch" / "2.99.0-cp3", []

    def pip(target, *words):
        asked.append(words)
        (target / "torch").mkdir()
        (target / "torch" / "__init__.py").touch()

    monkeypatch.setattr(versions, "pip", pip)
    monkeypatch.setattr(torch_releases, "_place", lambda version: place)
    assert torch_releases.ensure("2.99.0")[0] == str(place)
    assert [words[-1] for words in asked] == ["torch==2.99.0+cpu"] and torch_releases._INDEX in asked[0]


class Asked:
    """A release of torch that has its verdict."""

    def __init__(self, verdict):
        self.verdict = verdict

    def close(self):
        pass


@pytest.mark.parametrize(
    ("verdicts", "wanted"),
    [
        (("right", "right"), "right"), (("right", None), "unknown"), ((None, "right"), "unknown"),
        (("unknown", "rounding"), "unknown"), (("inductor", None), "inductor"), (("right", "aot"), "aot"),
        (("not compiled", "not compiled"), "not compiled"),
    ],
)  # fmt: skip
def test_right_is_right_in_each_release_that_was_asked_for(verdicts, wanted, tmp_path, monkeypatch):
    """None: it cannot be fetched."""

    def release(verdict):
        def start(program, say):
            if verdict is None:
                raise DiagnosticError("no such release")
            return Asked(verdict)

        return start

    def judged(search):
        own = search._release.verdict
        return Judged(torch=search._version, triton="", verdict=own, headline=own)

    monkeypatch.setattr(torch_search._TorchSearch, "judged", judged)
    (tmp_path / "program.py").write_text("")
    releases = [(f"2.{number}.0", release(one)) for number, one in enumerate(verdicts)]
    found = torch_search.bisect_torch(BisectedProgram(str(tmp_path / "program.py")), releases)
    assert found.verdict == wanted and [one.verdict for one in found.releases] == [
        one or "unknown" for one in verdicts
    ]
