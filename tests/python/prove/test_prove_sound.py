"""A proof has no counter-example among launches drawn at random: sizes near blocks, strides that are
larger than rows, sizes beyond 2**31 as ghosts."""

import math
import os
import random

import proved_table as table
import pytest
import varied_table as varied

pytest.importorskip("z3")

from triton_runner.verbs.prove import counter, run
from triton_runner.verbs.prove.terms import atoms_of, equal, poly

TIMES = int(os.environ.get("TRITON_RUNNER_PROOFS", "6"))  # launches of each kernel
_ELEMENTS = 1 << 16  # of outputs that are looked through
_CHECKS = {"bounds": None, "overflow": "overflow", "disjoint": "race", "division": "zerodiv"}


def _drawn(subject, solver, random_, assumed: list) -> dict | None:
    """Numbers for all sizes, under which what is given holds: one after the other, near a number that is
    drawn."""
    sizes = [tensor.numel for tensor in subject.tensors.values()] + list(subject.integers.values())
    names = sorted(atom for atom in atoms_of(*sizes) if atom.kind == "sym")
    random_.shuffle(names)
    conds, model = list(assumed), solver.model(*assumed, seconds=2)
    for atom in names:
        scale = random_.choice([4, 130, 300, 2000] + [1 << 32] * (random_.random() < 0.2))
        number = random_.choice([random_.randint(1, scale), 128, 127, 129, 64])
        trial = solver.model(*conds, equal(poly(atom), number), seconds=0.5)
        if trial is None and model is not None:
            trial, number = model, model.get(atom, 1)
        if trial is not None:
            model = trial
            conds.append(equal(poly(atom), number))
    return solver.model(*conds, seconds=2)


KERNELS = {name: (table.KERNELS, name, *row[:4]) for name, row in table.RIGHT.items()}
KERNELS |= {name: (varied.KERNELS, *row) for name, row in varied.RIGHT.items()}


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_proved_goes_wrong(name):
    file, kernel, types, constants, grid, given = KERNELS[name]
    how = {"signature": ", ".join(types), "constexprs": constants, "target": "cuda:80", "options": {}}
    subject = run.of_kernel(f"{file}:{kernel}", kernel, how)
    subject.assume((given,), grid)
    subject.simplify()
    proof = run.proof(subject, seconds=30)
    proved = {answer.property for answer in proof.answers if answer.verdict == "proved"}
    solver, reader = run.read(subject, 5)
    refuter = counter.Refuter(subject, solver, 1, reader.accesses)
    random_, ran = random.Random(name), 0
    for _ in range(TIMES):
        model = _drawn(subject, solver, random_, [one.fact for one in reader.assumes])
        made = model and refuter.made(model)
        if not made or math.prod(made[0].grid) > 1 << 16 or _elements(made[0]) > 1 << 34:
            continue
        launch, few = made[0], min(math.prod(made[0].grid), 256)
        for property_, checks in _CHECKS.items():
            if property_ in proved:
                trap = launch.run(checks, few)
                assert trap is None or trap.kind == "timeout", (launch.shown, launch.grid, str(trap))
        if "covered" in proved and _elements(launch) < _ELEMENTS and few == math.prod(launch.grid):
            assert refuter.uncovered(model) is None, launch.shown
        ran += 1
    assert ran >= TIMES // 3, f"{ran} launches were made"


def _elements(launch) -> int:
    return sum(value.size for _, value in launch.named if hasattr(value, "size"))
