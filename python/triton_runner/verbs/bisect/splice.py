"""Splices two releases: a wrong release compiles the front half, a right release the back half.

The program runs in the right release, in which the wrong release's IR replaces the output of a pass. If the
result is still wrong, the fault is in that IR, at whichever level it shows. This separates a wrong layout,
which has no effect on values at TTGIR, from a fault of the conversion that maps it to threads."""

from __future__ import annotations

import collections
import re

from triton_runner import ir
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.releases import release_of
from triton_runner._pipeline import translation
from triton_runner.verbs.bisect.results import Step, short_name
from triton_runner.verbs.bisect.runs import Release
from triton_runner.verbs.bisect.trial import Kernel, Ran, Trial

CONVERSION = "add_to_llvmir"
ALLOCATION = "add_allocate_shared_memory"  # for what the conversion will exchange between threads, too
# Passes that a later release has under another name.
_RENAMED = {
    "add_allocate_shared_memory_nv": "add_allocate_shared_memory", "add_triton_licm": "add_licm",
    "add_stream_pipelinev2": "add_stream_pipeline", "add_optimize_cta_locality": "add_plan_cta",
}  # fmt: skip
# A stage notes this of its IR for launches; later stages do not look at it again.
_OF_TTGIR = ("tensordesc_meta",)
# Metadata of a compilation without which its LLIR cannot be launched.
_METADATA = (
    "shared", "tmem_size", "num_warps", "global_scratch_size", "global_scratch_align",
    "profile_scratch_size", "profile_scratch_align",
)  # fmt: skip


def steps_of(kernels: list[Kernel]) -> list[Step]:
    """The passes before the conversion to LLVM, of the kernel that has most of them."""
    longest = max((before_conversion(kernel) for kernel in kernels), key=len, default=[])
    counts: collections.Counter = collections.Counter()
    steps = []
    for step in longest:
        counts[step.stage, step.add] += 1
        steps.append(Step(step.stage, step.add, counts[step.stage, step.add]))
    return steps


def before_conversion(kernel: Kernel) -> list[Ran]:
    """The passes of a kernel whose IR is Triton's."""
    adds = [short_name(step.add) for step in kernel.passes]
    return kernel.passes[: adds.index(CONVERSION) if CONVERSION in adds else None]


class Splice:
    """The IR of a wrong release in a right one. more: options of the runs, as for Release.at()."""

    def __init__(self, wrong: Release, right: Release, **more):
        self.wrong, self.right, self._more = wrong, right, more
        level = wrong.program.lowest
        self._mine = wrong.at(level, keep="text", **more).kernels
        theirs = right.at(level, **more).kernels
        self._theirs = {self._key(theirs, i): kernel for i, kernel in enumerate(theirs)}
        self.steps = steps_of(self._mine)
        self.reasons: list[str] = []

    @staticmethod
    def _key(kernels: list[Kernel], i: int) -> tuple:
        name = kernels[i].name
        return name, sum(kernel.name == name for kernel in kernels[:i])

    @property
    def is_possible(self) -> bool:
        """Returns whether both releases compile the same kernels, in the same order of each name."""
        keys = [self._key(self._mine, i) for i in range(len(self._mine))]
        return bool(self.steps) and all(key in self._theirs for key in keys)

    def after(self, index: int, **more) -> Trial:
        """The right release continues from the IR after step `index` (-1: from the front end's IR). more:
        options of the run."""
        plans = []
        for i, kernel in enumerate(self._mine):
            key = self._key(self._mine, i)
            try:
                plans.append([*key, self._plan(kernel, self._theirs[key], index)])
            except DiagnosticError as error:
                self._note(error.message)
                return Trial("unknown", error.message)
        trial = self.right.at(self.right.program.lowest, of_kernels=plans, **self._more, **more)
        if trial.verdict == "unknown":
            self._note(trial.first_why)
        name = str(self.steps[index]) if index >= 0 else "the front end"
        self.right.say(f"with the IR of {self.wrong.version} after {name}: {trial.verdict}")
        return trial

    def llir(self, texts: dict | None = None, what: str = "", made: dict | None = None) -> Trial:
        """The right release generates code from the wrong one's LLIR. texts: {kernel's number: LLIR} to use
        instead; made: {kernel's number: PTX or AMDGCN} that replaces what the right release generates."""
        plans = []
        for i, kernel in enumerate(self._mine):
            if "llir" not in kernel.made:
                return Trial("unknown", "no LLIR was made")
            metadata = {name: kernel.metadata[name] for name in _METADATA if name in kernel.metadata}
            try:
                text, _ = translation.translate_llir(kernel.made["llir"], self.right.version)
            except DiagnosticError as error:
                return Trial("unknown", error.message)
            text = (texts or {}).get(i, text)
            missing = (
                release_of(self.right.version).hidden_pointers
                - release_of(self.wrong.version).hidden_pointers
            )
            instead = {"llir": with_hidden(text, kernel.metadata["name"], missing)}
            if i in (made or {}):
                instead[self.wrong.program.code] = made[i]
            plans.append([*self._key(self._mine, i), {"instead": instead, "metadata": metadata}])
        trial = self.right.at(self.right.program.lowest, of_kernels=plans, **self._more)
        self.right.say(f"with the LLIR of {self.wrong.version} {what}: {trial.verdict}")
        return trial

    def without_slot(self, index: int) -> list[str]:
        """If a step allocates shared memory: the ops for which the right release allocates it and the wrong
        one does not. The right release's conversion would read a slot that is missing."""
        if _called(self.steps[index].add) != ALLOCATION:
            return []
        theirs = self.after(index - 1, keep="text").kernels
        lacking: set[str] = set()
        for i, mine in enumerate(self._mine):
            passes = before_conversion(mine)
            last = self._place(passes, index)
            same = (k for n, k in enumerate(theirs) if self._key(theirs, n) == self._key(self._mine, i))
            other = next(same, Kernel("", [], None))
            numbers = [step.after for step in other.passes if _called(step.add) == ALLOCATION]
            if last >= 0 and numbers and None not in (numbers[0], passes[last].after):
                lacking |= {*(_slots(other.texts[numbers[0]]) - _slots(mine.texts[passes[last].after]))}
        return sorted(lacking)

    def _note(self, why: str) -> None:
        if why not in self.reasons:
            self.reasons.append(why)

    def _plan(self, mine: Kernel, theirs: Kernel, index: int) -> dict:
        """The plan that replaces the right release's IR after a step by the wrong one's."""
        passes = before_conversion(mine)
        last = self._place(passes, index)
        number = passes[last].after if last >= 0 else mine.first
        text, _ = translation.translate(mine.texts[number], self.right.version)
        matched = _aligned(passes, before_conversion(theirs))
        resume = max((b for a, b in matched if a <= last), default=-1)
        metadata = {name: mine.metadata[name] for name in _OF_TTGIR if name in mine.metadata}
        return {"replace": [[{"number": resume + 1}, text]], "metadata": metadata}

    def _place(self, passes: list, index: int) -> int:
        """The position of a step among a kernel's own passes, or of the nearest step before it."""
        for step in reversed(self.steps[: index + 1]):
            same = [i for i, one in enumerate(passes) if (one.stage, one.add) == (step.stage, step.add)]
            if len(same) >= step.nth:
                return same[step.nth - 1]
        return -1


