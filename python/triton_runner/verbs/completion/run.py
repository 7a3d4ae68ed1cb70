"""Writes what a shell completes on the command line: a static file for each shell, made from the options of
the verbs, so that a Tab starts no Python.

    option("exec", "--check")  -> Offer("list", words=("oob", "nan", ...))  words with commas between them
    argument("run", "program") -> Offer("files", words=("py", "trcase"))    files by their endings, folders

An option that takes a value is a choice, a number, or has a row here: a test asks every verb.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path

import click

from triton_runner._base.levels import ENDINGS, LEVELS, MLIR, ON_CPU
from triton_runner._base.releases import RELEASES

_FOLDER = Path(__file__).parent / "shells"


@dataclasses.dataclass(frozen=True)
class Offer:
    """An offer is what stands at a place of the command line. kind: "words" (one of them), "list" (several,
    with commas between them), "files" (with these endings; all if there are none), "folder", "kernels" (those
    in the file that the line names, else in the Python files of the folder), "place" (kernel.py:NAME, or a
    file with these endings), or "text" (nothing)."""

    kind: str
    words: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Option:
    names: tuple[str, ...]
    help: str
    offer: Offer | None  # None: it takes no value
    many: bool


@dataclasses.dataclass(frozen=True)
class Verb:
    """name: "exec", or "cache explain" of a group. repeats: its argument may be given several times.
    takes_rest: what follows a program belongs to the program."""

    name: str
    help: str
    options: tuple[Option, ...]
    argument: Offer | None
    repeats: bool = False
    takes_rest: bool = False
    verbs: tuple[str, ...] = ()


_TEXT, _FOLDER_OFFER, _ANY_FILE, _KERNELS = Offer("text"), Offer("folder"), Offer("files"), Offer("kernels")
# Triton compiles for these, and people ask for them; a test asks the installed release.
TARGETS = ("cuda:75", "cuda:80", "cuda:86", "cuda:89", "cuda:90", "cuda:100", "cuda:120", "hip:gfx942")
_RELEASES = tuple(f"{major}.{minor}.0" for major, minor in sorted(RELEASES))
_MACHINE = ("cubin", "fatbin", "so")


def _files(*endings: str) -> Offer:
    return Offer("files", endings)


@functools.cache
def _options() -> dict[str, Offer]:
    """Returns what an option's value is, by "verb --option" where a verb differs, else by "--option"."""
    from triton_runner._kernel.cases.judge import CHECKS
    from triton_runner._kernel.cost.chips import CHIPS

    level, kept = Offer("words", (*ON_CPU,)), Offer("list", ("binary", "ptx", "ttir"))
    release, releases = Offer("words", _RELEASES), Offer("list", ("all", *_RELEASES))
    compiled_to = Offer("words", (*LEVELS,))
    rows = {
        "--check": Offer("list", (*CHECKS,)), "--chip": Offer("words", (*CHIPS,)), "--kernel": _KERNELS,
        "--level": level, "map --level": Offer("words", ("ttir", "ttgir", "llir", "ptx", "sass", "amdgcn")),
        "--levels": Offer("list", (*ON_CPU,)), "export --levels": kept,
        "bisect --levels": Offer("list", ("source", *ON_CPU)),
        "--target": Offer("words", TARGETS), "--targets": Offer("list", TARGETS),
        "compile --from": compiled_to, "translate --from": release, "--to": compiled_to,
        "compile --to": Offer("words", ("source", *LEVELS)), "translate --to": release,
        "--triton": release, "compile --triton": releases, "--versions": releases,
        "--release": Offer("words", tuple(f"{major}.{minor}" for major, minor in sorted(RELEASES))),
        "--dialect": Offer("words", ("tt", "arith", "math", "scf", "cf", "ttg", "ttng", "nvws", "amdg")),
        "--timing": Offer("words", ("eager", "late")), "--ptxas": Offer("words", ("all",)),
        "--vary": Offer("list", ("sizes", "layouts", "values", "dtypes", "huge")),
        "reduce --oracle": Offer("words", ("levels", "trap", "crash")),
        "bisect --oracle": Offer("words", ("wrong", "reads", "slower")),
        "--metadata": _files("json"), "--finding": _files("json"), "--base": _files("json"),
        "--json": _files("json"), "--junit": _files("xml"), "--sarif": _files("sarif", "json"),
        "--arg": _files("npy", "npz", "safetensors"), "exec --save": _TEXT,
        "dump --save": _files("npz", "safetensors"),
        "bench --save": _files("json"), "--save": _FOLDER_OFFER, "--store": _FOLDER_OFFER,
        "--checkout": _FOLDER_OFFER, "--out": _FOLDER_OFFER, "--png": _files("png", "svg", "pdf"),
        "--plot": _files("png", "svg", "pdf"), "--record": _files("svg"), "--command": _ANY_FILE,
        "--file": _files("ttgir"), "--calls": _files("py"), "--reference": Offer("place"),
        "--against": _files("trcase", *ENDINGS), "--output": _ANY_FILE, "--manifest": _ANY_FILE,
        "report --output": _files("html"), "bundle --output": _files("trcase"),
        "assemble --output": _files("cubin"), "--peer": release,
    }  # fmt: skip
    text = (
        "--ab --access --args --block --cluster --configs --constexpr --dap --dask --dims --dump --execute"
        " --executor --fail-if --given --grid --invariant --option --pass --print --program --programs"
        " --replace --shape --show --signature --size --source --start --torch-versions --type --until"
        " --value --variants"
        " --warp-specialize --without"
    )
    return rows | dict.fromkeys(text.split(), _TEXT)


