"""Has a tokenizer for the grammars of tools/grammars.py, which does what an editor does with them: at each
position of a line the pattern counts that matches first, and of several there the first of the list.

    Grammar("ptx").scopes("ld.global.b32 %r1, [%rd1];")
    [(0, 2, "support.function.opcode.ptx"), (2, 13, "storage.modifier.ptx"), ...]
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "editors" / "vscode" / "grammars"
PAGE = ROOT / "python" / "triton_runner" / "_kernel" / "page" / "assets" / "page_grammars"


def path_of(language: str) -> Path:
    """The file of a grammar: of editors and the page, or of the page alone."""
    name = f"{language}.tmLanguage.json"
    return FOLDER / name if (FOLDER / name).exists() else PAGE / name


class Grammar:
    """Keeps between lines whether a comment of several lines is open."""

    def __init__(self, language: str):
        self.data = json.loads(path_of(language).read_text())
        self._rules = [(re.compile(p.get("match") or p["begin"]), p) for p in self.data["patterns"]]
        self._open = None  # the pattern whose end is looked for

    def scopes(self, line: str) -> list[tuple[int, int, str]]:
        """(begin, end, scope) of the parts of a line that have one, in order."""
        out, at = [], 0
        following = {}  # of each rule its next match: it is looked for again once it lies behind
        while at <= len(line):
            if self._open is not None:
                end = re.compile(self._open["end"]).search(line, at)
                stop = end.end() if end else len(line)
                out.append((at, stop, self._open["name"]))
                if end is None:
                    break
                at, self._open = stop, None
            best = None
            for number, (regex, pattern) in enumerate(self._rules):
                match = following.get(number, False)
                if match is False or (match is not None and match.start() < at):
                    match = following[number] = regex.search(line, at)
                if (
                    match
                    and match.end() > match.start()
                    and (best is None or match.start() < best[0].start())
                ):
                    best = match, pattern
            if best is None:
                break
            match, pattern = best
            if "name" in pattern:
                out.append((*match.span(), pattern["name"]))
            for group, of in pattern.get("captures", {}).items():
                if match.start(int(group)) < match.end(int(group)):
                    out.append((*match.span(int(group)), of["name"]))
            at, self._open = match.end(), pattern if "begin" in pattern else None
        return out
