"""The layers of python/triton_runner, and that every import leads down: from a module to its own layer or to
one below it, never in a circle. doc/internals/architecture.md draws them; tests/lint.py calls check()."""

import ast
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "triton_runner"

# From the bottom up: what a layer holds. A folder stands for its modules, but for those that are named.
LAYERS = (
    ("facts", "_errors _recent _levels _paths _metadata _files _lazy _faults _flow _arrays _memory "
              "_rerun _substitution _torch_modes _progress _uninit color_print ir ptx tlx _layout "
              "_layout_text _layout_picture _tools _variables _pipeline.versions _pipeline.guard "
              "_compiler.elements _compiler.architectures"),
    ("settings", "_settings _messages _keywords _markers"),
    ("device", "_device"),
    ("kernels", "_native _simt _gpu _launch"),
    ("pipeline", "_pipeline _compiler.job _compiler.rebuild _compiler.recorder _compiler.recorder_job "
                 "_compiler.llvm_passes _compiler.translation _compiler.llir"),
    ("artifacts", "_artifacts _load _compiled _rerun.launch"),
    ("dumps", "_dump language"),
    ("Triton's device", "_compiler.passes_launch _compiler.passes_select _compiler.passes_names "
                        "_quick testing torch_utils _driver _dispatch _winners _inductor _jit gluon"),
    ("compiler", "_selftest _compiler _resources _ledger _export"),
    ("programs", "_graphs _cublas _half_sums _pretend _quick_random _quick_pytest _quick_install _install"),
    ("comparing", "_compare _compiler.launch_job _lockstep_loaded _lockstep_pairs _lockstep"),
    ("seeing", "_see"),
    ("cases", "_run _exec _case _reduce"),
    ("benchmarks", "_options bench"),
    ("commands", "_help _cache _dev _dev_command _doctor _doctor_command _experiments "
                 "_experiments_command _ops "
                 "_dump.command _compiler.command _compiler.passes_command "
                 "_bisect _compiler.bisection_job _compare.command _ledger_command "
                 "_export_command _layout_command _case.verify_command _case.commands _reduce.command "
                 "_see.map_command _see.report_command _see.program _cli __main__"),
    ("names", "triton_runner"),
)  # fmt: skip
# What not everybody has, or what takes long to load: an import in a function may put it off.
COSTLY = {"triton", "torch", "numpy", "ml_dtypes", "click", "rich", "matplotlib", "pytest", "_core"}
# Modules all of whose imports in functions have one reason.
LATE = {
    "_cli": "a command loads what it runs",
    "_doctor": "what does not load is what it reports",
}


def modules() -> dict[str, pathlib.Path]:
    """The package's modules by their names within it; the package itself is "triton_runner"."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "triton_runner"] = path
    return found


class Module:
    """What a module imports: of the package [(name, line, whether in a function)], and of COSTLY at once."""

    def __init__(self, path: pathlib.Path, known):
        self.imports, self.costly = [], set()
        self.lines = path.read_text().splitlines()
        self._known = known
        self._read(ast.parse(path.read_text()), False)

    def _read(self, node, in_function: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            for name in _imported(child):
                self._add(name, child.lineno, in_function)
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            self._read(child, in_function or is_function)

    def _add(self, name: str, line: int, in_function: bool) -> None:
        package, _, inner = name.partition(".")
        if package == "triton_runner" and inner and not inner.startswith("_core"):
            while inner not in self._known and "." in inner:
                inner = inner.rpartition(".")[0]  # a function or class of the module
            if inner in self._known:
                self.imports.append((inner, line, in_function))
        elif not in_function:
            self.costly |= {"_core" if inner.startswith("_core") else package} & COSTLY

    def gives_reason(self, line: int) -> bool:
        """Whether a comment stands at the end of the line, or above it and its like."""
        above = line - 2
        while self.lines[above].lstrip().startswith("from triton_runner"):
            above -= 1
        return "#" in self.lines[line - 1] or self.lines[above].lstrip().startswith("#")


def _imported(node) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def layer_of(name: str) -> int | None:
    """The number of a module's layer, from the bottom; None if it stands in none."""
    while name:
        for number, (_, held) in enumerate(LAYERS):
            if name in held.split():
                return number
        name = name.rpartition(".")[0]
    return None


def _loaded(name: str, read: dict, seen: set) -> set:
    """What of COSTLY a module loads, with all that it imports at once."""
    seen.add(name)
    found = set(read[name].costly)
    for other, _, in_function in read[name].imports:
        if not in_function and other not in seen:
            found |= _loaded(other, read, seen)
    return found


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
    """What is wrong, a line each."""
    known = modules()
    read = {name: Module(path, known) for name, path in known.items()}
    wrong = [
        f"{name}: in no layer: add it to LAYERS of tests/layers.py, above all that it imports"
        for name in known
        if layer_of(name) is None
    ]
    if wrong:
        return wrong
    for name, module in read.items():
        for other, line, in_function in module.imports:
            where = f"{known[name].relative_to(PACKAGE.parent.parent)}:{line}: imports {other}"
            if layer_of(other) > layer_of(name):
                layer = LAYERS[layer_of(other)][0]
                wrong.append(f"{where}, of a higher layer ({layer}): move what both need to a lower one")
            free = not in_function or name in LATE or module.gives_reason(line)
            if not free and _loaded(other, read, set()) <= _loaded(name, read, set()):
                wrong.append(f"{where} in a function: import at the top, or say above the line why not")
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
