"""Checks comments for lint: a file opens with its idea, a file that a comment or a page names is there, no
line of a paragraph ends long before the others, and no paragraph begins as a fragment does:

    // What the loaded code takes.                   refused: there is no main verb
    // The resources that the loaded code takes.     names the thing, as a comment on a field or a value may
    // Returns what the loaded code takes.           says what a function does

The first sentence of a file has a main verb: "Reads ELF files.", and not "The reader of ELF files." A .cpp
says too what it does for the header of its name. tests/lint.py calls check().
"""

import ast
import functools
import itertools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = "src|include|python|tests|tools|doc|examples|benchmark|fuzz|requirements"
# A path from the root of the tree that is not part of a longer one.
PATH = re.compile(rf"(?<![\w/.<>{{}}$\"-])(?:{FOLDERS})/[\w./-]*\w(?![\w/]*[*<{{$])")
ROOM = 75  # of 110 characters: what a line of a paragraph can be expected to fill
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")
# Pages name these although they are not there, and say so, or another project has them.
ABSENT = ("doc/solving_triton_issues", "python/test/unit")
# A clause that begins so is a part of a sentence, whose subject or verb the writer had in mind.
CLAUSE = re.compile(r"(What|Whatever|Whose|Of|That|Where)\b")
RELATIVE = "that|which|who|whose|where|when|while|whom|as|until|before|after|because|how|what|than|if|whether"
OF = "of|on|at"  # behind these words a plural is no verb
CODE = "src/", "include/", "python/", "tests/python/", "tests/rooms/", "tests/tools/", "tests/unit/", "fuzz/"


@functools.cache
def verbs(nouns: bool) -> frozenset[str]:
    """The forms of verbs in verbs.txt: those that are nouns too, which are verbs at the beginning of a
    sentence and behind a name, or those that are verbs wherever they stand."""
    parts = (ROOT / "tests" / "verbs.txt").read_text().split("\n\n")
    return frozenset(parts[1 + nouns].split())


def tracked(*patterns: str) -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def without_opening() -> list[str]:
    """Files of code that begin with something else than a comment."""
    known = tracked("*.cpp", "*.h", "*.py")
    wrong = []
    for name in known:
        lines = (ROOT / name).read_text().splitlines()
        start = lines[1:] if lines and lines[0].startswith("#!") else lines
        if start and not start[0].startswith(("//", '"""', 'r"""')):
            wrong.append(f"{name}:1: does not open with its idea: write a sentence or two above the imports")
    return wrong


def names_of_nothing() -> list[str]:
    """Places that name a file of the tree that is not there."""
    wrong = []
    for name in tracked("*.py", "*.cpp", "*.h", "*.def", "*.md", "*.sh", "Makefile", "CMakeLists.txt"):
        if name.startswith("tests/cases/"):
            continue
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            for path in PATH.findall(line):
                if path.startswith(ABSENT) or PLACEHOLDER.search(path):
                    continue
                here = (ROOT / path, (ROOT / name).parent / path)
                if not any(p.exists() or list(p.parent.glob(p.name + "*")) for p in here):
                    wrong.append(f"{name}:{number}: there is no {path}: name the file that has it now")
    return wrong


def blocks(name: str, text: str):
    """(number of its first line, lines) of each comment and docstring, with what marks them taken off."""
    mark = r"\s*# ?" if name.endswith(".py") else r"\s*// ?"
    lines = text.splitlines()
    start = None
    for number, line in enumerate([*lines, ""]):
        inside = re.match(mark, line) is not None
        if inside and start is None:
            start = number
        elif not inside and start is not None:
            yield start + 1, [re.sub(mark, "", line, count=1) for line in lines[start:number]]
            start = None
    if name.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                at = node.body[0]
                yield at.lineno, [line[at.col_offset :] for line in lines[at.lineno - 1 : at.end_lineno]]


def ragged() -> list[str]:
    """Lines in the middle of a sentence that the next line's first words had room on, as reflowing leaves
    them. Tables, whose columns are two spaces apart, are laid out by hand."""
    wrong = []
    for name in tracked("*.py", "*.cpp", "*.h"):
        for start, lines in blocks(name, (ROOT / name).read_text()):
            for number, (line, after) in enumerate(itertools.pairwise(lines), start):
                prose = re.match(r'(?:""")?\w.*[^.:;,]$', line) and re.match(r"[a-z][\w'-]*,? [\w`'(]", after)
                if prose and "  " not in line + after and len(line) + len(after.split()[0]) < ROOM:
                    word = after.split()[0]
                    wrong.append(f"{name}:{number}: ends before {word!r}, which has room there: wrap again")
    return wrong


def is_fragment(paragraph: str) -> bool:
    """Whether a paragraph begins with a clause that has no main verb of its own; a question is a sentence. (A
    condition is an "If": "If both write, the later one wins.")"""
    sentence = re.split(r"(?<=[.?!:])(?:\s|$)", paragraph, maxsplit=1)[0]
    return CLAUSE.match(sentence) is not None and not sentence.endswith("?")


