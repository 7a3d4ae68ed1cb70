"""The layers of python/triton_runner, and that every import leads down: from a module to its own folder or to
a layer below, never in a circle. doc/internals/architecture.md draws them; tests/lint.py calls check()."""

import ast
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "triton_runner"

# From the bottom up, the folders and flat modules of each layer.
LAYERS = (
    ("base", "_base _worker color_print ir ptx"),
    ("settings", "_memory _settings tlx"),
    ("launches", "_launch testing torch_utils"),
    ("pipeline", "_pipeline"),
    ("artifacts", "_artifact"),
    ("subjects", "_compiler _dump _pretend"),
    ("views", "_compare _jit _lockstep _programs _see language"),
    ("cases", "_case _profile bench gluon"),
    ("searches", "_assemble _bisect _bits _debug _reduce _shapes _tune"),
    ("commands", "_cli triton_runner"),
)
FLAT, DEEP = 25, 10  # modules beside the folders, and layers: at most
# Folders all of whose imports in functions have one reason.
LATE = dict.fromkeys(("_cli", "_programs"), "a command loads what it runs, which the others do without")


def modules() -> dict[str, pathlib.Path]:
    """The package's modules by their names within it; the package itself is "triton_runner"."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "triton_runner"] = path
    return found


class Module:
    """The imports of a module from the package: [(name, line, whether in a function)], and the private names
    of other modules that it uses: [(name, line)]."""

    def __init__(self, path: pathlib.Path, known):
        self.imports, self.private = [], []
        self.lines = path.read_text().splitlines()
        self._known, self._modules = known, {}
        tree = ast.parse(path.read_text())
        self._read(tree, False)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                self._check(node.attr, self._modules.get(node.value.id), node.lineno)

    def _read(self, node, in_function: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            for name, bound in _imported(child):
                self._add(name, bound, child.lineno, in_function)
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
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


def _imported(node) -> list[tuple[str, str]]:
    """(full name, the name that it is bound to) of what a statement imports."""
    if isinstance(node, ast.Import):
        return [(alias.name, alias.asname or alias.name) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [(f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in node.names]
    return []


def folder_of(name: str) -> str:
    """The folder of a module; a flat module's own name. python -m triton_runner is the command line."""
    return "_cli" if name == "__main__" else name.partition(".")[0]


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
        for other, line, in_function in module.imports:
            where = f"{known[name].relative_to(PACKAGE.parent.parent)}:{line}: imports {other}"
            here, there = folder_of(name), folder_of(other)
            if here != there and RANKS[there] >= RANKS[here]:
                layer = LAYERS[RANKS[there]][0]
                wrong.append(f"{where}, of a layer not below ({layer}): move what both need to a lower one")
            if in_function and here not in LATE and not module.gives_reason(line):
                wrong.append(f"{where} in a function: import at the top, or say beside the line why not")
        for other, line in module.private:
            where = known[name].relative_to(PACKAGE.parent.parent)
            wrong.append(f"{where}:{line}: uses {other}, a private name of that module: give it a public one")
    done: set = set()
    for name in read:
        circle = _circle(name, read, [], done)
        if circle:
            wrong.append(
                f"a circle of imports: {' -> '.join(circle)}: move what they share to a lower module"
            )
            break
    return wrong


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "every import leads down")
    sys.exit(bool(found))
