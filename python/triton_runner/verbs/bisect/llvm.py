"""Finds the faulty pass inside LLVM: among those that optimise the LLVM IR (make_llir), or those that
generate code (make_ptx, make_amdgcn).

The module that LLVM prints after a pass replaces the kernel's LLVM IR, and code is generated from it. For
optimising passes, the release itself or a right release generates the code. A release whose code generation
is at fault would make wrong code of any IR, so a right release continues from the printed IR in that case.
Passes that can be switched off are left out as well."""

from __future__ import annotations

from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.compiling.crashes import NamedPass
from triton_runner._pipeline import translation
from triton_runner.verbs.bisect.splice import Splice, first_wrong
from triton_runner.verbs.bisect.trial import LlvmPass

# The options of DISABLE_LLVM_OPT that switch passes of code generation off.
_SWITCHES = {
    "loop-reduce": "disable-lsr", "codegenprepare": "disable-cgp", "consthoist": "disable-constant-hoisting",
    "separate-const-offset-from-gep": "disable-separate-const-offset-from-gep",
    "load-store-vectorizer": "disable-nvptx-load-store-vectorizer",
    "partially-inline-libcalls": "disable-partial-libcall-inlining",
    "expand-reductions": "disable-expand-reductions", "nvptx-ir-peephole": "disable-nvptx-ir-peephole",
    "early-tailduplication": "disable-early-taildup", "dead-mi-elimination": "disable-machine-dce",
    "early-machinelicm": "disable-machine-licm", "machine-cse": "disable-machine-cse",
    "machine-sink": "disable-machine-sink", "peephole-opt": "disable-peephole",
    "stack-slot-coloring": "disable-ssc", "branch-folder": "disable-branch-fold",
    "block-placement": "disable-block-placement",
}  # fmt: skip
_OFF = "DISABLE_LLVM_OPT"


def _switches(arguments: list[str]) -> str:
    return ",".join(_SWITCHES[argument] for argument in arguments)


