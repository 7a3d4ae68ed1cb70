"""Checks the layers of python/triton_runner, and that every import leads down: from a module to its own
room or to a layer below, never in a circle, neither of modules nor of folders. A room is a folder of the
package; a verb is a room within `verbs`, and imports no other. doc/internals/architecture.md draws them;
tests/lint.py calls check(), and `python tests/layers.py` counts rooms, arrows between them, and floors.
Files that are loaded without the package (APART), and the standard library of the least Python (newer.py),
are checked here too."""

import ast
import graphlib
import pathlib
import re
import sys

import newer

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "triton_runner"

# From the bottom up, the folders and flat modules of each layer.
LAYERS = (
    ("base", "_base _worker color_print ir ptx"),
    ("settings", "_code _memory _settings tlx"),
    ("launches", "_launch testing torch_utils"),
    ("pipeline", "_pipeline"),
    ("artifacts", "_artifact _pretend"),
    ("kernels", "_kernel"),
    ("jit", "_jit language"),
    ("programs", "_programs bench gluon triton_runner"),
    ("verbs", "_cli verbs"),
)
FLAT, DEEP, ARROWS = 25, 9, 100  # modules beside the folders, layers, arrows between rooms: at most
# Imports in functions of a command, of what commands share, and of two verbs have one reason: a command
# loads what it runs, which the others do without.
LATE = ("_cli", "_programs", "verbs.completion", "verbs.doctor")
# The parts of a verb, each of which imports only those before it; its __init__ has a docstring alone.
PARTS = ("results", "run", "text", "command")
# The modules and folders of _kernel, from the bottom up: each imports those before its line.
KERNELS = ("asynchronous layout material", "compiling dumps source_map", "cells lockstep page", "cases cost")
# Files that other interpreters load without the package, and who does: they import no more than THERE, and in
# functions what of this package is there.
APART = {
    "_worker": "_worker/child.py, in the Python of any release (they import each other as `from . import x`)",
    "_base.renamed": "_worker/child.py, in the Python of any release",
    "bench.kernels": "bench/peer.py, in the interpreter that is measured",
    "bench.native": "bench/peer.py, in the interpreter that is measured",
    "bench.peer": "bench/peers.py, in the interpreter that is measured",
    "bench.problems": "bench/peer.py, in the interpreter that is measured",
    "bench.timing": "bench/peer.py, in the interpreter that is measured",
}
THERE = sys.stdlib_module_names | {"triton", "torch", "numpy"}
# A verb that imports another, and what for.
BETWEEN = {
    ("debug", "verify"): "an editor shows the findings of verify as checks",
    ("experiments", "bisect"): "a run of a program in a release",
    ("report", "dump"): "whether a file is a program",
    ("run", "bisect"): "a case's Python in another release",
    ("verify", "prove"): "verify --prove proves the kernels that it judges",
    ("tune", "configs"): "the configurations that a program asks for",
}