_PROGRAM = _files("py", "trcase")
_IN_FILE = Offer("place", ("trcase", *ENDINGS))  # a program's kernel, or a file that holds one
_ARGUMENTS = {
    "run program": _PROGRAM, "verify program": _PROGRAM, "bundle program": _files("py"),
    "configs program": _files("py"), "experiments program": _files("py"), "bisect program": _IN_FILE,
    "bits program": _IN_FILE, "debug program": _IN_FILE, "profile program": _IN_FILE,
    "tune program": _IN_FILE,
    "report what": _files("py", "trcase", *ENDINGS), "exec file": _files(*ON_CPU, "glir", *_MACHINE),
    "dump file": _files("py", *ON_CPU), "lockstep file": _files("trcase"),
    "map artifact": _files(*ENDINGS, "trcase"),
    "opt file": _files(*MLIR, "glir"), "translate file": _files(*MLIR), "reduce file": _IN_FILE,
    "resources files": _files(*ENDINGS), "compile kernel": _IN_FILE, "passes kernel": _IN_FILE,
    "ledger kernel": _IN_FILE, "compare kernel": _IN_FILE, "export kernel": Offer("place"),
    "assemble place": _files("ptx", "cubin", "trcase"), "ops names": _files("ttir", "ttgir", "ptx", "trcase"),
    "versions add releases": Offer("words", _RELEASES), "versions remove releases": Offer("words", _RELEASES),
    "versions run release": Offer("words", _RELEASES),
    "judge task": _files("py", "txt"), "prove program": _IN_FILE, "cuda program": _ANY_FILE,
    "cache explain hash_": _TEXT, "layout encoding": _TEXT, "dev recipe": _TEXT,
}  # fmt: skip


def option(verb: str, param: click.Option) -> Offer | None:
    """Returns what an option of a verb offers for its value; None if it takes none. Raises KeyError without a
    row."""
    if param.is_flag or param.count:
        return None
    if isinstance(param.type, click.Choice):
        return Offer("words", tuple(map(str, param.type.choices)))
    rows, names = _options(), [name for name in param.opts if name.startswith("--")]
    for name in (*(f"{verb} {name}" for name in names), *names):
        if name in rows:
            return rows[name]
    if not isinstance(param.type, click.types.StringParamType | click.Path | click.File):
        return _TEXT  # a number, or a type of ours that converts a text
    raise KeyError(f"{verb} {names[0]}")


def argument(verb: str, param: click.Argument) -> Offer:
    """Returns what an argument of a verb offers. Raises KeyError for one without a row."""
    if isinstance(param.type, click.Choice):
        return Offer("words", tuple(map(str, param.type.choices)))
    return _ARGUMENTS[f"{verb} {param.name}"]


def verbs(group: click.Group, prefix: str = "") -> list[Verb]:
    """The verbs of a group and of the groups in it, from their options."""
    out = []
    for name, command in sorted(group.commands.items()):
        whole = f"{prefix}{name}"
        inner = verbs(command, f"{whole} ") if isinstance(command, click.Group) else []
        given = [param for param in command.params if isinstance(param, click.Argument)]
        rest = [param for param in given if isinstance(param.type, click.types.UnprocessedParamType)]
        own = [param for param in given if param not in rest]
        options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
        out.append(
            Verb(
                name=whole,
                help=command.get_short_help_str(90),
                options=(*(_option(whole, one) for one in options), _HELP),
                argument=argument(whole, own[0]) if own else None,
                repeats=any(param.nargs < 0 for param in own),
                takes_rest=bool(rest),
                verbs=tuple(sorted(command.commands)) if isinstance(command, click.Group) else (),
            )
        )
        out += inner
    return out


_HELP = Option(("--help", "-h"), "Show what it does", None, False)


def _option(verb: str, param: click.Option) -> Option:
    names = (*param.opts, *param.secondary_opts)
    return Option(names, _summary(param.help), option(verb, param), param.multiple)


def _summary(help_: str | None) -> str:
    """The first sentence of a help, without its full stop, in one line."""
    line = " ".join((help_ or "").split())
    return line.partition(". ")[0].removesuffix(".")[:90]


def script(shell: str, group: click.Group) -> str:
    """The file of a shell: functions of the shell (shells/), and what the verbs offer."""
    # jinja2 takes longer to load than the other verbs have to wait for.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER), trim_blocks=True, lstrip_blocks=True,
        comment_start_string="{##", comment_end_string="##}",  # "{#" is a word of bash
    )  # fmt: skip
    environment.filters |= {
        "quoted": quoted,
        "spec": lambda text: re.sub(r"([\\[\]:])", r"\\\1", quoted(text)[1:-1]),
    }
    return environment.get_template(f"{shell}.jinja").render(verbs=verbs(group), top=_top(group)) + "\n"


def _top(group: click.Group) -> list[tuple[str, str]]:
    return [(name, command.get_short_help_str(90)) for name, command in sorted(group.commands.items())]


def quoted(text: str) -> str:
    """A text as one word of bash, zsh and fish."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"
