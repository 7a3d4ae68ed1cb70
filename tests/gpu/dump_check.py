"""Dumps on a GPU beside dumps on the CPU: every value of a few kernels, named at TTIR and at TTGIR.

    python tests/gpu/dump_check.py

Each value of the GPU is compared with the tile engine's and, where sums of a tensor core stand before it,
with the SIMT engine's at PTX: the same bits, or (floats) close. Addresses differ by nature and are left out;
so are buffers of shared memory that copies are still on their way to. Exits 1 where a value is not close.
"""

import collections
import os
import sys
import warnings
from pathlib import Path

import numpy
import torch
import triton
import triton_runner
from triton_runner._kernel.dumps import instrument, requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from kernels_for_dumps import add, matmul, row_sums

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
warnings.simplefilter("ignore")


def launches(device):
    """(kernel, arguments, constexprs, grid) with the same numbers on any device."""
    generator = torch.Generator().manual_seed(7)

    def random(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    def zeros(*shape, dtype=torch.float32):
        return torch.zeros(*shape, dtype=dtype, device=device)

    x, y = random(1000), random(1000)
    yield add, (x, y, zeros(1000), 1000), {"B": 256}, (4,)
    yield add, (x.to(torch.bfloat16), y.to(torch.bfloat16), zeros(1000), 1000), {"B": 256}, (4,)
    yield row_sums, (random(3, 300, dtype=torch.float16), zeros(3), 300), {"B": 128}, (3,)
    f16 = torch.float16
    yield (
        matmul,
        (random(128, 160, dtype=f16), random(160, 128, dtype=f16), zeros(128, 128, dtype=f16), 128, 128, 160),
        {"BM": 64, "BN": 64, "BK": 32},
        (4,),
    )


def recordings(device, level, target):
    found = []
    for kernel, arguments, constexprs, grid in launches("cuda" if device == "cuda" else "cpu"):
        request = requests.request(["*"], kernel, every_iteration=True, level=level)
        if device == "tile":
            with triton_runner.using(device="cpu", level=level, target=target):
                recorder = request.recorder((kernel.__name__,))
                with triton_runner.using(recorder=recorder):
                    kernel[grid](*arguments, **constexprs)
                found.append((kernel.__name__, recorder.take()[0], []))
        else:
            settings = {"device": "cuda"} if device == "cuda" else {"device": "cpu", "level": "ptx"}
            with triton_runner.using(target=target, **settings):
                _, recording, changes = instrument.run(request, kernel, None, arguments, constexprs, grid)
            found.append((kernel.__name__, recording, changes))
    return found


FLOATS = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}


def numbers(site, data):
    if site.type in FLOATS:
        return data.view(FLOATS[site.type]).astype(numpy.float64)
    if site.type == "bf16":
        wide = data.view(numpy.uint16).astype(numpy.uint32) << 16
        return wide.view(numpy.float32).astype(numpy.float64)
    return None


def compare(level, target) -> int:
    wrong = 0
    on_gpu, on_tile, on_simt = (recordings(where, level, target) for where in ("cuda", "tile", "simt"))
    for (name, gpu, changes), (_, tile, _), (_, simt, _) in zip(on_gpu, on_tile, on_simt, strict=True):
        expected = {s.site.value: s for s in tile.series}
        simulated = {s.site.value: s for s in simt.series}
        counts = collections.Counter()
        for s in gpu.series:
            if "ptr" in s.site.type_text or "memdesc" in s.site.type_text:
                counts["left out"] += 1
                continue
            other, third = expected.get(s.site.value), simulated.get(s.site.value)
            if other is None or len(other) != len(s):
                counts["WRONG"] += 1
                print(
                    f"{name} at {level}: {s.site.value} has {len(s)} records, {other and len(other)} expected"
                )
            elif numpy.array_equal(s.data, other.data) and numpy.array_equal(s.iterations, other.iterations):
                counts["the tile engine's bits"] += 1
            elif third is not None and numpy.array_equal(s.data, third.data):
                counts["the SIMT engine's bits"] += 1
            else:
                mine, theirs = numbers(s.site, s.data), numbers(other.site, other.data)
                close = mine is not None and numpy.allclose(mine, theirs, rtol=2e-2, atol=2e-2)
                counts["close" if close else "WRONG"] += 1
                if not close:
                    print(f"{name} at {level}: {s.site.value} ({s.site.op}, {s.site.type_text}) differs")
        wrong += counts["WRONG"]
        print(f"{name} at {level}:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())), changes)
        for note in gpu.notes:
            print("   note:", note)
    return wrong


def main() -> int:
    major, minor = torch.cuda.get_device_capability()
    target = f"cuda:{major}{minor}"
    print(torch.cuda.get_device_name(), "Triton", triton.__version__, target)
    return 1 if sum(compare(level, target) for level in ("ttgir", "ttir")) else 0


if __name__ == "__main__":
    sys.exit(main())
