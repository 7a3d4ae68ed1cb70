"""Says where a file stands: what its room holds, what it may include or import, who uses it, which page
describes it, and which tests run it. Ask it before you edit a file that you do not know:

    $ python tests/room.py src/simt/ops/warp.cpp

It answers for C++ (src, include, python/bindings), the Python package, and tests. All of it is read from
what the tree says already (tests/rooms): the tables of doc/internals and tests/README.md, CMakeLists.txt,
includes, imports, the layers of tests/layers.py and the rooms of tests/folders.py, which lint compares with
the code. Which tests enter a file of C++ was measured (tests/coverage/reach.py)."""

import pathlib
import sys

import layers
from rooms.cpp import of_source, of_test_tool
from rooms.modules import of_file_of_bindings, of_module
from rooms.suites import of_test
from rooms.tree import ROOT, Facts, name_of, opening

CPP = (".cpp", ".h", ".def", ".inc", ".c")


def facts_of(path: pathlib.Path) -> Facts | None:
    """The facts that are told of a file; None where this does not know."""
    top = path.relative_to(ROOT).parts[0]
    if top in ("src", "include") and path.suffix in CPP:
        return of_source(path)
    if path.parent == ROOT / "python" / "bindings" and path.suffix in CPP:
        return of_file_of_bindings(path)
    if path.is_relative_to(layers.PACKAGE) and path.suffix == ".py":
        return of_module(path)
    if path.suffix in CPP:
        return of_test_tool(path)
    return of_test(path) if top == "tests" and path.suffix == ".py" else None


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments else 2
    for argument in arguments:
        path = pathlib.Path(argument).resolve()
        if path.is_dir() and path.is_relative_to(layers.PACKAGE):
            path = path / "__init__.py"
        if not path.is_file():
            print(f"{argument}: no such file", file=sys.stderr)
            return 2
        facts = facts_of(path) if path.is_relative_to(ROOT) else None
        if facts is None:
            print(f"{argument}: this tells files of C++, the package and tests", file=sys.stderr)
            return 2
        print(f"{name_of(path)}: {opening(path)}")
        lint = dict.fromkeys(("try", "runs alone"), "; make lint")
        print("".join(f"  {word:<12} {fact}{lint.get(word, '')}\n" for word, fact in facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
