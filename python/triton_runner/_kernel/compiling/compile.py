"""Implements triton_runner.compile(): Triton's own stages from any level to any level, with any release."""

from __future__ import annotations

import importlib
import json
import os

from triton_runner._artifact import loading
from triton_runner._artifact.reading import compile_options, describe, is_text_itself, read_kernel
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import level_of_name, level_of_text, stage_of
from triton_runner._base.metadata import as_path_or_text
from triton_runner._base.paths import in_a_file, make_folder, write_file
from triton_runner._base.releases import unusable
from triton_runner._code import sources
from triton_runner._launch import gpu_driver
from triton_runner._pipeline import abilities, portable, translation, versions, workers
from triton_runner._settings import devices, messages
from triton_runner._worker import child, job
from triton_runner._worker.spelling import listed, option

_RUN_ORDER = {"cpu": ("ptx", "amdgcn", "ttgir", "ttir"), "gpu": ("cubin", "hsaco", "ptx", "amdgcn")}


class Compilation:
    """The result of a compilation by one release.

    - `asm`: the text or binary of each level, by level; for a kernel in Python the first is "source".
    - `metadata`: Triton's metadata, as a dict.
    - `name`, `target`, `release`: the kernel's name, "cuda:90", "3.4.0".
    - `output`: what the compiler printed in a worker process; `seconds`: how long the compilation took.
    - kernel[grid](*args): launches the kernel on the device that the current settings choose.
    """

    def __init__(self, answer: dict, target: str):
        self.asm: dict = answer["asm"]
        self.metadata: dict = job.jsonable(answer["metadata"])
        self.name: str = answer["name"]
        self.release: str = answer["release"]
        self.target = target
        self.output: str = answer.get("output", "")
        self.seconds: float | None = answer.get("seconds")

    @property
    def level(self) -> str:
        """The last level that was compiled."""
        return list(self.asm)[-1]

    def load(self, level: str = "", device: str = ""):
        """Returns the kernel at one level, as load() does: by default at the lowest level that the device can
        execute."""
        device = device or devices.resolved_device()
        order = _RUN_ORDER["cpu" if device == "cpu" else "gpu"]
        entry = level or next((name for name in order if name in self.asm), "")
        if entry not in self.asm:
            raise fail(
                f"kernel '{self.name}' has the levels {', '.join(self.asm)}: {device} executes none of them",
                f"compile it to one of {', '.join(order)}",
            )
        metadata = {**self.metadata, "name": self.name}
        if isinstance(self.asm[entry], str):
            return loading.load(self.asm[entry], metadata=metadata, device=device, target=self.target)
        with in_a_file(self.asm[entry], f"{self.name}.{entry}") as path:
            return loading.load(path, metadata=metadata, device=device)

    def __getitem__(self, grid):
        """kernel[grid](*args), on the device of the settings in force."""
        return self.load()[grid]

    def save(self, folder) -> list[str]:
        """Writes <name>.<level> for each level, and <name>.json, as Triton's cache does. Returns their
        paths."""
        make_folder(folder)
        written = []
        for level, content in [*self.asm.items(), ("json", json.dumps(self.metadata))]:
            path = os.path.join(folder, f"{self.name}.{level}")
            write_file(path, content)
            written.append(path)
        return written

    def __repr__(self):
        return f"<{self.name} for {self.target} by Triton {self.release}: {', '.join(self.asm)}>"


def compile(
    kernel,
    signature=None,
    constexprs: dict | None = None,
    *,
    target: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    options: dict | None = None,
    attrs: dict | None = None,
    triton: str | None = None,
    metadata=None,
    timeout: float | None = None,
    isolate: bool = False,
) -> Compilation:
    """Compiles with Triton's own stages, from any level to any lower one, with any release.

    - `kernel`: a JIT function, "kernel.py:name", an IR file (.ttir, .ttgir, .llir, .ptx, .amdgcn) or a text.
    - `signature`: for a kernel, its types by name {"x": "*fp32:16", "n": "i32"}, or in order, "*fp32:16, i32,
      128"; T:16 means divisible by 16, and T:1 means equal to 1.
    - `constexprs`: compile-time values by name; the others have their defaults.
    - `attrs`: more attributes by name, as in {"n": [["tt.divisibility", 8]]}.
    - `target`: "cuda:90", "hip:gfx942"; by default the target that the IR names, or that of the current
      settings.
    - `from_`: the level of a text, if it cannot be recognised.
    - `to`: the last level; by default the binary. "source" is TTIR as the front end generates it.
    - `options`: Triton's compile options (num_warps, ...).
    - `metadata`: for IR, as for `load()`.
    - `triton`: the release, "3.4.0". The installed release compiles in this process, any other in a worker
      process; it is downloaded if it is missing.
    - `isolate`: runs the installed release in a worker process too.
    - `timeout`: the most seconds that a worker may take (600).

    Raises DiagnosticError; if a worker failed, it has `stage`, `pass_name`, `output` and `reproducer`.
    """
    request = request_of(kernel, signature, constexprs, target, from_, to, options, attrs, metadata)
    return Compilation(run("job", request, triton, timeout, isolate), request["target"])


