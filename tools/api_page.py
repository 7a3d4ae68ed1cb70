"""Writes doc/reference/api.md and looking.md, the public names of the package, modules.md, its modules, and
objects.md, what the names return, from their docstrings.

python tools/api_page.py
"""

import importlib
import inspect
import pathlib
import re
import textwrap
import types

WIDTH = 160  # of the pages' lines
FOLDER = pathlib.Path(__file__).resolve().parents[1] / "doc" / "reference"
NAMES = """# Python API

Every public name, from its docstring; written by `tools/api_page.py`. [Objects](objects.md) describes the
objects that they return, [looking inside](looking.md) has the functions that inspect and judge kernels, and
[modules](modules.md) lists the public modules. See also [Launches](launches.md), [Keywords and
variables](settings.md), [Dumps](dumps.md), [Checks](checks.md) and [Errors](errors.md).
"""
PACKAGES = """# Modules

The package's public modules, from their docstrings; written by `tools/api_page.py`. `triton_runner.ir` and
`triton_runner.ptx` have a page of their own, [IR and PTX in Python](ir.md).
"""
LOOKING = """# Python API: looking inside

The functions that inspect and judge kernels, from their docstrings; written by `tools/api_page.py`. The
other public names are in the [Python API](api.md).
"""
OBJECTS = """# Objects

The objects that the functions of the [Python API](api.md) return, from their docstrings; written by
`tools/api_page.py`.
"""
# Title: public names. A name that none has is an error, so that the page stays whole.
SECTIONS = {
    "Kernels": ("jit", "load", "autotune", "using"),
    "Compiling": ("compile", "export", "passes", "bisect", "resources", "ledger"),
    "Looking inside": (
        "dumping", "dumps", "debug", "lockstep", "compare", "profile", "source_map", "report", "layout",
        "faults", "Substitution", "track_empty",
    ),
    "Verdicts and cases": ("verify", "capture", "open_case", "reduce"),
    "Memory": ("ghost", "register_memory"),
    "Errors": ("DiagnosticError", "KernelTrap"),
    "Files": ("get_file_dir",),
    "Programs that cannot be edited": (
        "configure_jit_backend", "restore_jit_backend", "configure_autotune_backend",
        "restore_autotune_backend",
    ),
}  # fmt: skip
APART = ("Looking inside", "Verdicts and cases")  # on a page of their own
MODULES = ("language", "gluon", "tlx", "testing", "torch_utils", "color_print")
# Class: the module that has it.
RESULTS = {
    "Compilation": "_kernel.compiling.compile",
    "Comparison": "verbs.compare.run",
    "Measured": "verbs.compare.run",
    "Trace": "_kernel.compiling.passes",
    "Pass": "_kernel.compiling.passes",
    "Bisection": "verbs.bisect.run",
    "Resources": "_kernel.compiling.resources",
    "Ledger": "_kernel.compiling.ledger",
    "Allocation": "_kernel.compiling.ledger",
    "Pins": "_kernel.compiling.ledger",
    "Dump": "_kernel.dumps.records",
    "Values": "_kernel.dumps.records",
    "Place": "_kernel.dumps.records",
    "Lockstep": "_kernel.lockstep.lockstep",
    "SourceMap": "_kernel.source_map",
    "Divergence": "_kernel.lockstep.lockstep",
    "Verdict": "verbs.verify.run",
    "Case": "_kernel.cases.case",
    "Layout": "_kernel.layout",
    "Banks": "_kernel.layout",
    "Reduction": "verbs.reduce.run",
    "Fault": "_memory.fault_log",
}
ELSEWHERE = ("ir", "ptx")  # modules of the C++ core: reference/ir.md


def signature(name: str, value) -> str:
    """A call of it, without types."""
    if isinstance(value, property):
        return name
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(value).parameters.values()
        if parameter.name not in ("self", "_builder", "_semantic")
    ]
    return f"{name}{inspect.Signature(parameters)}"


