"""Two rules of Hopper GPUs beside the SIMT engine: early uses of wgmma's registers, and what TMA stores past
a tensor.

  ptx_rules.py      on a Hopper GPU (libcuda and NumPy alone: no Triton, no build), about a minute

Random chains of products and every kind of box of tests/python/helpers/kernels_for_ptx_rules.py, whose
models are what the engine does (tests/python/ptx/test_ptx_rules.py). A line for each kind, then what
differs; status 1 if a chain that ptxas repairs or that is right, or a box, differs. Chains of the third
kind, which ptxas does not repair, are counted only: what D has reached when it is read is timing. So it may
be where a product is not committed before a wait (doc/internals/simt.md). With JIT_LOG=1 in the environment
ptxas's words on the wide products are shown.
"""

import collections
import ctypes
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "helpers"))
import kernels_for_ptx_rules as rules
from libcuda import Cuda


class Gpu(Cuda):
    def run(self, text: str, *arguments) -> str:
        """Launches a block of 128 threads; ptxas's words."""
        return super().run(text, 1, 128, *arguments)


def chains(gpu: Gpu, count: int) -> int:
    kinds, wrong = collections.Counter(), []
    for seed in range(count):
        steps = rules.random_chain(seed)
        wanted, repaired, early = rules.chain_facts(steps)
        out = rules.chain_output(steps)
        said = gpu.run(rules.chain_text(steps), out, 0)
        kind = "repaired" if repaired else "not repaired" if early else "covered"
        same = (out == np.float32(16) * np.array(wanted, np.float32)[None, :, None]).all()
        in_words = "C75" in said or "serializ" in said
        kinds[
            kind, "as the model has it" if same else "otherwise", "ptxas warns" if in_words else "silent"
        ] += 1
        if not same and kind != "not repaired":
            wrong.append((seed, kind, wanted, (out[0, :, 0] / 16).tolist()))
    for (kind, outcome, words), n in sorted(kinds.items()):
        print(f"chains {kind:13} {outcome:20} {words:12} {n}")
    for line in wrong[:20]:
        print("  wrong: seed {}, {}: wanted {}, got {}".format(*line))
    return len(wrong)


def wide(gpu: Gpu) -> None:
    """Products of m64n256, whose timing shows: how many of them elements of D hold."""
    n, turns = 256, 4
    one = rules.product(n) + rules.COMMITTED
    loop = "LOOP:\n%s  add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %%n; @%%p bra LOOP;\n"
    bodies = {
        "wait 0": one * 4 + rules.wait(0) + rules.store(0, n),
        "single, wait 1": one + rules.wait(1) + rules.store(0, n) + rules.wait(0),
        "wait 3 after each": (one + rules.wait(3)) * 4 + rules.store(0, n) + rules.wait(0),
        "wait 3, D written": (one + rules.wait(3)) * 4 + rules.store(0, n) + rules.zero(n) + rules.wait(0),
        "loop, wait 1": loop % (one + rules.wait(1)) + rules.store(0, n) + rules.wait(0),
        "loop, wait 1, then 0": loop % (one + rules.wait(1)) + rules.wait(0) + rules.store(0, n),
    }
    for name, body in bodies.items():
        seen = collections.Counter()
        for _ in range(10):
            out = np.zeros(128 * n // 2, np.float32)
            said = gpu.run(rules.wgmma(body, n), out, turns)
            seen.update((out / 16).tolist())
        print(f"wide   {name:22} products in D: {dict(sorted(seen.items()))}")
        if os.environ.get("JIT_LOG"):
            print(said.strip())


def boxes(gpu: Gpu) -> int:
    kinds, wrong = collections.Counter(), []
    for box in rules.boxes():
        memory, scratch = box.memory(), np.zeros(128, np.uint8)
        wide, numbers = box.arguments()[:2], box.arguments()[2:]
        gpu.run(box.text(), memory, scratch, rules.SHARED.copy(), *map(ctypes.c_uint64, wide), *numbers)
        same = (memory == box.wanted(rules.SHARED)).all()
        kinds[box.operation, box.rank, bool(same)] += 1
        if not same:
            wrong.append((box, np.nonzero(memory != box.wanted(rules.SHARED))[0][:8]))
    for (operation, rank, same), n in sorted(kinds.items()):
        print(f"boxes  {operation:6} rank {rank} {'as the model has it' if same else 'otherwise':20} {n}")
    for box, at in wrong[:20]:
        print(f"  wrong: {box}: at bytes {at.tolist()}")
    return len(wrong)


def main() -> int:
    gpu = Gpu()
    failed = chains(gpu, 600)
    wide(gpu)
    failed += boxes(gpu)
    print(f"{failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
