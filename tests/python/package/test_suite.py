"""Tests what the harnesses of tests/ share: cases with limits in processes of their own, results, pages made
from them."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

import pytest  # noqa: E402
import run_all  # noqa: E402
from suite import results  # noqa: E402
from suite.run import Case, execute, execute_all  # noqa: E402


def python(name, text, **options):
    return Case(name, [sys.executable, "-c", text], **options)


def test_how_cases_end():
    cases = [
        python("good", "import sys; print('out'); print('err', file=sys.stderr)"),
        python("status", "import sys; sys.exit('no such file')"),
        python("signal", "import os; os.abort()"),
        python("cpu", "while True: pass", cpu_limit=1),
        python("memory", "bytearray(2 << 30)", memory=0.5),
    ]
    good, status, signal, cpu, memory = execute_all(cases, 2)
    assert (good.how, good.output, good.errors, good.last_line) == ("", "out\n", "err\n", "err")
    assert (status.how, status.last_line) == ("status 1", "no such file")
    assert signal.how == "ended by SIGABRT"
    assert cpu.how == "no end after 1 s of CPU" and 0.5 < cpu.cpu < 10
    assert memory.last_line == "MemoryError"


def test_the_environment_of_a_case(monkeypatch, tmp_path):
    monkeypatch.setenv("TAKEN_AWAY", "1")
    text = "import os; print(os.environ.get('TAKEN_AWAY'), os.environ['ADDED'], os.getcwd())"
    environment = {"TAKEN_AWAY": None, "ADDED": "2"}
    done = execute(python("here", text, environment=environment, folder=tmp_path))
    assert done.output.split() == ["None", "2", str(tmp_path)]
    assert execute(python("scratch", text, environment=environment)).output.split()[2] != str(tmp_path)


@pytest.fixture
def folders(monkeypatch, tmp_path):
    for name in ("FOLDER", "PAGES"):
        monkeypatch.setattr(results, name, tmp_path / name.lower())
        (tmp_path / name.lower()).mkdir()
    return tmp_path


def test_a_result_reaches_its_page(folders):
    page = folders / "pages" / "speed.md"
    results.record("a", "one", "launches", "make a", {"right": 3}, date="2026-11-24", machine="M")
    table = {"columns": ["x", "y"], "rows": [["p|q", None]]}
    results.record("a", "two", "other launches", "make a", {"right": 4}, table=table, date="d", machine="M")
    page.write_text("# Speed\n\n<!-- results: a -->\n<!-- end -->\n\n<!-- table: a/two -->\n<!-- end -->\n")
    assert results.write_pages() == ["speed.md"]
    text = page.read_text()
    assert "| launches | 3 | 2026-11-24 |" in text and "M; `make a`:\n\n| what | right |" in text
    assert "other launches; M; d; `make a`:\n\n| x | y |\n|---|---|\n| p\\|q |  |" in text
    results.record("a", "one", "launches", "make a", {"right": 5}, date="2026-11-25", machine="M")
    assert list(results.read("a")) == ["one", "two"] and "| launches | 5 | 2026-11-25 |" in page.read_text()
    assert results.write_pages() == []


def test_pages_are_those_of_the_results():
    """`python tests/suite/results.py` writes them; each has at most 90 lines, all at most 12,000 words."""
    words = 0
    pages = sorted(results.PAGES.glob("*.md"))
    assert len(pages) == 8
    for page in pages:
        text = page.read_text()
        assert results.page_text(text) == text, f"{page.name}: run python tests/suite/results.py"
        assert text.count("\n") <= 90, page.name
        words += len(text.split())
    assert words <= 12_000


def test_every_result_has_what_a_page_needs():
    for path in results.FOLDER.glob("*.json"):
        runs = results.read(path.stem)
        assert path.read_text() == results.text_of(runs), path.name
        for key, run in runs.items():
            assert run["what"] and run["machine"], (path.name, key)
            assert re.fullmatch(r"2026-1\d(-\d\d)?|20\d\d-\d\d-\d\d", run["date"]), (path.name, key)
            assert run["figures"] or run["table"], (path.name, key)


def test_each_seeded_edit_stands_in_its_file():
    """tests/seeded/check.py makes them, one at a time."""
    edits = json.loads((ROOT / "tests" / "seeded" / "edits.json").read_text())
    assert len(edits) == 20
    for edit in edits:
        assert (ROOT / edit["file"]).read_text().count(edit["old"]) == 1, edit["file"]
        assert edit["part"] in ("cases", "unit", "python") and edit["new"] != edit["old"]


def test_every_part_runs_with_each_change_in_turn_or_when_it_is_asked_for(monkeypatch):
    """The parts that a change runs and each turn are disjoint; what needs a part comes with it."""
    parts = {part.name: part for part in run_all.PARTS}
    each = {name for name, part in parts.items() if part.by_default}
    turns = [set(turn) for turn in run_all.TURNS]
    assert set(parts) == each.union(*turns) | {"long", "ubsan", "tsan-python", "apart"}
    assert len(each) + sum(map(len, turns)) + 4 == len(parts)
    for turn in turns:
        assert all(set(parts[name].needs) <= each | turn for name in turn)
    ran = []
    monkeypatch.setattr(run_all, "run_part", lambda part, totals, failures: not ran.append(part.name))
    monkeypatch.setattr(run_all, "Beside", lambda parts: None)
    for turn, names in enumerate(run_all.TURNS):
        ran.clear()
        monkeypatch.setattr(sys, "argv", ["run_all.py", "lint", "--turn", str(turn)])
        run_all.main()
        assert set(ran) == {"lint", *names}
    assert run_all.turn_of_today() > 0


def test_what_takes_turns_is_there():
    """Each name that conftest.py marks is that of a file or a test."""
    conftest = sys.modules[next(n for n, m in sys.modules.items() if getattr(m, "MATRICES", None))]
    files = {path.stem: path.read_text() for path in (ROOT / "tests" / "python").rglob("test_*.py")}
    text = "\n".join(files.values())
    for name in (*conftest.SHARE, *conftest.PROGRAMS, *conftest.MACHINE, *conftest.VERBS):
        file, _, test = name.partition("[")[0].rpartition("::")
        assert name in files or f"def {test}(" in (files[file] if file else text), name
    for name, number in conftest.MATRICES.items():
        file, _, test = name.partition("::")
        assert number > 1 and f"def {test}(" in files[file], name
