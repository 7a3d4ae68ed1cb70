"""Implements triton_runner.passes(): the passes that a compilation really runs, with the IR between them, and
compilations that start, stop, leave out or replace at a pass."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

from triton_runner import _core
from triton_runner._artifact import loading
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import GLIR, MLIR
from triton_runner._base.paths import make_folder, write_file
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._kernel.compiling import passes_select
from triton_runner._kernel.compiling.passes_launch import content, plan_of, unmet
from triton_runner._worker import llvm_passes
from triton_runner._worker.recorder import Selector

# A Pass has these fields as the recorder gives them.
_FIELDS = (
    "number", "stage", "level", "add", "arguments", "pipeline", "ran", "seconds", "changed", "bytes",
)  # fmt: skip
# A saved trace lists these of it.
_LISTED = ("number", "name", "stage", "ran", "changed", "seconds")


class Pass:
    """One pass of a compilation.

    - `number`: counts from 1 over all stages; `stage`: "make_ttgir"; `level`: the level that the stage
      produces.
    - `name`, `argument`: MLIR's names, "TritonGPUCoalesce" and "tritongpu-coalesce"; `add`: Triton's name,
      "passes.ttgpuir.add_coalesce".
    - `arguments`: the arguments that Triton passes to it; `pipeline`: the same in the syntax of mlir-opt,
      where the release prints it.
    - `ran`: False where a plan skipped the pass; `seconds`: how long it took; `changed`: whether it changed
      the IR, None if that is not known.
    - `before`, `after`: the IR as text, or its hash under keep="hash"; None where it was not kept.
    - `ops`, `bytes`: the size of `after`.
    """

    def __init__(self, fields: dict, trace: Trace):
        self._trace = trace
        for name in _FIELDS:
            setattr(self, name, fields[name])
        self.name, self.argument = passes_select.name_of(self.add)
        if self.pipeline:  # "any(tritongpu-coalesce)": the manager's anchor around it
            self.pipeline = self.pipeline.partition("(")[2].removesuffix(")")
        self._before, self._after = fields["before"], fields["after"]

    @property
    def before(self) -> str | None:
        return None if self._before is None else self._trace.texts[self._before]

    @property
    def after(self) -> str | None:
        return None if self._after is None else self._trace.texts[self._after]

    @property
    def ops(self) -> int | None:
        """The number of ops in the IR after the pass; None where the text was not kept."""
        if self.after is None or self._trace.keep != "text":
            return None
        return self._trace._count_ops(self._after)

    def load(self, which: str = "after", device: str = "cpu", **options):
        """Returns the IR before or after the pass as a kernel, kernel[grid](*args).

        It runs on the CPU as long as the IR has not been converted to LLVM's dialect. The options are those
        of load().
        """
        text = getattr(self, which)
        if text is None or self._trace.keep != "text":
            raise fail(
                f"the IR {which} pass {self.number} ({self.name}) was not kept", 'trace with keep="text"'
            )
        if dialect_of(text) == "llvm":
            raise fail(
                f"the IR {which} pass {self.number} ({self.name}) is of LLVM's dialect, which no engine runs",
                "the passes up to the conversion to LLVM can be run; after it, run LLIR or PTX",
            )
        metadata = {**self._trace.metadata, "name": self._trace.name}
        return loading.load(text, metadata=metadata, device=device, **options)

    def __repr__(self):
        return f"<pass {self.number} {self.name} in {self.stage}{', changed' if self.changed else ''}>"


class LlvmPass:
    """A pass inside LLVM: number ("L1", "L2", ...), stage ("make_llir" optimises, "make_ptx" generates code),
    name and argument as LLVM has them; after: the whole module after it, None of a pass on machine
    instructions; changed: whether it differs from the one before, None where there is none; bytes."""

    def __init__(self, number: int, stage: str, step: dict, before: str | None):
        self.number, self.stage = f"L{number}", stage
        self.name, self.argument, self.after = step["name"], step["argument"], step["text"]
        is_known = before is not None and self.after is not None
        self.changed = self.after != before if is_known else None
        self.bytes = None if self.after is None else len(self.after)

    @property
    def file(self) -> str:
        """The name of its file in what save() writes."""
        words = re.sub(r"\W+", "-", self.name).strip("-")
        return f"{self.number}{'-changed' if self.changed else ''}-{words}.ll"

    def __repr__(self):
        return f"<pass {self.number} {self.name} in {self.stage}{', changed' if self.changed else ''}>"


def _inside_llvm(recorded: dict) -> list[LlvmPass]:
    found: list[LlvmPass] = []
    for level, steps in recorded.items():
        before = None
        for step in steps:
            found.append(LlvmPass(len(found) + 1, llvm_passes.STAGES[level], step, before))
            before = step["text"] if step["text"] is not None else before
    return found


def dialect_of(text: str) -> str:
    """ "ttir", "ttgir" or "llvm": how far down the text of a module is."""
    if "llvm.func" in text:
        return "llvm"
    return "ttgir" if re.search(r'"(?:ttg|triton_gpu)\.', text) else "ttir"


class Trace:
    """A compilation as a sequence of passes: trace[0], len(trace), for pass_ in trace.

    - `asm`, `metadata`, `name`, `target`, `release`, `output`: as in the result of `compile()`.
    - `identical`: whether every level has the text that a plain compilation gives; None where a plan changed
      the compilation, and under check=False. `differences`: the levels that differ.
    - `seconds`, `plain_seconds`: how long the traced and the plain compilation took.
    - `llvm`: the passes inside LLVM as a list of LlvmPass, under llvm=True.
    - `stopped`: the IR at the point where a plan stopped the compilation. `notes`: remarks for the reader.
    """

    def __init__(self, request: dict, answer: dict, keep: str, ask):
        self._request, self._ask = request, ask
        self.keep = keep
        self.asm, self.texts = answer["asm"], answer["texts"]
        self.metadata = compiler.job.jsonable(answer["metadata"])
        self.name, self.release, self.target = answer["name"], answer["release"], request["target"]
        self.output = answer.get("output", "")
        self.seconds = answer["seconds"]
        self.stopped, self.notes = answer["stopped"], answer.get("notes", [])
        self.plain_seconds: float | None = None
        self.identical: bool | None = None
        self.differences: list[str] = []
        self._ops: dict[int, int | None] = {}
        self._passes = [Pass(fields, self) for fields in answer["passes"]]
        self.llvm = _inside_llvm(answer.get("llvm", {}))

    def __len__(self):
        return len(self._passes)

    def __iter__(self):
        return iter(self._passes)

    def __getitem__(self, index):
        return self._passes[index]

    def find(self, pass_) -> Pass:
        """Returns the pass with a name or number (passes_select reads it); the first one if there are
        several."""
        return self.find_all(pass_)[0]

    def find_all(self, pass_) -> list[Pass]:
        """Returns all passes with a name."""
        selected, seen, matches = Selector(passes_select.selector(pass_)), [], []
        for step in self._passes:
            seen.append((step.stage, step.add))
            if selected.matches(seen):
                matches.append(step)
        if not matches:
            names = dict.fromkeys(one.argument for one in self._passes)
            raise fail(f"pass {pass_} did not run for kernel '{self.name}'", f"these did: {', '.join(names)}")
        return matches

    def until(self, pass_) -> Trace:
        """Compiles again and stops after a pass; the IR at that point is .stopped."""
        return self.planned(stop=pass_)

    def without(self, *passes) -> Trace:
        """Compiles again and skips the given passes."""
        return self.planned(skip=passes)

    def replaced(self, texts: dict) -> Trace:
        """Compiles again and replaces the output of passes by other IR (a text or a file): {pass: IR}."""
        return self.planned(replace=texts)

    def started(self, pass_, text) -> Trace:
        """Compiles again, starting at a pass with an IR (a text or a file) as its input."""
        return self.planned(start=pass_, text=text)

    def planned(self, **plan) -> Trace:
        """Compiles the same kernel again under a plan: start= (with text=), stop=, skip=, replace=."""
        return _traced(self._request, plan, self.keep, self._ask)

    def _compare(self, plain: dict) -> None:
        """Notes which levels are what the plain compilation gave."""
        self.plain_seconds = plain["seconds"]
        self.differences = [level for level, text in plain["asm"].items() if self.asm.get(level) != text]
        # ptxas does not always make the same binary of one PTX: that difference is not the passes'.
        self.identical = all(isinstance(plain["asm"][level], bytes) for level in self.differences)

    def _count_ops(self, index: int) -> int | None:
        """The ops of one of the texts; None where it cannot be read."""
        if index not in self._ops:
            try:
                self._ops[index] = len(_core.ir.parse(self.texts[index]).walk())
            except DiagnosticError:
                self._ops[index] = None
        return self._ops[index]

    def save(self, folder, all_passes: bool = True) -> list[str]:
        """Writes the IR after each pass as NN[-changed]-Pass.mlir, the input of the first pass as
        00-source.mlir, the levels, the metadata, a list of the passes that ran as passes.json, and the passes
        inside LLVM as LNN[-changed]-Pass.ll. Returns the paths.

        all_passes=False writes only the passes that changed the IR.
        """
        if self.keep != "text":
            raise fail("only fingerprints were kept", 'trace with keep="text"')
        folder = Path(folder)
        make_folder(folder)
        written = {}
        if self._passes and self._passes[0].before is not None:
            written["00-source.mlir"] = self._passes[0].before
        for one in self._passes:
            if one.after is not None and (all_passes or one.changed):
                changed = "-changed" if one.changed else ""
                written[f"{one.number:02}{changed}-{one.name}.mlir"] = one.after
        inside = (one for one in self.llvm if one.after is not None and (all_passes or one.changed))
        written |= {one.file: one.after for one in inside}
        written |= {f"{self.name}.{level}": text for level, text in self.asm.items()}
        written[f"{self.name}.json"] = json.dumps(self.metadata)
        ran = [{name: getattr(one, name) for name in _LISTED} for one in self._passes]
        about = {"kernel": self.name, "target": self.target, "release": self.release, "passes": ran}
        written["passes.json"] = json.dumps(about, indent=1)
        for name, text in written.items():
            write_file(folder / name, text)
        return [str(folder / name) for name in written]

    def __repr__(self):
        changed = sum(bool(one.changed) for one in self._passes)
        same = {True: ", identical to the plain compilation", False: ", NOT what the plain compilation gives"}
        return (
            f"<{self.name} for {self.target} by Triton {self.release}: {len(self)} passes, {changed} of them "
            f"changed something{same.get(self.identical, '')}>"
        )


def passes(
    kernel,
    signature=None,
    constexprs: dict | None = None,
    *,
    target: str | None = None,
    options: dict | None = None,
    attrs: dict | None = None,
    triton: str | None = None,
    metadata=None,
    timeout: float | None = None,
    to: str | None = None,
    keep: str = "text",
    check: bool = True,
    llvm: bool = False,
    start=None,
    text=None,
    stop=None,
    skip=(),
    replace: dict | None = None,
) -> Trace:
    """Runs Triton's passes for a kernel and records the IR between them.

    The result is a Trace, a sequence of Pass. A pass is named by its number in it, by "add_coalesce",
    "tritongpu-coalesce" or "TritonGPUCoalesce"; "canonicalizer#2" is the second pass with that name.

    - `kernel` to `attrs`, `triton`, `metadata`, `timeout`, `to`: as for `compile()`.
    - `keep`: "text" keeps the IR before and after each pass, "hash" only its hash, "none" nothing.
    - `check`: compiles without recording too, and compares every level.
    - `llvm`: keeps the passes inside LLVM too, in `.llvm`, with the module that LLVM prints after each of
      them.
    - `start`: the pass at which to start; `text` is its input, unless the kernel itself is IR.
    - `stop`: the last pass; `skip`: passes to leave out; `replace`: {pass: IR}, replaces the output of passes
      by a text or a file.

    Raises DiagnosticError.
    """
    if keep not in ("text", "hash", "none"):
        raise fail(f"keep={keep!r}", 'it is "text", "hash" or "none"')
    request = compiler.request_of(kernel, signature, constexprs, target, None, to, options, attrs, metadata)
    if start is not None and request.get("level") not in (None, *MLIR, GLIR):
        raise fail(
            f"{request['label']} is {request['level'].upper()}, and passes run on TTIR and TTGIR",
            "give a file of one of these, what `passes --save` wrote, or kernel.py:name",
        )
    request |= {"llvm": True} if llvm else {}
    ask = functools.partial(_ask, release=triton, timeout=timeout)
    plan = {"start": start, "text": text, "stop": stop, "skip": skip, "replace": replace}
    plain = ask("job", request) if check and not any(plan.values()) else None
    trace = _traced(request, plan, keep, ask)
    if plain is not None:
        trace._compare(plain)
    return trace


def _traced(request: dict, plan: dict, keep: str, ask) -> Trace:
    request = dict(request)
    chosen = plan_of(plan.get("start"), plan.get("skip"), plan.get("replace"))
    if plan.get("stop") is not None:
        chosen["stop"] = passes_select.first(plan["stop"])
    if "start" in chosen:
        if plan.get("text") is not None:
            request = _as_text(request, content(plan["text"]))
        elif "text" not in request:
            raise fail(
                f"starting at pass {plan['start']} needs the IR that it starts with",
                "give it in text=, or an IR file as the kernel",
            )
        request["walk"] = True
    answer = ask("recorder_job", {**request, "plan": chosen, "keep": keep})
    unmet(answer, request["label"], request["target"])
    return Trace(request, answer, keep, ask)


def _as_text(request: dict, text: str) -> dict:
    """The request for an IR in place of the kernel's source, with the same options."""
    kept = {name: request[name] for name in ("options", "to", "target", "label", "llvm") if name in request}
    level = "ttir" if dialect_of(text) == "ttir" else "ttgir"
    metadata = request.get("metadata") or {}
    return {**kept, "kernel": None, "text": text, "level": level, "filename": "", "metadata": metadata}


def _ask(do: str, request: dict, release, timeout) -> dict:
    """An answer from a process of its own: a pass that crashes is a message, and the plain and the traced
    compilation start from the same state (in 3.2 and 3.3 the first of a process differs from later ones)."""
    return compiler.run(do, request, release, timeout, isolate=True)
