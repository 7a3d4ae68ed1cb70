"""The row of an opcode of machine code in opcodes.def has what others have to know: nobody else spells one in
a text without a reason. `python tests/python/sass/test_rows.py` counts them: there were 381, in 33 files,
before the table had pipes and traits."""

import ast
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = (ROOT / "src/sass/internal/opcodes.def").read_text()
CODE = {"src": ".cpp .h", "include": ".cpp .h", "python/bindings": ".cpp .h", "python/triton_runner": ".py"}
_WORD = re.compile(r"(?<![\w.%$])([A-Z][A-Z0-9]+)(?!\w)")

HELP = "an example in a text for people"
MODIFIER = "a suffix of that name"
ALLOWED = {
    "src/amdgcn/waits.cpp": ({"LDS"}, "AMD's memory of a workgroup"),
    "src/amdgcn/facts.cpp": ({"LDS"}, "a unit of AMD's"),
    "python/bindings/amdgcn.cpp": ({"LDS"}, "the same, in a docstring"),
    "src/report/map.cpp": ({"HGMMA"}, "the page maps lines of text"),
    "src/sass/facts.cpp": ({"IADD"}, MODIFIER),
    "src/simt/front/sass/integer.cpp": ({"IADD"}, MODIFIER),
    "src/simt/front/sass/matrices.cpp": ({"OMMA", "POPC"}, "a handler's own; " + MODIFIER),
    "src/simt/front/sass/mbarriers.cpp": ({"NANOSLEEP", "RED"}, MODIFIER),
    "src/simt/front/sass/order.cpp": ({"MOV"}, MODIFIER),
    "src/simt/front/sass/parts.cpp": ({"MOV"}, MODIFIER),
    "src/simt/front/sass/tensors.cpp": ({"UTCHMMA", "UTCIMMA", "UTCQMMA"}, "the kinds of one handler"),
    "src/simt/front/sass/warp.cpp": ({"POPC", "RED"}, MODIFIER),
    "python/bindings/probe_sass.cpp": ({"FADD"}, HELP),
    "python/bindings/sass.cpp": ({"LDG"}, HELP),
    "python/triton_runner/_base/expression.py": ({"LDG"}, HELP),
    "python/triton_runner/verbs/bisect/command.py": ({"HMMA"}, HELP),
    "python/triton_runner/verbs/bisect/fault.py": ({"LDS"}, "AMD's memory of a workgroup"),
    "python/triton_runner/verbs/compare/command.py": ({"LDL"}, HELP),
    "python/triton_runner/_kernel/cells/measure.py": ({"LDS"}, HELP),
    "python/triton_runner/verbs/debug/session.py": (
        {"BAR", "DEPBAR", "EXIT", "SYNCS"},
        "places of all levels are told apart by their names",
    ),
    "python/triton_runner/_kernel/dumps/cuda_gdb_script.py": (
        {"BRA"},
        "its operand is an address in gdb's listing",
    ),
    "python/triton_runner/_kernel/dumps/machine_values.py": ({"FADD"}, HELP),
    "python/triton_runner/_kernel/cost/bounds.py": (
        {"FLO", "LDGSTS", "MUFU", "POPC"},
        "whose rates are published, of their pipe; copies that pass L1 by",
    ),
}


def names() -> set[str]:
    return {name.split("_")[0] for name in re.findall(r"^OP\((\w+)", TABLE, re.M)}


def texts_of(path: pathlib.Path):
    """The string literals of a file, without docstrings and comments."""
    source = path.read_text()
    if path.suffix != ".py":
        code = re.sub(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or "", source, flags=re.S)
        yield from re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)
        return
    tree = ast.parse(source)
    of_docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in of_docstrings:
            yield node.value


def spelled() -> dict[str, list[str]]:
    """The opcodes that each file spells in its texts, as often as it does."""
    known, found = names(), {}
    for folder, endings in CODE.items():
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in endings.split() or path.name.endswith("_test.cpp") or not path.is_file():
                continue
            words = [word for text in texts_of(path) for word in _WORD.findall(text) if word in known]
            if words:
                found[str(path.relative_to(ROOT))] = words
    return found


def test_every_row_is_read():
    assert len(names()) > 180


def test_nobody_spells_an_opcode_without_a_reason():
    found = spelled()
    assert {path: set(words) for path, words in found.items()} == {p: n for p, (n, _) in ALLOWED.items()}
    assert sum(map(len, found.values())) < 60


def test_rows_of_ptx_name_opcodes_of_the_table():
    """The rows SASS of PTX's table: what an opcode of PTX becomes."""
    table = (ROOT / "include/triton_runner/ptx/opcodes.def").read_text()
    rows = re.findall(r'^SASS\(\w+, "[^"]*", \w+, "([^"]*)"', table, re.M)
    assert len(rows) > 50
    assert {word.split(".")[0] for row in rows for word in row.split()} <= names() | {"UIMNMX"}


if __name__ == "__main__":
    for path, words in spelled().items():
        print(f"{len(words):4} {path}: {' '.join(sorted(collections.Counter(words)))}")
    print(f"{sum(map(len, spelled().values())):4} in all, of {len(names())} opcodes")