class InsideLlvm:
    """The passes of LLVM in the wrong release of a search."""

    def __init__(self, search):
        self.search, self.release = search, search.release
        self._code = search.program.code
        self._kernels = search.at(self._code, {"llvm": True}, keep="text").kernels
        names = [kernel.name for kernel in self._kernels]
        self._nth = [names[:i].count(name) for i, name in enumerate(names)]

    def optimisation(self) -> None:
        """Finds the pass of make_llir, if the fault needs LLVM's optimisation."""
        kernel = self._optimised_wrongly()
        if kernel is None:
            return
        steps = self._kernels[kernel].llvm.get("llir", [])
        wrong, right = first_wrong(len(steps), lambda i: self._own(kernel, steps, i))
        if wrong is None:
            self.search.note("LLVM's passes, executed one by one, show no fault")
            return
        self._take("llir", steps, wrong, right)
        self.search.means.add("execution")
        if (splice := self._splice()) is not None:
            before = self._theirs(splice, kernel, steps, wrong - 1) if wrong else "right"
            if (before, self._theirs(splice, kernel, steps, wrong)) == ("right", "wrong"):
                self.search.means.add("splice")
                self.search.spliced_with = splice.right.version

    def generation(self) -> None:
        """Finds the pass of code generation, if a right release is right with this release's LLVM IR."""
        splice = self._splice()
        kernel = self._generated_wrongly(splice)
        steps = self._kernels[kernel].llvm.get(self._code, [])
        written = [step for step in steps if step.text is not None]
        wrong, right = first_wrong(len(written), lambda i: self._theirs(splice, kernel, written, i))
        if wrong is not None:
            self._take(self._code, written, wrong, right)
            self.left_out([written[wrong].argument])
            return
        if not self.left_out():
            self.search.note(
                "the IR is right after every pass of code generation that works on it: instruction "
                "selection, or a later pass that cannot be switched off"
            )

    def left_out(self, arguments: list[str] | None = None) -> bool:
        """Returns whether the program is right without some pass of code generation that can be switched off.
        That pass is then the result, or confirms it."""
        helping = [a for a in _SWITCHES if arguments is None or a in arguments]
        if not helping or self._without(helping) != "right":
            return False
        while len(helping) > 1:
            halves = helping[: len(helping) // 2], helping[len(helping) // 2 :]
            half = next((half for half in halves if self._without(half) == "right"), None)
            if half is None:
                break
            helping = half
        self.search.note(f"right with {_OFF}={_switches(helping)}")
        self.search.means.add("leave-out")
        named = self.search.pass_
        if len(helping) > 1:
            self.search.note("the passes that these switch off take part together")
            self.search.take(self._code, None, f"make_{self._code}")
        elif not named or named.argument != helping[0]:
            self._take(self._code, self._everywhere(helping[0]), 0, -1)
        return True

    # --- one run each -----------------------------------------------------------------------------------

    def _without(self, arguments: list[str]) -> str:
        trial = self.search.at(self._code, variables={_OFF: _switches(arguments)})
        self.search.say(f"with {_OFF}={_switches(arguments)}: {trial.verdict}")
        return trial.verdict

    def _own(self, kernel: int, steps: list, i: int) -> str:
        """The verdict on the IR after an optimising pass, with the release's own code generation."""
        return self._instead(kernel, self._text(kernel, steps, i), f"after {steps[i].name}")

    def _instead(self, kernel: int, text: str, what: str) -> str:
        key = [self._kernels[kernel].name, self._nth[kernel]]
        trial = self.search.at(self._code, of_kernels=[[*key, {"instead": {"llir": text}}]])
        self.search.say(f"{what}: {trial.verdict}")
        return trial.verdict

    def _theirs(self, splice: Splice, kernel: int, steps: list, i: int) -> str:
        """The verdict on the IR after a pass, with the code generation of a right release."""
        try:
            text, _ = translation.translate_llir(self._text(kernel, steps, i), splice.right.version)
        except DiagnosticError:
            return "unknown"
        return splice.llir({kernel: text}, f"after {steps[i].name}").verdict

    def _text(self, kernel: int, steps: list, i: int) -> str:
        return self._kernels[kernel].llvm_texts[steps[i].text]

    # --- of several kernels, the one --------------------------------------------------------------------

    def _optimised_wrongly(self) -> int | None:
        """The first kernel without whose optimisation the program is right."""
        if len(self._kernels) == 1:
            return 0
        plain = self.search.at(self._code, variables={_OFF: "1"}, keep="text").kernels
        for i, kernel in enumerate(plain[: len(self._kernels)]):
            text = kernel.made.get("llir")
            if text and self._instead(i, text, f"kernel {kernel.name} not optimised") == "right":
                return i
        self.search.note("no kernel alone, not optimised by LLVM, makes the program right")
        return None

    def _generated_wrongly(self, splice: Splice) -> int:
        """The first kernel whose code, as the wrong release generates it, makes the right release wrong."""
        for i in range(len(self._kernels)) if len(self._kernels) > 1 else ():
            code = self._kernels[i].made.get(self._code)
            if code and splice.llir({}, f"code of {self._kernels[i].name}", {i: code}).verdict == "wrong":
                return i
        return 0

    # --- what is found ----------------------------------------------------------------------------------

    def _splice(self) -> Splice | None:
        """A splice with the right release that the search used, or with the nearest."""
        version = self.search.spliced_with
        rights = [right for right in self.search.rights if version in (None, right.version)]
        for right in rights[:1]:
            splice = Splice(self.release, right, **self.search.more)
            return splice if splice.is_possible else None
        return None

    def _everywhere(self, argument: str) -> list:
        """The first step of a name, of any kernel."""
        every = (step for kernel in self._kernels for step in kernel.llvm.get(self._code, []))
        return [
            next((step for step in every if step.argument == argument), LlvmPass(argument, argument, None))
        ]

    def _take(self, level: str, steps: list, wrong: int, right: int) -> None:
        name, argument = steps[wrong].name, steps[wrong].argument
        nth = sum(step.argument == argument for step in steps[: wrong + 1])
        self.search.take(level, NamedPass(name, argument, None, nth), f"make_{level}")
        if others := [step.name for step in steps[right + 1 : wrong]]:
            self.search.note(f"the IR after {', '.join(others)} could not be judged")
