"""No function has more than 100 lines, but those that are lists of something. tests/lint.py calls check().

In C++ a function is found by clang-format's layout: it begins on a line that ends with a brace and ends with
the next closing brace of the same indentation.
"""

import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 100

# Files whose functions may be longer.
LISTS = {
    "tests/golden/": "a family of golden cases, one call a case",
    "tests/libraries/": "the operators of a library, one row each",
    "tests/gpu/contract_kernels.py": "the launches of its kernels, one row each",
}
_OTHERS = "namespace|struct|class|enum|union|extern|if|for|while|switch|else|do"
_CPP = re.compile(rf"^( {{0,4}})(?!(?:{_OTHERS})\b)[\w~:].*\{{$")


def cpp_functions(lines: list[str]):
    """(first line, lines) of each function, in files that clang-format has laid out."""
    for number, line in enumerate(lines):
        found = _CPP.match(line)
        if not found or "(" not in line + lines[number - 1]:
            continue
        # A constructor's list of members stands four columns in.
        indent = found[1][4:] if line[len(found[1])] == ":" else found[1]
        end = next((n for n in range(number + 1, len(lines)) if lines[n].startswith(indent + "}")), None)
        if end is not None:
            yield number + 1, end - number + 1


def python_functions(text: str):
    """The same of Python."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def check() -> list[str]:
    """Returns what is wrong, a line each."""
    listed = ["git", "ls-files", "--", "*.cpp", "*.h", "*.py"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    wrong = []
    for name in names:
        if not (ROOT / name).is_file() or name.startswith(tuple(LISTS)):
            continue
        text = (ROOT / name).read_text()
        functions = python_functions(text) if name.endswith(".py") else cpp_functions(text.splitlines())
        for line, count in functions:
            if count > LIMIT:
                wrong.append(
                    f"{name}:{line}: a function of {count} lines, over {LIMIT}: make functions of its steps"
                )
    return wrong


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "every function is short enough")
    sys.exit(bool(found))