def modules() -> dict[str, pathlib.Path]:
    """The package's modules by their names within it; the package itself is "triton_runner"."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "triton_runner"] = path
    return found


class Module:
    """The imports of a module from the package: [(name, line, whether in a function)], those of anything:
    [(name, line, whether in a function, whether relative)], and the private names of other modules that it
    uses: [(name, line)]."""

    def __init__(self, path: pathlib.Path, known):
        self.imports, self.every, self.private = [], [], []
        self._package = ["triton_runner", *path.relative_to(PACKAGE).parts[:-1]]
        text = path.read_text()
        self.lines = text.splitlines()
        self._known, self._modules = known, {}
        tree = ast.parse(text)
        self.statements = len(tree.body)
        self._read(tree, False)
        names = "|".join(map(re.escape, self._modules)) or "-"
        for node in ast.walk(tree) if re.search(rf"\b({names})\._", text) else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                self._check(node.attr, self._modules.get(node.value.id), node.lineno)

    def _read(self, node, in_function: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):  # no statement, and so no import, stands in one
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            for name, bound in self._imported(child):
                relative = isinstance(child, ast.ImportFrom) and child.level > 0
                self.every.append((name, child.lineno, in_function, relative))
                self._add(name, bound, child.lineno, in_function)
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            self._read(child, in_function or is_function)

    def _add(self, name: str, bound: str, line: int, in_function: bool) -> None:
        package, _, inner = name.partition(".")
        if package != "triton_runner" or not inner or inner.startswith("_core"):
            return
        if inner in self._known:
            self._modules[bound] = inner
        while inner not in self._known and "." in inner:
            inner, _, of_module = inner.rpartition(".")  # a function or class of the module
            self._check(of_module, inner, line)
        if inner in self._known:
            self.imports.append((inner, line, in_function))

    def _check(self, name: str, module: str | None, line: int) -> None:
        is_private = name.startswith("_") and not name.startswith("__")
        if is_private and module in self._known and f"{module}.{name}" not in self._known:
            self.private.append((f"{module}.{name}", line))

    def gives_reason(self, line: int) -> bool:
        """Whether a comment stands at the end of the line, or above it and its like."""
        above = line - 2
        while self.lines[above].lstrip().startswith("from triton_runner"):
            above -= 1
        return "#" in self.lines[line - 1] or self.lines[above].lstrip().startswith("#")

    def _imported(self, node) -> list[tuple[str, str]]:
        """(full name, the name that it is bound to) of what a statement imports."""
        if isinstance(node, ast.Import):
            return [(alias.name, alias.asname or alias.name) for alias in node.names]
        if not isinstance(node, ast.ImportFrom):
            return []
        at = self._package[: len(self._package) + 1 - node.level] if node.level else []
        at = ".".join([*at, *([node.module] if node.module else [])])
        return [(f"{at}.{alias.name}", alias.asname or alias.name) for alias in node.names]


def folder_of(name: str) -> str:
    """The folder of a module; a flat module's own name. python -m triton_runner is the command line."""
    return "_cli" if name == "__main__" else name.partition(".")[0]


def is_late(name: str) -> bool:
    """Whether a module's imports in functions need no reason of their own."""
    return name.endswith(".command") or name.split(".")[0] in LATE or ".".join(name.split(".")[:2]) in LATE


def arrows(read: dict, room=folder_of) -> dict[str, set]:
    """Which rooms a room imports."""
    found: dict[str, set] = {room(name): set() for name in read}
    for name, module in read.items():
        found[room(name)] |= {room(other) for other, *_ in module.imports if other != "triton_runner"}
    return {name: others - {name} for name, others in found.items()}


def floors(graph: dict[str, set]) -> int:
    """How many rooms stand above each other."""
    rank: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(graph).static_order():
        rank[name] = 1 + max((rank[other] for other in graph[name]), default=0)
    return max(rank.values())


def count(read: dict) -> str:
    graph = arrows(read)
    return f"{len(graph)} rooms, {sum(map(len, graph.values()))} arrows between them, {floors(graph)} floors"


def below_in_kernel(name: str) -> list[str]:
    """Returns what of _kernel a module of it may import beside its own folder."""
    own = name.split(".")[1] if "." in name else ""
    rank = next((rank for rank, line in enumerate(KERNELS) if own in line.split()), len(KERNELS))
    return [one for line in KERNELS[:rank] for one in line.split()]


def place_of(path: pathlib.Path) -> pathlib.Path:
    return path.relative_to(PACKAGE.parent.parent)


def forbidden(name: str, other: str) -> str:
    """Why a module may not import another, whatever they import else; "" where it may."""
    here, there = folder_of(name), folder_of(other)
    if here != there and RANKS[there] >= RANKS[here]:
        layer = LAYERS[RANKS[there]][0]
        return f", of a layer not below ({layer}): move what both need to a lower one"
    _, *own = name.split(".")
    _, *into = other.split(".")
    if here == there == "_kernel" and into and into[0] not in (own[:1] + below_in_kernel(name)):
        return ": of KERNELS (tests/layers.py) each imports those before its line"
    if here == there == "verbs" and own and into:
        if own[0] != into[0] and (own[0], into[0]) not in BETWEEN:
            return ", of another verb: move what both need down"
        parts = [PARTS.index(one[-1]) for one in (own, into) if one[-1] in PARTS]
        if own[:-1] == into[:-1] and len(parts) == 2 and parts[0] < parts[1]:
            return f": of {', '.join(PARTS)} each reads those before it"
    return ""


