"""Finds what a file takes of a standard library newer than the least Python that the package says it runs in
(requires-python in pyproject.toml). ruff tells of newer syntax by the same number; newer names are listed
here, of the Python that the tests run in, as those of a still newer one fail there. tests/layers.py calls
used()."""

import ast
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
_SAID = re.search(r'requires-python = ">=(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text())
LEAST = int(_SAID[1]), int(_SAID[2])
# By the Python that has them first: modules, and their functions and classes.
SINCE = {
    (3, 11): """tomllib wsgiref.types asyncio.Barrier asyncio.Runner asyncio.TaskGroup asyncio.timeout
        builtins.BaseExceptionGroup builtins.ExceptionGroup contextlib.chdir datetime.UTC enum.EnumCheck
        enum.FlagBoundary enum.ReprEnum enum.StrEnum enum.global_enum enum.member enum.nonmember
        enum.property enum.verify hashlib.file_digest inspect.getmembers_static locale.getencoding
        logging.getLevelNamesMapping math.cbrt math.exp2 operator.call re.NOFLAG sys.exception typing.Never
        typing.LiteralString typing.NotRequired typing.Required typing.Self typing.TypeVarTuple
        typing.Unpack typing.assert_never typing.assert_type typing.clear_overloads
        typing.dataclass_transform typing.get_overloads typing.reveal_type unittest.enterModuleContext""",
}  # fmt: skip


@functools.cache
def names() -> dict[str, tuple[int, int]]:
    """The names that the least Python lacks, with the one that has them first."""
    return {name: since for since, held in SINCE.items() if since > LEAST for name in held.split()}


def used(path: pathlib.Path) -> list[tuple[int, str]]:
    """Lists what is too new in a file: (line, what is wrong)."""
    text, wrong = path.read_text(), []
    words = {*re.findall(r"\w+", text)}
    if not any(words.issuperset(name.removeprefix("builtins.").split(".")) for name in names()):
        return []
    for node in ast.walk(ast.parse(text)):
        found = []
        if isinstance(node, ast.Import):
            found = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Attribute):
            found = [f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""]
        elif isinstance(node, ast.Name):
            found = [f"builtins.{node.id}"]
        for name in found:
            if since := names().get(name):
                is_of = f"{name.removeprefix('builtins.')} is of Python {since[0]}.{since[1]}"
                says = f"pyproject.toml says {LEAST[0]}.{LEAST[1]}"
                wrong.append((node.lineno, f"{is_of}, and {says}: do without it"))
    return wrong