def fragments() -> list[str]:
    """Paragraphs that have no main verb, by how they begin."""
    wrong = []
    for name in tracked("*.py", "*.cpp", "*.h", "*.def"):
        for start, lines in blocks(name, (ROOT / name).read_text()):
            parts = itertools.groupby(enumerate(lines, start), lambda row: bool(row[1].strip()))
            for part in (list(rows) for filled, rows in parts if filled):
                paragraph = re.sub(r'^r?"""', "", " ".join(line for _, line in part))
                if is_fragment(paragraph):
                    at, begins = f"{name}:{part[0][0]}", paragraph.split()[0]
                    wrong.append(f"{at}: begins with {begins!r} and has no main verb: say what it is or does")
    return wrong


def has_verb(sentence: str) -> bool:
    """Whether a sentence has a main verb: one that is in no clause with "that", "which" and so on."""
    sentence = re.sub(r'`[^`]*`|"[^"]*"|\w+\(\)', "x", sentence)
    words = re.findall(r"[\w']+", re.sub(r"\([^)]*\)", "", sentence))
    lower = [word.lower() for word in words]
    some, every = verbs(False), verbs(False) | verbs(True)
    if not words or lower[0] in some:
        return bool(words)
    if ends := ends_of_list(sentence):
        lower = re.findall(r"[\w']+", sentence[ends:].lower())
    elif lower[0] in every and not re.fullmatch(OF, " ".join(lower[1:2])):
        return True
    is_name = re.fullmatch(r"x|\w*_\w*|\w*[a-z][A-Z]\w*|(?!(?:The|An|Every|Each)\b)[A-Z][a-z]+", words[0])
    if is_name and not ends and len(words) > 1 and lower[1] in every:
        return True
    while at := next((i for i, word in enumerate(lower) if i and re.fullmatch(RELATIVE, word)), None):
        ends = (i for i in range(at + 1, len(lower)) if lower[i] in every)
        del lower[at : next(ends, len(lower) - 1) + 1]
    return any(word in some for word in lower[0 if ends else 1 :])


def ends_of_list(sentence: str) -> int:
    """Returns where the plurals end with which a sentence begins: words that may be verbs too and are none
    here, as nothing follows that they could be done to ("Launches: ...", "Tensor maps: ...", "Copies and
    fills.", "Registers, constants and literals of ..."). 0: it begins otherwise."""
    nouns, every = verbs(True), verbs(False) | verbs(True)
    alone = re.match(r"(?:[A-Z][a-z]+ )?(\w+)(?: and \w+)?[:.]", sentence)
    listed = re.match(r"(\w+), (\w+)", sentence)
    found = alone or (listed if listed and listed[2].lower() not in every else None)
    return found.end() if found and found[1].lower() in nouns else 0


def openings_without_verb() -> list[str]:
    """Files whose first sentence names a thing and says nothing of it."""
    wrong = []
    for name in tracked("*.py", "*.cpp", "*.h", "*.def", "*.c"):
        is_code = name.startswith(CODE) or re.fullmatch(r"tests/\w+\.py", name)
        first = next(blocks(name, (ROOT / name).read_text()), None) if is_code else None
        if first is None or (first[0] > 2 and not name.endswith(".py")):
            continue
        lines = list(itertools.takewhile(str.strip, first[1]))
        if name.endswith(".py"):
            text = ast.get_docstring(ast.parse((ROOT / name).read_text())) or ""
            lines = list(itertools.takewhile(str.strip, text.splitlines()))
        sentence = re.split(r"(?<=[.?!])\s", " ".join(lines), maxsplit=1)[0]
        if sentence and not has_verb(sentence):
            begins = " ".join(sentence.split()[:6])
            wrong.append(f'{name}:1: "{begins} ..." has no main verb: say what the file does ("Reads ...")')
    return wrong


def lists_of_modules() -> list[str]:
    """Packages whose opening lists their modules: such a list is soon incomplete."""
    wrong = []
    for name in tracked("python/triton_runner/**/__init__.py"):
        folder = (ROOT / name).parent
        words = ast.get_docstring(ast.parse((ROOT / name).read_text())) or ""
        listed = re.findall(r"^- ([\w*]+)(?:, [\w*]+)*:|\b(\w+)\.py\b", words, re.M)
        own = {one.stem for one in folder.glob("*.py")} & {first or second for first, second in listed}
        if len(own) > 1:
            wrong.append(
                f"{name}:1: lists {', '.join(sorted(own))}: leave it to tests/room.py, which has all"
            )
    return wrong


def check() -> list[str]:
    """Returns what is wrong, a line each."""
    return (
        without_opening()
        + names_of_nothing()
        + ragged()
        + fragments()
        + openings_without_verb()
        + lists_of_modules()
    )