def _more_than_words(read: dict, known: dict) -> list[str]:
    """Each __init__ of a verb with more than words."""
    return [
        f"{place_of(known[name])}: more than a docstring: a command would load it with the package"
        for name, module in read.items()
        if name.startswith("verbs.") and known[name].stem == "__init__" and module.statements > 1
    ]


def apart(name: str) -> str:
    """Who loads a module without the package; "" of others."""
    return APART.get(name) or APART.get(folder_of(name), "")


def _loaded_apart(read: dict, known: dict) -> list[str]:
    """Lists imports that the interpreters which load a file without the package do not have."""
    wrong = []
    for name, module in read.items():
        room = name.rpartition(".")[0] or name
        for other, line, in_function, relative in module.every if apart(name) else ():
            if relative and room in APART:
                continue
            of_package = other.split(".")[0] == "triton_runner"
            beside = of_package and room in APART and other.startswith(f"triton_runner.{room}.")
            if beside or not (in_function if of_package else other.split(".")[0] in THERE):
                hint = "import it as `from . import ...`" if beside else "do without it"
                wrong.append(f"{place_of(known[name])}:{line}: imports {other}: {apart(name)}: {hint}")
    return wrong


def folder_in_package(path: pathlib.Path) -> str:
    """The folder of a module, or a flat one; the command of a verb stands above its folder."""
    is_alone = path.stem == "command" or path.parent == PACKAGE
    return str((path if is_alone else path.parent).relative_to(PACKAGE))


RANKS = {name: rank for rank, (_, held) in enumerate(LAYERS) for name in held.split()}


def _circle(name: str, read: dict, way: list, done: set) -> list:
    """The modules of a circle that is reached from a module, or none."""
    if name in way:
        return [*way[way.index(name) :], name]
    if name in done:
        return []
    for other, *_ in read[name].imports:
        found = _circle(other, read, [*way, name], done) if other != name else []
        if found:
            return found
    done.add(name)
    return []


def wrong_imports(read: dict, known: dict) -> list[str]:
    """Returns what is wrong in the imports of all modules, a line each."""
    wrong = []
    for name, module in read.items():
        for other, line, in_function in module.imports:
            where = f"{place_of(known[name])}:{line}: imports {other}"
            if why := forbidden(name, other):
                wrong.append(where + why)
            if in_function and not is_late(name) and not module.gives_reason(line):
                wrong.append(f"{where} in a function: import at the top, or say beside the line why not")
    wrong += _more_than_words(read, known) + _loaded_apart(read, known)
    if (n := sum(map(len, arrows(read).values()))) > ARROWS:
        wrong.append(f"{n} arrows between rooms, at most {ARROWS}: use what a room below has already")
    try:
        floors(arrows(read, lambda name: folder_in_package(known[name])))
    except graphlib.CycleError as error:
        wrong.append(f"a circle of folders: {' <- '.join(error.args[1])}: move down what they share")
    done: set = set()
    for name in read:
        circle = _circle(name, read, [], done)
        if circle:
            wrong.append(
                f"a circle of imports: {' -> '.join(circle)}: move what they share to a lower module"
            )
            break
    return wrong


def check() -> list[str]:
    """Returns what is wrong, a line each."""
    known = modules()
    read = {name: Module(path, known) for name, path in known.items()}
    flat = [name for name, path in known.items() if path.parent == PACKAGE]
    if len(flat) > FLAT or len(LAYERS) > DEEP:
        return [
            f"{len(flat)} flat modules, {len(LAYERS)} layers, at most {FLAT} and {DEEP}: put modules into "
            "folders by subject, and folders that need the same into one layer"
        ]
    wrong = [
        f"{name}: in no layer: add its folder to LAYERS of tests/layers.py, above all that it imports"
        for name in known
        if folder_of(name) not in RANKS
    ]
    if wrong:
        return wrong
    for name, module in read.items():
        for other, line in module.private:
            where = place_of(known[name])
            wrong.append(f"{where}:{line}: uses {other}, a private name of that module: give it a public one")
    for path in known.values():
        wrong += [f"{place_of(path)}:{line}: {what}" for line, what in newer.used(path)]
    return wrong + wrong_imports(read, known)


if __name__ == "__main__":
    found = check()
    known = modules()
    print("\n".join(found) or "every import leads down")
    print(count({name: Module(path, known) for name, path in known.items()}))
    sys.exit(bool(found))
