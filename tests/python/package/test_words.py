"""Tests what tests/words.py says of comments that begin as fragments do."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

import words  # noqa: E402


def test_a_paragraph_begins_with_its_subject(monkeypatch, tmp_path):
    files = {
        "a.py": '"""It opens.\n\nWhat it gives."""\n\n\ndef f():\n    """Of a launch: its time."""\n',
        "b.h": "// It opens.\n//\n// Where the loop begins.\n#pragma once\n\n  // That of x is empty.\n",
        "c.def": "// It opens.\n\n// Whatever a launch gives.\n",
        "right.cpp": "// If both write, the later one wins.\n//\n// What does a launch cost? It says so.\n"
        "//\n//   What an example shows is code.\n\n// Whatsoever.\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr(words, "tracked", lambda *patterns: [*files])
    places = [tuple(line.split(":")[:2]) for line in words.fragments()]
    assert places == [("a.py", "3"), ("a.py", "7"), ("b.h", "3"), ("b.h", "6"), ("c.def", "3")]