def _called(add: str) -> str:
    """The name of a pass that all releases share."""
    return _RENAMED.get(short_name(add), short_name(add))


def _slots(text: str) -> collections.Counter:
    """The number of ops of each name that have shared memory."""
    try:
        ops = ir.parse(text).walk()
    except DiagnosticError:
        return collections.Counter()
    return collections.Counter(op.name for op in ops if op.attr("allocation.offset") is not None)


def with_hidden(llir: str, kernel: str, count: int) -> str:
    """LLIR with hidden pointers after a kernel's parameters, which another release's launch passes."""
    match = re.search(rf"^define [^@\n]*@{re.escape(kernel)}\(", llir, re.M)
    if count < 1 or match is None:
        return llir
    end, depth = match.end(), 1
    while depth:
        depth += {"(": 1, ")": -1}.get(llir[end], 0)
        end += 1
    first = "" if llir[match.end() : end - 1].strip() else "ptr addrspace(1) %hidden0"
    more = [f"ptr addrspace(1) %hidden{i}" for i in range(1 if first else 0, count)]
    return llir[: end - 1] + first + "".join(f", {piece}" for piece in more) + llir[end - 1 :]


def _aligned(mine: list, theirs: list) -> list[tuple[int, int]]:
    """The longest common subsequence of two lists of passes, as pairs of places."""
    a, b = ([(step.stage, _called(step.add)) for step in passes] for passes in (mine, theirs))
    length = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best = max(length[i + 1][j], length[i][j + 1])
            length[i][j] = max(best, length[i + 1][j + 1] + 1) if a[i] == b[j] else best
    i = j = 0
    pairs = []
    while i < len(a) and j < len(b):
        if a[i] == b[j] and length[i][j] == length[i + 1][j + 1] + 1:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def first_wrong(count: int, judge) -> tuple[int | None, int]:
    """Bisects the places 0 .. count - 1 by judge(place) -> verdict. Returns the first wrong place and the
    last right place before it; the places between the two could not be judged. Returns (None, last) if the
    last place that can be judged is right. Place -1 counts as right and is never judged."""
    right, wrong = -1, count - 1
    while wrong >= 0 and (verdict := judge(wrong)) == "unknown":
        wrong -= 1
    if wrong < 0 or verdict == "right":
        return None, wrong
    while wrong - right > 1:
        middle = (right + wrong) // 2
        tried = [*range(middle, wrong), *range(middle - 1, right, -1)]
        judged = next(((i, v) for i in tried if (v := judge(i)) != "unknown"), None)
        if judged is None:
            break
        if judged[1] == "wrong":
            wrong = judged[0]
        else:
            right = judged[0]
    return wrong, right