def request_of(kernel, signature, constexprs, target, from_, to, options, attrs, metadata=None) -> dict:
    """Returns what job.run() takes for the arguments of compile(). A JIT function stays one."""
    common = {"options": dict(options or {}), "to": to}
    if not isinstance(kernel, (str, os.PathLike)):
        return {
            **common, "kernel": kernel, "signature": signature, "constexprs": constexprs, "attrs": attrs,
            "target": target or default_target(), "label": f"kernel '{getattr(kernel, '__name__', kernel)}'",
        }  # fmt: skip
    text = os.fspath(kernel)
    path, colon, name = text.rpartition(":")
    if colon and path.endswith(".py"):
        return {
            **common, "kernel": {"file": os.path.abspath(path), "name": name}, "signature": signature,
            "constexprs": constexprs, "attrs": attrs, "target": target or default_target(), "label": text,
        }  # fmt: skip
    if text.endswith(".py"):
        raise which_kernel(text)
    if signature or constexprs or attrs:
        raise fail(
            "an IR has its signature in it", f"{listed('signature', 'constexprs')} are for kernels in Python"
        )
    return {**common, **_text_request(text, target, from_, metadata)}


def which_kernel(file: str) -> DiagnosticError:
    """The error for a file of Python where one of its kernels is needed."""
    own = sources.kernels(file) if sources.is_source(file) else None
    notes = ["no function of it is decorated by triton.jit: is it the right file?"] if own == {} else []
    return fail(f"{file}: which of its kernels?", *notes, *(f"name one: {file}:{n}" for n in own or ["name"]))


def _text_request(text: str, target, level, metadata) -> dict:
    filename = ""
    if not is_text_itself(text):
        filename = text
        text = read_kernel(filename, binary=False)
        level = level or level_of_name(filename)
    level = level or level_of_text(text)
    artifact = describe(level, text, filename, "", as_path_or_text(metadata, "metadata"))
    own_target = artifact.description.get("target") or None
    if target and own_target and target != own_target and level != "ttir":
        raise fail(
            f"{artifact.label} was compiled for {own_target}, and {option('target', target)} was asked for"
        )
    return {
        "text": text, "level": stage_of(level, text, filename),
        "filename": filename or artifact.label, "name": artifact.name,
        "metadata": {**compile_options(artifact), "name": artifact.name},
        "target": target or own_target or default_target(), "label": filename or f"the {level.upper()}",
    }  # fmt: skip


def default_target() -> str:
    return devices.cpu_target()[0] if devices.resolved_device() == "cpu" else gpu_driver.current_target()


def run(
    do: str, request: dict, release: str | None = None, timeout=None, isolate: bool = False, worker=None
) -> dict:
    """The answer of run(request, note) in file `do` of this folder: in this process with the installed
    release, in a worker (the one given, if one is) with another one."""
    own = versions.installed()
    if release is None and own is None:
        raise fail("Triton is not installed", f"name a release to fetch: {option('triton', '3.9.0')}")
    version = release or own
    if version == own and (reason := unusable()):
        raise fail(*reason)
    if request.get("checked", True) and (
        reason := abilities.gap(version, request["target"], request.get("to"))
    ):
        raise fail(*reason)
    what = f"{request['label']} for {request['target']}"
    if request.get("text") is not None:
        text, reason = translation.for_compiler(
            request["text"], request["level"], version, request["filename"]
        )
        calls = translation.has_calls_to_inline(text, request["level"], request["filename"])
        request = {**request, "text": text, "hint": reason, "inline": calls}
    if version != own or isolate or worker:
        answer = workers.ask(version, {**portable_request(request), "do": do}, timeout, what, worker)
    else:
        answer = _here(do, request, version, what)
    for line in answer.get("notes", ()):
        messages.note(line)
    return answer


def portable_request(request: dict) -> dict:
    """The request as JSON can carry it."""
    request = dict(request)
    kernel = request.get("kernel")
    if kernel is not None and not isinstance(kernel, dict):
        request["kernel"] = portable.kernel(innermost(kernel))
    if request.get("constexprs"):
        taken = request["constexprs"].items()
        request["constexprs"] = {n: portable.constant(v, f"constexpr {n!r}") for n, v in taken}
    return request


def innermost(kernel):
    while not isinstance(getattr(kernel, "fn", kernel), type(innermost)) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def _here(do: str, request: dict, version: str, what: str) -> dict:
    module = importlib.import_module(f"triton_runner._worker.{do}")
    stages: list = []

    def attempt(step) -> None:
        from triton_runner._pipeline.stages import try_text  # needs Triton, which workers do not

        try_text(step, request["text"], request["level"], request["filename"])

    try:
        return module.run({**request, "attempt": attempt}, lambda stage, add=None: stages.append(stage))
    except job.Refused as error:
        raise fail(error.message, *error.notes) from None
    except DiagnosticError:
        raise
    except Exception as error:
        at = f" in stage {stages[-1]}" if stages else ""
        message = f"Triton {version} failed on {what}{at}: {type(error).__name__}: {child.described(error)}"
        raise fail(message.strip()) from error
