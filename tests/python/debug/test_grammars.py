"""Tests the grammars that colour TTIR, TTGIR, LLIR, PTX and SASS (tools/grammars.py), by a tokenizer of our
own (helpers/textmate.py). scopes/LANGUAGE.txt has lines, each with the scopes of its parts below it;
UPDATE_SCOPES=1 writes what they are now."""

import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import corpus
import pytest
from textmate import Grammar, path_of
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError
from triton_runner._core import ir, ptx
from triton_runner._kernel.page import opcodes

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.append(str(ROOT / "tools"))
import grammars  # noqa: E402

LANGUAGES = ("ttir", "ttgir", "llir", "ptx", "sass")
ON_THE_PAGE = ("python", "amdgcn")
PTX_CASES = [*(ROOT / "tests" / "cases" / "ptx").glob("[!b]*.ptx")]


@pytest.mark.parametrize("language", [*LANGUAGES, *ON_THE_PAGE])
def test_the_file_is_what_the_tool_writes(language):
    assert path_of(language).read_text() == grammars.text_of(language), "run python tools/grammars.py"


def shown(grammar: Grammar, line: str) -> list[str]:
    """A line, and below it each scope with the characters that it is of."""
    rows = [f"#{' ' * a}{'^' * (b - a)} {scope}" for a, b, scope in grammar.scopes(line)]
    return [f">{line}", *rows]


@pytest.mark.parametrize("language", [*LANGUAGES, *ON_THE_PAGE])
def test_scopes_of_lines(language):
    path = HERE / "scopes" / f"{language}.txt"
    expected = path.read_text().splitlines()
    grammar = Grammar(language)
    lines = [row for line in expected if line[:1] == ">" for row in shown(grammar, line[1:])]
    if os.environ.get("UPDATE_SCOPES"):
        path.write_text("\n".join(lines) + "\n")
    assert lines == expected


def listings() -> list[str]:
    try:
        cubins = sorted(corpus.FOLDER.glob("3.9.0/*/*.cubin"))
        return [tools.disassembly(path.read_bytes(), "-hex", "-gi", "-gp") for path in cubins]
    except DiagnosticError as error:
        pytest.skip(f"the corpus of SASS is made by nvdisasm: {error.message}")


def texts_of(language: str) -> list[str]:
    """Returns what the first and the newest release print, and the inputs of cases."""
    if language == "sass":
        return listings()
    paths = [p for release in ("3.0.0", "3.9.0") for p in corpus.FOLDER.glob(f"{release}/*/*.{language}")]
    cases = sorted((ROOT / "tests" / "cases").rglob(f"*.{language}"))
    paths += [path for path in cases if not path.name.startswith("bad-")][::4]
    return [path.read_text().partition("\n// ---- expected")[0] for path in sorted(paths)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_of_the_corpus_has_a_scope(language):
    grammar, lines = Grammar(language), 0
    for line in itertools.chain.from_iterable(text.splitlines() for text in texts_of(language)):
        lines += 1
        rest = [*line]
        for begin, end, scope in grammar.scopes(line):
            assert scope.endswith(f".{language}")
            rest[begin:end] = " " * (end - begin)
        assert not re.search(r"\w", "".join(rest)), line
    assert lines > 1000


def opcode_at(grammar: Grammar, line: str, kind: str) -> list[str]:
    return [line[a:b] for a, b, scope in grammar.scopes(line) if scope.startswith(kind)]


@pytest.mark.parametrize("language", ["ttir", "ttgir"])
def test_ops_are_those_of_the_parser(language):
    grammar, ops = Grammar(language), 0
    for path in sorted(corpus.FOLDER.glob(f"3.9.0/*/*.{language}")):
        text = path.read_text()
        expected = sorted(op.name for op in ir.parse(text).walk() if "." in op.name)
        found = [
            n.strip('"') for line in text.splitlines() for n in opcode_at(grammar, line, "support.function")
        ]
        assert sorted(found) == expected, path
        ops += len(found)
    assert ops > 300


def test_every_op_of_the_table_is_an_op():
    grammar = Grammar("ttgir")
    for row in ir.op_table():
        for name in {row["name"].partition("{")[0], *(old["name"] for old in row["old_names"])} - {"module"}:
            assert opcode_at(grammar, f"  %0 = {name} %1", "support.function") == [name]


def test_opcodes_are_those_of_the_parser():
    grammar, count = Grammar("ptx"), 0
    for path in [*PTX_CASES, *corpus.FOLDER.glob("3.9.0/*/*.ptx")]:
        text = path.read_text().partition("\n// ---- expected")[0]
        expected = []
        for function in ptx.parse(text).functions:
            expected += [i.opcode.partition(".")[0] for i in function.instructions if i.is_known]
        found = [name for line in text.splitlines() for name in opcode_at(grammar, line, "support.function")]
        assert sorted(found) == sorted(expected), path
        count += len(found)
    assert count > 3000


def test_opcodes_are_those_of_the_tables():
    rows = {"ptx": {row["opcode"] for row in ptx.opcode_table()}, "sass": {*opcodes.sentences("sass")}}
    for language, line in (("ptx", "\t@%p1 {}.x.y \t%r1;"), ("sass", "        /*0010*/     @P0 {}.X R1 ;")):
        grammar = Grammar(language)
        for name in {name.partition(".")[0] for name in rows[language]}:
            assert opcode_at(grammar, line.format(name), "support.function") == [name]
    assert opcode_at(Grammar("ptx"), "\tmov.u32 %r1, add;", "support.function") == ["mov"]


AWKWARD = (
    '"', '\\"', "a", "a-", "a.", "1x", "1.", "0x", "%", "@", "@!%p ", "#a", "!a", "a =", "= ", " ", "/*",
    "*/ ", "/", ".", ".a", "`(", "a:", "$", "::", "c[", "tail ", "1e",
    "-", "\t", "P0 ", "@P0 ", "A.B", "(", "{ ", "a b ",
)  # fmt: skip


@pytest.mark.parametrize("language", [*LANGUAGES, *ON_THE_PAGE])
def test_no_line_takes_long(language):
    """Four times the line takes about four times as long, and not sixteen times."""

    def cost(text: str) -> float:
        best = 1e9
        for _ in range(3):
            begin = time.process_time()
            Grammar(language).scopes(text)
            best = min(best, time.process_time() - begin)
        return best

    for piece in AWKWARD:
        short, long = cost(piece * 500), cost(piece * 2000)
        assert long < 10 * short + 0.02, (piece, short, long)


def test_the_expressions_are_those_of_javascript_too():
    node = shutil.which("node")
    if node is None:
        pytest.skip("JavaScript's regular expressions need Node")
    patterns = [p for name in (*LANGUAGES, *ON_THE_PAGE) for p in Grammar(name).data["patterns"]]
    regexes = [text for p in patterns for text in (p.get("match"), p.get("begin"), p.get("end")) if text]
    program = "for (const r of JSON.parse(process.argv[1])) new RegExp(r, 'y')"
    subprocess.run([node, "-e", program, json.dumps(regexes)], check=True, timeout=60)


def test_files_have_a_language_of_github():
    files = {"x.ttir": "MLIR", "x.ttgir": "MLIR", "x.llir": "LLVM", "x.ptx": "Assembly", "x.sass": "Assembly"}
    command = ["git", "check-attr", "linguist-language", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("attributes are asked for in a checkout")
    assert done.stdout.splitlines() == [f"{name}: linguist-language: {of}" for name, of in files.items()]
