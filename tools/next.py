"""Writes what the builds of releases.def have that this tree does not know into doc/reference/releases.md:
ops without a row of ops.def; attributes, passes and compile options that neither a source names nor the
installed release has.

    python tools/next.py [NAME ...]     # fbtriton, next; default: all

An op is one that the build's own parser knows: each name in its libraries is parsed as an op without
operands, in a forked child, as some end it. The words for a row of DISTRIBUTION are printed too: the ops that
it adds and drops.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "doc" / "reference" / "releases.md"
HEADING = "## What no row knows"  # of tools/releases_page.py
DIALECTS = "tt|ttg|ttng|nvws|amdg|tlx"
NAME = re.compile(rf"(?:{DIALECTS})\.[a-z][a-z0-9_.-]*".encode())
CHUNK = 16  # bytes of a name that the compiler may have put into an instruction


def inside(folder: str, module: str, names: list[str]) -> dict:
    """Returns what the build in the folder registers, asked of its own bindings."""
    sys.path.insert(0, str(ROOT / "python" / "triton_runner" / "_base"))
    import renamed

    renamed.prefer(folder, module)
    from triton._C.libtriton import amd, ir, nvidia, passes
    from triton.backends import backends

    context = ir.context()
    for part in (ir, nvidia, amd):
        (part.load_dialects)(context)
    targets = {"nvidia": ("cuda", 90, 32), "amd": ("hip", "gfx950", 64)}
    from triton.backends.compiler import GPUTarget

    options = {
        name: list(type(backends[name].compiler(GPUTarget(*target)).parse_options({})).__dataclass_fields__)
        for name, target in targets.items()
    }
    found = [name for name in names if is_registered(name, ir, context)]
    added = sorted(path for part in (passes, nvidia, amd) for path in functions(part, part.__name__))
    return {"ops": found, "options": options, "passes": added}


def functions(module, path: str):
    """The names of all add_* functions below a module."""
    path = path.rpartition("libtriton.")[2]
    for name, value in vars(module).items():
        if isinstance(value, type(os)):
            yield from functions(value, f"{path}.{name}")
        elif name.startswith("add_"):
            yield f"{path}.{name}"


def is_registered(name: str, ir, context) -> bool:
    """Whether the parser knows an op: of others it says that it is unregistered."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(f'"{name}"() : () -> ()\n')
        file.flush()
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.dup2(write, 2)
            try:
                ir.parse_mlir_module(file.name, context)
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as said:
            text = said.read()
        os.waitpid(child, 0)
    return b"unregistered" not in text


def names_in(folder: Path) -> set[str]:
    """The names of the dialects in the libraries of a build."""
    found = set()
    for path in folder.rglob("*.so"):
        if "libtriton" in path.name:
            found |= {match.decode().rstrip(".") for match in NAME.findall(path.read_bytes())}
    return found


def asked(folder: str, module: str, names: set[str]) -> dict:
    """Returns inside() of a process of its own."""
    command = [sys.executable, __file__, "--inside", folder, module]
    done = subprocess.run(command, input=json.dumps(sorted(names)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def named_here() -> set[str]:
    """The names of the dialects in every source that may know an attribute."""
    folders = ("src", "include", "python/triton_runner")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [p.read_bytes() for p in files if p.suffix in (".cpp", ".h", ".def", ".py", ".inc")]
    return {name.decode() for text in texts for name in NAME.findall(text)}


def attributes(names: set[str], ops: list[str]) -> list[str]:
    """The names that are no op, without pieces of ops' names run into others."""
    return sorted(
        name
        for name in names
        if name not in ops
        and re.fullmatch(r"\w+\.[\w-]{4,}", name)
        and not any(op.startswith(name[:CHUNK]) or name.startswith(op) for op in ops)
    )


def unknown(name: str) -> dict[str, list[str]]:
    """Returns what this tree does not know of a distribution, by kind."""
    import triton_runner
    from triton_runner import _core
    from triton_runner._base.releases import DISTRIBUTIONS, place
    from triton_runner._kernel.compiling.passes_names import NAMES
    from triton_runner._pipeline import versions
    from triton_runner.verbs.ops import run as ops

    assert triton_runner
    row = DISTRIBUTIONS[name]
    folder, _ = versions.ensure(name)
    dialects = tuple(f"{dialect}." for dialect in DIALECTS.split("|"))
    rows = {one["name"] for one in _core.ir.op_table() if one["name"].startswith(dialects)}
    names = names_in(Path(folder) / row.module) | rows
    build = asked(folder, row.module, names)
    own = asked(str(place().parent), "triton", set())
    left = {one["name"] for one in ops.listing(None, ".".join(map(str, row.version)), False, ())}
    left = {op for op in left if op.startswith(dialects)}
    words = [op for op in build["ops"] if op not in left] + [
        f"-{op}" for op in sorted(left - {*build["ops"]})
    ]
    print(f"{name}: ops of its row: {' '.join(words)}")
    return {
        "ops": [op for op in build["ops"] if op not in rows],
        "attributes": attributes(names - names_in(place()) - named_here(), build["ops"]),
        "passes": [one for one in build["passes"] if one not in NAMES and one not in own["passes"]],
        "options": [
            f"{backend}.{option}"
            for backend, options in build["options"].items()
            for option in options
            if option not in own["options"][backend]
        ],
    }


def section(names: list[str]) -> str:
    from triton_runner._base.releases import installed_version

    lines = [
        HEADING, "",
        "Written by `tools/next.py` from the newest wheel of each build: ops without a row; attributes that",
        "no source here names, passes and compile options, each without those of the installed release "
        f"({installed_version()}).", "",
    ]  # fmt: skip
    for name in names:
        for kind, found in unknown(name).items():
            row = f"- {name}, {kind}: {', '.join(f'`{one}`' for one in found) or 'none'}"
            lines += textwrap.wrap(row, 158, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        print(json.dumps(inside(*sys.argv[2:4], json.load(sys.stdin))))
    else:
        from triton_runner._base.releases import DISTRIBUTIONS

        text = PAGE.read_text().partition(HEADING)[0].rstrip() + "\n\n"
        PAGE.write_text(text + section(sys.argv[1:] or [*DISTRIBUTIONS]))