# Text that is set off already stays. Code: calls of kernels, keywords with what they are set to, names in <>,
# and names and strings with characters that Markdown would take for its own.
CODE = re.compile(
    r"(`[^`]*`)|(\w+\[\w+\]\([^)]*\)|\b\w+=(?:\"[^\"]*\"|[^\s,;.:)]*)|\"[^\"\s]*[%*<][^\"\s]*\""
    r"|<\w+>[\w.<>]*|\*[.\w]+|__\w+__)"
)


def wrapped(words: str) -> str:
    """A paragraph or an item of a list in lines of a page. No line begins with a sign that begins a list."""
    words = re.sub(r" (?=[-+*#>] )", "\0", words)
    lines = textwrap.wrap(
        words, WIDTH, subsequent_indent="  " if words.startswith("- ") else "", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(lines).replace("\0", " ")


def call(name: str, value) -> str:
    """The signature as lines of a page."""
    lines = textwrap.wrap(signature(name, value), WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def prose(text: str) -> str:
    """A docstring as Markdown: indented lines are code, lines with a dash a list."""
    paragraphs = []
    for block in re.split(r"\n\s*\n|\n(?=- )", inspect.cleandoc(text)):
        if all(line.startswith("    ") for line in block.splitlines()):
            paragraphs.append(f"```python\n{inspect.cleandoc(block)}\n```")
        else:
            words = " ".join(block.split())
            paragraphs.append(wrapped(CODE.sub(lambda m: m[1] or f"`{m[2]}`", words)))
    return re.sub(r"\n\n(?=- )", "\n", "\n\n".join(paragraphs)).replace("\n- ", "\n\n- ", 1)


def line(value) -> str:
    """A docstring as one line."""
    return " ".join(prose(value.__doc__).split())


def entry(name: str, value) -> list[str]:
    """The heading, the call and the docstring of a name."""
    assert value.__doc__, f"{name} has no docstring"
    raised = inspect.isclass(value) and issubclass(value, Exception)
    shown = [] if raised else [f"```python\n{call(name, value)}\n```"]
    return [f"### {name}", *shown, prose(value.__doc__)]


def members(of: type | types.ModuleType) -> str:
    """A line for each public function, method or property that has a docstring."""
    names = getattr(of, "__all__", None) or [name for name in vars(of) if not name.startswith("_")]
    found = {name: vars(of)[name] for name in names}
    kept = {
        name: value
        for name, value in found.items()
        if (inspect.isfunction(value) or isinstance(value, property))
        and value.__doc__
        and not getattr(value, "__module__", "").startswith("triton_runner._base")  # what a module imports
    }
    items = [f"- `{signature(name, value)}`: {line(value)}" for name, value in kept.items()]
    return "\n".join(wrapped(item) for item in items)


def result(name: str) -> type:
    """The class of that name."""
    return getattr(importlib.import_module(f"triton_runner.{RESULTS[name]}"), name)


def joined(parts: list[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def pages() -> dict[pathlib.Path, str]:
    """The text of each page."""
    import triton_runner

    listed = {*MODULES, *ELSEWHERE, *(name for names in SECTIONS.values() for name in names)}
    assert listed == set(triton_runner.__all__), listed ^ set(triton_runner.__all__)
    names, looking = [NAMES], [LOOKING]
    for title, of_section in SECTIONS.items():
        page = looking if title in APART else names
        page.append(f"## {title}")
        for name in of_section:
            page += entry(name, getattr(triton_runner, name))
    packages = [PACKAGES]
    for name in MODULES:
        module = importlib.import_module(f"triton_runner.{name}")
        packages += [f"## triton_runner.{name}", prose(module.__doc__), members(module)]
    objects = [OBJECTS]
    for name in RESULTS:
        objects += [f"## {name}", prose(result(name).__doc__), members(result(name))]
    written = {"api.md": names, "looking.md": looking, "modules.md": packages, "objects.md": objects}
    return {FOLDER / name: joined(parts) for name, parts in written.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
